//! Iterations, barriers, scheduling points and reconfigurations.
use std::collections::BTreeMap;

use super::*;
use crate::application::{Stage, Value};

fn stage(tasks: Vec<Task>) -> Stage {
    Stage { iterations: Formula::number(1.0), tasks }
}

/// Ranks that take turns: rank 0 works for 4 s, then the odd ranks for 2 s each.
fn turns() -> Vec<Task> {
    vec![busy(4.0, Pattern::RootOnly), busy(4.0, Pattern::OddRanks)]
}

#[test]
fn iterations_follow_one_another() {
    let task = times(5.0, busy(2.0, Pattern::Uniform));
    lasts(
        &rigid(vec![phase(3.0, vec![task.clone()]), phase(2.0, vec![idle(1.0, Pattern::Uniform)])]),
        4,
        32.0,
    );
    lasts(&rigid(vec![phase(0.0, vec![task.clone()]), phase(1.0, vec![times(0.0, task)])]), 4, 0.0);
    lasts(&rigid(vec![]), 4, 0.0);
}

#[test]
fn without_a_barrier_ranks_drift_apart() {
    let together = phase(3.0, turns());
    let apart = Phase { barrier: false, ..together.clone() };
    lasts(&rigid(vec![together.clone()]), 4, 12.0);
    lasts(&rigid(vec![apart.clone()]), 4, 12.0);
    let tasks =
        vec![busy(4.0, Pattern::RootOnly), Task { synchronized: true, ..busy(4.0, Pattern::OddRanks) }];
    lasts(&rigid(vec![Phase { tasks, ..apart }]), 4, 14.0);
    // After the tasks of an iteration, all wait for the slowest rank.
    let tail = vec![busy(4.0, Pattern::RootOnly), busy(6.0, Pattern::OddRanks)];
    lasts(&rigid(vec![Phase { tasks: tail, ..together }]), 4, 12.0);
}

#[test]
fn on_init_is_done_once_by_all_before_the_phases() {
    let on_init = Some(stage(vec![
        file(Direction::Read, 4e10, Pattern::RootOnly),
        cpu(None, Some((4e10, Communication::Scatter)), false),
    ]));
    let phases = vec![phase(1.0, vec![busy(3.0, Pattern::Uniform)])];
    let job = job_of(JobType::Rigid, Application { on_init, phases, ..Application::default() });
    lasts(&job, 4, 10.0 + 8e-6);
}

#[test]
fn iterations_of_a_stage_do_not_wait_for_what_goes_on_asynchronously() {
    let tasks = vec![asynchronously(file(Direction::Write, 2e10, Pattern::RootOnly))];
    let on_init = Some(Stage { iterations: Formula::number(2.0), tasks });
    let phases = vec![phase(1.0, vec![idle(1.0, Pattern::Uniform)])];
    let job = job_of(JobType::Rigid, Application { on_init, phases, ..Application::default() });
    lasts(&job, 4, 5.0 + 6e-6);
}

/// The malleable application of the calculation by hand.
fn stepping() -> Application {
    let ring = cpu(Some((1e12, Pattern::AllRanks)), Some((1e10, Communication::Ring)), false);
    let writing = phase(3.0, vec![file(Direction::Write, 2e10, Pattern::AllRanks)]);
    Application {
        on_init: Some(stage(vec![idle(1.0, Pattern::Uniform)])),
        on_reconfiguration: Some(stage(vec![cpu(None, Some((4e10, Communication::AllToAll)), false)])),
        on_expansion: Some(stage(vec![idle(2.0, Pattern::Uniform)])),
        phases: vec![phase(8.0, vec![ring]), Phase { scheduling_point: false, ..writing }],
    }
}

