//! Ranks that write and read through a cache of the parallel file system.
//!
//! Data is in the cache when it is on the node's disk. Then it migrates to the file system, which reads the disk and
//! uses the network like other transfers. The capacity of a disk limits the bytes that have not migrated yet.
use super::cache::{CachedData, CachedWrite};
use super::error::ExecutionError;
use super::program::Transfer;
use super::run::Run;
use super::world::{Purpose, World};
use crate::application::Direction;

impl Run {
    /// Starts a read or write of a rank through the cache of its node; returns false if the cache has no space for it,
    /// or not the data.
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

    /// The capacity of the cache of a rank's node, bytes.
    fn buffer(&self, world: &World, rank: u32) -> f64 {
        world.host(self.hosts[rank as usize]).disk.map_or(0.0, |disk| disk.capacity)
    }

    /// Ends the write to the disk: the data can be read from there, and its migration is scheduled.
    pub fn is_cached(&mut self, world: &mut World, rank: u32, write: u32) {
        let bytes = self.cached.writes[write as usize].bytes;
        let kept = self.cached.kept[rank as usize] + bytes;
        self.cached.kept[rank as usize] = kept.min(self.buffer(world, rank));
        if let Some(level) = self.program.migrations {
            self.ranks.start(rank, level);
        }
        world.migrations.push((self.slot, rank, write));
    }

    /// Starts a migration: the disk is read while the network transfers the bytes.
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

    /// Ends an activity of a migration; after the last one, the space of the bytes is free.
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

    /// Drops data that has not migrated: it is lost with the run.
    pub fn lose_cache(&mut self, world: &mut World) {
        // The buffers may not know a host that has never cached anything.
        for (&host, &bytes) in self.hosts.iter().zip(&self.cached.dirty).filter(|(_, bytes)| **bytes > 0.0) {
            world.buffers.release(host, bytes);
        }
        self.cached = CachedData::default();
    }
}
