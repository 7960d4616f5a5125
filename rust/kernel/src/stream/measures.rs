//! The aggregate measures of a run, while it goes on: the definitions are those of `batchlab.metrics`.
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::state::View;
use crate::time::Time;
use crate::workload::{JobState, Rejection};

use super::quantile::Selection;

/// Run times below this many seconds count as this in bounded slowdowns.
const THRESHOLD: f64 = 10.0;
/// The measures of one job: wait, turnaround, slowdown, bounded slowdown, per-processor slowdown.
const COLUMNS: usize = 5;
const LEVELS: [f64; 4] = [0.5, 0.95, 0.99, 1.0];

/// What one job that ran counts for.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    values: [f64; COLUMNS],
    submit_time: f64,
    held_for: f64,
    end_time: f64,
    killed: bool,
}

impl Measured {
    /// The measures of a job that ended.
    pub fn of(view: View<'_>, job: u32, processors: i64) -> Self {
        let (row, jobs) = (view.scenario.job(job), &view.state.jobs);
        let (start, end) = (jobs.start_time(job), jobs.end_time(job));
        let killed = jobs.state(job) == JobState::Killed;
        let ran = if killed { end - start } else { row.run_time };
        let turnaround = end - row.submit_time;
        let bounded = ran.max(THRESHOLD);
        let slowdown = if ran > 0.0 { turnaround / ran } else { f64::NAN };
        Self {
            values: [
                start - row.submit_time,
                turnaround,
                slowdown,
                (turnaround / bounded).max(1.0),
                (turnaround / (processors.max(1) as f64 * bounded)).max(1.0),
            ],
            submit_time: row.submit_time,
            held_for: end - start,
            end_time: end,
            killed,
        }
    }
}

/// A sum that does not lose what is small (Neumaier's variant of Kahan's).
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// Mean and quantiles of a measure; None of nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Described {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median, 95th and 99th percentile, greatest.
    pub quantiles: Option<[f64; 4]>,
}

/// All aggregates of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Jobs completed and killed.
    pub states: [u64; 2],
    /// Jobs rejected, by reason.
    pub rejected: [u64; Rejection::ALL.len()],
    /// Wait, turnaround, slowdown, bounded slowdown, per-processor slowdown.
    pub described: [Described; COLUMNS],
    /// From the first submission to the last end, over the jobs that ran, seconds.
    pub makespan: Option<f64>,
    /// Share of each resource held, over the makespan.
    pub utilisation: Vec<Option<f64>>,
    /// Mean over time of the number of waiting jobs.
    pub mean_queue: Option<f64>,
    /// Greatest number of waiting jobs.
    pub longest_queue: Option<u64>,
    /// Share of each resource idle while jobs that asked for it waited.
    pub lost: Vec<Option<f64>>,
}

/// What is integrated over time.
#[derive(Clone, Debug)]
pub struct OverTime {
    begun: Option<f64>,
    queue: Total,
    longest: u64,
    lost: Vec<Total>,
}

impl OverTime {
    pub fn new(resources: usize) -> Self {
        Self { begun: None, queue: Total::default(), longest: 0, lost: vec![Total::default(); resources] }
    }

    /// The first job enters the queue.
    pub fn begin(&mut self, now: f64) {
        self.begun.get_or_insert(now);
    }

    /// Nothing changes from now until the next instant.
    pub fn pass(&mut self, view: View<'_>, waiting: &[i64], next: Time) {
        let queued = view.state.queue.len();
        self.longest = self.longest.max(queued as u64);
        if queued == 0 || next == Time::NEVER {
            return;
        }
        let duration = next.0 - view.now();
        self.queue.add(queued as f64 * duration);
        let free = view.state.machine.total_free();
        for ((lost, &free), &waiting) in self.lost.iter_mut().zip(free).zip(waiting) {
            lost.add(free.min(waiting) as f64 * duration);
        }
    }
}

/// Measures of the jobs that are done; their values lie in a temporary file.
pub struct Measures {
    values: BufWriter<File>,
    count: u64,
    states: [u64; 2],
    rejected: [u64; Rejection::ALL.len()],
    counts: [u64; COLUMNS],
    totals: [Total; COLUMNS],
    held: Vec<Total>,
    first_submit: f64,
    last_end: f64,
}

impl Measures {
    /// The temporary file lies in `directory`, where one is given.
    pub fn create(directory: Option<&Path>, resources: usize) -> io::Result<Self> {
        let file = match directory.filter(|directory| !directory.as_os_str().is_empty()) {
            Some(directory) => tempfile::tempfile_in(directory)?,
            None => tempfile::tempfile()?,
        };
        Ok(Self {
            values: BufWriter::new(file),
            count: 0,
            states: [0; 2],
            rejected: [0; Rejection::ALL.len()],
            counts: [0; COLUMNS],
            totals: [Total::default(); COLUMNS],
            held: vec![Total::default(); resources],
            first_submit: f64::INFINITY,
            last_end: f64::NEG_INFINITY,
        })
    }

