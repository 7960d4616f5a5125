//! A log under every policy against the limit: its events through a bare binary heap.
//!
//! `cargo bench -p batchlab-kernel --bench replay -- LOG.swf.gz NODES CORES [POLICY …]`, where a policy is
//! `order+backfill+allocator`. Prints the median over rounds, and the ratio to the limit within the same round.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

use batchlab_kernel::cluster::{NodeSets, Request, Requests};
use batchlab_kernel::priority::FORMULA_NAMES;
use batchlab_kernel::replay::Replay;
use batchlab_kernel::scenario::Scenario;
use batchlab_kernel::scheduler::{Capacities, PolicyChoice};
use batchlab_kernel::simulation::{Agenda, Simulation};
use batchlab_kernel::state::{JobRecords, State};
use batchlab_kernel::time::Time;
use batchlab_kernel::workload::Job;
use batchlab_kernel::workload::swf::{Invalid, Overrun, ProcessorField, SwfFile, SwfOptions};
use cpu_time::ThreadTime;

/// Rounds, unless the variable `ROUNDS` says otherwise.
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
    let mut limits = Vec::new();
    let mut times = vec![Vec::new(); policies.len()];
    let mut ratios = vec![Vec::new(); policies.len()];
    for _ in 0..rounds {
        let limit = timed(|| heap_only(&jobs));
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
            tasks: record.tasks,
            request: 0,
        })
        .collect()
}

/// Every job is submitted and ends as soon as it has run: two events through the heap, and nothing else.
fn heap_only(jobs: &[Job]) -> f64 {
    let mut heap = BinaryHeap::with_capacity(jobs.len());
    for job in jobs {
        heap.push(Reverse((Time(job.submit_time), 1_u8, job.row)));
    }
    let mut last = 0.0;
    while let Some(Reverse((time, kind, row))) = heap.pop() {
        if kind == 1 {
            heap.push(Reverse((Time(time.0 + jobs[row as usize].run_time), 0, row)));
        }
        last = time.0;
    }
    last
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
        critical: Vec::new(),
        mapping: None,
    };
    let amounts = vec![cores; nodes];
    let mut requests = Requests::new(1, &amounts);
    requests.intern(Request { amounts: vec![1], ..Request::NOTHING });
    let node_sets = Arc::new(NodeSets::whole(nodes as u32));
    let capacities =
        Capacities { resources: 1, amounts, node_sets: Arc::clone(&node_sets), has_calendar: false };
    let parts = choice.parts(&capacities, &FORMULA_NAMES).expect("a known policy");
    let state = State::new(JobRecords::new(jobs, |_| None), capacities.machine());
    let mut scenario = Scenario::new(jobs.to_vec(), Vec::new(), requests, node_sets);
    scenario.core = Some(0);
    Simulation::new(scenario, state, parts, Agenda::default(), Replay::new(jobs))
}

fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    // CPU time of this thread: others on the machine do not count.
    let begin = ThreadTime::now();
    std::hint::black_box(work());
    begin.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
