//! Which nodes a job gets: `SelectType`.
use serde::{Deserialize, Serialize};

use super::cores;
use super::linear;
use super::offer::Offer;
use super::situation::{Allotment, Entry};

/// How nodes are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Select {
    /// `select/linear`: jobs take whole nodes.
    Linear,
    /// `select/cons_tres` with `CR_Core_Memory` or `CR_CPU`: jobs share nodes by CPUs and memory.
    Cores,
}

impl Select {
    /// All ways, by their names.
    pub const NAMES: [(&str, Self); 2] = [("linear", Self::Linear), ("cores", Self::Cores)];

    /// The way of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(other, _)| *other == name).map(|(_, select)| *select)
    }

    /// The nodes of an entry that starts now, once it has been evaluated.
    pub(super) fn begin(self, entry: &Entry, offer: Offer<'_>) -> Option<Vec<Allotment>> {
        match self {
            Self::Linear => linear::choose_lightest(entry, offer),
            Self::Cores => cores::choose(entry, offer),
        }
    }

    /// The nodes of an entry, by index, with what it gets on each; None where it does not fit.
    pub(super) fn choose(self, entry: &Entry, offer: Offer<'_>) -> Option<Vec<Allotment>> {
        match self {
            Self::Linear => linear::choose(entry, offer),
            Self::Cores => cores::choose(entry, offer),
        }
    }
}
