//! The calendar of reservations: which nodes are reserved when, and for which jobs (semantics, S14).
//!
//! A node is closed to a job depending on the job's start time and its time limit. A query costs O(r log k) for r
//! reservations with k occurrences each, and O(ranges of their nodes).
use serde::{Deserialize, Serialize};

use super::node_set::NodeSet;
use super::placement::NodeTasks;

/// The reservations of a machine, and the jobs that use them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calendar {
    /// All reservations.
    occurrences: Occurrences,
    /// By slot: 1 + the number of the reservation that the job uses; 0 if it uses none.
    of_job: Vec<u32>,
    /// By reservation: true if it cancels running jobs on its nodes.
    cancels: Vec<bool>,
}

/// The known reservations: their nodes and times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Occurrences {
    /// The nodes of each reservation.
    nodes: Vec<NodeSet>,
    /// Begin and end of each occurrence by reservation, in ascending order and disjoint; empty if the reservation is
    /// not known.
    spans: Vec<Vec<(f64, f64)>>,
    /// The times at which a reservation begins or ends.
    instants: Vec<f64>,
    /// The begin of each occurrence that cancels running jobs, in ascending order, and the number of its reservation.
    cuts: Vec<(f64, u32)>,
}

impl Calendar {
    /// Creates a calendar from the nodes of each reservation, its begin and end times, and whether it cancels jobs, and
    /// from the reservation of each slot (1 + its number, or 0).
    #[must_use]
    pub fn new(
        nodes: Vec<NodeSet>,
        spans: Vec<Vec<(f64, f64)>>,
        cancels: Vec<bool>,
        of_job: Vec<u32>,
    ) -> Self {
        Self { occurrences: Occurrences::new(nodes, spans, &cancels), of_job, cancels }
    }

    /// All reservations.
    #[must_use]
    pub fn occurrences(&self) -> &Occurrences {
        &self.occurrences
    }

    /// Returns the known reservations after one becomes known or is withdrawn; None if nothing changes.
    #[must_use]
    pub fn with(&self, before: &Occurrences, reservation: u32, is_known: bool) -> Option<Occurrences> {
        let number = reservation as usize;
        let was_known = !before.spans.get(number)?.is_empty();
        if was_known == is_known {
            return None;
        }
        let mut spans = before.spans.clone();
        spans[number] = if is_known { self.occurrences.spans[number].clone() } else { Vec::new() };
        Some(Occurrences::new(self.occurrences.nodes.clone(), spans, &self.cancels))
    }

    /// The number of the reservation that a job uses; None if it uses none.
    #[must_use]
    pub fn used_by(&self, slot: u32) -> Option<u32> {
        self.of_job.get(slot as usize).and_then(|number| number.checked_sub(1))
    }
}

impl Occurrences {
    fn new(nodes: Vec<NodeSet>, spans: Vec<Vec<(f64, f64)>>, cancels: &[bool]) -> Self {
        let times = spans.iter().flatten().flat_map(|&(begin, end)| [begin, end]);
        let mut instants: Vec<f64> = times.filter(|time| time.is_finite()).collect();
        instants.sort_unstable_by(f64::total_cmp);
        instants.dedup();
        let begins = spans.iter().zip(cancels).enumerate().filter(|(_, (_, cancels))| **cancels);
        let mut cuts: Vec<(f64, u32)> = begins
            .flat_map(|(number, (spans, _))| spans.iter().map(move |&(begin, _)| (begin, number as u32)))
            .collect();
        cuts.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        Self { nodes, spans, instants, cuts }
    }

    /// Number of reservations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes of a reservation.
    #[must_use]
    pub fn nodes(&self, number: usize) -> &NodeSet {
        &self.nodes[number]
    }

    /// The first occurrence of a reservation that has not ended; None if there is no such occurrence. O(log k).
    #[must_use]
    pub fn next_span(&self, number: usize, now: f64) -> Option<(f64, f64)> {
        let spans = &self.spans[number];
        spans.get(spans.partition_point(|&(_, end)| end <= now)).copied()
    }

    /// The first time after `time` at which running jobs are cancelled; infinity if none is known. O(log k).
    #[must_use]
    pub fn next_cut_after(&self, time: f64) -> f64 {
        let at = self.cuts.partition_point(|&(begin, _)| begin <= time);
        self.cuts.get(at).map_or(f64::INFINITY, |&(begin, _)| begin)
    }

    /// Returns whether a job on these nodes is cancelled at this time by a reservation other than its own.
    #[must_use]
    pub fn cuts_at(&self, time: f64, own: Option<u32>, placement: &[NodeTasks]) -> bool {
        let first = self.cuts.partition_point(|&(begin, _)| begin < time);
        self.cuts[first..]
            .iter()
            .take_while(|&&(begin, _)| begin <= time)
            .filter(|&&(_, number)| Some(number) != own)
            .any(|&(_, number)| placement.iter().any(|part| self.nodes[number as usize].contains(part.node)))
    }

