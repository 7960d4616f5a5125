//! The resources of a platform in the numbering used everywhere: its links first, then the cores of its hosts.
use super::demand::Resource;
use crate::platform::{Platform, Sharing};

/// The resources of a platform. O(links + hosts).
#[must_use]
pub fn resources(platform: &Platform) -> Vec<Resource> {
    let links =
        platform.links().iter().map(|link| Resource { capacity: link.bandwidth, sharing: link.sharing });
    let hosts = platform.hosts().iter();
    let cores =
        hosts.map(|host| Resource { capacity: host.speed * f64::from(host.cores), sharing: Sharing::Shared });
    links.chain(cores).collect()
}

/// The resource of a host's cores.
#[must_use]
pub fn cores(platform: &Platform, host: u32) -> u32 {
    platform.links().len() as u32 + host
}
