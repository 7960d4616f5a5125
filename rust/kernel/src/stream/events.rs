//! External events that are read while a log is simulated: one event is read ahead, and jobs are found by their
//! `job_id`.
//!
//! Memory is O(active jobs, and jobs to come that events have named), independent of the number of jobs that are over; a
//! job costs O(1) at its submission and at its end.
use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::time::Time;
use crate::workload::{EventSubject, ExternalEvent};

/// An event as it is read: it identifies a job by its `job_id`, since slots are reused.
#[derive(Clone, Debug)]
pub struct GivenEvent {
    /// Time of the event, seconds.
    pub time: f64,
    /// Its kind, one of [`crate::workload::EVENT_NAMES`].
    pub name: &'static str,
    /// The job of the event.
    pub job_id: Option<i64>,
    /// Other arguments of the event.
    pub subject: EventSubject,
}

/// The source of events, in time order.
pub type EventSource = Box<dyn Iterator<Item = io::Result<GivenEvent>> + Send>;

/// The future events, and the jobs that they may affect.
pub struct Events {
    source: EventSource,
    next: Option<GivenEvent>,
    /// The event that follows the removal of the nodes that are absent at the beginning.
    after: Option<GivenEvent>,
    /// The slots of active jobs; of several jobs with the same `job_id` the last.
    slots: HashMap<i64, u32>,
    /// Jobs that are held, or have a fixed priority, before their submission.
    ahead: HashMap<i64, Ahead>,
    /// The jobs so far: an inactive one of them is over.
    seen: Numbers,
    /// The least and the greatest `job_id` of events that were ignored and may be about jobs to come.
    ignored: Option<(i64, i64)>,
}

/// The numbers of jobs, as ranges: logs number their jobs nearly consecutively. With too many ranges, the numbers between
/// the first ones count as jobs, too.
#[derive(Debug, Default)]
struct Numbers {
    /// The last number of each range, by its first.
    ranges: BTreeMap<i64, i64>,
    /// All numbers from the first one to this one count as jobs.
    filled: Option<i64>,
}

/// Maximum number of ranges: 2 MB.
const MOST_RANGES: usize = 1 << 16;

impl Numbers {
    fn contains(&self, number: i64) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, &last)| number <= last)
    }

    /// Returns whether a number may count as a job without being one.
    fn is_vague(&self, number: i64) -> bool {
        self.filled.is_some_and(|filled| number <= filled)
    }

    /// Adds a number. O(log ranges).
    fn insert(&mut self, number: i64) {
        let before = self.ranges.range(..=number).next_back().map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| number <= last) {
            return;
        }
        let first = before.filter(|&(_, last)| last == number - 1).map_or(number, |(first, _)| first);
        let behind = number.checked_add(1).and_then(|next| self.ranges.remove(&next));
        self.ranges.insert(first, behind.unwrap_or(number));
        if self.ranges.len() > MOST_RANGES
            && let (Some((first, _)), Some((_, last))) = (self.ranges.pop_first(), self.ranges.pop_first())
        {
            self.ranges.insert(first, last);
            self.filled = Some(last);
        }
    }
}

/// What events have done to a job before its submission.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ahead {
    /// It is held.
    pub is_held: bool,
    /// Its fixed priority.
    pub priority: Option<f64>,
}

impl Events {
    /// Reads the first event. The `absent` nodes are removed with it, or at `first_submit` if that is earlier.
    pub fn open(source: EventSource, absent: &[u32], first_submit: Time) -> io::Result<Self> {
        let mut events = Self {
            source,
            next: None,
            after: None,
            slots: HashMap::new(),
            ahead: HashMap::new(),
            seen: Numbers::default(),
            ignored: None,
        };
        events.read_next(f64::NEG_INFINITY)?;
        if !absent.is_empty() {
            events.after = events.next.take();
            let time = events.after.as_ref().map_or(first_submit, |event| Time(event.time).min(first_submit));
            let nodes = absent.iter().map(|&node| node..node + 1).collect();
            let subject = EventSubject { nodes, ..EventSubject::default() };
            events.next = Some(GivenEvent { time: time.0, name: "remove", job_id: None, subject });
        }
        Ok(events)
    }

    /// The time of the next event; [`Time::NEVER`] after the last.
    pub fn next_time(&self) -> Time {
        self.next.as_ref().map_or(Time::NEVER, |event| Time(event.time))
    }

