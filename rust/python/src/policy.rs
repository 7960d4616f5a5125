//! Policies, converted from Python.
use batchlab_kernel::accounting::Multifactor;
use batchlab_kernel::placement::{AllocatorParameters, Mapping};
use batchlab_kernel::scheduler::{PolicyChoice, SlurmSettings};
use batchlab_kernel::slurm::SlurmParameters;
use pyo3::prelude::*;

use crate::accounting::Settings;
use crate::fabric::Fabric;
use crate::parameter::{Arguments, set_all};

/// The names of a policy, validated by `batchlab.Policy`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PolicyNames {
    order: String,
    argument: Option<String>,
    multifactor: Option<Settings>,
    backfill: String,
    allocator: String,
    reservations: usize,
    slurm: Option<ControllerSettings>,
    seed: u64,
    critical: Vec<usize>,
    placement: AllocatorSettings,
}

/// The parameters of `slurm`, the resources that are CPUs, memory and GPUs, and the weights of nodes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ControllerSettings {
    parameters: Arguments,
    core: Option<usize>,
    memory: Option<usize>,
    gpu: Option<usize>,
    weights: Vec<(u32, u32)>,
}

impl TryFrom<ControllerSettings> for SlurmSettings {
    type Error = PyErr;

    fn try_from(given: ControllerSettings) -> PyResult<Self> {
        let ControllerSettings { parameters, core, memory, gpu, weights } = given;
        Ok(Self { parameters: slurm_parameters(parameters)?, core, memory, gpu, weights })
    }
}

/// Return the parameters of `slurm`, after checking their names and types.
pub fn slurm_parameters(given: Arguments) -> PyResult<SlurmParameters> {
    let mut parameters = SlurmParameters::default();
    set_all(given, |name, value| parameters.set(name, value))?;
    Ok(parameters)
}

/// The parameters of an allocator, the order in which it searches nodes, if it has one, and the network.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct AllocatorSettings {
    parameters: Arguments,
    order: Option<Vec<u32>>,
    fabric: Option<Py<Fabric>>,
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
            slurm,
            seed,
            critical,
            placement,
        } = names;
        let slurm = slurm.map(SlurmSettings::try_from).transpose()?;
        let multifactor = multifactor.map(Multifactor::try_from).transpose()?;
        let AllocatorSettings { parameters: given, order: nodes, fabric } = placement;
        let mut parameters = AllocatorParameters::default();
        set_all(given, |name, value| parameters.set(name, value))?;
        let fabric = fabric.map(|fabric| fabric.get().kernel.clone());
        Ok(Self {
            order,
            argument,
            multifactor,
            backfill,
            allocator,
            reservations,
            slurm,
            seed,
            critical,
            ranking: parameters.ranking(),
            mapping: nodes.map(|nodes| Mapping::of(&parameters, nodes, fabric)),
        })
    }
}
