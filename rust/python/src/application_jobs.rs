//! Jobs with applications: conversion from and to Python.
use std::collections::HashMap;
use std::sync::Arc;

use batchlab_kernel::application::{ApplicationJob, ApplicationJobs as Jobs, MessageMatrix};
use batchlab_kernel::execution::{Execution, Options, run_job_alone as kernel_run_alone};
use batchlab_kernel::record::{PlatformSensor, Sensors};
use batchlab_kernel::replay::Replay;
use batchlab_kernel::sharing::LoadTotals;
use batchlab_kernel::simulation::{Simulation as Kernel, TriggerKind, TriggerRules};
use batchlab_kernel::workload::JobState;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::application::ApplicationJobs;
use crate::fabric::Fabric;
use crate::messages::look_for_signals;
use crate::network::{NetworkPart, network};
use crate::platform::Platform;

/// The applications of jobs, and the platform on which they run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ApplicationInputs<'py> {
    platform: PyRef<'py, Platform>,
    /// The host of each node.
    hosts: Vec<u32>,
    /// The resource that counts GPUs.
    gpus: Option<usize>,
    /// The network model, which defines how activities share resources.
    network: NetworkPart,
    jobs: PyRef<'py, ApplicationJobs>,
    /// True if rank orders or allocators use the messages between ranks; and the positions of nodes in their network,
    /// if ranks are mapped.
    by_messages: bool,
    fabric: Option<Py<Fabric>>,
    /// True if evolving requests are clipped to the limits of their jobs.
    clip_requests: bool,
    /// True if the begin and end of each task are recorded.
    log_tasks: bool,
    /// True for links that count as a hop, if messages are counted.
    hop_links: Option<Vec<bool>>,
    sensors: Option<SensorNumbers>,
}

/// The sampled parts of the platform, and the interval.
#[derive(FromPyObject)]
struct SensorNumbers {
    interval: f64,
    since: Option<f64>,
    /// The links of the network.
    network: Vec<u32>,
    /// Links that are sampled individually.
    links: Vec<u32>,
}

impl ApplicationInputs<'_> {
    /// Creates the jobs with applications, their execution engine, and the sensor of the platform.
    pub fn parts(self) -> PyResult<(Jobs, Execution, Option<PlatformSensor>)> {
        let options = Options { clip_requests: self.clip_requests, log_tasks: self.log_tasks };
        let network = network(self.network)?;
        let mut execution = Execution::with_options(Arc::clone(&self.platform.kernel), network, options);
        if let Some(hop_links) = self.hop_links {
            execution.count_messages(hop_links);
        }
        let platform = &self.platform.kernel;
        let sensors = self.sensors.map(|SensorNumbers { interval, since, network, links }| Sensors {
            interval,
            since,
            hosts: self.hosts.clone(),
            network: network
                .into_iter()
                .map(|link| (link, platform.links()[link as usize].bandwidth.recip()))
                .collect(),
            links,
        });
        let mut jobs = self.jobs.jobs.clone();
        if self.by_messages {
            find_messages(&mut jobs);
        }
        let fabric = self.fabric.map(|fabric| fabric.get().kernel.clone());
        let jobs = Jobs { jobs, hosts: self.hosts, gpus: self.gpus, fabric };
        Ok((jobs, execution, sensors.map(PlatformSensor::new)))
    }
}

/// Sums the messages between the ranks of each job, once for all equal jobs.
fn find_messages(jobs: &mut [ApplicationJob]) {
    let mut known: HashMap<_, Option<Arc<MessageMatrix>>> = HashMap::new();
    for job in jobs {
        let Some(application) = &job.application else { continue };
        let alike = (Arc::as_ptr(application), Arc::as_ptr(&job.arguments), job.tasks_max);
        let found = known.entry(alike).or_insert_with(|| job.message_matrix().map(Arc::new)).clone();
        job.messages = found;
    }
}

