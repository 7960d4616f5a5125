//! Times calculated by hand, on a crossbar of eight nodes with a parallel file system.
//!
//! Nodes compute at 10 Gflop/s and have cables of 10 GB/s and 1 µs each way; 40 GB/s can be read from the file system and
//! 20 GB/s written to it, with 5 µs more.
mod engine;
mod hardware;
mod life;
mod rounds;
mod tasks;

use std::collections::HashMap;
use std::sync::Arc;

use super::engine::{Execution, Options};
use super::error::ExecutionError;
use super::notice::Notice;
use super::start::Start;
use crate::application::{
    Application, ApplicationJob, Communication, Direction, Formula, JobType, Pattern, Payload, Phase,
    Storage, Task, Traffic, Work,
};
use crate::platform::{Disk, Host, Link, Platform, Role, Sharing};
use crate::sharing::Network;
use crate::time::FineTime;

/// The same methods with float64 times.
impl Execution {
    fn start_at(
        &mut self,
        now: f64,
        job: u32,
        carried: &ApplicationJob,
        hosts: &[u32],
        gpus: u32,
    ) -> Result<(), ExecutionError> {
        self.move_to(FineTime::at(now));
        self.start(Start { time: now, before: 0.0 }, job, carried, hosts, gpus)
    }

    fn next(&mut self) -> f64 {
        self.next_time().rounded()
    }

    /// Advances to the next event, or to this time if it is earlier.
    fn advance_to(&mut self, now: f64) -> Option<(u32, Notice)> {
        let next = self.next_time();
        self.move_to(if next.rounded() <= now { next } else { FineTime::at(now) });
        self.advance()
    }

    fn resume_at(&mut self, now: f64, job: u32) {
        self.move_to(FineTime::at(now));
        self.resume(job);
    }

    fn reconfigure_at(&mut self, now: f64, job: u32, hosts: &[u32]) {
        self.move_to(FineTime::at(now));
        self.reconfigure(job, hosts);
    }

    fn stop_at(&mut self, now: f64, job: u32) {
        self.move_to(FineTime::at(now));
        self.stop(job);
    }
}

/// The host of the file system.
const STORE: u32 = 8;

/// The models of parallel tasks.
fn networks() -> [Network; 3] {
    ["max_min", "fair_bottleneck", "bottleneck_max_min"].map(|name| Network::named(name).expect("a model"))
}

fn max_min() -> Network {
    networks()[0]
}

fn node(index: u32) -> Host {
    Host {
        name: format!("n{index}"),
        speed: 1e10,
        cores: 1,
        gpus: 4,
        gpu_speed: 1e12,
        gpu_bandwidth: 5e10,
        disk: Some(Disk { read: 2e9, write: 1e9, whole_bytes: false, capacity: f64::INFINITY }),
        ..Host::default()
    }
}

fn link(name: String, bandwidth: f64, latency: f64) -> Link {
    Link { name, bandwidth, latency, sharing: Sharing::Shared }
}

/// The crossbar, with hosts modified by `change`.
fn crossbar(change: impl Fn(&mut Vec<Host>)) -> Arc<Platform> {
    let mut hosts: Vec<Host> = (0..STORE).map(node).collect();
    hosts.push(Host { name: "store".into(), role: Role::Storage, ..Host::default() });
    change(&mut hosts);
    let mut links = vec![link("read".into(), 4e10, 5e-6), link("write".into(), 2e10, 5e-6)];
    let mut routes = HashMap::new();
    for from in 0..STORE {
        links.extend([link(format!("n{from}_UP"), 1e10, 1e-6), link(format!("n{from}_DOWN"), 1e10, 1e-6)]);
        routes.insert((from, STORE), vec![2 + 2 * from, 1]);
        routes.insert((STORE, from), vec![0, 3 + 2 * from]);
        for to in (0..STORE).filter(|to| *to != from) {
            routes.insert((from, to), vec![2 + 2 * from, 3 + 2 * to]);
        }
    }
    Arc::new(Platform::of_routes(hosts, links, routes))
}

fn payload(total: f64, pattern: Pattern) -> Payload {
    Payload { total: Formula::number(total), pattern }
}

fn task(work: Work) -> Task {
    Task { name: "task".into(), iterations: Formula::number(1.0), synchronized: false, work }
}

