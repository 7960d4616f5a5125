//! Indexed collections: each answers a question in O(log n) that a scan would answer in O(n).
pub mod ordered_index;
pub mod segment_tree;
