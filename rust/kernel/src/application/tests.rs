//! Tests of the distribution of amounts: the formulas of each pattern, and the conservation of totals.
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    Communication, Entry, Formula, Message, MessageProgram, ModelError, Operation, Pattern, Payload,
    RoundProgram, Scope, Traffic, Value,
};

static NOTHING: BTreeMap<String, Value> = BTreeMap::new();

fn scope(nodes: u32) -> Scope<'static> {
    Scope {
        arguments: &NOTHING,
        runtime_arguments: &NOTHING,
        nodes,
        gpus_per_node: 0,
        phase_iteration: 0,
        nodes_min: 1,
        nodes_max: nodes,
    }
}

fn ranks(total: f64, pattern: Pattern, count: u32) -> Result<Vec<f64>, ModelError> {
    Payload { total: Formula::number(total), pattern }.of_ranks(count, &scope(count))
}

/// The bytes from rank i to rank j, at i · n + j.
fn sent(total: f64, pattern: Communication, count: u32) -> Result<Vec<f64>, ModelError> {
    let mut bytes = vec![0.0; (count * count) as usize];
    let traffic = Traffic { total: Formula::number(total), pattern };
    let total = traffic.total(count, 0, &scope(count))?;
    traffic.pattern.pairs(count, total, &mut |from, to, amount| {
        assert_ne!(from, to, "a rank sends nothing to itself");
        let sent = &mut bytes[(from * count + to) as usize];
        assert!(std::mem::replace(sent, amount) <= 0.0, "every pair comes once");
    })?;
    Ok(bytes)
}

/// The bytes between nodes, and the bytes of the busiest pair of GPUs in a node.
fn sent_by_gpus(
    total: f64,
    pattern: Communication,
    count: u32,
    gpus: u32,
) -> Result<(Vec<f64>, f64), ModelError> {
    let mut bytes = vec![0.0; (count * count) as usize];
    let traffic = Traffic { total: Formula::number(total), pattern };
    let total = traffic.total(count, gpus, &scope(count))?;
    let inside = traffic.pattern.gpu_pairs(count, gpus, total, &mut |from, to, amount| {
        let sent = &mut bytes[(from * count + to) as usize];
        assert!(std::mem::replace(sent, amount) <= 0.0, "every pair comes once");
    })?;
    Ok((bytes, inside))
}

#[test]
fn ranks_get_what_the_pattern_says() {
    assert_eq!(ranks(12.0, Pattern::Uniform, 3), Ok(vec![12.0; 3]));
    assert_eq!(ranks(12.0, Pattern::AllRanks, 3), Ok(vec![4.0; 3]));
    assert_eq!(ranks(12.0, Pattern::RootOnly, 3), Ok(vec![12.0, 0.0, 0.0]));
    assert_eq!(ranks(12.0, Pattern::EvenRanks, 5), Ok(vec![4.0, 0.0, 4.0, 0.0, 4.0]));
    assert_eq!(ranks(12.0, Pattern::OddRanks, 5), Ok(vec![0.0, 6.0, 0.0, 6.0, 0.0]));
    assert_eq!(ranks(12.0, Pattern::OddRanks, 1), Ok(vec![0.0]));
    assert_eq!(ranks(0.0, Pattern::Vector(vec![1.0, 2.0]), 2), Ok(vec![1.0, 2.0]));
}

