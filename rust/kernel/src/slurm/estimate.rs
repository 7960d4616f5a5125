//! When and where a job could start if nothing but the jobs that run stood against it: `_will_run_test`.
use std::cmp::Ordering;

use super::node_bits::NodeBits;
use super::offer::Offer;
use super::select::Select;
use super::situation::{Allotment, Amounts, Entry, Held, Situation, give_back, take};

/// Jobs under `cons_tres` are removed in groups whose ends lie within a window: first so many seconds, then twice as many.
const WINDOW: f64 = 30.0;

/// The jobs that hold nodes, by their ends, and what they leave.
pub(super) struct Occupation {
    select: Select,
    now: f64,
    /// What is added to times to get those of the clock, on which windows begin.
    epoch: f64,
    machine: Vec<Amounts>,
    left: Vec<Amounts>,
    /// By end, then number.
    held: Vec<Held>,
}

impl Occupation {
    pub(super) fn of(situation: &Situation, select: Select, epoch: f64) -> Self {
        let mut held = situation.running.clone();
        if select == Select::Linear {
            // Nodes that have not answered count as held until now.
            held.extend(situation.completing.iter().map(|each| Held { end: situation.now, ..each.clone() }));
        }
        let mut left = situation.machine.clone();
        for each in &held {
            take(&mut left, &each.allotments);
        }
        held.sort_by(order);
        Self { select, now: situation.now, epoch, machine: situation.machine.clone(), left, held }
    }

    /// A job starts now.
    pub(super) fn start(&mut self, held: Held) {
        take(&mut self.left, &held.allotments);
        let place = self.held.partition_point(|each| order(each, &held).is_lt());
        self.held.insert(place, held);
    }

    /// The earliest start on these nodes, and what the job gets there; None where it does not fit when all are idle.
    pub(super) fn earliest(
        &self,
        entry: &Entry,
        usable: &NodeBits,
        most_nodes: u32,
    ) -> Option<(f64, Vec<Allotment>)> {
        let choose = |left: &[Amounts]| {
            let offer = Offer { usable, machine: &self.machine, left, most_nodes };
            self.select.choose(entry, offer)
        };
        if let Some(chosen) = choose(&self.left) {
            return Some((self.now, chosen));
        }
        let mut left = self.left.clone();
        let mut removal = Removal::new(&self.held, usable, self.epoch);
        loop {
            let last = match self.select {
                Select::Linear => removal.next_job(&mut left),
                Select::Cores => removal.next_group(&mut left),
            }?;
            if let Some(chosen) = choose(&left) {
                // The end of a job that is late is taken to be near.
                return Some((if last > self.now { last } else { self.now + 1.0 }, chosen));
            }
        }
    }
}

/// By end, then number.
fn order(one: &Held, other: &Held) -> Ordering {
    one.end.total_cmp(&other.end).then(one.job.cmp(&other.job))
}

/// Takes jobs away in the order of their ends.
struct Removal<'a> {
    held: &'a [Held],
    usable: &'a NodeBits,
    epoch: f64,
    next: usize,
    window: f64,
    /// From when on the windows are counted: the end of the first job, rounded up.
    first: Option<f64>,
}

impl<'a> Removal<'a> {
    fn new(held: &'a [Held], usable: &'a NodeBits, epoch: f64) -> Self {
        Self { held, usable, epoch, next: 0, window: WINDOW, first: None }
    }

    /// Takes the next job on a usable node away: its end.
    fn next_job(&mut self, left: &mut [Amounts]) -> Option<f64> {
        while let Some(held) = self.held.get(self.next) {
            self.next += 1;
            if held.nodes.meets(self.usable) {
                give_back(left, &held.allotments);
                return Some(held.end);
            }
        }
        None
    }

    /// Takes the jobs on usable nodes away whose ends are within the window: the last end. Others are passed over without a
    /// look at the window.
    fn next_group(&mut self, left: &mut [Amounts]) -> Option<f64> {
        let mut last = None;
        while let Some(held) = self.held.get(self.next) {
            self.next += 1;
            if !held.nodes.meets(self.usable) {
                continue;
            }
            self.first.get_or_insert_with(|| {
                let end = held.end + self.epoch;
                end + (WINDOW - end.rem_euclid(WINDOW)) - self.epoch
            });
            last = Some(held.end);
            give_back(left, &held.allotments);
            if self.next_is_beyond() {
                break;
            }
        }
        loop {
            self.window *= 2.0;
            if !self.next_is_beyond() {
                return last;
            }
        }
    }

    /// Whether the next job ends after the window.
    fn next_is_beyond(&self) -> bool {
        let begin = self.first.unwrap_or_default();
        self.held.get(self.next).is_some_and(|held| held.end > begin + self.window)
    }
}
