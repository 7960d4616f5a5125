//! Pauses of the event loop in which a caller can check for signals.
use super::super::signal_poll::SignalPoll;
use super::*;

/// Run to the end with a pause at every second step. Return the number of pauses.
fn finish_with_pauses(simulation: &mut Simulation<Replay>) -> u32 {
    simulation.signal_poll = SignalPoll::none();
    let mut pauses = 0;
    let end = drive(simulation, |_, point| pauses += u32::from(point == YieldPoint::Pause));
    assert_eq!(end, YieldPoint::End);
    pauses
}

proptest! {
    #[test]
    fn what_comes_of_a_run_does_not_depend_on_its_pauses(
        jobs in some_jobs(),
        rule in prop::sample::select(vec![("none", 1), ("easy", 1), ("easy", 3), ("conservative", 1), ("first_fit", 1)]),
        order in prop::sample::select(vec!["fcfs", "sjf", "wfp3"]),
    ) {
        let case = Case { order, ..Case::of(jobs, 4, 4).under(rule.0, rule.1) };
        let mut simulation = case.open();
        prop_assert!(finish_with_pauses(&mut simulation) > 0);
        prop_assert_eq!(outcomes(&simulation), case.outcomes());
    }
}
