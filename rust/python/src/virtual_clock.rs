//! The clock of a virtual cluster.
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::Builder;

use batchlab_clock::Clock;
use pyo3::prelude::*;

/// A clock that the processes of a virtual cluster share; see `batchlab.slurm.virtual.clock`.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct VirtualClock {
    clock: Arc<Clock>,
}

#[pymethods]
impl VirtualClock {
    /// Create the file of a clock that shows this UNIX time (ns) now.
    #[new]
    fn new(path: PathBuf, highest: f64, unix: i64) -> PyResult<Self> {
        Ok(Self { clock: Arc::new(Clock::new(&path, highest, unix)?) })
    }

    /// Return the virtual UNIX time, seconds.
    fn now(&self) -> f64 {
        self.clock.now() as f64 / 1e9
    }

    /// Set the rate of virtual time from now on.
    fn set_rate(&self, rate: f64) -> PyResult<()> {
        Ok(self.clock.set_rate(rate)?)
    }

    /// Keep real time until `release` was called as often as `hold`.
    fn hold(&self) -> PyResult<()> {
        Ok(self.clock.hold()?)
    }

    /// End a `hold`.
    fn release(&self) {
        self.clock.release();
    }

    /// Wait for a virtual instant (UNIX time, s), or for a real time (s). Return whether the instant has come.
    fn wait(&self, py: Python<'_>, instant: f64, longest: f64) -> PyResult<bool> {
        let begun = std::time::Instant::now();
        loop {
            py.check_signals()?;
            if py.detach(|| self.clock.wait((instant * 1e9) as i64)) {
                return Ok(true);
            }
            if begun.elapsed().as_secs_f64() >= longest {
                return Ok(false);
            }
        }
    }

    /// Set the rate by the work of the processes, on a separate thread, until `end`.
    fn govern(&self) -> PyResult<()> {
        let clock = Arc::clone(&self.clock);
        // If it fails, time continues at its current rate.
        Builder::new().name("virtual clock".into()).spawn(move || drop(clock.govern()))?;
        Ok(())
    }

    /// End the thread.
    fn end(&self) {
        self.clock.end();
    }

    /// Return the totals since the start: real and virtual time (s), the real time at rate 1, and the number of rate
    /// changes.
    fn course(&self) -> (f64, f64, f64, u64) {
        let course = self.clock.course();
        (course.real, course.virtual_time, course.slow, course.changes)
    }
}
