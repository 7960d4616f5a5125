//! The jobs present in a simulation, in the order of a discipline: the running ones sorted, merged with the queue, which is
//! sorted already. O(r log r) for r running jobs, then O(log q) for each job that is looked at.
use std::cmp::{Ordering, Reverse};
use std::iter::Peekable;
use std::vec::IntoIter;

use crate::priority::Priority;
use crate::state::{Phase, Rank, View};

use super::candidates::{Candidate, Candidates, Capacity};

/// Where the waiting jobs have been taken up to.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The last one that came.
    at: Option<Rank>,
    /// Where equals come in reverse, the end of those among which it is.
    end: Option<Rank>,
}

/// The jobs present; they are never more than what is looked at, besides those that run.
pub struct Present<'a> {
    view: View<'a>,
    with_running: bool,
    running: Peekable<IntoIter<(Rank, Candidate)>>,
    place: Place,
    /// Whether a limit holds up all further waiting jobs.
    is_held_up: bool,
    /// Whether of jobs with equal keys and submissions the last comes first.
    reverses: bool,
}

impl<'a> Present<'a> {
    /// All jobs present, or the waiting ones only.
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

    /// The running jobs among them, in order.
    pub fn running(&self) -> Vec<u32> {
        self.running.clone().map(|(_, candidate)| candidate.job).collect()
    }

    /// What they share: what is free, and what those of them hold that run.
    pub fn capacity(&self) -> Capacity {
        let View { scenario, state } = self.view;
        let machine = &state.machine;
        let resources = machine.resources();
        let left = machine.free_totals().to_vec();
        let kept = vec![0; left.len()];
        let mut capacity = Capacity { left, kept, resources, server: scenario.server() };
        for job in state.running.jobs().into_iter().filter(|&job| state.holds_nodes(job)) {
            // What is being given up is not free yet, but no reason to suspend others either.
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

    /// The next job in order; of the waiting ones the next whose values match.
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

    /// The next waiting job that is within its limits and whose values match, and the place there.
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

    /// The next waiting job whose values match.
    fn step(&self, place: &mut Place, matches: &impl Fn(&[i64]) -> bool) -> Option<Rank> {
        place.at = self.view.state.queue.first_matching(place.at.as_ref(), matches);
        place.at
    }

    /// The next waiting job where equals come in reverse.
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

/// The order of two jobs; of equal keys and submissions the greatest row may come first.
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
        // One that is over a limit may hold up those behind it, whatever it asks for.
        let each = self.view.looks_at_each();
        let width = capacity.resources + 1;
        let sets = self.view.scenario.node_sets.count();
        // Values of the request and of partitions follow those of the node sets.
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

/// Whether a running job may be suspended: it holds its nodes, has no application, its run is not over, and it has not been suspended already.
fn may_be_suspended(view: View<'_>, job: u32) -> bool {
    let is_settled = view.is_completing(job) || view.is_suspending(job);
    view.state.holds_nodes(job) && !view.has_application(job) && !is_settled
}

/// The remaining work of a running job.
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
