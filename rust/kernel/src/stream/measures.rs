//! The aggregate measures of a run, while it goes on: the definitions are those of `batchlab.metrics`.
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::state::View;
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
}

impl Measured {
    /// The measures of a job that ended, whose run takes so long without its overheads.
    pub fn of(view: View<'_>, job: u32, run_time: f64, processors: i64) -> Self {
        let (row, jobs) = (view.scenario.job(job), &view.state.jobs);
        let (start, end) = (jobs.start_time(job), jobs.end_time(job));
        let killed = jobs.state(job) == JobState::Killed;
        let ran = if killed { end - start } else { run_time };
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
    /// Jobs still queued, still running, completed and killed.
    pub states: [u64; 4],
    /// Jobs that ran, and ended.
    pub ran: u64,
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
    /// The runs that were cut short; None where there were none.
    pub interrupted: Option<Interrupted>,
}

/// Runs that were cut short, and whose jobs waited again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interrupted {
    /// How many.
    pub runs: u64,
    /// Of how many jobs.
    pub jobs: u64,
    /// What has to be run again of them, seconds.
    pub lost_time: f64,
}

/// What the queue and the machine are integrated to over time, between the first change of a job's state and the last.
#[derive(Clone, Debug)]
pub struct OverTime {
    begun: Option<f64>,
    last: f64,
    /// The waiting jobs, held ones among them.
    queued: u64,
    /// What these ask for.
    waiting: Vec<i64>,
    /// What running jobs hold.
    used: Vec<i64>,
    capacity: Vec<i64>,
    queue: Total,
    longest: u64,
    lost: Vec<Total>,
}

impl OverTime {
    /// On a machine of these total capacities.
    pub fn new(capacity: Vec<i64>) -> Self {
        let resources = capacity.len();
        Self {
            begun: None,
            last: 0.0,
            queued: 0,
            waiting: vec![0; resources],
            used: vec![0; resources],
            capacity,
            queue: Total::default(),
            longest: 0,
            lost: vec![Total::default(); resources],
        }
    }

    /// A job begins to wait.
    pub fn comes(&mut self, view: View<'_>, job: u32) {
        self.pass(view.now());
        self.queued += 1;
        self.wait_for(view, job, 1);
    }

    /// A waiting job leaves the queue.
    pub fn leaves(&mut self, view: View<'_>, job: u32) {
        self.pass(view.now());
        self.queued -= 1;
        self.wait_for(view, job, -1);
    }

    /// A job is given its nodes.
    pub fn takes(&mut self, view: View<'_>, job: u32) {
        self.pass(view.now());
        self.use_for(view, job, 1);
    }

    /// A job gives its nodes back.
    pub fn gives_back(&mut self, view: View<'_>, job: u32) {
        self.pass(view.now());
        self.use_for(view, job, -1);
    }

    /// Nothing has changed since the last change.
    fn pass(&mut self, now: f64) {
        if self.begun.is_none() {
            (self.begun, self.last) = (Some(now), now);
        }
        let duration = now - self.last;
        if duration <= 0.0 {
            return;
        }
        self.last = now;
        self.longest = self.longest.max(self.queued);
        if self.queued == 0 {
            return;
        }
        self.queue.add(self.queued as f64 * duration);
        let amounts = self.capacity.iter().zip(&self.used).zip(&self.waiting);
        for (lost, ((&capacity, &used), &waiting)) in self.lost.iter_mut().zip(amounts) {
            lost.add((capacity - used).min(waiting) as f64 * duration);
        }
    }

    fn wait_for(&mut self, view: View<'_>, job: u32, sign: i64) {
        for (resource, waiting) in self.waiting.iter_mut().enumerate() {
            *waiting = waiting.saturating_add(sign * view.need(job, resource));
        }
    }

    fn use_for(&mut self, view: View<'_>, job: u32, sign: i64) {
        for (resource, used) in self.used.iter_mut().enumerate() {
            *used += sign * view.need(job, resource);
        }
    }

    /// Seconds from the first change to the last.
    fn span(&self) -> Option<f64> {
        self.begun.map(|begun| self.last - begun)
    }

    /// The greatest number of waiting jobs.
    fn longest(&self) -> Option<u64> {
        self.begun.map(|_| self.longest.max(self.queued))
    }
}

/// Measures of the jobs that are done; their values lie in a temporary file.
pub struct Measures {
    values: BufWriter<File>,
    count: u64,
    states: [u64; 4],
    rejected: [u64; Rejection::ALL.len()],
    counts: [u64; COLUMNS],
    totals: [Total; COLUMNS],
    held: Vec<Total>,
    first_submit: f64,
    last_end: f64,
    cut: Option<Box<CutShort>>,
}

