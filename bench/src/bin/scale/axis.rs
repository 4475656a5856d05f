//! What is varied, and what is held while it is.

/// How messages are spread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) topics: usize,
    /// Message by message in turns; 0 is none.
    pub(crate) tenants: usize,
    /// The same of ordering keys; 0 is none.
    pub(crate) keys: usize,
    /// The most messages of a request.
    pub(crate) batch: usize,
}

/// One place on an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// What the axis varies.
    pub(crate) value: usize,
    /// How many messages wait before the first is sent.
    pub(crate) queued: usize,
    /// So many wait all the while.
    pub(crate) deep: bool,
    pub(crate) spread: Spread,
}

/// What is varied.
#[derive(Debug)]
pub(crate) struct Axis {
    /// Its name as an argument.
    pub(crate) name: &'static str,
    /// Its name in a table.
    pub(crate) title: &'static str,
    values: &'static [usize],
    set: fn(&mut Point),
}

impl Axis {
    /// Its points. What it does not vary is a million messages of one topic, without tenants or keys.
    pub(crate) fn points(&self) -> impl Iterator<Item = Point> {
        self.values.iter().map(|value| {
            let mut point = Point {
                value: *value,
                queued: 1_000_000,
                deep: false,
                spread: Spread {
                    topics: 1,
                    tenants: 0,
                    keys: 0,
                    batch: 1_000,
                },
            };
            (self.set)(&mut point);
            point
        })
    }
}

const QUEUED: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// All of them.
pub(crate) const AXES: [Axis; 6] = [
    Axis {
        name: "queued",
        title: "queued at once, then sent",
        values: &QUEUED,
        set: |point| point.queued = point.value,
    },
    Axis {
        name: "deep",
        title: "queued all the while",
        values: &QUEUED,
        set: |point| {
            point.queued = point.value;
            point.deep = true;
        },
    },
    Axis {
        name: "tenants",
        title: "tenants",
        values: &[0, 1, 10, 100, 1_000, 10_000],
        set: |point| point.spread.tenants = point.value,
    },
    // Ten messages a request whatever the number of keys, since a request has one key.
    Axis {
        name: "keys",
        title: "ordering keys, 10 messages a request",
        values: &[1, 10, 100, 1_000, 10_000, 100_000],
        set: |point| {
            point.spread.keys = point.value;
            point.spread.batch = 10;
        },
    },
    Axis {
        name: "one-use-keys",
        title: "ordering keys, 1 message a request, 100,000 queued",
        values: &[1, 100_000],
        set: |point| {
            point.queued = 100_000;
            point.spread.keys = point.value;
            point.spread.batch = 1;
        },
    },
    Axis {
        name: "topics",
        title: "topics",
        values: &[1, 4, 16, 64],
        set: |point| point.spread.topics = point.value,
    },
];
