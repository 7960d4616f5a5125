//! Tests of the rules of control, event by event.
use crate::time::Time;

use super::*;

fn control(rates: &[f64], rule: ControlRule) -> RateControl {
    RateControl { rates: rates.to_vec(), first: 0, rule }
}

fn seen(event: KeyEvent, present: u64, workload: f64) -> Seen {
    Seen { event, present, workload, busy: 0.0, utilisation: 0.0 }
}

/// The levels after consecutive events.
fn levels(control: &RateControl, events: &[Seen]) -> Vec<usize> {
    let mut level = control.first;
    let mut next = |seen: &Seen| {
        level = control.level_after(level, seen, 0.5);
        level
    };
    events.iter().map(&mut next).collect()
}

#[test]
fn the_number_of_jobs_has_the_rate_go_up_at_arrivals_and_down_at_departures() {
    let rule = ControlRule::Count(Count { low: vec![1.0], high: vec![2.0] });
    let arrivals = [1, 2, 3].map(|present| seen(KeyEvent::Arrival, present, 0.0));
    let departures = [2, 1, 0].map(|present| seen(KeyEvent::Departure, present, 0.0));
    let control = control(&[1.0, 2.0], rule);
    assert_eq!(levels(&control, &[arrivals, departures].concat()), [0, 0, 1, 1, 0, 0]);
}

#[test]
fn a_ladder_takes_as_many_steps_as_the_workload_asks_for() {
    let (low, high) = (vec![1.0, 5.0], vec![3.0, 8.0]);
    let rule = Workload { low, high, weighted: false, printed: false };
    let control = control(&[1.0, 2.0, 4.0], ControlRule::Workload(rule));
    let at = |workload| seen(KeyEvent::Departure, 1, workload);
    assert_eq!(levels(&control, &[at(3.0), at(9.0), at(6.0), at(5.0), at(1.5), at(0.5)]), [0, 2, 2, 1, 1, 0]);
    assert_eq!(control.descent(2).map(|(_, threshold)| threshold), Some(5.0));
    assert!(control.descent(0).is_none());
}

#[test]
fn coins_are_given_or_drawn_in_the_half_open_unit_interval() {
    let rule = Randomised { up: 0.6, down: 0.4, coins: vec![0.59, 0.61], seed: Some(7) };
    assert_eq!((rule.coin(0), rule.coin(1)), (0.59, 0.61));
    assert!((2..1000).all(|number| (0.0..1.0).contains(&rule.coin(number))));
    let mean = (2..10_002).map(|number| rule.coin(number)).sum::<f64>() / 1e4;
    assert!((mean - 0.5).abs() < 0.01, "{mean}");
}

#[test]
fn governors_go_by_the_load_at_their_looks_only() {
    let of = |kind| control(&[1.0, 1.5, 2.0], ControlRule::Governor(Governor { kind, interval: 10.0 }));
    let busy = |share| Seen { busy: share, utilisation: share, ..seen(KeyEvent::Look, 0, 0.0) };
    let ondemand = of(GovernorKind::Ondemand { threshold: 0.8 });
    assert_eq!(levels(&ondemand, &[busy(0.9), busy(0.5), busy(0.6), busy(0.0)]), [2, 1, 2, 0]);
    let schedutil = of(GovernorKind::Schedutil { window: 10.0 });
    assert_eq!(levels(&schedutil, &[busy(1.0), busy(0.6), busy(0.5), busy(0.3)]), [2, 1, 1, 0]);
    assert_eq!(levels(&ondemand, &[seen(KeyEvent::Arrival, 9, 1e9)]), [0]);
    let Some(governor) = schedutil.governor() else { panic!("it is one") };
    assert_eq!(
        (governor.next_look(0.0, 0.0), governor.next_look(19.9, 0.0), governor.next_look(27.0, 7.0)),
        (10.0, 20.0, 37.0)
    );
    assert_eq!(Time(governor.faded(1.0, 0.0, 20.0)), Time(0.25));
}
