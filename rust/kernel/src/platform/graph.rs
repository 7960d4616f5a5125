//! Shortest paths over explicit edges; the length of a path is the number of its links.
//!
//! Among paths of equal length, the choice is that of `SimGrid`'s rule with the same name. Floyd's rule costs
//! O(members³) and O(members²) memory when the platform is built; Dijkstra's rule O(edges × log members) at the first
//! query of a source, and O(members) memory per such source. A route then costs O(edges of the route).
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::OnceLock;

use super::path::Path;
use super::route::{Ends, Given};

/// The time at which shortest paths are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortestPaths {
    /// All of them initially.
    Floyd,
    /// The paths from a source at its first query.
    Dijkstra,
}

/// Marks a missing edge.
const NONE: u32 = u32::MAX;
/// The maximum number of members for Floyd's rule, because it needs about 10⁹ steps for this number.
pub const MOST_FLOYD_MEMBERS: u32 = 1_024;

#[derive(Debug)]
struct Edge {
    from: u32,
    to: u32,
    given: Given,
}

/// Edges, and the last edge of the shortest path between each two nodes.
#[derive(Debug)]
pub struct Graph {
    rule: ShortestPaths,
    edges: Vec<Edge>,
    /// The node number of each member.
    nodes: HashMap<u32, u32>,
    leaving: Vec<Vec<u32>>,
    last_edges: Vec<OnceLock<Box<[u32]>>>,
}

impl Graph {
    pub fn new(rule: ShortestPaths) -> Self {
        Self { rule, edges: Vec::new(), nodes: HashMap::new(), leaving: Vec::new(), last_edges: Vec::new() }
    }

    /// Adds an edge between two members; returns false if it exists already.
    pub fn insert(&mut self, from: u32, to: u32, given: Given) -> bool {
        let (from, to) = (self.node(from), self.node(to));
        if self.leaving[from as usize].iter().any(|&edge| self.edges[edge as usize].to == to) {
            return false;
        }
        self.leaving[from as usize].push(self.edges.len() as u32);
        self.edges.push(Edge { from, to, given });
        true
    }

    /// Completes the graph after all edges were added; returns false if it has too many members for the rule.
    pub fn finish(&mut self, members: u32) -> bool {
        self.last_edges = vec![OnceLock::new(); self.leaving.len()];
        if self.rule == ShortestPaths::Floyd {
            if members > MOST_FLOYD_MEMBERS {
                return false;
            }
            self.last_edges =
                self.floyd().into_iter().map(|row| OnceLock::from(row.into_boxed_slice())).collect();
        }
        true
    }

    pub fn route(&self, from: u32, to: u32, path: &mut Path<'_>) -> Option<Ends> {
        if from == to && !self.has_edge(from, to) {
            return Some(Ends::default());
        }
        let edges = self.edges_of(from, to)?;
        let source = edges.last()?.given.ends.source;
        let target = edges.first()?.given.ends.target;
        match self.rule {
            ShortestPaths::Floyd => Self::forwards(&edges, path)?,
            ShortestPaths::Dijkstra => Self::backwards(&edges, path)?,
        }
        Some(Ends { source, target })
    }

    fn has_edge(&self, from: u32, to: u32) -> bool {
        let (Some(&from), Some(to)) = (self.nodes.get(&from), self.nodes.get(&to)) else { return false };
        self.leaving[from as usize].iter().any(|&edge| self.edges[edge as usize].to == *to)
    }

    /// The edges of the shortest path, the last one first.
    fn edges_of(&self, from: u32, to: u32) -> Option<Vec<&Edge>> {
        let (&source, &target) = (self.nodes.get(&from)?, self.nodes.get(&to)?);
        let last_edges = self.last_edges[source as usize].get_or_init(|| self.dijkstra(source));
        let mut edges = Vec::new();
        let mut here = target;
        loop {
            let edge = self.edges.get(last_edges[here as usize] as usize)?;
            edges.push(edge);
            here = edge.from;
            if here == source {
                return Some(edges);
            }
        }
    }

    fn forwards(edges: &[&Edge], path: &mut Path<'_>) -> Option<()> {
        let mut arrived = None;
        for Edge { given, .. } in edges.iter().rev() {
            if let (Some(from), Some(to)) = (arrived, given.ends.source) {
                path.walk(from, to)?;
            }
            path.extend(&given.links);
            arrived = given.ends.target;
        }
        Some(())
    }

    /// Collects the links from the target to the source, and reverses them: `SimGrid` adds latencies in this order.
    fn backwards(edges: &[&Edge], path: &mut Path<'_>) -> Option<()> {
        let start = path.len();
        let mut left = None;
        for Edge { given, .. } in edges {
            if let (Some(from), Some(to)) = (given.ends.target, left) {
                let here = path.len();
                path.walk(from, to)?;
                path.turn_round(here);
            }
            given.links.iter().rev().for_each(|&link| path.push(link));
            left = given.ends.source;
        }
        path.turn_round(start);
        Some(())
    }

    fn node(&mut self, member: u32) -> u32 {
        let next = self.leaving.len() as u32;
        *self.nodes.entry(member).or_insert_with(|| {
            self.leaving.push(Vec::new());
            next
        })
    }

    fn dijkstra(&self, source: u32) -> Box<[u32]> {
        let mut lengths = vec![u64::MAX; self.leaving.len()];
        let mut last_edges = vec![NONE; self.leaving.len()];
        let mut open = BinaryHeap::from([Reverse((0_u64, source))]);
        lengths[source as usize] = 0;
        while let Some(Reverse((length, node))) = open.pop() {
            if length > lengths[node as usize] {
                continue;
            }
            for &number in &self.leaving[node as usize] {
                let edge = &self.edges[number as usize];
                let longer = length + edge.given.links.len() as u64;
                if longer < lengths[edge.to as usize] {
                    lengths[edge.to as usize] = longer;
                    last_edges[edge.to as usize] = number;
                    open.push(Reverse((longer, edge.to)));
                }
            }
        }
        // A loop is used only by the route of a member to itself.
        if let Some(&number) =
            self.leaving[source as usize].iter().find(|&&edge| self.edges[edge as usize].to == source)
        {
            last_edges[source as usize] = number;
        }
        last_edges.into_boxed_slice()
    }

    /// Iterates over the members in their order, which decides among paths of equal length.
    fn floyd(&self) -> Vec<Vec<u32>> {
        let count = self.leaving.len();
        let mut order: Vec<(u32, usize)> =
            self.nodes.iter().map(|(&member, &node)| (member, node as usize)).collect();
        order.sort_unstable();
        let mut lengths = vec![vec![u64::MAX; count]; count];
        let mut last_edges = vec![vec![NONE; count]; count];
        for (number, edge) in self.edges.iter().enumerate() {
            lengths[edge.from as usize][edge.to as usize] = edge.given.links.len() as u64;
            last_edges[edge.from as usize][edge.to as usize] = number as u32;
        }
        for &(_, through) in &order {
            let (onwards, last) = (lengths[through].clone(), last_edges[through].clone());
            for (from, row) in lengths.iter_mut().enumerate() {
                let there = row[through];
                if there == u64::MAX || from == through {
                    continue;
                }
                for to in (0..count).filter(|&to| to != from && onwards[to] != u64::MAX) {
                    if there + onwards[to] < row[to] {
                        row[to] = there + onwards[to];
                        last_edges[from][to] = last[to];
                    }
                }
            }
        }
        last_edges
    }
}
