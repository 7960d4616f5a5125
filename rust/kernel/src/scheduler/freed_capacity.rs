//! Node time released in a conservative plan, so that a compression examines only jobs that it can have unblocked.
//!
//! A job that found no earlier start before can start earlier only if some freed node has a slot for it: a run of free
//! time on this node that lasts for the job's whole duration and overlaps the freed time. The runs of the freed nodes
//! are kept as two staircases for each class of requests. They are upper bounds: later planning can only shorten runs.
use serde::{Deserialize, Serialize};

use crate::cluster::{NodeTasks, Profile, Request};
use crate::index::Staircase;

/// One span of freed time for each node. A span covers all releases on the node, and may be wider.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FreedCapacity {
    spans: Vec<(f64, f64)>,
    nodes: Vec<u32>,
    /// Union of these spans as disjoint intervals, in order.
    times: Vec<(f64, f64)>,
}

impl FreedCapacity {
    const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

    /// Create an empty record for this many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { spans: vec![Self::NOTHING; nodes], nodes: Vec::new(), times: Vec::new() }
    }

    /// Return whether nothing is freed from `now` on.
    #[must_use]
    pub fn is_over(&self, now: f64) -> bool {
        self.times.last().is_none_or(|&(_, end)| end <= now)
    }

    /// Add the nodes of a placement over [begin, end).
    pub fn add(&mut self, placement: &[NodeTasks], begin: f64, end: f64) {
        if begin >= end {
            return;
        }
        for part in placement {
            let span = &mut self.spans[part.node as usize];
            if *span == Self::NOTHING {
                self.nodes.push(part.node);
            }
            *span = (span.0.min(begin), span.1.max(end));
        }
        let first = self.times.partition_point(|&(_, its_end)| its_end < begin);
        let touching = self.times[first..].iter().take_while(|&&(its_begin, _)| its_begin <= end).count();
        let touched = &self.times[first..first + touching];
        let begin = touched.first().map_or(begin, |&(its_begin, _)| its_begin.min(begin));
        let end = touched.last().map_or(end, |&(_, its_end)| its_end.max(end));
        self.times.splice(first..first + touching, [(begin, end)]);
    }

    /// Remove all spans.
    pub fn clear(&mut self) {
        for node in self.nodes.drain(..) {
            self.spans[node as usize] = Self::NOTHING;
        }
        self.times.clear();
    }

    /// Return whether any node was freed within [begin, end).
    fn has_within(&self, begin: f64, end: f64) -> bool {
        let next = self.times.partition_point(|&(_, its_end)| its_end <= begin);
        self.times.get(next).is_some_and(|&(its_begin, _)| its_begin < end)
    }

    /// Return whether a node of the reservation [start, end) was freed before `end` and has a slot until `start`: the
    /// job's own release then prolongs a run.
    fn prolongs(
        &self,
        profile: &Profile,
        request: &Request,
        placement: &[NodeTasks],
        start: f64,
        end: f64,
    ) -> bool {
        let is_freed = |part: &&NodeTasks| self.spans[part.node as usize].0 < end;
        profile.has_slot_before(placement.iter().filter(is_freed), request, start)
    }
}

/// A reservation, as input of the search for an earlier start.
#[derive(Clone, Copy, Debug)]
pub struct Reserved<'a> {
    /// Start time.
    pub start: f64,
    /// Duration in seconds.
    pub duration: f64,
    /// Reserved nodes.
    pub placement: &'a [NodeTasks],
}

/// Free runs on the freed nodes, for one class of requests: same nodes, same resources, same exclusivity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Openings {
    /// The smallest amounts requested in the class.
    least: Request,
    is_known: bool,
    /// Begin of runs → their length.
    by_begin: Staircase,
    /// Minus the end of runs → their length.
    by_end: Staircase,
    /// For each resource, total free amount → earliest time in freed spans with that total.
    totals: Vec<Staircase>,
}

