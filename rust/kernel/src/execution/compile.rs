//! Compiles an application to a program: formulas become numbers, tasks become steps.
use std::sync::Arc;

use crate::application::{
    Direction, Formula, MessageProgram, ModelError, Payload, Phase, RoundProgram, Scope, Stage, Storage,
    Task, Traffic, Work,
};
use crate::platform::{Host, Platform};

use super::error::ExecutionError;
use super::log::TaskLog;
use super::message_passing::MessagePassing;
use super::program::{Exchange, Group, Program, Step, Transfer};
use super::round_passing::Rounds;
use super::storage::{Place, Stores};

/// Compiles a program, group by group.
pub struct Compiler<'a> {
    pub platform: &'a Platform,
    pub stores: &'a Stores,
    /// The log, if the times of tasks are wanted.
    pub log: Option<&'a mut TaskLog>,
    pub program: Program,
    /// The current group, its hosts, and the scope of its formulas.
    pub group: Group,
    pub hosts: &'a [u32],
    pub scope: Scope<'a>,
    depth: u32,
    level: u32,
    /// True if any task writes or reads through caches.
    caches: bool,
}

impl<'a> Compiler<'a> {
    pub fn new(
        platform: &'a Platform,
        stores: &'a Stores,
        log: Option<&'a mut TaskLog>,
        hosts: &'a [u32],
        scope: Scope<'a>,
    ) -> Self {
        let mut program = Program::default();
        (program.depths, program.levels) = (1, 2);
        Self {
            platform,
            stores,
            log,
            program,
            group: Group::Everyone,
            hosts,
            scope,
            depth: 0,
            level: 1,
            caches: false,
        }
    }

    /// Ends the program; the job is done after all cached data has migrated.
    pub fn finish(mut self) -> Program {
        if self.caches {
            let level = self.program.levels;
            self.program.levels += 1;
            self.program.migrations = Some(level);
            self.program.steps.push(Step::Await { level });
        }
        self.program.steps.push(Step::Finish);
        self.program
    }

    /// The index of the next step.
    pub fn here(&self) -> u32 {
        self.program.steps.len() as u32
    }

    /// Compiles a stage for all ranks. It ends with a barrier, with no activity in progress.
    pub fn stage(&mut self, stage: &Stage) -> Result<(), ExecutionError> {
        self.once(stage)?;
        self.program.steps.push(Step::Barrier);
        Ok(())
    }

    /// Compiles a stage for the ranks of a group. Each rank ends it with no activity in progress.
    fn once(&mut self, stage: &Stage) -> Result<(), ExecutionError> {
        let times = count(&stage.iterations, &self.scope, "the iterations of a stage")?;
        self.looped(times, |this| this.tasks(&stage.tasks))?;
        self.program.steps.push(Step::Await { level: self.level });
        Ok(())
    }

    /// Compiles a stage for the ranks added by the last reconfiguration.
    pub fn for_added_ranks(
        &mut self,
        hosts: &'a [u32],
        scope: Scope<'a>,
        stage: &Stage,
    ) -> Result<(), ExecutionError> {
        let begin = self.here();
        self.program.steps.push(Step::Enter { group: Group::Added, others: 0 });
        let everyone = (self.group, self.hosts, self.scope);
        (self.group, self.hosts, self.scope) = (Group::Added, hosts, scope);
        self.once(stage)?;
        (self.group, self.hosts, self.scope) = everyone;
        self.program.steps[begin as usize] = Step::Enter { group: Group::Added, others: self.here() };
        self.program.steps.push(Step::Enter { group: Group::Everyone, others: 0 });
        Ok(())
    }

    /// Compiles a phase; returns the index of the first step of its iterations.
    pub fn phase(&mut self, index: u32, times: u64, phase: &Phase) -> Result<u32, ExecutionError> {
        let begin = self.here();
        self.program.steps.push(Step::Repeat { depth: 0, times, after: 0 });
        self.depth = 1;
        self.program.depths = self.program.depths.max(2);
        let place = self.program.steps.len();
        self.program.steps.push(Step::Between { phase: index });
        if phase.barrier {
            self.await_and_barrier();
        }
        self.tasks(&phase.tasks)?;
        self.depth = 0;
        self.program.steps.push(Step::Again { depth: 0, times, back: begin + 1 });
        self.program.steps[begin as usize] = Step::Repeat { depth: 0, times, after: self.here() };
        Ok(place as u32)
    }

