//! The Standard Workload Format, version 2.2, read as a stream.
//!
//! Each line of a log has 18 numbers and describes one job. Comments begin with `;` and describe the log (Chapin et
//! al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999; the format's page in the
//! Parallel Workloads Archive). Real logs have fractions, missing fields and impossible jobs. For any input, the reader
//! returns jobs and notes, or one [`SwfError`]: a job is dropped or changed only with a [`Note`] that gives the reason.
//!
//! [`SwfParser`] reads bytes in pieces; [`SwfFile`] iterates over the jobs of a file. Cost: linear in the number of
//! bytes. Memory of a [`SwfFile`]: one block of 64 KiB and its jobs, an unfinished line and 1 MiB of comments.

mod error;
mod file;
mod gzip;
mod notes;
mod number;
mod options;
mod parser;
mod parts;
mod record;
#[cfg(test)]
mod tests;

pub use error::SwfError;
pub use file::{Blocks, SwfFile};
pub use notes::{Note, Notes, Outcome, Reason};
pub use options::{Invalid, Overrun, ProcessorField, SwfOptions};
pub use parser::SwfParser;
pub use record::{FIELD_NAMES, FIELDS, SwfRecord, is_whole};
