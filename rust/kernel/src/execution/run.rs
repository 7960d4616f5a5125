//! A job's run: its ranks, their positions in the program, and the events for which they wait.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::application::{ApplicationJob, Scope, Value};
use crate::platform::Platform;

use super::cache::CachedData;
use super::compile::{Compiler, count};
use super::error::ExecutionError;
use super::notice::Notice;
use super::program::{Group, Program, Step};
use super::rank::{Blocked, Ranks};
use super::start::Start;
use super::world::{Purpose, World};
use crate::time::FineTime;

/// A job that runs an application.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub job: u32,
    /// Its index among the runs, and its serial number: indices are reused.
    pub slot: u32,
    pub serial: u64,
    carried: ApplicationJob,
    /// The start of the job, and the begin of the application.
    pub start: Start,
    pub begun: FineTime,
    pub runtime_arguments: Arc<BTreeMap<String, Value>>,
    pub gpus_per_node: u32,
    /// The number of GPUs per node from the next reconfiguration on.
    pub gpus_wanted: u32,
    clips: bool,
    /// The hosts of all ranks, and the hosts and numbers of the ranks added by the last reconfiguration.
    pub hosts: Vec<u32>,
    pub added_hosts: Vec<u32>,
    added_ranks: Vec<u32>,
    /// Number of iterations of each phase.
    pub iterations: Vec<u64>,
    pub program: Program,
    pub ranks: Ranks,
    /// Number of ranks of each group that have arrived at its current barrier.
    arrived: [u32; 2],
    /// Activities in progress.
    pub pending: Vec<u32>,
    pub cached: CachedData,
    /// The common decision of all ranks between two iterations: the phase and iteration, and the resulting notice.
    decided: Option<(u32, u64, Option<Notice>)>,
    /// The phase and iteration of the current scheduling point or evolving request; None if the run is not paused.
    paused: Option<(u32, u64)>,
    /// The phase and iteration of rank 0.
    pub position: (u32, u64),
    pub done: bool,
    /// The number of steps of all ranks at one instant, and the instant.
    steps: (FineTime, u64),
}

/// Maximum number of steps of all ranks of a job at one instant: the greater of this number, and this number per rank.
/// More steps indicate a loop in which no time passes.
const MOST_STEPS: (u64, u64) = (100_000_000, 100_000);

/// The entry point of a program.
enum Entry {
    Start,
    Reconfigured { phase: u32, iteration: u64 },
}

impl Run {
    /// Creates a run that is about to start.
    pub fn new(
        world: &mut World,
        (slot, serial, job): (u32, u64, u32),
        carried: &ApplicationJob,
        runtime_arguments: Arc<BTreeMap<String, Value>>,
        (start, hosts): (Start, &[u32]),
        (gpus_per_node, clips): (u32, bool),
    ) -> Result<Self, ExecutionError> {
        check(&world.platform, hosts)?;
        let mut run = Self {
            job,
            slot,
            serial,
            carried: carried.clone(),
            start,
            begun: world.now,
            runtime_arguments,
            gpus_per_node,
            gpus_wanted: gpus_per_node,
            clips,
            hosts: hosts.to_vec(),
            added_hosts: Vec::new(),
            added_ranks: Vec::new(),
            iterations: Vec::new(),
            program: Program::default(),
            ranks: Ranks::default(),
            arrived: [0; 2],
            pending: Vec::new(),
            cached: CachedData::default(),
            decided: None,
            paused: None,
            position: (0, 0),
            done: false,
            steps: (world.now, 0),
        };
        run.iterations = run.count_iterations()?;
        run.begin(world, &Entry::Start)?;
        Ok(run)
    }

    fn count_iterations(&self) -> Result<Vec<u64>, ExecutionError> {
        let application = self.carried.application.as_ref().ok_or(ExecutionError::NoApplication)?;
        let scope = self.scope(Group::Everyone, 0);
        let of_phase = |(index, phase): (usize, &crate::application::Phase)| {
            count(&phase.iterations, &scope, &format!("the iterations of phase {index}"))
        };
        application.phases.iter().enumerate().map(of_phase).collect()
    }

