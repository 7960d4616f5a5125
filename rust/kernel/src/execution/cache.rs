//! Contents of burst buffers that cache the parallel file system: for each host the bytes that have not migrated to it
//! yet, for each rank also the bytes that can be read from the cache. Empty and without cost until something is cached.
use serde::{Deserialize, Serialize};

/// For each host, the bytes written or to be written to its disk that the file system does not have yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Buffers {
    dirty: Vec<f64>,
}

impl Buffers {
    /// Reserves space for bytes that are to be written; returns whether they fit.
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

/// A write into a cache, until it has migrated.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CachedWrite {
    pub bytes: f64,
    /// The parallel task that moves the bytes to the file system.
    pub demand: u32,
    /// Number of unfinished activities of the migration.
    pub left: u32,
}

/// The cached data of the ranks of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CachedData {
    /// For each rank, the bytes that have not migrated yet, and the bytes that can be read; empty until something is
    /// written.
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
