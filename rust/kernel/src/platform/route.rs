//! Routes: as they are given, where they join zones, and that there is none.
use std::error::Error;
use std::fmt;

/// The points at which a route between zones leaves the one and enters the other; None for a member that is no zone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    /// In the zone of the source.
    pub source: Option<u32>,
    /// In the zone of the target.
    pub target: Option<u32>,
}

/// A route that was given: links, in order, and the ends where it joins zones.
#[derive(Clone, Debug)]
pub struct Given {
    /// The links.
    pub links: Box<[u32]>,
    /// The ends.
    pub ends: Ends,
}

/// Two hosts between which there is no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoute {
    /// The host that sends.
    pub from: u32,
    /// The host that receives.
    pub to: u32,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "there is no route from host {} to host {}", self.from, self.to)
    }
}

impl Error for NoRoute {}
