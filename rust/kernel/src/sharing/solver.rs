//! The solver of each rule.
use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::component::Component;
use super::demand::Rule;
use super::fair_bottleneck::FairBottleneck;
use super::filling::Filling;

/// All solvers and their buffers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Solver {
    pub(super) filling: Filling,
    bottleneck: Bottleneck,
    fair_bottleneck: FairBottleneck,
}

impl Solver {
    /// Computes the rates of a component; returns whether they follow from a common level.
    pub(super) fn solve(&mut self, rule: Rule, component: &mut Component) -> bool {
        match rule {
            Rule::MaxMin if !component.is_even() => {
                self.bottleneck.solve(component);
                false
            }
            Rule::MaxMin | Rule::Rates => {
                self.fill(rule, component);
                true
            }
            Rule::FairBottleneck => {
                self.fair_bottleneck.solve(component);
                false
            }
        }
    }

    /// Computes the rates of a component in which every activity uses the same amount of each of its resources.
    pub(super) fn fill(&mut self, rule: Rule, component: &mut Component) {
        self.filling.scale.clear();
        let count = component.activities();
        self.filling.scale.extend((0..count).map(|activity| scale(rule, component, activity)));
        self.filling.solve(component);
    }
}

/// The rate of an activity at level 1.
fn scale(rule: Rule, component: &Component, activity: usize) -> f64 {
    let weight =
        component.uses_of(activity).first().filter(|_| rule == Rule::MaxMin).map_or(1.0, |item| item.1);
    1.0 / component.level(activity, weight)
}