    /// Compiles the wait of ranks for their asynchronous activities, and for each other.
    pub fn await_and_barrier(&mut self) {
        self.program.steps.extend([Step::Await { level: self.level }, Step::Barrier]);
    }

    /// Compiles a loop.
    pub fn looped(
        &mut self,
        times: u64,
        body: impl FnOnce(&mut Self) -> Result<(), ExecutionError>,
    ) -> Result<(), ExecutionError> {
        if times == 1 {
            return body(self);
        }
        let depth = self.depth;
        let begin = self.here();
        self.program.steps.push(Step::Repeat { depth, times, after: 0 });
        self.depth += 1;
        self.program.depths = self.program.depths.max(self.depth + 1);
        body(self)?;
        self.depth = depth;
        self.program.steps.push(Step::Again { depth, times, back: begin + 1 });
        self.program.steps[begin as usize] = Step::Repeat { depth, times, after: self.here() };
        Ok(())
    }

    /// Compiles tasks, one after the other.
    pub fn tasks(&mut self, tasks: &[Task]) -> Result<(), ExecutionError> {
        tasks.iter().try_for_each(|task| self.task(task))
    }

    fn task(&mut self, task: &Task) -> Result<(), ExecutionError> {
        let times = count(&task.iterations, &self.scope, &format!("the iterations of task '{}'", task.name))?;
        let name = self.log.as_mut().map(|log| log.name(&task.name));
        let level = self.level;
        self.program.steps.extend(name.map(|_| Step::Begin { level }));
        self.looped(times, |this| {
            if task.synchronized {
                this.program.steps.push(Step::Barrier);
            }
            this.work(task)
        })?;
        self.program.steps.extend(name.map(|name| Step::End { level, name }));
        Ok(())
    }

    fn work(&mut self, task: &Task) -> Result<(), ExecutionError> {
        match &task.work {
            Work::Compute { flops, bytes, coupled } => {
                self.compute(task, flops.as_ref(), bytes.as_ref(), *coupled)
            }
            Work::Gpu { flops, bytes } => self.gpu(task, flops.as_ref(), bytes.as_ref()),
            Work::Transfer { storage, direction, bytes, asynchronous } => {
                self.transfer(task, *storage, *direction, bytes, *asynchronous)
            }
            Work::Idle { seconds } => {
                let amounts = self.amounts(task, seconds)?;
                self.program.steps.push(Step::Sleep { amounts });
                Ok(())
            }
            Work::BusyWait { seconds } => self.busy_wait(task, seconds),
            Work::Messages(program) => self.messages(task, program),
            Work::Rounds(program) => self.rounds(task, program),
            Work::Sequence { tasks } => self.sequence(tasks),
        }
    }

    fn compute(
        &mut self,
        task: &Task,
        flops: Option<&Payload>,
        bytes: Option<&Traffic>,
        coupled: bool,
    ) -> Result<(), ExecutionError> {
        let flops = flops.map(|flops| self.amounts(task, flops)).transpose()?;
        if let Some(amounts) = flops {
            self.require_amounts(task, amounts, |host| host.speed > 0.0, "has no speed to compute with.")?;
        }
        let Some(bytes) = bytes else {
            if let Some(amounts) = flops {
                self.program.steps.extend([Step::Compute { amounts }, Step::Await { level: 0 }]);
            }
            return Ok(());
        };
        let together = if coupled { flops } else { None };
        let exchange = self.exchange(task, bytes, 0, together)?;
        match flops {
            Some(amounts) if !coupled => {
                self.program.steps.push(Step::Compute { amounts });
                self.program.steps.extend([Step::Exchange { exchange }, Step::Await { level: 0 }]);
            }
            _ => self.program.steps.push(Step::Exchange { exchange }),
        }
        Ok(())
    }

