//! Long work that Ctrl-C can break off.
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use pyo3::prelude::*;

/// Time between two looks at signals.
pub const INTERVAL: Duration = Duration::from_millis(50);
/// As much as a main thread usually has.
const STACK: usize = 8 << 20;

/// Does work that knows nothing of Python on a thread of its own, while this one looks at signals. Where a signal raises,
/// the work is left to itself, and its result is dropped.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let worker = Builder::new().stack_size(STACK).spawn(move || drop(sender.send(work())))?;
    loop {
        let (answer, again) = py.detach(move || (receiver.recv_timeout(INTERVAL), receiver));
        receiver = again;
        match answer {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => {
                    return Err(pyo3::exceptions::PyRuntimeError::new_err("a thread ended without a result"));
                }
            },
        }
    }
}
