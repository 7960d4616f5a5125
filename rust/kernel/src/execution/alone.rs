//! Jobs alone on a platform: a message program of `bl.skeleton.run`, or the application of a job.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::engine::{Execution, Options};
use super::log::{MessageTime, RoundTime};
use super::notice::Notice;
use super::start::Start;
use crate::application::{Application, ApplicationJob, Formula, JobType, Phase, RankOrder, Task, Work};
use crate::platform::Platform;
use crate::sharing::Network;
use crate::time::FineTime;

/// End times of the ranks and messages of a program that ran alone.
#[derive(Clone, Debug, Default)]
pub struct RunAlone {
    /// End of each rank, seconds.
    pub ends: Vec<f64>,
    /// Times of the messages, in order of arrival.
    pub messages: Vec<MessageTime>,
    /// Times of the rounds, if the program consists of rounds.
    pub rounds: Vec<RoundTime>,
}

/// Runs a program of messages or rounds alone, rank `r` on host number `r` of `hosts`. `look` is called at every
/// instant.
pub fn run_alone<E: From<String>>(
    platform: Arc<Platform>,
    network: Network,
    work: Work,
    hosts: &[u32],
    look: impl FnMut() -> Result<(), E>,
) -> Result<RunAlone, E> {
    let options = Options { log_tasks: true, ..Options::default() };
    let mut execution = Execution::with_options(platform, network, options);
    let carried = carried(work, hosts.len() as u32);
    execution.start(Start::default(), 0, &carried, hosts, 0).map_err(|error| error.to_string())?;
    go_on(&mut execution, look)?;
    Ok(times(&execution, hosts.len()))
}

/// Runs the application of a job alone from a time on, on these hosts and this number of GPUs of each; returns its run
/// time, seconds. The job continues unchanged after each scheduling point and evolving request. `look` is called at
/// every instant.
pub fn run_job_alone<E: From<String>>(
    mut execution: Execution,
    carried: &ApplicationJob,
    (hosts, gpus_per_node): (&[u32], u32),
    begin: f64,
    look: impl FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    execution.move_to(FineTime::at(begin));
    let start = Start { time: begin, before: 0.0 };
    execution.start(start, 0, carried, hosts, gpus_per_node).map_err(|error| error.to_string())?;
    go_on(&mut execution, look)
}

/// Runs the only job to its end; returns its run time, seconds.
fn go_on<E: From<String>>(
    execution: &mut Execution,
    mut look: impl FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    loop {
        look()?;
        let now = execution.next_time();
        if now == FineTime::NEVER {
            return Err(String::from("a rank computes on a host that has no speed.").into());
        }
        execution.move_to(now);
        match execution.advance() {
            Some((_, Notice::Done { seconds })) => return Ok(seconds),
            Some((_, Notice::Failed(why))) => return Err(why.into()),
            Some((job, Notice::SchedulingPoint | Notice::EvolvingRequest { .. })) => {
                execution.resume(job);
            }
            None => {}
        }
    }
}

/// A job with the program as its only task.
fn carried(work: Work, ranks: u32) -> ApplicationJob {
    let once = || Formula::number(1.0);
    let task = Task { name: "skeleton".into(), iterations: once(), synchronized: false, work };
    let phase = Phase {
        iterations: once(),
        scheduling_point: false,
        evolving_request: None,
        barrier: false,
        tasks: vec![task],
    };
    ApplicationJob {
        job_type: JobType::Rigid,
        tasks_min: ranks,
        tasks_max: ranks,
        application: Some(Arc::new(Application { phases: vec![phase], ..Application::default() })),
        arguments: Arc::new(BTreeMap::new()),
        rank_order: RankOrder::Packed,
        messages: None,
    }
}

fn times(execution: &Execution, ranks: usize) -> RunAlone {
    let mut run = RunAlone { ends: vec![0.0; ranks], ..RunAlone::default() };
    if let Some(log) = execution.task_log() {
        log.entries().iter().for_each(|entry| run.ends[entry.rank as usize] = entry.end);
        run.messages.extend_from_slice(log.messages());
        run.rounds.extend_from_slice(log.rounds());
    }
    run
}
