//! Jobs served at changing rates.
use super::*;

fn rate(rate: f64) -> Decision {
    Decision::SetRate { job: 0, rate }
}

#[test]
fn a_rate_that_changes_in_the_middle_of_a_run_moves_its_end() {
    let mut simulation = Case::of(vec![job(0, 10.0, 100.0)], 1, 1).open();
    run_deciding(&mut simulation, &[(30.0, rate(2.0)), (40.0, rate(0.5))]);
    // 20 s at rate 1, 10 s at rate 2, and the other 60 s of work at rate 1/2.
    assert_eq!(end_of(&simulation, 0), (JobState::Completed, 160.0));
    assert_empty(&simulation);
}

#[test]
fn rate_0_suspends_on_the_nodes_and_a_later_rate_resumes() {
    let mut simulation = Case::of(vec![job(0, 0.0, 10.0), job(1, 0.0, 5.0)], 1, 1).open();
    run_deciding(&mut simulation, &[(4.0, rate(0.0)), (100.0, rate(1.0))]);
    assert_eq!(end_of(&simulation, 0), (JobState::Completed, 106.0));
    assert_eq!(end_of(&simulation, 1), (JobState::Completed, 111.0));
}

#[test]
fn the_wall_time_rule_counts_seconds_not_work() {
    let limited = |rates: &[(f64, Decision)]| {
        let only = Job { requested_time: 50.0, time_limit: 50.0, ..job(0, 10.0, 40.0) };
        let mut simulation = Case { wall_time: WallTime::Kill, ..Case::of(vec![only], 1, 1) }.open();
        run_deciding(&mut simulation, rates);
        end_of(&simulation, 0)
    };
    assert_eq!(limited(&[]), (JobState::Completed, 50.0));
    assert_eq!(limited(&[(20.0, rate(0.5))]), (JobState::Killed, 60.0));
    assert_eq!(limited(&[(20.0, rate(0.0))]), (JobState::Killed, 60.0));
    assert_eq!(limited(&[(20.0, rate(0.5)), (30.0, rate(4.0))]), (JobState::Completed, 36.25));
    // 10 s, 5 s and 25 s of work are completed exactly at the limit: the completion counts.
    assert_eq!(
        limited(&[(20.0, rate(0.5)), (30.0, rate(1.0)), (50.0, rate(0.5))]),
        (JobState::Completed, 60.0)
    );
}

#[test]
fn suspended_work_is_done_later_from_where_it_was() {
    let mut simulation = Case::of(vec![job(0, 0.0, 10.0)], 1, 1).open();
    let suspend = Decision::Preempt { job: 0, keep: crate::decision::Preemption::Suspend };
    run_deciding(&mut simulation, &[(2.0, rate(2.0)), (4.0, suspend)]);
    // 2 s at rate 1 and 2 s at rate 2; it restarts at once, at rate 1.
    assert_eq!(end_of(&simulation, 0), (JobState::Completed, 8.0));
}

#[test]
fn only_a_running_job_has_a_rate_and_only_a_number_is_one() {
    use super::super::Refusal;
    let mut simulation = Case::of(vec![job(0, 0.0, 10.0)], 1, 1).open();
    assert!(matches!(simulation.decide(rate(1.0)), Err(Refusal::WrongState { job: 0, .. })));
    let Ok(true) = simulation.step() else { panic!("there is an instant") };
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(matches!(simulation.decide(rate(bad)), Err(Refusal::BadRate { job: 0, .. })));
    }
    assert!(simulation.decide(rate(0.5)).is_ok());
}

/// Return when the work is completed if the rate changes at these times.
fn analytic_end(start: f64, work: f64, changes: &[(f64, f64)]) -> f64 {
    let (mut now, mut left, mut rate) = (start, work, 1.0);
    for &(time, next) in changes {
        if rate > 0.0 && now + left / rate <= time {
            break;
        }
        left -= (time - now) * rate;
        (now, rate) = (time, next);
    }
    now + left / rate
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_work_served_is_the_work_given(
        work in 1.0..1000.0,
        steps in vec((0.001..20.0, prop_oneof![Just(0.0), 0.01..8.0]), 0..60),
    ) {
        let start = 3.0;
        let mut time = start;
        let mut changes: Vec<(f64, f64)> = Vec::new();
        for (after, rate) in steps {
            time += after;
            changes.push((time, rate));
        }
        changes.push((time + 1.0, 1.0));
        let expected = analytic_end(start, work, &changes);
        let mut simulation = Case::of(vec![job(0, start, work)], 1, 1).open();
        let decisions: Vec<_> =
            changes.iter().filter(|(time, _)| *time < expected - 1e-6).map(|&(time, to)| (time, rate(to))).collect();
        run_deciding(&mut simulation, &decisions);
        let (state, end) = end_of(&simulation, 0);
        prop_assert_eq!(state, JobState::Completed);
        prop_assert!((end - expected).abs() <= 1e-9 * expected, "{} for {}", end, expected);
    }
}