/// The events for which a scheduler is called individually.
#[derive(FromPyObject)]
#[expect(clippy::struct_excessive_bools, reason = "Python names them")]
pub struct Invocation {
    on_submit: bool,
    on_finalise: bool,
    on_scheduling_point: bool,
    on_reconfiguration: bool,
    interval: f64,
    since: Option<f64>,
    minimum_interval: f64,
}

impl From<Invocation> for TriggerRules {
    fn from(given: Invocation) -> Self {
        let about = [
            (given.on_submit, TriggerKind::Submission),
            (given.on_finalise, TriggerKind::Completion),
            (given.on_scheduling_point, TriggerKind::SchedulingPoint),
            (given.on_reconfiguration, TriggerKind::Reconfiguration),
        ];
        Self {
            about: about.into_iter().filter_map(|(wanted, asked)| wanted.then_some(asked)).collect(),
            interval: if given.interval > 0.0 { given.interval } else { f64::INFINITY },
            since: given.since,
            minimum_interval: given.minimum_interval,
        }
    }
}

/// The jobs that can be resized at this instant; a job that has just reached its time limit cannot.
pub fn at_point(kernel: &Kernel<Replay>) -> Vec<u32> {
    kernel.applications().map_or(Vec::new(), |applications| {
        let points = applications.at_scheduling_point().iter().map(|point| point.job);
        points.filter(|&job| kernel.is_resizable(job)).collect()
    })
}

/// The samples of the platform, as columns and matrices; None if they are not recorded.
pub fn sensed<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(sensor) = &kernel.recorders().platform else { return Ok(None) };
    let sensed = &sensor.samples;
    let result = PyDict::new(py);
    let looks = sensed.time.len();
    let matrix =
        |values: &[f64]| values.to_vec().into_pyarray(py).reshape([looks, values.len() / looks.max(1)]);
    result.set_item("time", sensed.time.clone().into_pyarray(py))?;
    result.set_item("cpu", matrix(&sensed.cpu)?)?;
    result.set_item("gpu", matrix(&sensed.gpu)?)?;
    result.set_item("network", sensed.network.clone().into_pyarray(py))?;
    result.set_item("links", matrix(&sensed.links)?)?;
    Ok(Some(result))
}

/// The times of tasks, as columns; None if they are not recorded.
pub fn task_times<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(log) = kernel.applications().and_then(|applications| applications.execution.task_log()) else {
        return Ok(None);
    };
    let result = PyDict::new(py);
    let entries = log.entries();
    result.set_item("row", entries.iter().map(|entry| entry.job).collect::<Vec<u32>>().into_pyarray(py))?;
    result.set_item("host", entries.iter().map(|entry| entry.host).collect::<Vec<u32>>().into_pyarray(py))?;
    result.set_item("task", entries.iter().map(|entry| entry.task).collect::<Vec<u32>>().into_pyarray(py))?;
    let starts: Vec<f64> = entries.iter().map(|entry| entry.start).collect();
    result.set_item("start_time", starts.into_pyarray(py))?;
    let ends: Vec<f64> = entries.iter().map(|entry| entry.end).collect();
    result.set_item("end_time", ends.into_pyarray(py))?;
    result.set_item("names", log.names())?;
    Ok(Some(result))
}

/// The messages of each job and class, as columns; None if they are not counted.
pub fn messages<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(counts) = kernel.applications().and_then(|running| running.execution.message_counts()) else {
        return Ok(None);
    };
    let sent: Vec<_> = counts.totals().iter().filter(|totals| totals.messages > 0).collect();
    let result = PyDict::new(py);
    result.set_item("row", sent.iter().map(|of| of.job).collect::<Vec<u32>>().into_pyarray(py))?;
    result.set_item("kind", sent.iter().map(|of| of.class).collect::<Vec<u32>>().into_pyarray(py))?;
    result.set_item("messages", sent.iter().map(|of| of.messages).collect::<Vec<u64>>().into_pyarray(py))?;
    result.set_item("bytes", sent.iter().map(|of| of.bytes).collect::<Vec<f64>>().into_pyarray(py))?;
    result.set_item("hops", sent.iter().map(|of| of.hops).collect::<Vec<u64>>().into_pyarray(py))?;
    result.set_item("max_hops", sent.iter().map(|of| of.most_hops).collect::<Vec<u32>>().into_pyarray(py))?;
    result
        .set_item("hop_bytes", sent.iter().map(|of| of.hop_bytes).collect::<Vec<f64>>().into_pyarray(py))?;
    result.set_item("names", counts.names())?;
    Ok(Some(result))
}