    /// Counts a rejected job.
    pub fn reject(&mut self, reason: Rejection) {
        self.rejected[reason as usize - 1] += 1;
    }

    /// Takes a job that ran, and what it held of each resource.
    pub fn add(&mut self, job: &Measured, held: &[i64]) -> io::Result<()> {
        self.count += 1;
        self.states[usize::from(job.killed)] += 1;
        for (column, &value) in job.values.iter().enumerate() {
            self.values.write_all(&value.to_le_bytes())?;
            if !value.is_nan() {
                self.counts[column] += 1;
                self.totals[column].add(value);
            }
        }
        for (total, &amount) in self.held.iter_mut().zip(held) {
            total.add(amount as f64 * job.held_for);
        }
        self.first_submit = self.first_submit.min(job.submit_time);
        self.last_end = self.last_end.max(job.end_time);
        Ok(())
    }

    /// All aggregates, for a machine of these total capacities.
    pub fn finish(mut self, over_time: &OverTime, capacity: &[i64]) -> io::Result<Summary> {
        let quantiles = self.quantiles()?;
        let mut described = [Described::default(); COLUMNS];
        for (column, described) in described.iter_mut().enumerate() {
            let count = self.counts[column];
            described.mean = (count > 0).then(|| self.totals[column].value() / count as f64);
            described.quantiles = quantiles[column];
        }
        let makespan = (self.count > 0).then_some(self.last_end - self.first_submit);
        let span = over_time.begun.map(|begun| self.last_end - begun);
        let shares = |totals: &[Total], time: Option<f64>| -> Vec<Option<f64>> {
            let share = |(total, &capacity): (&Total, &i64)| ratio(total.value(), capacity as f64, time);
            totals.iter().zip(capacity).map(share).collect()
        };
        Ok(Summary {
            states: self.states,
            rejected: self.rejected,
            described,
            makespan,
            utilisation: shares(&self.held, makespan),
            mean_queue: ratio(over_time.queue.value(), 1.0, span),
            longest_queue: over_time.begun.map(|_| over_time.longest),
            lost: shares(&over_time.lost, span),
        })
    }

    fn quantiles(&mut self) -> io::Result<[Option<[f64; 4]>; COLUMNS]> {
        let mut selections: Vec<Option<Selection>> =
            self.counts.iter().map(|&count| (count > 0).then(|| Selection::new(&ranks(count)))).collect();
        self.values.flush()?;
        for _ in 0..Selection::PASSES {
            self.pass(&mut selections)?;
        }
        let mut quantiles = [None; COLUMNS];
        for (column, selection) in selections.iter().enumerate() {
            quantiles[column] =
                selection.as_ref().map(|found| interpolate(&found.found(), self.counts[column]));
        }
        Ok(quantiles)
    }

    fn pass(&mut self, selections: &mut [Option<Selection>]) -> io::Result<()> {
        let file = self.values.get_mut();
        file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::new(file);
        let mut bytes = [0; 8];
        for _ in 0..self.count {
            for selection in selections.iter_mut() {
                reader.read_exact(&mut bytes)?;
                let value = f64::from_le_bytes(bytes);
                if let (Some(selection), false) = (selection, value.is_nan()) {
                    selection.see(value);
                }
            }
        }
        for selection in selections.iter_mut().flatten() {
            selection.end_pass();
        }
        Ok(())
    }
}

fn ratio(amount: f64, capacity: f64, time: Option<f64>) -> Option<f64> {
    time.filter(|&time| time > 0.0 && capacity > 0.0).map(|time| amount / (capacity * time))
}

/// The ranks around each level, two for each.
fn ranks(count: u64) -> Vec<u64> {
    let last = count - 1;
    LEVELS
        .iter()
        .flat_map(|level| {
            let below = (level * last as f64).floor() as u64;
            [below.min(last), (below + 1).min(last)]
        })
        .collect()
}

/// Linear interpolation between order statistics (R's type 7).
fn interpolate(found: &[f64], count: u64) -> [f64; 4] {
    let mut quantiles = [0.0; 4];
    for (index, (quantile, level)) in quantiles.iter_mut().zip(LEVELS).enumerate() {
        let position = level * (count - 1) as f64;
        let (below, above) = (found[2 * index], found[2 * index + 1]);
        *quantile = below + (above - below) * (position - position.floor());
    }
    quantiles
}
