//! Extreme-value statistics for durations: pure functions from slices of numbers to typed results.
//!
//! Except for the messages of [`Error`] this crate contains no text for users: the crate `report` words the results.
//!
//! Every function accepts values in any unit and is exactly equivariant: the fit of `a * x + b` is the transformed
//! fit of `x`. `shape > 0` is a heavy tail (Coles 2001; scipy and lmoments3 use the opposite sign).
//!
//! ```
//! use tail::{Gev, Xoshiro, gev};
//!
//! let distribution = Gev::new(11.17, 0.21, 0.0)?;
//! let mut random = Xoshiro::new(1);
//! let durations: Vec<f64> = (0..400).map(|_| distribution.sample(&mut random)).collect();
//!
//! let fit = gev::fit(&durations)?;
//! assert_eq!(fit.status, tail::Status::Ok);
//! let errors = fit.standard_errors.unwrap();
//! assert!((fit.location - 11.17).abs() < 4.0 * errors.location);
//! let hundred = fit.return_level(100.0)?;
//! let interval = gev::profile_return_level(&durations, &fit, 100.0, 0.95)?;
//! assert!(interval.lower < hundred.level && hundred.level < interval.upper);
//! # Ok::<(), tail::Error>(())
//! ```
#![forbid(unsafe_code)]

mod argument;
mod box_cox;
mod end_distance;
mod error;
#[cfg(test)]
mod evaluations;
mod grouped;
mod held;
mod interval_end;
mod lagged;
mod nullable;
mod ordered;
mod return_period;
mod search;
mod series;
mod status;
mod surface;
mod takers;

pub mod alarm;
mod alike;
pub mod assess;
pub mod binned;
pub mod bootstrap;
pub mod congestion;
pub mod enclosed;
pub mod extremes;
pub mod gev;
pub mod gof;
pub mod gpd;
pub mod groups;
pub mod gumbel;
pub mod independence;
pub mod interleaved;
pub mod interval;
pub mod kernel;
pub mod latency;
pub mod linalg;
pub mod lmoments;
pub mod newton;
pub mod planning;
pub mod random;
pub mod regression;
pub mod rivals;
pub mod sandwich;
pub mod scale;
pub mod special;
pub mod targets;
pub mod verdict;

pub use error::Error;
pub use gev::{Gev, Likelihood};
pub use gpd::Gpd;
pub use random::{SplitMix64, Xoshiro};
pub use return_period::{gumbel_level, return_period_to_probability};
pub use series::{Dropped, Series, can_be_squared};
pub use status::{End, Interval, Status};
pub use takers::Takers;
