//! Storage: the parallel file system, disks and burst buffers in the nodes, and burst buffers at the network.
//!
//! Disks are separate resources: an operation uses the bandwidth for reading (or writing), and the bandwidth of both
//! together, which is the greater of the two. They are shared max-min, whatever the rule of the network. Some disks
//! progress in whole bytes, like `SimGrid`'s: at every event, O(operations in progress · log).
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::application::{Direction, Storage};
use crate::platform::{Host, Platform, Role, Sharing};
use crate::sharing::{Activities, Demand, Resource, Rule};
use crate::time::{FineTime, IntervalClock};

/// The location of a rank's data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place<'a> {
    /// At these hosts over the network, evenly distributed.
    Remote(&'a [u32]),
    /// On the node's own disk.
    Local,
    /// On the disks of all nodes of the job, with this number of operations per byte.
    Striped(f64),
}

/// The hosts that store data for others.
#[derive(Clone, Debug, Default)]
pub struct Stores {
    file_system: Vec<u32>,
    burst_buffers: Vec<u32>,
}

impl Stores {
    /// The storage hosts of a platform.
    #[must_use]
    pub fn new(platform: &Platform) -> Self {
        let with = |role: Role| {
            let hosts = platform.hosts().iter().enumerate();
            hosts.filter(|(_, host)| host.role == role).map(|(index, _)| index as u32).collect()
        };
        Self { file_system: with(Role::Storage), burst_buffers: with(Role::BurstBuffer) }
    }

    /// The location of the data of a rank on `host`; None if it has none. For a cache, the location it migrates to.
    #[must_use]
    pub fn place<'a>(&'a self, host: &'a Host, storage: Storage) -> Option<Place<'a>> {
        let remote = match storage {
            Storage::BurstBuffer if host.disk.is_some() => {
                return Some(host.striping.map_or(Place::Local, Place::Striped));
            }
            Storage::BurstBuffer => &self.burst_buffers,
            Storage::ParallelFileSystem | Storage::Cache if host.storage_targets.is_empty() => {
                &self.file_system
            }
            Storage::ParallelFileSystem | Storage::Cache => &host.storage_targets,
        };
        (!remote.is_empty()).then_some(Place::Remote(remote))
    }
}

/// The disks of all hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Disks {
    /// The operations in progress.
    pub operations: Activities,
    /// The index of each host's three resources: reading, writing, both.
    first: Vec<u32>,
    /// For each resource, whether operations on it progress in whole bytes; empty if none do.
    whole: Vec<bool>,
    events: Events,
}

/// Events that no rank waits for, at which disks that progress in whole bytes still round.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Events {
    /// Ends of kernels and of transfers within a node.
    single: BinaryHeap<Reverse<FineTime>>,
    /// The times of looks at the platform, if there are any.
    looks: Option<IntervalClock>,
}

impl Disks {
    /// The disks of a platform.
    #[must_use]
    pub fn new(platform: &Platform) -> Self {
        let (mut resources, mut whole) = (Vec::new(), Vec::new());
        let mut first = Vec::with_capacity(platform.hosts().len());
        for host in platform.hosts() {
            first.push(resources.len() as u32);
            if let Some(disk) = host.disk {
                let rates = [disk.read, disk.write, disk.read.max(disk.write)];
                resources.extend(rates.map(|capacity| Resource { capacity, sharing: Sharing::Shared }));
                whole.extend([disk.whole_bytes; 3]);
            }
        }
        if !whole.contains(&true) {
            whole.clear();
        }
        let events = Events { single: BinaryHeap::new(), looks: None };
        Self { operations: Activities::new(Rule::MaxMin, resources), first, whole, events }
    }

    /// Starts to read or write a number of bytes, rounded down, on the disk of a host.
    pub fn start(&mut self, now: FineTime, host: u32, direction: Direction, bytes: f64, tag: u64) -> u32 {
        let first = self.first[host as usize];
        let way = first + u32::from(direction == Direction::Write);
        let uses = [(way, 1.0), (first + 2, 1.0)];
        self.operations.start(now, &Demand { amount: bytes.trunc(), uses: &uses, ..Demand::default() }, tag)
    }

    /// Makes looks at the platform events, except the next one, before which nothing can progress.
    pub fn expect_looks(&mut self, mut looks: IntervalClock) {
        looks.go_on();
        self.events.looks = Some(looks);
    }

    /// Records the end of an operation that no rank waits for.
    pub fn expect(&mut self, time: FineTime) {
        if !self.whole.is_empty() {
            self.events.single.push(Reverse(time));
        }
    }

    /// The time of the next end of an operation, or of an event at which disks round and that nothing else waits for.
    pub fn next_time(&mut self) -> FineTime {
        let end = self.operations.next_time();
        if end == FineTime::NEVER || self.whole.is_empty() { end } else { end.min(self.events.next()) }
    }

    /// Rounds the progress since the last event to whole bytes.
    pub fn progress(&mut self, now: FineTime) {
        if !self.whole.is_empty() {
            self.events.pass(now);
            self.operations.round_progress(now, |resource| self.whole[resource as usize]);
        }
    }
}

impl Events {
    fn next(&self) -> FineTime {
        let single = self.single.peek().map_or(FineTime::NEVER, |next| next.0);
        self.looks.map_or(single, |looks| single.min(FineTime::at(looks.next())))
    }

    fn pass(&mut self, now: FineTime) {
        while self.single.peek().is_some_and(|next| next.0 <= now) {
            self.single.pop();
        }
        if let Some(looks) = &mut self.looks {
            looks.pass(now.floor());
        }
    }
}
