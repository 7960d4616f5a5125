//! Several jobs at once, forks, kills, failures, and the log.
use proptest::prelude::*;

use super::*;

#[test]
fn jobs_share_the_file_system() {
    for network in networks() {
        let mut execution = Execution::new(crossbar(|_| {}), network);
        let writes = |pattern| rigid(vec![phase(1.0, vec![file(Direction::Write, 1e11, pattern)])]);
        execution.start_at(0.0, 1, &writes(Pattern::AllRanks), &[0, 1, 2], 0).expect("it starts");
        execution.start_at(0.0, 2, &writes(Pattern::RootOnly), &[3, 4], 0).expect("it starts");
        let seen = run(&mut execution);
        close(seen[0].0, 20.0 / 3.0 + 6e-6);
        close(seen[1].0, 40.0 / 3.0 + 6e-6);
        assert_eq!((seen[0].1, seen[1].1), (1, 2));
    }
}

#[test]
fn what_happens_at_one_instant_is_told_in_the_order_of_starts() {
    let job = rigid(vec![phase(2.0, vec![busy(1.0, Pattern::Uniform)])]);
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    for number in [5, 3, 4] {
        execution.start_at(0.0, number, &job, &[number], 0).expect("it starts");
    }
    let order: Vec<u32> = run(&mut execution).iter().map(|entry| entry.1).collect();
    assert_eq!(order, [5, 3, 4]);
}

#[test]
fn a_job_without_work_ends_when_it_starts() {
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    execution.start_at(3.0, 1, &rigid(vec![phase(5.0, vec![])]), &[0, 1], 0).expect("it starts");
    assert!(!execution.is_idle());
    assert_eq!(run(&mut execution), [(3.0, 1, Notice::Done { seconds: 0.0 })]);
}

#[test]
fn links_cpus_and_gpus_tell_their_load() {
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    let tasks =
        vec![asynchronously(file(Direction::Write, 1e11, Pattern::AllRanks)), busy(3.0, Pattern::RootOnly)];
    execution.start_at(0.0, 1, &rigid(vec![phase(1.0, tasks)]), &[2, 3, 4, 5], 0).expect("it starts");
    assert_eq!(execution.advance_to(0.0), None);
    assert_eq!(execution.advance_to(1.0), None);
    close(execution.load_of_link(1), 2e10);
    close(execution.load_of_link(2 + 2 * 4), 5e9);
    close(execution.load_of_host(2), 1e10);
    close(execution.load_of_host(3), 0.0);
    execution.stop_at(1.0, 1);
    close(execution.load_of_link(1) + execution.load_of_host(2), 0.0);
}

#[test]
fn the_log_has_the_time_of_every_task_of_every_rank() {
    let options = Options { log_tasks: true, ..Options::default() };
    let mut execution = Execution::with_options(crossbar(|_| {}), max_min(), options);
    let named = |name: &str, task: Task| Task { name: name.into(), ..task };
    let inner = vec![named("nap", times(2.0, idle(1.0, Pattern::RootOnly)))];
    let tasks =
        vec![named("all", task(Work::Sequence { tasks: inner })), named("work", busy(3.0, Pattern::Uniform))];
    execution.start_at(1.0, 9, &rigid(vec![phase(1.0, tasks)]), &[4, 6], 0).expect("it starts");
    run(&mut execution);
    let log = execution.task_log().expect("it is wanted");
    let entries: Vec<_> = log
        .entries()
        .iter()
        .map(|entry| (log.names()[entry.task as usize].as_str(), entry.host, entry.start, entry.end))
        .collect();
    let expected = [
        ("nap", 6, 1.0, 1.0),
        ("all", 6, 1.0, 1.0),
        ("nap", 4, 1.0, 3.0),
        ("all", 4, 1.0, 3.0),
        ("work", 6, 1.0, 4.0),
        ("work", 4, 3.0, 6.0),
    ];
    assert_eq!(entries, expected);
    assert!(log.entries().iter().all(|entry| entry.job == 9));
}

/// The error of a job that cannot be started, with the rest of its application unchanged.
fn refused(job: &ApplicationJob, hosts: &[u32], gpus: u32) -> String {
    let mut execution = Execution::new(crossbar(|hosts| hosts[1].disk = None), max_min());
    let refusal = execution.start_at(0.0, 1, job, hosts, gpus).expect_err("it is refused").to_string();
    assert!(execution.is_idle() && execution.next().is_infinite());
    refusal
}

