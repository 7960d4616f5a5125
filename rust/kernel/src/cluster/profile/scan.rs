//! The search by rows, of amounts or of levels: one window moves over the steps, and each step is taken into it once or twice.
use crate::cluster::availability::{Place, PlacementRequest, Unanswered};
use crate::cluster::opened::place_at;
use crate::cluster::placement::NodeTasks;

use super::{OverTime, Profile};

/// Why a job does not fit over a window.
enum Obstacle {
    /// The totals of this step are too small.
    Totals(usize),
    /// With this step, the nodes have too few slots.
    Nodes(usize),
}

impl Profile {
    /// The earliest instant in [from, before), where it is known that there is none in [now, from).
    ///
    /// The minima are of no time yet.
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
        // The minima over steps `first..next`.
        let (mut first, mut next) = (self.totals.find(from), self.totals.find(from));
        let mut spare = minima.clone();
        // The totals of steps `first..admitted` suffice.
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

    /// Takes these steps in, up to the first with which the nodes have too few slots: that one.
    fn scarce<M: OverTime>(
        want: &PlacementRequest<'_>,
        mut steps: std::ops::Range<usize>,
        minima: &mut M,
        spare: &mut M,
    ) -> Option<usize> {
        steps.find(|&step| !minima.take_in(spare, step, want))
    }

    /// The first step from which, with the last of these steps, the nodes have slots enough; leaves the minima from there.
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

    /// Whether the allocator finds a place over a window that has slots enough.
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