    /// All ranks begin a message program together, so that its messages are in their initial state in each iteration.
    fn messages(&mut self, task: &Task, program: &Arc<MessageProgram>) -> Result<(), ExecutionError> {
        self.require_ranks(task, program.ranks(), program.computes())?;
        let part = self.program.messages.len() as u32;
        self.program.messages.push(MessagePassing::new(Arc::clone(program), self.log.is_some()));
        self.program.steps.extend([Step::Barrier, Step::Messages { part }]);
        Ok(())
    }

    fn rounds(&mut self, task: &Task, program: &Arc<RoundProgram>) -> Result<(), ExecutionError> {
        self.require_ranks(task, program.ranks(), program.computes())?;
        let part = self.program.rounds.len() as u32;
        self.program.rounds.push(Rounds::new(Arc::clone(program)));
        self.program.steps.push(Step::Rounds { part });
        Ok(())
    }

    /// Checks that a message program has as many ranks as the job, and that these can compute if the program computes.
    fn require_ranks(&self, task: &Task, ranks: u32, computes: bool) -> Result<(), ExecutionError> {
        let (given, needed) = (ranks as usize, self.hosts.len());
        if given != needed {
            return Err(ExecutionError::Ranks { task: task.name.clone(), given, needed });
        }
        if computes {
            self.require(task, |host| host.speed > 0.0, "has no speed to compute with.")?;
        }
        Ok(())
    }

    fn busy_wait(&mut self, task: &Task, seconds: &Payload) -> Result<(), ExecutionError> {
        let amounts = self.amounts(task, seconds)?;
        self.require_amounts(task, amounts, |host| host.speed > 0.0, "has no speed to compute with.")?;
        for (amount, &host) in self.program.amounts[amounts as usize].iter_mut().zip(self.hosts) {
            *amount *= self.platform.hosts()[host as usize].speed;
        }
        self.program.steps.extend([Step::Compute { amounts }, Step::Await { level: 0 }]);
        Ok(())
    }

    fn gpu(
        &mut self,
        task: &Task,
        flops: Option<&Payload>,
        bytes: Option<&Traffic>,
    ) -> Result<(), ExecutionError> {
        let gpus = self.scope.gpus_per_node;
        self.require(
            task,
            |host| gpus > 0 && host.gpus >= gpus,
            "has too few GPUs, or the job asks for none.",
        )?;
        let amounts = flops.map(|flops| self.amounts(task, flops)).transpose()?;
        if amounts.is_some() {
            self.require(task, |host| host.gpu_speed > 0.0, "has GPUs without a speed.")?;
        }
        let exchange = bytes.map(|bytes| self.exchange(task, bytes, gpus, None)).transpose()?;
        if exchange.is_some() && gpus > 1 {
            self.require(task, |host| host.gpu_bandwidth > 0.0, "has no bandwidth between its GPUs.")?;
        }
        self.program.steps.push(Step::Launch { amounts, exchange });
        self.program.steps.extend(exchange.map(|exchange| Step::Exchange { exchange }));
        self.program.steps.push(Step::Synchronise);
        Ok(())
    }

    fn transfer(
        &mut self,
        task: &Task,
        storage: Storage,
        direction: Direction,
        bytes: &Payload,
        asynchronous: bool,
    ) -> Result<(), ExecutionError> {
        self.require_storage(task, storage)?;
        let amounts = self.amounts(task, bytes)?;
        self.caches |= storage == Storage::Cache;
        self.program.transfers.push(Transfer::new(self.group, storage, direction, amounts));
        let transfer = self.program.transfers.len() as u32 - 1;
        let level = if asynchronous { self.level } else { 0 };
        self.program.steps.push(Step::Transfer { transfer, level });
        self.program.steps.extend((!asynchronous).then_some(Step::Await { level }));
        Ok(())
    }

