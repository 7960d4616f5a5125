//! Messages that go together as one activity: what they take of each link, and how long each would take alone.
//!
//! The work of a bundle is the bytes of its largest message; a unit of it takes of a link what all its messages take
//! there while the largest moves a byte. So its rate is that of a message, and it shares links as its messages would if
//! they all went at once and in proportion. O(the routes of the messages).
use super::demand::Demand;
use super::network::Network;
use crate::platform::{NoRoute, Platform, Sharing};

/// The part of a message's rate that its acknowledgements take of the links back.
const CROSS_TRAFFIC: f64 = 0.05;

/// A bundle that is being put together, and the buffers for it.
#[derive(Clone, Debug, Default)]
pub struct BundleBuilder {
    /// Of every link: what the messages take, and how many they are.
    load: Vec<f64>,
    count: Vec<u32>,
    touched: Vec<u32>,
    /// The routes one after the other, where each ends, and of each message its latency and amount.
    routes: Vec<u32>,
    messages: Vec<(usize, f64, f64)>,
    back: Vec<u32>,
    uses: Vec<(u32, f64)>,
    amount: f64,
    bound: f64,
    seconds: f64,
}

impl BundleBuilder {
    /// Makes the bundle of messages: hosts that send and receive, and bytes.
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

    /// The demand, which waits for a while first.
    #[must_use]
    pub fn demand(&self, latency: f64) -> Demand<'_> {
        let &Self { amount, bound, ref uses, .. } = self;
        Demand { amount, uses, bound, latency, by_rate: true, ..Demand::default() }
    }

    /// How long it takes alone, without latency.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// How long each message takes, with its latency, as long as all share links evenly.
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

    /// Adds to what is taken of a link; of a fat pipe, the greatest of its messages counts.
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
        // What holds each message by itself holds the bundle, of which the largest message is the unit.
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

/// The greatest rate of a message whatever else goes: by the window, and within a host by the loopback.
fn own_rate(network: &Network, route: &[u32], latency: f64) -> f64 {
    let windowed = latency > 0.0 && network.window > 0.0;
    let window = if windowed { network.window / (2.0 * latency) } else { f64::INFINITY };
    if route.is_empty() { window.min(network.loopback_bandwidth) } else { window }
}

/// Bundles as one: the sums of what they take, at one rate.
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
    /// Begins anew.
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

    /// How long they take alone, without latency.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.busiest.max(self.bounded)
    }

    /// The demand, which waits for a while first.
    pub fn demand(&mut self, latency: f64) -> Demand<'_> {
        let amount = self.amount;
        self.uses.clear();
        self.uses.extend(self.touched.iter().map(|&link| (link, self.load[link as usize] / amount)));
        let bound = if self.bounded > 0.0 { amount / self.bounded } else { f64::INFINITY };
        Demand { amount, uses: &self.uses, bound, latency, by_rate: true, ..Demand::default() }
    }
}
