//! Launch and completion overheads.
use super::*;

use crate::decision::Preemption;

const LAUNCH: f64 = 10.0;
const COMPLETION: f64 = 5.0;

fn with_overheads(case: Case) -> Case {
    let each = Overhead { launch: LAUNCH, completion: COMPLETION, ..Overhead::default() };
    Case { overheads: Some(Box::new(overheads_of(vec![each; case.jobs.len()], false))), ..case }
}

/// Build overheads of jobs; `counted` is true if limits include them.
fn overheads_of(of_job: Vec<Overhead>, counted: bool) -> Overheads {
    Overheads { of_job, counted, billed: true }
}

/// Build one job of 100 s submitted at 1 s, and one of 7 s that waits for its only node.
fn two_jobs() -> Case {
    with_overheads(Case::of(vec![job(0, 1.0, 100.0), job(1, 2.0, 7.0)], 1, 1))
}

#[test]
fn nodes_are_taken_through_launch_run_and_completion() {
    let mut simulation = two_jobs().open();
    finish(&mut simulation);
    assert_eq!(end_of(&simulation, 0), (JobState::Completed, 116.0));
    assert_eq!(simulation.state().jobs.start_time(1).to_bits(), 116.0_f64.to_bits());
    assert_eq!(end_of(&simulation, 1), (JobState::Completed, 138.0));
    assert_empty(&simulation);
}

#[test]
fn a_job_is_killed_in_each_phase() {
    // The final state is determined when the run of the job ends.
    for (time, state) in [(4.0, JobState::Killed), (50.0, JobState::Killed), (112.0, JobState::Completed)] {
        let mut simulation = two_jobs().open();
        run_deciding(&mut simulation, &[(time, Decision::Kill(0))]);
        assert_eq!(end_of(&simulation, 0), (state, time));
        assert_eq!(end_of(&simulation, 1), (JobState::Completed, time + 22.0));
        assert_empty(&simulation);
    }
}

#[test]
fn a_job_is_preempted_before_its_run_is_over() {
    // The job restarts at once, as the first in queue order; it spends launch and completion again.
    for (time, keep, left) in [
        (4.0, Preemption::Suspend, 100.0),
        (51.0, Preemption::Suspend, 60.0),
        (51.0, Preemption::FromCheckpoint(15.0), 70.0),
        (51.0, Preemption::Requeue, 100.0),
    ] {
        let mut simulation = two_jobs().open();
        run_deciding(&mut simulation, &[(time, Decision::Preempt { job: 0, keep })]);
        let end = time + LAUNCH + left + COMPLETION;
        assert_eq!(end_of(&simulation, 0), (JobState::Completed, end), "{keep:?} at {time}");
        assert_eq!(end_of(&simulation, 1), (JobState::Completed, end + 22.0));
    }
}

#[test]
fn a_job_that_is_preempted_once_its_run_is_over_ends() {
    let mut simulation = two_jobs().open();
    let decision = Decision::Preempt { job: 0, keep: Preemption::Requeue };
    run_deciding(&mut simulation, &[(112.0, decision)]);
    assert_eq!(end_of(&simulation, 0), (JobState::Completed, 112.0));
    assert_eq!(end_of(&simulation, 1), (JobState::Completed, 134.0));
    assert_empty(&simulation);
}

#[test]
fn a_limit_that_counts_overheads_covers_all_three_phases() {
    let short = Job { requested_time: 30.0, time_limit: 30.0, ..job(0, 1.0, 100.0) };
    let case = with_overheads(Case::of(vec![short], 1, 1));
    let overheads =
        overheads_of(vec![Overhead { launch: LAUNCH, completion: COMPLETION, ..Overhead::default() }], true);
    let mut simulation =
        Case { wall_time: WallTime::Kill, overheads: Some(Box::new(overheads)), ..case }.open();
    finish(&mut simulation);
    assert_eq!(end_of(&simulation, 0), (JobState::Killed, 31.0));
}

