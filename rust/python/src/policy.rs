//! A policy as the Python side hands it over.
use batchlab_kernel::accounting::Multifactor;
use batchlab_kernel::scheduler::PolicyChoice;
use pyo3::prelude::*;

use crate::accounting::Settings;

/// The names of a policy, as `batchlab.Policy` has checked them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PolicyNames {
    order: String,
    argument: Option<String>,
    multifactor: Option<Settings>,
    backfill: String,
    allocator: String,
    reservations: usize,
    seed: u64,
    critical: Vec<usize>,
}

impl TryFrom<PolicyNames> for PolicyChoice {
    type Error = PyErr;

    fn try_from(names: PolicyNames) -> PyResult<Self> {
        let PolicyNames { order, argument, multifactor, backfill, allocator, reservations, seed, critical } =
            names;
        let multifactor = multifactor.map(Multifactor::try_from).transpose()?;
        Ok(Self { order, argument, multifactor, backfill, allocator, reservations, seed, critical })
    }
}
