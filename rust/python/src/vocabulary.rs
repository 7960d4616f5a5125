//! The names that Python shares with the kernel, and the descriptions of the rules.
use std::collections::BTreeMap;

use batchlab_kernel::accounting::RULES;
use batchlab_kernel::application::{JobType, RankOrder};
use batchlab_kernel::control::{CONTROLS, KeyEvent};
use batchlab_kernel::parameter::Parameter;
use batchlab_kernel::placement::ALLOCATORS;
use batchlab_kernel::priority::{DESCRIBED, PRIORITIES};
use batchlab_kernel::record::{Cause, Change, GateKind};
use batchlab_kernel::scenario::{JobCheck, WallTime};
use batchlab_kernel::scheduler::{BACKFILLING, DISCIPLINES};
use batchlab_kernel::simulation::Agenda;
use batchlab_kernel::slurm::Stop;
use batchlab_kernel::state::Reason;
use batchlab_kernel::workload::{EVENT_NAMES, JobState, Rejection};
use pyo3::prelude::*;

use crate::parameter::ParameterRow;

/// A rule: its name, its description, the publication that defines it, if any, its parameters, and what it needs: an
/// allocator a `network` or a `torus`, an order `nodes`, `formula` or `columns`, or nothing.
#[derive(IntoPyObject)]
pub struct Rule {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    parameters: Vec<ParameterRow>,
    needs: &'static str,
}

impl Rule {
    fn new(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        Self { name, summary, source, parameters: Vec::new(), needs: "" }
    }

    fn needing(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }

    fn with(self, parameters: Vec<Parameter>) -> Self {
        Self { parameters: parameters.into_iter().map(ParameterRow::from).collect(), ..self }
    }
}

/// Return the built-in rules by kind, `order`, `control`, `backfill`, `discipline`, `allocator` or `fair_share`: for each
/// the name, a description in one line, the publication that defines it, empty for folklore, its parameters, and what it
/// needs: a kind of network, or data of the jobs.
#[pyfunction]
pub fn rules() -> BTreeMap<&'static str, Vec<Rule>> {
    BTreeMap::from([
        ("order", {
            let keys = PRIORITIES
                .iter()
                .map(|rule| Rule::new(rule.name, rule.summary, rule.source).needing(rule.needs.name()));
            let described = DESCRIBED.iter().map(|rule| {
                let row = Rule::new(rule.name, rule.summary, rule.source).needing(rule.needs.name());
                row.with((rule.parameters)())
            });
            keys.chain(described).collect()
        }),
        (
            "control",
            CONTROLS
                .iter()
                .map(|rule| Rule::new(rule.name, rule.summary, rule.source).with((rule.parameters)()))
                .collect(),
        ),
        (
            "backfill",
            BACKFILLING
                .iter()
                .map(|rule| Rule::new(rule.name, rule.summary, rule.source).with((rule.parameters)()))
                .collect(),
        ),
        (
            "discipline",
            DISCIPLINES.iter().map(|rule| Rule::new(rule.name, rule.summary, rule.source)).collect(),
        ),
        (
            "allocator",
            ALLOCATORS
                .iter()
                .map(|entry| {
                    let rule = Rule::new(entry.name, entry.summary, entry.source).with(entry.parameters());
                    rule.needing(entry.needs.name())
                })
                .collect(),
        ),
        ("fair_share", RULES.iter().map(|rule| Rule::new(rule.name, rule.summary, rule.source)).collect()),
    ])
}

/// Return names in the order of their numbers: of the states and types of jobs, of the reasons for rejection and
/// waiting, of the gates of waiting jobs, of the causes that move promised starts, of the parameters that stop calls of
/// Slurm's controller, of the options `walltime`, `job_check` and `order_at_instant`, of the observer methods for each
/// kind of change, of the kinds of external events, and of the events examined by controls of rates.
#[pyfunction]
pub fn names() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("job_state", JobState::ALL.iter().map(|state| state.name()).collect()),
        ("job_type", JobType::NAMES.iter().map(|(name, _)| *name).collect()),
        ("rank_order", RankOrder::NAMES.iter().map(|(name, _)| *name).collect()),
        ("rejection", Rejection::ALL.iter().map(|reason| reason.name()).collect()),
        ("waiting", Reason::NAMED.iter().map(|(name, _)| *name).collect()),
        ("gate", GateKind::NAMES.iter().map(|(name, _)| *name).collect()),
        ("promise_cause", Cause::NAMES.iter().map(|(name, _)| *name).collect()),
        ("call_stop", Stop::NAMES.iter().map(|(name, _)| *name).collect()),
        ("walltime", WallTime::NAMES.iter().map(|(name, _)| *name).collect()),
        ("job_check", JobCheck::NAMES.iter().map(|(name, _)| *name).collect()),
        ("order_at_instant", Agenda::NAMES.iter().map(|(name, _)| *name).collect()),
        ("change", Change::METHODS.to_vec()),
        ("event", EVENT_NAMES.to_vec()),
        ("key_event", KeyEvent::NAMES.iter().map(|(name, _)| *name).collect()),
    ])
}
