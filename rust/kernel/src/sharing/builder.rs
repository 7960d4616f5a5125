//! Converts messages and computations to demands on links and cores; no other code builds demands.
//!
//! A flow costs O(its route), a parallel task the sum of its routes; nothing is allocated after the buffers have grown.
//! Amounts are added message by message in the given order, so the same messages in the same order result in a bitwise
//! equal demand.
use serde::{Deserialize, Serialize};

use super::demand::{Demand, Rule};
use super::network::Network;
use super::resources::cores;
use crate::platform::{NoRoute, Platform, Sharing};

/// The fraction of a flow's rate that its acknowledgements use on the links of the return route.
const CROSS_TRAFFIC: f64 = 0.05;

/// A demand under construction, and its buffers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DemandBuilder {
    amount: f64,
    bound: f64,
    latency: f64,
    penalty: f64,
    uses: Vec<(u32, f64)>,
    /// For every resource, 1 + its index in `uses`; 0 if it is not in `uses`.
    place: Vec<u32>,
    route: Vec<u32>,
}

impl DemandBuilder {
    /// The last demand.
    #[must_use]
    pub fn demand(&self) -> Demand<'_> {
        let &Self { amount, bound, latency, penalty, ref uses, .. } = self;
        Demand { amount, uses, bound, latency, penalty, by_rate: false }
    }

    /// Builds the demand of a flow.
    pub fn flow(
        &mut self,
        platform: &Platform,
        network: &Network,
        (from, to): (u32, u32),
        bytes: f64,
    ) -> Result<(), NoRoute> {
        if network.rule == Rule::FairBottleneck && bytes > 0.0 {
            // The rule counts users and not the amounts they use: like SimGrid, make every flow a parallel task.
            let mut task = self.task(platform, network);
            task.send(from, to, bytes)?;
            return task.finish();
        }
        self.begin(platform, bytes / network.bandwidth_factor);
        let latency = self.find(platform, network, from, to)?;
        if latency > 0.0 && network.window > 0.0 {
            self.bound = network.window / (2.0 * latency);
        }
        if self.route.is_empty() {
            self.bound = self.bound.min(network.loopback_bandwidth);
        }
        self.latency = latency * network.latency_factor;
        if network.by_round_trip && self.latency > 0.0 {
            let delays =
                self.route.iter().map(|&link| network.weight / platform.links()[link as usize].bandwidth);
            self.penalty = latency + delays.sum::<f64>();
        }
        self.load_route(platform, 1.0);
        self.load_way_back(platform, network, (from, to), 1.0)
    }

    /// Begins the demand of a parallel task: computations and messages in fixed proportion.
    ///
    /// The task first waits for the longest of its latencies. Then its rate is bounded by the speed of each of its
    /// hosts, and by the window of its worst message.
    pub fn task<'a>(&'a mut self, platform: &'a Platform, network: &'a Network) -> TaskBuilder<'a> {
        self.begin(platform, 1.0);
        TaskBuilder { builder: self, platform, network, window: 0.0, only: None, parts: 0 }
    }

    /// Builds the demand of a parallel task: `flops` on each of the hosts, and `bytes` from each host to each, row by
    /// row.
    pub fn parallel_task(
        &mut self,
        platform: &Platform,
        network: &Network,
        hosts: &[u32],
        flops: &[f64],
        bytes: &[f64],
    ) -> Result<(), NoRoute> {
        let mut task = self.task(platform, network);
        for (&host, &amount) in hosts.iter().zip(flops) {
            task.compute(host, amount);
        }
        for (pair, &amount) in bytes.iter().enumerate() {
            task.send(hosts[pair / hosts.len()], hosts[pair % hosts.len()], amount)?;
        }
        task.finish()
    }

    /// Builds the demand of operations on one host: a parallel task without messages.
    pub fn computation(&mut self, platform: &Platform, host: u32, flops: f64) {
        self.begin(platform, 1.0);
        self.compute(platform, host, flops);
    }

    fn compute(&mut self, platform: &Platform, host: u32, flops: f64) {
        self.add(cores(platform, host), flops, Sharing::Shared);
        self.bound = self.bound.min(platform.hosts()[host as usize].speed / flops);
    }

    fn begin(&mut self, platform: &Platform, amount: f64) {
        self.place.resize(platform.links().len() + platform.hosts().len(), 0);
        for &(resource, _) in &self.uses {
            self.place[resource as usize] = 0;
        }
        self.uses.clear();
        (self.amount, self.bound, self.latency, self.penalty) = (amount, f64::INFINITY, 0.0, 1.0);
    }

    /// Adds to the use of a resource; for a fat pipe, the largest of the messages counts.
    fn add(&mut self, resource: u32, weight: f64, sharing: Sharing) {
        let place = &mut self.place[resource as usize];
        if *place == 0 {
            self.uses.push((resource, weight));
            *place = self.uses.len() as u32;
            return;
        }
        let sum = &mut self.uses[*place as usize - 1].1;
        *sum = match sharing {
            Sharing::Shared => *sum + weight,
            Sharing::FatPipe => sum.max(weight),
        };
    }

    /// Finds a route, in `self.route`; returns its latency.
    fn find(&mut self, platform: &Platform, network: &Network, from: u32, to: u32) -> Result<f64, NoRoute> {
        self.route.clear();
        let found = platform.route(from, to, &mut self.route);
        if from == to && self.route.is_empty() { Ok(network.loopback_latency) } else { found }
    }

    /// Adds this amount to the use of every link of the found route.
    fn load_route(&mut self, platform: &Platform, weight: f64) {
        let route = std::mem::take(&mut self.route);
        for &link in &route {
            self.add(link, weight, platform.links()[link as usize].sharing);
        }
        self.route = route;
    }

    /// Adds the acknowledgements of a message to the links of the return route.
    fn load_way_back(
        &mut self,
        platform: &Platform,
        network: &Network,
        (from, to): (u32, u32),
        weight: f64,
    ) -> Result<(), NoRoute> {
        if network.cross_traffic && from != to {
            self.find(platform, network, to, from)?;
            self.load_route(platform, CROSS_TRAFFIC * weight);
        }
        Ok(())
    }
}

