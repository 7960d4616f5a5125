//! Why an application cannot go on.
use std::fmt;

use crate::application::{FormulaError, ModelError};
use crate::platform::{NoRoute, Platform};

/// Why an application cannot be started, or cannot go on.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecutionError {
    /// The job carries no application.
    NoApplication,
    /// The job was given no hosts, or one that is not there.
    Hosts,
    /// A number of iterations or of nodes has no value.
    Formula {
        /// Whose formula it is.
        of: String,
        /// What is wrong.
        error: FormulaError,
    },
    /// The amounts of a task have no value.
    Model {
        /// The task's name.
        task: String,
        /// What is wrong.
        error: ModelError,
    },
    /// An evolving request that is no number of nodes of the job.
    Request {
        /// What the formula gave.
        tasks: f64,
        /// The fewest nodes of the job.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A loop in which no time passes, and that goes on and on.
    Endless {
        /// How many steps were done at one instant.
        steps: u64,
        /// The phase in which that was; None where it was before the first.
        phase: Option<u32>,
        /// How many of its iterations were done.
        iteration: u64,
    },
    /// A message program for another number of ranks than the job has.
    Ranks {
        /// The task's name.
        task: String,
        /// The program's ranks.
        given: usize,
        /// The job's.
        needed: usize,
    },
    /// Two hosts between which there is no route.
    NoRoute {
        /// The host that sends.
        from: String,
        /// The host that receives.
        to: String,
    },
    /// A host lacks what a task needs.
    Lacks {
        /// The task's name.
        task: String,
        /// The host's.
        host: String,
        /// What it lacks, and what to do.
        what: &'static str,
    },
}

impl ExecutionError {
    /// The hosts of a route that is not there, by their names.
    pub(super) fn no_route(platform: &Platform, route: NoRoute) -> Self {
        let name = |host: u32| platform.hosts()[host as usize].name.clone();
        Self::NoRoute { from: name(route.from), to: name(route.to) }
    }
}

impl fmt::Display for ExecutionError {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoApplication => {
                write!(text, "the job carries no application; give it one, or a run time.")
            }
            Self::Hosts => write!(text, "the hosts of a job must be there, and at least one."),
            Self::Formula { of, error } => write!(text, "{of}: the formula {error}"),
            Self::Model { task, error } => write!(text, "task '{task}': {error}"),
            Self::Request { tasks, least, most } => write!(
                text,
                "the evolving request is for {tasks} nodes; must be from {least} to {most}. Clip requests, or mend \
                 the formula."
            ),
            Self::Endless { steps, phase, iteration } => {
                match phase {
                    Some(phase) => write!(text, "phase {phase}, after {iteration} iterations,")?,
                    None => write!(text, "the stage before its phases")?,
                }
                write!(
                    text,
                    " loops at one instant: {steps} steps, and no time passed. Give its tasks amounts, or fewer \
                     iterations."
                )
            }
            Self::NoRoute { from, to } => {
                write!(text, "there is no route from '{from}' to '{to}'; add one to the platform.")
            }
            Self::Ranks { task, given, needed } => write!(
                text,
                "task '{task}': the skeleton has {given} ranks, and the job {needed} tasks; must be equal. Make \
                 the skeleton for as many."
            ),
            Self::Lacks { task, host, what } if task.is_empty() => {
                write!(text, "a task: host '{host}' {what}")
            }
            Self::Lacks { task, host, what } => write!(text, "task '{task}': host '{host}' {what}"),
        }
    }
}

impl std::error::Error for ExecutionError {}
