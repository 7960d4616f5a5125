//! The gate before reservations of the machine (S14): whether a job has to be gone before one of them.
use crate::cluster::{NodeSet, PlacementRequest};
use crate::scheduler::Slurm;

use super::Look;

impl Look<'_> {
    /// Return the nodes in others' reservations that are under way.
    pub(super) fn under_way(&self, want: &PlacementRequest<'_>) -> NodeSet {
        self.reserved_until(want, self.view.now())
    }

    /// Return the nodes in others' reservations that are under way, or begin until a time.
    fn reserved_until(&self, want: &PlacementRequest<'_>, until: f64) -> NodeSet {
        self.reserved_if(want, |begin| begin <= until)
    }

    /// Return the nodes in others' reservations whose begin satisfies a condition.
    fn reserved_if(&self, want: &PlacementRequest<'_>, counts: impl Fn(f64) -> bool) -> NodeSet {
        let others = self.others(want).into_iter().filter(|&(begin, _)| counts(begin));
        let occurrences = want.calendar.map(|calendar| calendar.occurrences);
        let nodes = others.filter_map(|(_, number)| occurrences.map(|each| each.nodes(number)));
        NodeSet::new(nodes.flat_map(|nodes| nodes.ranges_from(0)))
    }

    /// Return the begin of the occurrence of each reservation of others that is or comes next, and its number, by begin.
    fn others(&self, want: &PlacementRequest<'_>) -> Vec<(f64, usize)> {
        let Some(calendar) = want.calendar else { return Vec::new() };
        let own = self.view.scenario.calendar.as_deref().and_then(|calendar| calendar.used_by(want.job));
        let mut others: Vec<(f64, usize)> = (0..calendar.occurrences.count())
            .filter(|&number| own != Some(number as u32))
            .filter_map(|number| {
                calendar.occurrences.next_span(number, self.view.now()).map(|span| (span.0, number))
            })
            .collect();
        others.sort_by(|one, other| one.0.total_cmp(&other.0));
        others
    }

    /// Return the reservation to come in whose way a job would be that fits, and when it begins.
    pub(super) fn in_the_way(&self, want: &PlacementRequest<'_>, under_way: &NodeSet) -> Option<(u32, f64)> {
        let (machine, now) = (&self.view.state.machine, self.view.now());
        let calendar = want.calendar?;
        let closed = match self.controller {
            // As calls see it; the sum of now and a limit may be rounded.
            Some(_) => {
                let limit = Slurm::limit_in_calls(self.view, want.job);
                self.reserved_if(want, |begin| begin <= now || begin - limit <= now)
            }
            None => calendar.closed_from(now),
        };
        if closed == *under_way || self.holds(machine, want, &closed) {
            return None;
        }
        let coming = self.others(want).into_iter().filter(|&(begin, _)| begin > now);
        let mut tried = f64::NAN;
        for (begin, number) in coming {
            if begin > tried || tried.is_nan() {
                tried = begin;
                if !self.holds(machine, want, &self.reserved_until(want, begin)) {
                    return Some((number as u32, begin));
                }
            }
        }
        None
    }
}
