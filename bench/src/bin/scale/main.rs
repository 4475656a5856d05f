//! What a message costs the publisher machine, by how much is queued and by how many tenants, ordering
//! keys and topics it is spread over: the tables of `docs/performance.md`.
//!
//! There is no I/O: a stand-in answers in the process. Points take turns within a round, and each figure
//! is the median of the rounds.

mod axis;
mod clock;
mod costs;
mod rig;
mod table;

use clap::Parser;
use pubsink_bench::Error;

use axis::{AXES, Axis, Point};
use costs::Costs;
use rig::Rig;
use table::Results;

/// Measures what a message costs at each point of each axis.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only these axes: queued, deep, tenants, keys, one-use-keys, topics
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only the points of these values
    #[arg(long, value_delimiter = ',')]
    at: Vec<usize>,
    /// How many rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How many messages each measurement has at least
    #[arg(long, default_value_t = 1_000_000)]
    volume: usize,
    /// The size of bodies, in bytes
    #[arg(long, default_value_t = 100)]
    size: usize,
}

impl Arguments {
    fn points(&self) -> Vec<(&'static Axis, Point)> {
        let named = |name: &str| self.only.is_empty() || self.only.iter().any(|only| only == name);
        let valued = |value: usize| self.at.is_empty() || self.at.contains(&value);
        let axes = AXES.iter().filter(|axis| named(axis.name));
        let points = axes.flat_map(|axis| axis.points().map(move |point| (axis, point)));
        points.filter(|(_, point)| valued(point.value)).collect()
    }

    fn measure(&self, point: &Point) -> Result<Costs, Error> {
        let mut rig = Rig::new(&point.spread, self.size)?;
        if point.deep {
            return rig.churn(point.queued, self.volume);
        }
        for _ in 0..self.volume.div_ceil(point.queued) {
            rig.fill(point.queued)?;
            rig.drain()?;
        }
        Ok(rig.costs())
    }
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let points = arguments.points();
    let mut results = Results::default();
    for round in 1..=arguments.rounds {
        for (axis, point) in &points {
            let costs = arguments.measure(point)?;
            eprintln!("round {round} {} {}: {costs}", axis.name, point.value);
            results.add(axis, point.value, costs);
        }
    }
    print!("{results}");
    Ok(())
}
