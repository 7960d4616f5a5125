//! The names that Python shares with the kernel, and the descriptions of the rules.
use std::collections::BTreeMap;

use batchlab_kernel::accounting::RULES;
use batchlab_kernel::application::{JobType, RankOrder};
use batchlab_kernel::control::KeyEvent;
use batchlab_kernel::placement::ALLOCATORS;
use batchlab_kernel::priority::PRIORITIES;
use batchlab_kernel::record::Change;
use batchlab_kernel::scenario::{JobCheck, WallTime};
use batchlab_kernel::scheduler::{BACKFILLING, DISCIPLINES};
use batchlab_kernel::simulation::Agenda;
use batchlab_kernel::state::Reason;
use batchlab_kernel::workload::{EVENT_NAMES, JobState, Rejection};
use pyo3::prelude::*;

/// A rule: its name, its description, and the publication that defines it, if any.
type Rule = (&'static str, &'static str, &'static str);

/// Return the built-in rules by kind, `order`, `backfill`, `discipline`, `allocator` or `fair_share`: for each the
/// name, a description in one line, and the publication that defines it; empty for folklore.
#[pyfunction]
pub fn rules() -> BTreeMap<&'static str, Vec<Rule>> {
    BTreeMap::from([
        ("order", PRIORITIES.iter().map(|rule| (rule.name, rule.summary, rule.source)).collect()),
        ("backfill", BACKFILLING.iter().map(|rule| (rule.name, rule.summary, rule.source)).collect()),
        ("discipline", DISCIPLINES.iter().map(|rule| (rule.name, rule.summary, rule.source)).collect()),
        ("allocator", ALLOCATORS.iter().map(|rule| (rule.name, rule.summary, rule.source)).collect()),
        ("fair_share", RULES.iter().map(|rule| (rule.name, rule.summary, rule.source)).collect()),
    ])
}

/// Return names in the order of their numbers: of the states and types of jobs, of the reasons for rejection and
/// waiting, of the options `walltime`, `job_check` and `order_at_instant`, of the observer methods for each kind of
/// change, of the kinds of external events, and of the events examined by controls of rates.
#[pyfunction]
pub fn names() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("job_state", JobState::ALL.iter().map(|state| state.name()).collect()),
        ("job_type", JobType::NAMES.iter().map(|(name, _)| *name).collect()),
        ("rank_order", RankOrder::NAMES.iter().map(|(name, _)| *name).collect()),
        ("rejection", Rejection::ALL.iter().map(|reason| reason.name()).collect()),
        ("waiting", Reason::NAMED.iter().map(|(name, _)| *name).collect()),
        ("walltime", WallTime::NAMES.iter().map(|(name, _)| *name).collect()),
        ("job_check", JobCheck::NAMES.iter().map(|(name, _)| *name).collect()),
        ("order_at_instant", Agenda::NAMES.iter().map(|(name, _)| *name).collect()),
        ("change", Change::METHODS.to_vec()),
        ("event", EVENT_NAMES.to_vec()),
        ("key_event", KeyEvent::NAMES.iter().map(|(name, _)| *name).collect()),
    ])
}
