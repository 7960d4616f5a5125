//! A job's run: its ranks, where each of them is in the program, and what they wait for.
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::application::{Elastic, Scope, Value};
use crate::platform::Platform;

use super::Notice;
use super::compile::{Compiler, count};
use super::error::ExecutionError;
use super::log::TaskTime;
use super::program::{Group, Program, Step, Surroundings};
use super::rank::{Blocked, Ranks};
use super::storage::Place;
use super::world::{Purpose, World};

/// A job that runs an application.
#[derive(Clone, Debug)]
pub struct Run {
    pub job: u32,
    /// Where it is among the runs, and which it is: places are given back.
    slot: u32,
    pub serial: u64,
    elastic: Elastic,
    pub runtime_arguments: Arc<BTreeMap<String, Value>>,
    gpus_per_node: u32,
    clips: bool,
    /// The hosts of the ranks, and of those that came with the last reconfiguration, with their ranks.
    hosts: Vec<u32>,
    newcomers: Vec<u32>,
    newcomer_ranks: Vec<u32>,
    /// The iterations of each phase.
    iterations: Vec<u64>,
    program: Program,
    ranks: Ranks,
    /// How many ranks of each group have come to the barrier at which it is.
    arrived: [u32; 2],
    /// Activities that are under way.
    pub flights: Vec<u32>,
    /// What all ranks decide alike between two iterations: for which one, and what.
    decided: Option<(u32, u64, Option<Notice>)>,
    /// Whether the run is at a scheduling point, or an evolving request, and where: the phase and the iteration.
    paused: Option<(u32, u64)>,
    /// The phase and the iteration at which rank 0 is.
    position: (u32, u64),
    pub done: bool,
}

/// Where a program begins.
enum Entry {
    Start,
    Reconfigured { phase: u32, iteration: u64 },
}

impl Run {
    /// A run that is about to start.
    pub fn new(
        world: &mut World,
        (slot, serial, job): (u32, u64, u32),
        elastic: &Elastic,
        runtime_arguments: Arc<BTreeMap<String, Value>>,
        hosts: &[u32],
        (gpus_per_node, clips): (u32, bool),
    ) -> Result<Self, ExecutionError> {
        check(&world.platform, hosts)?;
        let mut run = Self {
            job,
            slot,
            serial,
            elastic: elastic.clone(),
            runtime_arguments,
            gpus_per_node,
            clips,
            hosts: hosts.to_vec(),
            newcomers: Vec::new(),
            newcomer_ranks: Vec::new(),
            iterations: Vec::new(),
            program: Program::default(),
            ranks: Ranks::default(),
            arrived: [0; 2],
            flights: Vec::new(),
            decided: None,
            paused: None,
            position: (0, 0),
            done: false,
        };
        run.iterations = run.count_iterations()?;
        run.begin(world, &Entry::Start)?;
        Ok(run)
    }

    fn count_iterations(&self) -> Result<Vec<u64>, ExecutionError> {
        let application = self.elastic.application.as_ref().ok_or(ExecutionError::NoApplication)?;
        let scope = self.scope(Group::Everyone, 0);
        let of_phase = |(index, phase): (usize, &crate::application::Phase)| {
            count(&phase.iterations, &scope, &format!("the iterations of phase {index}"))
        };
        application.phases.iter().enumerate().map(of_phase).collect()
    }

