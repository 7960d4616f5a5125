//! Jobs, the conditions for which they wait, and the readers of workloads.
mod attributes;
pub mod conditions;
pub mod dependencies;
pub mod external_event;
pub mod job;
pub mod preemption;
mod run_events;
pub mod swf;

pub use attributes::{Attributes, JobFactors, PlaceAttributes, value_of};
pub use conditions::{Awaited, ConditionState, Conditions, NO_ARRAY};
pub use dependencies::{Dependencies, DependencyKind, Need};
pub use external_event::{EVENT_NAMES, Evacuation, EventSubject, ExternalEvent, LimitedQuantity, TimedEvent};
pub use job::{Job, JobState, Rejection};
pub use preemption::{PreemptionMode, PreemptionRules};
pub use run_events::{Leg, RunEvent, RunEvents};
