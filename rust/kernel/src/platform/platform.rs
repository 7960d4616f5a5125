//! The platform: its hosts and links, and the search for routes through its zones.
use std::collections::HashMap;

use super::host::{Host, Link};
use super::path::{Path, Ways};
use super::route::{Ends, Given, NoRoute};
use super::zone::{Place, Routing, Table, Zone};

/// Hosts, links and routes; hosts and links are identified by index.
#[derive(Debug, Default)]
pub struct Platform {
    pub(super) hosts: Vec<Host>,
    /// The hosts as points.
    pub(super) host_points: Vec<u32>,
    pub(super) links: Vec<Link>,
    /// The zones and member numbers of hosts and routers.
    pub(super) points: Vec<Place>,
    pub(super) zones: Vec<Zone>,
}

/// A point as a member of one of the zones that contain it.
#[derive(Clone, Copy, Debug)]
struct Member {
    member: u32,
    /// True if the member is the point itself; false if it is a zone that contains it.
    direct: bool,
}

impl Platform {
    /// Creates a platform of hosts, links, and explicit routes between hosts. Nothing is checked, and no other routes
    /// exist.
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

    /// Appends the links of a route to `links`, in the order in which a flow crosses them; returns their total latency,
    /// seconds. Without a route, `links` is unchanged.
    pub fn route(&self, from: u32, to: u32, links: &mut Vec<u32>) -> Result<f64, NoRoute> {
        let start = links.len();
        let mut path = Path::new(self, &self.links, links);
        if path.walk(self.host_points[from as usize], self.host_points[to as usize]).is_some() {
            return Ok(path.latency());
        }
        links.truncate(start);
        Err(NoRoute { from, to })
    }

    /// The innermost zone that contains two points, and their members there.
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
            path.rotate(start, found);
        }
        if enter != to {
            self.walk(enter, to, path)?;
        }
        Some(())
    }
}
