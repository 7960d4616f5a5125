//! The platform: hosts, links, and the routes between hosts.
//!
//! Routes are computed from zones, as in `SimGrid`: a zone knows how its members reach one another, members may be
//! zones, and a route goes up to the zone that holds both ends, and down again. A route costs O(hops + depth of the
//! zones); only where routes are given one by one there is a table of them. A platform is immutable, and shared by
//! the simulations that go on upon it.
use std::collections::HashMap;
use std::error::Error;
use std::fmt;

pub mod builder;
mod cables;
pub mod cluster;
mod dragonfly;
mod fat_tree;
mod given;
mod graph;
pub mod host;
mod path;
pub mod refusal;
mod torus;
mod zone;

pub use builder::{Builder, RouteNames, Rule};
pub use cluster::{Backbone, Cluster, Duplex, Topology};
pub use dragonfly::DragonflyShape;
pub use fat_tree::FatTreeShape;
pub use host::{Disk, Host, Link, Role, Sharing};
pub use refusal::{Kind, Refusal};

use given::{Ends, Given};
use path::{Path, Ways};
use zone::{Place, Routing, Table, Zone};

/// Hosts, links and routes; hosts and links are known by their places in the lists.
#[derive(Debug, Default)]
pub struct Platform {
    hosts: Vec<Host>,
    /// The hosts as points.
    host_points: Vec<u32>,
    links: Vec<Link>,
    /// Where hosts and routers are.
    points: Vec<Place>,
    zones: Vec<Zone>,
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

/// A point as a member of one of the zones that it is in.
#[derive(Clone, Copy, Debug)]
struct Member {
    member: u32,
    /// Whether the member is the point itself, and not a zone that holds it.
    direct: bool,
}

impl Platform {
    /// A platform of hosts, links, and the links from one host to another, as they are given: nothing is checked, and
    /// nothing else is reached.
    #[must_use]
    pub fn of_routes(hosts: Vec<Host>, links: Vec<Link>, routes: HashMap<(u32, u32), Vec<u32>>) -> Self {
        let mut table = Table::default();
        for ((from, to), links) in routes {
            table.insert(from, to, Given { links: links.into_boxed_slice(), ends: Ends::default() });
        }
        let points: Vec<Place> = (0..hosts.len() as u32).map(|member| Place { zone: 0, member }).collect();
        let zones = vec![Zone { place: None, depth: 0, routing: Routing::Table(table) }];
        Self { host_points: (0..hosts.len() as u32).collect(), hosts, links, points, zones }
    }

    /// The hosts.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Appends the links of a route to `links`, in the order in which a flow crosses them; gives the latency of all
    /// of them in seconds. Where there is no route, `links` is as it was.
    pub fn route(&self, from: u32, to: u32, links: &mut Vec<u32>) -> Result<f64, NoRoute> {
        let start = links.len();
        let mut path = Path::new(self, &self.links, links);
        if path.walk(self.host_points[from as usize], self.host_points[to as usize]).is_some() {
            return Ok(path.latency());
        }
        links.truncate(start);
        Err(NoRoute { from, to })
    }

    /// The innermost zone that holds two points, and what they are there.
    fn meeting(&self, from: u32, to: u32) -> (u32, Member, Member) {
        let (mut one, mut other) = (self.points[from as usize], self.points[to as usize]);
        let (first, second) = (one, other);
        while one.zone != other.zone {
            let (zone, against) = (&self.zones[one.zone as usize], &self.zones[other.zone as usize]);
            if zone.depth >= against.depth {
                one = zone.place.unwrap_or(one);
            }
            if against.depth >= zone.depth {
                other = against.place.unwrap_or(other);
            }
        }
        let member = |place: Place, own: Place| Member { member: place.member, direct: place == own };
        (one.zone, member(one, first), member(other, second))
    }
}

impl Ways for Platform {
    fn walk(&self, from: u32, to: u32, path: &mut Path<'_>) -> Option<()> {
        let (zone, source, target) = self.meeting(from, to);
        let start = path.len();
        let ends = self.zones[zone as usize].routing.route(source.member, target.member, path)?;
        let found = path.len() - start;
        let leave = ends.source.or(source.direct.then_some(from))?;
        let enter = ends.target.or(target.direct.then_some(to))?;
        if leave != from {
            self.walk(from, leave, path)?;
            path.move_back(start, found);
        }
        if enter != to {
            self.walk(enter, to, path)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
