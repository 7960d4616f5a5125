//! Tests that the kernel's parsers terminate for any input: with valid values, or with one error that can be displayed.
//!
//! Mutants are derived from valid inputs by a seeded generator, so that the number of a mutant suffices to reproduce
//! it. A sample runs in every test run; `cargo test --release any_input -- --ignored` runs a million mutants for each
//! parser.

use crate::expression::{Dialect, Item, MODELS, ORDERS, Program};
use crate::random::mix;
use crate::workload::swf::{Invalid, Outcome, SwfOptions, SwfParser, SwfRecord};

const SAMPLE: u64 = 5_000;
const CAMPAIGN: u64 = 1_000_000;
const LONGEST_MESSAGE: usize = 2_000;

const LOGS: [&str; 2] = [
    "; Version: 2.2\n; MaxProcs: 8\n1 0 5 100 4 99.5 2000 4 200 3000 1 7 8 9 1 2 -1 -1\n\
     2 10.5 -1 60 2 -1 -1 -1 -1 -1 0 7 8 9 1 2 1 0.5\n3 20 0 -1 2 -1 -1 2 100 -1 0 12 1 -1 1 -1 -1 -1\n",
    "1\t0 0 1 1\r\n;\r\n2 1 0 1 1 0 0 1 0\r\n",
];
const ORDER_FORMULAS: [&str; 3] = [
    "requested_time * tasks",
    "-log(wait_time + 1) / (tasks ** 0.5) + 3e2",
    "max(submit_time, 5) - min(1, 2, job_id) * 7 if tasks > 2 else 0",
];
const MODEL_FORMULAS: [&str; 3] = [
    "work/num_nodes + (phase_iteration < steps/2 ? 1.5e3 : 2) ^ 2",
    "if (mode == 'fast', max(1, 2, x), [sqrt(x) % 3]) + {clamp(0, x, 1)}",
    "not(x and y or 1) + log2(avg(1, 2, 3)) * -x",
];
const PIECES: [&[u8]; 24] = [
    b"-1",
    b"0",
    b"1e999",
    b"-0",
    b"nan",
    b"inf",
    b"1e-320",
    b"9007199254740993",
    b"18446744073709551616",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b";",
    b"(",
    b")",
    b"[",
    b"'",
    b"-",
    b"^",
    b"?",
    b":",
    b",",
];

/// Pseudo-random numbers from a seed.
struct Chance {
    seed: u64,
    taken: u64,
}

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.taken += 1;
        (mix(self.seed, self.taken) % bound.max(1) as u64) as usize
    }
}

/// The mutant with a number.
fn mutant(seeds: &[&str], number: u64) -> Vec<u8> {
    let mut chance = Chance { seed: number, taken: 0 };
    let mut content = seeds[chance.below(seeds.len())].as_bytes().to_vec();
    for _ in 0..=chance.below(4) {
        change(&mut content, seeds, &mut chance);
    }
    content
}

fn change(content: &mut Vec<u8>, seeds: &[&str], chance: &mut Chance) {
    let begin = chance.below(content.len() + 1);
    let end = (begin + [0, 1, 4, 20][chance.below(4)]).min(content.len());
    match chance.below(7) {
        0 if begin < content.len() => content[begin] ^= 1 << chance.below(8),
        1 => drop(content.drain(begin..end)),
        2 => drop(content.splice(begin..begin, content[begin..end].repeat(1 + chance.below(60)))),
        3 => {
            let other = seeds[chance.below(seeds.len())].as_bytes();
            content.truncate(begin);
            content.extend_from_slice(&other[chance.below(other.len())..]);
        }
        4 => {
            drop(
                content.splice(begin..end, PIECES[chance.below(PIECES.len())].repeat(1 + chance.below(300))),
            );
        }
        _ => drop(content.splice(begin..end, PIECES[chance.below(PIECES.len())].iter().copied())),
    }
}

fn read_logs(numbers: std::ops::Range<u64>) -> u64 {
    let mut accepted = 0;
    for number in numbers {
        let invalid = if number % 2 == 0 { Invalid::Drop } else { Invalid::Raise };
        let options = SwfOptions { invalid, use_memory: number % 3 == 0, ..SwfOptions::default() };
        let mut parser = SwfParser::new(options);
        let mut jobs = 0;
        let bytes = mutant(&LOGS, number);
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let mut take = |record: SwfRecord| {
            jobs += 1;
            assert!(record.tasks >= 1 && record.run_time >= 0.0 && record.submit_time >= 0.0, "{number}");
            assert!(record.requested_time.is_finite(), "{number}");
        };
        let result = parser
            .feed(first, &mut take)
            .and_then(|()| parser.feed(second, &mut take))
            .and_then(|()| parser.finish(&mut take));
        assert_eq!(jobs, parser.kept(), "{number}");
        let dropped = parser.notes().total(Outcome::Dropped);
        assert_eq!(parser.rows(), parser.kept() + dropped + u64::from(result.is_err()), "{number}");
        match result {
            Ok(()) => accepted += 1,
            Err(error) => assert!(error.to_string().len() < LONGEST_MESSAGE, "{number}"),
        }
    }
    accepted
}

fn evaluate(seeds: &[&str], dialect: &Dialect, numbers: std::ops::Range<u64>) -> u64 {
    let mut accepted = 0;
    for number in numbers {
        let text = String::from_utf8_lossy(&mutant(seeds, number)).into_owned();
        let mut names = 0;
        let parsed = Program::parse(&text, dialect, &mut |_| {
            names += 1;
            Ok(names - 1)
        });
        match parsed {
            Ok(program) => {
                accepted += 1;
                let meaning = |name: usize| {
                    Ok(if name % 5 == 4 { Item::Text("fast") } else { Item::Number(name as f64 - 1.5) })
                };
                drop(program.value(meaning));
                program.number(|name| if name % 2 == 0 { f64::NAN } else { f64::INFINITY });
            }
            Err(error) => assert!(error.to_string().len() < LONGEST_MESSAGE, "{number}"),
        }
    }
    accepted
}

#[test]
fn logs() {
    assert!(read_logs(0..SAMPLE) > SAMPLE / 4);
}

#[test]
fn formulas() {
    assert!(evaluate(&ORDER_FORMULAS, &ORDERS, 0..SAMPLE) > SAMPLE / 100);
    assert!(evaluate(&MODEL_FORMULAS, &MODELS, 0..SAMPLE) > SAMPLE / 100);
}

#[test]
#[ignore = "a campaign"]
fn a_million_logs() {
    println!("{} of {CAMPAIGN} logs accepted", read_logs(SAMPLE..SAMPLE + CAMPAIGN));
}

#[test]
#[ignore = "a campaign"]
fn a_million_formulas() {
    let orders = evaluate(&ORDER_FORMULAS, &ORDERS, SAMPLE..SAMPLE + CAMPAIGN);
    let models = evaluate(&MODEL_FORMULAS, &MODELS, SAMPLE..SAMPLE + CAMPAIGN);
    println!("of {CAMPAIGN} each: {orders} orders and {models} performance models accepted");
}
