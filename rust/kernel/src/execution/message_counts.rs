//! Counts of the messages of jobs and their hops, if enabled: sums by job and class, not single messages.
//!
//! A message is counted when its transfer begins, O(its route).
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::application::MessageClasses;
use crate::platform::Platform;

/// The messages of one class that a job has sent in all of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassTotals {
    /// The job.
    pub job: u32,
    /// The class, as an index into [`MessageCounts::names`].
    pub class: u32,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of payload.
    pub bytes: f64,
    /// The sum of the hops.
    pub hops: u64,
    /// The maximum number of hops of one message.
    pub most_hops: u32,
    /// The sum of hops × payload.
    pub hop_bytes: f64,
}

/// The counts, in the order in which jobs sent their first messages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MessageCounts {
    /// True for links that count as a hop.
    hop_links: Vec<bool>,
    names: Vec<String>,
    totals: Vec<ClassTotals>,
    /// The index of the totals of a job and class.
    index: HashMap<(u32, u32), u32>,
    route: Vec<u32>,
}

impl MessageCounts {
    /// Creates empty counts.
    #[must_use]
    pub fn new(hop_links: Vec<bool>) -> Self {
        Self { hop_links, ..Self::default() }
    }

    /// The distinct names of classes.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The totals by job and class.
    #[must_use]
    pub fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    /// Determines the index of the totals of each message class of a job, unless already known.
    pub(super) fn find_places(&mut self, job: u32, classes: &MessageClasses, places: &mut Vec<u32>) {
        if places.is_empty() {
            places.extend(classes.names.iter().map(|name| self.place(job, name)));
        }
    }

    /// Counts a message from one host to another.
    pub(super) fn count(&mut self, platform: &Platform, place: u32, payload: f64, (from, to): (u32, u32)) {
        let hops = self.hops(platform, from, to);
        let totals = &mut self.totals[place as usize];
        totals.messages += 1;
        totals.bytes += payload;
        totals.hops += u64::from(hops);
        totals.most_hops = totals.most_hops.max(hops);
        totals.hop_bytes += f64::from(hops) * payload;
    }

    /// Number of links on a route that count as hops; 0 within a node.
    fn hops(&mut self, platform: &Platform, from: u32, to: u32) -> u32 {
        self.route.clear();
        if from == to || platform.route(from, to, &mut self.route).is_err() {
            return 0;
        }
        self.route.iter().filter(|link| self.hop_links[**link as usize]).count() as u32
    }

    /// The index of the totals of a job and class.
    fn place(&mut self, job: u32, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        let class = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u32;
        let next = self.totals.len() as u32;
        let place = *self.index.entry((job, class)).or_insert(next);
        if place == next {
            self.totals.push(ClassTotals {
                job,
                class,
                messages: 0,
                bytes: 0.0,
                hops: 0,
                most_hops: 0,
                hop_bytes: 0.0,
            });
        }
        place
    }
}
