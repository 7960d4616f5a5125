//! The site as schedulers see and change it: the queue in order, the machine, the running jobs by estimated end.
use std::collections::BTreeSet;

use crate::cluster::{Beside, EmptyMachine, Machine, Meter, NodeSetId, Request, Requests, Room};
use crate::ordered_index::{Least, OrderedIndex, Sum};
use crate::time::{Time, ordered_bits};
use crate::workload::jobs::{Job, JobTable, Share, State};

use super::allocate::Placer;
use super::order::{Candidate, Order};

/// The place of a job in the queue: key, submit time, row (S8); and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    key: Time,
    submit_time: Time,
    row: u64,
    /// The job.
    pub job: u32,
}

/// A running job by its estimated end (not yet raised to now).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EstimatedEnd {
    /// start + estimate.
    pub time: Time,
    row: u64,
    /// The job.
    pub job: u32,
}

/// Queued jobs in order; values: one block for each node set, with the estimate as ordered bits and then the least amount
/// of each resource that the job needs in its own set, and `i64::MAX` in all other blocks.
///
/// With a block of its own for each set, a search skips jobs of a full set although others have free nodes.
pub type Queue = OrderedIndex<Rank, Least>;
/// Running jobs by estimated end; values: the amount of each resource they hold in each node set, set-major.
pub type Running = OrderedIndex<EstimatedEnd, Sum>;

/// A job as a plan needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// What each task asks.
    pub request: &'a Request,
    /// How many tasks.
    pub tasks: u32,
    /// The job's row, for allocators that ask.
    pub row: u64,
    /// For how long, seconds.
    pub duration: f64,
}

impl Wish<'_> {
    /// The amount of a resource that it needs at least.
    #[must_use]
    pub fn need(&self, resource: usize) -> i64 {
        self.request.amounts[resource].saturating_mul(i64::from(self.tasks))
    }
}

/// Everything a scheduler works on. Schedulers start jobs here; the simulation then sees to their ends.
#[derive(Clone, Debug)]
pub struct Site {
    /// The present time, seconds.
    pub now: f64,
    /// All jobs.
    pub jobs: JobTable,
    /// What tasks ask.
    pub requests: Requests,
    /// The nodes.
    pub machine: Machine,
    /// What the nodes draw, where somebody wants to know.
    pub meter: Option<Box<Meter>>,
    /// Where jobs go.
    pub placer: Placer,
    /// Who is next.
    pub order: Order,
    /// Who waits.
    pub queue: Queue,
    /// Who runs; kept only for schedulers that ask when running jobs will end.
    pub running: Running,
    /// Jobs submitted since the last pass, by row.
    pub arrived: Vec<u32>,
    /// How often nodes were given back so far: where it stands still, nothing that did not fit fits now.
    pub releases: u64,
    /// Jobs that ended since the last pass.
    pub ended: Vec<u32>,
    /// Jobs started in this pass.
    pub started: Vec<u32>,
    /// Queued jobs that nobody may start, and which are in no order.
    pub on_hold: BTreeSet<u32>,
    core: Option<usize>,
    keeps_running: bool,
    /// For each request, how many tasks the empty machine holds.
    most_tasks: Vec<Option<u64>>,
    ranks: Vec<Rank>,
    values: Vec<i64>,
    shares: Vec<Share>,
}

