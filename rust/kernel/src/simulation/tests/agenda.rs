//! The order of the events of one instant.
use super::*;

use super::super::{TriggerKind, TriggerRules};
use crate::record::Change::{self, Completed, Started, Submitted};

/// At 10 s, job 0 ends and jobs 1 and 2 are submitted; job 2 is shorter.
fn at_ten(agenda: Agenda) -> Case {
    let jobs = vec![(0.0, 10.0), (10.0, 5.0), (10.0, 1.0)];
    let jobs = (0..).zip(jobs).map(|(row, (submit, run))| Job {
        requested_time: run,
        time_limit: run,
        ..job(row, submit, run)
    });
    Case { order: "sjf", agenda, ..Case::of(jobs.collect(), 1, 1) }
}

/// Return the changes at 10 s in their order.
fn changes_at_ten(agenda: Agenda) -> Vec<(Change, u32)> {
    let mut simulation = at_ten(agenda).open();
    let mut seen = Vec::new();
    drive(&mut simulation, |simulation, point| {
        if point == YieldPoint::Changes {
            let changes = simulation.take_changes();
            if (simulation.state().now - 10.0).abs() < 0.5 {
                seen.extend(changes);
            }
        }
    });
    seen
}

#[test]
fn completions_first_takes_ends_then_submissions_then_one_pass() {
    let expected = [(Completed, 0), (Submitted, 1), (Submitted, 2), (Started, 2)];
    assert_eq!(changes_at_ten(Agenda::completions_first()), expected);
}

#[test]
fn arrivals_first_makes_a_pass_after_each_event() {
    // Job 0 releases its node before its end is processed, so that the first arriving job gets it.
    let expected = [(Submitted, 1), (Started, 1), (Submitted, 2), (Completed, 0)];
    assert_eq!(changes_at_ten(Agenda::arrivals_first()), expected);
}

#[test]
fn event_by_event_makes_a_pass_after_each_event_completions_first() {
    // The pass after the submission of job 1 sees this job only.
    let expected = [(Completed, 0), (Submitted, 1), (Started, 1), (Submitted, 2)];
    assert_eq!(changes_at_ten(Agenda::event_by_event()), expected);
}

/// Return when and about what an external scheduler is called; it starts the first job that fits.
fn questions(about: &[TriggerKind], interval: f64) -> Vec<(f64, &'static str, Option<u32>)> {
    let rules = TriggerRules { about: about.to_vec(), interval, since: None, minimum_interval: 0.0 };
    let agenda = Agenda::completions_first().asking(rules);
    let mut simulation = at_ten(agenda).under("external", 1).open();
    let mut asked = Vec::new();
    drive(&mut simulation, |simulation, point| {
        if point == YieldPoint::Decision {
            let (name, about, _) = simulation.trigger().described();
            asked.push((simulation.state().now, name, about));
            if let Some(first) = simulation.state().queue.first() {
                let start = Decision::Start {
                    job: first.job,
                    place: crate::decision::Where::AskAllocator,
                    tasks: None,
                };
                simulation.decide(start).expect("a queued job may be started");
            }
        }
    });
    assert_eq!(simulation.state().finished, 3);
    asked
}

#[test]
fn event_by_event_a_scheduler_is_asked_about_each_in_the_order_of_the_agenda() {
    let asked = questions(&[TriggerKind::Submission, TriggerKind::Completion], f64::INFINITY);
    let expected = [
        (0.0, "submit", Some(0)),
        (10.0, "finalise", Some(0)),
        (10.0, "submit", Some(1)),
        (10.0, "submit", Some(2)),
        (15.0, "finalise", Some(1)),
        (16.0, "finalise", Some(2)),
    ];
    assert_eq!(asked, expected);
}

#[test]
fn a_periodic_scheduler_is_asked_by_the_clock_alone() {
    let asked = questions(&[], 4.0);
    let times: Vec<f64> = asked.iter().map(|&(time, ..)| time).collect();
    // The jobs start at 4, 16 and 20 s; the last one ends at 25 s, after which there are no calls.
    assert_eq!(times, [4.0, 8.0, 12.0, 16.0, 20.0, 24.0]);
    assert!(asked.iter().all(|&(_, name, about)| name == "periodic" && about.is_none()));
}