fn cpu(flops: Option<(f64, Pattern)>, bytes: Option<(f64, Communication)>, coupled: bool) -> Task {
    let flops = flops.map(|(total, pattern)| payload(total, pattern));
    let bytes = bytes.map(|(total, pattern)| Traffic { total: Formula::number(total), pattern });
    task(Work::Compute { flops, bytes, coupled })
}

fn gpu(flops: Option<(f64, Pattern)>, bytes: Option<(f64, Communication)>) -> Task {
    let flops = flops.map(|(total, pattern)| payload(total, pattern));
    let bytes = bytes.map(|(total, pattern)| Traffic { total: Formula::number(total), pattern });
    task(Work::Gpu { flops, bytes })
}

fn idle(seconds: f64, pattern: Pattern) -> Task {
    task(Work::Idle { seconds: payload(seconds, pattern) })
}

fn busy(seconds: f64, pattern: Pattern) -> Task {
    task(Work::BusyWait { seconds: payload(seconds, pattern) })
}

fn transfer(storage: Storage, direction: Direction, bytes: f64, pattern: Pattern) -> Task {
    task(Work::Transfer { storage, direction, bytes: payload(bytes, pattern), asynchronous: false })
}

/// Reads from or writes to the parallel file system.
fn file(direction: Direction, bytes: f64, pattern: Pattern) -> Task {
    transfer(Storage::ParallelFileSystem, direction, bytes, pattern)
}

fn buffer(direction: Direction, bytes: f64, pattern: Pattern) -> Task {
    transfer(Storage::BurstBuffer, direction, bytes, pattern)
}

fn asynchronously(mut task: Task) -> Task {
    if let Work::Transfer { asynchronous, .. } = &mut task.work {
        *asynchronous = true;
    }
    task
}

fn times(iterations: f64, task: Task) -> Task {
    Task { iterations: Formula::number(iterations), ..task }
}

fn phase(iterations: f64, tasks: Vec<Task>) -> Phase {
    let iterations = Formula::number(iterations);
    Phase { iterations, scheduling_point: true, evolving_request: None, barrier: true, tasks }
}

fn job_of(job_type: JobType, application: Application) -> ApplicationJob {
    ApplicationJob {
        job_type,
        tasks_min: 2,
        tasks_max: 6,
        application: Some(Arc::new(application)),
        ..ApplicationJob::default()
    }
}

fn rigid(phases: Vec<Phase>) -> ApplicationJob {
    job_of(JobType::Rigid, Application { phases, ..Application::default() })
}

/// Runs until no event is left: returns time, job and notice of each. Jobs continue unchanged after a request.
fn run(execution: &mut Execution) -> Vec<(f64, u32, Notice)> {
    let mut seen = Vec::new();
    loop {
        let now = execution.next();
        if now.is_infinite() {
            return seen;
        }
        while let Some((job, notice)) = execution.advance_to(now) {
            seen.push((now, job, notice));
            execution.resume_at(now, job);
        }
    }
}

fn done(seconds: f64) -> Notice {
    Notice::Done { seconds }
}

/// The duration of a job that has the platform to itself.
fn alone_on(platform: &Arc<Platform>, network: Network, job: &ApplicationJob, nodes: u32, gpus: u32) -> f64 {
    let mut execution = Execution::new(Arc::clone(platform), network);
    let hosts: Vec<u32> = (0..nodes).collect();
    execution.start_at(100.0, 0, job, &hosts, gpus).expect("it starts");
    let seen = run(&mut execution);
    assert!(execution.is_idle());
    let (end, _, Notice::Done { .. }) = seen[seen.len() - 1] else { panic!("{seen:?}") };
    end - 100.0
}

/// Asserts the duration of one task on otherwise idle nodes, for every model.
fn takes(task: &Task, nodes: u32, seconds: f64) {
    lasts(&rigid(vec![phase(1.0, vec![task.clone()])]), nodes, seconds);
}

/// Asserts the duration of a job on otherwise idle nodes, for every model.
fn lasts(job: &ApplicationJob, nodes: u32, seconds: f64) {
    for network in networks() {
        close(alone_on(&crossbar(|_| {}), network, job, nodes, 4), seconds);
    }
}

fn close(took: f64, seconds: f64) {
    assert!((took - seconds).abs() <= 1e-9 * seconds.max(1.0), "took {took}, not {seconds}");
}
