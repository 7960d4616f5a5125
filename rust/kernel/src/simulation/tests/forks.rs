//! Forks and snapshots.
use super::*;

use super::super::SnapshotError;

/// Jobs that queue on one node.
fn busy() -> Case {
    let jobs = (0..8).map(|row| Job { requested_time: 9.0, time_limit: 9.0, ..job(row, row as f64, 10.0) });
    Case::of(jobs.collect(), 2, 2).under("easy", 1)
}

fn forward(simulation: &mut Simulation<Replay>, points: usize) -> YieldPoint {
    let mut last = YieldPoint::End;
    for _ in 0..points {
        let Ok(point) = simulation.advance();
        last = point;
        if point == YieldPoint::Changes {
            simulation.take_changes();
        }
    }
    last
}

fn restored(case: &Case, bytes: &[u8]) -> Result<(Simulation<Replay>, Option<YieldPoint>), SnapshotError> {
    case.open().restored(bytes, |own, read| own.moved_to(&read))
}

#[test]
fn a_fork_after_a_start_is_independent() {
    let case = busy();
    let mut simulation = case.open();
    while simulation.state().running.is_empty() {
        forward(&mut simulation, 1);
    }
    let mut fork = simulation.clone();
    fork.decide(Decision::Kill(0))
        .or_else(|_| {
            // The job was started in this pass.
            fork.step().expect("a replay does not fail");
            fork.decide(Decision::Kill(0))
        })
        .expect("a running job may be killed");
    finish(&mut fork);
    assert_eq!(fork.state().jobs.state(0), JobState::Killed);
    assert_eq!(simulation.state().jobs.state(0), JobState::Running);
    finish(&mut simulation);
    assert_eq!(outcomes(&simulation), case.outcomes());
    assert_ne!(outcomes(&fork), case.outcomes());
}

#[test]
fn a_snapshot_of_other_jobs_or_no_snapshot_is_refused() {
    let case = busy();
    let bytes = case.open().snapshot(None).expect("it can be written");
    let mut other = case.clone();
    other.jobs[3].run_time += 1.0;
    assert_eq!(restored(&other, &bytes).err(), Some(SnapshotError::OtherScenario));
    assert_eq!(restored(&case, b"something else").err(), Some(SnapshotError::NotASnapshot));
    assert_eq!(restored(&case, &[]).err(), Some(SnapshotError::NotASnapshot));
    assert!(matches!(restored(&case, &bytes[..bytes.len() / 2]), Err(SnapshotError::Broken(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_run_restored_at_any_point_goes_on_as_it_would_have(jobs in some_jobs(), points in 0..60_usize) {
        for backfill in ["none", "easy", "conservative"] {
            let case = Case::of(jobs.clone(), 4, 4).under(backfill, 1);
            let mut simulation = case.open();
            let asked = forward(&mut simulation, points);
            let bytes = simulation.snapshot(Some(asked)).expect("it can be written");
            let (mut again, was_asked) = restored(&case, &bytes).expect("it can be read");
            prop_assert_eq!(was_asked, Some(asked));
            prop_assert_eq!(again.snapshot(Some(asked)), Ok(bytes));
            finish(&mut again);
            prop_assert_eq!(outcomes(&again), case.outcomes());
        }
    }

    #[test]
    fn changed_bytes_are_read_or_refused(
        points in 0..60_usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        for backfill in ["easy", "conservative"] {
            let case = busy().under(backfill, 1);
            let mut simulation = case.open();
            forward(&mut simulation, points);
            let mut bytes = simulation.snapshot(None).expect("it can be written");
            for (at, flipped) in &changes {
                let at = at.index(bytes.len());
                bytes[at] ^= flipped;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            // Either result is allowed, but no panic.
            drop(restored(&case, &bytes));
        }
    }
}
