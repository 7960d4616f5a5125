//! Violations of invariants stop the run, whatever caused them.
use super::*;

use crate::state::Violation;

/// Run two jobs on one node of two cores until `time`.
fn running_until(time: f64) -> Simulation<Replay> {
    let case = Case::of(vec![job(0, 0.0, 10.0), job(1, 0.0, 20.0)], 1, 2);
    let mut simulation = case.open();
    while simulation.next_time().0 <= time {
        simulation.step().expect("a replay does not fail");
    }
    simulation
}

fn described(simulation: &mut Simulation<Replay>) -> String {
    assert_eq!(drive(simulation, |_, _| {}), YieldPoint::Failed);
    let failure = simulation.failure().expect("it failed");
    let job = failure.job().expect("it is about a job");
    failure.describe(u64::from(job), simulation.state().now)
}

#[test]
fn a_node_above_its_capacity_stops_the_run() {
    let mut simulation = running_until(0.0);
    let request = Request { amounts: vec![1], ..Request::NOTHING };
    simulation.state.machine.take(&request, &[NodeTasks { node: 0, tasks: 1 }]);
    assert_eq!(
        described(&mut simulation),
        "the run is stopped, since its schedule would be wrong: of the job in row 0 at 10 s, it left jobs with 3 of \
         resource 0 on node 0, which has 2. This is a defect of batchlab: report it with what was simulated."
    );
}

#[test]
fn a_node_given_back_without_a_job_stops_the_run() {
    let mut simulation = running_until(10.0);
    let request = Request { amounts: vec![1], ..Request::NOTHING };
    simulation.state.machine.give_back(&request, &[NodeTasks { node: 0, tasks: 1 }]);
    assert!(described(&mut simulation).contains("of the job in row 1 at 20 s, it gave back node 0"));
}

#[test]
fn nodes_given_back_twice_stop_the_run_and_are_given_back_once() {
    let mut simulation = running_until(0.0);
    for _ in 0..2 {
        simulation.state.give_back(&simulation.scenario, 0);
    }
    assert_eq!(simulation.state.machine.total_free(), [1]);
    assert!(described(&mut simulation).contains("row 0 at 0 s, it gave back its nodes, and holds none"));
}

#[test]
fn a_job_that_ends_twice_stops_the_run() {
    let mut simulation = running_until(10.0);
    simulation.end(0, JobState::Killed);
    assert_eq!(simulation.state.finished, 1);
    assert_eq!(
        simulation.state.defect.map(|defect| defect.violation),
        Some(Violation::EndedTwice(JobState::Completed))
    );
    assert!(described(&mut simulation).contains("row 0 at 10 s, it ended, and was completed already"));
}
