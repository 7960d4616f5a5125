//! Ranks that write and read by way of a cache of the parallel file system.
//!
//! What is written into a cache is there once the node's disk has it; then it migrates to the file system, reading the
//! disk and using the network like all else. A disk's capacity bounds what has not migrated yet.
use super::cache::{CachedData, CachedWrite};
use super::error::ExecutionError;
use super::program::Transfer;
use super::run::Run;
use super::world::{Purpose, World};
use crate::application::Direction;

impl Run {
    /// A rank reads or writes by way of the cache of its node; whether the cache can take or give it.
    pub fn through_cache(
        &mut self,
        world: &mut World,
        rank: u32,
        transfer: u32,
        level: u32,
    ) -> Result<bool, ExecutionError> {
        let Transfer { direction, amounts, .. } = self.program.transfers[transfer as usize];
        let (bytes, host) = (self.amount(rank, amounts), self.hosts[rank as usize]);
        let (whole, capacity) = (bytes.trunc(), self.buffer(world, rank));
        let purpose = match direction {
            Direction::Read if self.cached.holds(rank, whole) => Purpose::Rank { rank, level },
            Direction::Write => {
                let demand = self.transfer_demand(world, rank, transfer)?;
                if !world.buffers.reserve(host, whole, capacity) {
                    return Ok(false);
                }
                let write = self.cached.add(self.hosts.len(), rank, whole, demand);
                Purpose::Cached { rank, level, write }
            }
            Direction::Read => return Ok(false),
        };
        self.ranks.start(rank, level);
        world.start_on_disk(self.slot, &mut self.pending, purpose, (host, direction, bytes));
        Ok(true)
    }

    /// The bytes that the cache of a rank's node can hold.
    fn buffer(&self, world: &World, rank: u32) -> f64 {
        world.host(self.hosts[rank as usize]).disk.map_or(0.0, |disk| disk.capacity)
    }

    /// The disk has what was written: it can be read there, and is to migrate.
    pub fn is_cached(&mut self, world: &mut World, rank: u32, write: u32) {
        let bytes = self.cached.writes[write as usize].bytes;
        let kept = self.cached.kept[rank as usize] + bytes;
        self.cached.kept[rank as usize] = kept.min(self.buffer(world, rank));
        if let Some(level) = self.program.migrations {
            self.ranks.start(rank, level);
        }
        world.migrations.push((self.slot, rank, write));
    }

    /// Starts a migration: the disk is read while the network has the bytes.
    pub fn migrate(&mut self, world: &mut World, rank: u32, write: u32) {
        let CachedWrite { bytes, demand, .. } = self.cached.writes[write as usize];
        let (purpose, host) = (Purpose::Migration { rank, write }, self.hosts[rank as usize]);
        let mut left = 1;
        world.start_on_disk(self.slot, &mut self.pending, purpose, (host, Direction::Read, bytes));
        if let Some(demand) = self.program.demands.get(demand) {
            left += 1;
            world.start(self.slot, &mut self.pending, purpose, &demand);
        }
        self.cached.writes[write as usize].left = left;
    }

    /// An activity of a migration is over; with the last one the bytes need no place any more.
    pub fn has_migrated(&mut self, world: &mut World, rank: u32, write: u32) {
        let CachedWrite { bytes, left, .. } = &mut self.cached.writes[write as usize];
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.cached.dirty[rank as usize] -= *bytes;
        world.buffers.release(self.hosts[rank as usize], *bytes);
        self.cached.free.push(write);
        if let Some(level) = self.program.migrations
            && self.ranks.completed(rank, level)
        {
            world.ready.push(self.slot, rank, 1);
        }
    }

    /// What has not migrated is lost with the run.
    pub fn lose_cache(&mut self, world: &mut World) {
        // A host without anything cached need not be known to the buffers.
        for (&host, &bytes) in self.hosts.iter().zip(&self.cached.dirty).filter(|(_, bytes)| **bytes > 0.0) {
            world.buffers.release(host, bytes);
        }
        self.cached = CachedData::default();
    }
}
