//! One solver for each rule.
use super::component::Component;
use super::demand::Rule;
use super::fair_bottleneck::FairBottleneck;
use super::max_min::MaxMin;

/// All solvers with their buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Solver {
    max_min: MaxMin,
    fair_bottleneck: FairBottleneck,
}

impl Solver {
    /// Finds the rates of a component.
    pub(super) fn solve(&mut self, rule: Rule, component: &mut Component) {
        match rule {
            Rule::MaxMin => self.max_min.solve(component, true),
            Rule::Rates => self.max_min.solve(component, false),
            Rule::FairBottleneck => self.fair_bottleneck.solve(component),
        }
    }
}
