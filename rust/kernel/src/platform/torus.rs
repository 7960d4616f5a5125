//! Tori of any number of dimensions, routed dimension by dimension, the shorter way round, as `SimGrid` 3.34 does.
//!
//! Each host has one cable per dimension, to its neighbour in the positive direction. O(hops) per route.
use super::cables::{Cables, Extras};
use super::path::Path;

/// A torus of hosts.
#[derive(Debug)]
pub struct Torus {
    /// Hosts along each dimension, two at least; the first one runs fastest.
    pub dimensions: Vec<u32>,
    /// Cable `host * dimensions + dimension`.
    pub cables: Cables,
    /// What the hosts have besides.
    pub extras: Extras,
}

impl Torus {
    /// Names of the cables, in order, and the dimension of each.
    pub fn cable_names(&self, cluster: &str) -> Vec<(String, usize)> {
        let hosts: u32 = self.dimensions.iter().product();
        let mut names = Vec::with_capacity(hosts as usize * self.dimensions.len());
        for host in 0..hosts {
            let mut weight = 1;
            for (dimension, &size) in self.dimensions.iter().enumerate() {
                let neighbour = next(host, weight, size);
                names.push((format!("{cluster}_link_from_{host}_to_{neighbour}"), dimension));
                weight *= size;
            }
        }
        names
    }

    /// Goes from one host to another.
    pub fn route(&self, from: u32, to: u32, path: &mut Path<'_>) {
        if from == to && self.extras.stay(from, path) {
            return;
        }
        let width = self.dimensions.len() as u32;
        let (mut here, mut weight) = (from, 1);
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let (mine, target) = (from / weight % size, to / weight % size);
            let positive = goes_up(mine, target, size);
            while here / weight % size != target {
                self.extras.limit(here, path);
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
        self.extras.limit(to, path);
    }
}

/// Whether the way from one coordinate to another goes in the positive direction.
fn goes_up(mine: u32, target: u32, size: u32) -> bool {
    let half = size / 2;
    (target > mine && target <= mine + half) || (mine > half && (mine + half) % size >= target)
}

fn next(host: u32, weight: u32, size: u32) -> u32 {
    if host / weight % size == size - 1 { host - (size - 1) * weight } else { host + weight }
}

fn previous(host: u32, weight: u32, size: u32) -> u32 {
    if (host / weight).is_multiple_of(size) { host + (size - 1) * weight } else { host - weight }
}
