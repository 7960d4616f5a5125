//! An application as a program: flat steps that every rank goes through, and what each of them costs a job now.
//!
//! A program is made when a job starts and whenever its nodes change: all formulas are evaluated then, O(tasks × n)
//! for n ranks. What needs routes is worked out when the first rank comes to it, and kept for all iterations.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::application::{Communication, Direction, Formula, Scope, Storage, Traffic};
use crate::platform::{NoRoute, Platform};

use super::demand::{Builder, Demands, Shape};
use super::error::ExecutionError;
use super::storage::{Place, Stores};

/// Which ranks a step is for; each group has barriers of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Group {
    /// All ranks of the job.
    #[default]
    Everyone,
    /// Those that were not there before the last reconfiguration.
    Newcomers,
}

/// One step of every rank. `amounts`, `exchange`, `transfer` are places in the program's lists; `level` is how deep in
/// sequences a task stands, from 1: what it starts asynchronously is awaited at the end of that level. Level 0 is what a
/// rank waits for at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// The following steps are for this group; ranks that are not in it jump.
    Enter { group: Group, others: u32 },
    /// Begins a loop.
    Repeat { depth: u32, times: u64, after: u32 },
    /// Ends an iteration of a loop.
    Again { depth: u32, times: u64, back: u32 },
    /// Enters the loop of a phase in the middle.
    Continue { iteration: u64, at: u32 },
    /// Comes between two iterations of phases: the job's size may change here.
    Between { phase: u32 },
    /// Waits for the group.
    Barrier,
    /// Waits for what the rank has started at a level.
    Await { level: u32 },
    /// Starts to compute.
    Compute { amounts: u32 },
    /// Waits for the group, which then exchanges messages, or computes and exchanges in lock-step.
    Exchange { exchange: u32 },
    /// Launches kernels, and transfers within the node.
    Launch { amounts: Option<u32>, exchange: Option<u32> },
    /// Waits for them.
    Synchronise,
    /// Sleeps.
    Sleep { amounts: u32 },
    /// Starts to read or write.
    Transfer { transfer: u32, level: u32 },
    /// The log's: a task begins or ends.
    Begin { level: u32 },
    /// See above.
    End { level: u32, name: u32 },
    /// The job is done when all ranks are here.
    Finish,
}

/// A parallel task of a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exchange {
    pub group: Group,
    /// Bytes in all, and how they are spread.
    pub total: f64,
    pub pattern: Communication,
    /// The GPUs per node between which they go; 0 if the ranks send them themselves.
    pub gpus: u32,
    /// Operations of every rank, where these progress in lock-step.
    pub flops: Option<u32>,
    ready: Option<Ready>,
}

/// An exchange once its routes are known.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// The parallel task.
    pub demand: u32,
    /// Bytes between the two GPUs of a node that exchange the most.
    pub inside: f64,
}

/// What every rank of a group reads or writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfer {
    pub group: Group,
    pub storage: Storage,
    pub direction: Direction,
    /// Bytes of every rank.
    pub amounts: u32,
    /// The first of the ranks' parallel tasks, once their routes are known.
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
    /// The links of patterns that have been met, for a byte in all.
    shapes: Vec<(Group, u32, Communication, Shape)>,
    /// How deep loops stand in each other at most, and levels (see [`Step`]).
    pub depths: u32,
    pub levels: u32,
}

impl Exchange {
    pub fn new(group: Group, total: f64, pattern: Communication, gpus: u32, flops: Option<u32>) -> Self {
        Self { group, total, pattern, gpus, flops, ready: None }
    }
}

impl Transfer {
    pub fn new(group: Group, storage: Storage, direction: Direction, amounts: u32) -> Self {
        Self { group, storage, direction, amounts, first: None }
    }
}

/// The hosts of a group, and what their resources are called.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub platform: &'a Platform,
    pub stores: &'a Stores,
    pub hosts: &'a [u32],
}

impl Surroundings<'_> {
    /// The resource that a rank's CPU is, and its speed.
    fn cpu(&self, rank: usize) -> (u32, f64) {
        let host = self.hosts[rank];
        (self.platform.links().len() as u32 + host, self.platform.hosts()[host as usize].speed)
    }

    /// What so many bytes on the disk of a rank cost its CPU: the resource, operations, the speed.
    fn stripe(&self, rank: usize, bytes: f64) -> (u32, f64, f64) {
        let (cpu, speed) = self.cpu(rank);
        let per_byte = self.platform.hosts()[self.hosts[rank] as usize].striping.unwrap_or(0.0);
        (cpu, per_byte * bytes, speed)
    }
}

