//! Network models: the sharing rule, and the parameters of the cost of a message.
//!
//! One table lists the models and the parameters of each; `share` and simulations use only this table.
use serde::{Deserialize, Serialize};

use super::demand::Rule;

/// A model with its parameters; `SimGrid`'s name is in parentheses if it has the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The sharing rule.
    pub rule: Rule,
    /// The fraction of the bandwidth available to payload (`network/bandwidth-factor`).
    pub bandwidth_factor: f64,
    /// Number of latencies before the first byte moves (`network/latency-factor`).
    pub latency_factor: f64,
    /// Bytes that add their transfer time on each link to the round trip by which shares are weighted
    /// (`network/weight-S`).
    pub weight: f64,
    /// The greatest window in bytes: a flow sends at most this per two latencies; 0 for no limit (`network/TCP-gamma`).
    pub window: f64,
    /// True if acknowledgements load the links of the return route (`network/crosstraffic`).
    pub cross_traffic: bool,
    /// True if shares are proportional to the inverse of the round trip, as with TCP.
    pub by_round_trip: bool,
    /// Bytes per second of a message from a host to itself if the platform has no such route (`network/loopback-bw`).
    pub loopback_bandwidth: f64,
    /// The latency of such a message, seconds (`network/loopback-lat`).
    pub loopback_latency: f64,
}

/// A named model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// The default parameters.
    pub network: Network,
    /// True if it is defined for parallel tasks, which simulations need; false if for flows only.
    pub knows_tasks: bool,
    /// The names of the parameters that can be changed.
    pub parameters: &'static [&'static str],
}

/// Plain max-min fairness with a factor of one for the latency.
const MAX_MIN: Network = Network {
    rule: Rule::MaxMin,
    bandwidth_factor: 1.0,
    latency_factor: 1.0,
    weight: 0.0,
    window: 0.0,
    cross_traffic: false,
    by_round_trip: false,
    loopback_bandwidth: 1e10,
    loopback_latency: 0.0,
};

/// The default of `SimGrid`'s TCP-gamma.
const WINDOW: f64 = 4_194_304.0;

const CM02: Network =
    Network { rule: Rule::Rates, window: WINDOW, cross_traffic: true, by_round_trip: true, ..MAX_MIN };

const FACTORS: [&str; 7] = [
    "bandwidth_factor",
    "latency_factor",
    "weight",
    "window",
    "cross_traffic",
    "loopback_bandwidth",
    "loopback_latency",
];
const WITHOUT_WEIGHT: [&str; 6] = [
    "bandwidth_factor",
    "latency_factor",
    "window",
    "cross_traffic",
    "loopback_bandwidth",
    "loopback_latency",
];
/// `SimGrid`'s model of parallel tasks has only these.
const OF_PARALLEL_TASKS: [&str; 3] = ["window", "loopback_bandwidth", "loopback_latency"];

/// All models.
pub const MODELS: [Model; 5] = [
    Model {
        name: "max_min",
        about: "max-min fairness without a window; parallel tasks: bottleneck max fairness",
        network: MAX_MIN,
        knows_tasks: true,
        parameters: &WITHOUT_WEIGHT,
    },
    // Casanova and Marchal, "A network model for simulation of grid application" (INRIA RR-4596, 2002).
    Model {
        name: "CM02",
        about: "shares weighted by the round trip, a window, cross-traffic: SimGrid's model of 2002",
        network: CM02,
        knows_tasks: false,
        parameters: &FACTORS,
    },
    // Velho and Legrand, "Accuracy study and improvement of network simulation in the SimGrid framework"
    // (SIMUTools 2009): CM02 with factors fitted to packet-level simulation.
    Model {
        name: "LV08",
        about: "CM02 with factors fitted to packets: SimGrid's default",
        network: Network { bandwidth_factor: 0.97, latency_factor: 13.01, weight: 20_537.0, ..CM02 },
        knows_tasks: false,
        parameters: &FACTORS,
    },
    // The sharing rule of SimGrid's ptask_L07, used by ElastiSim and Batsim.
    Model {
        name: "fair_bottleneck",
        about: "SimGrid's rule for parallel tasks, as ElastiSim and Batsim use it",
        network: Network { rule: Rule::FairBottleneck, window: WINDOW, ..MAX_MIN },
        knows_tasks: true,
        parameters: &OF_PARALLEL_TASKS,
    },
    Model {
        name: "bottleneck_max_min",
        about: "SimGrid's model of parallel tasks with bottleneck max fairness, the rule that was meant",
        network: Network { window: WINDOW, ..MAX_MIN },
        knows_tasks: true,
        parameters: &OF_PARALLEL_TASKS,
    },
];

impl Network {
    /// The model with this name, with its default parameters; None if unknown.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        MODELS.iter().find(|model| model.name == name).map(|model| model.network)
    }

    /// The model with another value of a parameter; None if the parameter is unknown.
    #[must_use]
    pub fn with(mut self, parameter: &str, value: f64) -> Option<Self> {
        *match parameter {
            "bandwidth_factor" => &mut self.bandwidth_factor,
            "latency_factor" => &mut self.latency_factor,
            "weight" => &mut self.weight,
            "window" => &mut self.window,
            "loopback_bandwidth" => &mut self.loopback_bandwidth,
            "loopback_latency" => &mut self.loopback_latency,
            "cross_traffic" => {
                self.cross_traffic = value != 0.0;
                return Some(self);
            }
            _ => return None,
        } = value;
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_each_parameter_that_it_takes() {
        for model in MODELS {
            assert_eq!(Network::named(model.name), Some(model.network));
            for parameter in model.parameters {
                let value =
                    if model.network.cross_traffic && *parameter == "cross_traffic" { 0.0 } else { 0.125 };
                let changed = model.network.with(parameter, value).expect("there is such a parameter");
                assert_ne!(changed, model.network, "{parameter}");
            }
        }
        assert_eq!(Network::named("maxmin"), None);
        assert_eq!(MAX_MIN.with("gamma", 1.0), None);
    }
}
