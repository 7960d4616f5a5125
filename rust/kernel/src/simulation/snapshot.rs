//! Snapshots: the state of a simulation as bytes, which another process can restore.
//!
//! The bytes contain a signature, the versions of format and kernel, a digest of the inputs, and the state. The inputs
//! (jobs, system, policy, options) are not included: a snapshot is restored into a new simulation of the same inputs,
//! which the digest checks. O(rows) bytes and time.
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::placement::Allocator;
use crate::priority::Priority;
use crate::record::Recorders;
use crate::scenario::Scenario;
use crate::scheduler::Scheduler;
use crate::state::State;

use super::agenda::Agenda;
use super::cursor::{Cursor, Listeners};
use super::{Feed, Simulation, YieldPoint};

/// Signature of a snapshot, with the version of its format.
const MARK: &[u8] = b"batchlab snapshot 1\n";

/// Why bytes cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The bytes do not begin like a snapshot, or are truncated.
    NotASnapshot,
    /// Written by this other version of the kernel.
    OtherVersion(String),
    /// The snapshot belongs to other jobs, another system or other options.
    OtherScenario,
    /// The bytes cannot be read or written, for this reason.
    Broken(String),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASnapshot => write!(out, "the bytes are no snapshot of a simulation"),
            Self::OtherVersion(version) => {
                let own = env!("CARGO_PKG_VERSION");
                write!(out, "the snapshot was taken by version {version}; this is {own}")
            }
            Self::OtherScenario => {
                write!(out, "the snapshot is of other jobs, another system or other options")
            }
            Self::Broken(reason) => write!(out, "the snapshot is broken: {reason}"),
        }
    }
}

/// Identification of a snapshot.
#[derive(Serialize, Deserialize)]
struct Header {
    version: String,
    digest: [u8; 32],
}

/// The state to write.
#[derive(Serialize)]
struct Changing<'a, F> {
    state: &'a State,
    scheduler: &'a Scheduler,
    priority: &'a Priority,
    allocator: &'a Allocator,
    recorders: &'a Recorders,
    agenda: &'a Agenda,
    listeners: Listeners,
    cursor: &'a Cursor,
    feed: &'a F,
    asked: Option<YieldPoint>,
}

/// The state that was read.
#[derive(Deserialize)]
struct Changed<F> {
    state: State,
    scheduler: Scheduler,
    priority: Priority,
    allocator: Allocator,
    recorders: Recorders,
    agenda: Agenda,
    listeners: Listeners,
    cursor: Cursor,
    feed: F,
    asked: Option<YieldPoint>,
}

impl<F: Feed + Serialize + DeserializeOwned> Simulation<F> {
    /// Return the simulation as bytes. `asked` is the point at which an external party is being called.
    pub fn snapshot(&self, asked: Option<YieldPoint>) -> Result<Vec<u8>, SnapshotError> {
        let header =
            Header { version: env!("CARGO_PKG_VERSION").to_owned(), digest: self.scenario.digest()? };
        let changing = Changing {
            state: &self.state,
            scheduler: &self.scheduler,
            priority: &self.priority,
            allocator: &self.allocator,
            recorders: &self.recorders,
            agenda: &self.agenda,
            listeners: self.listeners,
            cursor: &self.cursor,
            feed: &self.feed,
            asked,
        };
        let bytes = postcard::to_extend(&header, MARK.to_vec()).map_err(broken)?;
        let bytes = postcard::to_extend(&changing, bytes).map_err(broken)?;
        if self.scenario.attributes.run_events.is_empty() {
            return Ok(bytes);
        }
        postcard::to_extend(&self.state.legs, bytes).map_err(broken)
    }

    /// Restore a snapshot into this simulation, which was created from the same jobs, system, policy and options.
    /// Return it and the point at which an external party was being called. `rejoin` connects the feed to its inputs.
    pub fn restored(
        self,
        bytes: &[u8],
        rejoin: impl FnOnce(&F, F) -> F,
    ) -> Result<(Self, Option<YieldPoint>), SnapshotError> {
        let bytes = bytes.strip_prefix(MARK).ok_or(SnapshotError::NotASnapshot)?;
        let (header, bytes): (Header, _) =
            postcard::take_from_bytes(bytes).map_err(|_| SnapshotError::NotASnapshot)?;
        if header.version != env!("CARGO_PKG_VERSION") {
            return Err(SnapshotError::OtherVersion(header.version));
        }
        if header.digest != self.scenario.digest()? {
            return Err(SnapshotError::OtherScenario);
        }
        let (mut changed, rest): (Changed<F>, _) = postcard::take_from_bytes(bytes).map_err(broken)?;
        if !self.scenario.attributes.run_events.is_empty() {
            changed.state.legs = postcard::from_bytes(rest).map_err(broken)?;
        }
        changed.state.rejoin(&self.state);
        let feed = rejoin(&self.feed, changed.feed);
        let mut simulation = Self {
            scenario: self.scenario,
            state: changed.state,
            scheduler: changed.scheduler,
            priority: changed.priority,
            allocator: changed.allocator,
            recorders: changed.recorders,
            agenda: changed.agenda.into(),
            kinds: Vec::new(),
            rare_kinds: Vec::new(),
            has_optional_features: true,
            varies_with_time: true,
            listeners: changed.listeners,
            cursor: changed.cursor,
            signal_poll: self.signal_poll,
            feed,
        };
        simulation.choose_kinds();
        Ok((simulation, changed.asked))
    }
}

impl Scenario {
    /// Return the digest of the scenario: SHA-256 of its serialisation. O(rows) the first time, then O(1).
    fn digest(&self) -> Result<[u8; 32], SnapshotError> {
        if let Some(digest) = self.digest.get() {
            return Ok(*digest);
        }
        let hashed = postcard::to_io(self, Sha256::new()).map_err(broken)?;
        Ok(*self.digest.get_or_init(|| hashed.finalize().into()))
    }
}

fn broken(error: impl fmt::Display) -> SnapshotError {
    SnapshotError::Broken(format!("{error}"))
}
