//! A machine for runs without tables.
use pyo3::prelude::*;

/// A machine given by its resources and groups of nodes only.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Machine {
    /// Names of the resources.
    pub resources: Vec<String>,
    /// Number of nodes and amounts per node, for each group.
    groups: Vec<(usize, Vec<i64>)>,
    /// The amount of each resource per processor.
    pub processor: Vec<i64>,
}

impl Machine {
    pub fn index(&self, name: &str) -> Option<usize> {
        self.resources.iter().position(|resource| resource == name)
    }

    pub fn amounts(&self) -> Vec<i64> {
        self.groups.iter().flat_map(|(count, amounts)| amounts.repeat(*count)).collect()
    }

    pub fn totals(&self) -> Vec<i64> {
        let total =
            |resource| self.groups.iter().map(|(count, amounts)| *count as i64 * amounts[resource]).sum();
        (0..self.resources.len()).map(total).collect()
    }
}
