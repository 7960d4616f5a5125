//! Runs a set of activities until all have ended.
use super::builder::DemandBuilder;
use super::slots::Activities;
use crate::time::FineTime;

/// Returns the end of each activity. The activities begin at `starts`. `make` builds the demand of one activity; `look`
/// is called at every instant, so that the caller can abort.
pub fn completion_times<E>(
    activities: &mut Activities,
    starts: &[f64],
    mut make: impl FnMut(usize, &mut DemandBuilder) -> Result<(), E>,
    mut look: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by(|&one, &other| starts[one].total_cmp(&starts[other]));
    let mut waiting = order.into_iter().peekable();
    let mut ends = vec![f64::INFINITY; starts.len()];
    let mut buffer = DemandBuilder::default();
    loop {
        let start = waiting.peek().map_or(FineTime::NEVER, |&next| FineTime::at(starts[next]));
        let now = start.min(activities.next_time());
        if now == FineTime::NEVER {
            return Ok(ends);
        }
        look()?;
        while let Some(tag) = activities.pop_finished(now) {
            // As for jobs (S1): the begin plus the elapsed time, rounded once.
            let start = starts[tag as usize];
            ends[tag as usize] = (start + now.since(FineTime::at(start))).max(now.floor());
        }
        while let Some(next) = waiting.next_if(|&next| FineTime::at(starts[next]) <= now) {
            make(next, &mut buffer)?;
            activities.start(now, &buffer.demand(), next as u64);
        }
    }
}
