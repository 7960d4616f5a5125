//! Programs of rounds, to which aggregated skeletons are compiled.
use std::sync::Arc;

use batchlab_kernel::application::{Entry, MessageClasses, RoundProgram as Kernel, Work};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::messages::{LENGTHS, alone, messages_of, operation};
use crate::network::NetworkPart;
use crate::platform::Platform;

const COLLECTIVE: u8 = 6;

/// The messages of an aggregated skeleton in rounds.
///
/// Entry `i` is an operation as in `MessageProgram`, or of kind 6 the collective with the number `amount[i]`; rank `r`
/// executes the entries from `first[r]` to `first[r + 1]`. The messages of batch `b` are those from `batches[b]` to
/// `batches[b + 1]`; batch 0 contains the messages that ranks post individually, and the others are rounds of
/// collectives. Collective `c` has the batches `rounds[j]` for `j` from `calls[c]` to `calls[c + 1]`. `overheads` are
/// the seconds before a send and after a receive of a collective. Message `m` is of class `classes[kinds[m]]`, and
/// `envelope` bytes of its size are not payload. Raise `ValueError` if a list is inconsistent with the others.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct RoundProgram {
    pub kernel: Arc<Kernel>,
}

/// The end of each rank; and the begin and end of each round; seconds.
type Times<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl RoundProgram {
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
        batches: PyReadonlyArray1<'_, u32>,
        calls: PyReadonlyArray1<'_, u32>,
        rounds: PyReadonlyArray1<'_, u32>,
        overheads: (f64, f64),
        classes: Vec<String>,
        kinds: PyReadonlyArray1<'_, u16>,
        envelope: f64,
    ) -> PyResult<Self> {
        let (kind, amount) = (kind.as_slice()?, amount.as_slice()?);
        let messages = messages_of(&source, &target, &size, &eager)?;
        if kind.len() != amount.len() {
            return Err(PyValueError::new_err(LENGTHS));
        }
        let entries: Option<Vec<Entry>> =
            kind.iter().zip(amount).map(|(&kind, &amount)| entry(kind, amount)).collect();
        let entries = entries.ok_or_else(|| PyValueError::new_err("an entry of no known kind"))?;
        let rounds = rounds.as_slice()?;
        let of_call = |pair: &[u32]| rounds.get(pair[0] as usize..pair[1] as usize).map(<[u32]>::to_vec);
        let calls: Option<Vec<Vec<u32>>> = calls.as_slice()?.windows(2).map(of_call).collect();
        let calls = calls.ok_or_else(|| PyValueError::new_err("the calls do not divide the rounds"))?;
        let (first, batches) = (first.as_slice()?.to_vec(), batches.as_slice()?.to_vec());
        let classes = MessageClasses { names: classes, of: kinds.as_slice()?.to_vec(), envelope };
        let kernel = Kernel::new(first, entries, messages, batches, calls, overheads)
            .and_then(|program| program.with_classes(classes))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { kernel: Arc::new(kernel) })
    }

    /// Return the indices of the entries of ranks in a deadlock.
    fn stuck<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.kernel.stuck().to_vec().into_pyarray(py)
    }

    /// Return the message numbers round by round, and the round of each; a message may belong to several rounds.
    fn messages<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>) {
        let (mut numbers, mut rounds) = (Vec::new(), Vec::new());
        for round in 0..self.kernel.rounds() {
            numbers.extend(self.kernel.numbers(self.kernel.shape_of(round)));
            rounds.resize(numbers.len(), round);
        }
        (numbers.into_pyarray(py), rounds.into_pyarray(py))
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
        let run = alone(py, platform, model, hosts.as_slice()?, Work::Rounds(Arc::clone(&self.kernel)))?;
        let begun: Vec<f64> = run.rounds.iter().map(|round| round.begun).collect();
        let end: Vec<f64> = run.rounds.iter().map(|round| round.end).collect();
        Ok((run.ends.into_pyarray(py), begun.into_pyarray(py), end.into_pyarray(py)))
    }
}

fn entry(kind: u8, amount: f64) -> Option<Entry> {
    if kind == COLLECTIVE {
        return Some(Entry::Collective(amount as u32));
    }
    operation(kind, amount).map(Entry::Operation)
}
