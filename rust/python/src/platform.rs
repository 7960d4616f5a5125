//! Platforms, converted from Python part by part.
use std::sync::Arc;

use batchlab_kernel::platform::{
    Backbone, Builder, Cluster, Disk, DragonflyShape, Duplex, FatTreeShape, Host, Link, Platform as Kernel,
    Refusal, Role, RouteNames, Rule, Sharing, Topology, TorusShape,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::interrupt::interruptible;

#[derive(FromPyObject)]
struct ZonePart {
    name: String,
    routing: String,
}

#[derive(FromPyObject)]
struct DiskPart {
    read: f64,
    write: f64,
    whole_bytes: bool,
    capacity: Option<f64>,
}

impl DiskPart {
    fn taken(self) -> Disk {
        let Self { read, write, whole_bytes, capacity } = self;
        Disk { read, write, whole_bytes, capacity: capacity.unwrap_or(f64::INFINITY) }
    }
}

#[derive(FromPyObject)]
struct HostPart {
    name: String,
    speed: f64,
    cores: u32,
    gpus: u32,
    gpu_speed: f64,
    gpu_bandwidth: f64,
    disk: Option<DiskPart>,
    striping: Option<f64>,
    storage_targets: Option<Vec<String>>,
    role: String,
}

#[derive(FromPyObject)]
struct LinkPart {
    name: String,
    bandwidth: f64,
    latency: f64,
    sharing: String,
}

#[derive(FromPyObject)]
struct RoutePart {
    source: String,
    target: String,
    links: Vec<String>,
    source_gateway: Option<String>,
    target_gateway: Option<String>,
    symmetrical: bool,
}

#[derive(FromPyObject)]
struct RayPart {
    member: String,
    up: Vec<String>,
    down: Vec<String>,
}

#[derive(FromPyObject)]
struct ClusterPart {
    name: String,
    prefix: String,
    suffix: String,
    numbers: Vec<u32>,
    node: HostPart,
    bandwidth: f64,
    latency: f64,
    sharing: String,
    topology: TopologyPart,
    loopback: Option<LinkPart>,
    limiter: Option<f64>,
    router: Option<String>,
}

/// The kinds are distinguished by their fields.
#[derive(FromPyObject)]
enum TopologyPart {
    FatTree {
        down: Vec<u32>,
        up: Vec<u32>,
        cables: Vec<u32>,
    },
    Torus {
        dimensions: Vec<u32>,
        bandwidths: Option<Vec<f64>>,
        nodes_per_router: u32,
        cables: Option<Vec<u32>>,
        node_bandwidth: Option<f64>,
        node_latency: f64,
    },
    Dragonfly {
        groups: u32,
        chassis: u32,
        blades: u32,
        nodes_per_blade: u32,
        blue: u32,
        black: u32,
        green: u32,
    },
    Crossbar {
        backbone: Option<LinkPart>,
    },
}

fn sharing(name: &str) -> Duplex {
    match name {
        "split_duplex" => Duplex::Split,
        "fat_pipe" => Duplex::One(Sharing::FatPipe),
        _ => Duplex::One(Sharing::Shared),
    }
}

impl HostPart {
    fn taken(self) -> (Host, Option<Vec<String>>) {
        let role = match self.role.as_str() {
            "storage" => Role::Storage,
            "batch" => Role::Batch,
            "burst_buffer" => Role::BurstBuffer,
            _ => Role::Compute,
        };
        let host = Host {
            name: self.name,
            speed: self.speed,
            cores: self.cores,
            gpus: self.gpus,
            gpu_speed: self.gpu_speed,
            gpu_bandwidth: self.gpu_bandwidth,
            disk: self.disk.map(DiskPart::taken),
            striping: self.striping,
            storage_targets: Vec::new(),
            role,
        };
        (host, self.storage_targets)
    }
}

impl From<TopologyPart> for Topology {
    fn from(part: TopologyPart) -> Self {
        match part {
            TopologyPart::FatTree { down, up, cables } => Self::FatTree(FatTreeShape { down, up, cables }),
            TopologyPart::Torus {
                dimensions,
                bandwidths,
                nodes_per_router: hosts,
                cables,
                node_bandwidth,
                node_latency,
            } => {
                let host_link = node_bandwidth.map(|bandwidth| (bandwidth, node_latency));
                Self::Torus(TorusShape { dimensions, bandwidths, cables, hosts, host_link })
            }
            TopologyPart::Dragonfly { groups, chassis, blades, nodes_per_blade, blue, black, green } => {
                Self::Dragonfly(DragonflyShape {
                    groups: (groups, blue),
                    chassis: (chassis, black),
                    blades: (blades, green),
                    hosts: nodes_per_blade,
                })
            }
            TopologyPart::Crossbar { backbone } => Self::Crossbar(backbone.map(|link| Backbone {
                bandwidth: link.bandwidth,
                latency: link.latency,
                sharing: if link.sharing == "fat_pipe" { Sharing::FatPipe } else { Sharing::Shared },
            })),
        }
    }
}

impl From<ClusterPart> for Cluster {
    fn from(part: ClusterPart) -> Self {
        let (host, targets) = part.node.taken();
        Self {
            name: part.name,
            prefix: part.prefix,
            suffix: part.suffix,
            numbers: part.numbers,
            host,
            targets,
            bandwidth: part.bandwidth,
            latency: part.latency,
            duplex: sharing(&part.sharing),
            topology: part.topology.into(),
            loopback: part.loopback.map(|link| (link.bandwidth, link.latency)),
            limiter: part.limiter,
            router: part.router,
        }
    }
}

/// A part, and the operation that adds it.
enum Step {
    Zone(ZonePart),
    Host(HostPart),
    Router(String),
    Link(LinkPart),
    Cluster(Box<ClusterPart>),
    Ray(RayPart),
    Route(RoutePart),
}

impl Step {
    fn of(kind: &str, part: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(match kind {
            "zone" => Self::Zone(part.extract()?),
            "host" => Self::Host(part.extract()?),
            "router" => Self::Router(part.extract()?),
            "link" => Self::Link(part.extract()?),
            "cluster" => Self::Cluster(Box::new(part.extract()?)),
            "ray" => Self::Ray(part.extract()?),
            "route" => Self::Route(part.extract()?),
            _ => return Err(PyValueError::new_err(format!("there are no parts of kind {kind:?}"))),
        })
    }

    /// Adds the part to a zone; None for the first part only.
    fn take(self, zone: Option<u32>, builder: &mut Builder) -> Result<(), Refusal> {
        let inside = zone.unwrap_or_default();
        match self {
            Self::Zone(part) => {
                let rule = match part.routing.as_str() {
                    "star" => Rule::Star,
                    "floyd" => Rule::Floyd,
                    "dijkstra" => Rule::Dijkstra,
                    _ => Rule::Full,
                };
                builder.zone(zone, &part.name, rule).map(|_| ())
            }
            Self::Cluster(part) => Cluster::from(*part).build(zone, builder).map(|_| ()),
            Self::Host(part) => {
                let (host, targets) = part.taken();
                builder.host(inside, host, targets).map(|_| ())
            }
            Self::Router(name) => builder.router(inside, &name),
            Self::Link(LinkPart { name, bandwidth, latency, sharing: kind }) => match sharing(&kind) {
                Duplex::Split => builder.cable(&name, bandwidth, latency).map(|_| ()),
                Duplex::One(sharing) => builder.link(Link { name, bandwidth, latency, sharing }).map(|_| ()),
            },
            Self::Ray(part) => builder.ray(inside, &part.member, &part.up, &part.down),
            Self::Route(part) => {
                let RoutePart { source, target, links, source_gateway, target_gateway, symmetrical } = part;
                let gateways = (source_gateway, target_gateway);
                builder.route(inside, &RouteNames { source, target, links, gateways, symmetrical })
            }
        }
    }
}

/// Hosts, links and routes, for the kernel.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct Platform {
    /// Shared by the simulations that use it.
    pub kernel: Arc<Kernel>,
}

