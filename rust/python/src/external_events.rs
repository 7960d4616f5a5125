//! External events, converted from Python.
use std::collections::HashMap;
use std::io;

use batchlab_kernel::stream::GivenEvent;
use batchlab_kernel::workload::{EVENT_NAMES, EventSubject, ExternalEvent, LimitedQuantity, TimedEvent};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

/// The events of a run in time order, as columns.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EventColumns<'py> {
    time: PyReadonlyArray1<'py, f64>,
    /// Indices into the list of names.
    kind: PyReadonlyArray1<'py, u8>,
    /// Rows of the workload; −1 for an event without a job.
    row: PyReadonlyArray1<'py, i64>,
    /// NaN if missing.
    value: PyReadonlyArray1<'py, f64>,
    /// The end of each event's ranges of nodes.
    until: PyReadonlyArray1<'py, i64>,
    /// The ranges of nodes of all events, one event after the other.
    ranges: Vec<(u32, u32)>,
    kills: PyReadonlyArray1<'py, bool>,
    /// For events that change limits, by index: the limit, the quantity, and the index of its resource.
    limits: HashMap<usize, (u32, String, u32)>,
    /// The reservations of events, by index.
    reservations: HashMap<usize, u32>,
}

impl EventColumns<'_> {
    /// Creates the events for these numbers of jobs and nodes.
    pub fn events(&self, jobs: usize, nodes: u32) -> PyResult<Vec<TimedEvent>> {
        let count = self.time.len();
        let lengths = [self.kind.len(), self.row.len(), self.value.len(), self.until.len(), self.kills.len()];
        if lengths.iter().any(|&length| length != count) {
            return Err(PyValueError::new_err("the columns of the events differ in length"));
        }
        if self.ranges.iter().any(|&(begin, end)| begin > end || end > nodes) {
            return Err(PyValueError::new_err(format!("events name more than the {nodes} nodes")));
        }
        let mut begin = 0;
        (0..count)
            .map(|at| {
                let end = usize::try_from(self.until.as_array()[at]).unwrap_or_default();
                let ranges = self.ranges.get(begin..end).unwrap_or_default();
                begin = end;
                self.event(at, jobs, ranges)
            })
            .collect()
    }

    fn event(&self, at: usize, jobs: usize, ranges: &[(u32, u32)]) -> PyResult<TimedEvent> {
        let (time, value) = (self.time.as_array()[at], self.value.as_array()[at]);
        let refused = || PyValueError::new_err(format!("event {at} at {time} s lacks what its kind needs"));
        let row = u32::try_from(self.row.as_array()[at]).ok();
        let subject = EventSubject {
            job: row.filter(|&row| (row as usize) < jobs),
            nodes: ranges.iter().map(|&(begin, end)| begin..end).collect(),
            value: (!value.is_nan()).then_some(value),
            limit: self.limits.get(&at).and_then(|(limit, quantity, place)| {
                LimitedQuantity::named(quantity, *place).map(|quantity| (*limit, quantity))
            }),
            reservation: self.reservations.get(&at).copied(),
            kills: self.kills.as_array()[at],
        };
        let name = EVENT_NAMES.get(usize::from(self.kind.as_array()[at])).ok_or_else(refused)?;
        let event = ExternalEvent::named(name, subject).ok_or_else(refused)?;
        if time.is_finite() { Ok(TimedEvent { time: time + 0.0, event }) } else { Err(refused()) }
    }
}

/// Time, kind, job, ranges of nodes, value, and whether jobs on nodes that go down are killed.
type EventTuple = (f64, String, Option<i64>, Vec<(u32, u32)>, Option<f64>, bool);

/// Events from a Python iterator of lists.
pub struct ReadEvents {
    lists: Py<PyIterator>,
    nodes: u32,
    read: std::vec::IntoIter<EventTuple>,
}

impl ReadEvents {
    /// Reads events for this number of nodes.
    pub fn new(lists: Py<PyIterator>, nodes: u32) -> Self {
        Self { lists, nodes, read: Vec::new().into_iter() }
    }

    /// The next non-empty list; empty after the last.
    fn read_list(&self) -> PyResult<Vec<EventTuple>> {
        Python::attach(|py| {
            let mut lists = self.lists.bind(py).clone();
            loop {
                let Some(list) = lists.next().transpose()? else { return Ok(Vec::new()) };
                let list: Vec<EventTuple> = list.extract()?;
                if !list.is_empty() {
                    return Ok(list);
                }
            }
        })
    }

    fn event(&self, event: EventTuple) -> io::Result<GivenEvent> {
        let (time, kind, job_id, ranges, value, kills) = event;
        let refused =
            |rule: &str| io::Error::other(PyValueError::new_err(format!("event at {time} s {rule}")));
        let Some(&name) = EVENT_NAMES.iter().find(|&&name| name == kind) else {
            return Err(refused("is of no known kind"));
        };
        if ranges.iter().any(|&(begin, end)| begin > end || end > self.nodes) {
            return Err(refused("names more than the nodes"));
        }
        let nodes = ranges.into_iter().map(|(begin, end)| begin..end).collect();
        // A streamed run has neither limits nor reservations.
        let subject = EventSubject { nodes, value, kills, ..EventSubject::default() };
        Ok(GivenEvent { time, name, job_id, subject })
    }
}

impl Iterator for ReadEvents {
    type Item = io::Result<GivenEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read.len() == 0 {
            match self.read_list() {
                Ok(list) => self.read = list.into_iter(),
                Err(error) => return Some(Err(io::Error::other(error))),
            }
        }
        let event = self.read.next()?;
        Some(self.event(event))
    }
}
