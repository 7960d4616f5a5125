//! A route while it is being found.
//!
//! Latencies are added in the order in which they are found, which is not that of the links: first the way between
//! two zones, then from the source to the gateway, then from the other gateway to the target. `SimGrid` adds in this
//! order, and sums of floating-point numbers depend on it.
use super::Platform;

/// The links found so far, and their latency.
pub struct Path<'a> {
    platform: &'a Platform,
    links: &'a mut Vec<u32>,
    latency: f64,
}

impl<'a> Path<'a> {
    /// A path that appends its links to `links`.
    pub fn new(platform: &'a Platform, links: &'a mut Vec<u32>) -> Self {
        Self { platform, links, latency: 0.0 }
    }

    /// Seconds, of all links.
    pub fn latency(&self) -> f64 {
        self.latency
    }

    /// Goes over a link.
    pub fn push(&mut self, link: u32) {
        self.latency += self.platform.links[link as usize].latency;
        self.links.push(link);
    }

    /// Goes over some links, in order.
    pub fn extend(&mut self, links: &[u32]) {
        for &link in links {
            self.push(link);
        }
    }

    /// Goes over those of some links that are not among the last ones, from `since` on.
    pub fn extend_with_new(&mut self, links: &[u32], since: usize) {
        for &link in links {
            if !self.links[since..].contains(&link) {
                self.push(link);
            }
        }
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Reverses the links from `start` on.
    pub fn turn_round(&mut self, start: usize) {
        self.links[start..].reverse();
    }

    /// Goes from one point of the platform to another; None where there is no way.
    pub fn walk(&mut self, from: u32, to: u32) -> Option<()> {
        let platform = self.platform;
        let (zone, source, target) = platform.meeting(from, to);
        let start = self.len();
        let ends = platform.zones[zone as usize].routing.route(source.member, target.member, self)?;
        let found = self.len() - start;
        let leave = ends.source.or(source.direct.then_some(from))?;
        let enter = ends.target.or(target.direct.then_some(to))?;
        if leave != from {
            self.walk(from, leave)?;
            self.links[start..].rotate_left(found);
        }
        if enter != to {
            self.walk(enter, to)?;
        }
        Some(())
    }
}