    /// Checks that all hosts have a place for data; if it is striped, all need a disk.
    fn require_storage(&self, task: &Task, storage: Storage) -> Result<(), ExecutionError> {
        let lack = match storage {
            Storage::ParallelFileSystem | Storage::Cache => {
                "reaches no parallel file system; give the platform a storage host."
            }
            Storage::BurstBuffer => "has no burst buffer; give it a disk, or the platform a burst buffer.",
        };
        self.require(task, |host| self.stores.place(host, storage).is_some(), lack)?;
        let works = |host: &Host| host.disk.is_some_and(|disk| disk.read > 0.0 && disk.write > 0.0);
        if storage == Storage::Cache {
            self.require(task, works, "has no burst buffer of its own to cache with; give it a disk.")?;
            let alone = |host: &Host| host.striping.is_none();
            return self.require(
                task,
                alone,
                "has a striped burst buffer, which is no cache; leave striping out.",
            );
        }
        let is_remote = |host: &Host| matches!(self.stores.place(host, storage), Some(Place::Remote(_)));
        self.require(task, |host| is_remote(host) || works(host), "has a disk without a bandwidth.")?;
        let computes = |host: &Host| host.speed > 0.0 || host.striping.unwrap_or(0.0) <= 0.0;
        self.require(task, |host| is_remote(host) || computes(host), "has no speed to stripe data with.")?;
        let mut hosts = self.hosts.iter().map(|host| &self.platform.hosts()[*host as usize]);
        if !hosts.any(|host| matches!(self.stores.place(host, storage), Some(Place::Striped(_)))) {
            return Ok(());
        }
        self.require(task, works, "has no disk, but the data of other nodes of the job is striped over all.")
    }

    /// At the end of each iteration, a sequence waits for the activities that it has started.
    fn sequence(&mut self, tasks: &[Task]) -> Result<(), ExecutionError> {
        self.level += 1;
        self.program.levels = self.program.levels.max(self.level + 1);
        self.tasks(tasks)?;
        self.program.steps.push(Step::Await { level: self.level });
        self.level -= 1;
        Ok(())
    }

    fn amounts(&mut self, task: &Task, payload: &Payload) -> Result<u32, ExecutionError> {
        let amounts = payload.of_ranks(self.hosts.len() as u32, &self.scope);
        self.program.amounts.push(amounts.map_err(|error| model(task, error))?);
        Ok(self.program.amounts.len() as u32 - 1)
    }

    fn exchange(
        &mut self,
        task: &Task,
        traffic: &Traffic,
        gpus: u32,
        flops: Option<u32>,
    ) -> Result<u32, ExecutionError> {
        let total =
            traffic.total(self.hosts.len() as u32, gpus, &self.scope).map_err(|error| model(task, error))?;
        self.program.exchanges.push(Exchange::new(self.group, total, traffic.pattern.clone(), gpus, flops));
        Ok(self.program.exchanges.len() as u32 - 1)
    }

    /// Checks that all hosts satisfy the requirement of a task.
    fn require(
        &self,
        task: &Task,
        has: impl Fn(&Host) -> bool,
        what: &'static str,
    ) -> Result<(), ExecutionError> {
        let mut hosts = self.hosts.iter().map(|host| &self.platform.hosts()[*host as usize]);
        hosts.find(|host| !has(host)).map_or(Ok(()), |host| {
            Err(ExecutionError::Lacks { task: task.name.clone(), host: host.name.clone(), what })
        })
    }

    /// Checks the requirement for the hosts of ranks with a positive amount only.
    fn require_amounts(
        &self,
        task: &Task,
        amounts: u32,
        has: impl Fn(&Host) -> bool,
        what: &'static str,
    ) -> Result<(), ExecutionError> {
        let amounts = self.program.amounts[amounts as usize].iter();
        let mut hosts = amounts.zip(self.hosts).filter(|(amount, _)| **amount > 0.0);
        let lacking = hosts.find(|(_, host)| !has(&self.platform.hosts()[**host as usize]));
        lacking.map_or(Ok(()), |(_, host)| {
            let host = self.platform.hosts()[*host as usize].name.clone();
            Err(ExecutionError::Lacks { task: task.name.clone(), host, what })
        })
    }
}

/// The number of repetitions given by a formula.
pub fn count(formula: &Formula, scope: &Scope, of: &str) -> Result<u64, ExecutionError> {
    formula.count(scope).map_err(|error| ExecutionError::Formula { of: of.to_owned(), error })
}

fn model(task: &Task, error: ModelError) -> ExecutionError {
    ExecutionError::Model { task: task.name.clone(), error }
}
