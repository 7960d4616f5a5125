//! Clusters: equal hosts connected by a topology.
//!
//! Names and routes follow `SimGrid` 3.34. Building costs O(hosts + links).
use super::builder::Builder;
use super::cables::{Cables, Extras};
use super::dragonfly::{Dragonfly, DragonflyShape};
use super::fat_tree::{FatTree, FatTreeShape};
use super::host::{Host, Link, Sharing};
use super::refusal::Refusal;
use super::torus::{Torus, TorusShape};
use super::zone::{Ray, Routing, Star};

/// The topology of a cluster.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Every host is connected to one switch, and through a backbone if there is one.
    Crossbar(Option<Backbone>),
    /// A fat tree.
    FatTree(FatTreeShape),
    /// A torus of routers.
    Torus(TorusShape),
    /// A dragonfly.
    Dragonfly(DragonflyShape),
}

/// A link that all traffic crosses.
#[derive(Clone, Copy, Debug)]
pub struct Backbone {
    /// Bandwidth, bytes per second.
    pub bandwidth: f64,
    /// Latency, seconds.
    pub latency: f64,
    /// The sharing of the link.
    pub sharing: Sharing,
}

/// The links of a cable for its two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// A link for each direction.
    Split,
    /// One link for both directions.
    One(Sharing),
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// The prefix of the host names, before the numbers.
    pub prefix: String,
    /// The suffix of the host names, after the numbers.
    pub suffix: String,
    /// The hosts' numbers.
    pub numbers: Vec<u32>,
    /// The properties of each host; its name is ignored.
    pub host: Host,
    /// The hosts of their storage traffic; all storage hosts of the platform by default.
    pub targets: Option<Vec<String>>,
    /// Bytes per second of each cable, in each direction.
    pub bandwidth: f64,
    /// Latency of each cable, seconds.
    pub latency: f64,
    /// The links of cables for their two directions.
    pub duplex: Duplex,
    /// The topology.
    pub topology: Topology,
    /// Bandwidth and latency of each host's loopback link, if it has one.
    pub loopback: Option<(f64, f64)>,
    /// Bandwidth of the limiter link, crossed by all traffic into or out of a host or switch, if there is one.
    pub limiter: Option<f64>,
    /// The name of the router at the centre of a crossbar, which is its gateway.
    pub router: Option<String>,
}

/// Names and bandwidths of cables.
type CableList = Vec<(String, f64)>;

impl Cluster {
    /// Adds the cluster to a platform.
    pub fn build(&self, parent: Option<u32>, platform: &mut Builder) -> Result<u32, Refusal> {
        if let Topology::Crossbar(backbone) = &self.topology {
            return self.crossbar(parent, *backbone, platform);
        }
        self.check_size(platform)?;
        let extras = self.extras(platform)?;
        let cables = Cables { first: platform.next_link(), split: self.duplex == Duplex::Split };
        let (routing, list) = self.fabric(cables, extras, platform)?;
        for (name, bandwidth) in list {
            self.cable(&name, bandwidth, platform)?;
        }
        let zone = platform.add_zone(parent, &self.name, routing)?;
        self.numbers.iter().try_for_each(|&number| self.add_host(zone, number, platform))?;
        Ok(zone)
    }

    fn crossbar(
        &self,
        parent: Option<u32>,
        backbone: Option<Backbone>,
        platform: &mut Builder,
    ) -> Result<u32, Refusal> {
        let zone = platform.add_zone(parent, &self.name, Routing::Star(Star::default()))?;
        let backbone = backbone.map(|Backbone { bandwidth, latency, sharing }| {
            platform.link(Link { name: format!("{}_backbone", self.name), bandwidth, latency, sharing })
        });
        let backbone = backbone.transpose()?;
        for (member, &number) in self.numbers.iter().enumerate() {
            self.add_host(zone, number, platform)?;
            let loopback = self.loopback.map(|_| self.add_loopback(number, platform)).transpose()?;
            let limiter = self.limiter.map(|_| self.add_limiter(i64::from(number), platform)).transpose()?;
            let (up, down) = self.cable(&self.link_name(number), self.bandwidth, platform)?;
            let to_centre = [limiter, Some(up), backbone].into_iter().flatten().collect();
            let from_centre = [backbone, Some(down), limiter].into_iter().flatten().collect();
            let ray = Ray { up: Some(to_centre), down: Some(from_centre), loopback };
            platform.add_ray(zone, member as u32, ray)?;
        }
        let default = || format!("{}{}_router{}", self.prefix, self.name, self.suffix);
        platform.router(zone, &self.router.clone().unwrap_or_else(default))?;
        Ok(zone)
    }

    /// Returns an error if the number of hosts does not match the topology, or it is too large, before anything is
    /// built.
    fn check_size(&self, platform: &Builder) -> Result<(), Refusal> {
        let (hosts, cables) = self.sizes().ok_or(Refusal::TooLarge)?;
        platform.check_room(cables.saturating_mul(2).saturating_add(self.switches()))?;
        if hosts != self.numbers.len() as u64 {
            return Err(Refusal::Hosts { needed: hosts, given: self.numbers.len() as u64 });
        }
        match &self.topology {
            Topology::Dragonfly(shape) if !shape.reaches_all_groups() => Err(Refusal::Groups(shape.groups.0)),
            _ => Ok(()),
        }
    }