impl Site {
    /// A site with nobody there. `core` is the resource that counts as processors; `keeps_running` asks for the index
    /// of running jobs.
    #[must_use]
    pub fn new(
        jobs: JobTable,
        requests: Requests,
        machine: Machine,
        placer: Placer,
        order: Order,
        core: Option<usize>,
        keeps_running: bool,
    ) -> Self {
        let (resources, sets) = (machine.resources(), machine.node_sets().count());
        Self {
            now: 0.0,
            jobs,
            requests,
            machine,
            meter: None,
            placer,
            order,
            queue: Queue::new(sets * (resources + 1)),
            running: Running::new(sets * resources),
            arrived: Vec::new(),
            releases: 0,
            ended: Vec::new(),
            started: Vec::new(),
            on_hold: BTreeSet::new(),
            core,
            keeps_running,
            most_tasks: Vec::new(),
            ranks: Vec::new(),
            values: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// What each task of a job asks.
    #[must_use]
    pub fn request(&self, job: u32) -> &Request {
        self.requests.get(self.jobs.job(job).request)
    }

    /// Whether so many tasks of a job fit on its nodes of the empty machine. O(n) for a request seen for the first time, O(1) after that, unless
    /// only consecutive nodes will do.
    pub fn can_ever_fit(&mut self, job: u32, tasks: u32) -> bool {
        let request = self.jobs.job(job).request;
        let index = request as usize;
        let wanted = self.requests.get(request);
        if !self.placer.allocator().is_free_to_spread() {
            let empty = EmptyMachine(&self.machine);
            return self.placer.fits(&empty, wanted, tasks);
        }
        if self.most_tasks.len() <= index {
            self.most_tasks.resize(index + 1, None);
        }
        let machine = &self.machine;
        let most = self.most_tasks[index].get_or_insert_with(|| {
            let empty = EmptyMachine(machine);
            let nodes = machine.node_sets().nodes_from(wanted.nodes, 0);
            nodes.map(|node| u64::from(empty.slots(node, wanted))).sum()
        });
        u64::from(tasks) <= *most
    }

    /// The amount of a resource that a job needs at least.
    #[must_use]
    pub fn need(&self, job: u32, resource: usize) -> i64 {
        self.request(job).amounts[resource].saturating_mul(i64::from(self.jobs.job(job).tasks))
    }

    /// The one resource whose free total in the job's node set decides whether it fits, if there is one.
    #[must_use]
    pub fn counted(&self, job: u32) -> Option<usize> {
        let spread = self.placer.allocator().is_free_to_spread() && !self.machine.withholds();
        if spread { self.requests.counted(self.jobs.job(job).request) } else { None }
    }

    /// A job as a plan needs to know it.
    #[must_use]
    pub fn wish(&self, job: u32) -> Wish<'_> {
        let Job { row, tasks, estimate, .. } = *self.jobs.job(job);
        Wish { request: self.request(job), tasks, row, duration: estimate }
    }

    /// Puts a job into the queue.
    pub fn enqueue(&mut self, job: u32) {
        let rank = self.rank(job);
        if self.ranks.len() <= job as usize {
            self.ranks.resize(job as usize + 1, rank);
        }
        self.ranks[job as usize] = rank;
        self.insert(rank);
        self.jobs.set_state(job, State::Queued);
        self.arrived.push(job);
    }

    /// The place of a queued job.
    #[must_use]
    pub fn rank_of(&self, job: u32) -> Rank {
        self.ranks[job as usize]
    }

    /// Whether some queued job might fit now: false only if none does. O(1).
    #[must_use]
    pub fn may_start_some(&self) -> bool {
        self.queue.summary().is_some_and(|least| self.may_fit(least))
    }

    /// Whether needs (as in the queue's values) are within the free totals of their node set.
    #[must_use]
    pub fn may_fit(&self, values: &[i64]) -> bool {
        self.may_fit_where(values, |_, _| true)
    }

    /// Whether for some node set needs are within its free totals, and the set with its block of values is admitted.
    ///
    /// Both are asked of the same set: one that has free nodes and another that is admitted are not enough.
    #[must_use]
    pub fn may_fit_where(&self, values: &[i64], admits: impl Fn(NodeSetId, &[i64]) -> bool) -> bool {
        let width = self.machine.resources() + 1;
        self.machine.node_sets().ids().any(|set| {
            let own = &values[set.block(width)];
            own[1..].iter().zip(self.machine.total_free_in(set)).all(|(need, free)| need <= free)
                && admits(set, own)
        })
    }

    /// Whether a job's needs are within the free totals of its node set.
    #[must_use]
    pub fn may_fit_job(&self, job: u32) -> bool {
        let free = self.machine.total_free_in(self.request(job).nodes);
        free.iter().enumerate().all(|(resource, &free)| self.need(job, resource) <= free)
    }

    /// The queued jobs, in order. O(q).
    #[must_use]
    pub fn queued(&self) -> Vec<u32> {
        let mut queued = Vec::with_capacity(self.queue.len());
        self.queue.visit(&mut |rank: Rank| {
            queued.push(rank.job);
            true
        });
        queued
    }

    /// Sorts the queue anew, if its order changes with time. O(q log q).
    pub fn reorder(&mut self) {
        if !self.order.is_dynamic() || matches!(self.order, Order::Outside) {
            return;
        }
        let ranks: Vec<Rank> = self.queued().into_iter().map(|job| self.rank(job)).collect();
        self.rank_anew(&ranks);
    }

    /// Sorts the queue by keys that somebody outside has given, one per queued job in the present order.
    pub fn sort_queue_by(&mut self, keys: &[f64]) {
        let mut ranks = Vec::with_capacity(keys.len());
        self.queue.visit(&mut |rank: Rank| {
            ranks.push(Rank { key: Time(keys[ranks.len()] + 0.0), ..rank });
            true
        });
        self.rank_anew(&ranks);
    }

    fn rank_anew(&mut self, ranks: &[Rank]) {
        self.queue.rekey(ranks);
        for rank in ranks {
            self.ranks[rank.job as usize] = *rank;
        }
    }

    /// Sorts jobs into the order of the queue.
    pub fn sort_by_rank(&self, jobs: &mut [u32]) {
        jobs.sort_unstable_by_key(|&job| self.rank_of(job));
    }

    /// The jobs submitted since the last pass, in the order of the queue.
    #[must_use]
    pub fn arrivals_in_order(&self) -> Vec<u32> {
        let mut arrived = self.arrived.clone();
        self.sort_by_rank(&mut arrived);
        arrived
    }

    /// Starts a job now if it fits: the shares it got, in the order they were filled.
    pub fn try_start(&mut self, job: u32) -> bool {
        let mut shares = std::mem::take(&mut self.shares);
        let fits = self.place_now(job, &mut shares);
        if fits {
            self.start(job, &shares);
        }
        self.shares = shares;
        fits
    }

    /// Puts into `shares` where a job would go now; whether it fits.
    pub fn place_now(&self, job: u32, shares: &mut Vec<Share>) -> bool {
        let row = self.jobs.job(job).row;
        let tasks = self.jobs.job(job).tasks;
        self.may_fit_job(job) && self.placer.place(&self.machine, self.request(job), tasks, row, shares)
    }

    /// The same for so many tasks of it, beside those that it has where it runs.
    pub fn place_tasks_now(&self, job: u32, tasks: u32, shares: &mut Vec<Share>) -> bool {
        self.placer.place(&self.beside(job), self.request(job), tasks, self.jobs.job(job).row, shares)
    }

    /// Where there is room for tasks of a job beside those that it has.
    #[must_use]
    pub fn beside(&self, job: u32) -> Beside<'_> {
        let runs = self.jobs.state(job) == State::Running;
        Beside { machine: &self.machine, own: if runs { self.jobs.placement(job) } else { &[] } }
    }

