//! The status of a simulation between two steps: waiting jobs, running jobs and their nodes, free amounts.
use batchlab_kernel::state::{JobRecords, State, View};
use batchlab_kernel::time::Time;
use batchlab_kernel::workload::JobState;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The current state as columns by name: O(jobs + nodes). Of the past, only the placements of the `latest` jobs that
/// ended last.
pub fn status<'py>(py: Python<'py>, view: View<'_>, latest: usize) -> PyResult<Bound<'py, PyDict>> {
    let state = view.state;
    let (jobs, machine) = (&state.jobs, &state.machine);
    let slots = || 0..jobs.len() as u32;
    let queue = state.queue.jobs();
    let running: Vec<u32> = slots().filter(|&job| jobs.state(job) == JobState::Running).collect();
    let ended = ended_last(&state.jobs, latest);
    let (mut offsets, mut nodes, mut tasks) = (vec![0_i64], Vec::new(), Vec::new());
    let mut since = Vec::new();
    for &job in running.iter().chain(&ended) {
        since.push(jobs.allocated_since(job));
        let placement = jobs.last_placement(job).listed();
        nodes.extend(placement.iter().map(|part| part.node));
        tasks.extend(placement.iter().map(|part| part.tasks));
        offsets.push(nodes.len() as i64);
    }
    let count = machine.capacity().len() / machine.resources();
    let per_node = || 0..count as u32;
    let free: Vec<i64> = per_node().flat_map(|node| machine.free_of(node)).copied().collect();
    let idle: Vec<i64> = per_node().flat_map(|node| machine.idle_of(node)).copied().collect();
    let drained: Vec<bool> = per_node().map(|node| machine.is_drained(node)).collect();
    let result = PyDict::new(py);
    result
        .set_item("state", slots().map(|job| jobs.state(job) as u8).collect::<Vec<_>>().into_pyarray(py))?;
    result.set_item(
        "start_time",
        slots().map(|job| jobs.start_time(job)).collect::<Vec<_>>().into_pyarray(py),
    )?;
    result
        .set_item("end_time", slots().map(|job| jobs.end_time(job)).collect::<Vec<_>>().into_pyarray(py))?;
    result.set_item("queue", queue.into_pyarray(py))?;
    let (waiting, reasons) = reasons(view);
    result.set_item("waiting", waiting.into_pyarray(py))?;
    result.set_item("reasons", reasons.into_pyarray(py))?;
    result.set_item("running", running.into_pyarray(py))?;
    result.set_item("ended", ended.into_pyarray(py))?;
    result.set_item("allocated_since", since.into_pyarray(py))?;
    result.set_item("placement_offsets", offsets.into_pyarray(py))?;
    result.set_item("placement_nodes", nodes.into_pyarray(py))?;
    result.set_item("placement_tasks", tasks.into_pyarray(py))?;
    result.set_item("free", free.into_pyarray(py).reshape([count, machine.resources()])?)?;
    result.set_item("idle", idle.into_pyarray(py).reshape([count, machine.resources()])?)?;
    result.set_item("drained", drained.into_pyarray(py))?;
    Ok(result)
}

/// The waiting jobs, in the queue and outside it, and the numbers of their reasons.
pub fn reasons(view: View<'_>) -> (Vec<u32>, Vec<u32>) {
    view.reasons().into_iter().map(|(job, reason)| (job, reason.number())).unzip()
}

/// The jobs that ended last, at most `latest`, in the order of their ends: O(jobs + latest · log).
fn ended_last(jobs: &JobRecords, latest: usize) -> Vec<u32> {
    if latest == 0 {
        return Vec::new();
    }
    let had_nodes = (0..jobs.len() as u32)
        .filter(|&job| jobs.state(job).has_ended())
        .filter(|&job| !jobs.last_placement(job).is_empty());
    let mut ends: Vec<(Time, u32)> = had_nodes.map(|job| (Time(jobs.end_time(job)), job)).collect();
    if ends.len() > latest {
        let first = ends.len() - latest;
        ends.select_nth_unstable(first);
        ends.drain(..first);
    }
    ends.sort_unstable();
    ends.into_iter().map(|(_, job)| job).collect()
}

/// Number of waiting jobs, and the total amount of each resource that no job holds: O(resources), or O(nodes) if some
/// amounts are unavailable.
pub fn gauges(state: &State) -> (usize, Vec<i64>) {
    let machine = &state.machine;
    if !machine.has_unavailable() {
        return (state.queue.len(), machine.total_free().to_vec());
    }
    let mut idle = vec![0; machine.resources()];
    for node in 0..(machine.capacity().len() / machine.resources()) as u32 {
        for (total, amount) in idle.iter_mut().zip(machine.idle_of(node)) {
            *total += amount;
        }
    }
    (state.queue.len(), idle)
}
