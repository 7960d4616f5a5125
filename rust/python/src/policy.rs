//! A policy as the Python side hands it over.
use batchlab_kernel::accounting::Multifactor;
use batchlab_kernel::placement::{Blocks, Closeness, Compact, Mapping, Threshold};
use batchlab_kernel::scheduler::PolicyChoice;
use pyo3::prelude::*;

use crate::accounting::Settings;
use crate::fabric::Fabric;

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
    mapping: Option<MappingSettings>,
}

/// An order of the nodes, and the parameters of the rule that goes by it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct MappingSettings {
    order: Vec<u32>,
    blocks: Option<u32>,
    are_fixed: bool,
    threshold: Option<f64>,
    by_nodes: bool,
    closeness: Option<String>,
    centres: u32,
    fabric: Option<Py<Fabric>>,
}

impl From<MappingSettings> for Mapping {
    fn from(given: MappingSettings) -> Self {
        let MappingSettings { order, blocks, are_fixed, threshold, by_nodes, closeness, centres, fabric } =
            given;
        let by = Closeness::NAMES.into_iter().find(|(name, _)| Some(*name) == closeness.as_deref());
        let threshold_by = if by_nodes { Threshold::Nodes } else { Threshold::RequestedTime };
        Self {
            order,
            blocks: blocks.map(|count| Blocks { count, are_fixed }),
            threshold: threshold.map(threshold_by),
            compact: by.map(|(_, by)| Compact { by, centres }),
            fabric: fabric.map(|fabric| fabric.get().kernel.clone()),
        }
    }
}

impl TryFrom<PolicyNames> for PolicyChoice {
    type Error = PyErr;

    fn try_from(names: PolicyNames) -> PyResult<Self> {
        let PolicyNames {
            order,
            argument,
            multifactor,
            backfill,
            allocator,
            reservations,
            seed,
            critical,
            mapping,
        } = names;
        let multifactor = multifactor.map(Multifactor::try_from).transpose()?;
        let mapping = mapping.map(Mapping::from);
        Ok(Self { order, argument, multifactor, backfill, allocator, reservations, seed, critical, mapping })
    }
}