#[test]
fn what_cannot_run_is_refused_with_its_reason() {
    let of = |task: Task| rigid(vec![phase(1.0, vec![task])]);
    let gpus = of(gpu(Some((1e12, Pattern::Uniform)), None));
    assert!(refused(&ApplicationJob::default(), &[0], 0).contains("carries no application"));
    assert!(refused(&gpus, &[], 1).contains("at least one"));
    assert!(refused(&gpus, &[77], 1).contains("must be there"));
    assert!(refused(&gpus, &[0], 0).contains("'n0' has too few GPUs"));
    assert!(refused(&gpus, &[0], 5).contains("'n0' has too few GPUs"));
    let buffers = of(buffer(Direction::Read, 1.0, Pattern::Uniform));
    assert!(refused(&buffers, &[0, 1], 0).contains("'n1' has no burst buffer"));
    let stores = of(busy(1.0, Pattern::Uniform));
    assert!(refused(&stores, &[STORE], 0).contains("'store' has no speed"));
    let amounts = of(cpu(Some((0.0, Pattern::Vector(vec![1.0]))), None, false));
    assert!(refused(&amounts, &[0, 2], 0).contains("1 amounts are given; the job needs 2"));
    let unknown = Payload { total: Formula::parse("unknown").expect("a formula"), pattern: Pattern::Uniform };
    assert!(refused(&of(task(Work::Idle { seconds: unknown })), &[0], 0).contains("task 'task'"));
}

#[test]
fn a_job_that_finds_no_route_fails_when_it_needs_one() {
    let platform = Arc::new(Platform::of_routes((0..2).map(node).collect(), vec![], HashMap::new()));
    let mut alone = Execution::new(platform, max_min());
    let tasks = vec![idle(2.0, Pattern::Uniform), cpu(None, Some((1e9, Communication::Ring)), false)];
    alone.start_at(0.0, 1, &rigid(vec![phase(1.0, tasks)]), &[0, 1], 0).expect("it starts");
    let why = "there is no route from 'n0' to 'n1'; add one to the platform.".to_owned();
    assert_eq!(run(&mut alone), [(2.0, 1, Notice::Failed(why))]);
    assert!(alone.is_idle());
}

/// One of each kind of task, with amounts that differ from rank to rank.
fn any_task() -> impl Strategy<Value = Task> {
    let pattern = prop_oneof![
        Just(Pattern::Uniform),
        Just(Pattern::AllRanks),
        Just(Pattern::RootOnly),
        Just(Pattern::EvenRanks),
    ];
    let communication = prop_oneof![
        Just(Communication::AllToAll),
        Just(Communication::Ring),
        Just(Communication::Gather),
        Just(Communication::MasterWorker),
    ];
    (0..9_u32, 1..40_u32, pattern, communication, any::<bool>(), 1..3_u32).prop_map(
        |(kind, amount, pattern, communication, flag, repeated)| {
            let amount = f64::from(amount);
            let storage = if flag { Storage::ParallelFileSystem } else { Storage::BurstBuffer };
            let direction = if flag { Direction::Write } else { Direction::Read };
            let task = match kind {
                0 => cpu(Some((amount * 1e9, pattern)), None, false),
                1 | 2 => cpu(Some((amount * 1e9, pattern)), Some((amount * 1e9, communication)), flag),
                3 => gpu(Some((amount * 1e11, pattern)), Some((amount * 1e9, Communication::Ring))),
                4 => idle(amount / 8.0, pattern),
                5 => busy(amount / 8.0, pattern),
                6 => transfer(storage, direction, amount * 1e8, pattern),
                7 => asynchronously(transfer(storage, direction, amount * 1e8, pattern)),
                _ => {
                    let write = asynchronously(file(Direction::Write, amount * 1e8, pattern));
                    task(Work::Sequence { tasks: vec![write, idle(amount / 16.0, Pattern::RootOnly)] })
                }
            };
            Task { synchronized: amount > 30.0, ..times(f64::from(repeated), task) }
        },
    )
}

