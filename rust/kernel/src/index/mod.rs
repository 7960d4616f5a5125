//! Data structures for queries without a scan: trees, heaps, marks, bitmaps, and columns shared by clones.
mod counted_bits;
mod indexed_heap;
mod marks;
mod node_bits;
pub mod ordered_index;
mod segment_tree;
mod shared_column;
mod staircase;
mod words;

pub use counted_bits::CountedBits;
pub use indexed_heap::IndexedHeap;
pub use marks::Marks;
pub use node_bits::NodeBits;
pub use ordered_index::OrderedIndex;
pub use segment_tree::SegmentTree;
pub use shared_column::SharedColumn;
pub use staircase::Staircase;
pub use words::{WORD, ones_of};
