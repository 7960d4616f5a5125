//! The Python binding of batchlab's kernel, importable as `batchlab._kernel`.
// PyO3 passes the arguments of Python functions by value.
#![allow(clippy::needless_pass_by_value)]

mod accounting;
mod application;
mod application_jobs;
mod arguments;
mod arrays;
mod columns;
mod conditions;
mod control;
mod decisions;
mod driver;
mod errors;
mod external_events;
mod fabric;
mod handles;
mod initial_state;
mod inputs;
mod interrupt;
mod job;
mod limits;
mod measured;
mod messages;
mod meter;
mod network;
mod panics;
mod parameter;
mod placements;
mod platform;
mod policy;
mod preemption;
mod queue;
mod queueing;
mod ranges;
mod rank_map;
mod recorded;
mod reservations;
mod rounds;
mod samples;
mod service;
mod share;
mod simulation;
mod sleep;
mod slurm;
mod source;
mod status;
mod stream;
mod streamed_overheads;
mod swf;
mod swf_log;
mod view;
#[cfg(target_os = "linux")]
mod virtual_clock;
mod vocabulary;

use pyo3::prelude::*;

/// The module's contents; the public names are in the Python package.
#[pymodule]
mod _kernel {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use crate::accounting::{
        AccountTree, AccountUsage, multifactor_priorities, share_in_windows, target_delta,
    };
    #[pymodule_export]
    use crate::application::{Application, ApplicationJobs, Formula};
    #[pymodule_export]
    use crate::application_jobs::run_job_alone;
    #[pymodule_export]
    use crate::arrays::prepare_arrays;
    #[pymodule_export]
    use crate::fabric::Fabric;
    #[pymodule_export]
    use crate::handles::{Job, Queue, View};
    #[pymodule_export]
    use crate::measured::{describe, total};
    #[pymodule_export]
    use crate::messages::MessageProgram;
    #[pymodule_export]
    use crate::meter::{PowerMeter, watts_by_mode};
    #[pymodule_export]
    use crate::network::network_models;
    #[pymodule_export]
    use crate::platform::Platform;
    #[pymodule_export]
    use crate::queue::Candidates;
    #[pymodule_export]
    use crate::queueing::delays;
    #[pymodule_export]
    use crate::ranges::node_ranges;
    #[pymodule_export]
    use crate::rank_map::map_ranks;
    #[pymodule_export]
    use crate::recorded::TableLog;
    #[pymodule_export]
    use crate::rounds::RoundProgram;
    #[pymodule_export]
    use crate::share::share;
    #[pymodule_export]
    use crate::simulation::Simulation;
    #[pymodule_export]
    use crate::slurm::SlurmController;
    #[pymodule_export]
    use crate::stream::SwfStream;
    #[pymodule_export]
    #[pymodule_export]
    use crate::swf_log::SwfLog;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::virtual_clock::VirtualClock;
    #[pymodule_export]
    use crate::vocabulary::{names, rules};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("MOST_LOOKS", batchlab_kernel::record::MOST_LOOKS)?;
        module.add("SOURCES", batchlab_kernel::SOURCES)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
