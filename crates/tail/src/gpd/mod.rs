//! Exceedances over a threshold: the generalised Pareto distribution, its fit, its return levels.

mod distribution;
mod fit;
mod profile;
mod slice;

pub use distribution::{Gpd, GpdFit};
pub use fit::{GpdLikelihood, fit};
pub use profile::GpdTarget;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Status, Xoshiro};

    #[test]
    fn quantiles_invert_the_distribution() {
        for shape in [-0.3, 0.0, 0.4] {
            let distribution = Gpd { threshold: 5.0, scale: 2.0, shape };
            for p in [0.01, 0.5, 0.999] {
                assert!((distribution.cdf(distribution.quantile(p)) - p).abs() < 1e-13);
                assert!((distribution.survival(distribution.upper_quantile(p)) - p).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_density_that_rises_to_its_end_has_its_estimate_at_the_boundary() {
        let values: Vec<f64> = (1..=200).map(|i| (f64::from(i) / 200.0).cbrt()).collect();
        let fit = fit(&values, 0.0).unwrap();
        assert_eq!(fit.status, Status::Boundary);
        assert_eq!((fit.shape, fit.standard_errors), (-1.0, None));
        assert!((fit.scale - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_level_below_the_threshold_is_refused() {
        let mut random = Xoshiro::new(1);
        let distribution = Gpd { threshold: 0.0, scale: 1.0, shape: 0.1 };
        let values: Vec<f64> = (0..500).map(|_| distribution.sample(&mut random)).collect();
        let fit = fit(&values, 1.0).unwrap();
        assert!(fit.return_level(1.5, 1.0).is_err());
        assert!(fit.return_level(1e6, 1.0).unwrap().0 > 1.0);
    }
}
