//! Errors of applications.
use std::fmt;

use crate::application::{FormulaError, ModelError};
use crate::platform::{NoRoute, Platform};

/// The reason why an application cannot start or continue.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecutionError {
    /// The job has no application.
    NoApplication,
    /// The job has no hosts, or one that does not exist.
    Hosts,
    /// A number of iterations or of nodes has no value.
    Formula {
        /// The quantity that the formula defines.
        of: String,
        /// Error of the formula.
        error: FormulaError,
    },
    /// The amounts of a task have no value.
    Model {
        /// The task's name.
        task: String,
        /// Error of the model.
        error: ModelError,
    },
    /// An evolving request for an invalid number of nodes.
    Request {
        /// Value of the formula.
        tasks: f64,
        /// Minimum number of nodes of the job.
        least: u32,
        /// Maximum number of nodes of the job.
        most: u32,
    },
    /// An endless loop in which no time passes.
    Endless {
        /// Number of steps done at one instant.
        steps: u64,
        /// The phase of the loop; None before the first phase.
        phase: Option<u32>,
        /// Number of completed iterations of the phase.
        iteration: u64,
    },
    /// A message program with another number of ranks than the job has.
    Ranks {
        /// The task's name.
        task: String,
        /// Number of ranks of the program.
        given: usize,
        /// Number of ranks of the job.
        needed: usize,
    },
    /// Two hosts without a route between them.
    NoRoute {
        /// The sending host.
        from: String,
        /// The receiving host.
        to: String,
    },
    /// A host lacks what a task needs.
    Lacks {
        /// The task's name.
        task: String,
        /// The name of the host.
        host: String,
        /// The missing property, and how to add it.
        what: &'static str,
    },
}

impl ExecutionError {
    /// Creates the error of a missing route, with the names of its hosts.
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