#[test]
fn a_malleable_job_meets_scheduling_points_before_every_iteration_but_the_first() {
    for (job_type, points) in [(JobType::Malleable, 7), (JobType::Adaptive, 7), (JobType::Moldable, 0)] {
        let mut execution = Execution::new(crossbar(|_| {}), max_min());
        execution.start_at(0.0, 3, &job_of(job_type, stepping()), &[0, 1], 0).expect("it starts");
        let seen = run(&mut execution);
        let at_points: Vec<f64> =
            seen.iter().filter(|entry| entry.2 == Notice::SchedulingPoint).map(|entry| entry.0).collect();
        assert_eq!(at_points, (1..=points).map(|point| 1.0 + 50.0 * f64::from(point)).collect::<Vec<_>>());
        close(seen[seen.len() - 1].0, 401.0 + 3.0 * (1.0 + 6e-6));
    }
}

/// Runs the malleable application with these sizes, one per scheduling point; returns the times of all notices.
fn stepped(network: Network, sizes: &[u32]) -> Vec<f64> {
    let mut execution = Execution::new(crossbar(|_| {}), network);
    let mut sizes = sizes.iter();
    execution.start_at(0.0, 3, &job_of(JobType::Malleable, stepping()), &[0, 1], 0).expect("it starts");
    let mut seen = Vec::new();
    while !execution.is_idle() {
        let now = execution.next();
        while let Some((job, notice)) = execution.advance_to(now) {
            seen.push(now);
            match sizes.next() {
                Some(&size) => execution.reconfigure_at(now, job, &(0..size).collect::<Vec<_>>()),
                None => execution.resume_at(now, job),
            }
            assert!(matches!(notice, Notice::Done { .. } | Notice::SchedulingPoint), "{notice:?}");
        }
    }
    seen
}

#[test]
fn a_job_prepares_until_it_comes_to_its_phases() {
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    execution.start_at(0.0, 3, &job_of(JobType::Malleable, stepping()), &[0, 1], 0).expect("it starts");
    assert!(execution.advance_to(0.0).is_none() && execution.is_preparing(3), "for 1 s");
    assert!(execution.advance_to(1.0).is_none() && !execution.is_preparing(3));
    let mut now = execution.next();
    while execution.advance_to(now).is_none() {
        now = execution.next();
    }
    execution.reconfigure_at(now, 3, &[0, 1, 2]);
    assert!(execution.advance_to(now).is_none() && execution.is_preparing(3), "it spreads its data");
    assert!(!execution.is_preparing(4), "no such job");
}

#[test]
fn a_reconfiguration_is_done_by_all_ranks_then_an_expansion_by_the_new_ones() {
    for network in networks() {
        // 4 nodes: 1 s and 2 µs all to all, 2 s of the added ranks, 25 s; 6 nodes: 2/3 s and 2 µs, 2 s, 16 2/3 s; 5
        // nodes: 0.8 s and 2 µs, no added ranks, 20 s.
        let times = stepped(network, &[4, 6, 5]);
        close(times[0], 51.0);
        close(times[1] - times[0], 28.0 + 2e-6);
        close(times[2] - times[1], 58.0 / 3.0 + 2e-6);
        close(times[3] - times[2], 20.8 + 2e-6);
        close(times[4] - times[3], 20.0);
        assert_eq!(times.len(), 8);
    }
}

#[test]
fn asynchronous_writes_overlap_until_the_next_barrier() {
    let write = asynchronously(file(Direction::Write, 1e11, Pattern::AllRanks));
    let tasks = vec![write, busy(3.0, Pattern::Uniform)];
    lasts(&rigid(vec![phase(2.0, tasks.clone())]), 4, 10.0 + 12e-6);
    lasts(&rigid(vec![Phase { barrier: false, ..phase(2.0, tasks) }]), 4, 10.0 + 6e-6);
}

