//! The power of nodes at the rates of their controls (S19, Power), summed by kind of node.
//!
//! Each kind stores the time integrals of the power of each mode, and of a unit of each resource; a node stores their
//! values at its last change. So a change of the rate costs O(modes + resources) for each kind of node of the control,
//! independent of the number of nodes.
use serde::{Deserialize, Serialize};

use crate::state::View;
use crate::time::Time;

use super::power_model::{Mode, PowerModel};

/// The power models of one kind of node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PricedKind {
    /// The rates with a separate model; empty if one model applies to all rates.
    pub rates: Vec<f64>,
    /// At least one; they differ only in watts.
    pub models: Vec<PowerModel>,
}

impl PricedKind {
    fn level(&self, rate: f64) -> Option<usize> {
        self.rates.iter().position(|&known| Time(known) == Time(rate))
    }
}

/// A kind of node with a power that depends on the rate, as of `since`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RatedKind {
    control: u32,
    priced: PricedKind,
    since: f64,
    /// Joules of a node in each mode until then, without units.
    modes: Vec<f64>,
    /// Joules of a unit of each resource until then.
    units: Vec<f64>,
    /// Joules until then of the additional power of a busy node.
    more: f64,
}

impl RatedKind {
    fn mode_at(&self, draw: &PowerModel, mode: Mode, now: f64) -> f64 {
        self.modes[mode.place()] + draw.watts(mode) * (now - self.since)
    }

    fn unit_at(&self, draw: &PowerModel, resource: usize, now: f64) -> f64 {
        self.units[resource] + draw.per_unit[resource] * (now - self.since)
    }

    fn more_at(&self, draw: &PowerModel, now: f64) -> f64 {
        self.more + (draw.busy - draw.idle) * (now - self.since)
    }

    /// Energy of a node if it had been in this mode all the time so far, joules.
    fn drawn_at(&self, draw: &PowerModel, mode: Mode, used: &[i64], now: f64) -> f64 {
        let units = used.iter().enumerate().filter(|&(_, &used)| used != 0);
        let drawn = units.map(|(resource, &used)| used as f64 * self.unit_at(draw, resource, now));
        self.mode_at(draw, mode, now) + drawn.sum::<f64>()
    }

    fn settle(&mut self, draw: &PowerModel, now: f64) {
        let modes = Mode::all(draw.asleep.len());
        self.modes = modes.map(|mode| self.mode_at(draw, mode, now)).collect();
        self.units = (0..self.units.len()).map(|resource| self.unit_at(draw, resource, now)).collect();
        self.more = self.more_at(draw, now);
        self.since = now;
    }
}

/// The integrals of its kind at the last change of a node.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Base {
    drawn: f64,
    more: f64,
}

/// The kinds of nodes with a power that depends on the rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RatedPower {
    /// By kind.
    kinds: Vec<Option<RatedKind>>,
    /// By node.
    bases: Vec<Base>,
    /// Joules of a unit of each resource while the node was not on, node-major; if it is not on now, minus those until
    /// then.
    away: Vec<f64>,
}

impl RatedPower {
    /// Returns the initial power model of each kind of node, and the kinds with rates that may change, if there are
    /// any.
    pub(super) fn new(
        view: View<'_>,
        kinds: &[u32],
        priced: Vec<PricedKind>,
    ) -> (Vec<PowerModel>, Option<Self>) {
        let resources = view.state.machine.resources();
        let mut draws = Vec::with_capacity(priced.len());
        let mut rated = Vec::with_capacity(priced.len());
        for (kind, priced) in priced.into_iter().enumerate() {
            let node = kinds.iter().position(|&own| own as usize == kind).unwrap_or_default();
            let control = view.scenario.service.as_ref().and_then(|own| own.control_of(node as u32));
            let level = priced.level(rate_now(view, control)).unwrap_or_default();
            let draw = priced.models[level].clone();
            let matters = !priced.rates.is_empty();
            rated.push(control.filter(|_| matters).map(|control| RatedKind {
                control,
                priced,
                since: view.integrated_until(),
                modes: vec![0.0; Mode::all(draw.asleep.len()).count()],
                units: vec![0.0; resources],
                more: 0.0,
            }));
            draws.push(draw);
        }
        let has_some = rated.iter().any(Option::is_some);
        let bases = vec![Base::default(); kinds.len()];
        let away = vec![0.0; kinds.len() * resources];
        (draws, has_some.then_some(Self { kinds: rated, bases, away }))
    }

