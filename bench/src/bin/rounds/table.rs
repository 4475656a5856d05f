//! Medians as Markdown.

use std::fmt;

use pubsink_bench::measure::Figures;

use super::clients::Client;

/// What all runs gave.
pub(crate) struct Results<'a> {
    sizes: &'a [usize],
    clients: &'a [Client],
    runs: Vec<(usize, Client, Figures)>,
}

impl<'a> Results<'a> {
    pub(crate) fn new(sizes: &'a [usize], clients: &'a [Client]) -> Self {
        Self {
            sizes,
            clients,
            runs: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, size: usize, client: Client, figures: Figures) {
        self.runs.push((size, client, figures));
    }

    /// The median of each figure, by the client's name.
    fn medians(&self, size: usize, name: &str) -> Option<Figures> {
        let runs = self.runs.iter();
        let runs = runs.filter(|(of, client, _)| *of == size && client.name() == name);
        let median = |figure: fn(&Figures) -> f64| {
            let mut all: Vec<f64> = runs
                .clone()
                .map(|(_, _, figures)| figure(figures))
                .collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied()
        };
        Some(Figures {
            messages_per_s: median(|figures| figures.messages_per_s)?,
            cpu_s_per_million: median(|figures| figures.cpu_s_per_million)?,
            rss_mib: median(|figures| figures.rss_mib)?,
        })
    }

    fn row(&self, size: usize, client: Client) -> Option<String> {
        let figures = self.medians(size, client.name())?;
        let cpu = figures.cpu_s_per_million;
        let times = |ratio: f64| format!("{ratio:.2}");
        // CPU over the floor's, and the other client's over this one's: messages per CPU second.
        let floor = self.medians(size, client.floor());
        let floor = floor.map(|floor| times(cpu / floor.cpu_s_per_million));
        let reference = floor
            .as_ref()
            .and_then(|_| self.medians(size, client.reference()));
        let reference = reference.map(|reference| times(reference.cpu_s_per_million / cpu));
        Some(format!(
            "| {} | {} | {cpu:.2} | {:.0} | {} | {} |",
            client.title(),
            thousands(figures.messages_per_s),
            figures.rss_mib,
            floor.unwrap_or_default(),
            reference.unwrap_or_default(),
        ))
    }
}

impl fmt::Display for Results<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &size in self.sizes {
            writeln!(
                f,
                "| {size} B | messages/s | CPU s per million | peak MiB | CPU over the floor's | messages per CPU second over google-cloud-pubsub's |\n|---|---|---|---|---|---|"
            )?;
            let rows = self.clients.iter();
            for row in rows.filter_map(|client| self.row(size, *client)) {
                writeln!(f, "{row}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A rate, in thousands of three digits or more.
fn thousands(rate: f64) -> String {
    format!("{:.0} k", rate / 1_000.0)
}
