//! Compares the replay of a log with every policy to a lower bound: a binary heap of ends, merged with the submissions.
//!
//! `cargo bench -p batchlab-kernel --bench replay -- LOG.swf.gz NODES CORES [POLICY …]`, where a policy is
//! `order+backfill+allocator`. Prints the median over rounds, and the ratio to the lower bound within the same round.
//! `-- heap` prints the lower bound for the jobs on standard input: submit time and run time of each, as little-endian
//! float64.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use std::path::Path;

use batchlab_kernel::cluster::{Ranking, Request};
use batchlab_kernel::replay::Replay;
use batchlab_kernel::scenario::Scenario;
use batchlab_kernel::scheduler::PolicyChoice;
use batchlab_kernel::simulation::{RunDescription, Simulation};
use batchlab_kernel::state::JobRecords;
use batchlab_kernel::time::Time;
use batchlab_kernel::workload::Job;
use batchlab_kernel::workload::swf::{Invalid, Overrun, ProcessorField, SwfFile, SwfOptions};
use cpu_time::ThreadTime;

/// Default number of rounds; the environment variable `ROUNDS` overrides it.
const ROUNDS: usize = 5;
const USUAL: [&str; 5] = [
    "fcfs+none+first_fit",
    "fcfs+easy+first_fit",
    "fcfs+conservative+first_fit",
    "sjf+none+first_fit",
    "sjf+easy+best_fit",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if arguments == ["heap"] {
        let events = events_of(&read_events());
        println!("{}", timed(|| heap_only(&events)));
        return;
    }
    let [log, nodes, cores, policies @ ..] = arguments.as_slice() else {
        eprintln!("usage: replay LOG NODES CORES [order+backfill+allocator …]");
        return;
    };
    let (nodes, cores) =
        (nodes.parse().expect("a number of nodes"), cores.parse().expect("a number of cores"));
    let jobs = read(log);
    let usual: Vec<String> = USUAL.iter().map(ToString::to_string).collect();
    let policies = if policies.is_empty() { &usual } else { policies };
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    println!(
        "{} jobs on {nodes} nodes of {cores} cores; seconds, and ratios to the heap, medians of {rounds}",
        jobs.len()
    );
    let events = events_of(&jobs.iter().map(|job| [job.submit_time, job.run_time]).collect::<Vec<_>>());
    let mut limits = Vec::new();
    let mut times = vec![Vec::new(); policies.len()];
    let mut ratios = vec![Vec::new(); policies.len()];
    for _ in 0..rounds {
        let limit = timed(|| heap_only(&events));
        limits.push(limit);
        for (index, policy) in policies.iter().enumerate() {
            let mut simulation = opened(&jobs, nodes, cores, policy);
            let time = timed(|| while simulation.run_a_while().expect("a replay does not fail") {});
            times[index].push(time);
            ratios[index].push(time / limit);
        }
    }
    println!("{:<32} {:>9.4}", "binary heap", median(&mut limits));
    for (index, policy) in policies.iter().enumerate() {
        println!("{policy:<32} {:>9.4} {:>8.2}", median(&mut times[index]), median(&mut ratios[index]));
    }
}

fn read(log: &str) -> Vec<Job> {
    let options = SwfOptions {
        overrun: Overrun::Extend,
        invalid: Invalid::Drop,
        processors: ProcessorField::Requested,
        use_memory: false,
        log_events: false,
    };
    let records = SwfFile::open(Path::new(log), options).expect("the log opens");
    records
        .map(|record| record.expect("the log is sound"))
        .enumerate()
        .map(|(row, record)| Job {
            row: row as u64,
            submit_time: record.submit_time,
            run_time: record.run_time,
            requested_time: record.requested_time,
            time_limit: record.time_limit,
            tasks: record.tasks,
            request: 0,
        })
        .collect()
}

/// The lower bound: the ends of jobs that start at their submission, from a heap, merged with the sorted submissions.
fn heap_only(events: &[[f64; 2]]) -> f64 {
    let mut ends: BinaryHeap<Reverse<Time>> = BinaryHeap::new();
    let mut last = 0.0;
    for &[submit_time, run_time] in events {
        while ends.peek().is_some_and(|end| end.0.0 <= submit_time) {
            ends.pop();
        }
        ends.push(Reverse(Time(submit_time + run_time)));
    }
    while let Some(Reverse(Time(end))) = ends.pop() {
        last = end;
    }
    last
}

/// Submit times and run times of jobs, sorted.
fn events_of(jobs: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut events = jobs.to_vec();
    events.sort_by(|one, other| one[0].total_cmp(&other[0]));
    events
}

fn read_events() -> Vec<[f64; 2]> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).expect("standard input");
    let (values, _) = bytes.as_chunks::<8>();
    let (pairs, _) = values.as_chunks::<2>();
    pairs.iter().map(|pair| pair.map(f64::from_le_bytes)).collect()
}

fn opened(jobs: &[Job], nodes: usize, cores: i64, policy: &str) -> Simulation<Replay> {
    let mut parts = policy.split('+');
    let mut part = |usual: &str| parts.next().unwrap_or(usual).to_owned();
    let choice = PolicyChoice {
        order: part("fcfs"),
        argument: None,
        multifactor: None,
        backfill: part("none"),
        allocator: part("first_fit"),
        reservations: 1,
        slurm: None,
        seed: 0,
        ranking: Ranking::default(),
        critical: Vec::new(),
        mapping: None,
    };
    let amounts = vec![cores; nodes];
    let mut scenario = Scenario::on_nodes(1, &amounts);
    scenario.requests.intern(Request { amounts: vec![1], ..Request::NOTHING });
    scenario.jobs = jobs.to_vec();
    scenario.core = Some(0);
    let records = JobRecords::new(jobs, |_| None);
    let run = RunDescription { records, ..RunDescription::new(scenario, amounts, choice) };
    run.build(Replay::new(jobs)).expect("a known policy")
}

fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    // CPU time of this thread, independent of other load on the machine.
    let begin = ThreadTime::now();
    std::hint::black_box(work());
    begin.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
