//! How much of the platform is used, looked at in equal intervals.
//!
//! Between two instants nothing changes, so that no events are needed for it: when the clock goes on, what was so is
//! written down for every look in between. The first of them costs O(nodes + links looked at + activities on them), each other
//! one a copy of it.
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::time::{FineTime, IntervalClock};

/// What to look at, and how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sensors {
    /// Seconds between two looks.
    pub interval: f64,
    /// The instant from which the intervals count; the first submission unless given.
    pub since: Option<f64>,
    /// The hosts whose CPUs and GPUs are looked at.
    pub hosts: Vec<u32>,
    /// Links whose mean utilisation is that of the network: with the inverse of their bandwidths.
    pub network: Vec<(u32, f64)>,
    /// Links that are looked at one by one.
    pub links: Vec<u32>,
}

/// What was seen, one look after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlatformSamples {
    /// When, seconds.
    pub time: Vec<f64>,
    /// Operations per second on each host's CPU.
    pub cpu: Vec<f64>,
    /// GPUs at work on each host.
    pub gpu: Vec<f64>,
    /// Mean utilisation of the links that are the network, from 0 to 1.
    pub network: Vec<f64>,
    /// Bytes per second on each link that is looked at by itself.
    pub links: Vec<f64>,
}

impl PlatformSamples {
    /// Writes down once more what was seen last, but for time and GPUs.
    fn repeat(&mut self, sensors: &Sensors) {
        self.cpu.extend_from_within(self.cpu.len() - sensors.hosts.len()..);
        self.network.extend_from_within(self.network.len() - 1..);
        self.links.extend_from_within(self.links.len() - sensors.links.len()..);
    }
}

/// Looks at the platform in one run, at most: what they see is kept.
pub const MOST_LOOKS: u64 = 10_000_000;

/// Looks at the platform.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlatformSensor {
    sensors: Sensors,
    /// When the first look is.
    begin: f64,
    looks: IntervalClock,
    /// When there would have been too many looks.
    refused: Option<f64>,
    /// What was sampled so far.
    pub samples: PlatformSamples,
}

impl PlatformSensor {
    /// A sensor that has sampled nothing yet.
    #[must_use]
    pub fn new(sensors: Sensors) -> Self {
        let looks = IntervalClock::new(0.0, sensors.interval, 0.0);
        Self { sensors, begin: 0.0, looks, refused: None, samples: PlatformSamples::default() }
    }

    /// Begins with the first submission, or with the last look that is not after it.
    pub fn begin(&mut self, first_submission: f64) {
        let Sensors { interval, since, .. } = self.sensors;
        self.looks = IntervalClock::from_first_submission(since, interval, first_submission);
        self.begin = self.looks.next();
    }

    /// The clock of the looks that are to come.
    #[must_use]
    pub fn looks(&self) -> IntervalClock {
        self.looks
    }

    /// The time and the interval that would take more than [`MOST_LOOKS`] looks, once there is such a time.
    #[must_use]
    pub fn refused(&self) -> Option<(f64, f64)> {
        self.refused.map(|now| (now - self.begin, self.sensors.interval))
    }

    /// Writes down what was so until now.
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
            // A kernel of a job that was killed ends without an event.
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
