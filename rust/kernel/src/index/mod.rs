//! Indices over small dense ids: structures that answer "which is next" and "is it in" without a scan.
mod indexed_heap;
mod marks;

pub use indexed_heap::IndexedHeap;
pub use marks::Marks;
