//! What is left of a profile where other jobs are supposed to hold nodes besides.
//!
//! By rows it costs O(nodes) for each instant at which one of them begins, and the profile is not changed. This goes by what the
//! profile holds: jobs that have begun, so that on no node less becomes free.
use crate::cluster::availability::{Place, PlacementRequest, Unanswered};
use crate::cluster::opened::place_at;
use crate::cluster::placement::NodeTasks;
use crate::cluster::request::Request;

use super::level_minima::LevelMinima;
use super::minima::Minima;
use super::{Nodes, OverTime, Profile};

/// A job that is supposed to hold nodes over [from, until).
#[derive(Clone, Copy, Debug)]
pub struct Supposed<'a> {
    /// What each of its tasks asks.
    pub request: &'a Request,
    /// Its nodes.
    pub placement: &'a [NodeTasks],
    /// When it begins.
    pub from: f64,
    /// When it is over.
    pub until: f64,
}

impl Profile {
    /// Whether a job fits for its whole duration from `start` if others hold nodes besides; if so, its placement. The profile
    /// itself holds only jobs that have begun.
    pub fn fits_besides(
        &mut self,
        want: &PlacementRequest<'_>,
        start: f64,
        others: &[Supposed<'_>],
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        match &self.nodes {
            Nodes::Levels(levels) => {
                let at = |instant| LevelMinima::at(self, levels, want.request, instant);
                place_if_enough(place, &minima_besides(at, want, start, others), want, start, placement)
            }
            Nodes::Rows(rows) => {
                let at = |instant| Minima::at(self, rows, want.request, instant);
                place_if_enough(place, &minima_besides(at, want, start, others), want, start, placement)
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

/// Places a job where the slots suffice: to count them costs less than to fill them.
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

/// The minima over the duration of a job, of what is free at an instant: less is free only where another begins.
fn minima_besides<M: OverTime>(
    free_at: impl Fn(f64) -> M,
    want: &PlacementRequest<'_>,
    start: f64,
    others: &[Supposed<'_>],
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
