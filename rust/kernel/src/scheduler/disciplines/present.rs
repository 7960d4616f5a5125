//! The present jobs of a simulation in the order of a discipline: sorted running jobs, merged with the sorted queue.
//! O(r log r) for r running jobs, then O(log q) for each job examined.
use std::cmp::{Ordering, Reverse};
use std::iter::Peekable;
use std::vec::IntoIter;

use crate::priority::Priority;
use crate::state::{Phase, Rank, View};

use super::candidates::{Candidate, Candidates, Capacity};

/// Position in the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The last queued job returned.
    at: Option<Rank>,
    /// If ties are reversed, the upper bound of the current group of equal keys.
    end: Option<Rank>,
}

/// Iterator over the present jobs. Queued jobs are read only as far as they are examined.
pub struct Present<'a> {
    view: View<'a>,
    with_running: bool,
    running: Peekable<IntoIter<(Rank, Candidate)>>,
    place: Place,
    /// True if a limit blocks all further queued jobs.
    is_held_up: bool,
    /// True if jobs with equal keys and submit times are returned in reverse order.
    reverses: bool,
}

impl<'a> Present<'a> {
    /// Collect all present jobs, or only the queued ones.
    pub fn new(view: View<'a>, order: &Priority, with_running: bool, reverses: bool) -> Self {
        let mut running = Vec::new();
        for job in view.state.running.jobs() {
            if with_running && may_be_suspended(view, job) {
                let work = work_left(view, job);
                let rank = view.state.rank_by(view.scenario, order, job, work);
                running.push((rank, candidate(view, job, work)));
            }
        }
        running.sort_unstable_by(|(one, _), (other, _)| order_of(one, other, reverses));
        Self {
            view,
            with_running,
            running: running.into_iter().peekable(),
            place: Place::default(),
            is_held_up: false,
            reverses,
        }
    }

    /// Return the running jobs, in order.
    pub fn running(&self) -> Vec<u32> {
        self.running.clone().map(|(_, candidate)| candidate.job).collect()
    }

    /// Return the capacity to share: free resources, and those held by the running jobs in this iterator.
    pub fn capacity(&self) -> Capacity {
        let View { scenario, state } = self.view;
        let machine = &state.machine;
        let resources = machine.resources();
        let left = machine.free_totals().to_vec();
        let kept = vec![0; left.len()];
        let mut capacity = Capacity { left, kept, resources, server: scenario.server() };
        for job in state.running.jobs().into_iter().filter(|&job| state.holds_nodes(job)) {
            // Resources that are being released are not free yet, but are no reason to suspend other jobs.
            let gives_up = self.view.is_suspending(job);
            let is_shared = self.with_running && (gives_up || may_be_suspended(self.view, job));
            let amounts = if is_shared { &mut capacity.left } else { &mut capacity.kept };
            for &part in state.jobs.placement(job) {
                let sets = scenario.node_sets.others_of(part.node).iter().map(|set| set.index());
                for set in sets.chain([0]) {
                    for resource in 0..resources {
                        amounts[set * resources + resource] +=
                            machine.held(scenario.request(job), part, resource);
                    }
                }
            }
        }
        capacity
    }

    /// Return the next job in order; queued jobs only if their values match.
    fn advance(&mut self, matches: &impl Fn(&[i64]) -> bool) -> Option<Candidate> {
        let waiting = self.next_waiting(matches);
        let first_runs = match (self.running.peek(), &waiting) {
            (Some((rank, _)), Some((other, _))) => order_of(rank, other, self.reverses).is_lt(),
            (running, _) => running.is_some(),
        };
        if first_runs {
            return self.running.next().map(|(_, job)| job);
        }
        let (rank, place) = waiting?;
        self.place = place;
        let View { scenario, state } = self.view;
        Some(candidate(self.view, rank.job, state.work_left(scenario, rank.job)))
    }

