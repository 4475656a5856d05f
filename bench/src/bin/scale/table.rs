//! Medians as Markdown.

use std::fmt;

use crate::axis::{AXES, Axis};
use crate::costs::{Costs, PerMessage};

/// What all rounds gave.
#[derive(Debug, Default)]
pub(crate) struct Results(Vec<(&'static str, usize, PerMessage)>);

impl Results {
    pub(crate) fn add(&mut self, axis: &Axis, value: usize, costs: Costs) {
        self.0.push((axis.name, value, costs.per_message()));
    }

    fn median(&self, axis: &str, value: usize, figure: impl Fn(&PerMessage) -> f64) -> f64 {
        let runs = self.0.iter();
        let runs = runs.filter(|(name, at, _)| *name == axis && *at == value);
        let mut all: Vec<f64> = runs.map(|(_, _, figures)| figure(figures)).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    }

    fn row(&self, axis: &str, value: usize, first: usize) -> String {
        let total = |value| self.median(axis, value, |figures| figures.total);
        let phase = |index: usize| self.median(axis, value, |figures| figures.phases[index]);
        format!(
            "| {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} |",
            grouped(value),
            phase(0),
            phase(1),
            phase(2),
            phase(3),
            total(value),
            total(value) / total(first),
            self.median(axis, value, |figures| figures.dearest_ms),
        )
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for axis in &AXES {
            let values = axis.points().map(|point| point.value);
            let measured = |value: &usize| {
                let mut runs = self.0.iter();
                runs.any(|(name, at, _)| *name == axis.name && at == value)
            };
            let values: Vec<_> = values.filter(measured).collect();
            let Some(first) = values.first() else {
                continue;
            };
            writeln!(
                f,
                "| {} | admission, ns | batching | encoding | settlement | all | over the first | dearest 1,000 admissions, ms |\n|---|---|---|---|---|---|---|---|",
                axis.title
            )?;
            for value in &values {
                writeln!(f, "{}", self.row(axis.name, *value, *first))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A number with its thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