    pub(super) fn has(&self, kind: u32) -> bool {
        self.kinds[kind as usize].is_some()
    }

    /// The kinds of the nodes of a control.
    pub(super) fn kinds_of(&self, control: u32) -> Vec<u32> {
        let has = |kind: &Option<RatedKind>| kind.as_ref().is_some_and(|kind| kind.control == control);
        let kinds = self.kinds.iter().enumerate().filter(|(_, kind)| has(kind));
        kinds.map(|(place, _)| place as u32).collect()
    }

    pub(super) fn knows(&self, control: u32, rate: f64) -> bool {
        let kinds = self.kinds.iter().flatten().filter(|kind| kind.control == control);
        kinds.map(|kind| kind.priced.level(rate)).all(|level| level.is_some())
    }

    /// Changes the rate of the nodes of a kind, and replaces `draw` by the power model at that rate.
    /// O(modes + resources).
    pub(super) fn switch(&mut self, draw: &mut PowerModel, kind: u32, rate: f64, now: f64) {
        let Some(kind) = &mut self.kinds[kind as usize] else { return };
        if let Some(level) = kind.priced.level(rate) {
            kind.settle(draw, now);
            *draw = kind.priced.models[level].clone();
        }
    }

    /// Energy of a node since its last change, and the part of it for being busy; for a kind that `has` accepts.
    pub(super) fn since(
        &self,
        draw: &PowerModel,
        kind: u32,
        node: u32,
        mode: Mode,
        used: &[i64],
        now: f64,
    ) -> (f64, f64) {
        let Some(kind) = &self.kinds[kind as usize] else { return (0.0, 0.0) };
        let base = self.bases[node as usize];
        (kind.drawn_at(draw, mode, used, now) - base.drawn, kind.more_at(draw, now) - base.more)
    }

    /// Sets the base of a settled node, which is in this mode from now on.
    pub(super) fn rebase(
        &mut self,
        draw: &PowerModel,
        kind: u32,
        node: u32,
        mode: Mode,
        used: &[i64],
        now: f64,
    ) {
        if let Some(kind) = &self.kinds[kind as usize] {
            let drawn = kind.drawn_at(draw, mode, used, now);
            self.bases[node as usize] = Base { drawn, more: kind.more_at(draw, now) };
        }
    }

    /// Updates `away` if a node falls asleep or is on again.
    pub(super) fn changed(
        &mut self,
        draw: &PowerModel,
        kind: u32,
        node: u32,
        was_away: bool,
        mode: Mode,
        now: f64,
    ) {
        let Some(kind) = self.kinds[kind as usize].as_ref().filter(|_| was_away != mode.is_away()) else {
            return;
        };
        let sign = if was_away { 1.0 } else { -1.0 };
        let resources = kind.units.len();
        for (resource, away) in self.away[node as usize * resources..][..resources].iter_mut().enumerate() {
            *away += sign * kind.unit_at(draw, resource, now);
        }
    }

    /// Energy so far of the `held` units of each resource on a node while it was on.
    pub(super) fn of_units(
        &self,
        draw: &PowerModel,
        kind: u32,
        node: u32,
        mode: Mode,
        held: impl Fn(usize) -> f64,
        now: f64,
    ) -> f64 {
        let Some(kind) = &self.kinds[kind as usize] else { return 0.0 };
        let resources = kind.units.len();
        let away = &self.away[node as usize * resources..][..resources];
        let drawn = |(resource, &away): (usize, &f64)| {
            // If the node is not on now, the current energy of units does not count for it.
            let until = if mode.is_away() { 0.0 } else { kind.unit_at(draw, resource, now) };
            held(resource) * (until - away)
        };
        away.iter().enumerate().map(drawn).sum()
    }
}

/// The current rate of the nodes of a control; 1 if they have none.
fn rate_now(view: View<'_>, control: Option<u32>) -> f64 {
    let Some(control) = control else { return 1.0 };
    let present = view.state.service.as_ref().map(|service| service.rate(control));
    let described = || view.scenario.service.as_ref().map(|service| &service.controls[control as usize]);
    present.or_else(|| described().map(|control| control.rates[control.first])).unwrap_or(1.0)
}
