//! The queue index with node sets: a search skips jobs that cannot start.
use std::cell::Cell;
use std::sync::Arc;

use crate::cluster::{Machine, NodeSet, NodeSetId, NodeSets, NodeTasks, Request, Requests};
use crate::priority::Priority;
use crate::scenario::Scenario;
use crate::time::from_ordered_bits;
use crate::workload::Job;

use super::{JobRecords, State, View};

/// Build two nodes of 4 cores, each its own node set. Node 0 is full and node 1 has 3 free cores. In the queue, jobs
/// that request 1 core of node 0 for 10 s alternate with jobs that request `tasks` cores of node 1 for 1000 s.
fn run_of(queued: u32, tasks: u32) -> (Scenario, State, Vec<NodeSetId>) {
    let alone = |node| NodeSet::new(std::iter::once(node..node + 1));
    let (sets, numbers) = NodeSets::with(2, vec![alone(0), alone(1)]);
    let node_sets = Arc::new(sets);
    let capacity = vec![4, 4];
    let mut requests = Requests::new(1, &capacity);
    let of_set: Vec<u32> = numbers
        .iter()
        .map(|&nodes| {
            requests.intern(Request { amounts: vec![1], nodes, partition: nodes, ..Request::NOTHING })
        })
        .collect();
    let job = |row: u32, tasks, request, run_time| Job {
        row: u64::from(row),
        submit_time: 0.0,
        run_time,
        requested_time: run_time,
        time_limit: run_time,
        tasks,
        request,
    };
    let mut jobs = vec![job(0, 4, of_set[0], 500.0), job(1, 1, of_set[1], 500.0)];
    jobs.extend((2..queued + 2).map(|row| match row % 2 {
        0 => job(row, 1, of_set[0], 10.0),
        _ => job(row, tasks, of_set[1], 1000.0),
    }));
    let records = JobRecords::new(&jobs, |_| None);
    let mut state = State::new(records, Machine::new(1, capacity, Arc::clone(&node_sets), false));
    let scenario = Scenario::new(jobs, Vec::new(), requests, node_sets);
    for row in 0..queued + 2 {
        state.enqueue(&scenario, &Priority::fcfs(), row);
    }
    state.start(&scenario, 0, &[NodeTasks { node: 0, tasks: 4 }]);
    state.start(&scenario, 1, &[NodeTasks { node: 1, tasks: 1 }]);
    (scenario, state, numbers)
}

fn looks(view: View<'_>, admits: impl Fn(NodeSetId, &[i64]) -> bool) -> (Option<u32>, usize) {
    let looks = Cell::new(0);
    let found = view.state.queue.first_matching(None, &|values: &[i64]| {
        looks.set(looks.get() + 1);
        view.may_fit_where(values, &admits)
    });
    (found.map(|rank| rank.job), looks.get())
}

#[test]
fn a_pass_costs_one_look_where_one_set_is_full_and_the_free_one_too_small() {
    let (scenario, state, _) = run_of(1000, 4);
    let view = View { scenario: &scenario, state: &state };
    assert!(!view.may_start_some());
    assert_eq!(looks(view, |_, _| true), (None, 1));
}

#[test]
fn short_jobs_of_a_full_set_hide_no_long_ones_of_a_free_set() {
    let (scenario, state, numbers) = run_of(1000, 3);
    let view = View { scenario: &scenario, state: &state };
    let is_short = |_: NodeSetId, own: &[i64]| from_ordered_bits(own[0]) <= 10.0;
    assert_eq!(looks(view, is_short), (None, 1));
    assert_eq!(looks(view, |set, _| set == numbers[0]), (None, 1));
    assert_eq!(looks(view, |set, _| set == numbers[1]).0, Some(3));
}

#[test]
fn running_jobs_are_counted_in_each_of_their_sets() {
    let (scenario, mut state, _) = run_of(0, 1);
    state.index_running(&scenario, false);
    let held = state.running.by_expected_end().and_then(|index| index.summary().map(<[i64]>::to_vec));
    assert_eq!(held, Some(vec![5, 4, 1]));
}