    /// The scope of the formulas of a group.
    fn scope(&self, group: Group, phase_iteration: u64) -> Scope<'_> {
        Scope {
            arguments: &self.carried.arguments,
            runtime_arguments: &self.runtime_arguments,
            nodes: self.members(group).len() as u32,
            gpus_per_node: self.gpus_per_node,
            phase_iteration,
            nodes_min: self.carried.tasks_min,
            nodes_max: self.carried.tasks_max,
        }
    }

    /// The hosts of a group.
    pub fn members(&self, group: Group) -> &[u32] {
        match group {
            Group::Everyone => &self.hosts,
            Group::Added => &self.added_hosts,
        }
    }

    /// Compiles the program, and starts all ranks.
    fn begin(&mut self, world: &mut World, entry: &Entry) -> Result<(), ExecutionError> {
        self.program = self.compile(world, entry)?;
        self.ranks = Ranks::new(self.hosts.len(), &self.program, world.log.is_some());
        self.arrived = [0; 2];
        self.cached = CachedData::default();
        self.decided = None;
        world.ready.push(self.slot, 0, self.hosts.len() as u32);
        Ok(())
    }

    fn compile(&self, world: &mut World, entry: &Entry) -> Result<Program, ExecutionError> {
        let application = self.carried.application.as_ref().ok_or(ExecutionError::NoApplication)?;
        let begun = if let Entry::Reconfigured { iteration, .. } = entry { *iteration } else { 0 };
        let scope = self.scope(Group::Everyone, begun);
        let mut compiler =
            Compiler::new(&world.platform, &world.stores, world.log.as_mut(), &self.hosts, scope);
        match entry {
            Entry::Start => application.on_init.iter().try_for_each(|stage| compiler.stage(stage))?,
            Entry::Reconfigured { .. } => {
                application.on_reconfiguration.iter().try_for_each(|stage| compiler.stage(stage))?;
                if let (Some(stage), false) = (&application.on_expansion, self.added_hosts.is_empty()) {
                    let added = self.scope(Group::Added, begun);
                    compiler.for_added_ranks(&self.added_hosts, added, stage)?;
                }
            }
        }
        let jump = compiler.here();
        if let Entry::Reconfigured { iteration, .. } = entry {
            compiler.program.steps.push(Step::Continue { iteration: *iteration, at: 0 });
        }
        for (index, phase) in application.phases.iter().enumerate() {
            let body = compiler.phase(index as u32, self.iterations[index], phase)?;
            if let Entry::Reconfigured { phase, iteration } = entry
                && *phase as usize == index
            {
                compiler.program.steps[jump as usize] = Step::Continue { iteration: *iteration, at: body };
            }
        }
        compiler.program.steps.push(Step::Await { level: 1 });
        Ok(compiler.finish())
    }

    /// Continues the job unchanged after a pause.
    pub fn resume(&mut self, world: &mut World) {
        if self.paused.take().is_some() {
            self.release(world, Group::Everyone);
        }
    }

    /// Continues the job on other hosts after a pause.
    pub fn reconfigure(&mut self, world: &mut World, hosts: &[u32]) -> Result<(), ExecutionError> {
        let Some((phase, iteration)) = self.paused.take() else { return Ok(()) };
        check(&world.platform, hosts)?;
        self.added_ranks = added_ranks(&self.hosts, hosts);
        self.added_hosts = self.added_ranks.iter().map(|rank| hosts[*rank as usize]).collect();
        self.hosts = hosts.to_vec();
        self.gpus_per_node = self.gpus_wanted;
        self.begin(world, &Entry::Reconfigured { phase, iteration })?;
        for (place, &rank) in self.added_ranks.iter().enumerate() {
            self.ranks.all[rank as usize].added_index = place as u32;
        }
        Ok(())
    }

    /// Number of iterations of phases that rank 0 has done, and the total number.
    pub fn progress(&self) -> (u64, u64) {
        let (phase, iteration) = self.position;
        let before: u64 = self.iterations.iter().take(phase as usize).sum();
        (before + iteration, self.iterations.iter().sum())
    }

    /// Returns whether rank 0 has not reached the phases since the start, or since the last change of hosts.
    pub fn is_preparing(&self) -> bool {
        self.ranks.all.first().is_some_and(|rank| rank.fresh)
    }

    /// Ends an activity: the rank that waits for it continues.
    pub fn completed(&mut self, world: &mut World, purpose: Purpose) {
        match purpose {
            Purpose::Group(group) => self.release(world, group),
            Purpose::Message { part, message } => self.arrived(world, part, message),
            Purpose::Migration { rank, write } => self.has_migrated(world, rank, write),
            Purpose::Rank { rank, level } | Purpose::Cached { rank, level, .. } => {
                if let Purpose::Cached { write, .. } = purpose {
                    self.is_cached(world, rank, write);
                }
                if self.ranks.completed(rank, level) {
                    world.ready.push(self.slot, rank, 1);
                }
            }
        }
    }

    /// Wakes some ranks after their wait for a time.
    pub fn wake(&mut self, world: &mut World, first: u32, count: u32) {
        world.ready.push(self.slot, first, count);
    }

    /// Lets all ranks of a group continue.
    pub fn release(&mut self, world: &mut World, group: Group) {
        match group {
            Group::Everyone => world.ready.push(self.slot, 0, self.hosts.len() as u32),
            Group::Added => {
                self.added_ranks.iter().for_each(|&rank| world.ready.push(self.slot, rank, 1));
            }
        }
    }

    /// Makes a rank arrive at the barrier of its group; returns whether it is the last.
    pub fn arrive(&mut self, rank: u32) -> bool {
        let state = &mut self.ranks.all[rank as usize];
        state.blocked = Blocked::Otherwise;
        let group = state.group;
        let members = self.members(group).len() as u32;
        let arrived = &mut self.arrived[group as usize];
        *arrived += 1;
        if *arrived < members {
            return false;
        }
        *arrived = 0;
        true
    }

    /// Counts steps; returns an error if there are too many at one instant.
    pub fn count_steps(&mut self, now: FineTime, steps: u32) -> Result<(), ExecutionError> {
        if self.steps.0 != now {
            self.steps = (now, 0);
        }
        self.steps.1 += u64::from(steps);
        let (most, per_rank) = MOST_STEPS;
        if self.steps.1 <= most.max(per_rank * self.hosts.len() as u64) {
            return Ok(());
        }
        let (phase, iteration) = self.position;
        let phase = (!self.is_preparing()).then_some(phase);
        Err(ExecutionError::Endless { steps: self.steps.1, phase, iteration })
    }

    /// Makes a rank pass between two iterations; returns whether it waits.
    pub fn between(&mut self, world: &mut World, rank: u32, phase: u32) -> Result<bool, ExecutionError> {
        let iteration = self.ranks.iteration(rank);
        if rank == 0 {
            self.position = (phase, iteration);
        }
        let state = &mut self.ranks.all[rank as usize];
        if std::mem::take(&mut state.fresh) {
            return Ok(false);
        }
        if !matches!(&self.decided, Some((of, at, _)) if (*of, *at) == (phase, iteration)) {
            self.decided = Some((phase, iteration, self.decide(phase, iteration)?));
        }
        let Some((_, _, Some(notice))) = &self.decided else { return Ok(false) };
        let notice = notice.clone();
        let migrates =
            |run: &mut Self| run.program.migrations.is_some_and(|level| run.ranks.await_level(rank, level));
        if self.ranks.await_level(rank, 1) || migrates(self) {
            // The rank repeats this step after its activities have ended.
            self.ranks.all[rank as usize].next -= 1;
            return Ok(true);
        }
        if self.arrive(rank) {
            self.paused = Some((phase, iteration));
            world.notices.push_back((self.job, notice));
        }
        Ok(true)
    }

    /// The notice before an iteration of a phase; None if the job's size may not change.
    fn decide(&self, phase: u32, iteration: u64) -> Result<Option<Notice>, ExecutionError> {
        let application = self.carried.application.as_ref().ok_or(ExecutionError::NoApplication)?;
        let described = &application.phases[phase as usize];
        if let (Some(request), true) = (&described.evolving_request, self.carried.job_type.is_evolving()) {
            let scope = self.scope(Group::Everyone, iteration);
            let of = || format!("the evolving request of phase {phase}");
            let tasks = request
                .evaluate(&scope)
                .map_err(|error| ExecutionError::Formula { of: of(), error })?
                .trunc();
            let tasks = self.granted(tasks)?;
            return Ok((tasks != self.hosts.len() as u32).then_some(Notice::EvolvingRequest { tasks }));
        }
        let asks = described.scheduling_point && self.carried.job_type.is_malleable();
        Ok(asks.then_some(Notice::SchedulingPoint))
    }

    /// The number of nodes of a request, within the limits of the job.
    fn granted(&self, tasks: f64) -> Result<u32, ExecutionError> {
        let (least, most) = (self.carried.tasks_min, self.carried.tasks_max);
        let inside = (f64::from(least)..=f64::from(most)).contains(&tasks);
        if !inside && (!self.clips || tasks.is_nan()) {
            return Err(ExecutionError::Request { tasks, least, most });
        }
        Ok(tasks.max(f64::from(least)).min(f64::from(most)) as u32)
    }
}

/// Checks that the hosts of a job exist.
fn check(platform: &Platform, hosts: &[u32]) -> Result<(), ExecutionError> {
    let known = hosts.iter().all(|host| (*host as usize) < platform.hosts().len());
    if known && !hosts.is_empty() { Ok(()) } else { Err(ExecutionError::Hosts) }
}

/// The ranks that are new: those on hosts that had no rank, or fewer.
fn added_ranks(before: &[u32], now: &[u32]) -> Vec<u32> {
    let mut there: HashMap<u32, u32> = HashMap::new();
    for &host in before {
        *there.entry(host).or_default() += 1;
    }
    let is_new = |host: &u32| match there.get_mut(host) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let new: Vec<bool> = now.iter().map(is_new).collect();
    (0..now.len() as u32).filter(|rank| new[*rank as usize]).collect()
}
