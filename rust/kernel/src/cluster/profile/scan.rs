//! The search by rows of amounts or levels: one window moves over the steps, and each step enters it once or twice.
use crate::cluster::availability::{Place, PlacementRequest, Unanswered};
use crate::cluster::placement::NodeTasks;
use crate::cluster::unreserved_nodes::place_at;

use super::{OverTime, Profile};

/// The reason why a job does not fit over a window.
enum Obstacle {
    /// The totals of this step are too small.
    Totals(usize),
    /// With this step, the nodes have too few slots.
    Nodes(usize),
}

impl Profile {
    /// Returns the earliest instant in [from, before) at which the job fits, if none in [now, from) is known to exist.
    ///
    /// `minima` must cover an empty time.
    pub(super) fn earliest_by_rows<M: OverTime>(
        &self,
        mut minima: M,
        want: &PlacementRequest<'_>,
        from: f64,
        before: f64,
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<Option<f64>, Unanswered> {
        let lacks = self.lacks(want);
        let times = &self.totals.times;
        // The minima cover the steps `first..next`.
        let (mut first, mut next) = (self.totals.find(from), self.totals.find(from));
        let mut spare = minima.clone();
        // The totals of the steps `first..admitted` suffice.
        let mut admitted = first;
        while first < times.len() {
            let start = times[first].max(self.now);
            if start >= before {
                return Ok(None);
            }
            let end = start + want.duration;
            admitted = admitted.max(first);
            let obstacle = loop {
                if admitted >= times.len() || (admitted > first && times[admitted] >= end) {
                    break Self::scarce(want, next..admitted, &mut minima, &mut spare).map(Obstacle::Nodes);
                }
                if self.is_reliable(admitted) && lacks(admitted) {
                    break Some(Obstacle::Totals(admitted));
                }
                admitted += 1;
            };
            (first, next) = match obstacle {
                None if self.fits_over(&minima, want, start, place, placement)? => return Ok(Some(start)),
                None => (first + 1, first + 1),
                Some(Obstacle::Totals(step)) => (step + 1, step + 1),
                Some(Obstacle::Nodes(step)) => {
                    (Self::behind(want, first..step, &mut minima, &mut spare), step + 1)
                }
            };
            if first >= next || obstacle.is_none() {
                minima.clear();
                next = first;
            }
        }
        Ok(None)
    }

    /// Extends the minima by these steps; returns the first step with which the nodes have too few slots.
    fn scarce<M: OverTime>(
        want: &PlacementRequest<'_>,
        mut steps: std::ops::Range<usize>,
        minima: &mut M,
        spare: &mut M,
    ) -> Option<usize> {
        steps.find(|&step| !minima.take_in(spare, step, want))
    }

    /// Returns the first step such that the nodes have enough slots from it to the last of these steps; leaves the
    /// minima over that window.
    fn behind<M: OverTime>(
        want: &PlacementRequest<'_>,
        steps: std::ops::Range<usize>,
        minima: &mut M,
        spare: &mut M,
    ) -> usize {
        minima.clear();
        let mut step = steps.end;
        while minima.take_in(spare, step, want) {
            if step == steps.start {
                return step;
            }
            step -= 1;
        }
        step + 1
    }

    /// Returns whether the allocator places the job over a window with enough slots.
    fn fits_over(
        &self,
        minima: &impl OverTime,
        want: &PlacementRequest<'_>,
        start: f64,
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        if minima.is_whole() {
            place_at(place, minima, want, start, placement)
        } else {
            self.fits_at(want, start, place, placement)
        }
    }
}