fn any_job() -> impl Strategy<Value = (ApplicationJob, f64, Vec<u32>)> {
    let tasks = proptest::collection::vec(any_task(), 1..4);
    let phases = proptest::collection::vec((tasks, 1..4_u32, any::<bool>()), 1..3);
    let hosts = Just((0..STORE).collect::<Vec<u32>>()).prop_shuffle();
    (phases, 0..40_u32, hosts, 1..6_usize).prop_map(|(phases, start, mut hosts, ranks)| {
        let phases = phases
            .into_iter()
            .map(|(tasks, iterations, barrier)| Phase { barrier, ..phase(f64::from(iterations), tasks) });
        hosts.truncate(ranks);
        let application = Application { phases: phases.collect(), ..Application::default() };
        (job_of(JobType::Malleable, application), f64::from(start) / 4.0, hosts)
    })
}

/// Jobs that have started, before any step after the last start.
fn started(
    jobs: &[(ApplicationJob, f64, Vec<u32>)],
    network: Network,
) -> (Execution, Vec<(f64, u32, Notice)>) {
    let mut execution = Execution::new(crossbar(|_| {}), network);
    let mut seen = Vec::new();
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|left, right| jobs[*left].1.total_cmp(&jobs[*right].1));
    for job in order {
        let (carried, start, hosts) = &jobs[job];
        until(&mut execution, *start, &mut seen);
        execution.start_at(*start, job as u32, carried, hosts, 2).expect("it starts");
    }
    (execution, seen)
}

/// Processes all events until a time.
fn until(execution: &mut Execution, time: f64, seen: &mut Vec<(f64, u32, Notice)>) {
    while execution.next() <= time && execution.next().is_finite() {
        let now = execution.next();
        while let Some((job, notice)) = execution.advance_to(now) {
            seen.push((now, job, notice));
            execution.resume_at(now, job);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn forks_go_their_own_way(jobs in proptest::collection::vec(any_job(), 1..4), fair in any::<bool>(), at in 0..80_u32) {
        let (mut execution, mut seen) = started(&jobs, networks()[usize::from(fair)]);
        let now = 10.0 + f64::from(at) / 4.0;
        until(&mut execution, now, &mut seen);
        let mut fork = execution.clone();
        fork.stop_at(now, 0);
        run(&mut fork);
        let mut twin = execution.clone();
        let ends = run(&mut execution);
        prop_assert_eq!(&ends, &run(&mut twin));
        prop_assert_eq!(jobs.len(), seen.iter().chain(&ends).filter(|entry| matches!(entry.2, Notice::Done { .. })).count());
    }

    #[test]
    fn kills_leave_nothing_behind(jobs in proptest::collection::vec(any_job(), 1..4), at in 0..80_u32) {
        let (mut execution, mut seen) = started(&jobs, max_min());
        let now = 10.0 + f64::from(at) / 4.0;
        until(&mut execution, now, &mut seen);
        for job in 0..jobs.len() as u32 {
            execution.stop_at(now, job);
        }
        prop_assert!(execution.is_idle());
        prop_assert!(execution.next().is_infinite());
        let loads = (0..18).map(|link| execution.load_of_link(link)).sum::<f64>();
        prop_assert!(loads + (0..STORE).map(|host| execution.load_of_host(host)).sum::<f64>() <= 0.0);
    }

    #[test]
    fn all_work_is_done_and_no_more(flops in proptest::collection::vec(1..100_u32, 3)) {
        let computing = |flops: u32| rigid(vec![phase(2.0, vec![cpu(Some((f64::from(flops) * 1e9, Pattern::AllRanks)), None, false)])]);
        let mut execution = Execution::new(crossbar(|_| {}), max_min());
        for (job, &amount) in flops.iter().enumerate() {
            let hosts: Vec<u32> = (job as u32..job as u32 + 3).collect();
            execution.start_at(0.0, job as u32, &computing(amount), &hosts, 0).expect("it starts");
        }
        let (mut done, mut before) = (0.0, 0.0);
        while !execution.is_idle() {
            let now = execution.next();
            done += (now - before) * (0..STORE).map(|host| execution.load_of_host(host)).sum::<f64>();
            before = now;
            while execution.advance_to(now).is_some() {}
        }
        let wanted = 2e9 * f64::from(flops.iter().sum::<u32>());
        prop_assert!((done - wanted).abs() <= 1e-9 * wanted, "{} not {}", done, wanted);
    }
}
