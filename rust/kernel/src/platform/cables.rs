//! The links of a topology, numbered consecutively, so that each can be computed.
use super::path::Path;

/// Cables with consecutive links: two per cable, one for each direction, or one shared by both.
#[derive(Clone, Copy, Debug)]
pub struct Cables {
    /// The first link.
    pub first: u32,
    /// True if each cable has two links.
    pub split: bool,
}

impl Cables {
    /// The link of a cable upwards, or in the positive direction.
    pub fn up(self, cable: u32) -> u32 {
        self.first + if self.split { 2 * cable } else { cable }
    }

    /// The link of a cable in the other direction.
    pub fn down(self, cable: u32) -> u32 {
        self.up(cable) + u32::from(self.split)
    }
}

/// The additional links of hosts and switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The first of the hosts' loopback links.
    pub loopbacks: Option<u32>,
    /// The first of the limiter links, crossed by all traffic into or out of a host or switch; hosts come first.
    pub limiters: Option<u32>,
}

impl Extras {
    /// Adds a host's loopback link to the path; returns whether it has one.
    pub fn stay(&self, host: u32, path: &mut Path<'_>) -> bool {
        if let Some(first) = self.loopbacks {
            path.push(first + host);
        }
        self.loopbacks.is_some()
    }

    /// Adds the limiter of a host or switch to the path, if there is one.
    pub fn limit(&self, at: u32, path: &mut Path<'_>) {
        if let Some(first) = self.limiters {
            path.push(first + at);
        }
    }
}
