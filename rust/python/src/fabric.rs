//! Fabrics: positions of nodes in a network, and the hops between them.
use batchlab_kernel::platform::{Fabric as Kernel, FabricKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Nodes by their positions in a torus, tree or dragonfly.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct Fabric {
    pub kernel: Kernel,
}

#[pymethods]
impl Fabric {
    #[new]
    fn new(kind: &str, sizes: Vec<u32>, places: Vec<u32>) -> PyResult<Self> {
        let known = FabricKind::NAMES.into_iter().find(|(name, _)| *name == kind);
        let (_, kind) = known.ok_or_else(|| PyValueError::new_err(format!("no network {kind}")))?;
        Kernel::new(kind, sizes, places).map(|kernel| Self { kernel }).map_err(PyValueError::new_err)
    }

    fn __len__(&self) -> usize {
        self.kernel.nodes()
    }

    /// Return the number of hops from one node to another.
    fn hops(&self, source: u32, target: u32) -> PyResult<u32> {
        let nodes = self.kernel.nodes();
        if (source.max(target) as usize) < nodes {
            return Ok(self.kernel.hops(source, target));
        }
        Err(PyValueError::new_err(format!("nodes are from 0 to {}", nodes - 1)))
    }
}
