//! From bytes between hosts to demands on links: the network models, and parallel tasks.
//!
//! Resources are numbered alike everywhere: the links of the platform first, then the cores of its hosts. A flow costs
//! O(its route), a parallel task the sum of its routes; nothing allocates once the buffers have grown.
use serde::{Deserialize, Serialize};

use super::demand::{Demand, Resource, Rule};
use crate::platform::{NoRoute, Platform, Sharing};

/// The part of a flow's rate that its acknowledgements take of the links back.
const CROSS_TRAFFIC: f64 = 0.05;

/// What a network does to flows: `SimGrid`'s parameters, under its names.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// How rates are shared.
    pub rule: Rule,
    /// The part of the bandwidth that payloads can have (`network/bandwidth-factor`).
    pub bandwidth_factor: f64,
    /// How many latencies it takes before the first byte moves (`network/latency-factor`).
    pub latency_factor: f64,
    /// Bytes whose time on each link adds to the round trip that shares are weighted by (`network/weight-S`).
    pub weight_s: f64,
    /// The greatest window in bytes: a flow has at most this per two latencies; 0: no limit (`network/TCP-gamma`).
    pub tcp_gamma: f64,
    /// Whether acknowledgements load the links back (`network/crosstraffic`).
    pub cross_traffic: bool,
    /// Whether shares are proportional to the inverse of the round trip, as with TCP.
    pub by_round_trip: bool,
    /// Bytes per second of a flow from a host to itself where the platform has no such route (`network/loopback-bw`).
    pub loopback_bandwidth: f64,
    /// Its latency in seconds (`network/loopback-lat`).
    pub loopback_latency: f64,
}

impl Network {
    /// Plain max-min fairness and one latency.
    pub const MAX_MIN: Self = Self {
        rule: Rule::MaxMin,
        bandwidth_factor: 1.0,
        latency_factor: 1.0,
        weight_s: 0.0,
        tcp_gamma: 0.0,
        cross_traffic: false,
        by_round_trip: false,
        loopback_bandwidth: 1e10,
        loopback_latency: 0.0,
    };

    /// Casanova and Marchal, "A network model for simulation of grid application" (INRIA RR-4596, 2002).
    pub const CM02: Self = Self {
        rule: Rule::Rates,
        tcp_gamma: 4_194_304.0,
        cross_traffic: true,
        by_round_trip: true,
        ..Self::MAX_MIN
    };

    /// Velho and Legrand, "Accuracy study and improvement of network simulation in the `SimGrid` framework"
    /// (`SIMUTools` 2009): CM02 with factors fitted to packet-level simulation.
    pub const LV08: Self =
        Self { bandwidth_factor: 0.97, latency_factor: 13.01, weight_s: 20_537.0, ..Self::CM02 };

    /// Parallel tasks as `SimGrid`'s `ptask_L07` shares them, and with it `ElastiSim` and Batsim.
    pub const FAIR_BOTTLENECK: Self =
        Self { rule: Rule::FairBottleneck, tcp_gamma: 4_194_304.0, ..Self::MAX_MIN };
}

/// A demand that is being put together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Draft {
    amount: f64,
    bound: f64,
    latency: f64,
    penalty: f64,
    uses: Vec<(u32, f64)>,
    /// For every resource, one more than where it stands in `uses`; 0 where it does not.
    place: Vec<u32>,
    route: Vec<u32>,
    back: Vec<u32>,
}

