//! Runs a plan on real hardware: clocks, ranks, operations, recording, machine facts. The only unsafe crate.

pub mod causes;
pub mod clock;
pub mod comm;
pub mod execute;
pub mod files;
pub mod kernels;
pub mod launch;
pub mod machine;
pub mod ops;
pub mod record;
pub mod run;
pub mod simulate;
