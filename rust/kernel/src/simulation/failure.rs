//! Reasons why a run cannot continue.
use crate::record::MOST_LOOKS;
use crate::state::Defect;

/// Why a run cannot continue. Jobs are identified by their slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure<'a> {
    /// The application of a job cannot continue.
    Application {
        /// The job.
        job: u32,
        /// The reason.
        reason: &'a str,
    },
    /// The platform would be sampled more often than [`MOST_LOOKS`] times.
    Looks {
        /// Seconds from the first sample until now.
        span: f64,
        /// Seconds between two samples.
        interval: f64,
    },
    /// A violation of an invariant: a defect of the kernel.
    Defect(Defect),
}

/// Times from here on are written with an exponent.
const LARGE: f64 = 1e15;

impl Failure<'_> {
    /// Return the job that caused the failure, if any.
    #[must_use]
    pub fn job(&self) -> Option<u32> {
        match self {
            Self::Application { job, .. } => Some(*job),
            Self::Looks { .. } => None,
            Self::Defect(defect) => Some(defect.job),
        }
    }

    /// Return the message for a failure at `now`, of the job in this row.
    #[must_use]
    pub fn describe(&self, row: u64, now: f64) -> String {
        match self {
            Self::Application { reason, .. } => {
                let reason = reason.trim_end_matches('.');
                let now = if now < LARGE { now.to_string() } else { format!("{now:e}") };
                format!("the application of the job in row {row} cannot go on at {now} s: {reason}.")
            }
            Self::Looks { span, interval } => format!(
                "Sensing: {span} s ÷ {interval} s are more than {MOST_LOOKS} looks at the platform; take a longer \
                 interval."
            ),
            Self::Defect(defect) => format!(
                "the run is stopped, since its schedule would be wrong: of the job in row {row} at {} s, {defect}. This \
                 is a defect of batchlab: report it with what was simulated.",
                defect.time
            ),
        }
    }
}
