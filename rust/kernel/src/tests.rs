//! Tests of the kernel that belong to no single module.
mod any_input;
