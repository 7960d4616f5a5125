//! A policy as the Python side hands it over.
use batchlab_kernel::scheduler::PolicyChoice;
use pyo3::prelude::*;

/// The names of a policy, as `batchlab.Policy` has checked them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PolicyNames {
    order: String,
    argument: Option<String>,
    backfill: String,
    allocator: String,
    reservations: usize,
    seed: u64,
    critical: Vec<usize>,
}

impl From<PolicyNames> for PolicyChoice {
    fn from(names: PolicyNames) -> Self {
        let PolicyNames { order, argument, backfill, allocator, reservations, seed, critical } = names;
        Self { order, argument, backfill, allocator, reservations, seed, critical }
    }
}
