//! Long work that Ctrl-C can interrupt.
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use pyo3::prelude::*;

/// Time between two checks for signals.
pub const INTERVAL: Duration = Duration::from_millis(50);
/// The usual stack size of a main thread.
const STACK: usize = 8 << 20;

/// Runs work that does not use Python on a separate thread, while this thread checks for signals. If a signal handler
/// raises, the work continues in the background, and its result is dropped.
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
