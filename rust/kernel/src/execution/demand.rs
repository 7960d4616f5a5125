//! What parallel tasks ask of the platform: weights on links and CPUs, a greatest rate, a latency.
//!
//! A parallel task has the amount 1; its weight on a resource is what all of it uses there. Routes are asked for once
//! per pair of ranks; the weights of an all-to-all among n nodes are added up link by link, O(n² hops), and kept.
use serde::{Deserialize, Serialize};

use crate::platform::{NoRoute, Platform, Sharing};
use crate::sharing::Demand;

/// A flow has at most this many bytes under way at once (`SimGrid`'s TCP-gamma), so that its rate is at most half of
/// this per latency.
const WINDOW: f64 = 4_194_304.0;

/// A parallel task in the making: bytes and operations are added, each link stays once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Builder {
    /// The weight of each link, all 0 between uses, and the links that have one.
    weights: Vec<f64>,
    touched: Vec<u32>,
    route: Vec<u32>,
    latency: f64,
    /// The greatest product of the latency and the bytes of a pair.
    widest: f64,
}

/// Ready parallel tasks, in flat arrays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Demands {
    uses: Vec<(u32, f64)>,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Part {
    first: u32,
    after: u32,
    bound: f64,
    latency: f64,
}

/// The links that a traffic of one byte uses, so that other totals only scale it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shape {
    uses: Vec<(u32, f64)>,
    latency: f64,
    widest: f64,
    /// Bytes between the two GPUs of a node that exchange the most.
    pub inside: f64,
}

impl Builder {
    /// Adds what one host sends to another.
    pub fn send(&mut self, platform: &Platform, from: u32, to: u32, bytes: f64) -> Result<(), NoRoute> {
        if bytes <= 0.0 || from == to {
            return Ok(());
        }
        self.weights.resize(platform.links().len(), 0.0);
        self.route.clear();
        let latency = platform.route(from, to, &mut self.route)?;
        self.latency = self.latency.max(latency);
        self.widest = self.widest.max(latency * bytes);
        for &link in &self.route {
            let weight = &mut self.weights[link as usize];
            if *weight == 0.0 {
                self.touched.push(link);
            }
            *weight = match platform.links()[link as usize].sharing {
                Sharing::Shared => *weight + bytes,
                Sharing::FatPipe => weight.max(bytes),
            };
        }
        Ok(())
    }

    /// Ends the task, if all of it could be added: hands out its links with their weights, and forgets them.
    pub fn finish(&mut self, added: Result<(), NoRoute>) -> Result<Shape, NoRoute> {
        let mut uses = Vec::with_capacity(self.touched.len());
        for link in self.touched.drain(..) {
            uses.push((link, std::mem::take(&mut self.weights[link as usize])));
        }
        let (latency, widest) = (std::mem::take(&mut self.latency), std::mem::take(&mut self.widest));
        added.map(|()| Shape { uses, latency, widest, inside: 0.0 })
    }
}

impl Demands {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Adds a task that scales a shape, and computes; `computes` are resources, operations and speeds.
    pub fn add(&mut self, shape: &Shape, bytes: f64, computes: impl Iterator<Item = (u32, f64, f64)>) -> u32 {
        let first = self.uses.len() as u32;
        let mut bound = f64::INFINITY;
        for (cpu, flops, speed) in computes.filter(|(_, flops, _)| *flops > 0.0) {
            self.uses.push((cpu, flops));
            bound = bound.min(speed / flops);
        }
        self.merge(first as usize);
        let mut latency = 0.0;
        if bytes > 0.0 {
            self.uses.extend(shape.uses.iter().map(|&(link, weight)| (link, weight * bytes)));
            latency = shape.latency;
            if shape.widest > 0.0 {
                bound = bound.min(WINDOW / (2.0 * shape.widest * bytes));
            }
        }
        self.parts.push(Part { first, after: self.uses.len() as u32, bound, latency });
        self.parts.len() as u32 - 1
    }

    /// Has the last task use each CPU once: several ranks may be on one host.
    fn merge(&mut self, first: usize) {
        let uses = &mut self.uses;
        uses[first..].sort_unstable_by_key(|of| of.0);
        let mut kept = first;
        for at in first + 1..uses.len() {
            if uses[at].0 == uses[kept].0 {
                uses[kept].1 += uses[at].1;
            } else {
                kept += 1;
                uses[kept] = uses[at];
            }
        }
        uses.truncate(kept + 1);
    }

    /// A task as it is handed to the engine; None if there is nothing to do.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<Demand<'_>> {
        let Part { first, after, bound, latency } = self.parts[index as usize];
        let uses = &self.uses[first as usize..after as usize];
        (!uses.is_empty()).then_some(Demand { amount: 1.0, uses, bound, latency, ..Demand::default() })
    }
}
