//! A route under construction.
//!
//! Latencies are added in the order of discovery, which differs from the order of the links: first the route between
//! two zones, then from the source to the gateway, then from the other gateway to the target. `SimGrid` adds in this
//! order, and floating-point sums depend on it.
use super::host::Link;

/// Finds routes between any two points; zones need it if their routes lead through other zones.
pub trait Ways {
    /// Adds the route from one point to another to the path; None if there is no route.
    fn walk(&self, from: u32, to: u32, path: &mut Path<'_>) -> Option<()>;
}

/// The links found so far, and their latency.
pub struct Path<'a> {
    ways: &'a dyn Ways,
    links: &'a [Link],
    found: &'a mut Vec<u32>,
    latency: f64,
}

impl<'a> Path<'a> {
    /// Creates a path that appends its links to `found`.
    pub fn new(ways: &'a dyn Ways, links: &'a [Link], found: &'a mut Vec<u32>) -> Self {
        Self { ways, links, found, latency: 0.0 }
    }

    /// Total latency of the links, seconds.
    pub fn latency(&self) -> f64 {
        self.latency
    }

    /// Adds a link.
    pub fn push(&mut self, link: u32) {
        self.latency += self.links[link as usize].latency;
        self.found.push(link);
    }

    /// Adds links in order.
    pub fn extend(&mut self, links: &[u32]) {
        for &link in links {
            self.push(link);
        }
    }

    /// Adds the links that are not among the links from `since` on.
    pub fn extend_with_new(&mut self, links: &[u32], since: usize) {
        for &link in links {
            if !self.found[since..].contains(&link) {
                self.push(link);
            }
        }
    }

    /// Number of links.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Reverses the links from `start` on.
    pub fn turn_round(&mut self, start: usize) {
        self.found[start..].reverse();
    }

    /// Moves the first `count` links from `start` on to the end.
    pub fn rotate(&mut self, start: usize, count: usize) {
        self.found[start..].rotate_left(count);
    }

    /// Adds the route from one point of the platform to another; None if there is no route.
    pub fn walk(&mut self, from: u32, to: u32) -> Option<()> {
        let ways = self.ways;
        ways.walk(from, to, self)
    }
}
