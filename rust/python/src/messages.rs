//! Message programs, to which the skeletons of the package are compiled.
use std::sync::Arc;

use batchlab_kernel::application::{Message, MessageClasses, MessageProgram as Kernel, Operation, Work};
use batchlab_kernel::execution::{RunAlone, run_alone};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::network::{NetworkPart, network};
use crate::platform::Platform;

/// The flat program of a skeleton, rank by rank.
///
/// Operation `i` is of kind 0 to 5 (send, receive, await the send, await the receive, compute, take); its amount is the
/// message number, the floating-point operations or the seconds. Rank `r` executes the operations from `first[r]` to
/// `first[r + 1]`. Message `m` is of class `classes[kinds[m]]`, and `envelope` bytes of its size are not payload. Raise
/// `ValueError` if a list is inconsistent with the others.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct MessageProgram {
    pub kernel: Arc<Kernel>,
}

/// The end of each rank; and the times at which each message was posted, began its transfer and arrived; seconds.
type Times<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

#[pymethods]
impl MessageProgram {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "columns")]
    fn new(
        first: PyReadonlyArray1<'_, u32>,
        kind: PyReadonlyArray1<'_, u8>,
        amount: PyReadonlyArray1<'_, f64>,
        source: PyReadonlyArray1<'_, u32>,
        target: PyReadonlyArray1<'_, u32>,
        size: PyReadonlyArray1<'_, f64>,
        eager: PyReadonlyArray1<'_, bool>,
        classes: Vec<String>,
        kinds: PyReadonlyArray1<'_, u16>,
        envelope: f64,
    ) -> PyResult<Self> {
        let (kind, amount) = (kind.as_slice()?, amount.as_slice()?);
        let messages = messages_of(&source, &target, &size, &eager)?;
        if kind.len() != amount.len() {
            return Err(PyValueError::new_err(LENGTHS));
        }
        let operations: Option<Vec<Operation>> =
            kind.iter().zip(amount).map(|(&kind, &amount)| operation(kind, amount)).collect();
        let operations = operations.ok_or_else(|| PyValueError::new_err("an operation of no known kind"))?;
        let classes = MessageClasses { names: classes, of: kinds.as_slice()?.to_vec(), envelope };
        let kernel = Kernel::new(first.as_slice()?.to_vec(), operations, messages)
            .and_then(|program| program.with_classes(classes))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { kernel: Arc::new(kernel) })
    }

    /// Return the indices of the operations of ranks in a deadlock.
    fn stuck<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        py.detach(|| self.kernel.stuck()).into_pyarray(py)
    }

    /// Run the program alone on a platform, rank `r` on host `hosts[r]`. Raise `ValueError` with the reason if it
    /// cannot run.
    fn run<'py>(
        &self,
        py: Python<'py>,
        platform: &Platform,
        model: NetworkPart,
        hosts: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Times<'py>> {
        let count = self.kernel.messages().len();
        let run = alone(py, platform, model, hosts.as_slice()?, Work::Messages(Arc::clone(&self.kernel)))?;
        let mut columns = [vec![f64::NAN; count], vec![f64::NAN; count], vec![f64::NAN; count]];
        for time in run.messages {
            let at = time.message as usize;
            (columns[0][at], columns[1][at], columns[2][at]) = (time.posted, time.begun, time.end);
        }
        let [posted, begun, end] = columns.map(|column| column.into_pyarray(py));
        Ok((run.ends.into_pyarray(py), posted, begun, end))
    }
}

/// The error message for columns of different lengths.
pub const LENGTHS: &str = "the columns differ in length";

/// Creates messages from their columns.
pub fn messages_of(
    source: &PyReadonlyArray1<'_, u32>,
    target: &PyReadonlyArray1<'_, u32>,
    size: &PyReadonlyArray1<'_, f64>,
    eager: &PyReadonlyArray1<'_, bool>,
) -> PyResult<Vec<Message>> {
    let (source, target) = (source.as_slice()?, target.as_slice()?);
    let (size, eager) = (size.as_slice()?, eager.as_slice()?);
    if [target.len(), size.len(), eager.len()].iter().any(|length| *length != source.len()) {
        return Err(PyValueError::new_err(LENGTHS));
    }
    let message = |at: usize| Message { from: source[at], to: target[at], bytes: size[at], eager: eager[at] };
    Ok((0..source.len()).map(message).collect())
}

/// Runs messages alone on a platform.
pub fn alone(
    py: Python<'_>,
    platform: &Platform,
    model: NetworkPart,
    hosts: &[u32],
    work: Work,
) -> PyResult<RunAlone> {
    let (network, platform) = (network(model)?, Arc::clone(&platform.kernel));
    let ran = py.detach(|| run_alone(platform, network, work, hosts, look_for_signals));
    ran.map_err(|failure| match failure {
        Failure::Broken(why) => PyValueError::new_err(why),
        Failure::Interrupted(error) => error,
    })
}

/// The reason why there are no times.
pub enum Failure {
    Broken(String),
    Interrupted(PyErr),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Broken(why) => PyValueError::new_err(why),
            Failure::Interrupted(error) => error,
        }
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

/// Checks for signals, so that Ctrl-C can interrupt a run.
pub fn look_for_signals() -> Result<(), Failure> {
    Python::attach(|py| py.check_signals().map_err(Failure::Interrupted))
}

/// Creates an operation from its kind and amount.
pub fn operation(kind: u8, amount: f64) -> Option<Operation> {
    Some(match kind {
        0 => Operation::Send(amount as u32),
        1 => Operation::Receive(amount as u32),
        2 => Operation::AwaitSend(amount as u32),
        3 => Operation::AwaitReceive(amount as u32),
        4 => Operation::Compute(amount),
        5 => Operation::Take(amount),
        _ => return None,
    })
}
