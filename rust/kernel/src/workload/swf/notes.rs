//! Notes about irregularities in a log: every dropped or changed job has a note.

/// Treatment of the job of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The job was dropped.
    Dropped,
    /// The job was kept with a changed value.
    Mended,
    /// The job was kept unchanged.
    Noted,
}

macro_rules! reasons {
    ($($(#[$meta:meta])* $name:ident = $outcome:ident, $text:literal;)*) => {
        /// The reason of a note about a line.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Reason { $(#[doc = concat!("`", $text, "`")] $name),* }

        impl Reason {
            /// All reasons; the index of each is its number.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The text of the reason.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Treatment of a job with this reason.
            #[must_use]
            pub const fn outcome(self) -> Outcome {
                match self { $(Self::$name => Outcome::$outcome),* }
            }
        }
    };
}

reasons! {
    LineTooLong = Dropped, "line longer than 1 MiB";
    TooFewFields = Dropped, "fewer than 4 fields";
    JobNumber = Dropped, "job number is not a whole number";
    SubmitTime = Dropped, "submit_time is not a number of seconds >= 0";
    RunTime = Dropped, "run_time is unknown or not a number of seconds >= 0";
    CancelledUnknownWait = Dropped, "cancelled before it started, and its wait is unknown";
    Processors = Dropped, "processors unknown or < 1";
    RequestedTime = Dropped, "requested_time beyond 2^53 seconds";
    MissingFields = Mended, "fewer than 18 fields: the missing ones taken as unknown (-1)";
    ExtraFields = Mended, "more than 18 fields: the rest ignored";
    Unreadable = Mended, "not a number: taken as unknown (-1)";
    FractionalProcessors = Mended, "fractional processors: rounded up";
    FractionalInteger = Mended, "fractional whole number: rounded down";
    OtherProcessors = Mended, "processors unknown: the other processor field taken";
    RequestedTimeUnknown = Mended, "requested_time unknown: run_time taken";
    RequestedTimeRaised = Mended, "run_time > requested_time: requested_time raised to run_time";
    RunTimeCut = Mended, "run_time > requested_time: run_time cut to requested_time";
    UsedMemory = Mended, "requested memory unknown: used memory taken";
    MemoryUnknown = Mended, "memory unknown: 0 taken";
    PartsJoined = Mended, "partial executions put together: run_time is their sum";
    CancelledRequest = Mended, "cancelled before it started, and requested_time unknown: its wait taken";
    Cancelled = Noted, "cancelled before it started: cancelled after the same wait";
    OverrunKept = Noted, "run_time > requested_time: both kept";
    OutOfOrder = Noted, "submitted before the job above it";
    LongComment = Noted, "comment not kept: longer than 1 MiB, or beyond what a reader keeps (16 MiB; 1 MiB of a streamed log)";
    TrailingBytes = Noted, "bytes behind the end of the gzip stream ignored";
}

/// A set of reasons about one job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReasonSet(u32);

impl ReasonSet {
    pub(super) fn add(&mut self, reason: Reason) {
        self.0 |= 1 << reason as u8;
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn contains(self, reason: Reason) -> bool {
        self.0 & (1 << reason as u8) != 0
    }
}

/// One note about one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The reason.
    pub reason: Reason,
    /// Line number, from 1.
    pub line: u64,
    /// The job number, if it could be read.
    pub job_id: Option<i64>,
}

/// All notes about a log: exact counts, and the notes themselves up to a limit per reason.
///
/// A few bytes of gzip can expand to millions of lines, so no reader keeps a note for each of them.
#[derive(Clone, Debug)]
pub struct Notes {
    counts: [u64; Reason::ALL.len()],
    mended_jobs: u64,
    kept: Vec<Note>,
    limit: u64,
}

impl Notes {
    pub(super) const fn limited_to(limit: u64) -> Self {
        Self { counts: [0; Reason::ALL.len()], mended_jobs: 0, kept: Vec::new(), limit }
    }

    pub(super) fn add(&mut self, note: Note) {
        let count = &mut self.counts[note.reason as usize];
        *count += 1;
        if *count <= self.limit {
            self.kept.push(note);
        }
    }

    pub(super) fn add_all(&mut self, reasons: ReasonSet, line: u64, job_id: i64) {
        if reasons.is_empty() {
            return;
        }
        let mut mended = false;
        for &reason in Reason::ALL.iter().filter(|&&reason| reasons.contains(reason)) {
            mended |= reason.outcome() == Outcome::Mended;
            self.add(Note { reason, line, job_id: Some(job_id) });
        }
        self.mended_jobs += u64::from(mended);
    }

    /// Number of notes with a reason.
    #[must_use]
    pub const fn count(&self, reason: Reason) -> u64 {
        self.counts[reason as usize]
    }

    /// Number of jobs that were kept with a changed value; one job may have several notes.
    #[must_use]
    pub const fn mended_jobs(&self) -> u64 {
        self.mended_jobs
    }

    /// Number of notes with an outcome.
    #[must_use]
    pub fn total(&self, outcome: Outcome) -> u64 {
        Reason::ALL
            .iter()
            .filter(|reason| reason.outcome() == outcome)
            .map(|&reason| self.count(reason))
            .sum()
    }

    /// The first notes of each reason, up to the reader's limit, in line order.
    #[must_use]
    pub fn kept(&self) -> &[Note] {
        &self.kept
    }
}
