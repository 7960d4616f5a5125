//! An external allocator, called in the middle of a pass.
use super::*;

use super::super::Refusal;

/// Place tasks on nodes in order, as many on each as it has slots.
fn first_fit(simulation: &Simulation<Replay>) -> Option<Vec<NodeTasks>> {
    let question = simulation.allocator().as_external()?.question()?;
    let mut left = question.tasks;
    let mut placement = Vec::new();
    for (node, &slots) in (0..).zip(&question.slots) {
        let tasks = slots.min(left);
        if tasks > 0 {
            placement.push(NodeTasks { node, tasks });
            left -= tasks;
        }
    }
    (left == 0).then_some(placement)
}

/// Return the outcomes with external answers of `first_fit`, and the number of questions.
fn asked_outside(case: &Case) -> (Vec<Outcome>, usize) {
    let mut simulation = Case { allocator: "external", ..case.clone() }.open();
    let mut questions = 0;
    let end = drive(&mut simulation, |simulation, point| {
        if let YieldPoint::Allocation(_) = point {
            let answer = first_fit(simulation);
            simulation.answer_allocation(answer).expect("nodes that have room");
            questions += 1;
        }
    });
    assert_eq!(end, YieldPoint::End);
    (outcomes(&simulation), questions)
}

#[test]
fn a_wrong_answer_is_refused_and_may_be_given_anew() {
    let case = Case { allocator: "external", ..Case::of(vec![Job { tasks: 2, ..job(0, 0.0, 5.0) }], 2, 1) };
    let mut simulation = case.open();
    let part = |node, tasks| NodeTasks { node, tasks };
    drive(&mut simulation, |simulation, point| {
        if point == YieldPoint::Allocation(0) {
            let wrong = [
                vec![part(0, 1)],
                vec![part(0, 2)],
                vec![part(0, 1), part(0, 1)],
                vec![part(0, 1), part(7, 1)],
            ];
            for placement in wrong {
                assert!(simulation.answer_allocation(Some(placement)).is_err());
            }
            let answered = simulation.answer_allocation(Some(vec![part(0, 1), part(1, 1)]));
            assert_eq!(answered, Ok(()));
            assert_eq!(simulation.answer_allocation(Some(vec![part(0, 2)])), Err(Refusal::NotDeciding));
        }
    });
    assert_eq!(end_of(&simulation, 0), (JobState::Completed, 5.0));
}

#[test]
fn a_snapshot_in_the_middle_of_a_question_asks_it_again() {
    let jobs = (0..3).map(|row| Job { requested_time: 5.0, time_limit: 5.0, ..job(row, 0.0, 5.0) }).collect();
    let case = Case { allocator: "external", ..Case::of(jobs, 1, 2).under("conservative", 1) };
    let mut simulation = case.open();
    let point = loop {
        match simulation.advance() {
            Ok(point @ YieldPoint::Allocation(1)) => break point,
            Ok(YieldPoint::Allocation(_)) => {
                let answer = first_fit(&simulation);
                simulation.answer_allocation(answer).expect("nodes that have room");
            }
            Ok(YieldPoint::Changes) => drop(simulation.take_changes()),
            Ok(_) => {}
        }
    };
    let bytes = simulation.snapshot(Some(point)).expect("it can be written");
    let (again, asked) =
        case.open().restored(&bytes, |own, read| own.moved_to(&read)).expect("it can be read");
    assert_eq!(asked, Some(point));
    let question = |simulation: &Simulation<Replay>| {
        simulation.allocator().as_external().and_then(|external| external.question().cloned())
    };
    assert_eq!(question(&again), question(&simulation));
    assert!(question(&again).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_allocator_outside_gives_the_schedule_of_the_same_inside(jobs in some_jobs(), kills in any::<bool>()) {
        let rules = [("none", 1), ("first_fit", 1), ("easy", 1), ("easy", 3), ("conservative", 1)];
        for (backfill, reservations) in rules {
            let wall_time = if kills { WallTime::Kill } else { WallTime::Run };
            let case = Case { wall_time, ..Case::of(jobs.clone(), 4, 4).under(backfill, reservations) };
            let (ends, questions) = asked_outside(&case);
            prop_assert_eq!(ends, case.outcomes(), "{}, {} reservations", backfill, reservations);
            prop_assert!(questions > 0);
        }
    }
}