    /// Return the next queued job that is within its limits and has matching values, and its position.
    fn next_waiting(&mut self, matches: &impl Fn(&[i64]) -> bool) -> Option<(Rank, Place)> {
        let mut place = self.place;
        while !self.is_held_up {
            let rank = if self.reverses {
                self.step_in_reverse(&mut place)?
            } else {
                self.step(&mut place, matches)?
            };
            match self.view.over_limit(rank.job) {
                None => return Some((rank, place)),
                Some((_, blocks)) => self.is_held_up = blocks,
            }
        }
        None
    }

    /// Return the next queued job with matching values.
    fn step(&self, place: &mut Place, matches: &impl Fn(&[i64]) -> bool) -> Option<Rank> {
        place.at = self.view.state.queue.first_matching(place.at.as_ref(), matches);
        place.at
    }

    /// Return the next queued job, with ties in reverse order.
    fn step_in_reverse(&self, place: &mut Place) -> Option<Rank> {
        let index = &self.view.state.queue.index;
        let before = place.at.or(place.end);
        let found = before.and_then(|before| index.last_matching(Some(&before), &|_| true));
        let is_equal =
            |rank: &Rank| place.end.is_some_and(|end| Rank { row: end.row, job: end.job, ..*rank } == end);
        place.at = found.filter(is_equal);
        if place.at.is_none() {
            let first = index.first_matching(place.end.as_ref(), &|_| true)?;
            place.end = Some(Rank { row: u64::MAX, job: u32::MAX, ..first });
            place.at = index.last_matching(place.end.as_ref(), &|_| true);
        }
        place.at
    }
}

/// Compare two jobs; if `reverses`, a larger row comes first among equal keys and submit times.
fn order_of(one: &Rank, other: &Rank, reverses: bool) -> Ordering {
    if !reverses {
        return one.cmp(other);
    }
    let by_key = |rank: &Rank| (rank.tier, rank.key, rank.submit_time, Reverse(rank.row));
    by_key(one).cmp(&by_key(other))
}

impl Candidates for Present<'_> {
    fn next(&mut self) -> Option<Candidate> {
        self.advance(&|_| true)
    }

    fn take_running(&mut self) -> Vec<Candidate> {
        self.running.by_ref().map(|(_, job)| job).collect()
    }

    fn next_within(&mut self, capacity: &Capacity) -> Option<Candidate> {
        // A job over a limit may block the jobs behind it, whatever it requests.
        let each = self.view.looks_at_each();
        let width = capacity.resources + 1;
        let sets = self.view.scenario.node_sets.count();
        // The values of node sets come first; values of the request and of partitions follow.
        let may_fit = |values: &[i64]| {
            let mut of_sets = values.chunks_exact(width).take(sets).enumerate();
            each || of_sets.any(|(set, own)| capacity.has(set, &own[1..]))
        };
        loop {
            let job = self.advance(&may_fit)?;
            if capacity.admits(&job).is_some() {
                return Some(job);
            }
        }
    }
}

/// Return whether a running job may be suspended: it holds nodes, has no application, is not completing, and is not
/// being suspended already.
fn may_be_suspended(view: View<'_>, job: u32) -> bool {
    let is_settled = view.is_completing(job) || view.is_suspending(job);
    view.state.holds_nodes(job) && !view.has_application(job) && !is_settled
}

/// Return the remaining work of a running job.
fn work_left(view: View<'_>, job: u32) -> f64 {
    match view.state.jobs.run(job) {
        Some(run) if view.state.running.get(run).phase == Phase::Running => {
            view.state.work.left(view.now(), run)
        }
        _ => view.state.work_left(view.scenario, job),
    }
}

fn candidate(view: View<'_>, job: u32, work: f64) -> Candidate {
    let runs = view.state.jobs.run(job).is_some();
    let needs = (0..view.state.machine.resources()).map(|resource| view.need(job, resource)).collect();
    let set = |request: u32| view.scenario.requests.get(request).nodes.index();
    let sets: Vec<usize> = if runs {
        vec![view.running_request(job).nodes.index()]
    } else {
        view.scenario.alternatives(job).iter().map(|&request| set(request)).collect()
    };
    let servers = view.scenario.servers(job);
    Candidate { job, runs, servers, work, needs, set: sets[0], sets }
}