#[test]
fn pairs_get_what_the_pattern_says() {
    let pairs = |pattern, count| sent(24.0, pattern, count);
    assert_eq!(pairs(Communication::AllToAll, 3), Ok(vec![0.0, 4.0, 4.0, 4.0, 0.0, 4.0, 4.0, 4.0, 0.0]));
    assert_eq!(pairs(Communication::Ring, 3), Ok(vec![0.0, 4.0, 4.0, 4.0, 0.0, 4.0, 4.0, 4.0, 0.0]));
    // Both neighbours of a rank in a ring of two are the same.
    assert_eq!(pairs(Communication::Ring, 2), Ok(vec![0.0, 12.0, 12.0, 0.0]));
    assert_eq!(pairs(Communication::RingClockwise, 3), Ok(vec![0.0, 8.0, 0.0, 0.0, 0.0, 8.0, 8.0, 0.0, 0.0]));
    assert_eq!(
        pairs(Communication::RingCounterClockwise, 3),
        Ok(vec![0.0, 0.0, 8.0, 8.0, 0.0, 0.0, 0.0, 8.0, 0.0])
    );
    assert_eq!(pairs(Communication::Gather, 3), Ok(vec![0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 8.0, 0.0, 0.0]));
    assert_eq!(pairs(Communication::Scatter, 3), Ok(vec![0.0, 8.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(
        pairs(Communication::MasterWorker, 3),
        Ok(vec![0.0, 24.0, 24.0, 24.0, 0.0, 0.0, 24.0, 0.0, 0.0])
    );
    let matrix = vec![0.0, 1.0, 2.0, 0.0];
    assert_eq!(pairs(Communication::Matrix(matrix.clone()), 2), Ok(matrix));
}

const PATTERNS: [Communication; 7] = [
    Communication::AllToAll,
    Communication::Ring,
    Communication::RingClockwise,
    Communication::RingCounterClockwise,
    Communication::Gather,
    Communication::Scatter,
    Communication::MasterWorker,
];

#[test]
fn one_rank_sends_nothing() {
    for pattern in PATTERNS {
        assert_eq!(sent(24.0, pattern.clone(), 1), Ok(vec![0.0]));
        assert_eq!(sent_by_gpus(24.0, pattern, 1, 1), Ok((vec![0.0], 0.0)));
    }
}

#[test]
fn a_single_gpu_per_node_sends_as_its_node() {
    for pattern in PATTERNS {
        let as_node = sent(24.0, pattern.clone(), 4).map(|bytes| (bytes, 0.0));
        assert_eq!(sent_by_gpus(24.0, pattern, 4, 1), as_node);
    }
}

#[test]
fn several_gpus_send_inside_and_between_nodes() {
    // 2 nodes with 2 GPUs, G = 4. All to all: p = 480 / 12 = 40; 4 pairs of GPUs per pair of nodes.
    assert_eq!(sent_by_gpus(480.0, Communication::AllToAll, 2, 2), Ok((vec![0.0, 160.0, 160.0, 0.0], 80.0)));
    // Ring: p = 480 / 8 = 60 to each neighbour, both of which are the other node; inside 2p, 1p each way.
    assert_eq!(sent_by_gpus(480.0, Communication::Ring, 2, 2), Ok((vec![0.0, 120.0, 120.0, 0.0], 120.0)));
    // 3 nodes with 4 GPUs, one way: p = 480 / 12 = 40; inside 3p = 120 spread over the 4 edges of a ring.
    let (bytes, inside) = sent_by_gpus(480.0, Communication::RingClockwise, 3, 4).unwrap();
    assert_eq!((bytes, inside), (vec![0.0, 40.0, 0.0, 0.0, 0.0, 40.0, 40.0, 0.0, 0.0], 30.0));
}

#[test]
fn gpus_of_a_single_node_send_inside_only() {
    // G = 4. All to all: 480 / 12, both ways.
    assert_eq!(sent_by_gpus(480.0, Communication::AllToAll, 1, 4), Ok((vec![0.0], 80.0)));
    // Ring: p = 60, inside 8p = 480, spread over 4 edges both ways.
    assert_eq!(sent_by_gpus(480.0, Communication::Ring, 1, 4), Ok((vec![0.0], 120.0)));
    // One way: p = 120, inside 4p = 480 over 4 edges.
    for pattern in [Communication::RingClockwise, Communication::RingCounterClockwise] {
        assert_eq!(sent_by_gpus(480.0, pattern, 1, 4), Ok((vec![0.0], 120.0)));
    }
}

#[test]
fn what_makes_no_amounts_is_an_error() {
    assert_eq!(ranks(0.0, Pattern::Vector(vec![1.0]), 2), Err(ModelError::Ranks { given: 1, needed: 2 }));
    let matrix = Communication::Matrix(vec![0.0; 3]);
    assert_eq!(sent(0.0, matrix, 2), Err(ModelError::Ranks { given: 3, needed: 4 }));
    assert_eq!(ranks(-1.0, Pattern::Uniform, 2), Err(ModelError::Amount(-1.0)));
    assert_eq!(sent(f64::INFINITY, Communication::Ring, 2), Err(ModelError::Amount(f64::INFINITY)));
    assert_eq!(sent_by_gpus(1.0, Communication::Gather, 2, 2), Err(ModelError::Pattern));
    let missing = Payload { total: Formula::parse("flops").unwrap(), pattern: Pattern::Uniform };
    let error = missing.of_ranks(2, &scope(2)).unwrap_err().to_string();
    assert!(error.starts_with("no name or job argument named 'flops'."), "{error}");
}

proptest! {
    /// The amounts of ranks and pairs add up to the total of the pattern.
    #[test]
    fn totals_are_kept(total in 0.0..1e15_f64, count in 2_u32..40) {
        let n = f64::from(count);
        let near = |sum: f64, expected: f64| (sum - expected).abs() <= 1e-12 * expected;
        for (pattern, expected) in [
            (Pattern::Uniform, total * n),
            (Pattern::AllRanks, total),
            (Pattern::RootOnly, total),
            (Pattern::EvenRanks, total),
            (Pattern::OddRanks, total),
        ] {
            let sum: f64 = ranks(total, pattern.clone(), count).unwrap().iter().sum();
            prop_assert!(near(sum, expected), "{pattern:?}: {sum}");
        }
        for pattern in PATTERNS {
            let expected = match pattern {
                Communication::Gather | Communication::Scatter => total * (n - 1.0) / n,
                Communication::MasterWorker => 4.0 * total,
                _ => total,
            };
            let sum: f64 = sent(total, pattern.clone(), count).unwrap().iter().sum();
            prop_assert!(near(sum, expected), "{pattern:?}: {sum}");
        }
    }

    /// In an all-to-all of GPUs, all bytes are sent within a node or between two nodes.
    #[test]
    fn gpus_send_everything(total in 0.0..1e15_f64, count in 1_u32..12, gpus in 2_u32..9) {
        let (between, busiest) = sent_by_gpus(total, Communication::AllToAll, count, gpus).unwrap();
        let pairs = f64::from(count * gpus * (gpus - 1) / 2);
        let sum = between.iter().sum::<f64>() + busiest * pairs;
        prop_assert!((sum - total).abs() <= 1e-12 * total, "{sum}");
    }
}

/// Two ranks that send to each other before they receive.
fn exchange(eager: bool) -> MessageProgram {
    use Operation::{AwaitReceive, AwaitSend, Receive, Send};
    let message = |from, to| Message { from, to, bytes: 1.0, eager };
    let one = [Send(0), AwaitSend(0), Receive(1), AwaitReceive(1)];
    let other = [Send(1), AwaitSend(1), Receive(0), AwaitReceive(0)];
    let operations = one.into_iter().chain(other).collect();
    MessageProgram::new(vec![0, 4, 8], operations, vec![message(0, 1), message(1, 0)]).expect("sound")
}

#[test]
fn ranks_that_wait_for_each_other_are_found() {
    assert!(exchange(true).stuck().is_empty());
    assert_eq!(exchange(false).stuck(), [1, 5]);
}

#[test]
fn message_programs_whose_lists_do_not_fit_are_refused() {
    let message = Message { from: 0, to: 1, bytes: 1.0, eager: true };
    let refused = |first: Vec<u32>, operations: Vec<Operation>, messages: Vec<Message>| {
        MessageProgram::new(first, operations, messages).is_err()
    };
    assert!(refused(vec![0], Vec::new(), Vec::new()));
    assert!(refused(vec![0, 1], Vec::new(), Vec::new()));
    assert!(refused(vec![0, 0], Vec::new(), vec![message]));
    assert!(refused(vec![0, 1], vec![Operation::Send(0)], Vec::new()));
    assert!(refused(vec![0, 1], vec![Operation::Take(f64::NAN)], Vec::new()));
}

/// Ranks 0 and 1 exchange messages; then all three call a collective of two equal rounds from each rank to the next.
fn rounds(eager: bool) -> RoundProgram {
    use Operation::{AwaitReceive, AwaitSend, Receive, Send};
    let message = |from, to| Message { from, to, bytes: 1.0, eager };
    let own = [
        [Send(0), Receive(1), AwaitSend(0), AwaitReceive(1)],
        [Send(1), Receive(0), AwaitSend(1), AwaitReceive(0)],
    ];
    let mut entries: Vec<Entry> = Vec::new();
    for operations in own {
        entries.extend(operations.map(Entry::Operation));
        entries.push(Entry::Collective(0));
    }
    entries.push(Entry::Collective(0));
    let messages = vec![message(0, 1), message(1, 0), message(0, 1), message(1, 2), message(2, 0)];
    RoundProgram::new(vec![0, 5, 10, 11], entries, messages, vec![0, 2, 5], vec![vec![1, 1]], (0.0, 0.0))
        .expect("sound")
}

#[test]
fn messages_go_in_the_round_of_what_they_wait_for() {
    let eager = rounds(true);
    assert!(eager.stuck().is_empty());
    let numbers =
        |program: &RoundProgram, round| program.numbers(program.shape_of(round)).collect::<Vec<_>>();
    // Rank 2 has not waited before its first send.
    let found = |program: &RoundProgram| {
        (0..program.rounds()).map(|round| numbers(program, round)).collect::<Vec<_>>()
    };
    assert_eq!(found(&eager), [vec![0, 1, 4], vec![2, 3, 2], vec![3, 4]]);
    let rendezvous = rounds(false);
    assert_eq!(found(&rendezvous), [vec![0, 1], vec![2, 3, 4], vec![2, 3, 4]]);
    assert_eq!((eager.shapes(), rendezvous.shapes()), (3, 2), "like rounds have one shape");
}

#[test]
fn rounds_that_never_begin_are_found_and_lists_that_do_not_fit_refused() {
    let entries = vec![
        Entry::Operation(Operation::Receive(0)),
        Entry::Operation(Operation::AwaitReceive(0)),
        Entry::Collective(0),
        Entry::Collective(0),
        Entry::Operation(Operation::Send(0)),
    ];
    let message = Message { from: 1, to: 0, bytes: 1.0, eager: true };
    let made = |entries: &[Entry], batches: Vec<u32>, calls: Vec<Vec<u32>>| {
        RoundProgram::new(vec![0, 3, 5], entries.to_vec(), vec![message], batches, calls, (0.0, 0.0))
    };
    assert_eq!(made(&entries, vec![0, 1], vec![Vec::new()]).expect("sound").stuck(), [1, 3]);
    assert!(made(&entries, vec![0, 0], vec![Vec::new()]).is_err());
    assert!(made(&entries, vec![0, 1], Vec::new()).is_err());
    assert!(made(&entries, vec![0, 1], vec![vec![0]]).is_err());
    assert!(made(&entries[..4], vec![0, 1], vec![Vec::new()]).is_err());
}
