//! The columns of a workload, converted from Python, and columns of results.
use std::collections::HashMap;
use std::sync::Arc;

use batchlab_kernel::cluster::{NodeSet, NodeSetId, NodeSets, Request, Requests};
use batchlab_kernel::record::AllocationIntervals;
use batchlab_kernel::scenario::{Alternatives, Overhead, Overheads, Scenario};
use batchlab_kernel::state::JobRecords;
use batchlab_kernel::workload::{
    Attributes, Job, JobFactors, JobState, Leg, PlaceAttributes, Rejection, RunEvent, RunEvents,
};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::limits::LimitColumns;
use crate::preemption::PreemptionColumns;
use crate::reservations::ReservationColumns;

/// The amount of one resource per task: the same for all jobs, or one value per job.
#[derive(FromPyObject)]
enum Amount<'py> {
    Same(i64),
    PerJob(PyReadonlyArray1<'py, i64>),
}

impl Amount<'_> {
    fn of(&self, job: usize) -> i64 {
        match self {
            Self::Same(amount) => *amount,
            Self::PerJob(amounts) => amounts.as_array()[job],
        }
    }
}

/// Returns whether a value is allowed: only requested times and time limits may be infinite.
fn may_be(name: &str, value: f64) -> bool {
    value.is_finite() || matches!(name, "requested_time" | "time_limit")
}

/// Overheads of jobs, seconds.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct OverheadColumns<'py> {
    launch: PyReadonlyArray1<'py, f64>,
    completion: PyReadonlyArray1<'py, f64>,
    suspend: PyReadonlyArray1<'py, f64>,
    resume: PyReadonlyArray1<'py, f64>,
    counted: bool,
    billed: bool,
}

impl OverheadColumns<'_> {
    fn overheads(&self, count: usize) -> PyResult<Overheads> {
        let (launch, completion) = (self.launch.as_array(), self.completion.as_array());
        let (suspend, resume) = (self.suspend.as_array(), self.resume.as_array());
        if [launch, completion, suspend, resume].iter().any(|column| column.len() != count) {
            return Err(PyValueError::new_err("the columns of the overheads differ in length from the jobs"));
        }
        let of_slot = |slot: usize| Overhead {
            launch: launch[slot],
            completion: completion[slot],
            suspend: suspend[slot],
            resume: resume[slot],
        };
        let of_job = (0..count).map(of_slot).collect();
        Ok(Overheads { of_job, counted: self.counted, billed: self.billed })
    }
}

/// Job factors of the multifactor priority.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct FactorColumns<'py> {
    association: Option<PyReadonlyArray1<'py, f64>>,
    partition: Option<PyReadonlyArray1<'py, f64>>,
    qos: Option<PyReadonlyArray1<'py, f64>>,
    nice: Option<PyReadonlyArray1<'py, f64>>,
    resources: Vec<PyReadonlyArray1<'py, f64>>,
}

impl FactorColumns<'_> {
    fn factors(&self) -> JobFactors {
        JobFactors {
            association: given(self.association.as_ref()),
            partition: given(self.partition.as_ref()),
            qos: given(self.qos.as_ref()),
            nice: given(self.nice.as_ref()),
            resources: self.resources.iter().map(|column| given(Some(column))).collect(),
        }
    }
}

/// Events during the runs of jobs, ordered by job, one row per leg.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct RunEventColumns<'py> {
    job: PyReadonlyArray1<'py, u32>,
    until: PyReadonlyArray1<'py, f64>,
    event: Vec<String>,
    pause: PyReadonlyArray1<'py, f64>,
}

