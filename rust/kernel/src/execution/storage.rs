//! Where data goes: the parallel file system, disks and burst buffers in the nodes, and those at the network.
//!
//! Disks are resources of their own: an operation takes part in what can be read (or written) per second and in what
//! both together can do, which is the greater of the two; they are shared max-min, whatever the rule of the network.
use serde::{Deserialize, Serialize};

use crate::application::{Direction, Storage};
use crate::platform::{Host, Platform, Role, Sharing};
use crate::sharing::{Activities, Demand, Resource, Rule};

/// Where a rank's data goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place<'a> {
    /// Over the network to these hosts, evenly.
    Remote(&'a [u32]),
    /// To the node's own disk.
    Local,
    /// To the disks of all nodes of the job, at this many operations per byte.
    Striped(f64),
}

/// The hosts that keep data for others.
#[derive(Clone, Debug, Default)]
pub struct Stores {
    file_system: Vec<u32>,
    burst_buffers: Vec<u32>,
}

impl Stores {
    /// Those of a platform.
    #[must_use]
    pub fn new(platform: &Platform) -> Self {
        let with = |role: Role| {
            let hosts = platform.hosts().iter().enumerate();
            hosts.filter(|(_, host)| host.role == role).map(|(index, _)| index as u32).collect()
        };
        Self { file_system: with(Role::Storage), burst_buffers: with(Role::BurstBuffer) }
    }

    /// Where the data of a rank on `host` goes; None if it has nowhere to go.
    #[must_use]
    pub fn place<'a>(&'a self, host: &'a Host, storage: Storage) -> Option<Place<'a>> {
        let remote = match storage {
            Storage::BurstBuffer if host.disk.is_some() => {
                return Some(host.striping.map_or(Place::Local, Place::Striped));
            }
            Storage::BurstBuffer => &self.burst_buffers,
            Storage::ParallelFileSystem if host.storage_targets.is_empty() => &self.file_system,
            Storage::ParallelFileSystem => &host.storage_targets,
        };
        (!remote.is_empty()).then_some(Place::Remote(remote))
    }
}

/// The disks of all hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Disks {
    /// What is going on at them.
    pub operations: Activities,
    /// Where each host's three resources begin: reading, writing, both.
    first: Vec<u32>,
}

impl Disks {
    /// Those of a platform.
    #[must_use]
    pub fn new(platform: &Platform) -> Self {
        let mut resources = Vec::new();
        let mut first = Vec::with_capacity(platform.hosts().len());
        for host in platform.hosts() {
            first.push(resources.len() as u32);
            if let Some(disk) = host.disk {
                let rates = [disk.read, disk.write, disk.read.max(disk.write)];
                resources.extend(rates.map(|capacity| Resource { capacity, sharing: Sharing::Shared }));
            }
        }
        Self { operations: Activities::new(Rule::MaxMin, resources), first }
    }

    /// Starts to read or write so many bytes, whole ones, on the disk of a host.
    pub fn start(&mut self, now: f64, host: u32, direction: Direction, bytes: f64, tag: u64) -> u32 {
        let first = self.first[host as usize];
        let way = first + u32::from(direction == Direction::Write);
        let uses = [(way, 1.0), (first + 2, 1.0)];
        self.operations.start(now, &Demand { amount: bytes.trunc(), uses: &uses, ..Demand::default() }, tag)
    }
}
