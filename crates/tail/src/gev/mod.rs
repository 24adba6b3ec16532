//! The generalised extreme-value distribution: the distribution, its maximum-likelihood fit, profile intervals.

mod distribution;
pub(crate) mod fit;
pub(crate) mod profile;

pub use distribution::Gev;
pub(crate) use fit::quantile_start;
pub use fit::{GevFit, Influence, LevelEstimate, Likelihood, Parameters, fit};
pub(crate) use fit::{SHAPE_MAX, maximize_maxima, standardisation};
pub use profile::{
    GevTarget, bartlett_factor, profile_location, profile_quantile, profile_return_level, profile_scale,
    profile_shape,
};