impl Draft {
    /// The demand.
    #[must_use]
    pub fn demand(&self) -> Demand<'_> {
        let &Self { amount, bound, latency, penalty, ref uses, .. } = self;
        Demand { amount, uses, bound, latency, penalty }
    }

    fn begin(&mut self, platform: &Platform, amount: f64) {
        self.place.resize(platform.links().len() + platform.hosts().len(), 0);
        for &(resource, _) in &self.uses {
            self.place[resource as usize] = 0;
        }
        self.uses.clear();
        (self.amount, self.bound, self.latency, self.penalty) = (amount, f64::INFINITY, 0.0, 1.0);
    }

    /// Adds to what is taken of a resource; of a fat pipe, whoever takes most counts.
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

    /// Finds a route, in `self.route`; its latency.
    fn find(&mut self, platform: &Platform, network: &Network, from: u32, to: u32) -> Result<f64, NoRoute> {
        self.route.clear();
        let found = platform.route(from, to, &mut self.route);
        if from == to && self.route.is_empty() { Ok(network.loopback_latency) } else { found }
    }

    /// Makes the demand of a flow under one of the models of flows.
    pub fn flow(
        &mut self,
        platform: &Platform,
        network: &Network,
        (from, to): (u32, u32),
        bytes: f64,
    ) -> Result<(), NoRoute> {
        let latency = self.find(platform, network, from, to)?;
        self.begin(platform, bytes / network.bandwidth_factor);
        let links = platform.links();
        let route = std::mem::take(&mut self.route);
        for &link in &route {
            self.add(link, 1.0, links[link as usize].sharing);
        }
        if network.cross_traffic && from != to {
            self.back.clear();
            platform.route(to, from, &mut self.back)?;
            let back = std::mem::take(&mut self.back);
            for &link in &back {
                self.add(link, CROSS_TRAFFIC, links[link as usize].sharing);
            }
            self.back = back;
        }
        self.bound = match latency {
            _ if route.is_empty() => network.loopback_bandwidth,
            latency if latency > 0.0 && network.tcp_gamma > 0.0 => network.tcp_gamma / (2.0 * latency),
            _ => f64::INFINITY,
        };
        self.latency = latency * network.latency_factor;
        if network.by_round_trip && self.latency > 0.0 {
            let delays = route.iter().map(|&link| network.weight_s / links[link as usize].bandwidth);
            self.penalty = latency + delays.sum::<f64>();
        }
        self.route = route;
        Ok(())
    }

    /// Makes the demand of a parallel task: `flops` on each of the hosts, and `bytes` from each to each, row by row,
    /// all in proportion to one another.
    ///
    /// It waits for the longest of its latencies first, then goes no faster than any of its hosts alone computes, or than
    /// the window lets its worst pair send.
    pub fn parallel_task(
        &mut self,
        platform: &Platform,
        network: &Network,
        hosts: &[u32],
        flops: &[f64],
        bytes: &[f64],
    ) -> Result<(), NoRoute> {
        self.begin(platform, 1.0);
        self.compute(platform, hosts, flops);
        let mut window = 0.0_f64;
        for (pair, &amount) in bytes.iter().enumerate().filter(|pair| *pair.1 > 0.0) {
            let (from, to) = (hosts[pair / hosts.len()], hosts[pair % hosts.len()]);
            let latency = self.find(platform, network, from, to)?;
            let route = std::mem::take(&mut self.route);
            for &link in &route {
                self.add(link, amount, platform.links()[link as usize].sharing);
            }
            if route.is_empty() {
                self.bound = self.bound.min(network.loopback_bandwidth / amount);
            }
            self.route = route;
            self.latency = self.latency.max(latency);
            window = window.max(latency * amount);
        }
        if network.tcp_gamma > 0.0 && window > 0.0 {
            self.bound = self.bound.min(network.tcp_gamma / (2.0 * window));
        }
        if self.uses.is_empty() && self.bound.is_infinite() {
            self.amount = 0.0;
        }
        Ok(())
    }

    fn compute(&mut self, platform: &Platform, hosts: &[u32], flops: &[f64]) {
        for (&host, &amount) in hosts.iter().zip(flops).filter(|task| *task.1 > 0.0) {
            self.add(platform.links().len() as u32 + host, amount, Sharing::Shared);
            self.bound = self.bound.min(platform.hosts()[host as usize].speed / amount);
        }
    }
}

/// The resources of a platform: its links, then the cores of its hosts.
#[must_use]
pub fn resources(platform: &Platform) -> Vec<Resource> {
    let links =
        platform.links().iter().map(|link| Resource { capacity: link.bandwidth, sharing: link.sharing });
    let hosts = platform.hosts().iter();
    let cores =
        hosts.map(|host| Resource { capacity: host.speed * f64::from(host.cores), sharing: Sharing::Shared });
    links.chain(cores).collect()
}