    /// Removes and returns the next event; None if there is no event, or its job is not active.
    pub fn take(&mut self) -> io::Result<Option<ExternalEvent>> {
        let Some(event) = self.next.take() else { return Ok(None) };
        self.read_next(event.time)?;
        let job = event.job_id.and_then(|job_id| self.slots.get(&job_id).copied());
        if let (None, Some(job_id)) = (job, event.job_id) {
            self.note_ahead(job_id, event.name, event.subject.value);
        }
        Ok(ExternalEvent::named(event.name, EventSubject { job, ..event.subject }))
    }

    /// Records what an event does to a job that is to come.
    fn note_ahead(&mut self, job_id: i64, name: &str, value: Option<f64>) {
        if !matches!(name, "hold" | "release" | "priority") {
            return;
        }
        if self.seen.contains(job_id) {
            if self.seen.is_vague(job_id) {
                let (least, greatest) = self.ignored.unwrap_or((job_id, job_id));
                self.ignored = Some((least.min(job_id), greatest.max(job_id)));
            }
            return;
        }
        let mut ahead = self.ahead.remove(&job_id).unwrap_or_default();
        match name {
            "hold" => ahead.is_held = true,
            "release" => ahead.is_held = false,
            "priority" => ahead.priority = value,
            _ => {}
        }
        if ahead != Ahead::default() {
            self.ahead.insert(job_id, ahead);
        }
    }

    /// Records the submission of a job; returns what events have done to it before. An error if such an event may have
    /// been ignored because the numbers of the log's jobs are scattered.
    pub fn begin(&mut self, job_id: i64, slot: u32) -> Result<Ahead, String> {
        if self.ignored.is_some_and(|(least, greatest)| (least..=greatest).contains(&job_id))
            && self.seen.is_vague(job_id)
        {
            return Err(format!(
                "job {job_id} comes after jobs with greater numbers, and an event before its submission may be about it; \
                 in a log of so scattered numbers this is unknown"
            ));
        }
        self.seen.insert(job_id);
        self.slots.insert(job_id, slot);
        Ok(self.ahead.remove(&job_id).unwrap_or_default())
    }

    /// Records the end of a job.
    pub fn end(&mut self, job_id: i64, slot: u32) {
        if self.slots.get(&job_id) == Some(&slot) {
            self.slots.remove(&job_id);
        }
    }

