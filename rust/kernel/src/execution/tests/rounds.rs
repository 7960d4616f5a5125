//! Rounds of aggregated message programs, also if their demands are too many to be stored.
use std::sync::Arc;

use super::{crossbar, max_min};
use crate::application::{Entry, Message, Operation, RoundProgram, Work};
use crate::execution::{RunAlone, run_alone};

const LATENCY: f64 = 2e-6;
const BANDWIDTH: f64 = 1e10;

/// Four ranks that call collectives. The rounds are given by their steps: each rank sends this number of bytes to the
/// rank with an index that is greater by the step.
fn run(calls: &[Vec<u32>], batches: &[(u32, f64)]) -> RunAlone {
    let mut entries = Vec::new();
    for _ in 0..4 {
        entries.push(Entry::Operation(Operation::Take(1e-6)));
        entries.extend((0..calls.len() as u32).map(Entry::Collective));
    }
    let each = entries.len() as u32 / 4;
    let message =
        |step: u32, bytes: f64, from: u32| Message { from, to: (from + step) % 4, bytes, eager: true };
    let messages = batches
        .iter()
        .flat_map(|&(step, bytes)| (0..4).map(move |from| message(step, bytes, from)))
        .collect();
    let ends = std::iter::once(0).chain((0..=batches.len() as u32).map(|batch| 4 * batch)).collect();
    let first = (0..=4).map(|rank| rank * each).collect();
    alone(RoundProgram::new(first, entries, messages, ends, calls.to_vec(), (0.0, 0.0)).expect("sound"))
}

fn alone(program: RoundProgram) -> RunAlone {
    assert!(program.stuck().is_empty());
    let work = Work::Rounds(Arc::new(program));
    run_alone::<String>(crossbar(|_| ()), max_min(), work, &[0, 1, 2, 3], || Ok(()))
        .expect("there are routes")
}

fn seconds(bytes: f64) -> f64 {
    LATENCY + bytes / BANDWIDTH
}

#[test]
fn rounds_follow_one_another_and_are_logged() {
    // The second shape is not stored, and occurs twice.
    let ran = run(&[vec![1, 2], vec![2]], &[(1, 1e6), (2, 5e5)]);
    let ends = [1e6, 5e5, 5e5].iter().scan(1e-6, |now, bytes| {
        *now += seconds(*bytes);
        Some(*now)
    });
    for (round, end) in ran.rounds.iter().zip(ends) {
        assert!((round.end - end).abs() < 1e-15, "{round:?}, not {end}");
    }
    assert_eq!(ran.rounds.len(), 3);
    assert_eq!(ran.ends, vec![ran.rounds[2].end; 4]);
}

#[test]
fn rounds_that_overlap_are_one_activity() {
    use Operation::{AwaitReceive, Send};
    let message = |from, to, bytes| Message { from, to, bytes, eager: true };
    // The second long message waits only for a short one, and runs beside the first.
    let messages = vec![message(0, 1, 1e6), message(2, 3, 10.0), message(3, 2, 1e6)];
    let entries = [Send(0), AwaitReceive(0), Send(1), AwaitReceive(2), AwaitReceive(1), Send(2)];
    let entries = entries.map(Entry::Operation).to_vec();
    let first = vec![0, 1, 2, 4, 6];
    let program = RoundProgram::new(first, entries, messages, vec![0, 3], Vec::new(), (0.0, 0.0));
    let ran = alone(program.expect("sound"));
    assert_eq!((ran.rounds.len(), ran.rounds[0].end), (2, ran.rounds[1].end));
    let end = seconds(10.0) + seconds(1e6);
    assert!((ran.ends[0] - end).abs() < 1e-15, "{:?}, not {end}", ran.ends);
}
