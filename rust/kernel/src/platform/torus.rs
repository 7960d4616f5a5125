//! Tori of any number of dimensions, routed dimension by dimension in the shorter direction, like `SimGrid` 3.34.
//!
//! Each router has one cable per dimension, to its neighbour in the positive direction. O(hops) per route.
use super::cables::{Cables, Extras};
use super::path::Path;

/// The parameters of a torus.
#[derive(Clone, Debug)]
pub struct TorusShape {
    /// Number of routers along each dimension; the first one is fastest.
    pub dimensions: Vec<u32>,
    /// Bytes per second of the cables along each dimension, if they differ.
    pub bandwidths: Option<Vec<f64>>,
    /// Number of parallel cables along each dimension, in one link; 1 by default.
    pub cables: Option<Vec<u32>>,
    /// Number of hosts at each router.
    pub hosts: u32,
    /// Bandwidth (bytes per second) and latency (seconds) of each host's link to its router, in each direction.
    pub host_link: Option<(f64, f64)>,
}

impl TorusShape {
    /// Number of hosts and cables; None if too large to count.
    #[must_use]
    pub fn sizes(&self) -> Option<(u64, u64)> {
        let factors = self.dimensions.iter().map(|&size| u64::from(size));
        let routers = factors.into_iter().try_fold(1_u64, u64::checked_mul)?;
        let hosts = routers.checked_mul(u64::from(self.hosts))?;
        let cables = routers.checked_mul(self.dimensions.len() as u64)?;
        Some((hosts, cables.checked_add(if self.host_link.is_some() { hosts } else { 0 })?))
    }

    /// Bytes per second of the cables along a dimension, with parallel cables added up.
    #[must_use]
    pub fn bandwidth(&self, dimension: usize, usual: f64) -> f64 {
        let cables = self.cables.as_ref().map_or(1, |cables| cables[dimension]);
        self.bandwidths.as_ref().map_or(usual, |bandwidths| bandwidths[dimension]) * f64::from(cables)
    }
}

/// A torus of routers with hosts.
#[derive(Debug)]
pub struct Torus {
    /// Number of routers along each dimension, at least two; the first one is fastest.
    pub dimensions: Vec<u32>,
    /// Number of hosts at each router.
    pub hosts: u32,
    /// Cable `router * dimensions + dimension`.
    pub cables: Cables,
    /// The links of the hosts to their routers, upwards to the router; None if they have none.
    pub host_links: Option<Cables>,
    /// The additional links of the hosts.
    pub extras: Extras,
}

impl Torus {
    /// The names of the cables in order, and the dimension of each.
    pub fn cable_names(&self, cluster: &str) -> Vec<(String, usize)> {
        let routers: u32 = self.dimensions.iter().product();
        let mut names = Vec::with_capacity(routers as usize * self.dimensions.len());
        for router in 0..routers {
            let mut weight = 1;
            for (dimension, &size) in self.dimensions.iter().enumerate() {
                let neighbour = next(router, weight, size);
                names.push((format!("{cluster}_link_from_{router}_to_{neighbour}"), dimension));
                weight *= size;
            }
        }
        names
    }

    /// Adds the route from one host to another to the path.
    pub fn route(&self, from: u32, to: u32, path: &mut Path<'_>) {
        if from == to && self.extras.stay(from, path) {
            return;
        }
        if from != to
            && let Some(links) = self.host_links
        {
            path.push(links.up(from));
            self.cross(from, to, path);
            path.push(links.down(to));
            return;
        }
        self.cross(from, to, path);
    }

    /// Adds the route between the routers of two hosts to the path. The first host at each router has its
    /// limiter.
    fn cross(&self, from: u32, to: u32, path: &mut Path<'_>) {
        let (from, to) = (from / self.hosts, to / self.hosts);
        let width = self.dimensions.len() as u32;
        let (mut here, mut weight) = (from, 1);
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let (mine, target) = (from / weight % size, to / weight % size);
            let positive = is_positive_direction(mine, target, size);
            while here / weight % size != target {
                self.extras.limit(here * self.hosts, path);
                let cable = dimension as u32;
                if positive {
                    path.push(self.cables.up(here * width + cable));
                    here = next(here, weight, size);
                } else {
                    here = previous(here, weight, size);
                    path.push(self.cables.down(here * width + cable));
                }
            }
            weight *= size;
        }
        self.extras.limit(to * self.hosts, path);
    }
}

/// Returns whether the route from one coordinate to another has the positive direction.
fn is_positive_direction(mine: u32, target: u32, size: u32) -> bool {
    let half = size / 2;
    (target > mine && target <= mine + half) || (mine > half && (mine + half) % size >= target)
}

fn next(host: u32, weight: u32, size: u32) -> u32 {
    if host / weight % size == size - 1 { host - (size - 1) * weight } else { host + weight }
}

fn previous(host: u32, weight: u32, size: u32) -> u32 {
    if (host / weight).is_multiple_of(size) { host + (size - 1) * weight } else { host - weight }
}