    /// How many tasks of a job, up to `most`, there is room for now, beside those that it has. O(log n) per node with
    /// room, and stops at `most`.
    #[must_use]
    pub fn room(&self, job: u32, most: u32) -> u32 {
        let (request, beside) = (self.request(job), self.beside(job));
        let (mut room, mut from) = (0_u32, 0);
        while room < most
            && let Some(node) = beside.next_with_slots(from, request)
        {
            room = room.saturating_add(beside.slots(node, request));
            from = node + 1;
        }
        room.min(most)
    }

    /// Whether a node is one of those that a job may use.
    #[must_use]
    pub fn may_use(&self, job: u32, node: u32) -> bool {
        self.machine.node_sets().contains(self.request(job).nodes, node)
    }

    /// How many tasks of a job a node admits now.
    #[must_use]
    pub fn slots(&self, node: u32, job: u32) -> u32 {
        self.machine.slots(node, self.request(job))
    }

    /// Starts a job on shares that have room.
    pub fn start(&mut self, job: u32, shares: &[Share]) {
        let at = self.jobs.job(job).request;
        self.machine.take(self.requests.get(at), shares);
        if let Some(meter) = &mut self.meter {
            meter.started(&self.machine, job, shares, self.now);
        }
        self.placer.started(shares);
        self.jobs.start(job, self.now, shares);
        self.queue.remove(&self.ranks[job as usize]);
        self.started.push(job);
        if self.keeps_running {
            self.list_running(job);
        }
    }

