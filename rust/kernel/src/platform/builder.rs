//! Builds a platform part by part: zones, hosts, routers, links and clusters first, then the routes between them.
//!
//! All names are resolved and checked here, once; O(1) per part, and O(links) per route.
use std::collections::HashMap;

use super::graph::{Graph, ShortestPaths};
use super::host::{Host, Link, Role, Sharing};
use super::platform::Platform;
use super::refusal::{Kind, MOST_HOSTS, MOST_LINKS, Refusal};
use super::route::{Ends, Given};
use super::zone::{Place, Ray, Routing, Star, Table, Zone};

/// Marks a link without a twin for the other direction.
const NONE: u32 = u32::MAX;

/// The routing rule of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Explicit routes.
    Full,
    /// Through a centre.
    Star,
    /// Shortest paths over the explicit routes, all computed initially.
    Floyd,
    /// Shortest paths over the explicit routes, computed when first needed.
    Dijkstra,
}

/// The meaning of a name in routes.
#[derive(Clone, Copy, Debug)]
enum Named {
    Point(u32),
    Zone(u32),
}

/// An explicit route: names of the ends and links.
#[derive(Clone, Debug, Default)]
pub struct RouteNames {
    /// The source: a host, router or zone.
    pub source: String,
    /// The target.
    pub target: String,
    /// The links, in order.
    pub links: Vec<String>,
    /// The gateways where it leaves a zone, and where it enters one.
    pub gateways: (Option<String>, Option<String>),
    /// True if the return route has the same links in reverse order.
    pub symmetrical: bool,
}

/// A platform under construction.
#[derive(Debug, Default)]
pub struct Builder {
    hosts: Vec<Host>,
    host_points: Vec<u32>,
    targets: Vec<Option<Vec<String>>>,
    links: Vec<Link>,
    twins: Vec<u32>,
    points: Vec<Place>,
    zones: Vec<Zone>,
    members: Vec<u32>,
    names: HashMap<String, Named>,
    link_names: HashMap<String, u32>,
    pub(super) fat_tree_hosts: u32,
    pub(super) fat_tree_cables: u32,
    pub(super) dragonfly_cables: u32,
}

impl Builder {
    /// Creates an empty builder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a zone; the first zone has no parent, and contains all others.
    pub fn zone(&mut self, parent: Option<u32>, name: &str, rule: Rule) -> Result<u32, Refusal> {
        let routing = match rule {
            Rule::Full => Routing::Table(Table::default()),
            Rule::Star => Routing::Star(Star::default()),
            Rule::Floyd => Routing::Graph(Graph::new(ShortestPaths::Floyd)),
            Rule::Dijkstra => Routing::Graph(Graph::new(ShortestPaths::Dijkstra)),
        };
        self.add_zone(parent, name, routing)
    }

    pub(super) fn add_zone(
        &mut self,
        parent: Option<u32>,
        name: &str,
        routing: Routing,
    ) -> Result<u32, Refusal> {
        let zone = self.zones.len() as u32;
        if parent.is_none() && zone > 0 {
            return Err(Refusal::SecondRoot);
        }
        self.take(name, Named::Zone(zone))?;
        let place = parent.map(|parent| self.join(parent));
        let depth = parent.map_or(0, |parent| self.zones[parent as usize].depth + 1);
        self.zones.push(Zone { place, depth, routing });
        self.members.push(0);
        Ok(zone)
    }

    /// Adds a host, and the names of the hosts of its storage traffic; all storage hosts of the platform by default.
    pub fn host(&mut self, zone: u32, host: Host, targets: Option<Vec<String>>) -> Result<u32, Refusal> {
        if self.hosts.len() as u64 >= MOST_HOSTS {
            return Err(Refusal::TooLarge);
        }
        let point = self.point(zone, &host.name)?;
        self.host_points.push(point);
        self.hosts.push(host);
        self.targets.push(targets);
        Ok(self.hosts.len() as u32 - 1)
    }

