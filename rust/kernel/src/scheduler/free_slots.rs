//! Number of slots of each request on the machine now, counted lazily.
//!
//! If totals do not decide, they admit jobs that no node has room for. This test skips jobs that share a request
//! together: O(log n) for each node with a slot after the machine has changed, then O(log r) for r requests. If jobs
//! take consecutive nodes, it also skips jobs that need more than any run of adjacent nodes has, at the same cost.
use std::cell::RefCell;

use crate::cluster::{Availability, Request};
use crate::placement::Allocator;
use crate::state::{LeastAsked, RequestsAsked, View, each_asked};

/// Slots of one request.
#[derive(Clone, Copy, Debug)]
struct Counted {
    request: u32,
    slots: u64,
    /// The first node not examined yet; None after the last.
    next: Option<u32>,
}

impl Counted {
    /// Count all slots if one total decides, otherwise none yet.
    fn begin(view: View<'_>, request: u32) -> Self {
        let (requests, machine) = (&view.scenario.requests, &view.state.machine);
        let asked = requests.get(request);
        let of_total = |resource| machine.total_free_in(asked.nodes)[resource] / asked.amounts[resource];
        match requests.limiting_resource(request).map(of_total) {
            Some(slots) => Self { request, slots: slots.max(0) as u64, next: None },
            None => Self { request, slots: 0, next: Some(0) },
        }
    }
}

/// Slots of the requests queried since the machine changed.
#[derive(Clone, Debug, Default)]
pub struct FreeSlots {
    changes: u64,
    /// Sorted by request.
    counted: Vec<Counted>,
    /// For each resource, the largest free amount on a run of nodes that all have some of it free; empty if not
    /// computed.
    on_neighbours: Vec<u64>,
}

/// Test whether jobs with given queue values may have slots.
pub struct SlotTest<'a> {
    view: View<'a>,
    slots: RefCell<&'a mut FreeSlots>,
    knows: bool,
    takes_neighbours: bool,
}

impl FreeSlots {
    /// Return a test of queue values on the current machine.
    pub fn test<'a>(&'a mut self, view: View<'a>, allocator: &Allocator) -> SlotTest<'a> {
        if self.changes != view.state.machine.changes() {
            self.counted.clear();
            self.on_neighbours.clear();
            self.changes = view.state.machine.changes();
        }
        // With limits, skipping one job may admit another; an external allocator may be asked for each job.
        let knows =
            view.state.limited.is_none() && allocator.as_external().is_none() && !view.looks_at_each();
        let is_one_set = view.scenario.node_sets.count() == 1;
        let takes_neighbours = knows && is_one_set && allocator.takes_neighbours();
        SlotTest { view, slots: RefCell::new(self), knows, takes_neighbours }
    }

    /// Return whether some run of adjacent nodes has the minimum amounts that jobs with these values need.
    fn neighbours_have(&mut self, view: View<'_>, values: &[i64]) -> bool {
        let resources = view.state.machine.resources();
        if self.on_neighbours.is_empty() {
            self.on_neighbours.extend((0..resources).map(|resource| most_on_neighbours(view, resource)));
        }
        let needs = &values[1..=resources];
        needs.iter().zip(&self.on_neighbours).all(|(&need, &most)| u64::try_from(need).unwrap_or(0) <= most)
    }

    fn has(&mut self, view: View<'_>, request: u32, tasks: u64) -> bool {
        let at = self.counted.binary_search_by_key(&request, |known| known.request).unwrap_or_else(|at| {
            self.counted.insert(at, Counted::begin(view, request));
            at
        });
        let known = &mut self.counted[at];
        let (machine, asked) = (&view.state.machine, view.scenario.requests.get(request));
        if let Some(from) = known.next.filter(|_| known.slots < tasks) {
            known.next = None;
            machine.visit_slots(from..machine.nodes(), asked, &mut |node, slots| {
                known.slots += u64::from(slots);
                let is_enough = known.slots >= tasks;
                known.next = is_enough.then_some(node + 1);
                !is_enough
            });
        }
        known.slots >= tasks
    }
}