/// The times of all notices, and the requested numbers of nodes, of a job that gets every request.
fn evolved(job_type: JobType, request: &str) -> Vec<(f64, u32)> {
    let request = Some(Formula::parse(request).expect("a formula"));
    let asking = Phase { evolving_request: request, ..phase(4.0, vec![idle(1.0, Pattern::Uniform)]) };
    let application = Application {
        phases: vec![asking, phase(2.0, vec![idle(1.0, Pattern::Uniform)])],
        ..Application::default()
    };
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    execution.start_at(0.0, 3, &job_of(job_type, application), &[0, 1], 0).expect("it starts");
    let mut seen = Vec::new();
    while !execution.is_idle() {
        let now = execution.next();
        while let Some((job, notice)) = execution.advance_to(now) {
            match notice {
                Notice::EvolvingRequest { tasks } => {
                    seen.push((now, tasks));
                    execution.reconfigure_at(now, job, &(0..tasks).collect::<Vec<_>>());
                }
                Notice::SchedulingPoint => {
                    seen.push((now, 0));
                    execution.resume_at(now, job);
                }
                _ => seen.push((now, 99)),
            }
        }
    }
    seen
}

#[test]
fn an_evolving_job_asks_before_iterations_and_within_its_limits() {
    // Iterations done: 1, 2, 3; 2 + 5 is clipped to 6, then 6 + 5 leads to the same size and no request.
    let request = "phase_iteration % 2 == 1 ? num_nodes + 5 : 1";
    assert_eq!(evolved(JobType::Evolving, request), [(1.0, 6), (2.0, 2), (3.0, 6), (6.0, 99)]);
    // An adaptive job has scheduling points where the phase requests nothing: in the second phase, also before its
    // first iteration.
    assert_eq!(evolved(JobType::Adaptive, "num_nodes"), [(4.0, 0), (5.0, 0), (6.0, 99)]);
    assert_eq!(
        evolved(JobType::Malleable, request),
        [1.0, 2.0, 3.0, 4.0, 5.0].map(|time| (time, 0)).into_iter().chain([(6.0, 99)]).collect::<Vec<_>>()
    );
    assert_eq!(evolved(JobType::Rigid, request), [(6.0, 99)]);
}

#[test]
fn requests_outside_the_limits_fail_unless_they_are_clipped() {
    let request = Some(Formula::parse("num_nodes + 7").expect("a formula"));
    let asking = Phase { evolving_request: request, ..phase(2.0, vec![idle(1.0, Pattern::Uniform)]) };
    let job = job_of(JobType::Evolving, Application { phases: vec![asking], ..Application::default() });
    let options = Options { clip_requests: false, ..Options::default() };
    let mut execution = Execution::with_options(crossbar(|_| {}), max_min(), options);
    execution.start_at(0.0, 3, &job, &[0, 1], 0).expect("it starts");
    assert_eq!(execution.advance_to(0.0), None);
    let Some((3, Notice::Failed(why))) = execution.advance_to(1.0) else { panic!("it fails") };
    assert!(why.starts_with("the evolving request is for 9 nodes; must be from 2 to 6."), "{why}");
    assert!(execution.is_idle());
}

#[test]
fn asynchronous_writes_of_a_sequence_are_awaited_at_the_end_of_its_iteration() {
    let write = asynchronously(file(Direction::Write, 2e10, Pattern::RootOnly));
    let inner = task(Work::Sequence { tasks: vec![write, idle(1.0, Pattern::Uniform)] });
    let outer = times(2.0, task(Work::Sequence { tasks: vec![inner, idle(0.5, Pattern::Uniform)] }));
    lasts(&rigid(vec![phase(1.0, vec![outer])]), 3, 5.0 + 12e-6);
}

#[test]
fn sequences_repeat_their_tasks_in_order() {
    let exchange = times(2.0, cpu(None, Some((1e10, Communication::AllToAll)), false));
    let tasks = vec![cpu(Some((1e10, Pattern::Uniform)), None, false), exchange, idle(0.5, Pattern::Uniform)];
    lasts(&rigid(vec![phase(1.0, vec![times(3.0, task(Work::Sequence { tasks }))])]), 4, 6.0 + 12e-6);
}