#[test]
fn the_limit_counts_from_the_end_of_the_launch_and_the_killed_job_completes() {
    let short = Job { requested_time: 30.0, time_limit: 30.0, ..job(0, 1.0, 100.0) };
    let case = with_overheads(Case::of(vec![short, job(1, 2.0, 7.0)], 1, 1));
    let mut simulation = Case { wall_time: WallTime::Kill, ..case }.open();
    finish(&mut simulation);
    assert_eq!(end_of(&simulation, 0), (JobState::Killed, 46.0));
    assert_eq!(end_of(&simulation, 1), (JobState::Completed, 68.0));
}

#[test]
fn only_the_run_of_a_job_has_a_rate() {
    use super::super::Refusal;
    for time in [4.0, 112.0] {
        let mut simulation = two_jobs().open();
        simulation
            .decide(Decision::Wake { time, caller: 0, purpose: TimerPurpose::Act })
            .expect("a time to come");
        drive(&mut simulation, |simulation, point| {
            if let YieldPoint::Timer(_) = point {
                let refused = simulation.decide(Decision::SetRate { job: 0, rate: 2.0 });
                assert_eq!(refused, Err(Refusal::NotWorking(0)));
            }
        });
    }
}

/// Assert that no two jobs use one core at the same time: at each start, the used cores do not exceed the capacity.
fn assert_apart(case: &Case, ends: &[Outcome]) {
    for (at, (state, begin, over, _)) in ends.iter().enumerate() {
        // A job that takes no time has released its cores to others at the same instant.
        if *state == JobState::Rejected || over == begin {
            continue;
        }
        let mut taken = vec![0; case.nodes as usize];
        for (other, (_, start, end, placement)) in ends.iter().enumerate() {
            let runs_then = f64::from_bits(*start) <= f64::from_bits(*begin)
                && f64::from_bits(*end) > f64::from_bits(*begin);
            for part in placement.iter().filter(|_| runs_then || other == at) {
                let request = case.jobs[other].request;
                let each = if request == 1 { 2 } else { 1 };
                let whole = request == 2;
                taken[part.node as usize] += if whole { case.cores } else { each * i64::from(part.tasks) };
            }
        }
        assert!(taken.iter().all(|&taken| taken <= case.cores), "{taken:?} at the start of job {at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn overheads_of_no_time_change_nothing(jobs in some_jobs()) {
        for (backfill, reservations) in [("none", 1), ("easy", 1), ("easy", 3), ("conservative", 1)] {
            let plain = Case::of(jobs.clone(), 4, 4).under(backfill, reservations);
            for agenda in [Agenda::completions_first(), Agenda::arrivals_first()] {
                let plain = Case { agenda, ..plain.clone() };
                let none = Some(Box::new(overheads_of(vec![Overhead::default(); jobs.len()], true)));
                prop_assert_eq!(Case { overheads: none, ..plain.clone() }.outcomes(), plain.outcomes());
            }
        }
    }

    #[test]
    fn no_node_is_taken_twice_whatever_the_overheads(
        jobs in some_jobs(),
        seconds in vec((0..8_u32, 0..8_u32), 25),
        kills in any::<bool>(),
    ) {
        let of_job: Vec<Overhead> = seconds
            .iter()
            .map(|&(launch, completion)| Overhead { launch: launch.into(), completion: completion.into(), ..Overhead::default() })
            .collect();
        let wall_time = if kills { WallTime::Kill } else { WallTime::Run };
        for (backfill, reservations) in [("first_fit", 1), ("easy", 1), ("easy", 3), ("conservative", 1)] {
            for agenda in [Agenda::completions_first(), Agenda::arrivals_first()] {
                let case = Case::of(jobs.clone(), 4, 4).under(backfill, reservations);
                let case = Case { overheads: Some(Box::new(overheads_of(of_job.clone(), false))), wall_time, agenda, ..case };
                let mut simulation = case.open();
                finish(&mut simulation);
                assert_empty(&simulation);
                let ends = outcomes(&simulation);
                assert_apart(&case, &ends);
                for (at, (state, start, end, _)) in ends.iter().enumerate() {
                    let Overhead { launch, completion, .. } = of_job[at];
                    let run_time = case.jobs[at].run_time;
                    let ended = f64::from_bits(*start) + launch + run_time + completion;
                    prop_assert!(*state != JobState::Completed || ended.to_bits() == *end);
                }
            }
        }
    }
}