/// The use of each link, as columns; None if messages are not counted.
pub fn links<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(running) = kernel.applications().filter(|running| running.execution.message_counts().is_some())
    else {
        return Ok(None);
    };
    let loads = running.execution.link_loads(kernel.state().now);
    let column = |of: fn(&LoadTotals) -> f64| loads.iter().map(of).collect::<Vec<f64>>().into_pyarray(py);
    let result = PyDict::new(py);
    result.set_item("bytes", column(|load| load.units))?;
    result.set_item("peak", column(|load| load.peak))?;
    result.set_item("busy", column(|load| load.busy))?;
    result.set_item("congested", column(|load| load.congested))?;
    Ok(Some(result))
}

/// The nodes by rank of jobs with ranks that were not packed: rows, the start of each in `nodes`, and the nodes.
pub fn ranks<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(running) = kernel.applications() else { return Ok(None) };
    let (mut rows, mut offsets, mut nodes) = (Vec::new(), vec![0_i64], Vec::new());
    for (row, of) in running.unpacked_ranks() {
        rows.push(row);
        nodes.extend_from_slice(of);
        offsets.push(nodes.len() as i64);
    }
    let result = PyDict::new(py);
    result.set_item("row", rows.into_pyarray(py))?;
    result.set_item("offsets", offsets.into_pyarray(py))?;
    result.set_item("nodes", nodes.into_pyarray(py))?;
    Ok(Some(result))
}

/// The duration of the application of each finished job that has one, by its own clock; otherwise NaN.
pub fn application_times<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> Bound<'py, PyArray1<f64>> {
    let jobs = &kernel.state().jobs;
    let seconds = |job: u32| {
        // Nothing is recorded for an aborted job.
        let is_known = jobs.state(job) == JobState::Completed || jobs.run_time(job) > 0.0;
        let is_over = kernel.view().has_application(job) && !jobs.end_time(job).is_nan();
        if is_known && is_over { jobs.run_time(job) } else { f64::NAN }
    };
    (0..jobs.len() as u32).map(seconds).collect::<Vec<f64>>().into_pyarray(py)
}

/// Number of instants between two checks for signals: each takes the GIL.
const LOOKS: u32 = 4096;

/// Run the application of job `row` alone from `begin` on, rank `r` on host `hosts[r]`, with this number of GPUs of
/// each host; return its duration in seconds. Raise `ValueError` with the reason if it cannot run.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn run_job_alone(
    py: Python<'_>,
    jobs: &ApplicationJobs,
    row: usize,
    platform: &Platform,
    model: NetworkPart,
    hosts: PyReadonlyArray1<'_, u32>,
    gpus: u32,
    begin: f64,
    clip_requests: bool,
) -> PyResult<f64> {
    let carried = jobs.jobs.get(row).ok_or_else(|| PyValueError::new_err("there is no such job."))?;
    let options = Options { clip_requests, ..Options::default() };
    let (network, hosts) = (network(model)?, hosts.as_slice()?);
    let mut instants = 0_u32;
    let look = || {
        instants = instants.wrapping_add(1);
        if instants.is_multiple_of(LOOKS) { look_for_signals() } else { Ok(()) }
    };
    let run = || {
        let execution = Execution::with_options(Arc::clone(&platform.kernel), network, options);
        kernel_run_alone(execution, carried, (hosts, gpus), begin, look)
    };
    py.detach(run).map_err(PyErr::from)
}
