//! Zones: their members and routing rules.
//!
//! The members of a zone are numbered from 0: hosts, routers and zones in the order of addition. A table costs O(1) per
//! route and memory per explicit route; a star two lists of links per member.
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::dragonfly::Dragonfly;
use super::fat_tree::FatTree;
use super::graph::Graph;
use super::path::Path;
use super::route::{Ends, Given};
use super::torus::Torus;

/// The position of a point or a zone: the zone that contains it, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The zone.
    pub zone: u32,
    /// The member number in the zone.
    pub member: u32,
}

/// A zone.
#[derive(Debug)]
pub struct Zone {
    /// Its own position; None for the outermost zone.
    pub place: Option<Place>,
    /// Number of zones that contain it.
    pub depth: u32,
    /// The routing rule of its members.
    pub routing: Routing,
}

/// The routing rule of the members of a zone.
#[derive(Debug)]
pub enum Routing {
    /// Explicit routes only.
    Table(Table),
    /// Each member has links to and from a common centre.
    Star(Star),
    /// Shortest paths over explicit edges.
    Graph(Graph),
    /// A fat tree of hosts.
    FatTree(FatTree),
    /// A torus of hosts.
    Torus(Torus),
    /// A dragonfly of hosts.
    Dragonfly(Dragonfly),
}

impl Routing {
    /// Adds the route from one member to another to the path; None if there is no route.
    pub fn route(&self, from: u32, to: u32, path: &mut Path<'_>) -> Option<Ends> {
        match self {
            Self::Table(table) => return table.route(from, to, path),
            Self::Star(star) => return star.route(from, to, path),
            Self::Graph(graph) => return graph.route(from, to, path),
            Self::FatTree(tree) => tree.route(from, to, path),
            Self::Torus(torus) => torus.route(from, to, path),
            Self::Dragonfly(dragonfly) => dragonfly.route(from, to, path),
        }
        Some(Ends::default())
    }
}

/// Explicit routes by members.
#[derive(Debug, Default)]
pub struct Table {
    routes: HashMap<(u32, u32), Given>,
}

impl Table {
    /// Adds a route; returns false if it exists already.
    pub fn insert(&mut self, from: u32, to: u32, given: Given) -> bool {
        match self.routes.entry((from, to)) {
            Entry::Vacant(free) => {
                free.insert(given);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    fn route(&self, from: u32, to: u32, path: &mut Path<'_>) -> Option<Ends> {
        match self.routes.get(&(from, to)) {
            Some(given) => {
                path.extend(&given.links);
                Some(given.ends)
            }
            // A host that sends to itself needs no network.
            None => (from == to).then(Ends::default),
        }
    }
}

/// The links of a member of a star; None if not given.
#[derive(Clone, Debug, Default)]
pub struct Ray {
    /// From the member to the centre.
    pub up: Option<Box<[u32]>>,
    /// From the centre to the member.
    pub down: Option<Box<[u32]>>,
    /// From the member to itself.
    pub loopback: Option<u32>,
}

/// Members around a centre. A member without links, like a router, is at the centre.
#[derive(Debug, Default)]
pub struct Star {
    /// The members' links.
    pub rays: Vec<Ray>,
}

impl Star {
    /// The links of a member, mutable.
    pub fn ray_mut(&mut self, member: u32) -> &mut Ray {
        let member = member as usize;
        if self.rays.len() <= member {
            self.rays.resize(member + 1, Ray::default());
        }
        &mut self.rays[member]
    }

    fn route(&self, from: u32, to: u32, path: &mut Path<'_>) -> Option<Ends> {
        let empty = Ray::default();
        let source = self.rays.get(from as usize).unwrap_or(&empty);
        let target = self.rays.get(to as usize).unwrap_or(&empty);
        if let (true, Some(loopback)) = (from == to, source.loopback) {
            path.push(loopback);
            return Some(Ends::default());
        }
        let start = path.len();
        // A backbone is in both lists, and so is a link shared by both directions.
        path.extend_with_new(side(source, source.up.as_deref())?, start);
        path.extend_with_new(side(target, target.down.as_deref())?, start);
        Some(Ends::default())
    }
}

/// One direction of a ray; empty if neither direction is given.
fn side<'a>(ray: &'a Ray, links: Option<&'a [u32]>) -> Option<&'a [u32]> {
    links.or_else(|| (ray.up.is_none() && ray.down.is_none()).then_some(&[]))
}
