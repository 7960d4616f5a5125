//! The lines of the output, which arrive as jobs end, restored to the order of the log.
//!
//! Lines are written to a spool file as they arrive, and their positions to an index by row; at the end the index is
//! read once. Memory is bounded by one block of each; the system removes the files when they are closed.
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::cluster::NodeTasks;
use crate::state::View;
use crate::workload::Rejection;
use crate::workload::swf::{FIELDS, SwfRecord, is_whole};

/// Rows per block of the index.
const BLOCK: usize = 16_384;
/// Bytes per entry of the index: position and length.
const ENTRY: usize = 16;
/// Fields with separate columns: job number, submit, run and requested time.
const OWN_COLUMNS: [usize; 4] = [0, 1, 3, 8];

/// Lines that are written to a file in order of their rows.
pub struct OrderedLines {
    answer: BufWriter<File>,
    spool: BufWriter<File>,
    index: File,
    written: u64,
    rows: u64,
    /// Entries not yet in the index: row, position, length.
    entries: Vec<(u64, u64, u64)>,
    line: String,
}

impl OrderedLines {
    /// Creates the output file, and temporary files in the same directory.
    pub fn create(answer: &Path) -> io::Result<Self> {
        let directory =
            answer.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self {
            answer: BufWriter::new(File::create(answer)?),
            spool: BufWriter::new(tempfile::tempfile_in(directory)?),
            index: tempfile::tempfile_in(directory)?,
            written: 0,
            rows: 0,
            entries: Vec::with_capacity(BLOCK),
            line: String::new(),
        })
    }

    /// Writes the header line.
    pub fn write_header(&mut self, header: &str) -> io::Result<()> {
        writeln!(self.answer, "{header}")
    }

    /// Adds the line of a row.
    pub fn write(&mut self, row: u64, format: impl FnOnce(&mut String)) -> io::Result<()> {
        self.line.clear();
        format(&mut self.line);
        self.line.push('\n');
        self.spool.write_all(self.line.as_bytes())?;
        self.entries.push((row, self.written, self.line.len() as u64));
        self.written += self.line.len() as u64;
        self.rows = self.rows.max(row + 1);
        if self.entries.len() == BLOCK { self.write_entries() } else { Ok(()) }
    }

    fn write_entries(&mut self) -> io::Result<()> {
        self.entries.sort_unstable();
        for run in self.entries.chunk_by(|a, b| a.0 + 1 == b.0) {
            let bytes: Vec<u8> = run
                .iter()
                .flat_map(|(_, place, length)| [place.to_le_bytes(), length.to_le_bytes()])
                .flatten()
                .collect();
            self.index.seek(SeekFrom::Start(run[0].0 * ENTRY as u64))?;
            self.index.write_all(&bytes)?;
        }
        self.entries.clear();
        Ok(())
    }

    /// Writes all lines to the output, in order.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_entries()?;
        let mut spool = self.spool.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.index.seek(SeekFrom::Start(0))?;
        let mut left = self.rows as usize;
        while left > 0 {
            let count = left.min(BLOCK);
            let mut block = vec![0; count * ENTRY];
            self.index.read_exact(&mut block)?;
            let lines = read_lines(&mut spool, &entries_of(&block))?;
            self.answer.write_all(&lines)?;
            left -= count;
        }
        self.answer.flush()
    }
}

fn entries_of(block: &[u8]) -> Vec<(u64, usize)> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    block.chunks_exact(ENTRY).map(|entry| (number(&entry[..8]), number(&entry[8..]) as usize)).collect()
}

/// Reads lines in the order of the spool, and returns them in the order of `entries`.
fn read_lines(spool: &mut File, entries: &[(u64, usize)]) -> io::Result<Vec<u8>> {
    let mut targets = Vec::with_capacity(entries.len());
    let mut total = 0;
    for &(_, length) in entries {
        targets.push(total);
        total += length;
    }
    let mut by_place: Vec<usize> = (0..entries.len()).collect();
    by_place.sort_unstable_by_key(|&entry| entries[entry].0);
    let mut lines = vec![0; total];
    let mut run = Vec::new();
    for group in by_place.chunk_by(|&a, &b| entries[a].0 + entries[a].1 as u64 == entries[b].0) {
        let first = entries[group[0]].0;
        run.resize(group.iter().map(|&entry| entries[entry].1).sum(), 0);
        spool.seek(SeekFrom::Start(first))?;
        spool.read_exact(&mut run)?;
        for &entry in group {
            let (place, length) = entries[entry];
            let from = (place - first) as usize;
            lines[targets[entry]..targets[entry] + length].copy_from_slice(&run[from..from + length]);
        }
    }
    Ok(lines)
}

