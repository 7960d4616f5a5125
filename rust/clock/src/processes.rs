//! The processes of a cluster, and whether they work.
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Of an interval: daemons that use more of it work. A little is used by waiting, the more the faster time goes.
const DAEMONS: f64 = 0.3;
/// The same for slurmctld, whose threads look for work all the time.
const CONTROLLER: f64 = 0.66;
/// Shorter intervals (ns) are taken for this one: what was used in them says little.
const SHORTEST: i64 = 300_000;
/// Steps without their sleeps, and sleeps without their steps, are no launches if they last longer (ns) without work. A step
/// may wait so long for a busy disk or a processor.
const STUCK: i64 = 10_000_000_000;
/// Threads more than usual are no conversation if they last longer (ns).
const LASTING: i64 = 2_000_000_000;

/// What a process is, as it enters itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Daemon,
    Controller,
    /// `slurmstepd`: it launches a job, waits for it and reports its end.
    Step,
    /// The `sleep` that a job consists of.
    Job,
    /// A command of the user, a script: work as long as it is alive.
    Command,
    /// Its threads come and go.
    Database,
}

/// A process that has entered itself.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    process: i32,
    kind: Kind,
}

impl Entry {
    /// Reads an entry of the table; none where it is empty.
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

/// How many threads a daemon has: it makes one for each message that it sends or answers.
///
/// A thread that waits for a processor uses none: on a busy machine a message is on its way without a sign of work.
struct Threads {
    /// Its number of links tells how many there are, which costs less than to read.
    folder: PathBuf,
    usual: u64,
    seen: u64,
    lasting: i64,
}

impl Threads {
    fn of(process: i32) -> Self {
        Self { folder: format!("/proc/{process}/task").into(), usual: u64::MAX, seen: 0, lasting: 0 }
    }

    /// Whether there are more than usual, an interval (ns) after the last look.
    fn talk(&mut self, interval: i64) -> bool {
        fs::metadata(&self.folder).is_ok_and(|folder| self.more(folder.nlink(), interval))
    }

    /// Whether so many are more than usual.
    fn more(&mut self, threads: u64, interval: i64) -> bool {
        self.lasting = if threads == self.seen { self.lasting + interval } else { 0 };
        self.seen = threads;
        if threads < self.usual || self.lasting > LASTING {
            self.usual = threads;
        }
        threads > self.usual
    }
}

/// The processes that are alive.
#[derive(Default)]
pub struct Processes {
    alive: HashMap<i32, Process>,
    /// For how long (ns) the numbers of steps and of sleeps have differed by as many as now, without work.
    lasting: i64,
    difference: i64,
    /// The difference that is no launch.
    usual: i64,
}

impl Processes {
    /// Takes note of processes that have entered themselves: new ones, and those that became another program.
    pub fn enter(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Ok(clock) = ClockId::pid_cpu_clock_id(Pid::from_raw(entry.process)) {
                let used = used(clock).unwrap_or(0);
                let threads = Threads::of(entry.process);
                self.alive.insert(entry.process, Process { kind: entry.kind, clock, used, threads });
            }
        }
    }

    /// Whether any of them has worked in the interval (ns) since the last call.
    ///
    /// A conversation begins in the controller; the other daemons are asked `thoroughly` only.
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
            // Who has ended and is not yet buried has a clock still, which stands. The end of a job is work for its step.
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

    /// Whether jobs are being launched or ended: their steps are there without them.
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

/// The CPU time (ns) that a process has used; none where it is gone.
fn used(clock: ClockId) -> Option<i64> {
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// Whether a process has ended, though its parent may not have asked for how.
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
        // One more stays.
        assert!(threads.more(4, 1000));
        assert!(threads.more(4, LASTING));
        assert!(!threads.more(4, 1000));
        assert!(threads.more(5, 1000));
        // And is gone.
        assert_eq!([3, 4].map(|count| threads.more(count, 1000)), [false, true]);
    }
}
