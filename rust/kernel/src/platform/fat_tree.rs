//! Parallel-ports generalised fat trees (Zahavi, "D-Mod-K Routing Providing Non-Blocking Traffic for Shift Permutations
//! on Real Life Fat Trees", 2010), with the routing of `SimGrid` 3.34: up by the target's position, down by the
//! source's if cables are parallel.
//!
//! Hosts are level 0. A node at level l has a label of one digit per level: the digits below l are indices of parents,
//! the digits from l on indices of children. Everything is computed from positions: O(levels) per route, without memory
//! in addition to the links themselves.
use super::cables::{Cables, Extras};
use super::path::Path;

/// The parameters of a fat tree, lowest level first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTreeShape {
    /// Children per switch.
    pub down: Vec<u32>,
    /// Parents per node.
    pub up: Vec<u32>,
    /// Parallel cables between a node and each parent.
    pub cables: Vec<u32>,
}

impl FatTreeShape {
    /// The number of nodes at each level; None if a number is 0, or too large to count.
    #[must_use]
    pub fn nodes(&self) -> Option<Vec<u64>> {
        (0..=self.down.len())
            .map(|level| {
                let factors = self.up[..level].iter().chain(&self.down[level..]);
                factors.into_iter().try_fold(1_u64, |nodes, &factor| nodes.checked_mul(u64::from(factor)))
            })
            .collect::<Option<Vec<u64>>>()
            .filter(|nodes| !nodes.contains(&0))
    }

    /// The numbers of hosts and cables; None if too large to count.
    #[must_use]
    pub fn sizes(&self) -> Option<(u64, u64)> {
        let nodes = self.nodes()?;
        let ports = self.up.iter().zip(&self.cables).map(|(&up, &cables)| u64::from(up) * u64::from(cables));
        let cables = nodes
            .iter()
            .zip(ports)
            .try_fold(0_u64, |sum, (nodes, ports)| sum.checked_add(nodes.checked_mul(ports)?));
        Some((nodes[0], cables?))
    }
}

/// A level, and the connections of its nodes to their parents.
#[derive(Clone, Copy, Debug)]
struct Level {
    children: u32,
    parents: u32,
    cables: u32,
    /// Number of nodes of this level that share the higher digits: the weight of this level's digit in positions.
    weight: u32,
    /// Number of hosts below one child: the weight of this level's digit in the positions of hosts.
    span: u32,
    /// The first cable of the level.
    first: u32,
    /// The index of the level's first node among all nodes; hosts come first.
    node: u32,
}

/// A fat tree.
#[derive(Debug)]
pub struct FatTree {
    levels: Vec<Level>,
    top: u32,
    cables: Cables,
    extras: Extras,
    /// `SimGrid` numbers the hosts of all fat trees of a platform consecutively, and routes by that number.
    offset: u32,
}

impl FatTree {
    /// Creates the tree of a shape with countable nodes and cables.
    pub fn new(shape: &FatTreeShape, cables: Cables, extras: Extras, offset: u32) -> Option<Self> {
        let nodes = shape.nodes()?;
        let (mut weight, mut span, mut first, mut node) = (1_u32, 1_u32, 0_u32, 0_u32);
        let mut levels = Vec::with_capacity(shape.down.len());
        for (level, &children) in shape.down.iter().enumerate() {
            let (parents, parallel) = (shape.up[level], shape.cables[level]);
            levels.push(Level { children, parents, cables: parallel, weight, span, first, node });
            let here = u32::try_from(nodes[level]).ok()?;
            first = first.checked_add(here.checked_mul(parents)?.checked_mul(parallel)?)?;
            node = node.checked_add(here)?;
            weight = weight.checked_mul(parents)?;
            span = span.checked_mul(children)?;
        }
        Some(Self { levels, top: node, cables, extras, offset })
    }

