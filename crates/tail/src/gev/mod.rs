//! The generalised extreme-value law: the distribution, its maximum-likelihood fit, profile intervals.

pub(crate) mod fit;
mod law;
pub(crate) mod profile;

pub(crate) use fit::quantile_start;
pub use fit::{GevFit, Influence, LevelEstimate, Likelihood, Parameters, fit};
pub(crate) use fit::{SHAPE_MAX, maximize_maxima, standardisation};
pub use law::Gev;
pub use profile::{
    GevTarget, bartlett_factor, profile_location, profile_quantile, profile_return_level, profile_scale,
    profile_shape,
};
