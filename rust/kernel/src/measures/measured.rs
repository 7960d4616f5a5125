//! The measures of one job; the definitions are those of `batchlab.metrics`.
use crate::state::View;
use crate::workload::JobState;

/// Shorter run times count as this number of seconds in bounded slowdowns.
pub const THRESHOLD: f64 = 10.0;
/// The measures of one job: wait, turnaround, slowdown, bounded slowdown, per-processor slowdown.
pub const COLUMNS: usize = 5;

/// The measures of one job that ran.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub values: [f64; COLUMNS],
    pub held_for: f64,
    pub end_time: f64,
}

impl Measured {
    /// Computes the measures of a job that ended; `run_time` is without its overheads.
    #[must_use]
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
            held_for: end - start,
            end_time: end,
        }
    }
}
