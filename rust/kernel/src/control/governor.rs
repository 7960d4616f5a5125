//! Governors as Linux has them: the rate follows how busy the processors were (Documentation/admin-guide/pm/cpufreq.rst).
use serde::{Deserialize, Serialize};

use super::{KeyEvent, Seen};

/// How a governor chooses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum GovernorKind {
    /// The highest rate where more than this share was busy since the last look; else one in proportion to the share.
    Ondemand {
        /// In (0, 1].
        threshold: f64,
    },
    /// 1.25 times the highest rate times the utilisation, an average that fades by half in `window` seconds.
    Schedutil {
        /// Seconds, > 0.
        window: f64,
    },
}

/// A governor, which looks at the load every so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Governor {
    /// How it chooses.
    pub kind: GovernorKind,
    /// Seconds from one look to the next, > 0.
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
        // The least rate that is enough.
        rates.iter().position(|&rate| rate >= target).unwrap_or(rates.len() - 1)
    }

    /// The first look after a time: looks are multiples of the interval after the origin.
    #[must_use]
    pub fn next_look(&self, now: f64, origin: f64) -> f64 {
        let next = origin + (((now - origin) / self.interval).floor() + 1.0) * self.interval;
        if next > now { next } else { now.next_up() }
    }

    /// An average that fades, after so many seconds of this share.
    #[must_use]
    pub fn faded(&self, average: f64, share: f64, seconds: f64) -> f64 {
        match self.kind {
            GovernorKind::Schedutil { window } => share + (average - share) * libm::exp2(-seconds / window),
            GovernorKind::Ondemand { .. } => average,
        }
    }
}
