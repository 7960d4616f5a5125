//! The processes of a cluster, and the detection of their work.
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Daemons that use more than this fraction of an interval work. Waiting uses a little CPU time, the more the faster
/// time is.
const DAEMONS: f64 = 0.3;
/// The same for slurmctld, with threads that search for work all the time.
const CONTROLLER: f64 = 0.66;
/// Shorter intervals (ns) count as this length: the CPU time used in them is not meaningful.
const SHORTEST: i64 = 300_000;
/// Steps without their sleeps, and sleeps without their steps, are not a launch if they last longer (ns) without work.
/// A step may wait this long for a busy disk or a processor.
const STUCK: i64 = 10_000_000_000;
/// More threads than usual are not a conversation if they last longer (ns).
const LASTING: i64 = 2_000_000_000;

/// The kind of a process, as it registers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Daemon,
    Controller,
    /// `slurmstepd`: launches a job, waits for it and reports its end.
    Step,
    /// The `sleep` of a job.
    Job,
    /// A command or script of the user: works while it is alive.
    Command,
    /// A daemon with a varying number of threads.
    Database,
}

/// A process that has registered itself.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    process: i32,
    kind: Kind,
}

impl Entry {
    /// Reads an entry of the table; None if it is empty.
    pub fn of(value: i32) -> Option<Self> {
        let kind = match value & 7 {
            0 => Kind::Daemon,
            1 => Kind::Controller,
            2 => Kind::Step,
            3 => Kind::Job,
            5 => Kind::Database,
            _ => Kind::Command,
        };
        (value > 0).then_some(Self { process: value >> 3, kind })
    }
}

struct Process {
    kind: Kind,
    clock: ClockId,
    used: i64,
    threads: Threads,
}

/// The number of threads of a daemon: it creates one for each message that it sends or answers.
///
/// A thread that waits for a processor uses no CPU time: on a busy machine a message in transit shows no other sign of
/// work.
struct Threads {
    /// Its number of links is the number of threads, which costs less than reading it.
    folder: PathBuf,
    usual: u64,
    seen: u64,
    lasting: i64,
}

impl Threads {
    fn of(process: i32) -> Self {
        Self { folder: format!("/proc/{process}/task").into(), usual: u64::MAX, seen: 0, lasting: 0 }
    }

    /// Returns whether there are more threads than usual, an interval (ns) after the last check.
    fn talk(&mut self, interval: i64) -> bool {
        fs::metadata(&self.folder).is_ok_and(|folder| self.more(folder.nlink(), interval))
    }

    /// Returns whether this number of threads is more than usual.
    fn more(&mut self, threads: u64, interval: i64) -> bool {
        self.lasting = if threads == self.seen { self.lasting + interval } else { 0 };
        self.seen = threads;
        if threads < self.usual || self.lasting > LASTING {
            self.usual = threads;
        }
        threads > self.usual
    }
}

/// The running processes.
#[derive(Default)]
pub struct Processes {
    alive: HashMap<i32, Process>,
    /// Time (ns) for which the numbers of steps and of sleeps have had the current difference, without work.
    lasting: i64,
    difference: i64,
    /// The difference that does not indicate a launch.
    usual: i64,
}

impl Processes {
    /// Adds processes that have registered themselves: new ones, and those that now execute another program.
    pub fn enter(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Ok(clock) = ClockId::pid_cpu_clock_id(Pid::from_raw(entry.process)) {
                let used = used(clock).unwrap_or(0);
                let threads = Threads::of(entry.process);
                self.alive.insert(entry.process, Process { kind: entry.kind, clock, used, threads });
            }
        }
    }

    /// Returns whether any process has worked in the interval (ns) since the last call.
    ///
    /// A conversation begins in the controller; the other daemons are checked only with `thoroughly`.
    pub fn work(&mut self, interval: i64, thoroughly: bool) -> bool {
        let (mut daemons, mut controller, mut jobs) = (0, 0, 0);
        self.alive.retain(|process, each| {
            let Some(now) = used(each.clock) else { return false };
            let more = now - each.used;
            each.used = now;
            match each.kind {
                Kind::Daemon | Kind::Database => daemons += more,
                Kind::Controller => controller += more,
                Kind::Step | Kind::Job => jobs += more,
                Kind::Command => {}
            }
            // The CPU clock of a zombie still exists and does not advance. The end of a job causes work for its step.
            !match each.kind {
                Kind::Command => more == 0 && has_ended(*process),
                Kind::Job => more > 0 && has_ended(*process),
                _ => false,
            }
        });
        let of_interval = |time: i64| time as f64 / interval.max(SHORTEST) as f64;
        let commands = self.alive.values().any(|each| each.kind == Kind::Command);
        let launches = self.launches(interval, jobs);
        let used = of_interval(daemons) > DAEMONS || of_interval(controller) > CONTROLLER;
        let conversations = self.conversations(interval, thoroughly);
        commands || launches || used || conversations
    }

    fn conversations(&mut self, interval: i64, thoroughly: bool) -> bool {
        let mut found = false;
        for each in self.alive.values_mut() {
            if each.kind == Kind::Controller || (thoroughly && each.kind == Kind::Daemon) {
                found |= each.threads.talk(interval);
            }
        }
        found
    }

    /// Returns whether jobs are being launched or ended: the numbers of their steps and sleeps differ.
    fn launches(&mut self, interval: i64, used: i64) -> bool {
        if self.steps_without_jobs() != self.usual {
            self.alive
                .retain(|process, each| !matches!(each.kind, Kind::Step | Kind::Job) || !has_ended(*process));
        }
        let difference = self.steps_without_jobs();
        let lasts = difference == self.difference && used == 0;
        self.lasting = if lasts { self.lasting + interval } else { 0 };
        self.difference = difference;
        if difference == 0 || self.lasting > STUCK {
            self.usual = difference;
        }
        difference != self.usual
    }

    fn steps_without_jobs(&self) -> i64 {
        let count = |kind: Kind| self.alive.values().filter(|each| each.kind == kind).count() as i64;
        count(Kind::Step) - count(Kind::Job)
    }
}

/// The CPU time (ns) that a process has used; None if it does not exist.
fn used(clock: ClockId) -> Option<i64> {
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// Returns whether a process has ended, even if its parent has not waited for it.
fn has_ended(process: i32) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    text.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_usual_talk_until_they_have_lasted() {
        let mut threads = Threads::of(0);
        assert!(!threads.talk(LASTING), "a process that is gone");
        assert_eq!(
            [3, 4, 5, 4, 3, 3].map(|count| threads.more(count, 1000)),
            [false, true, true, true, false, false]
        );
        // A further thread stays.
        assert!(threads.more(4, 1000));
        assert!(threads.more(4, LASTING));
        assert!(!threads.more(4, 1000));
        assert!(threads.more(5, 1000));
        // The further thread is gone.
        assert_eq!([3, 4].map(|count| threads.more(count, 1000)), [false, true]);
    }
}
