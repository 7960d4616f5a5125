//! What a platform is made of: hosts and links.

use serde::{Deserialize, Serialize};

/// What a host is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Runs jobs.
    #[default]
    Compute,
    /// An end of the parallel file system's traffic.
    Storage,
    /// Runs the batch system itself; no job ever sees it.
    Batch,
    /// A burst buffer that all nodes share, at the other side of the network.
    BurstBuffer,
}

/// A disk, or a burst buffer in the node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Bytes per second that can be read from it.
    pub read: f64,
    /// Bytes per second that can be written to it.
    pub write: f64,
    /// Whether operations progress in whole bytes at every event, as in `SimGrid`'s model of disks.
    pub whole_bytes: bool,
    /// Bytes that it can hold of what is cached there; infinite where that is not bounded.
    pub capacity: f64,
}

/// A host: a compute node, or an end point of storage traffic.
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
    /// Where burst buffers are striped over all nodes of a job: flops spent per byte.
    pub striping: Option<f64>,
    /// The hosts that its traffic with the parallel file system goes to, evenly.
    pub storage_targets: Vec<u32>,
    /// What it is there for.
    pub role: Role,
}

/// How a link serves the flows on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sharing {
    /// The flows share the bandwidth.
    #[default]
    Shared,
    /// Each flow has the whole bandwidth.
    FatPipe,
}

/// A link, which is used in one way: a split-duplex cable is two of them, `NAME_UP` and `NAME_DOWN`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its name, unique in the platform.
    pub name: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Seconds.
    pub latency: f64,
    /// How it serves the flows on it.
    pub sharing: Sharing,
}
