//! Explicit routes, their ends in zones, and the error of a missing route.
use std::error::Error;
use std::fmt;

/// The points at which a route between zones leaves one and enters the other; None for a member that is not a zone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    /// In the zone of the source.
    pub source: Option<u32>,
    /// In the zone of the target.
    pub target: Option<u32>,
}

/// An explicit route: links in order, and its ends in zones.
#[derive(Clone, Debug)]
pub struct Given {
    /// The links.
    pub links: Box<[u32]>,
    /// The ends.
    pub ends: Ends,
}

/// Two hosts without a route between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoute {
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "there is no route from host {} to host {}", self.from, self.to)
    }
}

impl Error for NoRoute {}
