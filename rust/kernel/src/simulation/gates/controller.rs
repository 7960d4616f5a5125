//! The gates of jobs under Slurm's controller (S15): what its calls found of those that fit.
use crate::cluster::{PlacementRequest, Request};
use crate::record::{Gate, GateKind, GateLog, NONE, PREEMPTED, SELECTION, Waiting};
use crate::scheduler::Slurm;
use crate::slurm::{Finding, Stop};
use crate::state::View;
use crate::time::Time;

use super::{Look, own_reservation};

/// Return the requests for whole nodes, if the controller gives these, and otherwise none; `known` are those of an earlier
/// look.
pub(super) fn whole_requests(
    view: View<'_>,
    controller: Option<&Slurm>,
    mut known: Vec<Request>,
) -> Vec<Request> {
    if controller.is_some_and(Slurm::gives_whole_nodes) {
        let requests = &view.scenario.requests;
        let whole = |index| Request { exclusive: true, ..requests.get(index).clone() };
        known.extend((known.len() as u32..requests.count() as u32).map(whole));
    }
    known
}

/// Return the gate of a job that is in the queue of no call.
pub(super) fn outside_calls(view: View<'_>, rule: &Slurm, job: u32) -> Option<Gate> {
    if Slurm::runs_out_at(view, job).is_some_and(|time| time <= view.now()) {
        return Some(Gate { subject: own_reservation(view, job), ..Gate::of(GateKind::OwnReservation) });
    }
    rule.awaits_requeue(job).then(|| Gate::of(GateKind::BeginTime))
}

/// Return when a waiting job next comes too late for its reservation, or one that fits into the way of others'.
/// O(waiting jobs · reservations).
pub(super) fn next_turn(view: View<'_>, log: &GateLog) -> Time {
    let Some(known) = view.state.occurrences(view.scenario) else { return Time::NEVER };
    let begins: Vec<f64> = (0..known.count())
        .filter_map(|number| known.next_span(number, view.now()))
        .map(|span| span.0)
        .collect();
    let mut turn = Time::NEVER;
    let mut add = |time: f64| {
        if time > view.now() {
            turn = turn.min(Time(time));
        }
    };
    for each in &log.waiting {
        add(Slurm::runs_out_at(view, each.job).unwrap_or(f64::NEG_INFINITY));
        if each.gate.is_some_and(|gate| is_found(&gate)) {
            let limit = Slurm::limit_in_calls(view, each.job);
            for begin in &begins {
                add(begin - limit);
            }
        }
    }
    turn
}

/// Return whether a gate is that of a job that fits.
fn is_found(gate: &Gate) -> bool {
    let fits = [GateKind::NotLookedAt, GateKind::Order, GateKind::WouldDelay].contains(&gate.kind);
    fits || (gate.kind == GateKind::Resources && [SELECTION, PREEMPTED].contains(&gate.detail))
}

impl<'a> Look<'a> {
    /// Return what a job asks for: whole nodes, if the controller gives these.
    pub(super) fn want(&self, job: u32, request: u32) -> PlacementRequest<'a> {
        let want = self.view.placement_request_of(job, request);
        let whole = self.whole.get(request as usize);
        whole.map_or(want, |request| PlacementRequest { request, ..want })
    }

    /// Examine the jobs with new findings.
    pub(super) fn by_findings(&mut self, log: &mut GateLog) {
        let Some(fresh) = self.controller.and_then(Slurm::fresh) else { return };
        for &job in fresh {
            self.examine_job(log, job);
        }
    }

    /// Return how long a job may run before the plan in whose way it was found to be.
    pub(super) fn hole_found(&self, job: u32) -> f64 {
        match self.controller.and_then(|rule| rule.found(job)).map(|found| found.finding) {
            Some(Finding::InTheWay(_, hole)) => hole,
            _ => f64::NAN,
        }
    }
}

/// Return the gate of a job that fits, by the finding of a call of the controller; it stands until the job does not fit.
pub(super) fn of_finding(rule: &Slurm, each: &Waiting) -> Gate {
    let none = Gate::of(GateKind::NotLookedAt);
    let Some(found) = rule.found(each.job) else { return none };
    let is_fresh = rule.fresh().is_some_and(|fresh| fresh.contains(&each.job));
    if !is_fresh {
        let missed = if found.by_cycle { stopped(Stop::BfInterval) } else { none };
        return each.gate.filter(is_found).unwrap_or(missed);
    }
    match found.finding {
        Finding::Tried => Gate { detail: SELECTION, ..Gate::of(GateKind::Resources) },
        Finding::Stopped(stop) => stopped(stop),
        Finding::Behind(subject) => Gate { subject, ..Gate::of(GateKind::Order) },
        Finding::InTheWay(subject, _) => Gate { subject, ..Gate::of(GateKind::WouldDelay) },
        Finding::Preempted => Gate { detail: PREEMPTED, ..Gate::of(GateKind::Resources) },
    }
}

fn stopped(stop: Stop) -> Gate {
    Gate { kind: GateKind::NotLookedAt, subject: NONE, detail: stop as u32 }
}