impl SlotTest<'_> {
    /// Return whether jobs with these values may have slots. False only if none of them has.
    pub fn passes(&self, values: &[i64]) -> bool {
        self.passes_where(values, |_| true)
    }

    /// Return whether jobs with these values may have slots for a request that `admits` accepts; it is not called for
    /// all jobs.
    pub fn passes_where(&self, values: &[i64], admits: impl Fn(&LeastAsked) -> bool) -> bool {
        if !self.knows {
            return true;
        }
        if self.takes_neighbours && !self.slots.borrow_mut().neighbours_have(self.view, values) {
            return false;
        }
        let has = |request, tasks| self.slots.borrow_mut().has(self.view, request, tasks);
        match self.view.requests_asked(values) {
            RequestsAsked::Unknown => true,
            RequestsAsked::Common(request, tasks) => has(request, tasks),
            RequestsAsked::Each(asked) => {
                each_asked(asked).any(|least| admits(&least) && has(least.request, least.tasks))
            }
        }
    }
}

/// Return the largest free amount of a resource on consecutive nodes that all have some of it free.
fn most_on_neighbours(view: View<'_>, resource: usize) -> u64 {
    let machine = &view.state.machine;
    let mut amounts = vec![0; machine.resources()];
    amounts[resource] = 1;
    let unit = Request { amounts, ..Request::NOTHING };
    let (mut most, mut sum, mut next) = (0, 0, 0);
    machine.visit_slots(0..machine.nodes(), &unit, &mut |node, units| {
        sum = if node == next { sum + u64::from(units) } else { u64::from(units) };
        next = node + 1;
        most = most.max(sum);
        true
    });
    most
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::*;
    use crate::cluster::{Machine, NodeSets, NodeTasks, Requests};
    use crate::placement::AllocationRule;
    use crate::priority::Priority;
    use crate::scenario::Scenario;
    use crate::state::{JobRecords, State};
    use crate::workload::Job;

    /// Build four nodes of 4 cores with 1 free core each, and a queue of one-task jobs that request these numbers of
    /// cores.
    fn run_of(cores: &[i64]) -> (Scenario, State) {
        let (capacity, node_sets) = (vec![4; 4], Arc::new(NodeSets::whole(4)));
        let mut requests = Requests::new(1, &capacity);
        let job = |(row, &amount): (usize, &i64)| Job {
            row: row as u64,
            submit_time: 0.0,
            run_time: 10.0,
            requested_time: 10.0,
            time_limit: 10.0,
            tasks: 1,
            request: requests.intern(Request { amounts: vec![amount], ..Request::NOTHING }),
        };
        let jobs: Vec<Job> = [3; 4].iter().chain(cores).enumerate().map(job).collect();
        let machine = Machine::new(1, capacity, Arc::clone(&node_sets), false);
        let mut state = State::new(JobRecords::new(&jobs, |_| None), machine);
        let scenario = Scenario::new(jobs, Vec::new(), requests, node_sets);
        state.distinguish_requests(&scenario);
        for job in 0..scenario.jobs.len() as u32 {
            state.enqueue(&scenario, &Priority::fcfs(), job);
        }
        for node in 0..4 {
            state.start(&scenario, node, &[NodeTasks { node, tasks: 1 }]);
        }
        (scenario, state)
    }

    /// Return the first job that may fit by totals and has slots, and the number of queue ranges examined.
    fn looks(cores: &[i64]) -> (Option<u32>, usize) {
        let (scenario, state) = run_of(cores);
        let view = View { scenario: &scenario, state: &state };
        let (mut slots, looks) = (FreeSlots::default(), Cell::new(0));
        let test = slots.test(view, &Allocator::new(AllocationRule::FirstFit, 0));
        let found = state.queue.first_matching(None, &|values: &[i64]| {
            looks.set(looks.get() + 1);
            view.may_fit(values) && test.passes(values)
        });
        (found.map(|rank| rank.job), looks.get())
    }

    #[test]
    fn jobs_that_fit_by_totals_and_on_no_node_cost_one_look() {
        let cores: Vec<i64> = (0..1000).map(|row| 2 + row % 3).collect();
        assert_eq!(looks(&cores), (None, 1));
    }

    #[test]
    fn a_job_with_slots_is_found_behind_jobs_without_any() {
        let cores: Vec<i64> = (0..1000).map(|row| if row == 900 { 1 } else { 2 + row % 3 }).collect();
        let (found, looks) = looks(&cores);
        assert_eq!(found, Some(904));
        assert!(looks < 60, "{looks} ranges were looked at");
    }
}
