//! The parts of a platform: hosts and links.

use serde::{Deserialize, Serialize};

/// The role of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Runs jobs.
    #[default]
    Compute,
    /// An endpoint of the traffic of the parallel file system.
    Storage,
    /// Runs the batch system itself; not available to jobs.
    Batch,
    /// A burst buffer shared by all nodes over the network.
    BurstBuffer,
}

/// A disk, or a burst buffer in the node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Read bandwidth, bytes per second.
    pub read: f64,
    /// Write bandwidth, bytes per second.
    pub write: f64,
    /// True if operations progress in whole bytes at every event, as in `SimGrid`'s model of disks.
    pub whole_bytes: bool,
    /// Capacity for cached data, bytes; infinity if unbounded.
    pub capacity: f64,
}

/// A host: a compute node, or an endpoint of storage traffic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name, unique in the platform.
    pub name: String,
    /// Flops per second of one core.
    pub speed: f64,
    /// The number of cores.
    pub cores: u32,
    /// The number of GPUs.
    pub gpus: u32,
    /// Flops per second of one GPU.
    pub gpu_speed: f64,
    /// Bytes per second between two GPUs of this host.
    pub gpu_bandwidth: f64,
    /// The disk or burst buffer in the host, if any.
    pub disk: Option<Disk>,
    /// Present if burst buffers are striped over all nodes of a job: operations per byte.
    pub striping: Option<f64>,
    /// The hosts of its traffic with the parallel file system, evenly distributed.
    pub storage_targets: Vec<u32>,
    /// The role.
    pub role: Role,
}

/// The sharing of a link among flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sharing {
    /// The flows share the bandwidth.
    #[default]
    Shared,
    /// Each flow has the whole bandwidth.
    FatPipe,
}

/// A link in one direction: a split-duplex cable is two links, `NAME_UP` and `NAME_DOWN`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its name, unique in the platform.
    pub name: String,
    /// Bandwidth, bytes per second.
    pub bandwidth: f64,
    /// Latency, seconds.
    pub latency: f64,
    /// The sharing of the link among flows.
    pub sharing: Sharing,
}
