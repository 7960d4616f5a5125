//! What is in burst buffers that are caches of the parallel file system: per host what has not migrated to it yet, per
//! rank also what can be read there. Empty, and without cost, until something is cached.
use serde::{Deserialize, Serialize};

/// Bytes on the disk of each host that are written there, or will be, and that the file system does not have yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Buffers {
    dirty: Vec<f64>,
}

impl Buffers {
    /// Keeps place for bytes that are to be written; whether there is enough.
    pub fn reserve(&mut self, host: u32, bytes: f64, capacity: f64) -> bool {
        let host = host as usize;
        if self.dirty.len() <= host {
            self.dirty.resize(host + 1, 0.0);
        }
        let fits = self.dirty[host] + bytes <= capacity;
        if fits {
            self.dirty[host] += bytes;
        }
        fits
    }

    pub fn release(&mut self, host: u32, bytes: f64) {
        self.dirty[host as usize] -= bytes;
    }
}

/// A write into a cache until it has migrated.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CachedWrite {
    pub bytes: f64,
    /// The parallel task that moves it to the file system.
    pub demand: u32,
    /// Activities of the migration that are under way.
    pub left: u32,
}

/// What the ranks of a run have in caches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CachedData {
    /// Bytes of each rank that have not migrated yet, and that can be read; empty until something is written.
    pub dirty: Vec<f64>,
    pub kept: Vec<f64>,
    pub writes: Vec<CachedWrite>,
    pub free: Vec<u32>,
}

impl CachedData {
    pub fn holds(&self, rank: u32, bytes: f64) -> bool {
        self.kept.get(rank as usize).is_some_and(|kept| *kept > 0.0 && *kept >= bytes)
    }

    pub fn add(&mut self, ranks: usize, rank: u32, bytes: f64, demand: u32) -> u32 {
        self.dirty.resize(ranks, 0.0);
        self.kept.resize(ranks, 0.0);
        self.dirty[rank as usize] += bytes;
        let write = CachedWrite { bytes, demand, left: 0 };
        if let Some(place) = self.free.pop() {
            self.writes[place as usize] = write;
            return place;
        }
        self.writes.push(write);
        self.writes.len() as u32 - 1
    }
}
