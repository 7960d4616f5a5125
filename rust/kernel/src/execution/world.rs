//! What all runs share: the engine's activities, the disks, GPUs and timers, and the ranks that are to go on.
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

/// What an activity is for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Purpose {
    /// A rank waits for it, or will, at a level (see `Step`).
    Rank { rank: u32, level: u32 },
    /// A group of ranks waits for it.
    Group(Group),
    /// It is a message of one of the program's message programs.
    Message { part: u32, message: u32 },
    /// A rank waits for it, and then it migrates to the file system.
    Cached { rank: u32, level: u32, write: u32 },
    /// A part of such a migration.
    Migration { rank: u32, write: u32 },
}

/// An activity that is under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PendingActivity {
    /// Where its run is.
    pub slot: u32,
    pub purpose: Purpose,
    handle: u32,
    on_disk: bool,
    /// Its place in the run's list of pending activities.
    pub place: u32,
}

/// Activities by their tags, which are places in a list that are given back: O(1).
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

    /// Takes out an activity that is over, also of its run's list.
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

/// Ranks that can go on, first come, first served; neighbours stand together.
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

    /// Where the run is, the first rank, and how many.
    pub fn pop(&mut self) -> Option<(u32, u32, u32)> {
        self.queue.pop_front()
    }

    /// Puts ranks back that were taken out and have not come to go on.
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

/// What all runs share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct World {
    /// Given, and not part of a snapshot.
    #[serde(skip)]
    pub platform: Arc<Platform>,
    #[serde(skip)]
    pub stores: Arc<Stores>,
    /// The model by which activities share links and cores.
    pub network: Network,
    pub activities: Activities,
    pub disks: Disks,
    /// What is cached on them.
    pub buffers: Buffers,
    /// Migrations that begin at this instant: where their run is, the rank, and the write.
    pub migrations: Vec<(u32, u32, u32)>,
    pub gpus: Gpus,
    pub timers: Timers,
    pub pending: PendingActivities,
    pub ready: Ready,
    pub notices: VecDeque<(u32, Notice)>,
    /// Jobs whose applications are done, and that end at a later float64 time, by that time.
    ending: VecDeque<(f64, u32, Notice)>,
    pub log: Option<TaskLog>,
    pub counts: Option<Box<MessageCounts>>,
    pub builder: DemandBuilder,
    /// Buffers; nothing in them outlasts a call.
    #[serde(skip)]
    pub bundle: BundleBuilder,
    #[serde(skip)]
    pub bundles: BundleSum,
    /// The applications' clock: never before that of the simulation, and before the next float64 after it.
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

    /// The resource that the cores of a host are.
    pub fn cpu(&self, host: u32) -> u32 {
        cores(&self.platform, host)
    }

    /// Lets time pass. The first thing that is done at an instant: disks know of every event.
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

    /// The application of a job is done, after so many seconds. The job ends at `end`, or now if that is past.
    pub fn finish(&mut self, job: u32, seconds: f64, end: f64) {
        let notice = Notice::Done { seconds };
        if FineTime::at(end) <= self.now {
            return self.notices.push_back((job, notice));
        }
        let place = self.ending.partition_point(|other| other.0 <= end);
        self.ending.insert(place, (end, job, notice));
    }

    /// Nothing is told of a job any more.
    pub fn keep_silent(&mut self, job: u32) {
        self.notices.retain(|(of, _)| *of != job);
        self.ending.retain(|(_, of, _)| *of != job);
    }

    /// Whether there is, or will be, something to tell.
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty() || !self.ending.is_empty()
    }

    /// When an activity or a job ends next, or disks must know of an event; timers are not counted.
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

    /// Has disks know when the GPUs of a host will be done.
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

    /// Ends all activities of a run before their time.
    pub fn cancel(&mut self, of_run: &mut Vec<u32>) {
        for tag in of_run.drain(..) {
            let PendingActivity { handle, on_disk, .. } = self.pending.all[tag as usize];
            let engine = if on_disk { &mut self.disks.operations } else { &mut self.activities };
            engine.cancel(self.now, handle);
            self.pending.free.push(tag);
        }
    }

    /// Whether any activity has ended, or is about to use something.
    pub fn is_due(&mut self) -> bool {
        self.activities.next_time().min(self.disks.operations.next_time()) <= self.now
    }

    /// Takes out one activity that has ended: on the platform first, then on disks.
    pub fn completed(&mut self) -> Option<u32> {
        let tag = self.activities.pop_finished(self.now);
        tag.or_else(|| self.disks.operations.pop_finished(self.now)).map(|tag| tag as u32)
    }
}
