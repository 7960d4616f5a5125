//! A route while it is being found.
//!
//! Latencies are added in the order in which they are found, which is not that of the links: first the way between
//! two zones, then from the source to the gateway, then from the other gateway to the target. `SimGrid` adds in this
//! order, and sums of floating-point numbers depend on it.
use super::host::Link;

/// What knows the ways between the points of a platform.
pub trait Ways {
    /// Goes from one point to another; None where there is no way.
    fn walk(&self, from: u32, to: u32, path: &mut Path<'_>) -> Option<()>;
}

/// The links found so far, and their latency.
pub struct Path<'a> {
    ways: &'a dyn Ways,
    all: &'a [Link],
    links: &'a mut Vec<u32>,
    latency: f64,
}

impl<'a> Path<'a> {
    /// A path over some of `all` links, which it appends to `links`.
    pub fn new(ways: &'a dyn Ways, all: &'a [Link], links: &'a mut Vec<u32>) -> Self {
        Self { ways, all, links, latency: 0.0 }
    }

    /// Seconds, of all links.
    pub fn latency(&self) -> f64 {
        self.latency
    }

    /// Goes over a link.
    pub fn push(&mut self, link: u32) {
        self.latency += self.all[link as usize].latency;
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

    /// Moves the first `count` links since `start` behind those found after them.
    pub fn move_back(&mut self, start: usize, count: usize) {
        self.links[start..].rotate_left(count);
    }

    /// Goes from one point of the platform to another; None where there is no way.
    pub fn walk(&mut self, from: u32, to: u32) -> Option<()> {
        self.ways.walk(from, to, self)
    }
}