#[test]
fn formulas_see_the_nodes_and_the_runtime_arguments_of_the_time() {
    let seconds =
        Payload { total: Formula::parse("num_nodes * pace").expect("a formula"), pattern: Pattern::Uniform };
    let work = task(Work::Idle { seconds });
    let job = job_of(
        JobType::Malleable,
        Application { phases: vec![phase(3.0, vec![work])], ..Application::default() },
    );
    let pace = |pace: f64| BTreeMap::from([("pace".to_owned(), Value::Number(pace))]);
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    execution.set_runtime_arguments(7, pace(1.0));
    execution.start_at(0.0, 7, &job, &[0, 1], 0).expect("it starts");
    assert_eq!(execution.progress(7), Some((0, 3)));
    assert_eq!(execution.advance_to(0.0), None);
    assert_eq!(execution.advance_to(2.0), Some((7, Notice::SchedulingPoint)));
    assert_eq!(execution.progress(7), Some((1, 3)));
    // Set, but nothing is evaluated until the nodes change.
    execution.set_runtime_arguments(7, pace(10.0));
    execution.resume_at(2.0, 7);
    assert_eq!(execution.advance_to(2.0), None);
    assert_eq!(execution.advance_to(4.0), Some((7, Notice::SchedulingPoint)));
    execution.reconfigure_at(4.0, 7, &[5, 0, 1]);
    assert_eq!(run(&mut execution), [(34.0, 7, done(34.0))]);
    assert_eq!(execution.progress(7), None);
}

#[test]
fn ranks_on_one_node_share_it() {
    let exchange =
        |coupled| cpu(Some((1e11, Pattern::Uniform)), Some((3e10, Communication::AllToAll)), coupled);
    let platform = crossbar(|hosts| hosts[1].cores = 2);
    for (coupled, hosts, seconds) in [
        (false, [0, 0, 1], 20.0),
        (true, [0, 0, 1], 20.0 + 2e-6),
        (false, [1, 1, 0], 10.0),
        (true, [1, 1, 0], 10.0 + 2e-6),
    ] {
        let job = rigid(vec![phase(1.0, vec![exchange(coupled)])]);
        let mut execution = Execution::new(Arc::clone(&platform), max_min());
        execution.start_at(0.0, 0, &job, &hosts, 0).expect("it starts");
        close(run(&mut execution)[0].0, seconds);
    }
}

#[test]
fn new_ranks_are_those_on_nodes_that_had_fewer() {
    let application = Application {
        on_expansion: Some(stage(vec![idle(6.0, Pattern::AllRanks)])),
        phases: vec![phase(2.0, vec![idle(1.0, Pattern::Uniform)])],
        ..Application::default()
    };
    for (hosts, seconds) in
        [(vec![1, 0], 0.0), (vec![2, 1], 6.0), (vec![0, 0, 2, 1], 3.0), (vec![2, 3, 4], 2.0)]
    {
        let mut execution = Execution::new(crossbar(|_| {}), max_min());
        execution
            .start_at(0.0, 0, &job_of(JobType::Malleable, application.clone()), &[0, 1], 0)
            .expect("it starts");
        assert_eq!(execution.advance_to(0.0), None);
        assert_eq!(execution.advance_to(1.0), Some((0, Notice::SchedulingPoint)));
        execution.reconfigure_at(1.0, 0, &hosts);
        assert_eq!(run(&mut execution), [(2.0 + seconds, 0, done(2.0 + seconds))]);
    }
}

#[test]
fn the_gpus_of_a_job_change_with_its_next_reconfiguration() {
    let phases = vec![phase(3.0, vec![gpu(Some((4e12, Pattern::Uniform)), None)])];
    let job = job_of(JobType::Malleable, Application { phases, ..Application::default() });
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    execution.start_at(0.0, 0, &job, &[0], 1).expect("it starts");
    assert_eq!(execution.advance_to(0.0), None);
    assert_eq!(execution.advance_to(4.0), Some((0, Notice::SchedulingPoint)));
    execution.set_gpus_per_node(0, 4);
    execution.resume_at(4.0, 0);
    assert_eq!(execution.advance_to(4.0), None);
    assert_eq!(execution.advance_to(8.0), Some((0, Notice::SchedulingPoint)));
    execution.reconfigure_at(8.0, 0, &[1]);
    assert_eq!(run(&mut execution), [(9.0, 0, done(9.0))]);
}
