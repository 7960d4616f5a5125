//! The file that the clock shares with the processes; its layout is `struct shared` of `virtual_clock.c`.
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::monotonic;
use crate::processes::Entry;

const LAYOUT: u32 = 1;
const PLACES: u32 = 65_536;
/// Offsets of the parts of the file, in bytes.
const SEQUENCE: u64 = 4;
const TIMES: u64 = 8;
const LEASE: u64 = 32;
const CONSTANTS: u64 = 40;
const PROCESSES: u64 = 64;
const TABLE: u64 = 72;

/// The file, and its times.
pub struct Shared {
    file: File,
    sequence: u32,
    real: i64,
    time: i64,
    rate: f64,
    /// Real time until which the rate holds; after it, time has rate 1, because no governor is running.
    lease: i64,
    /// Number of entries read from the table.
    read: u32,
}

impl Shared {
    /// Creates the file of a clock that shows this UNIX time (ns) now, at rate 1.
    pub fn create(path: &Path, highest: f64, unix: i64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.set_len(TABLE + 4 * u64::from(PLACES))?;
        let shared =
            Self { file, sequence: 0, real: monotonic(), time: unix, rate: 1.0, lease: i64::MAX, read: 0 };
        shared.write_times()?;
        let constants = [highest.to_ne_bytes(), unix.to_ne_bytes(), (unix - shared.real).to_ne_bytes()];
        shared.file.write_all_at(&constants.concat(), CONSTANTS)?;
        // Write the layout last: without it, processes do not use the file as a clock.
        shared.file.write_all_at(&LAYOUT.to_ne_bytes(), 0)?;
        Ok(shared)
    }

    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Virtual UNIX time (ns) at a real time.
    pub fn at(&self, real: i64) -> i64 {
        let fast = real.min(self.lease);
        self.time + ((fast - self.real) as f64 * self.rate) as i64 + (real - fast)
    }

    /// Changes the rate, for at most this time (ns) unless it is renewed. Readers wait meanwhile: an instant read
    /// before the change is not after one read later.
    pub fn set_rate(&mut self, rate: f64, longest: Option<i64>) -> io::Result<()> {
        let lease = |now: i64| longest.map_or(i64::MAX, |time| now + time);
        let now = monotonic();
        if rate.to_bits() == self.rate.to_bits() && now < self.lease {
            self.lease = lease(now);
            return self.file.write_all_at(&self.lease.to_ne_bytes(), LEASE);
        }
        self.write_sequence()?;
        let now = monotonic();
        self.time = self.at(now);
        (self.real, self.rate, self.lease) = (now, rate, lease(now));
        self.write_times()?;
        self.write_sequence()
    }

    /// The processes that have registered themselves since the last call.
    pub fn entered(&mut self) -> io::Result<Vec<Entry>> {
        let mut count = [0; 4];
        self.file.read_exact_at(&mut count, PROCESSES)?;
        let written = u32::from_ne_bytes(count);
        let mut found = Vec::new();
        while self.read != written {
            let place = TABLE + 4 * u64::from(self.read % PLACES);
            let mut entry = [0; 4];
            self.file.read_exact_at(&mut entry, place)?;
            let Some(entry) = Entry::of(i32::from_ne_bytes(entry)) else {
                // The entry is still being written.
                break;
            };
            // A reused place must not look as if it were already written.
            self.file.write_all_at(&[0; 4], place)?;
            found.push(entry);
            self.read = self.read.wrapping_add(1);
        }
        Ok(found)
    }

    fn write_sequence(&mut self) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.file.write_all_at(&self.sequence.to_ne_bytes(), SEQUENCE)
    }

    fn write_times(&self) -> io::Result<()> {
        let rate = self.rate.to_ne_bytes();
        let times = [self.real.to_ne_bytes(), self.time.to_ne_bytes(), rate, self.lease.to_ne_bytes()];
        self.file.write_all_at(&times.concat(), TIMES)
    }
}
