//! The discrete-event kernel of batchlab.
//!
//! It knows jobs, nodes, policies and time, and nothing of Python. The modules stand in the order in which they
//! may use one another: `time < workload, cluster < policy < simulation`.