    fn list_running(&mut self, job: u32) {
        let mut values = std::mem::take(&mut self.values);
        self.held_in_sets(job, &mut values);
        self.running.insert(self.estimated_end(job), &values);
        self.values = values;
    }

    /// Puts into `amounts` what a placed job holds of each resource in each node set, set-major.
    fn held_in_sets(&self, job: u32, amounts: &mut Vec<i64>) {
        self.held(job, amounts);
        let (resources, sets) = (self.machine.resources(), self.machine.node_sets());
        amounts.resize(sets.count() * resources, 0);
        let request = self.request(job);
        for &share in self.jobs.placement(job) {
            for set in sets.others_of(share.node) {
                for (resource, amount) in amounts[set.block(resources)].iter_mut().enumerate() {
                    *amount += self.machine.held(request, share, resource);
                }
            }
        }
    }

    /// Takes a job out of the queue.
    pub fn leave_queue(&mut self, job: u32) {
        if !self.on_hold.remove(&job) {
            self.queue.remove(&self.ranks[job as usize]);
            self.arrived.retain(|&arrived| arrived != job);
        }
    }

    /// From now on it is known who runs.
    pub fn keep_running(&mut self) {
        if !self.keeps_running {
            self.keeps_running = true;
            for job in 0..self.jobs.len() as u32 {
                if self.jobs.state(job) == State::Running {
                    self.list_running(job);
                }
            }
        }
    }

    /// Whether it is known who runs.
    #[must_use]
    pub fn keeps_running(&self) -> bool {
        self.keeps_running
    }

    /// Sets what schedulers take a job's run_time to be.
    pub fn set_estimate(&mut self, job: u32, estimate: f64) {
        let listed = self.keeps_running && self.jobs.state(job) == State::Running;
        if listed {
            self.running.remove(&self.estimated_end(job));
        }
        self.jobs.set_estimate(job, estimate);
        if listed {
            self.list_running(job);
        }
    }

    /// Sets what schedulers take a queued job's run_time to be; keys that somebody outside gave stay.
    pub fn estimate_queued(&mut self, job: u32, estimate: f64) {
        let old = self.rank_of(job);
        self.queue.remove(&old);
        self.jobs.set_estimate(job, estimate);
        let rank = if matches!(self.order, Order::Outside) { old } else { self.rank(job) };
        self.ranks[job as usize] = rank;
        self.insert(rank);
    }

    /// Gives back the nodes of a running job.
    pub fn give_back(&mut self, job: u32) {
        let request = self.requests.get(self.jobs.job(job).request);
        let shares = self.jobs.placement(job);
        if let Some(meter) = &mut self.meter {
            meter.ends(&self.machine, request, job, shares, self.jobs.since(job), self.now);
        }
        self.machine.give_back(request, shares);
        if let Some(meter) = &mut self.meter {
            for share in shares {
                meter.changed(&self.machine, share.node, self.now);
            }
        }
        self.releases += 1;
        if self.keeps_running {
            let end = self.estimated_end(job);
            self.running.remove(&end);
        }
    }

