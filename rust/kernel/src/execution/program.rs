//! An application as a program: flat steps that every rank executes, and their current costs.
//!
//! A program is compiled when a job starts and whenever its nodes change: all formulas are evaluated then, O(tasks × n)
//! for n ranks. Demands that need routes are built when the first rank reaches them, and stored for all iterations.
use serde::{Deserialize, Serialize};

use super::demands::Demands;
use super::error::ExecutionError;
use super::message_passing::MessagePassing;
use super::round_passing::Rounds;
use super::storage::{Place, Stores};
use crate::application::{Communication, Direction, Storage};
use crate::platform::{NoRoute, Platform};
use crate::sharing::{DemandBuilder, Network};

/// The ranks that a step applies to; each group has its own barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Group {
    /// All ranks of the job.
    #[default]
    Everyone,
    /// The ranks added by the last reconfiguration.
    Added,
}

/// One step of every rank. `amounts`, `exchange`, `transfer` are indices into the program's lists. `level` is the
/// nesting depth of a task in sequences, from 1: its asynchronous activities are awaited at the end of that level.
/// Level 0 stands for activities that a rank awaits immediately.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Makes the following steps apply to a group; other ranks jump to `others`.
    Enter { group: Group, others: u32 },
    /// Begins a loop.
    Repeat { depth: u32, times: u64, after: u32 },
    /// Ends an iteration of a loop.
    Again { depth: u32, times: u64, back: u32 },
    /// Enters the loop of a phase at a given iteration.
    Continue { iteration: u64, at: u32 },
    /// Separates two iterations of phases: the job's size may change here.
    Between { phase: u32 },
    /// Waits for the group.
    Barrier,
    /// Waits for the activities that the rank has started at a level.
    Await { level: u32 },
    /// Starts a computation.
    Compute { amounts: u32 },
    /// Waits for the group, which then exchanges messages, or computes and exchanges in lock-step.
    Exchange { exchange: u32 },
    /// Launches kernels, and transfers within the node.
    Launch { amounts: Option<u32>, exchange: Option<u32> },
    /// Waits for the kernels and transfers of the last launch.
    Synchronise,
    /// Executes the rank's operations of a message program.
    Messages { part: u32 },
    /// Waits for the group, which then executes the rounds of a message program.
    Rounds { part: u32 },
    /// Sleeps.
    Sleep { amounts: u32 },
    /// Starts a read or write.
    Transfer { transfer: u32, level: u32 },
    /// Records the begin of a task in the log.
    Begin { level: u32 },
    /// Records the end of a task in the log.
    End { level: u32, name: u32 },
    /// The job is done when all ranks are here.
    Finish,
}

/// A parallel task of a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exchange {
    pub group: Group,
    /// Total bytes, and their pattern.
    pub total: f64,
    pub pattern: Communication,
    /// GPUs per node that exchange the bytes; 0 if the ranks themselves do.
    pub gpus: u32,
    /// Operations of every rank, if these progress in lock-step.
    pub flops: Option<u32>,
    ready: Option<Ready>,
}

/// An exchange with known routes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// The parallel task.
    pub demand: u32,
    /// Bytes between the two GPUs of a node that exchange most.
    pub inside: f64,
}

/// A read or write of every rank of a group.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfer {
    pub group: Group,
    pub storage: Storage,
    pub direction: Direction,
    /// Bytes of every rank.
    pub amounts: u32,
    /// The first of the ranks' parallel tasks, if their routes are known.
    first: Option<u32>,
}

/// A job's program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    pub steps: Vec<Step>,
    /// Amounts of every rank of a group.
    pub amounts: Vec<Vec<f64>>,
    pub exchanges: Vec<Exchange>,
    pub transfers: Vec<Transfer>,
    pub demands: Demands,
    pub messages: Vec<MessagePassing>,
    pub rounds: Vec<Rounds>,
    /// Maximum nesting depth of loops, and number of levels (see [`Step`]).
    pub depths: u32,
    pub levels: u32,
    /// The level at which migrations out of caches are awaited, if there are caches.
    pub migrations: Option<u32>,
}

impl Exchange {
    pub fn new(group: Group, total: f64, pattern: Communication, gpus: u32, flops: Option<u32>) -> Self {
        Self { group, total, pattern, gpus, flops, ready: None }
    }

