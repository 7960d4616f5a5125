//! A look at a simulation between two steps: who waits, who runs where, what is free.
use batchlab_kernel::policy::Site;
use batchlab_kernel::workload::jobs::State;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The present state as columns by name: O(jobs + nodes), without the placements of the past.
pub fn status<'py>(py: Python<'py>, site: &Site) -> PyResult<Bound<'py, PyDict>> {
    let (jobs, machine) = (&site.jobs, &site.machine);
    let slots = || 0..jobs.len() as u32;
    let mut queue = Vec::with_capacity(site.queue.len());
    site.queue.visit(&mut |rank| {
        queue.push(rank.job);
        true
    });
    let running: Vec<u32> = slots().filter(|&job| jobs.state(job) == State::Running).collect();
    let (mut offsets, mut nodes, mut tasks) = (vec![0_i64], Vec::new(), Vec::new());
    for &job in &running {
        let placement = jobs.placement(job);
        nodes.extend(placement.iter().map(|share| share.node));
        tasks.extend(placement.iter().map(|share| share.tasks));
        offsets.push(nodes.len() as i64);
    }
    let count = machine.capacity().len() / machine.resources();
    let per_node = || 0..count as u32;
    let free: Vec<i64> = per_node().flat_map(|node| machine.free_of(node)).copied().collect();
    let unused: Vec<i64> = per_node().flat_map(|node| machine.unused_of(node)).copied().collect();
    let closed: Vec<bool> = per_node().map(|node| machine.is_closed(node)).collect();
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
    result.set_item("running", running.into_pyarray(py))?;
    result.set_item("placement_offsets", offsets.into_pyarray(py))?;
    result.set_item("placement_nodes", nodes.into_pyarray(py))?;
    result.set_item("placement_tasks", tasks.into_pyarray(py))?;
    result.set_item("free", free.into_pyarray(py).reshape([count, machine.resources()])?)?;
    result.set_item("unused", unused.into_pyarray(py).reshape([count, machine.resources()])?)?;
    result.set_item("closed", closed.into_pyarray(py))?;
    Ok(result)
}

/// How many jobs wait, and what nobody holds of each resource in all: O(resources), or O(nodes) where some are withheld.
pub fn gauges(site: &Site) -> (usize, Vec<i64>) {
    let machine = &site.machine;
    if !machine.withholds() {
        return (site.queue.len(), machine.total_free().to_vec());
    }
    let mut unused = vec![0; machine.resources()];
    for node in 0..(machine.capacity().len() / machine.resources()) as u32 {
        for (total, amount) in unused.iter_mut().zip(machine.unused_of(node)) {
            *total += amount;
        }
    }
    (site.queue.len(), unused)
}
