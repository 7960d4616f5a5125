//! The links that a topology makes for itself, one after the other, so that a few numbers find each of them.
use super::path::Path;

/// Cables with consecutive links: two per cable, there and back, or one that both ways share.
#[derive(Clone, Copy, Debug)]
pub struct Cables {
    /// The first link.
    pub first: u32,
    /// Whether each cable is two links.
    pub split: bool,
}

impl Cables {
    /// The link of a cable that is used upwards, or in the positive direction.
    pub fn up(self, cable: u32) -> u32 {
        self.first + if self.split { 2 * cable } else { cable }
    }

    /// The link of a cable that is used the other way.
    pub fn down(self, cable: u32) -> u32 {
        self.up(cable) + u32::from(self.split)
    }
}

/// What hosts, and switches where there are any, have in addition to the cables.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The first of the hosts' links to themselves.
    pub loopbacks: Option<u32>,
    /// The first of the links that everything into or out of a host or switch crosses; hosts come first.
    pub limiters: Option<u32>,
}

impl Extras {
    /// Goes over a host's link to itself; whether it has one.
    pub fn stay(&self, host: u32, path: &mut Path<'_>) -> bool {
        if let Some(first) = self.loopbacks {
            path.push(first + host);
        }
        self.loopbacks.is_some()
    }

    /// Goes over the limiter of a host or switch, if there is one.
    pub fn limit(&self, at: u32, path: &mut Path<'_>) {
        if let Some(first) = self.limiters {
            path.push(first + at);
        }
    }
}