/// A parallel task under construction.
#[derive(Debug)]
pub struct TaskBuilder<'a> {
    builder: &'a mut DemandBuilder,
    platform: &'a Platform,
    network: &'a Network,
    /// The greatest product of latency and bytes of a message.
    window: f64,
    /// The last message, and the number of messages and computations.
    only: Option<(u32, u32, f64)>,
    parts: u64,
}

impl TaskBuilder<'_> {
    /// Adds operations on a host, unless `flops` is 0.
    pub fn compute(&mut self, host: u32, flops: f64) {
        if flops > 0.0 {
            self.parts += 1;
            self.builder.compute(self.platform, host, flops);
        }
    }

    /// Adds a message, unless it has no bytes.
    pub fn send(&mut self, from: u32, to: u32, bytes: f64) -> Result<(), NoRoute> {
        if bytes <= 0.0 {
            return Ok(());
        }
        self.parts += 1;
        self.only = Some((from, to, bytes));
        let (builder, platform, network) = (&mut *self.builder, self.platform, self.network);
        let latency = builder.find(platform, network, from, to)?;
        let amount = bytes / network.bandwidth_factor;
        if builder.route.is_empty() {
            builder.bound = builder.bound.min(network.loopback_bandwidth / amount);
        }
        builder.load_route(platform, amount);
        builder.latency = builder.latency.max(latency * network.latency_factor);
        self.window = self.window.max(latency * amount);
        builder.load_way_back(platform, network, (from, to), amount)
    }

    /// Ends the task. A single message becomes a flow.
    pub fn finish(self) -> Result<(), NoRoute> {
        let Self { builder, platform, network, window, .. } = self;
        if let (Some((from, to, bytes)), 1, true) =
            (self.only, self.parts, network.rule != Rule::FairBottleneck)
        {
            return builder.flow(platform, network, (from, to), bytes);
        }
        if network.window > 0.0 && window > 0.0 {
            builder.bound = builder.bound.min(network.window / (2.0 * window));
        }
        if builder.uses.is_empty() && builder.bound.is_infinite() {
            builder.amount = 0.0;
        }
        Ok(())
    }
}