/// The fields of the log that are copied to the output.
pub fn riding_fields() -> impl Iterator<Item = usize> {
    (0..FIELDS).filter(|field| !OWN_COLUMNS.contains(field))
}

/// Further requests of jobs, in separate columns.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The memory of each task, if tasks request memory.
    pub memory: Option<i64>,
    /// True if the time limit may differ from the requested time.
    pub has_limit: bool,
}

/// Formats one job as a line of `jobs.csv`; `reason` is the reason why it waits.
pub fn format_job(
    line: &mut String,
    view: View<'_>,
    job: u32,
    record: &SwfRecord,
    held: &[i64],
    asked: Asked,
    reason: Option<&str>,
) {
    use std::fmt::Write;
    let jobs = &view.state.jobs;
    let state = jobs.state(job).name();
    // Writing to a String does not fail.
    let _ = write!(line, "{},{state},{:?}", record.job_id, record.submit_time);
    for time in [jobs.start_time(job), jobs.end_time(job)] {
        line.push(',');
        if !time.is_nan() {
            let _ = write!(line, "{time:?}");
        }
    }
    let requested_time = jobs.requested_time(job);
    let _ = write!(line, ",{:?},{requested_time:?},{},", record.run_time, record.tasks);
    let placement = jobs.placement(job);
    let ranges = node_ranges(placement.iter().map(|part: &NodeTasks| part.node));
    if ranges.contains(',') {
        let _ = write!(line, "\"{ranges}\"");
    } else {
        line.push_str(&ranges);
    }
    line.push(',');
    line.push_str(jobs.rejection(job).map(Rejection::name).or(reason).unwrap_or_default());
    for amount in held {
        let _ = write!(line, ",{amount}");
    }
    let (has_overheads, can_sleep) = (view.scenario.overheads.is_some(), view.scenario.sleep.is_some());
    if has_overheads || can_sleep {
        let (launch, completion) = view.spent_overhead(job);
        let phases = [launch, completion];
        for seconds in &phases[..if has_overheads { 2 } else { 1 }] {
            line.push(',');
            if !jobs.start_time(job).is_nan() {
                let _ = write!(line, "{seconds:?}");
            }
        }
    }
    if asked.has_limit {
        let _ = write!(line, ",{:?}", jobs.time_limit(job));
    }
    if let Some(memory) = asked.memory {
        let _ = write!(line, ",{memory}");
    }
    for field in riding_fields() {
        let value = record.fields[field];
        let _ = if is_whole(field) {
            write!(line, ",{}", record.whole_field(field))
        } else {
            write!(line, ",{value:?}")
        };
    }
}

/// Formats ascending nodes as ranges: `0-3,7`.
pub fn node_ranges(nodes: impl Iterator<Item = u32>) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut run: Option<(u32, u32)> = None;
    let mut close = |run: Option<(u32, u32)>| {
        let separator = if text.is_empty() { "" } else { "," };
        let _ = match run {
            None => Ok(()),
            Some((first, last)) if first == last => write!(text, "{separator}{first}"),
            Some((first, last)) => write!(text, "{separator}{first}-{last}"),
        };
    };
    for node in nodes {
        match run {
            Some((first, last)) if last.checked_add(1) == Some(node) => run = Some((first, node)),
            _ => {
                close(run);
                run = Some((node, node));
            }
        }
    }
    close(run);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_in_the_order_of_rows() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("answer");
        let mut lines = OrderedLines::create(&path).expect("it is made");
        lines.write_header("row").expect("it is written");
        let count = 3 * BLOCK as u64 + 5;
        // A step coprime to the count visits every row once.
        for step in 0..count {
            let row = step * 7_919 % count;
            lines.write(row, |line| line.push_str(&row.to_string())).expect("it is written");
        }
        lines.finish().expect("it is finished");
        let written = std::fs::read_to_string(&path).expect("it is there");
        let rows: Vec<String> = (0..count).map(|row| row.to_string()).collect();
        assert_eq!(written, format!("row\n{}\n", rows.join("\n")));
    }

    #[test]
    fn nodes_are_written_as_ranges() {
        assert_eq!(node_ranges([].into_iter()), "");
        assert_eq!(node_ranges([5].into_iter()), "5");
        assert_eq!(node_ranges([0, 1, 2, 3, 7, 9, 10].into_iter()), "0-3,7,9-10");
    }
}
