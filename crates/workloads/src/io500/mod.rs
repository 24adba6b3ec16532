//! IO500: its configuration file, and scores and validity by its published rules.
//!
//! The twelve phases themselves are a program that ships with lastrank; a configuration becomes its parameters. `keys.rs` says
//! which keys are carried out, `score.rs` has the formulas, `result.rs` what is written of a result.
//!
//! ```
//! use workloads::io500::{Config, Phase, scores};
//!
//! let config = Config::read("[debug]\nstonewall-time = 1\n")?;
//! assert_eq!(config.stonewall_seconds, 1);
//! let total = scores(&[(Phase::IorEasyWrite, 4.0), (Phase::Find, 9.0)]).total;
//! assert!((total - 6.0).abs() < 1e-9);
//! # Ok::<(), workloads::Refusal>(())
//! ```

mod config;
mod keys;
mod phase;
mod result;
mod score;
mod valid;

pub use config::Config;
pub use phase::{Phase, Unit};
pub use result::Outcome;
pub use score::{Measured, Scores, scores};
pub use valid::{Found, SUBMISSION};