    fn read_next(&mut self, before: f64) -> io::Result<()> {
        self.next = match self.after.take() {
            Some(event) => Some(event),
            None => self.source.next().transpose()?,
        };
        match &self.next {
            Some(event) if !event.time.is_finite() || event.time < before => {
                let message = format!("an event at {} s after one at {before} s", event.time);
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kill(time: f64, job: i64) -> GivenEvent {
        GivenEvent { time, name: "kill", job_id: Some(job), subject: EventSubject::default() }
    }

    fn opened(source: impl Iterator<Item = GivenEvent> + Send + 'static) -> io::Result<Events> {
        Events::open(Box::new(source.map(Ok)), &[], Time(0.0))
    }

    #[test]
    fn nodes_that_are_not_there_from_the_beginning_are_removed_first() {
        for (submit, first) in [(0.0, 0.0), (9.0, 2.0)] {
            let source = Box::new([kill(2.0, 1)].into_iter().map(Ok));
            let mut events = Events::open(source, &[4], Time(submit)).expect("it opens");
            assert_eq!(events.next_time(), Time(first));
            let nodes = std::iter::once(4..5).collect();
            let removal = ExternalEvent::CloseNodes { nodes, jobs: crate::workload::Evacuation::Stay };
            assert_eq!(events.take().expect("it is read"), Some(removal));
            assert_eq!(events.next_time(), Time(2.0));
        }
    }

    #[test]
    fn one_event_is_read_ahead_and_jobs_are_kept_while_they_are_alive() {
        let read = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = std::sync::Arc::clone(&read);
        let count = 100_000;
        let source = (0..count).map(move |number| {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            kill(f64::from(number), i64::from(number))
        });
        let mut events = opened(source).expect("it opens");
        for number in 0..count {
            events.begin(i64::from(number), 7).expect("jobs are numbered in their order");
            assert_eq!(events.next_time(), Time(f64::from(number)));
            let event = events.take().expect("it is read");
            assert_eq!(event, Some(ExternalEvent::Kill(7)));
            let ahead = (number as usize + 2).min(count as usize);
            assert_eq!(read.load(std::sync::atomic::Ordering::Relaxed), ahead);
            events.end(i64::from(number), 7);
            assert!(events.slots.is_empty());
        }
        assert_eq!(events.next_time(), Time::NEVER);
    }

    #[test]
    fn an_event_finds_the_job_that_was_submitted_last_and_none_that_is_over() {
        let given = [kill(1.0, 5), kill(1.0, 5), kill(2.0, 6)];
        let mut events = opened(given.into_iter()).expect("it opens");
        for slot in 0..2 {
            assert_eq!(events.begin(5, slot), Ok(Ahead::default()));
        }
        events.end(5, 0);
        assert_eq!(events.take().expect("it is read"), Some(ExternalEvent::Kill(1)));
        events.end(5, 1);
        assert_eq!(events.take().expect("it is read"), None);
        assert_eq!(events.take().expect("it is read"), None);
    }

    fn hold(time: f64, job: i64) -> GivenEvent {
        GivenEvent { name: "hold", ..kill(time, job) }
    }

    #[test]
    fn nothing_is_kept_of_events_about_jobs_that_are_over() {
        let count = 1000;
        let of_two = |number: i64| [(number - 1).max(1), number + 1].map(|job| hold(number as f64, job));
        let mut events = opened((1..count).flat_map(of_two)).expect("it opens");
        for number in 1..count {
            let ahead = Ahead { is_held: number > 1, priority: None };
            assert_eq!(events.begin(number, 0), Ok(ahead));
            events.end(number, 0);
            // The first names a job that is over, the second one to come.
            assert_eq!(events.take().expect("it is read"), None);
            assert_eq!(events.take().expect("it is read"), None);
            assert_eq!(events.ahead.len(), 1);
        }
        assert!(events.slots.is_empty());
    }

    #[test]
    fn numbers_are_kept_as_ranges() {
        let mut numbers = Numbers::default();
        for number in [5, 3, 4, 9, i64::MAX, i64::MIN, 4] {
            numbers.insert(number);
        }
        let ranges: Vec<(i64, i64)> = numbers.ranges.iter().map(|(&first, &last)| (first, last)).collect();
        assert_eq!(ranges, [(i64::MIN, i64::MIN), (3, 5), (9, 9), (i64::MAX, i64::MAX)]);
        assert!([3, 4, 5, 9].into_iter().all(|number| numbers.contains(number)));
        assert!([2, 6, 8, 10].into_iter().all(|number| !numbers.contains(number)));
    }

    #[test]
    fn scattered_numbers_take_bounded_memory_and_are_an_error_if_they_matter() {
        let mut events = opened([hold(0.0, 3), hold(1.0, 5)].into_iter()).expect("it opens");
        for number in 0..=MOST_RANGES as i64 {
            events.begin(2 * number, 0).expect("no event was ignored");
            events.end(2 * number, 0);
        }
        assert_eq!(events.seen.ranges.len(), MOST_RANGES);
        assert_eq!(events.seen.filled, Some(2));
        events.take().expect("it is read");
        // Job 1 may have been meant by no event; job 3 was.
        assert_eq!(events.begin(1, 1), Ok(Ahead::default()));
        assert_eq!(events.begin(3, 1), Ok(Ahead { is_held: true, priority: None }));
        events.begin(2 * (MOST_RANGES as i64) + 100, 0).expect("no event was ignored");
        events.begin(2 * (MOST_RANGES as i64) + 102, 0).expect("no event was ignored");
        events.begin(2 * (MOST_RANGES as i64) + 104, 0).expect("no event was ignored");
        assert!(events.seen.filled >= Some(6));
        events.take().expect("it is read");
        assert!(events.ahead.is_empty());
        assert!(events.begin(5, 1).is_err_and(|error| error.starts_with("job 5 comes after jobs with")));
    }

    #[test]
    fn events_that_are_not_in_the_order_of_time_are_an_error() {
        let mut events = opened([kill(2.0, 1), kill(1.0, 1)].into_iter()).expect("it opens");
        assert!(events.take().is_err());
    }
}
