//! Bundles: messages sent together as one activity; the use of each link, and the time of each message alone.
//!
//! The work of a bundle is the bytes of its largest message. One unit of it uses on each link the amount that all
//! messages use there while the largest moves one byte. So its rate is the rate of a message, and it shares links as
//! its messages would if all were sent at once and in proportion. O(the routes of the messages).
use super::demand::Demand;
use super::network::Network;
use crate::platform::{NoRoute, Platform, Sharing};

/// The fraction of a message's rate that its acknowledgements use on the links of the return route.
const CROSS_TRAFFIC: f64 = 0.05;

/// A bundle under construction, and its buffers.
#[derive(Clone, Debug, Default)]
pub struct BundleBuilder {
    /// For every link: the amount that the messages use, and the number of messages.
    load: Vec<f64>,
    count: Vec<u32>,
    touched: Vec<u32>,
    /// The concatenated routes; and for each message the end of its route, its latency and its amount.
    routes: Vec<u32>,
    messages: Vec<(usize, f64, f64)>,
    back: Vec<u32>,
    uses: Vec<(u32, f64)>,
    amount: f64,
    bound: f64,
    seconds: f64,
}

impl BundleBuilder {
    /// Builds the bundle of messages, given by sending host, receiving host, and bytes.
    pub fn make(
        &mut self,
        platform: &Platform,
        network: &Network,
        messages: impl Iterator<Item = (u32, u32, f64)>,
    ) -> Result<(), NoRoute> {
        self.begin(platform);
        for (from, to, bytes) in messages {
            self.add(platform, network, (from, to), bytes / network.bandwidth_factor)?;
        }
        self.finish(platform, network);
        Ok(())
    }

    /// The demand, with this latency.
    #[must_use]
    pub fn demand(&self, latency: f64) -> Demand<'_> {
        let &Self { amount, bound, ref uses, .. } = self;
        Demand { amount, uses, bound, latency, by_rate: true, ..Demand::default() }
    }

    /// The time of the bundle alone, without latency, seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The time of each message including its latency, if the links are shared evenly throughout.
    pub fn durations(&self, platform: &Platform, network: &Network) -> impl Iterator<Item = f64> {
        let mut first = 0;
        self.messages.iter().map(move |&(after, latency, amount)| {
            let route = &self.routes[first..after];
            first = after;
            let mut seconds = amount / own_rate(network, route, latency);
            for &link in route {
                let described = &platform.links()[link as usize];
                let taken = match described.sharing {
                    Sharing::Shared => {
                        self.load[link as usize].min(f64::from(self.count[link as usize]) * amount)
                    }
                    Sharing::FatPipe => amount,
                };
                seconds = seconds.max(taken / described.bandwidth);
            }
            latency * network.latency_factor + seconds
        })
    }

    fn begin(&mut self, platform: &Platform) {
        for link in self.touched.drain(..) {
            (self.load[link as usize], self.count[link as usize]) = (0.0, 0);
        }
        self.load.resize(platform.links().len(), 0.0);
        self.count.resize(platform.links().len(), 0);
        self.routes.clear();
        self.messages.clear();
        self.uses.clear();
    }

    fn add(
        &mut self,
        platform: &Platform,
        network: &Network,
        (from, to): (u32, u32),
        amount: f64,
    ) -> Result<(), NoRoute> {
        let first = self.routes.len();
        let found = platform.route(from, to, &mut self.routes);
        let stays = from == to && self.routes.len() == first;
        let latency = if stays { network.loopback_latency } else { found? };
        for at in first..self.routes.len() {
            let link = self.routes[at];
            self.count[link as usize] += u32::from(amount > 0.0);
            self.take(platform, link, amount);
        }
        self.messages.push((self.routes.len(), latency, amount));
        if network.cross_traffic && from != to {
            let mut back = std::mem::take(&mut self.back);
            back.clear();
            platform.route(to, from, &mut back)?;
            for &link in &back {
                self.take(platform, link, CROSS_TRAFFIC * amount);
            }
            self.back = back;
        }
        Ok(())
    }

    /// Adds to the use of a link; for a fat pipe, the largest of the messages counts.
    fn take(&mut self, platform: &Platform, link: u32, amount: f64) {
        let load = &mut self.load[link as usize];
        if *load == 0.0 && amount > 0.0 {
            self.touched.push(link);
        }
        *load = match platform.links()[link as usize].sharing {
            Sharing::Shared => *load + amount,
            Sharing::FatPipe => load.max(amount),
        };
    }

    fn finish(&mut self, platform: &Platform, network: &Network) {
        self.amount = self.messages.iter().fold(0.0, |most, message| most.max(message.2));
        let mut first = 0;
        // The bound of each single message bounds the bundle, which has the largest message as its unit.
        let longest = self.messages.iter().fold(0.0_f64, |longest, &(after, latency, amount)| {
            let rate = own_rate(network, &self.routes[first..after], latency);
            first = after;
            longest.max(amount / rate)
        });
        self.bound = if longest > 0.0 { self.amount / longest } else { f64::INFINITY };
        self.seconds = longest;
        for &link in &self.touched {
            let load = self.load[link as usize];
            self.uses.push((link, load / self.amount));
            self.seconds = self.seconds.max(load / platform.links()[link as usize].bandwidth);
        }
    }
}

/// The greatest rate of a message independent of others: by the window, and within a host by the loopback.
fn own_rate(network: &Network, route: &[u32], latency: f64) -> f64 {
    let windowed = latency > 0.0 && network.window > 0.0;
    let window = if windowed { network.window / (2.0 * latency) } else { f64::INFINITY };
    if route.is_empty() { window.min(network.loopback_bandwidth) } else { window }
}

/// The sum of bundles as one activity, at one rate.
#[derive(Clone, Debug, Default)]
pub struct BundleSum {
    load: Vec<f64>,
    touched: Vec<u32>,
    uses: Vec<(u32, f64)>,
    amount: f64,
    bounded: f64,
    busiest: f64,
}

impl BundleSum {
    /// Resets the sum.
    pub fn begin(&mut self, platform: &Platform) {
        self.touched.drain(..).for_each(|link| self.load[link as usize] = 0.0);
        self.load.resize(platform.links().len(), 0.0);
        (self.amount, self.bounded, self.busiest) = (0.0, 0.0, 0.0);
    }

    /// Adds a bundle, O(its links).
    pub fn add(&mut self, platform: &Platform, bundle: &Demand) {
        self.amount += bundle.amount;
        self.bounded += bundle.amount / bundle.bound;
        for &(link, weight) in bundle.uses {
            let load = &mut self.load[link as usize];
            if *load == 0.0 {
                self.touched.push(link);
            }
            *load += weight * bundle.amount;
            self.busiest = self.busiest.max(*load / platform.links()[link as usize].bandwidth);
        }
    }

    /// The time of the bundles alone, without latency, seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.busiest.max(self.bounded)
    }

    /// The demand, with this latency.
    pub fn demand(&mut self, latency: f64) -> Demand<'_> {
        let amount = self.amount;
        self.uses.clear();
        self.uses.extend(self.touched.iter().map(|&link| (link, self.load[link as usize] / amount)));
        let bound = if self.bounded > 0.0 { amount / self.bounded } else { f64::INFINITY };
        Demand { amount, uses: &self.uses, bound, latency, by_rate: true, ..Demand::default() }
    }
}
