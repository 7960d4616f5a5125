//! The search by rows: one window moves over the steps, and each step is taken into it once or twice.
use crate::cluster::availability::{Place, PlacementRequest, Unanswered};
use crate::cluster::opened::place_at;
use crate::cluster::placement::NodeTasks;

use super::Profile;
use super::minima::Minima;
use super::rows::Rows;

/// Why a job does not fit over a window.
enum Obstacle {
    /// The totals of this step are too small.
    Totals(usize),
    /// With this step, the nodes have too few slots.
    Nodes(usize),
}

impl Profile {
    /// The earliest instant in [from, before), where it is known that there is none in [now, from).
    pub(super) fn earliest_by_rows(
        &self,
        rows: &Rows,
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
        let mut minima = Minima::of_asked(self, rows, want.request);
        let mut other = minima.clone();
        while first < times.len() {
            let start = times[first].max(self.now);
            if start >= before {
                return Ok(None);
            }
            let end = start + want.duration;
            let obstacle = loop {
                if next >= times.len() || (next > first && times[next] >= end) {
                    break None;
                }
                if self.is_reliable(next) && lacks(next) {
                    break Some(Obstacle::Totals(next));
                }
                if !other.take(&minima, next, want) {
                    break Some(Obstacle::Nodes(next));
                }
                std::mem::swap(&mut minima, &mut other);
                next += 1;
            };
            (first, next) = match obstacle {
                None if self.fits_over(&minima, want, start, place, placement)? => return Ok(Some(start)),
                None => (first + 1, first + 1),
                Some(Obstacle::Totals(step)) => (step + 1, step + 1),
                Some(Obstacle::Nodes(step)) => {
                    (Self::behind(want, first..step, &mut minima, &mut other), step + 1)
                }
            };
            if first >= next || obstacle.is_none() {
                minima.clear();
                next = first;
            }
        }
        Ok(None)
    }

    /// The first step from which, with the last of these steps, the nodes have slots enough; leaves the minima from there.
    fn behind<'a>(
        want: &PlacementRequest<'_>,
        steps: std::ops::Range<usize>,
        minima: &mut Minima<'a>,
        other: &mut Minima<'a>,
    ) -> usize {
        minima.clear();
        let mut step = steps.end;
        while other.take(minima, step, want) {
            std::mem::swap(minima, other);
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
        minima: &Minima<'_>,
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