impl RunEventColumns<'_> {
    fn events(&self, jobs: usize) -> PyResult<RunEvents> {
        let mut events = RunEvents::default();
        let rows = self.job.as_array().to_vec().into_iter().zip(self.until.as_array().to_vec());
        let mut is_sound = self.job.len() == self.event.len() && self.pause.len() == self.event.len();
        for ((job, until), (event, pause)) in rows.zip(self.event.iter().zip(self.pause.as_array())) {
            let event = match event.as_str() {
                "requeue" => RunEvent::Requeue,
                "suspend" => RunEvent::Suspend(*pause),
                "completed" => RunEvent::End(JobState::Completed),
                "cancel" => RunEvent::End(JobState::Cancelled),
                "kill" => RunEvent::End(JobState::Killed),
                _ => return Err(PyValueError::new_err("run_events name an unknown event")),
            };
            is_sound &= (job as usize) < jobs && until >= 0.0 && *pause >= 0.0;
            events.add(job, Leg { until, event });
        }
        if !(is_sound && events.are_whole()) {
            return Err(PyValueError::new_err("run_events do not fit the jobs"));
        }
        Ok(events)
    }
}

/// Attributes of a partition for each job.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct PlaceColumns<'py> {
    tier: PyReadonlyArray1<'py, i32>,
    partition: Option<PyReadonlyArray1<'py, f64>>,
    resources: Vec<PyReadonlyArray1<'py, f64>>,
}

impl PlaceColumns<'_> {
    fn attributes(&self) -> PlaceAttributes {
        PlaceAttributes {
            tier: given(Some(&self.tier)),
            partition: given(self.partition.as_ref()),
            resources: self.resources.iter().map(|column| given(Some(column))).collect(),
        }
    }
}

/// The values of a column; empty if the column is missing.
fn given<T: numpy::Element + Copy>(column: Option<&PyReadonlyArray1<'_, T>>) -> Vec<T> {
    column.map_or(Vec::new(), |column| column.as_array().to_vec())
}

/// The columns of a workload.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Columns<'py> {
    submit_time: PyReadonlyArray1<'py, f64>,
    run_time: PyReadonlyArray1<'py, f64>,
    requested_time: PyReadonlyArray1<'py, f64>,
    /// The time limit of each job; None if it equals requested_time.
    time_limit: Option<PyReadonlyArray1<'py, f64>>,
    tasks: PyReadonlyArray1<'py, i64>,
    amounts: Vec<Amount<'py>>,
    tasks_per_node: Option<PyReadonlyArray1<'py, i64>>,
    exclusive: Option<PyReadonlyArray1<'py, bool>>,
    /// The node sets that jobs may be bound to, each as ranges of nodes.
    node_sets: Vec<Vec<(u32, u32)>>,
    /// The nodes of the distinct partitions, as ranges of nodes; empty if the machine has no partitions.
    partition_nodes: Vec<Vec<(u32, u32)>>,
    /// The sets that a job may run in, in the order of attempts. For each: its index in `node_sets`; the index of the
    /// set before it was restricted to the requested features; and the index of its partition in `partition_nodes`.
    node_set_lists: Vec<Vec<(usize, usize, u32)>>,
    /// 1 + the index of each job's list; 0 if it may use the whole machine.
    node_set_list: Option<PyReadonlyArray1<'py, u32>>,
    /// The tier of the partitions of each job.
    tier: Option<PyReadonlyArray1<'py, i32>>,
    /// The priority of the queue of each job.
    queue_priority: Option<PyReadonlyArray1<'py, i32>>,
    /// The least number of nodes of each job.
    nodes: Option<PyReadonlyArray1<'py, f64>>,
    /// The numbers of the user, the association and the array of each job, from 1; 0 for none.
    user: Option<PyReadonlyArray1<'py, u32>>,
    association: Option<PyReadonlyArray1<'py, u32>>,
    array: Option<PyReadonlyArray1<'py, u32>>,
    /// True if a job may be requeued to run again from its start; None if all may.
    requeue: Option<PyReadonlyArray1<'py, bool>>,
    /// The cancellation time of jobs without a known run time, infinity for others; None if there are no such jobs.
    cancelled_at: Option<PyReadonlyArray1<'py, f64>>,
    /// Events during the runs of jobs; None without events.
    run_events: Option<RunEventColumns<'py>>,
    /// Seconds that jobs may run beyond their time limits, in the first partition of each, in the second, and so on.
    over_time_limits: Vec<PyReadonlyArray1<'py, f64>>,
    /// Attributes for the first partition of each job, then the second, and so on, if they differ.
    places: Vec<PlaceColumns<'py>>,
    factors: Option<FactorColumns<'py>>,
    /// The limits of jobs; None without limits.
    limits: Option<LimitColumns<'py>>,
    /// The rules of preemption; None if no job may preempt another.
    preemption: Option<PreemptionColumns<'py>>,
    /// The reservations of nodes, and the jobs that use them; None without reservations.
    reservations: Option<ReservationColumns<'py>>,
    /// Overheads of jobs; None without overheads.
    overheads: Option<OverheadColumns<'py>>,
    /// The names that a formula may use, with values for those that it uses.
    pub formula: Vec<(String, Option<PyReadonlyArray1<'py, f64>>)>,
    /// The number of the reason for which a job is rejected at its submission; 0 if none is known.
    rejection: Option<PyReadonlyArray1<'py, u8>>,
}

