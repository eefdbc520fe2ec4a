//! Shared parts of the benchmarks: the rule mix, the peers, a clock and a counting allocator.

pub mod clock;
pub mod counting;
pub mod peers;
pub mod policy;
pub mod process;
pub mod rules;
pub mod scripts;
pub mod table;
