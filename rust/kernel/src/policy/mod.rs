//! Policies: an order, a backfilling rule and an allocator.
pub mod allocate;
pub mod backfill;
pub mod choice;
pub mod conservative;
pub mod easy;
pub mod easy_reservations;
pub mod expression;
pub mod order;
pub mod outside;
pub mod profile;
pub mod site;

pub use allocate::{Allocator, Placer};
pub use backfill::{Backfill, Scheduler};
pub use order::Order;
pub use outside::Outside;
pub use site::Site;

#[cfg(test)]
mod tests;