    /// Number of hosts and cables of the topology; None if too large to count.
    fn sizes(&self) -> Option<(u64, u64)> {
        match &self.topology {
            Topology::Crossbar(_) => Some((self.numbers.len() as u64, self.numbers.len() as u64)),
            Topology::FatTree(shape) => shape.sizes(),
            Topology::Torus(shape) => shape.sizes(),
            Topology::Dragonfly(shape) => shape.sizes(),
        }
    }

    fn switches(&self) -> u64 {
        match &self.topology {
            Topology::FatTree(shape) => shape.nodes().map_or(0, |nodes| nodes[1..].iter().sum()),
            Topology::Dragonfly(shape) => shape.routers(),
            Topology::Crossbar(_) | Topology::Torus(..) => 0,
        }
    }

    /// Creates the loopback and limiter links of hosts and switches.
    fn extras(&self, platform: &mut Builder) -> Result<Extras, Refusal> {
        let mut extras = Extras::default();
        if self.loopback.is_some() {
            extras.loopbacks = Some(platform.next_link());
            for &number in &self.numbers {
                self.add_loopback(number, platform)?;
            }
        }
        if self.limiter.is_some() {
            extras.limiters = Some(platform.next_link());
            let (hosts, switches) = (self.numbers.len() as i64, self.switches() as i64);
            for number in (0..hosts).chain((2 * hosts - switches..2 * hosts).rev()) {
                self.add_limiter(number, platform)?;
            }
        }
        Ok(extras)
    }

    /// Creates the routing and cables of a topology without a centre.
    fn fabric(
        &self,
        cables: Cables,
        extras: Extras,
        platform: &mut Builder,
    ) -> Result<(Routing, CableList), Refusal> {
        Ok(match &self.topology {
            Topology::FatTree(shape) => {
                let tree =
                    FatTree::new(shape, cables, extras, platform.fat_tree_hosts).ok_or(Refusal::TooLarge)?;
                let names = tree.cable_names(platform.fat_tree_cables);
                platform.fat_tree_hosts += self.numbers.len() as u32;
                platform.fat_tree_cables += names.len() as u32;
                let list = names.into_iter().map(|name| (name, self.bandwidth)).collect();
                (Routing::FatTree(tree), list)
            }
            Topology::Torus(shape) => {
                let host_links = self.host_links(shape, platform)?;
                let cables = Cables { first: platform.next_link(), ..cables };
                let used: Vec<usize> =
                    (0..shape.dimensions.len()).filter(|&d| shape.dimensions[d] > 1).collect();
                let dimensions = used.iter().map(|&dimension| shape.dimensions[dimension]).collect();
                let torus = Torus { dimensions, hosts: shape.hosts, cables, host_links, extras };
                let bandwidth = |dimension: usize| shape.bandwidth(used[dimension], self.bandwidth);
                let names = torus.cable_names(&self.name).into_iter();
                let list = names.map(|(name, dimension)| (name, bandwidth(dimension))).collect();
                (Routing::Torus(torus), list)
            }
            Topology::Dragonfly(shape) => {
                let dragonfly = Dragonfly::new(*shape, cables, extras);
                let names = dragonfly.cable_names(platform.dragonfly_cables);
                platform.dragonfly_cables += names.len() as u32;
                let bundle = |(name, bundled)| (name, self.bandwidth * f64::from(bundled));
                (Routing::Dragonfly(dragonfly), names.into_iter().map(bundle).collect())
            }
            Topology::Crossbar(_) => (Routing::Star(Star::default()), Vec::new()),
        })
    }

    /// Creates the links of the hosts to their routers, if a torus has any.
    fn host_links(&self, shape: &TorusShape, platform: &mut Builder) -> Result<Option<Cables>, Refusal> {
        let Some((bandwidth, latency)) = shape.host_link else { return Ok(None) };
        let links = Cables { first: platform.next_link(), split: true };
        for &number in &self.numbers {
            platform.cable(&self.link_name(number), bandwidth, latency)?;
        }
        Ok(Some(links))
    }

    fn add_host(&self, zone: u32, number: u32, platform: &mut Builder) -> Result<(), Refusal> {
        let name = format!("{}{number}{}", self.prefix, self.suffix);
        platform.host(zone, Host { name, ..self.host.clone() }, self.targets.clone()).map(|_| ())
    }

    fn link_name(&self, number: u32) -> String {
        format!("{}_link_{number}", self.name)
    }

    fn add_loopback(&self, number: u32, platform: &mut Builder) -> Result<u32, Refusal> {
        let (bandwidth, latency) = self.loopback.unwrap_or_default();
        let name = format!("{}_loopback", self.link_name(number));
        platform.link(Link { name, bandwidth, latency, sharing: Sharing::FatPipe })
    }

    fn add_limiter(&self, number: i64, platform: &mut Builder) -> Result<u32, Refusal> {
        let name = format!("{}_link_{number}_limiter", self.name);
        let bandwidth = self.limiter.unwrap_or_default();
        platform.link(Link { name, bandwidth, latency: 0.0, sharing: Sharing::Shared })
    }

    fn cable(&self, name: &str, bandwidth: f64, platform: &mut Builder) -> Result<(u32, u32), Refusal> {
        match self.duplex {
            Duplex::Split => platform.cable(name, bandwidth, self.latency),
            Duplex::One(sharing) => {
                let link = Link { name: name.to_owned(), bandwidth, latency: self.latency, sharing };
                platform.link(link).map(|link| (link, link))
            }
        }
    }
}
