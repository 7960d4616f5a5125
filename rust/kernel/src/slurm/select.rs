//! Selection of nodes for a job: `SelectType`.
use serde::{Deserialize, Serialize};

use super::controller_input::{Allotment, Entry};
use super::cores;
use super::linear;
use super::selection_input::SelectionInput;

/// Node selection plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Select {
    /// `select/linear`: jobs use whole nodes.
    Linear,
    /// `select/cons_tres` with `CR_Core_Memory` or `CR_CPU`: jobs share nodes by CPUs and memory.
    Cores,
}

impl Select {
    /// All plugins by name.
    pub const NAMES: [(&str, Self); 2] = [("linear", Self::Linear), ("cores", Self::Cores)];

    /// Return the plugin with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(other, _)| *other == name).map(|(_, select)| *select)
    }

    /// Return the nodes of an entry that starts now, after its evaluation.
    pub(super) fn begin(self, entry: &Entry, input: SelectionInput<'_>) -> Option<Vec<Allotment>> {
        match self {
            Self::Linear => linear::choose_lightest(entry, input),
            Self::Cores => cores::choose(entry, input),
        }
    }

    /// Return the allotments of an entry, sorted by node; None if it does not fit.
    pub(super) fn choose(self, entry: &Entry, input: SelectionInput<'_>) -> Option<Vec<Allotment>> {
        match self {
            Self::Linear => linear::choose(entry, input),
            Self::Cores => cores::choose(entry, input),
        }
    }
}
