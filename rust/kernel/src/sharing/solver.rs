//! One solver for each rule.
use super::component::Component;
use super::demand::Rule;
use super::fair_bottleneck::FairBottleneck;
use super::filling::Filling;

/// All solvers with their buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Solver {
    filling: Filling,
    fair_bottleneck: FairBottleneck,
}

impl Solver {
    /// Finds the rates of a component.
    pub(super) fn solve(&mut self, rule: Rule, component: &mut Component) {
        match rule {
            Rule::MaxMin | Rule::Rates => {
                self.filling.scale.clear();
                let count = component.activities();
                self.filling.scale.extend((0..count).map(|activity| scale(rule, component, activity)));
                self.filling.solve(component);
            }
            Rule::FairBottleneck => self.fair_bottleneck.solve(component),
        }
    }
}

/// The rate of an activity at level 1.
fn scale(rule: Rule, component: &Component, activity: usize) -> f64 {
    let uses = component.uses_of(activity).iter();
    let weight = if rule == Rule::MaxMin { uses.map(|item| item.1).fold(0.0, f64::max) } else { 1.0 };
    1.0 / (component.penalty[activity] * weight)
}