    /// The names of the cables in order; numbering continues at `first`.
    pub fn cable_names(&self, first: u32) -> Vec<String> {
        let hosts = i64::from(self.first_node(1));
        // Switches are numbered downwards, from twice the number of hosts.
        let label = |node: i64| if node < hosts { node } else { 3 * hosts - 1 - node };
        let mut names = Vec::new();
        for (index, level) in self.levels.iter().enumerate() {
            let next = self.first_node(index + 1);
            for position in 0..next - level.node {
                let below = label(i64::from(level.node + position));
                for parent in 0..level.parents {
                    let above = label(i64::from(next + level.above(position, parent)));
                    for _ in 0..level.cables {
                        names.push(format!("link_from_{below}_{above}_{}", first as usize + names.len()));
                    }
                }
            }
        }
        names
    }

    /// Adds the route from one host to another to the path.
    pub fn route(&self, from: u32, to: u32, path: &mut Path<'_>) {
        if from == to && self.extras.stay(from, path) {
            return;
        }
        let top = self.meeting_level(from, to);
        let position = self.climb(from, to, top, path);
        self.descend(from, to, top, position, path);
        self.extras.limit(to, path);
    }

    /// The lowest level with a node above both hosts.
    fn meeting_level(&self, from: u32, to: u32) -> usize {
        let differs = |level: &Level| from / level.span % level.children != to / level.span % level.children;
        self.levels.iter().rposition(differs).unwrap_or(0) + 1
    }

    /// Climbs to level `top`; returns the position reached there.
    fn climb(&self, from: u32, to: u32, top: usize, path: &mut Path<'_>) -> u32 {
        let mut position = from;
        for level in &self.levels[..top] {
            self.extras.limit(level.node + position, path);
            let port = (to + self.offset) / level.weight % (level.parents * level.cables);
            let (parent, cable) = (port % level.parents, port / level.parents);
            path.push(self.cables.up(level.cable(position, parent, cable)));
            position = level.above(position, parent);
        }
        position
    }

    /// Descends from a position at level `top`.
    ///
    /// The cable among parallel ones follows from the source. As in `SimGrid`, the search for the port of the next
    /// level continues at the port after the one found, and restarts only at the end of the ports.
    fn descend(&self, from: u32, to: u32, top: usize, mut position: u32, path: &mut Path<'_>) {
        let mut next_port = None;
        for index in (0..top).rev() {
            let level = &self.levels[index];
            let child = to / level.span % level.children;
            let port_from = |port: u32| {
                let found = port + (child + level.children - port % level.children) % level.children;
                (found < level.children * level.cables).then_some(found)
            };
            let anew = (from + self.offset) % level.cables * level.children + child;
            let port = next_port.and_then(port_from).unwrap_or(anew);
            next_port = Some(port + 1);
            let parent = position / level.weight % level.parents;
            let below = level.below(position, child);
            path.push(self.cables.down(level.cable(below, parent, port / level.children)));
            self.extras.limit(self.first_node(index + 1) + position, path);
            position = below;
        }
    }

    fn first_node(&self, level: usize) -> u32 {
        self.levels.get(level).map_or(self.top, |level| level.node)
    }
}

impl Level {
    /// The cable from a node of this level to a parent.
    fn cable(&self, position: u32, parent: u32, cable: u32) -> u32 {
        self.first + (position * self.parents + parent) * self.cables + cable
    }

    /// The position, one level up, of a node's parent.
    fn above(&self, position: u32, parent: u32) -> u32 {
        self.replaced(position, self.children, parent, self.parents)
    }

    /// The position, at this level, of a child of a node one level up.
    fn below(&self, position: u32, child: u32) -> u32 {
        self.replaced(position, self.parents, child, self.children)
    }

    /// A position with this level's digit replaced by one with another base.
    fn replaced(&self, position: u32, base: u32, digit: u32, new_base: u32) -> u32 {
        let (low, high) = (position % self.weight, position / self.weight / base);
        low + (digit + high * new_base) * self.weight
    }
}