/// What is known of runs that were cut short.
struct CutShort {
    runs: u64,
    jobs: u64,
    lost: Total,
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
            states: [0; 4],
            rejected: [0; Rejection::ALL.len()],
            counts: [0; COLUMNS],
            totals: [Total::default(); COLUMNS],
            held: vec![Total::default(); resources],
            first_submit: f64::INFINITY,
            last_end: f64::NEG_INFINITY,
            cut: None,
        })
    }

    /// Counts a rejected job.
    pub fn reject(&mut self, reason: Rejection) {
        self.rejected[reason as usize - 1] += 1;
    }

    /// Counts a job that is not rejected, in the state that it has at last.
    pub fn count(&mut self, state: JobState) {
        let states = [JobState::Queued, JobState::Running, JobState::Completed, JobState::Killed];
        if let Some(place) = states.iter().position(|&other| other == state) {
            self.states[place] += 1;
        }
    }

    /// Takes a run that is cut short now, and what it held of each resource; `is_first` of its job.
    pub fn cut_short(&mut self, view: View<'_>, job: u32, saved: f64, held: &[i64], is_first: bool) {
        let (submit, start, end) =
            (view.scenario.job(job).submit_time, view.state.jobs.start_time(job), view.now());
        let cut = self.cut.get_or_insert_with(|| {
            let (first_submit, last_end) = (f64::INFINITY, f64::NEG_INFINITY);
            Box::new(CutShort { runs: 0, jobs: 0, lost: Total::default(), first_submit, last_end })
        });
        cut.runs += 1;
        cut.jobs += u64::from(is_first);
        cut.lost.add(end - start - saved);
        cut.first_submit = cut.first_submit.min(submit);
        cut.last_end = cut.last_end.max(end);
        self.hold(held, end - start);
    }

    fn hold(&mut self, held: &[i64], seconds: f64) {
        for (total, &amount) in self.held.iter_mut().zip(held) {
            total.add(amount as f64 * seconds);
        }
    }

    /// Takes a job that ran, and what it held of each resource.
    pub fn add(&mut self, job: &Measured, held: &[i64]) -> io::Result<()> {
        self.count += 1;
        for (column, &value) in job.values.iter().enumerate() {
            self.values.write_all(&value.to_le_bytes())?;
            if !value.is_nan() {
                self.counts[column] += 1;
                self.totals[column].add(value);
            }
        }
        self.hold(held, job.held_for);
        self.first_submit = self.first_submit.min(job.submit_time);
        self.last_end = self.last_end.max(job.end_time);
        Ok(())
    }

    /// All aggregates.
    pub fn finish(mut self, over_time: &OverTime) -> io::Result<Summary> {
        let quantiles = self.quantiles()?;
        let mut described = [Described::default(); COLUMNS];
        for (column, described) in described.iter_mut().enumerate() {
            let count = self.counts[column];
            described.mean = (count > 0).then(|| self.totals[column].value() / count as f64);
            described.quantiles = quantiles[column];
        }
        let makespan = (self.count > 0).then_some(self.last_end - self.first_submit);
        let (held_for, span) = (self.held_for(), over_time.span());
        let shares = |totals: &[Total], time: Option<f64>| -> Vec<Option<f64>> {
            let share = |(total, &capacity): (&Total, &i64)| ratio(total.value(), capacity as f64, time);
            totals.iter().zip(&over_time.capacity).map(share).collect()
        };
        Ok(Summary {
            states: self.states,
            ran: self.count,
            rejected: self.rejected,
            described,
            makespan,
            utilisation: shares(&self.held, held_for),
            mean_queue: ratio(over_time.queue.value(), 1.0, span),
            longest_queue: over_time.longest(),
            lost: shares(&over_time.lost, span),
            interrupted: self.cut.map(|cut| Interrupted {
                runs: cut.runs,
                jobs: cut.jobs,
                lost_time: cut.lost.value(),
            }),
        })
    }

    /// The makespan, runs that were cut short counted in; None where no job ran.
    fn held_for(&self) -> Option<f64> {
        let (mut first, mut last) = (self.first_submit, self.last_end);
        if let Some(cut) = &self.cut {
            (first, last) = (first.min(cut.first_submit), last.max(cut.last_end));
        }
        (last >= first).then_some(last - first)
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
