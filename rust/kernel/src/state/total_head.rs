//! The reservation of EASY's head after a pass, where one total decides which jobs fit (S6, S15).
use crate::cluster::NodeSetId;
use crate::time::Time;

use super::View;

/// The head, and when it would start.
#[derive(Clone, Debug)]
pub struct TotalHead {
    /// The job.
    pub job: u32,
    /// The amount that it needs.
    need: i64,
    /// When it is expected to fit; may be in the past.
    time: Time,
    /// What it leaves free then; None until it is asked for.
    extra: Option<i64>,
    /// The counters of the machine and of the runs.
    changes: (u64, u64),
}

impl TotalHead {
    /// Look for the instant at which a head fits if running jobs end as expected, unless this is known. O(log n).
    #[must_use]
    pub fn of(view: View<'_>, job: u32, need: i64, known: Option<Self>) -> Self {
        let changes = (view.state.machine.changes(), view.state.running.changes());
        let still = known.filter(|known| known.job == job && known.changes == changes);
        // Where the job could have started before now, what it leaves depends on the present.
        let still =
            still.map(|known| if known.time.0 < view.now() { Self { extra: None, ..known } } else { known });
        still.unwrap_or_else(|| {
            let time = first_with(view, need, free(view)).unwrap_or(Time(view.now()));
            Self { job, need, time, extra: None, changes }
        })
    }

    /// Return when it would start.
    #[must_use]
    pub fn shadow_time(&self, view: View<'_>) -> f64 {
        self.time.0.max(view.now())
    }

    /// Return whether it would not fit then beside a job that needs so much and runs on. O(log n) at first.
    pub fn is_delayed_by(&mut self, view: View<'_>, need: i64) -> bool {
        let instant = Time(self.shadow_time(view));
        let extra = *self.extra.get_or_insert_with(|| {
            let mut then = [free(view)];
            if let Some(ends) = view.state.running.by_expected_end() {
                ends.join_prefix(&mut then, &|end| end.time <= instant);
            }
            then[0] - self.need
        });
        need > extra
    }

    /// Return the earliest instant at which it fits beside a job that needs so much and never ends. O(log n).
    #[must_use]
    pub fn time_beside(&self, view: View<'_>, need: i64) -> f64 {
        first_with(view, self.need, free(view) - need).map_or(f64::INFINITY, |time| time.0.max(view.now()))
    }
}

/// Return what is free now.
fn free(view: View<'_>) -> i64 {
    view.state.machine.total_free_in(NodeSetId::ALL)[0]
}

/// Return the first expected end with which so much is free, if so much is free now. None if there is none.
fn first_with(view: View<'_>, need: i64, free: i64) -> Option<Time> {
    let ends = view.state.running.by_expected_end()?;
    ends.first_prefix(&mut [free], &|free| free[0] >= need).map(|end| end.time)
}
