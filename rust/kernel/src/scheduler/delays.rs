//! Which job with a reservation a job that fits would delay after a pass, and by how much (S15).
//!
//! What the rule has left out is made when it is first asked for. The reservation of a head of EASY costs O(log n), or as in
//! `easy`; whether it would be delayed is decided by totals, or by a trial of the head on a copy of the nodes. The delay
//! costs O(log n) where totals decide; otherwise a copy of the machine, and a trial of the head for each instant at which
//! running jobs end. Several reservations are placed again in a copy of their plan, for each job. In the plan of
//! conservative the reservations are gone through by instant until one is in the way; the delay costs a copy of the plan.
use crate::cluster::{NodeTasks, Unanswered};
use crate::placement::Allocator;
use crate::state::View;

use super::conservative_plan::ConservativePlan;
use super::plan::Plan;
use super::shadow::{Shadow, Trial};
use super::shadow_availability::ShadowAvailability;
use super::{EasyReservations, Scheduler};

/// A delay of a job with a reservation by a job that would start now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// The job with the reservation.
    pub job: u32,
    /// When it would start.
    pub start: f64,
    /// When it could start beside the other job.
    pub delayed: f64,
}

/// The reservations after a pass.
#[derive(Debug)]
pub enum Delays<'a> {
    /// One in each set of connected partitions, which names no nodes.
    Heads(Heads),
    /// Several.
    Several(Box<Several<'a>>),
    /// Those of all jobs, which name nodes.
    Planned(&'a ConservativePlan),
}

impl<'a> Delays<'a> {
    /// Collect the reservations of a pass that has ended. None if the rule makes no reservations.
    #[must_use]
    pub fn of(scheduler: &'a Scheduler, view: View<'_>) -> Option<Self> {
        match scheduler {
            Scheduler::Easy(easy) => Some(Self::Heads(Heads::new(easy.heads(view)))),
            Scheduler::EasyReservations(rule) => Some(Self::Several(Box::new(Several { rule, plan: None }))),
            Scheduler::Conservative(rule) => Some(Self::Planned(rule.plan())),
            _ => None,
        }
    }

    /// Return the jobs with reservations of EASY, and their instants; infinite if a job fits at none.
    #[must_use]
    pub fn promised(self, view: View<'_>, allocator: &Allocator) -> Vec<(u32, f64)> {
        match self {
            Self::Heads(mut heads) => {
                let numbers = 0..heads.heads.len();
                let instant = |number| {
                    let (shadow, _) = heads.reservation_in(view, allocator, number)?;
                    Some((shadow.head, shadow.time))
                };
                numbers.filter_map(instant).collect()
            }
            Self::Several(several) => {
                let plan = several.rule.clone().into_plan(view, &mut allocator.clone());
                plan.map_or_else(|_| Vec::new(), |plan| plan.instants().collect())
            }
            Self::Planned(_) => Vec::new(),
        }
    }

    /// Return the head of each set of connected partitions, if there is one in each at most.
    #[must_use]
    pub fn heads(&self) -> Vec<Option<u32>> {
        match self {
            Self::Heads(heads) => heads.heads.iter().map(|head| head.as_ref().map(|head| head.job)).collect(),
            Self::Several(_) | Self::Planned(_) => Vec::new(),
        }
    }
}

/// A head and its reservation.
#[derive(Debug)]
struct Head {
    job: u32,
    /// The requests of the job among which it takes the first.
    requests: Vec<u32>,
    reservation: Option<(Shadow, ShadowAvailability)>,
}

/// The heads after a pass, by set of connected partitions.
#[derive(Debug)]
pub struct Heads {
    heads: Vec<Option<Head>>,
}

impl Heads {
    fn new(heads: Vec<Option<(u32, Vec<u32>)>>) -> Self {
        let heads = heads.into_iter();
        let made = |(job, requests)| Head { job, requests, reservation: None };
        Self { heads: heads.map(|head| head.map(made)).collect() }
    }

    /// Return the head on whose nodes a job would start; None if there is none.
    #[must_use]
    pub fn head_on(&self, view: View<'_>, placement: &[NodeTasks]) -> Option<u32> {
        self.heads[self.number(view, placement)?].as_ref().map(|head| head.job)
    }

    fn number(&self, view: View<'_>, placement: &[NodeTasks]) -> Option<usize> {
        if self.heads.len() == 1 {
            return Some(0);
        }
        placement.first().and_then(|part| view.scenario.node_sets.partitions().of_node(part.node))
    }

    /// Return the shadow time of the head on whose nodes a job would start.
    pub fn shadow_time(&mut self, view: View<'_>, allocator: &Allocator, trial: Trial<'_>) -> f64 {
        self.reservation(view, allocator, trial).map_or(f64::INFINITY, |(shadow, _)| shadow.time)
    }

    /// Return whether the head would not fit at its shadow time beside a job that runs on.
    pub fn takes_from_head(&mut self, view: View<'_>, allocator: &Allocator, trial: Trial<'_>) -> bool {
        let Some((shadow, availability)) = self.reservation(view, allocator, trial) else { return false };
        !shadow.clone().leaves_room(view, allocator, trial, &mut availability.clone())
    }

    /// Return the earliest instant at which the head on whose nodes a job would start fits beside it, if it never ends.
    pub fn time_beside(&mut self, view: View<'_>, allocator: &Allocator, trial: Trial<'_>) -> f64 {
        let reservation = self.reservation(view, allocator, trial);
        reservation.map_or(f64::INFINITY, |(shadow, _)| shadow.time_beside(view, allocator, trial))
    }

    fn reservation(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        trial: Trial<'_>,
    ) -> Option<&mut (Shadow, ShadowAvailability)> {
        let number = self.number(view, trial.placement)?;
        self.reservation_in(view, allocator, number)
    }

    fn reservation_in(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        number: usize,
    ) -> Option<&mut (Shadow, ShadowAvailability)> {
        let head = self.heads[number].as_mut()?;
        Some(head.reservation.get_or_insert_with(|| {
            let mut availability = ShadowAvailability::default();
            let shadow = Shadow::among(view, allocator, head.job, &head.requests, &mut availability);
            (shadow, availability)
        }))
    }
}

/// Several reservations after a pass.
#[derive(Debug)]
pub struct Several<'a> {
    rule: &'a EasyReservations,
    /// Their plan, and the allocator that places them.
    plan: Option<(Plan, Allocator)>,
}

impl Several<'_> {
    /// Return the delay of the first job, in the order of the reservations, that a job would delay; None if there is none.
    pub fn delay(&mut self, view: View<'_>, allocator: &Allocator, trial: Trial<'_>) -> Option<Delay> {
        self.try_delay(view, allocator, trial).ok().flatten()
    }

    fn try_delay(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        trial: Trial<'_>,
    ) -> Result<Option<Delay>, Unanswered> {
        let (plan, allocator) = match &mut self.plan {
            Some(known) => known,
            unknown => {
                let mut allocator = allocator.clone();
                let plan = self.rule.clone().into_plan(view, &mut allocator)?;
                unknown.insert((plan, allocator))
            }
        };
        let moved = plan.first_moved(view, allocator, trial.job, trial.placement)?;
        Ok(moved.map(|(job, start, delayed)| Delay { job, start, delayed }))
    }
}
