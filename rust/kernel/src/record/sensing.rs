//! Samples of the use of the platform, at regular intervals.
//!
//! Nothing changes between two instants, so samples need no events: when the clock advances, the constant state is
//! recorded for every sample in between. The first of these costs O(nodes + sampled links + activities on them), the
//! others a copy of it.
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::time::{FineTime, IntervalClock};

/// What to sample, and how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sensors {
    /// Seconds between two samples.
    pub interval: f64,
    /// The time from which the intervals count; the first submit time by default.
    pub since: Option<f64>,
    /// The hosts with sampled CPUs and GPUs.
    pub hosts: Vec<u32>,
    /// The links with a mean utilisation that is the utilisation of the network, with the inverse of their bandwidths.
    pub network: Vec<(u32, f64)>,
    /// Links that are sampled individually.
    pub links: Vec<u32>,
}

/// The samples in time order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlatformSamples {
    /// Time of the sample, seconds.
    pub time: Vec<f64>,
    /// Operations per second on each host's CPU.
    pub cpu: Vec<f64>,
    /// Number of busy GPUs on each host.
    pub gpu: Vec<f64>,
    /// Mean utilisation of the network's links, from 0 to 1.
    pub network: Vec<f64>,
    /// Bytes per second on each individually sampled link.
    pub links: Vec<f64>,
}

impl PlatformSamples {
    /// Repeats the last sample, without time and GPUs.
    fn repeat(&mut self, sensors: &Sensors) {
        self.cpu.extend_from_within(self.cpu.len() - sensors.hosts.len()..);
        self.network.extend_from_within(self.network.len() - 1..);
        self.links.extend_from_within(self.links.len() - sensors.links.len()..);
    }
}

/// Maximum number of samples in one run, because samples are kept in memory.
pub const MOST_LOOKS: u64 = 10_000_000;

/// The sensor of the platform.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlatformSensor {
    sensors: Sensors,
    /// Time of the first sample.
    begin: f64,
    looks: IntervalClock,
    /// The time at which there would have been too many samples.
    refused: Option<f64>,
    /// The samples so far.
    pub samples: PlatformSamples,
}

impl PlatformSensor {
    /// Creates a sensor without samples.
    #[must_use]
    pub fn new(sensors: Sensors) -> Self {
        let looks = IntervalClock::new(0.0, sensors.interval, 0.0);
        Self { sensors, begin: 0.0, looks, refused: None, samples: PlatformSamples::default() }
    }

    /// Begins at the first submit time, or at the last sample time not after it.
    pub fn begin(&mut self, first_submission: f64) {
        let Sensors { interval, since, .. } = self.sensors;
        self.looks = IntervalClock::from_first_submission(since, interval, first_submission);
        self.begin = self.looks.next();
    }

    /// The clock of the future samples.
    #[must_use]
    pub fn looks(&self) -> IntervalClock {
        self.looks
    }

    /// The elapsed time and the interval that would need more than [`MOST_LOOKS`] samples, if this has occurred.
    #[must_use]
    pub fn refused(&self) -> Option<(f64, f64)> {
        self.refused.map(|now| (now - self.begin, self.sensors.interval))
    }

    /// Records the samples up to now.
    pub fn look(&mut self, execution: &mut Execution, now: f64) {
        if (now - self.begin) / self.sensors.interval > MOST_LOOKS as f64 {
            self.refused.get_or_insert(now);
            return;
        }
        let mut known = false;
        loop {
            let time = self.looks.next();
            if time > now {
                return;
            }
            self.looks.go_on();
            if known {
                self.samples.repeat(&self.sensors);
            } else {
                self.look_once(execution);
                known = true;
            }
            // A kernel of a killed job ends without an event.
            let busy = |&host: &u32| {
                execution.busy_gpus(FineTime::at(time), host).filter(|busy| *busy).count() as f64
            };
            self.samples.gpu.extend(self.sensors.hosts.iter().map(busy));
            self.samples.time.push(time);
        }
    }

    fn look_once(&mut self, execution: &mut Execution) {
        let Self { sensors, samples, .. } = self;
        samples.cpu.extend(sensors.hosts.iter().map(|&host| execution.load_of_host(host)));
        let load = |&(link, per_bandwidth): &(u32, f64)| execution.load_of_link(link) * per_bandwidth;
        let utilised: f64 = sensors.network.iter().map(load).sum();
        samples.network.push(utilised / (sensors.network.len().max(1) as f64));
        samples.links.extend(sensors.links.iter().map(|&link| execution.load_of_link(link)));
    }
}
