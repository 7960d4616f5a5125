//! Snapshots: the state of a simulation as bytes, to be restored in another process.
//!
//! The bytes hold a mark, the version of the format and of the kernel, a digest of what is given, and all that changes.
//! What is given (jobs, system, policy, options) is not in them: a simulation is restored into one that was made anew of
//! the same, which the digest proves. O(rows) bytes and time.
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

/// The mark of a snapshot, and the version of its format.
const MARK: &[u8] = b"batchlab snapshot 1\n";

/// Why bytes cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// They do not begin as a snapshot does, or end too early.
    NotASnapshot,
    /// Another version of the kernel wrote them: which.
    OtherVersion(String),
    /// They are of other jobs, another system or other options.
    OtherScenario,
    /// They cannot be read, or written: why.
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

/// What identifies a snapshot.
#[derive(Serialize, Deserialize)]
struct Header {
    version: String,
    digest: [u8; 32],
}

/// Everything that changes.
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

/// The same, read back.
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
    /// The simulation as bytes. `asked` is the point at which something outside is being asked.
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

    /// The simulation of a snapshot, restored into one that was made of the same jobs, system, policy and options; and the
    /// point at which something outside was being asked. `rejoin` gives the feed its share of what was given.
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
            has_rare_events: true,
            has_rare_states: true,
            varies_with_time: true,
            listeners: changed.listeners,
            cursor: changed.cursor,
            patience: self.patience,
            feed,
        };
        simulation.choose_kinds();
        Ok((simulation, changed.asked))
    }
}

impl Scenario {
    /// What identifies the scenario: SHA-256 of its description. O(rows) the first time, O(1) after that.
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