    /// Adds a router: a point that routes can pass through.
    pub fn router(&mut self, zone: u32, name: &str) -> Result<(), Refusal> {
        self.point(zone, name).map(|_| ())
    }

    /// Adds a link.
    pub fn link(&mut self, link: Link) -> Result<u32, Refusal> {
        self.check_room(1)?;
        let number = self.links.len() as u32;
        if self.link_names.contains_key(&link.name) {
            return Err(Refusal::Taken(Kind::Link, link.name));
        }
        self.link_names.insert(link.name.clone(), number);
        self.links.push(link);
        self.twins.push(NONE);
        Ok(number)
    }

    /// Adds the two links of a split-duplex cable, `NAME_UP` and `NAME_DOWN`.
    pub fn cable(&mut self, name: &str, bandwidth: f64, latency: f64) -> Result<(u32, u32), Refusal> {
        let link = |name| Link { name, bandwidth, latency, sharing: Sharing::Shared };
        let up = self.link(link(format!("{name}_UP")))?;
        let down = self.link(link(format!("{name}_DOWN")))?;
        self.twins[up as usize] = down;
        self.twins[down as usize] = up;
        Ok((up, down))
    }

    /// The number of the next link.
    pub(super) fn next_link(&self) -> u32 {
        self.links.len() as u32
    }

    /// Returns an error if this number of further links would be too many.
    pub(super) fn check_room(&self, links: u64) -> Result<(), Refusal> {
        if links > MOST_LINKS - self.links.len() as u64 { Err(Refusal::TooLarge) } else { Ok(()) }
    }

    /// Sets the links of a member of a star by name: to the centre and from it.
    pub fn ray(&mut self, zone: u32, member: &str, up: &[String], down: &[String]) -> Result<(), Refusal> {
        let (member, _) = self.end(zone, member, None)?;
        let (up, down) = (self.links_of(up)?, self.links_of(down)?);
        self.add_ray(zone, member, Ray { up: Some(up), down: Some(down), loopback: None })
    }

    pub(super) fn add_ray(&mut self, zone: u32, member: u32, ray: Ray) -> Result<(), Refusal> {
        match &mut self.zones[zone as usize].routing {
            Routing::Star(star) => *star.ray_mut(member) = ray,
            _ => return Err(Refusal::NoRoutesHere),
        }
        Ok(())
    }

    /// Adds a route between two members of a zone.
    pub fn route(&mut self, zone: u32, route: &RouteNames) -> Result<(), Refusal> {
        let (from, source) = self.end(zone, &route.source, route.gateways.0.as_deref())?;
        let (to, target) = self.end(zone, &route.target, route.gateways.1.as_deref())?;
        let links = self.links_of(&route.links)?;
        let twin = |link: &u32| match self.twins[*link as usize] {
            NONE => *link,
            twin => twin,
        };
        let back = links.iter().rev().map(twin).collect();
        self.insert(zone, (from, to), Given { links, ends: Ends { source, target } }, false)?;
        if route.symmetrical && from != to {
            let ends = Ends { source: target, target: source };
            self.insert(zone, (to, from), Given { links: back, ends }, true)?;
        }
        Ok(())
    }

    fn insert(
        &mut self,
        zone: u32,
        (from, to): (u32, u32),
        given: Given,
        reverse: bool,
    ) -> Result<(), Refusal> {
        let is_new = match &mut self.zones[zone as usize].routing {
            Routing::Table(table) => table.insert(from, to, given),
            Routing::Graph(graph) => graph.insert(from, to, given),
            _ => return Err(Refusal::NoRoutesHere),
        };
        if is_new { Ok(()) } else { Err(Refusal::RouteTwice { reverse }) }
    }

    /// Builds the platform.
    pub fn finish(mut self) -> Result<Platform, Refusal> {
        for (zone, members) in self.zones.iter_mut().zip(&self.members) {
            if let Routing::Graph(graph) = &mut zone.routing
                && !graph.finish(*members)
            {
                return Err(Refusal::TooManyForFloyd);
            }
        }
        self.find_targets()?;
        let Self { hosts, host_points, links, points, zones, .. } = self;
        Ok(Platform { hosts, host_points, links, points, zones })
    }

