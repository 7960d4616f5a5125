//! Nodes given by Python, and hypothetical placements of jobs.
use std::collections::HashMap;

use batchlab_kernel::cluster::NodeTasks;
use batchlab_kernel::simulation::Refusal;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::errors::decision_error;
use crate::handles::{Job, View, refused};

/// The placement of a job that starts now, if it fits: the given nodes, or those chosen by the allocator.
pub fn placement_of(
    view: &Bound<'_, View>,
    job: &Job,
    nodes: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Vec<NodeTasks>>> {
    let this = view.get();
    job.check_home(view)?;
    let chosen = match nodes {
        Some(nodes) => placement(view, job, nodes)?,
        None if this.allocator.is_some() => {
            let Some(chosen) = ask_allocator(view, job)? else { return Ok(None) };
            chosen
        }
        None => {
            let placed = this.simulation_mut(view.py())?.kernel.place_now(job.slot, None);
            return placed.map_err(|refusal| refused(view, job, "be placed", &refusal));
        }
    };
    match this.simulation(view.py())?.kernel.check_placement(job.slot, &chosen) {
        Ok(()) => Ok(Some(chosen)),
        Err(Refusal::NoRoom { .. }) => Ok(None),
        Err(refusal) => Err(refused(view, job, "be placed", &refusal)),
    }
}

/// The placement of a job chosen now by the allocator written in Python; None if it chooses none.
pub fn ask_allocator(view: &Bound<'_, View>, job: &Job) -> PyResult<Option<Vec<NodeTasks>>> {
    let py = view.py();
    let this = view.get();
    let may_fit = this.simulation(py)?.kernel.view().may_fit_job(job.slot);
    let Some(allocator) = this.allocator.as_ref().filter(|_| may_fit) else { return Ok(None) };
    let nodes = allocator.call1(py, (Job::new(view, job.slot), view))?;
    if nodes.is_none(py) { Ok(None) } else { placement(view, job, nodes.bind(py)).map(Some) }
}

/// Converts the nodes of a decision: a mapping from node to tasks, or one node per task.
pub fn placement(view: &Bound<'_, View>, job: &Job, nodes: &Bound<'_, PyAny>) -> PyResult<Vec<NodeTasks>> {
    read_placement(nodes, most_entries(view, job, nodes)?).map_err(|error| no_nodes(view, job, nodes, error))
}

/// Converts to one node per task, by rank.
pub fn ranks(view: &Bound<'_, View>, job: &Job, nodes: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    if nodes.cast::<PyMapping>().is_err() {
        let most = most_entries(view, job, nodes)?;
        let each = nodes.try_iter().and_then(|nodes| nodes.take(most).map(|node| node?.extract()).collect());
        return each.map_err(|error| no_nodes(view, job, nodes, error));
    }
    let placement = placement(view, job, nodes)?;
    let tasks = placement.iter().map(|part| u64::from(part.tasks)).sum();
    let (least, most) = view.get().simulation(view.py())?.kernel.sizes(job.slot);
    if tasks > u64::from(most) {
        let refusal = Refusal::BadSize { job: job.slot, tasks, least, most };
        return Err(refused(view, job, "have these nodes", &refusal));
    }
    Ok(batchlab_kernel::cluster::ranks_of_placement(&placement))
}

/// Number of entries to read: for an iterator, which may be infinite, one more than the job may have tasks.
fn most_entries(view: &Bound<'_, View>, job: &Job, nodes: &Bound<'_, PyAny>) -> PyResult<usize> {
    if nodes.len().is_ok() {
        return Ok(usize::MAX);
    }
    Ok(view.get().simulation(view.py())?.kernel.sizes(job.slot).1 as usize + 1)
}

/// Creates the error for a value that is not nodes.
fn no_nodes(view: &Bound<'_, View>, job: &Job, nodes: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = view.py();
    if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    let shown = nodes.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let name = job.name(py).unwrap_or_else(|_| "a job".to_owned());
    let rule = "must be a mapping from node to number of tasks, or one node per task";
    decision_error(py, &format!("{name} cannot be on nodes = {shown}; {rule}."))
}

fn read_placement(nodes: &Bound<'_, PyAny>, most: usize) -> PyResult<Vec<NodeTasks>> {
    if let Ok(mapping) = nodes.cast::<PyMapping>() {
        let items = mapping.items()?;
        let parts = items.iter().map(|item| {
            let (node, tasks) = item.extract()?;
            Ok(NodeTasks { node, tasks })
        });
        return parts.filter(|part| !part.as_ref().is_ok_and(|part| part.tasks == 0)).collect();
    }
    let mut parts: Vec<NodeTasks> = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    for node in nodes.try_iter()?.take(most) {
        let node = node?.extract()?;
        let place = *places.entry(node).or_insert(parts.len());
        if place == parts.len() {
            parts.push(NodeTasks { node, tasks: 0 });
        }
        parts[place].tasks += 1;
    }
    Ok(parts)
}