impl Openings {
    /// Create the openings for the class of a request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        Self {
            least: Request { tasks_per_node: 0, ..request.clone() },
            is_known: false,
            by_begin: Staircase::default(),
            by_end: Staircase::default(),
            totals: Vec::new(),
        }
    }

    /// Return whether a request belongs to the class.
    #[must_use]
    pub fn has(&self, request: &Request) -> bool {
        let mut amounts = self.least.amounts.iter().zip(&request.amounts);
        self.least.nodes == request.nodes
            && self.least.exclusive == request.exclusive
            && amounts.all(|(&least, &asked)| (least > 0) == (asked > 0))
    }

    /// Add a request to the class. Return false if it does not belong there.
    pub fn admit(&mut self, request: &Request) -> bool {
        let has = self.has(request);
        if has {
            for (least, &asked) in self.least.amounts.iter_mut().zip(&request.amounts) {
                if asked < *least {
                    (*least, self.is_known) = (asked, false);
                }
            }
        }
        has
    }

    /// Invalidate the staircases; the next query recomputes them.
    pub fn forget(&mut self) {
        self.is_known = false;
    }

    /// Compute the staircases from the freed spans.
    fn look_up(&mut self, profile: &Profile, freed: &FreedCapacity) {
        (self.by_begin, self.by_end) = (Staircase::default(), Staircase::default());
        self.totals.clear();
        self.totals.resize(self.least.amounts.len(), Staircase::default());
        if let (Some(&(begin, _)), Some(&(_, end))) = (freed.times.first(), freed.times.last()) {
            self.add_nodes(profile, freed.nodes.iter().copied(), (begin, end), |node| {
                freed.spans[node as usize]
            });
        }
        for &(begin, end) in &freed.times {
            self.add_totals(profile, begin, end);
        }
        self.is_known = true;
    }

    fn add_nodes(
        &mut self,
        profile: &Profile,
        nodes: impl Iterator<Item = u32>,
        all: (f64, f64),
        span_of: impl Fn(u32) -> (f64, f64),
    ) {
        let (by_begin, by_end) = (&mut self.by_begin, &mut self.by_end);
        let mut latest = (f64::NAN, f64::NAN);
        profile.visit_runs(nodes, &self.least, all, &mut |node, begin, end| {
            let span = span_of(node);
            // The nodes of one job usually have the same runs.
            if begin >= span.1 || end <= span.0 || latest == (begin, end) {
                return;
            }
            latest = (begin, end);
            // Because of rounding, a window can end in time that begins slightly after `end - duration`.
            let length = if end == f64::INFINITY { end } else { end - begin + end.abs() * ROUNDING };
            by_begin.add(begin, length);
            by_end.add(-end, length);
        });
    }

    fn add_totals(&mut self, profile: &Profile, begin: f64, end: f64) {
        for (resource, totals) in self.totals.iter_mut().enumerate() {
            if self.least.amounts[resource] > 0 {
                let mut most = i64::MIN;
                profile.visit_totals(self.least.nodes, resource, (begin, end), |time, total| {
                    if total > most {
                        totals.add(time, total as f64);
                        most = total;
                    }
                });
            }
        }
    }

    /// Add spans that were freed later.
    pub fn add(&mut self, profile: &Profile, placement: &[NodeTasks], begin: f64, end: f64) {
        if self.is_known && begin < end {
            let nodes = placement.iter().map(|part| part.node);
            self.add_nodes(profile, nodes, (begin, end), |_| (begin, end));
            self.add_totals(profile, begin, end);
        }
    }

    /// Return the interval of instants in which a job with a reservation in the profile may start earlier: no start
    /// before the first and none from the second on. None if it cannot start earlier.
    pub fn chance(
        &mut self,
        profile: &Profile,
        freed: &FreedCapacity,
        request: &Request,
        tasks: u32,
        old: Reserved<'_>,
    ) -> Option<(f64, f64)> {
        if !self.is_known {
            self.look_up(profile, freed);
        }
        let Reserved { start, duration, placement } = old;
        let end = start + duration;
        let mut enough = profile.now();
        if profile.are_totals_reliable() {
            for (resource, totals) in self.totals.iter().enumerate() {
                if request.amounts[resource] > 0 {
                    enough = enough.max(totals.lowest(request.need(resource, tasks) as f64));
                }
            }
        }
        // The time of the reservation itself matters if the job could begin shortly before it.
        let reaches = || freed.has_within(start, end) && profile.has_total_before(request, tasks, start);
        if enough >= start && !reaches() {
            return None;
        }
        let first = self.by_begin.lowest(duration);
        if first < start {
            let last = -self.by_end.lowest(duration) - duration;
            let before = (last + last.abs() * ROUNDING).next_up().min(start);
            let is_bound = !freed.prolongs(profile, request, placement, start, end);
            return Some(if is_bound { (first, before) } else { (profile.now(), start) });
        }
        freed.prolongs(profile, request, placement, start, end).then_some((profile.now(), start))
    }
}

/// Upper bound on the relative rounding error of times and their differences.
const ROUNDING: f64 = 1e-15;
