//! The fit that an assessment shows: to points, or to intervals where the clock is coarse.

use crate::gev::{GevFit, GevTarget, Likelihood};
use crate::interval::{self, Rounding};
use crate::verdict::Rounded;
use crate::{Interval, Series};

/// A tick above this share of the scale biases a fit to points (Heitjan 1989).
const COARSE: f64 = 0.2;

/// The fit whose estimates, intervals and levels are shown.
pub(super) struct Shown {
    /// The fit.
    pub found: GevFit,
    /// The tick of the intervals to which it is a fit; `None` if it is one to points.
    pub tick: Option<f64>,
}

impl Shown {
    /// The fit to the intervals of a coarse tick, or else that to `points`.
    pub fn of(series: &Series, points: &GevFit) -> Shown {
        let tick = series.tick().filter(|tick| *tick > COARSE * points.scale);
        let censored = tick.and_then(|tick| interval::fit(series, tick, Rounding::Nearest).ok());
        match censored {
            Some(found) => Shown { found, tick },
            None => Shown { found: points.clone(), tick: None },
        }
    }

    /// The profile interval around it; `likelihood` is that of the points.
    pub fn profile(
        &self,
        series: &Series,
        likelihood: &Likelihood,
        target: GevTarget,
        level: f64,
    ) -> Option<Interval> {
        match self.tick {
            Some(_) => {
                interval::profile_corrected(series, Rounding::Nearest, &self.found, target, level).ok()
            }
            None => likelihood.profile_corrected(&self.found, target, level).ok(),
        }
    }

    /// Its parameters, where it is a fit to intervals.
    pub fn as_rounded(&self) -> Option<Rounded> {
        let tick = self.tick?;
        let GevFit { location, scale, shape, standard_errors, .. } = self.found;
        Some(Rounded { tick, location, scale, shape, standard_errors })
    }
}