#[pymethods]
impl Platform {
    /// Build from parts in order: their kind, the number of their zone, and their description.
    ///
    /// Raise `ValueError` with the index of the part in the list and the reason if a part is refused.
    #[new]
    fn new(py: Python<'_>, parts: Vec<(String, Option<u32>, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let count = parts.len();
        let refuse = |place: usize, refusal: Refusal| PyValueError::new_err((place, refusal.to_string()));
        let mut steps = Vec::with_capacity(count);
        for (kind, zone, part) in parts {
            steps.push((zone, Step::of(&kind, &part)?));
            py.check_signals()?;
        }
        let built = interruptible(py, move || {
            let mut builder = Builder::new();
            for (place, (zone, step)) in steps.into_iter().enumerate() {
                step.take(zone, &mut builder).map_err(|refusal| (place, refusal))?;
            }
            builder.finish().map_err(|refusal| (count, refusal))
        })?;
        let kernel = built.map_err(|(place, refusal)| refuse(place, refusal))?;
        Ok(Self { kernel: Arc::new(kernel) })
    }

    /// The names of the hosts, in order.
    #[getter]
    fn hosts(&self) -> Vec<&str> {
        self.kernel.hosts().iter().map(|host| host.name.as_str()).collect()
    }

    /// Name, bandwidth (bytes per second) and latency (seconds) of each link; and true if flows do not share it.
    #[getter]
    fn links(&self) -> Vec<(&str, f64, f64, bool)> {
        let links = self.kernel.links().iter();
        links
            .map(|link| (link.name.as_str(), link.bandwidth, link.latency, link.sharing == Sharing::FatPipe))
            .collect()
    }

    /// Return the numbers of the links from one host to another, and their latency (seconds); None if there is no
    /// route.
    fn route(&self, source: u32, target: u32) -> PyResult<Option<(Vec<u32>, f64)>> {
        let hosts = self.kernel.hosts().len() as u32;
        if source.max(target) >= hosts {
            return Err(PyValueError::new_err(format!("there are {hosts} hosts, numbered from 0")));
        }
        let mut links = Vec::new();
        Ok(self.kernel.route(source, target, &mut links).ok().map(|latency| (links, latency)))
    }
}
