//! The platform: hosts, links, and the routes between hosts.
//!
//! Routes are computed from zones, as in `SimGrid`: a zone has a routing rule for its members, members may be zones,
//! and a route goes up to the zone that contains both ends, and down again. A route costs O(hops + depth of the zones);
//! only explicit routes are stored in a table. A platform is immutable, and shared by the simulations that use it.
pub mod builder;
mod cables;
pub mod cluster;
mod dragonfly;
mod fabric;
mod fat_tree;
mod graph;
pub mod host;
mod path;
#[expect(clippy::module_inception, reason = "the module is named after its type")]
mod platform;
pub mod refusal;
mod route;
mod torus;
mod zone;

pub use builder::{Builder, RouteNames, Rule};
pub use cluster::{Backbone, Cluster, Duplex, Topology};
pub use dragonfly::DragonflyShape;
pub use fabric::{Fabric, FabricKind};
pub use fat_tree::FatTreeShape;
pub use host::{Disk, Host, Link, Role, Sharing};
pub use platform::Platform;
pub use refusal::{Kind, Refusal};
pub use route::NoRoute;
pub use torus::TorusShape;

#[cfg(test)]
mod tests;
