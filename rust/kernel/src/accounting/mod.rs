//! Accounts, their shares, their usage, and the resulting priorities.
//!
//! An account tree never changes during a run; usage does, and is part of the state. Both are plain numbers: the caller
//! stores names. Powers and logarithms come from `libm`, with the same results on every platform.
mod accounts;
mod billing;
mod decay;
mod fair_share;
mod limits;
mod minutes;
mod multifactor;
mod node_usage;
mod periodic_usage;
mod tree;
mod usage;
mod windows;

pub use accounts::Accounts;
pub use billing::{Billing, Charge};
pub use decay::Decay;
pub use fair_share::{Entry, FactorTree, FairShareRule, RULES, named};
pub use limits::{Cap, LimitCounts, Limits};
pub use minutes::{Ask, MinuteCaps, Span, microseconds};
pub use multifactor::{Factors, JobSize, Machine, Multifactor, Size, Weights};
pub use node_usage::NodeUsage;
pub use periodic_usage::PeriodicUsage;
pub use tree::{AccountTree, Member, Shares, TreeDefect};
pub use usage::{DecayedUsage, Usage};
pub use windows::{Target, TargetKind, Windows, effective_share};

#[cfg(test)]
mod tests;
