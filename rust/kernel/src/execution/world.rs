//! State shared by all runs: the activities, disks, GPUs and timers, and the ready ranks.
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::application::Direction;
use crate::platform::{Host, Platform};
use crate::sharing::{
    Activities, BundleBuilder, BundleSum, Demand, DemandBuilder, Network, cores, resources,
};
use crate::time::FineTime;

use super::cache::Buffers;
use super::gpu::Gpus;
use super::log::TaskLog;
use super::message_counts::MessageCounts;
use super::notice::Notice;
use super::program::Group;
use super::storage::{Disks, Stores};
use super::timer::Timers;

/// The purpose of an activity.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Purpose {
    /// A rank waits for it now or later, at a level (see `Step`).
    Rank { rank: u32, level: u32 },
    /// A group of ranks waits for it.
    Group(Group),
    /// A message of one of the program's message programs.
    Message { part: u32, message: u32 },
    /// A rank waits for it; then its data migrates to the file system.
    Cached { rank: u32, level: u32, write: u32 },
    /// A part of such a migration.
    Migration { rank: u32, write: u32 },
}

/// An activity in progress.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PendingActivity {
    /// The index of its run.
    pub slot: u32,
    pub purpose: Purpose,
    handle: u32,
    on_disk: bool,
    /// Its index in the run's list of pending activities.
    pub place: u32,
}

/// Activities by tag; tags are indices in a list and are reused: O(1).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PendingActivities {
    all: Vec<PendingActivity>,
    free: Vec<u32>,
}

impl PendingActivities {
    fn add(&mut self, activity: PendingActivity) -> u32 {
        if let Some(tag) = self.free.pop() {
            self.all[tag as usize] = activity;
            return tag;
        }
        self.all.push(activity);
        self.all.len() as u32 - 1
    }

    /// Removes an activity that has ended, also from the list of its run.
    pub fn take(&mut self, tag: u32, of_run: &mut Vec<u32>) {
        let place = self.all[tag as usize].place;
        of_run.swap_remove(place as usize);
        if let Some(&moved) = of_run.get(place as usize) {
            self.all[moved as usize].place = place;
        }
        self.free.push(tag);
    }

    pub fn get(&self, tag: u32) -> PendingActivity {
        self.all[tag as usize]
    }
}

/// Ranks that can continue, first come, first served; adjacent ranks share one entry.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ready {
    queue: VecDeque<(u32, u32, u32)>,
}

impl Ready {
    pub fn push(&mut self, slot: u32, first: u32, count: u32) {
        if let Some((of, from, so_many)) = self.queue.back_mut()
            && *of == slot
            && *from + *so_many == first
        {
            *so_many += count;
        } else {
            self.queue.push_back((slot, first, count));
        }
    }

    /// Removes and returns the first entry: the run's index, the first rank, and the number of ranks.
    pub fn pop(&mut self) -> Option<(u32, u32, u32)> {
        self.queue.pop_front()
    }

    /// Puts back removed ranks that have not run.
    pub fn put_back(&mut self, slot: u32, first: u32, count: u32) {
        self.queue.push_front((slot, first, count));
    }

    pub fn forget(&mut self, slot: u32) {
        self.queue.retain(|entry| entry.0 != slot);
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// State shared by all runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct World {
    /// Part of the input, and not of a snapshot.
    #[serde(skip)]
    pub platform: Arc<Platform>,
    #[serde(skip)]
    pub stores: Arc<Stores>,
    /// The model by which activities share links and cores.
    pub network: Network,
    pub activities: Activities,
    pub disks: Disks,
    /// The data cached on the disks.
    pub buffers: Buffers,
    /// Migrations that begin at this instant: the run's index, the rank, and the write.
    pub migrations: Vec<(u32, u32, u32)>,
    pub gpus: Gpus,
    pub timers: Timers,
    pub pending: PendingActivities,
    pub ready: Ready,
    pub notices: VecDeque<(u32, Notice)>,
    /// Jobs with ended applications that end at a later float64 time, by that time.
    ending: VecDeque<(f64, u32, Notice)>,
    pub log: Option<TaskLog>,
    pub counts: Option<Box<MessageCounts>>,
    pub builder: DemandBuilder,
    /// Buffers without content between calls.
    #[serde(skip)]
    pub bundle: BundleBuilder,
    #[serde(skip)]
    pub bundles: BundleSum,
    /// The applications' clock: not before the time of the simulation, and before the next float64 after it.
    pub now: FineTime,
}

impl World {
    pub fn new(platform: Arc<Platform>, network: Network) -> Self {
        Self {
            stores: Arc::new(Stores::new(&platform)),
            activities: Activities::new(network.rule, resources(&platform)),
            network,
            disks: Disks::new(&platform),
            buffers: Buffers::default(),
            migrations: Vec::new(),
            gpus: Gpus::new(&platform),
            platform,
            timers: Timers::default(),
            pending: PendingActivities::default(),
            ready: Ready::default(),
            notices: VecDeque::new(),
            ending: VecDeque::new(),
            log: None,
            counts: None,
            builder: DemandBuilder::default(),
            bundle: BundleBuilder::default(),
            bundles: BundleSum::default(),
            now: FineTime::default(),
        }
    }

