//! A profile with hypothetical jobs that hold nodes in addition.
//!
//! With rows, a query costs O(nodes) for each instant at which a hypothetical job begins, and does not change the
//! profile. It requires that all jobs of the profile have begun, so the free amount of a node never decreases over
//! time.
use crate::cluster::availability::{Place, PlacementRequest, Unanswered};
use crate::cluster::placement::NodeTasks;
use crate::cluster::request::Request;
use crate::cluster::unreserved_nodes::place_at;

use super::level_minima::LevelMinima;
use super::minima::Minima;
use super::{Nodes, OverTime, Profile};

/// A hypothetical job that holds nodes over [from, until).
#[derive(Clone, Copy, Debug)]
pub struct ProfileOverlay<'a> {
    /// The request of each of its tasks.
    pub request: &'a Request,
    /// Its nodes.
    pub placement: &'a [NodeTasks],
    /// The time at which it begins.
    pub from: f64,
    /// The time at which it ends.
    pub until: f64,
}

impl Profile {
    /// Returns whether a job fits for its whole duration from `start` if the hypothetical jobs hold their nodes; if so,
    /// writes its placement. All jobs of the profile itself must have begun.
    pub fn fits_with_overlays(
        &mut self,
        want: &PlacementRequest<'_>,
        start: f64,
        others: &[ProfileOverlay<'_>],
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        match &self.nodes {
            Nodes::Levels(levels) => {
                let at = |instant| LevelMinima::at(self, levels, want.request, instant);
                place_if_enough(place, &minima_with_overlays(at, want, start, others), want, start, placement)
            }
            Nodes::Rows(rows) => {
                let at = |instant| Minima::at(self, rows, want.request, instant);
                place_if_enough(place, &minima_with_overlays(at, want, start, others), want, start, placement)
            }
            Nodes::Steps(_) => {
                for other in others {
                    self.hold(other.request, other.placement, other.from, other.until);
                }
                let fits = self.fits_at(want, start, place, placement);
                for other in others {
                    self.release(other.request, other.placement, other.from, other.until);
                }
                fits
            }
        }
    }
}

/// Places a job if the slots suffice: counting slots costs less than an allocation.
fn place_if_enough(
    place: &mut impl Place,
    minima: &impl OverTime,
    want: &PlacementRequest<'_>,
    start: f64,
    placement: &mut Vec<NodeTasks>,
) -> Result<bool, Unanswered> {
    if !minima.holds(want.request, want.tasks) {
        return Ok(false);
    }
    place_at(place, minima, want, start, placement)
}

/// The minima over the duration of a job. The free amounts decrease only when a hypothetical job begins.
fn minima_with_overlays<M: OverTime>(
    free_at: impl Fn(f64) -> M,
    want: &PlacementRequest<'_>,
    start: f64,
    others: &[ProfileOverlay<'_>],
) -> M {
    let at = |instant: f64| {
        let mut minima = free_at(instant);
        for other in others.iter().filter(|other| other.from <= instant && instant < other.until) {
            minima.hold(other.request, other.placement);
        }
        minima
    };
    let (mut minima, end) = (at(start), start + want.duration);
    for other in others.iter().filter(|other| start < other.from && other.from < end) {
        minima.lower_to(&at(other.from));
    }
    minima
}
