//! Message passing alone on a platform: what `bl.skeleton.run` gives.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::engine::{Execution, Options};
use super::log::{MessageTime, RoundTime};
use super::notice::Notice;
use crate::application::{Application, ApplicationJob, Formula, JobType, Phase, Task, Work};
use crate::platform::Platform;
use crate::sharing::Network;

/// When the ranks and messages of a program that ran alone ended.
#[derive(Clone, Debug, Default)]
pub struct RunAlone {
    /// Of each rank, in seconds.
    pub ends: Vec<f64>,
    /// Of each message, in the order in which they arrived.
    pub messages: Vec<MessageTime>,
    /// Of each round, where the program goes by rounds.
    pub rounds: Vec<RoundTime>,
}

/// Runs a program of messages or rounds alone, rank `r` on the r-th of the hosts. `look` is called at every instant.
pub fn run_alone<E: From<String>>(
    platform: Arc<Platform>,
    network: Network,
    work: Work,
    hosts: &[u32],
    mut look: impl FnMut() -> Result<(), E>,
) -> Result<RunAlone, E> {
    let options = Options { log_tasks: true, ..Options::default() };
    let mut execution = Execution::with_options(platform, network, options);
    let carried = carried(work, hosts.len() as u32);
    execution.start(0.0, 0, &carried, hosts, 0).map_err(|error| error.to_string())?;
    loop {
        look()?;
        let now = execution.next_time();
        if now.is_infinite() {
            return Err(String::from("a rank computes on a host that has no speed.").into());
        }
        match execution.advance(now) {
            Some((_, Notice::Done)) => return Ok(times(&execution, hosts.len())),
            Some((_, Notice::Failed(why))) => return Err(why.into()),
            _ => {}
        }
    }
}

/// A job whose only task is the program.
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