    /// What formulas mean for a group.
    fn scope(&self, group: Group, phase_iteration: u64) -> Scope<'_> {
        Scope {
            arguments: &self.elastic.arguments,
            runtime_arguments: &self.runtime_arguments,
            nodes: self.members(group).len() as u32,
            gpus_per_node: self.gpus_per_node,
            phase_iteration,
            nodes_min: self.elastic.tasks_min,
            nodes_max: self.elastic.tasks_max,
        }
    }

    /// The hosts of a group.
    fn members(&self, group: Group) -> &[u32] {
        match group {
            Group::Everyone => &self.hosts,
            Group::Newcomers => &self.newcomers,
        }
    }

    /// Makes the program, and has all ranks begin it.
    fn begin(&mut self, world: &mut World, entry: &Entry) -> Result<(), ExecutionError> {
        self.program = self.compile(world, entry)?;
        self.ranks = Ranks::new(self.hosts.len(), &self.program, world.log.is_some());
        self.arrived = [0; 2];
        self.decided = None;
        world.ready.push(self.slot, 0, self.hosts.len() as u32);
        Ok(())
    }

    fn compile(&self, world: &mut World, entry: &Entry) -> Result<Program, ExecutionError> {
        let application = self.elastic.application.as_ref().ok_or(ExecutionError::NoApplication)?;
        let begun = if let Entry::Reconfigured { iteration, .. } = entry { *iteration } else { 0 };
        let scope = self.scope(Group::Everyone, begun);
        let mut compiler =
            Compiler::new(&world.platform, &world.stores, world.log.as_mut(), &self.hosts, scope);
        match entry {
            Entry::Start => application.on_init.iter().try_for_each(|stage| compiler.stage(stage))?,
            Entry::Reconfigured { .. } => {
                application.on_reconfiguration.iter().try_for_each(|stage| compiler.stage(stage))?;
                if let (Some(stage), false) = (&application.on_expansion, self.newcomers.is_empty()) {
                    let newcomers = self.scope(Group::Newcomers, begun);
                    compiler.for_newcomers(&self.newcomers, newcomers, stage)?;
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
        compiler.program.steps.extend([Step::Await { level: 1 }, Step::Finish]);
        Ok(compiler.program)
    }

    /// Has the job go on as it is, after a pause.
    pub fn resume(&mut self, world: &mut World) {
        if self.paused.take().is_some() {
            self.release(world, Group::Everyone);
        }
    }

    /// Has the job go on with other hosts, after a pause.
    pub fn reconfigure(&mut self, world: &mut World, hosts: &[u32]) -> Result<(), ExecutionError> {
        let Some((phase, iteration)) = self.paused.take() else { return Ok(()) };
        check(&world.platform, hosts)?;
        let is_new = |host: &u32| !self.hosts.contains(host);
        let newcomer_ranks = (0..hosts.len() as u32).filter(|rank| is_new(&hosts[*rank as usize])).collect();
        self.newcomers = hosts.iter().copied().filter(is_new).collect();
        self.newcomer_ranks = newcomer_ranks;
        self.hosts = hosts.to_vec();
        self.begin(world, &Entry::Reconfigured { phase, iteration })?;
        for (place, &rank) in self.newcomer_ranks.iter().enumerate() {
            self.ranks.all[rank as usize].newcomer = place as u32;
        }
        Ok(())
    }

    /// Iterations of phases that rank 0 has done, and all of them.
    pub fn progress(&self) -> (u64, u64) {
        let (phase, iteration) = self.position;
        let before: u64 = self.iterations.iter().take(phase as usize).sum();
        (before + iteration, self.iterations.iter().sum())
    }

    /// An activity is over: whoever waits for it goes on.
    pub fn landed(&mut self, world: &mut World, purpose: Purpose) {
        match purpose {
            Purpose::Group(group) => self.release(world, group),
            Purpose::Rank { rank, level } => {
                if self.ranks.landed(rank, level) {
                    world.ready.push(self.slot, rank, 1);
                }
            }
        }
    }

    /// Some ranks have waited long enough.
    pub fn wake(&mut self, world: &mut World, first: u32, count: u32) {
        world.ready.push(self.slot, first, count);
    }

    /// All ranks of a group go on.
    fn release(&mut self, world: &mut World, group: Group) {
        match group {
            Group::Everyone => world.ready.push(self.slot, 0, self.hosts.len() as u32),
            Group::Newcomers => {
                self.newcomer_ranks.iter().for_each(|&rank| world.ready.push(self.slot, rank, 1));
            }
        }
    }

    /// A rank comes to where its group meets; whether it is the last.
    fn arrive(&mut self, rank: u32) -> bool {
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

    /// A rank goes on until it has to wait.
    pub fn go(&mut self, world: &mut World, rank: u32) -> Result<(), ExecutionError> {
        loop {
            let state = &mut self.ranks.all[rank as usize];
            let step = self.program.steps[state.next as usize];
            state.next += 1;
            let waits = match step {
                Step::Enter { .. } | Step::Repeat { .. } | Step::Again { .. } | Step::Continue { .. } => {
                    self.ranks.flow(rank, step);
                    false
                }
                Step::Await { level } => self.ranks.await_level(rank, level),
                Step::Between { phase } => self.between(world, rank, phase)?,
                Step::Barrier => {
                    if self.arrive(rank) {
                        self.release(world, self.ranks.all[rank as usize].group);
                    }
                    true
                }
                Step::Compute { amounts } => {
                    self.compute(world, rank, amounts);
                    false
                }
                Step::Exchange { exchange } => {
                    if self.arrive(rank) {
                        self.exchange(world, exchange)?;
                    }
                    true
                }
                Step::Launch { amounts, exchange } => {
                    self.launch(world, rank, amounts, exchange)?;
                    false
                }
                Step::Synchronise => {
                    let until = self.ranks.all[rank as usize].until;
                    self.sleep(world, rank, until)
                }
                Step::Sleep { amounts } => {
                    let seconds = self.amount(rank, amounts);
                    self.sleep(world, rank, world.now + seconds)
                }
                Step::Transfer { transfer, level } => {
                    self.transfer(world, rank, transfer, level)?;
                    false
                }
                Step::Begin { level } => {
                    self.ranks.begin_task(rank, level, world.now);
                    false
                }
                Step::End { level, name } => {
                    self.end_task(world, rank, level, name);
                    false
                }
                Step::Finish => {
                    if self.arrive(rank) {
                        self.position = (self.iterations.len() as u32, 0);
                        self.done = true;
                        world.notices.push_back((self.job, Notice::Done));
                    }
                    true
                }
            };
            if waits {
                return Ok(());
            }
        }
    }

    /// A rank's part of amounts.
    fn amount(&self, rank: u32, amounts: u32) -> f64 {
        self.program.amounts[amounts as usize][self.ranks.member(rank)]
    }

    fn sleep(&mut self, world: &mut World, rank: u32, until: f64) -> bool {
        let waits = until > world.now;
        if waits {
            self.ranks.all[rank as usize].blocked = Blocked::Otherwise;
            world.timers.add(until, self.slot, self.serial, rank);
        }
        waits
    }

    /// A rank is between two iterations; whether it waits.
    fn between(&mut self, world: &mut World, rank: u32, phase: u32) -> Result<bool, ExecutionError> {
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
        if self.ranks.await_level(rank, 1) {
            // The rank comes here again once nothing of it is under way.
            self.ranks.all[rank as usize].next -= 1;
            return Ok(true);
        }
        if self.arrive(rank) {
            self.paused = Some((phase, iteration));
            world.notices.push_back((self.job, notice));
        }
        Ok(true)
    }

    /// Whether the job's size may change before an iteration of a phase, and who asks.
    fn decide(&self, phase: u32, iteration: u64) -> Result<Option<Notice>, ExecutionError> {
        let application = self.elastic.application.as_ref().ok_or(ExecutionError::NoApplication)?;
        let described = &application.phases[phase as usize];
        if let (Some(request), true) = (&described.evolving_request, self.elastic.job_type.is_evolving()) {
            let scope = self.scope(Group::Everyone, iteration);
            let of = || format!("the evolving request of phase {phase}");
            let tasks = request
                .evaluate(&scope)
                .map_err(|error| ExecutionError::Formula { of: of(), error })?
                .trunc();
            let tasks = self.granted(tasks)?;
            return Ok((tasks != self.hosts.len() as u32).then_some(Notice::EvolvingRequest { tasks }));
        }
        let asks = described.scheduling_point && self.elastic.job_type.is_malleable();
        Ok(asks.then_some(Notice::SchedulingPoint))
    }

    /// The number of nodes that a request stands for.
    fn granted(&self, tasks: f64) -> Result<u32, ExecutionError> {
        let (least, most) = (self.elastic.tasks_min, self.elastic.tasks_max);
        let inside = (f64::from(least)..=f64::from(most)).contains(&tasks);
        if !inside && (!self.clips || tasks.is_nan()) {
            return Err(ExecutionError::Request { tasks, least, most });
        }
        Ok(tasks.max(f64::from(least)).min(f64::from(most)) as u32)
    }

    /// A rank starts to compute.
    fn compute(&mut self, world: &mut World, rank: u32, amounts: u32) {
        let flops = self.amount(rank, amounts);
        if flops > 0.0 {
            let host = self.hosts[rank as usize];
            let speed = world.platform.hosts()[host as usize].speed;
            let cpu = world.platform.links().len() as u32 + host;
            let uses = [(cpu, flops)];
            let demand = crate::sharing::Demand {
                amount: 1.0,
                uses: &uses,
                bound: speed / flops,
                ..Default::default()
            };
            self.ranks.start(rank, 0);
            world.start(self.slot, &mut self.flights, Purpose::Rank { rank, level: 0 }, &demand);
        }
    }

    /// The whole group is there: it exchanges messages.
    fn exchange(&mut self, world: &mut World, exchange: u32) -> Result<(), ExecutionError> {
        let group = self.program.exchanges[exchange as usize].group;
        let hosts = if group == Group::Everyone { &self.hosts } else { &self.newcomers };
        let with = Surroundings { platform: &world.platform, stores: &world.stores, hosts };
        let ready = self.program.exchange(exchange, with, &mut world.builder)?;
        match self.program.demands.get(ready.demand) {
            Some(demand) => world.start(self.slot, &mut self.flights, Purpose::Group(group), &demand),
            None => self.release(world, group),
        }
        Ok(())
    }

    /// A rank launches kernels on its GPUs, and transfers between them.
    fn launch(
        &mut self,
        world: &mut World,
        rank: u32,
        amounts: Option<u32>,
        exchange: Option<u32>,
    ) -> Result<(), ExecutionError> {
        let index = self.hosts[rank as usize];
        let mut until = world.now;
        let (gpu_speed, gpu_bandwidth) = {
            let host = &world.platform.hosts()[index as usize];
            (host.gpu_speed, host.gpu_bandwidth)
        };
        let flops = amounts.map_or(0.0, |amounts| self.amount(rank, amounts));
        if flops > 0.0 {
            let seconds = flops / f64::from(self.gpus_per_node) / gpu_speed;
            until = until.max(world.gpus.compute(world.now, index, self.gpus_per_node, seconds));
        }
        if let Some(exchange) = exchange {
            let group = self.ranks.all[rank as usize].group;
            let hosts = if group == Group::Everyone { &self.hosts } else { &self.newcomers };
            let with = Surroundings { platform: &world.platform, stores: &world.stores, hosts };
            let inside = self.program.exchange(exchange, with, &mut world.builder)?.inside;
            if inside > 0.0 {
                until = until.max(world.gpus.transfer(world.now, index, inside / gpu_bandwidth));
            }
        }
        self.ranks.all[rank as usize].until = until;
        Ok(())
    }

    /// A rank starts to read or write.
    fn transfer(
        &mut self,
        world: &mut World,
        rank: u32,
        transfer: u32,
        level: u32,
    ) -> Result<(), ExecutionError> {
        let described = &self.program.transfers[transfer as usize];
        let (group, storage, direction) = (described.group, described.storage, described.direction);
        let bytes = self.amount(rank, described.amounts);
        if bytes <= 0.0 {
            return Ok(());
        }
        let host = self.hosts[rank as usize];
        let hosts = if group == Group::Everyone { &self.hosts } else { &self.newcomers };
        let purpose = Purpose::Rank { rank, level };
        let place = world.stores.place(&world.platform.hosts()[host as usize], storage);
        let (own, striped) = (place == Some(Place::Local), matches!(place, Some(Place::Striped(_))));
        if own {
            self.ranks.start(rank, level);
            world.start_on_disk(self.slot, &mut self.flights, purpose, (host, direction, bytes));
            return Ok(());
        }
        if striped {
            let each = bytes / hosts.len() as f64;
            for &host in hosts {
                self.ranks.start(rank, level);
                world.start_on_disk(self.slot, &mut self.flights, purpose, (host, direction, each));
            }
        }
        let member = self.ranks.member(rank);
        let with = Surroundings { platform: &world.platform, stores: &world.stores, hosts };
        let task = self.program.transfer(transfer, member, with, &mut world.builder);
        let task = task.map_err(|route| ExecutionError::no_route(&world.platform, route))?;
        if let Some(demand) = self.program.demands.get(task) {
            self.ranks.start(rank, level);
            world.start(self.slot, &mut self.flights, purpose, &demand);
        }
        Ok(())
    }

    fn end_task(&mut self, world: &mut World, rank: u32, level: u32, task: u32) {
        let entry = TaskTime {
            job: self.job,
            host: self.hosts[rank as usize],
            task,
            start: self.ranks.begun(rank, level),
            end: world.now,
        };
        world.log.iter_mut().for_each(|log| log.push(entry));
    }
}

/// Makes sure that the hosts of a job are there, each once.
fn check(platform: &Platform, hosts: &[u32]) -> Result<(), ExecutionError> {
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    let twice = sorted.windows(2).any(|pair| pair[0] == pair[1]);
    match sorted.last() {
        Some(last) if !twice && (*last as usize) < platform.hosts().len() => Ok(()),
        _ => Err(ExecutionError::Hosts),
    }
}
