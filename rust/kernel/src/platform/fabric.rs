//! Fabrics: positions of nodes in one network, and the hops between them, i.e. links between routers (S22).
//!
//! The formulas match the routes computed by tori, fat trees and dragonflies. O(dimensions or levels) per pair.
use serde::{Deserialize, Serialize};

/// The topology; coordinates begin with the lowest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FabricKind {
    /// Nodes of a router, then the dimensions of a torus.
    Torus,
    /// The levels of a fat tree; one level is a single switch.
    Tree,
    /// Nodes of a blade, blades of a chassis, chassis of a group, groups.
    Dragonfly,
}

impl FabricKind {
    /// All topologies with their names.
    pub const NAMES: [(&str, Self); 3] =
        [("torus", Self::Torus), ("tree", Self::Tree), ("dragonfly", Self::Dragonfly)];
}

/// Nodes with their positions in a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fabric {
    kind: FabricKind,
    /// The size of each level, the lowest first.
    sizes: Vec<u32>,
    /// The positions of the nodes as numbers, with the lowest level fastest.
    places: Vec<u32>,
    /// The positions as coordinates, node-major.
    coordinates: Vec<u32>,
}

impl Fabric {
    /// Creates a fabric of nodes at these positions; the lowest level is fastest in their numbers.
    pub fn new(kind: FabricKind, sizes: Vec<u32>, places: Vec<u32>) -> Result<Self, String> {
        let total = sizes.iter().try_fold(1_u32, |product, &size| product.checked_mul(size));
        let levels_fit = match kind {
            FabricKind::Torus => sizes.len() >= 2,
            FabricKind::Tree => !sizes.is_empty(),
            FabricKind::Dragonfly => sizes.len() == 4,
        };
        if !levels_fit || total.is_none_or(|total| places.iter().any(|&place| place >= total)) {
            return Err("the places of the nodes are not in the network".into());
        }
        let mut coordinates = Vec::with_capacity(places.len() * sizes.len());
        for &place in &places {
            let mut rest = place;
            for &size in &sizes {
                coordinates.push(rest % size);
                rest /= size;
            }
        }
        Ok(Self { kind, sizes, places, coordinates })
    }

    /// The topology.
    #[must_use]
    pub fn kind(&self) -> FabricKind {
        self.kind
    }

    /// The size of each level, the lowest first.
    #[must_use]
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.places.len()
    }

    /// The position of a node.
    #[must_use]
    pub fn place(&self, node: u32) -> u32 {
        self.places[node as usize]
    }

    fn point(&self, node: u32) -> &[u32] {
        let width = self.sizes.len();
        &self.coordinates[node as usize * width..][..width]
    }

    /// The number of hops from one node to another.
    #[must_use]
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let (one, other) = (self.point(from), self.point(to));
        match self.kind {
            FabricKind::Torus => around(one, other, &self.sizes),
            FabricKind::Tree => over_levels(one, other),
            FabricKind::Dragonfly => over_groups(one, other, self.sizes[1]),
        }
    }

    /// The number of hops from one node to another and back.
    #[must_use]
    pub fn round_trip(&self, one: u32, other: u32) -> u32 {
        match self.kind {
            // The routes of a dragonfly may differ by a cable from the return routes.
            FabricKind::Dragonfly => self.hops(one, other) + self.hops(other, one),
            _ => 2 * self.hops(one, other),
        }
    }
}

/// The shorter direction in each dimension.
fn around(one: &[u32], other: &[u32], sizes: &[u32]) -> u32 {
    let mut total = 0;
    for level in 1..sizes.len() {
        let apart = one[level].abs_diff(other[level]);
        total += apart.min(sizes[level] - apart);
    }
    total
}

/// Up to the lowest switch above both, and down again; the links of the nodes are not hops.
fn over_levels(one: &[u32], other: &[u32]) -> u32 {
    (0..one.len()).rev().find(|&level| one[level] != other[level]).map_or(0, |level| 2 * level as u32)
}

/// The routes of the dragonfly, cable by cable.
fn over_groups(one: &[u32], other: &[u32], blades: u32) -> u32 {
    let (mut blade, mut chassis, group) = (one[1], one[2], one[3]);
    let mut hops = 0;
    if group != other[3] {
        let exit = other[3];
        hops += u32::from(blade != exit % blades) + u32::from(chassis != exit / blades) + 1;
        (blade, chassis) = (group % blades, group / blades);
    }
    if blade != other[1] {
        hops += 1;
        // The routes continue from the first chassis.
        chassis = 0;
    }
    hops + u32::from(chassis != other[2])
}
