//! Governors like those of Linux: the rate follows the load of the processors
//! (Documentation/admin-guide/pm/cpufreq.rst).
use serde::{Deserialize, Serialize};

use crate::parameter::{above_0, above_0_to, parameters};

use super::{KeyEvent, Seen};

parameters! {
    /// The parameters of `ondemand`.
    pub struct Ondemand {
        /// The busy share above which the rate is the highest.
        threshold: f64 = 0.8, above_0_to(1.0, "");
        /// Seconds between two samples of the load.
        interval: f64 = 1.0, above_0("seconds");
    }
}

parameters! {
    /// The parameters of `schedutil`.
    pub struct Schedutil {
        /// Half-life of the average of the utilisation, in seconds.
        window: f64 = 1.0, above_0("seconds");
        /// Seconds between two samples of the load.
        interval: f64 = 1.0, above_0("seconds");
    }
}

/// The rule of a governor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum GovernorKind {
    /// The highest rate if more than this share was busy since the last look; otherwise a rate in proportion to the
    /// share.
    Ondemand {
        /// In (0, 1].
        threshold: f64,
    },
    /// 1.25 times the highest rate times the utilisation, an average that decays by half in `window` seconds.
    Schedutil {
        /// Seconds, > 0.
        window: f64,
    },
}

/// A governor, which samples the load at regular intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Governor {
    /// The rule.
    pub kind: GovernorKind,
    /// Seconds between two looks, > 0.
    pub interval: f64,
}

impl Governor {
    pub(super) fn level_after(&self, level: usize, rates: &[f64], seen: &Seen) -> usize {
        if seen.event != KeyEvent::Look {
            return level;
        }
        let (least, most) = (rates[0], rates[rates.len() - 1]);
        let target = match self.kind {
            GovernorKind::Ondemand { threshold } if seen.busy > threshold => most,
            GovernorKind::Ondemand { .. } => least + seen.busy * (most - least),
            GovernorKind::Schedutil { .. } => 1.25 * most * seen.utilisation,
        };
        // The least sufficient rate.
        rates.iter().position(|&rate| rate >= target).unwrap_or(rates.len() - 1)
    }

    /// The first look after a time: looks are at multiples of the interval after the origin.
    #[must_use]
    pub fn next_look(&self, now: f64, origin: f64) -> f64 {
        let next = origin + (((now - origin) / self.interval).floor() + 1.0) * self.interval;
        if next > now { next } else { now.next_up() }
    }

    /// Updates a decaying average, after a number of seconds of this share.
    #[must_use]
    pub fn faded(&self, average: f64, share: f64, seconds: f64) -> f64 {
        match self.kind {
            GovernorKind::Schedutil { window } => share + (average - share) * libm::exp2(-seconds / window),
            GovernorKind::Ondemand { .. } => average,
        }
    }
}