    /// Gives a running job these shares in place of those that it has; false, and nothing done, where there is no room.
    pub fn reshape(&mut self, job: u32, shares: &[Share]) -> bool {
        let request = self.requests.get(self.jobs.job(job).request);
        let old = self.jobs.placement(job).to_vec();
        let has = |node| self.beside(job).tasks_on(node);
        // It may stay where it is, closed or not: room is asked for where it gets more.
        let more: Vec<Share> = shares.iter().copied().filter(|share| share.tasks > has(share.node)).collect();
        // What it gives up itself is room for it.
        self.machine.give_back(request, &old);
        let fits = self.machine.has_room(request, &more);
        self.machine.take(request, &old);
        if !fits {
            return false;
        }
        self.give_back(job);
        let request = self.requests.get(self.jobs.job(job).request);
        self.machine.take(request, shares);
        if let Some(meter) = &mut self.meter {
            meter.started(&self.machine, job, shares, self.now);
        }
        self.jobs.reshape(job, self.now, shares);
        if self.keeps_running {
            self.list_running(job);
        }
        true
    }

    /// Lets a node take nobody more, or takes that back. Who is there stays.
    pub fn set_closed(&mut self, node: u32, closed: bool) {
        self.machine.set_closed(node, closed);
        if let Some(meter) = &mut self.meter {
            meter.changed(&self.machine, node, self.now);
        }
    }

    /// Joules of all runs of a job so far; 0 where nobody measures.
    #[must_use]
    pub fn energy_of(&self, job: u32) -> f64 {
        let Some(meter) = &self.meter else { return 0.0 };
        let over = meter.energy_of_job(job);
        if !meter.runs(job) {
            return over;
        }
        let (shares, start) = (self.jobs.placement(job), self.jobs.since(job));
        over + meter.energy_of_run(&self.machine, self.request(job), job, shares, start, self.now)
    }

    /// Puts into `amounts` what a placed job holds of each resource.
    pub fn held(&self, job: u32, amounts: &mut Vec<i64>) {
        let request = self.request(job);
        amounts.clear();
        amounts.resize(self.machine.resources(), 0);
        for &share in self.jobs.placement(job) {
            for (resource, amount) in amounts.iter_mut().enumerate() {
                *amount += self.machine.held(request, share, resource);
            }
        }
    }

    /// When a running job is thought to end, not raised to now.
    #[must_use]
    pub fn estimated_end(&self, job: u32) -> EstimatedEnd {
        let start = self.jobs.start_time(job);
        let job_row = self.jobs.job(job);
        EstimatedEnd { time: Time(start + job_row.estimate), row: job_row.row, job }
    }

    fn rank(&self, job: u32) -> Rank {
        let row = self.jobs.job(job);
        let processors = match self.core {
            Some(core) => self.need(job, core) as f64,
            None => f64::from(row.tasks),
        };
        if matches!(self.order, Order::Outside) {
            return Rank { key: Time(0.0), submit_time: Time(row.submit_time), row: row.row, job };
        }
        let candidate = Candidate { job: row, processors, now: self.now };
        let key = self.order.key(&candidate, |column| self.jobs.column(column, job));
        Rank { key: Time(key), submit_time: Time(row.submit_time), row: row.row, job }
    }

    fn insert(&mut self, rank: Rank) {
        let mut values = std::mem::take(&mut self.values);
        let width = self.machine.resources() + 1;
        values.clear();
        values.resize(self.machine.node_sets().count() * width, i64::MAX);
        let own = &mut values[self.request(rank.job).nodes.block(width)];
        own[0] = ordered_bits(self.jobs.job(rank.job).estimate);
        for (resource, need) in own[1..].iter_mut().enumerate() {
            *need = self.need(rank.job, resource);
        }
        self.queue.insert(rank, &values);
        self.values = values;
    }
}
