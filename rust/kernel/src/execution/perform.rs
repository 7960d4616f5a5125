//! Execution of the steps of a program, for one rank at a time.
use super::error::ExecutionError;
use super::log::TaskTime;
use super::program::{Group, Step, Surroundings, Transfer};
use super::rank::Blocked;
use super::run::Run;
use super::storage::Place;
use super::world::{Purpose, World};
use crate::application::Storage;
use crate::time::FineTime;

impl Run {
    /// Runs a rank until it has to wait, or `steps` are used up; returns whether it waits.
    pub fn go(&mut self, world: &mut World, rank: u32, steps: &mut u32) -> Result<bool, ExecutionError> {
        let before = *steps;
        let mut waits = false;
        while !waits && *steps > 0 {
            *steps -= 1;
            let state = &mut self.ranks.all[rank as usize];
            let step = self.program.steps[state.next as usize];
            state.next += 1;
            waits = self.perform(world, rank, step)?;
        }
        self.count_steps(world.now, before - *steps)?;
        Ok(waits)
    }

    /// Executes a step of a rank; returns whether the rank has to wait.
    fn perform(&mut self, world: &mut World, rank: u32, step: Step) -> Result<bool, ExecutionError> {
        match step {
            Step::Await { level } => return Ok(self.ranks.await_level(rank, level)),
            Step::Between { phase } => return self.between(world, rank, phase),
            Step::Barrier => return Ok(self.barrier(world, rank)),
            Step::Messages { part } => return self.pass_messages(world, rank, part),
            Step::Rounds { part } => return self.pass_rounds(world, rank, part),
            Step::Exchange { exchange } => return self.exchange(world, rank, exchange),
            Step::Synchronise => return Ok(self.sleep(world, rank, self.ranks.all[rank as usize].until)),
            Step::Sleep { amounts } => {
                let until = world.now.after(self.amount(rank, amounts));
                return Ok(self.sleep(world, rank, until));
            }
            Step::Finish => return Ok(self.finish(world, rank)),
            Step::Compute { amounts } => self.compute(world, rank, amounts),
            Step::Launch { amounts, exchange } => self.launch(world, rank, amounts, exchange)?,
            Step::Transfer { transfer, level } => self.transfer(world, rank, transfer, level)?,
            Step::Begin { level } => self.ranks.begin_task(rank, level, world.now),
            Step::End { level, name } => self.end_task(world, rank, level, name),
            Step::Enter { .. } | Step::Repeat { .. } | Step::Again { .. } | Step::Continue { .. } => {
                self.ranks.flow(rank, step);
            }
        }
        Ok(false)
    }

    /// Makes a rank wait for its group.
    fn barrier(&mut self, world: &mut World, rank: u32) -> bool {
        if self.arrive(rank) {
            self.release(world, self.ranks.all[rank as usize].group);
        }
        true
    }

    /// Ends the application when all ranks have arrived.
    fn finish(&mut self, world: &mut World, rank: u32) -> bool {
        if self.arrive(rank) {
            self.position = (self.iterations.len() as u32, 0);
            self.done = true;
            let seconds = world.now.since(self.begun);
            world.finish(self.job, seconds, self.start.end_after(seconds));
        }
        true
    }

    /// The amount of a rank.
    pub fn amount(&self, rank: u32, amounts: u32) -> f64 {
        self.program.amounts[amounts as usize][self.ranks.member(rank)]
    }

    pub fn sleep(&mut self, world: &mut World, rank: u32, until: FineTime) -> bool {
        let waits = until > world.now;
        if waits {
            self.ranks.all[rank as usize].blocked = Blocked::Otherwise;
            world.timers.add(until, self.slot, self.serial, rank);
        }
        waits
    }

    /// Starts a computation of a rank.
    fn compute(&mut self, world: &mut World, rank: u32, amounts: u32) {
        let flops = self.amount(rank, amounts);
        if flops > 0.0 {
            self.compute_flops(world, rank, flops);
        }
    }

    /// Starts a computation of a number of operations on a rank.
    pub fn compute_flops(&mut self, world: &mut World, rank: u32, flops: f64) {
        self.ranks.start(rank, 0);
        let host = self.hosts[rank as usize];
        world.compute(self.slot, &mut self.pending, Purpose::Rank { rank, level: 0 }, (host, flops));
    }