    /// Resolves the hosts of the storage traffic of the hosts.
    fn find_targets(&mut self) -> Result<(), Refusal> {
        let is_storage = |&host: &u32| self.hosts[host as usize].role == Role::Storage;
        let all: Vec<u32> = (0..self.hosts.len() as u32).filter(is_storage).collect();
        let mut by_point = HashMap::new();
        for (host, &point) in self.host_points.iter().enumerate() {
            by_point.insert(point, host as u32);
        }
        let find = |name: &String| match self.names.get(name) {
            Some(Named::Point(point)) if by_point.contains_key(point) => Ok(by_point[point]),
            _ => Err(Refusal::Unknown(Kind::Host, name.clone())),
        };
        for (host, targets) in self.hosts.iter_mut().zip(&self.targets) {
            if host.role == Role::Compute {
                host.storage_targets = match targets {
                    Some(names) => names.iter().map(find).collect::<Result<_, _>>()?,
                    None => all.clone(),
                };
            }
        }
        Ok(())
    }

    /// The end of a route as a member of its zone, and the gateway if it is a zone.
    fn end(&self, zone: u32, name: &str, gateway: Option<&str>) -> Result<(u32, Option<u32>), Refusal> {
        let unknown = || Refusal::Unknown(Kind::End, name.to_owned());
        let named = *self.names.get(name).ok_or_else(unknown)?;
        let place = match named {
            Named::Point(point) => Some(self.points[point as usize]),
            Named::Zone(inner) => self.zones[inner as usize].place,
        };
        let member = match place {
            Some(place) if place.zone == zone => place.member,
            _ => return Err(Refusal::Elsewhere(name.to_owned())),
        };
        Ok((member, self.gateway(named, name, gateway)?))
    }

    fn gateway(&self, end: Named, name: &str, gateway: Option<&str>) -> Result<Option<u32>, Refusal> {
        let Some(gateway) = gateway else {
            return match end {
                Named::Point(_) => Ok(None),
                Named::Zone(_) => Err(Refusal::NoGateway(name.to_owned())),
            };
        };
        let is_inside = |point: u32| match end {
            Named::Point(own) => point == own,
            Named::Zone(zone) => self.holds(zone, point),
        };
        match self.names.get(gateway) {
            Some(&Named::Point(point)) if is_inside(point) => Ok(Some(point)),
            _ => Err(Refusal::WrongGateway { gateway: gateway.to_owned(), end: name.to_owned() }),
        }
    }

    /// Returns whether a point is in a zone, directly or indirectly.
    fn holds(&self, zone: u32, point: u32) -> bool {
        let mut here = Some(self.points[point as usize]);
        while let Some(place) = here {
            if place.zone == zone {
                return true;
            }
            here = self.zones[place.zone as usize].place;
        }
        false
    }

    fn links_of(&self, names: &[String]) -> Result<Box<[u32]>, Refusal> {
        let find = |name: &String| {
            self.link_names.get(name).copied().ok_or_else(|| Refusal::Unknown(Kind::Link, name.clone()))
        };
        names.iter().map(find).collect()
    }

    fn point(&mut self, zone: u32, name: &str) -> Result<u32, Refusal> {
        let point = self.points.len() as u32;
        self.take(name, Named::Point(point))?;
        let place = self.join(zone);
        self.points.push(place);
        Ok(point)
    }

    fn join(&mut self, zone: u32) -> Place {
        let members = &mut self.members[zone as usize];
        *members += 1;
        Place { zone, member: *members - 1 }
    }

    fn take(&mut self, name: &str, named: Named) -> Result<(), Refusal> {
        if self.names.contains_key(name) {
            return Err(Refusal::Taken(Kind::End, name.to_owned()));
        }
        self.names.insert(name.to_owned(), named);
        Ok(())
    }
}
