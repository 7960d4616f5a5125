//! Routes that are given link by link, and where routes join zones.

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