impl Columns<'_> {
    /// The time limit of each job.
    fn limits_of_time(&self) -> &PyReadonlyArray1<'_, f64> {
        self.time_limit.as_ref().unwrap_or(&self.requested_time)
    }

    /// Checks the preconditions of the kernel; Python has raised errors with more context before.
    fn check(&self) -> PyResult<usize> {
        let count = self.submit_time.len();
        let lengths =
            [self.run_time.len(), self.requested_time.len(), self.limits_of_time().len(), self.tasks.len()];
        if lengths.iter().any(|&length| length != count) {
            return Err(PyValueError::new_err("the columns of the jobs differ in length"));
        }
        for (name, column) in [
            ("submit_time", &self.submit_time),
            ("run_time", &self.run_time),
            ("requested_time", &self.requested_time),
            ("time_limit", self.limits_of_time()),
        ] {
            if let Some(row) =
                column.as_array().iter().position(|value| !(*value >= 0.0 && may_be(name, *value)))
            {
                let value = column.as_array()[row];
                return Err(PyValueError::new_err(format!(
                    "row {row}: {name} = {value}; must be a finite number >= 0"
                )));
            }
        }
        if let Some(row) = self.tasks.as_array().iter().position(|&tasks| tasks < 1) {
            return Err(PyValueError::new_err(format!(
                "row {row}: tasks = {}; must be >= 1",
                self.tasks.as_array()[row]
            )));
        }
        let is_unknown = |list: &Vec<(usize, usize, u32)>| {
            let partitions = self.partition_nodes.len().max(1);
            let is_beyond = |&(set, whole, partition): &(usize, usize, u32)| {
                set.max(whole) >= self.node_sets.len() || partition as usize >= partitions
            };
            list.is_empty() || list.iter().any(is_beyond)
        };
        if self.node_set_lists.iter().any(is_unknown) {
            return Err(PyValueError::new_err(
                "node_set_lists names a set that node_sets does not list, or a partition without nodes",
            ));
        }
        if let Some(column) = &self.node_set_list
            && column.as_array().iter().any(|&list| list as usize > self.node_set_lists.len())
        {
            return Err(PyValueError::new_err(
                "node_set_list numbers a list that node_set_lists does not have",
            ));
        }
        Ok(count)
    }

    /// The node sets on a machine with this number of nodes, and the numbers of the listed sets.
    pub fn sets(&self, nodes: u32) -> PyResult<(NodeSets, Vec<NodeSetId>)> {
        let is_there = |&(_, end): &(u32, u32)| end <= nodes;
        if !self.node_sets.iter().chain(&self.partition_nodes).flatten().all(is_there) {
            return Err(PyValueError::new_err(format!("node_sets name more than the {nodes} nodes")));
        }
        let as_set = |ranges: &Vec<(u32, u32)>| NodeSet::new(ranges.iter().map(|&(begin, end)| begin..end));
        let as_sets = |given: &Vec<Vec<(u32, u32)>>| given.iter().map(as_set).collect();
        Ok(NodeSets::of_partitions(nodes, as_sets(&self.node_sets), as_sets(&self.partition_nodes)))
    }

    /// 1 + the index of the list of sets that a job may run in; 0 if it may use the whole machine.
    fn list_of(&self, job: usize) -> usize {
        self.node_set_list.as_ref().map_or(0, |column| column.as_array()[job] as usize)
    }

    /// The sets of a list; empty for the whole machine.
    fn sets_of(&self, list: usize) -> &[(usize, usize, u32)] {
        list.checked_sub(1).map_or(&[], |list| &self.node_set_lists[list])
    }

    fn request(&self, job: usize, (nodes, partition, in_partition): (NodeSetId, NodeSetId, u32)) -> Request {
        Request {
            amounts: self.amounts.iter().map(|amount| amount.of(job).max(0)).collect(),
            tasks_per_node: self
                .tasks_per_node
                .as_ref()
                .map_or(0, |column| u32::try_from(column.as_array()[job].max(0)).unwrap_or(u32::MAX)),
            exclusive: self.exclusive.as_ref().is_some_and(|column| column.as_array()[job]),
            nodes,
            partition,
            in_partition,
        }
    }

    fn rejection(&self, job: usize) -> Option<Rejection> {
        let number = self.rejection.as_ref()?.as_array()[job];
        Rejection::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Returns whether all jobs have the same request for each node.
    fn is_uniform(&self) -> bool {
        self.amounts.iter().all(|amount| matches!(amount, Amount::Same(_)))
            && self.tasks_per_node.is_none()
            && self.exclusive.is_none()
    }

    /// The request of each job in the first of its sets.
    fn requests(&self, count: usize, sets: &[NodeSetId], requests: &mut Requests) -> Vec<u32> {
        let mut intern = |row, list| {
            let whole = (NodeSetId::ALL, NodeSetId::ALL, 0);
            let first = self.sets_of(list).first();
            let nodes = first.map_or(whole, |&(set, whole, place)| (sets[set], sets[whole], place));
            requests.intern(self.request(row, nodes))
        };
        if !self.is_uniform() {
            return (0..count).map(|row| intern(row, self.list_of(row))).collect();
        }
        let mut known = vec![None; self.node_set_lists.len() + 1];
        let of_job = (0..count).map(|row| {
            let list = self.list_of(row);
            *known[list].get_or_insert_with(|| intern(row, list))
        });
        of_job.collect()
    }

    /// Creates the scenario of the jobs on a machine of these capacities (node-major), and their records.
    pub fn scenario(&self, resources: usize, capacity: &[i64]) -> PyResult<(Scenario, JobRecords)> {
        let mut requests = Requests::new(resources, capacity);
        let (node_sets, sets) = self.sets((capacity.len() / resources.max(1)) as u32)?;
        let count = self.check()?;
        let asked = self.requests(count, &sets, &mut requests);
        let (submit, run) = (self.submit_time.as_array(), self.run_time.as_array());
        let (requested, limit) = (self.requested_time.as_array(), self.limits_of_time().as_array());
        let tasks = self.tasks.as_array();
        let jobs: Vec<Job> = (0..count)
            .map(|row| Job {
                row: row as u64,
                // Adding 0 converts −0 to 0.
                submit_time: submit[row] + 0.0,
                run_time: run[row] + 0.0,
                requested_time: requested[row] + 0.0,
                time_limit: limit[row] + 0.0,
                tasks: u32::try_from(tasks[row]).unwrap_or(u32::MAX),
                request: asked[row],
            })
            .collect();
        let columns = self
            .formula
            .iter()
            .map(|(_, column)| column.as_ref().map_or(Vec::new(), |c| c.as_array().to_vec()));
        let alternatives = self.alternatives(&asked, &sets, &mut requests);
        let mut records = JobRecords::new(&jobs, |job| self.rejection(job));
        let run_events = self.run_events.as_ref().map_or(Ok(RunEvents::default()), |it| it.events(count))?;
        for (job, leg) in run_events.first_legs() {
            records.set_run_time(job, leg.until);
        }
        let mut scenario = Scenario::new(jobs, columns.collect(), requests, Arc::new(node_sets));
        scenario.alternatives = alternatives;
        if let Some(limits) = &self.limits {
            scenario.limits = Some(Box::new(limits.limits(count, resources)?));
        }
        if let Some(preemption) = &self.preemption {
            scenario.preemption = Some(Box::new(preemption.rules(count)?));
        }
        if let Some(reservations) = &self.reservations {
            scenario.calendar = Some(Box::new(reservations.calendar(count)?));
        }
        if let Some(overheads) = &self.overheads {
            scenario.overheads = Some(Box::new(overheads.overheads(count)?));
        }
        scenario.attributes = Attributes {
            tier: given(self.tier.as_ref()),
            queue_priority: given(self.queue_priority.as_ref()),
            nodes: given(self.nodes.as_ref()),
            user: given(self.user.as_ref()),
            association: given(self.association.as_ref()),
            array: given(self.array.as_ref()),
            requeue: given(self.requeue.as_ref()),
            cancelled_at: given(self.cancelled_at.as_ref()),
            run_events,
            over_time_limits: self.over_time_limits.iter().map(|column| given(Some(column))).collect(),
            places: self.places.iter().map(PlaceColumns::attributes).collect(),
            factors: self.factors.as_ref().map(|columns| Box::new(columns.factors())),
        };
        Ok((scenario, records))
    }

    /// The requests of jobs that may run in several sets; `asked` are their requests in the first set.
    fn alternatives(&self, asked: &[u32], sets: &[NodeSetId], requests: &mut Requests) -> Alternatives {
        if self.node_set_lists.iter().all(|list| list.len() == 1) {
            return Alternatives::default();
        }
        // Jobs with equal requests in the first set of a list have equal requests in the others.
        let mut places: HashMap<(u32, usize), u32> = HashMap::new();
        let mut lists = Vec::new();
        let of_job = asked.iter().enumerate().map(|(row, &first)| {
            let list = self.list_of(row);
            match self.sets_of(list) {
                [] | [_] => 0,
                several => *places.entry((first, list)).or_insert_with(|| {
                    let each = several.iter().map(|&(set, whole, place)| {
                        requests.intern(self.request(row, (sets[set], sets[whole], place)))
                    });
                    lists.push(each.collect());
                    lists.len() as u32
                }),
            }
        });
        let of_job = of_job.collect();
        Alternatives::new(of_job, lists)
    }
}

/// Intervals in which jobs held the same nodes, as columns.
pub fn intervals<'py>(
    py: Python<'py>,
    log: &AllocationIntervals,
    resources: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("row", log.job.to_vec().into_pyarray(py))?;
    result.set_item("start_time", log.start_time.to_vec().into_pyarray(py))?;
    result.set_item("end_time", log.end_time.to_vec().into_pyarray(py))?;
    let offsets: Vec<i64> = std::iter::once(0).chain(log.until.iter().map(|&end| end as i64)).collect();
    result.set_item("placement_offsets", offsets.into_pyarray(py))?;
    let nodes: Vec<u32> = log.nodes.iter().map(|part| part.node).collect();
    result.set_item("placement_nodes", nodes.into_pyarray(py))?;
    let tasks: Vec<u32> = log.nodes.iter().map(|part| part.tasks).collect();
    result.set_item("placement_tasks", tasks.into_pyarray(py))?;
    result.set_item("allocated", log.held.to_vec().into_pyarray(py).reshape([log.job.len(), resources])?)?;
    Ok(result)
}