    /// Makes a rank wait for its group, which exchanges messages when all ranks have arrived.
    fn exchange(&mut self, world: &mut World, rank: u32, exchange: u32) -> Result<bool, ExecutionError> {
        if !self.arrive(rank) {
            return Ok(true);
        }
        let group = self.program.exchanges[exchange as usize].group;
        let hosts = members(&self.hosts, &self.added_hosts, group);
        let World { platform, stores, network, builder, .. } = &mut *world;
        let with = Surroundings { platform, stores, network, hosts };
        let ready = self.program.exchange(exchange, with, builder)?;
        match self.program.demands.get(ready.demand) {
            Some(demand) => world.start(self.slot, &mut self.pending, Purpose::Group(group), &demand),
            None => self.release(world, group),
        }
        Ok(true)
    }

    /// Launches kernels on the GPUs of a rank, and transfers between them.
    fn launch(
        &mut self,
        world: &mut World,
        rank: u32,
        amounts: Option<u32>,
        exchange: Option<u32>,
    ) -> Result<(), ExecutionError> {
        let index = self.hosts[rank as usize];
        let mut until = world.now;
        let flops = amounts.map_or(0.0, |amounts| self.amount(rank, amounts));
        if flops > 0.0 {
            let seconds = flops / f64::from(self.gpus_per_node) / world.host(index).gpu_speed;
            until = world.gpus.compute(world.now, index, self.gpus_per_node, seconds);
        }
        if let Some(exchange) = exchange {
            let hosts = members(&self.hosts, &self.added_hosts, self.ranks.all[rank as usize].group);
            let World { platform, stores, network, builder, .. } = &mut *world;
            let with = Surroundings { platform, stores, network, hosts };
            let inside = self.program.exchange(exchange, with, builder)?.inside;
            if inside > 0.0 {
                let seconds = inside / world.host(index).gpu_bandwidth;
                until = until.max(world.gpus.transfer(world.now, index, seconds));
            }
        }
        self.ranks.all[rank as usize].until = until;
        world.expect_gpus(index);
        Ok(())
    }

    /// Starts a read or write of a rank.
    fn transfer(
        &mut self,
        world: &mut World,
        rank: u32,
        transfer: u32,
        level: u32,
    ) -> Result<(), ExecutionError> {
        let Transfer { group, storage, direction, amounts, .. } = self.program.transfers[transfer as usize];
        let bytes = self.amount(rank, amounts);
        if bytes <= 0.0 {
            return Ok(());
        }
        if storage == Storage::Cache && self.through_cache(world, rank, transfer, level)? {
            return Ok(());
        }
        let host = self.hosts[rank as usize];
        let purpose = Purpose::Rank { rank, level };
        let own = [host];
        let on_disks = match world.stores.place(world.host(host), storage) {
            Some(Place::Local) => &own[..],
            Some(Place::Striped(_)) => members(&self.hosts, &self.added_hosts, group),
            Some(Place::Remote(_)) | None => &[],
        };
        for &disk in on_disks {
            self.ranks.start(rank, level);
            let bytes = bytes / on_disks.len() as f64;
            world.start_on_disk(self.slot, &mut self.pending, purpose, (disk, direction, bytes));
        }
        let task = self.transfer_demand(world, rank, transfer)?;
        if let Some(demand) = self.program.demands.get(task) {
            self.ranks.start(rank, level);
            world.start(self.slot, &mut self.pending, purpose, &demand);
        }
        Ok(())
    }

    /// The parallel task of a rank that reads or writes.
    pub fn transfer_demand(
        &mut self,
        world: &mut World,
        rank: u32,
        transfer: u32,
    ) -> Result<u32, ExecutionError> {
        let group = self.program.transfers[transfer as usize].group;
        let hosts = members(&self.hosts, &self.added_hosts, group);
        let World { platform, stores, network, builder, .. } = &mut *world;
        let with = Surroundings { platform, stores, network, hosts };
        let task = self.program.transfer(transfer, self.ranks.member(rank), with, builder);
        task.map_err(|route| ExecutionError::no_route(&world.platform, route))
    }

    /// Ends a task of a rank.
    fn end_task(&mut self, world: &mut World, rank: u32, level: u32, task: u32) {
        let entry = TaskTime {
            job: self.job,
            host: self.hosts[rank as usize],
            rank,
            task,
            start: self.ranks.begun(rank, level).rounded(),
            end: world.now.rounded(),
        };
        world.log.iter_mut().for_each(|log| log.push(entry));
    }
}

/// The hosts of a group, given those of all ranks and of the added ranks.
fn members<'a>(all: &'a [u32], added: &'a [u32], group: Group) -> &'a [u32] {
    match group {
        Group::Everyone => all,
        Group::Added => added,
    }
}