    /// A host.
    pub fn host(&self, index: u32) -> &Host {
        &self.platform.hosts()[index as usize]
    }

    /// The resource of a host's cores.
    pub fn cpu(&self, host: u32) -> u32 {
        cores(&self.platform, host)
    }

    /// Advances the clock. Must come first at an instant, because disks round at every event.
    pub fn set_clock(&mut self, now: FineTime) {
        if now <= self.now {
            return;
        }
        self.disks.progress(now);
        self.now = now;
        while self.ending.front().is_some_and(|next| FineTime::at(next.0) <= now)
            && let Some((_, job, notice)) = self.ending.pop_front()
        {
            self.notices.push_back((job, notice));
        }
    }

    /// Ends the application of a job after a number of seconds. The job ends at `end`, or now if `end` is past.
    pub fn finish(&mut self, job: u32, seconds: f64, end: f64) {
        let notice = Notice::Done { seconds };
        if FineTime::at(end) <= self.now {
            return self.notices.push_back((job, notice));
        }
        let place = self.ending.partition_point(|other| other.0 <= end);
        self.ending.insert(place, (end, job, notice));
    }

    /// Drops all notices of a job.
    pub fn keep_silent(&mut self, job: u32) {
        self.notices.retain(|(of, _)| *of != job);
        self.ending.retain(|(_, of, _)| *of != job);
    }

    /// Returns whether there are notices, now or later.
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty() || !self.ending.is_empty()
    }

    /// The time of the next end of an activity or job, or of a disk event; without timers.
    pub fn next_time(&mut self) -> FineTime {
        let end = self.ending.front().map_or(FineTime::NEVER, |next| FineTime::at(next.0));
        self.activities.next_time().min(self.disks.next_time()).min(end)
    }

    /// Starts an activity of a run.
    pub fn start(&mut self, slot: u32, of_run: &mut Vec<u32>, purpose: Purpose, demand: &Demand) {
        let place = of_run.len() as u32;
        let tag = self.pending.add(PendingActivity { slot, purpose, handle: 0, on_disk: false, place });
        of_run.push(tag);
        self.pending.all[tag as usize].handle = self.activities.start(self.now, demand, u64::from(tag));
    }

    /// Starts operations on a host.
    pub fn compute(&mut self, slot: u32, of_run: &mut Vec<u32>, purpose: Purpose, (host, flops): (u32, f64)) {
        let mut builder = std::mem::take(&mut self.builder);
        builder.computation(&self.platform, host, flops);
        self.start(slot, of_run, purpose, &builder.demand());
        self.builder = builder;
    }

    /// Records the ends of the operations of a host's GPUs as events for disks.
    pub fn expect_gpus(&mut self, host: u32) {
        self.gpus.ends(host).filter(|end| *end > self.now).for_each(|end| self.disks.expect(end));
    }

    /// Starts to read or write on the disk of a host.
    pub fn start_on_disk(
        &mut self,
        slot: u32,
        of_run: &mut Vec<u32>,
        purpose: Purpose,
        (host, direction, bytes): (u32, Direction, f64),
    ) {
        let place = of_run.len() as u32;
        let tag = self.pending.add(PendingActivity { slot, purpose, handle: 0, on_disk: true, place });
        of_run.push(tag);
        self.pending.all[tag as usize].handle =
            self.disks.start(self.now, host, direction, bytes, u64::from(tag));
    }

    /// Cancels all activities of a run.
    pub fn cancel(&mut self, of_run: &mut Vec<u32>) {
        for tag in of_run.drain(..) {
            let PendingActivity { handle, on_disk, .. } = self.pending.all[tag as usize];
            let engine = if on_disk { &mut self.disks.operations } else { &mut self.activities };
            engine.cancel(self.now, handle);
            self.pending.free.push(tag);
        }
    }

    /// Returns whether any activity has ended, or any latency is over.
    pub fn is_due(&mut self) -> bool {
        self.activities.next_time().min(self.disks.operations.next_time()) <= self.now
    }

    /// Removes and returns one activity that has ended: on the platform first, then on disks.
    pub fn completed(&mut self) -> Option<u32> {
        let tag = self.activities.pop_finished(self.now);
        tag.or_else(|| self.disks.operations.pop_finished(self.now)).map(|tag| tag as u32)
    }
}