impl Program {
    /// An exchange with its routes.
    pub fn exchange(
        &mut self,
        index: u32,
        with: Surroundings,
        builder: &mut Builder,
    ) -> Result<Ready, ExecutionError> {
        if let Some(ready) = self.exchanges[index as usize].ready {
            return Ok(ready);
        }
        let place = self.shape(index, with, builder)?;
        let exchange = &mut self.exchanges[index as usize];
        let shape = &self.shapes[place].3;
        let flops: &[f64] = exchange.flops.map_or(&[], |amounts| &self.amounts[amounts as usize]);
        let computes = flops.iter().enumerate().map(|(rank, flops)| {
            let (cpu, speed) = with.cpu(rank);
            (cpu, *flops, speed)
        });
        let demand = self.demands.add(shape, exchange.total, computes);
        let ready = Ready { demand, inside: shape.inside * exchange.total };
        exchange.ready = Some(ready);
        Ok(ready)
    }

    /// The shape of an exchange's traffic: one that is known, else a new one.
    fn shape(
        &mut self,
        index: u32,
        with: Surroundings,
        builder: &mut Builder,
    ) -> Result<usize, ExecutionError> {
        let Exchange { group, gpus, pattern, .. } = &self.exchanges[index as usize];
        let known = self
            .shapes
            .iter()
            .position(|(of, among, like, _)| of == group && among == gpus && like == pattern);
        if let Some(place) = known {
            return Ok(place);
        }
        let shape = traffic_shape(pattern, *gpus, with, builder)?;
        self.shapes.push((*group, *gpus, pattern.clone(), shape));
        Ok(self.shapes.len() - 1)
    }

    /// The parallel task of a rank that reads or writes; there is none for its own disk.
    pub fn transfer(
        &mut self,
        index: u32,
        rank: usize,
        with: Surroundings,
        builder: &mut Builder,
    ) -> Result<u32, NoRoute> {
        if let Some(first) = self.transfers[index as usize].first {
            return Ok(first + rank as u32);
        }
        let transfer = &mut self.transfers[index as usize];
        let first = self.demands.len();
        for (rank, &bytes) in self.amounts[transfer.amounts as usize].iter().enumerate() {
            let host = &with.platform.hosts()[with.hosts[rank] as usize];
            let (stores, striped): (&[u32], bool) = match with.stores.place(host, transfer.storage) {
                Some(Place::Remote(stores)) => (stores, false),
                Some(Place::Striped(_)) => (with.hosts, true),
                Some(Place::Local) | None => (&[], false),
            };
            let shape = spread(with, with.hosts[rank], stores, transfer.direction, builder)?;
            let nodes = if striped { with.hosts.len() } else { 0 };
            let computes = (0..nodes).map(|node| with.stripe(node, bytes / nodes as f64));
            self.demands.add(&shape, bytes, computes);
        }
        transfer.first = Some(first);
        Ok(first + rank as u32)
    }
}

/// The links of a traffic of one byte in all, or of one whose amounts are given.
fn traffic_shape(
    pattern: &Communication,
    gpus: u32,
    with: Surroundings,
    builder: &mut Builder,
) -> Result<Shape, ExecutionError> {
    let traffic = Traffic { total: Formula::number(1.0), pattern: pattern.clone() };
    let ranks = with.hosts.len() as u32;
    let nothing = BTreeMap::new();
    let scope = Scope {
        arguments: &nothing,
        runtime_arguments: &nothing,
        nodes: ranks,
        gpus_per_node: gpus,
        phase_iteration: 0,
        nodes_min: ranks,
        nodes_max: ranks,
    };
    let mut added = Ok(());
    let mut send = |from: u32, to: u32, bytes: f64| {
        if added.is_ok() {
            added = builder.send(with.platform, with.hosts[from as usize], with.hosts[to as usize], bytes);
        }
    };
    let inside = match gpus {
        0 => traffic.pairs(ranks, &scope, &mut send).map(|()| 0.0),
        _ => traffic.gpu_pairs(ranks, gpus, &scope, &mut send),
    };
    let mut shape = builder.finish(added).map_err(|route| ExecutionError::no_route(with.platform, route))?;
    shape.inside = inside.map_err(|error| ExecutionError::Model { task: String::new(), error })?;
    Ok(shape)
}

/// The links of a byte that a node reads or writes, evenly from or to some hosts.
fn spread(
    with: Surroundings,
    node: u32,
    stores: &[u32],
    direction: Direction,
    builder: &mut Builder,
) -> Result<Shape, NoRoute> {
    let share = 1.0 / stores.len() as f64;
    let added = stores.iter().try_for_each(|&store| match direction {
        Direction::Read => builder.send(with.platform, store, node, share),
        Direction::Write => builder.send(with.platform, node, store, share),
    });
    builder.finish(added)
}