    /// Returns whether another exchange has the same arguments, so that both can share one demand.
    fn is_like(&self, other: &Self) -> bool {
        self.group == other.group
            && self.gpus == other.gpus
            && self.flops == other.flops
            && self.total.to_bits() == other.total.to_bits()
            && self.pattern == other.pattern
    }
}

impl Transfer {
    pub fn new(group: Group, storage: Storage, direction: Direction, amounts: u32) -> Self {
        Self { group, storage, direction, amounts, first: None }
    }
}

/// The hosts of a group, and the platform, storage and network model that they use.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub platform: &'a Platform,
    pub stores: &'a Stores,
    pub network: &'a Network,
    pub hosts: &'a [u32],
}

impl Surroundings<'_> {
    /// Builds the parallel task of a node that reads or writes, evenly distributed over the hosts that store its data.
    fn transfer(
        &self,
        (node, storage, direction): (u32, Storage, Direction),
        bytes: f64,
        builder: &mut DemandBuilder,
    ) -> Result<(), NoRoute> {
        let hosts = self.platform.hosts();
        let (stores, striped): (&[u32], bool) = match self.stores.place(&hosts[node as usize], storage) {
            Some(Place::Remote(stores)) => (stores, false),
            Some(Place::Striped(_)) => (self.hosts, true),
            Some(Place::Local) | None => (&[], false),
        };
        let part = bytes / stores.len() as f64;
        let mut task = builder.task(self.platform, self.network);
        for &store in stores.iter().filter(|_| striped) {
            task.compute(store, hosts[store as usize].striping.unwrap_or(0.0) * part);
        }
        for &store in stores.iter().filter(|store| **store != node) {
            match direction {
                Direction::Read => task.send(store, node, part)?,
                Direction::Write => task.send(node, store, part)?,
            }
        }
        task.finish()
    }
}

impl Program {
    /// Returns an exchange with its routes.
    pub fn exchange(
        &mut self,
        index: u32,
        with: Surroundings,
        builder: &mut DemandBuilder,
    ) -> Result<Ready, ExecutionError> {
        let exchange = &self.exchanges[index as usize];
        let like = |other: &&Exchange| other.ready.is_some() && other.is_like(exchange);
        let ready = match exchange.ready.or_else(|| self.exchanges.iter().find(like)?.ready) {
            Some(ready) => ready,
            None => self.make_exchange(index, with, builder)?,
        };
        self.exchanges[index as usize].ready = Some(ready);
        Ok(ready)
    }

    fn make_exchange(
        &mut self,
        index: u32,
        with: Surroundings,
        builder: &mut DemandBuilder,
    ) -> Result<Ready, ExecutionError> {
        let Exchange { total, ref pattern, gpus, flops, .. } = self.exchanges[index as usize];
        let flops: &[f64] = flops.map_or(&[], |amounts| &self.amounts[amounts as usize]);
        let mut task = builder.task(with.platform, with.network);
        for (&host, &amount) in with.hosts.iter().zip(flops) {
            task.compute(host, amount);
        }
        let mut routed = Ok(());
        let mut send = |from: u32, to: u32, bytes: f64| {
            if routed.is_ok() {
                routed = task.send(with.hosts[from as usize], with.hosts[to as usize], bytes);
            }
        };
        let inside = pattern
            .gpu_pairs(with.hosts.len() as u32, gpus, total, &mut send)
            .map_err(|error| ExecutionError::Model { task: String::new(), error })?;
        routed
            .and_then(|()| task.finish())
            .map_err(|route| ExecutionError::no_route(with.platform, route))?;
        Ok(Ready { demand: self.demands.keep(&builder.demand()), inside })
    }

    /// The index of the parallel task of a rank that reads or writes; its demand has no work if it uses its own disk.
    pub fn transfer(
        &mut self,
        index: u32,
        rank: usize,
        with: Surroundings,
        builder: &mut DemandBuilder,
    ) -> Result<u32, NoRoute> {
        if let Some(first) = self.transfers[index as usize].first {
            return Ok(first + rank as u32);
        }
        let Transfer { storage, direction, amounts, .. } = self.transfers[index as usize];
        let first = self.demands.len();
        for (&node, &bytes) in with.hosts.iter().zip(&self.amounts[amounts as usize]) {
            with.transfer((node, storage, direction), bytes, builder)?;
            self.demands.keep(&builder.demand());
        }
        self.transfers[index as usize].first = Some(first);
        Ok(first + rank as u32)
    }
}