    /// The reservations as seen by a job with this reservation (or none) and this time limit.
    #[must_use]
    pub fn of(&self, own: Option<u32>, limit: f64) -> JobCalendar<'_> {
        JobCalendar { occurrences: self, own: own.map(|number| number as usize), limit }
    }

    /// Returns whether running jobs are cancelled at this time.
    #[must_use]
    pub fn has_cuts_at(&self, time: f64) -> bool {
        self.cuts.binary_search_by(|(begin, _)| begin.total_cmp(&time)).is_ok()
    }

    /// The first time after `time` at which a reservation begins or ends; infinity if none is known.
    #[must_use]
    pub fn next_after(&self, time: f64) -> f64 {
        let at = self.instants.partition_point(|&instant| instant <= time);
        self.instants.get(at).copied().unwrap_or(f64::INFINITY)
    }

    /// The first time at or after `time` at which a reservation begins or ends; infinity if none is known.
    #[must_use]
    pub fn next_from(&self, time: f64) -> f64 {
        let at = self.instants.partition_point(|&instant| instant < time);
        self.instants.get(at).copied().unwrap_or(f64::INFINITY)
    }

    /// The last time at or before `time` at which a reservation begins or ends; minus infinity if none is known.
    #[must_use]
    pub fn last_until(&self, time: f64) -> f64 {
        let at = self.instants.partition_point(|&instant| instant <= time);
        at.checked_sub(1).map_or(f64::NEG_INFINITY, |at| self.instants[at])
    }
}

/// The calendar as one job sees it.
#[derive(Clone, Copy, Debug)]
pub struct JobCalendar<'a> {
    /// The known reservations.
    pub occurrences: &'a Occurrences,
    own: Option<usize>,
    limit: f64,
}

impl JobCalendar<'_> {
    /// Returns whether a job that starts at `start` reaches its time limit within its own reservation. True if the job
    /// uses no reservation; false if its reservation is not known.
    #[must_use]
    pub fn is_in_time(&self, start: f64) -> bool {
        let Some(own) = self.own else { return true };
        let spans = &self.occurrences.spans[own];
        let begun = spans.partition_point(|&(begin, _)| begin <= start);
        begun.checked_sub(1).is_some_and(|last| {
            let end = spans[last].1;
            start < end && start + self.limit <= end
        })
    }

    /// The nodes that are reserved for others at some time between the job's start and its time limit.
    #[must_use]
    pub fn closed_from(&self, start: f64) -> NodeSet {
        self.closed_since(start, start)
    }

    /// The nodes that are reserved for others at some time between `now` and the time limit of a job that started at
    /// `start`.
    #[must_use]
    pub fn closed_since(&self, start: f64, now: f64) -> NodeSet {
        let until = start + self.limit;
        let is_closed = |number: usize| {
            let spans = &self.occurrences.spans[number];
            let next = spans.partition_point(|&(_, end)| end <= now);
            Some(number) != self.own
                && spans.get(next).is_some_and(|&(begin, _)| begin <= now || begin < until)
        };
        let closed = (0..self.occurrences.nodes.len()).filter(|&number| is_closed(number));
        NodeSet::new(closed.flat_map(|number| self.occurrences.nodes[number].ranges_from(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar() -> Calendar {
        let nodes = [0..4, 3..6].map(|range| NodeSet::new(std::iter::once(range))).to_vec();
        let spans = vec![vec![(10.0, 20.0), (30.0, 40.0)], vec![(40.0, f64::INFINITY)]];
        Calendar::new(nodes, spans, vec![true, false], vec![0, 1])
    }

    fn of(calendar: &Calendar, slot: u32, limit: f64) -> JobCalendar<'_> {
        calendar.occurrences().of(calendar.used_by(slot), limit)
    }

    #[test]
    fn a_node_is_closed_to_a_job_that_would_not_be_gone() {
        let calendar = calendar();
        let nodes = |limit: f64, start: f64| {
            of(&calendar, 0, limit).closed_from(start).ranges_from(0).flatten().collect::<Vec<_>>()
        };
        assert!(nodes(10.0, 0.0).is_empty());
        assert_eq!(nodes(10.5, 0.0), [0, 1, 2, 3]);
        assert_eq!(nodes(0.0, 10.0), [0, 1, 2, 3]);
        assert!(nodes(10.0, 20.0).is_empty());
        assert_eq!(nodes(f64::INFINITY, 20.0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(nodes(1.0, 1e9), [3, 4, 5]);
        assert!(of(&calendar, 1, 10.0).closed_from(10.0).is_empty());
    }

    #[test]
    fn a_job_of_a_reservation_ends_within_it() {
        let calendar = calendar();
        let may = |limit: f64, start: f64| of(&calendar, 1, limit).is_in_time(start);
        assert!(!may(1.0, 9.0) && may(10.0, 10.0) && !may(10.0, 10.5));
        assert!(!may(0.0, 20.0) && may(2.0, 38.0) && !may(2.0, 50.0));
        assert!(of(&calendar, 0, 1e9).is_in_time(0.0));
    }

    #[test]
    fn instants_are_found_from_both_sides() {
        let calendar = calendar();
        let calendar = calendar.occurrences();
        assert_eq!((calendar.next_after(10.0), calendar.next_from(10.0)), (20.0, 10.0));
        assert_eq!((calendar.last_until(35.0), calendar.last_until(5.0)), (30.0, f64::NEG_INFINITY));
        assert!(calendar.next_after(40.0).is_infinite());
    }

    #[test]
    fn a_reservation_that_is_not_known_keeps_no_nodes_and_lets_no_job_in() {
        let calendar = calendar();
        let all = calendar.occurrences();
        assert!(all.has_cuts_at(30.0) && calendar.with(all, 0, true).is_none());
        assert!(calendar.with(all, 2, true).is_none());
        let less = calendar.with(all, 0, false).unwrap_or_default();
        assert!(less.of(None, f64::INFINITY).closed_from(0.0).ranges_from(0).eq(std::iter::once(3..6)));
        assert!(!less.of(Some(0), 1.0).is_in_time(10.0) && !less.has_cuts_at(30.0));
        assert_eq!((less.next_after(0.0), less.next_cut_after(0.0)), (40.0, f64::INFINITY));
        assert_eq!(calendar.with(&less, 0, true).as_ref(), Some(all));
    }
}
