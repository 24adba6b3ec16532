//! What does extreme-value theory say of the analysed values?

use serde::Serialize;
use tail::independence::{self, Independence};
use tail::{Gev, Series, gev, rivals};

/// Coverage of all intervals and bands.
pub const COVERAGE: f64 = 0.95;

/// The tail of the analysed values: fit, levels, comparison, verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Tail {
    /// The fitted law; none where nothing can be fitted.
    pub fit: Option<gev::Fit>,
    /// Why there is no fit.
    pub refusal: Option<String>,
    /// Levels exceeded once in 10, 100, 1000 values.
    pub levels: Vec<Level>,
    /// The GEV and its rivals, the best first.
    pub models: Vec<Model>,
    /// Are the values independent draws of one law? None of fewer than ten or equal values.
    pub independence: Option<Independence>,
    /// What it all means.
    pub verdict: Verdict,
    #[serde(skip)]
    normal: Option<rivals::Law>,
}

/// A level that is exceeded once in so many values.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// Once in how many values.
    pub period: f64,
    /// The level, in the unit of the data.
    pub level: f64,
    /// Lower end of its 95 % interval; none where the fit has no errors.
    pub lower: Option<f64>,
    /// Upper end; none where it is infinite or the fit has no errors.
    pub upper: Option<f64>,
}

/// A family of laws and how well it describes the values.
#[derive(Clone, Debug, Serialize)]
pub struct Model {
    /// `GEV`, `normal`, `log-normal` …
    pub name: String,
    /// Number of parameters.
    pub parameters: usize,
    /// Negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Akaike's criterion: the smallest is best.
    pub aic: f64,
}

/// The conclusion, for programs and for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// A stable name.
    pub code: String,
    /// A sentence or two.
    pub text: String,
}

impl Tail {
    /// Analyses values in time order, of any unit.
    pub fn of(values: &[f64]) -> Tail {
        let series = Series::clean(values);
        let independence = independence::check_series(&series, 0.05).ok();
        let fit = match gev::fit(values) {
            Ok(fit) => fit,
            Err(error) => return Tail::refused(error.to_string()),
        };
        let levels = [10.0, 100.0, 1000.0].map(|period| level(values, &fit, period)).into();
        let mut models = vec![Model {
            name: "GEV".into(),
            parameters: 3,
            negative_log_likelihood: fit.negative_log_likelihood,
            aic: fit.aic(),
        }];
        let mut normal = None;
        for family in rivals::Family::ALL {
            let Ok(rival) = rivals::fit(&series, family) else { continue };
            if family == rivals::Family::Normal {
                normal = Some(rival.law);
            }
            models.push(Model {
                name: family.name().into(),
                parameters: family.size(),
                negative_log_likelihood: rival.negative_log_likelihood,
                aic: rival.aic(),
            });
        }
        models.sort_by(|a, b| a.aic.total_cmp(&b.aic));
        let best = &models[0].name;
        let verdict = Verdict {
            code: format!("best-{best}").to_lowercase(),
            text: format!("By AIC the {best} law describes the values best."),
        };
        Tail { fit: Some(fit), refusal: None, levels, models, independence, verdict, normal }
    }

    fn refused(why: String) -> Tail {
        Tail {
            fit: None,
            verdict: Verdict { code: "no-fit".into(), text: format!("No law can be fitted: {why}.") },
            refusal: Some(why),
            levels: Vec::new(),
            models: Vec::new(),
            independence: None,
            normal: None,
        }
    }

    /// The fitted GEV.
    pub fn law(&self) -> Option<Gev> {
        self.fit.as_ref().map(gev::Fit::law)
    }

    /// The fitted normal law.
    pub fn normal(&self) -> Option<rivals::Law> {
        self.normal
    }
}

fn level(values: &[f64], fit: &gev::Fit, period: f64) -> Level {
    let interval = gev::profile_return_level(values, fit, period, COVERAGE).ok();
    let finite = |end: f64| Some(end).filter(|end| end.is_finite());
    Level {
        period,
        level: fit.law().return_level(period),
        lower: interval.and_then(|interval| finite(interval.lower)),
        upper: interval.and_then(|interval| finite(interval.upper)),
    }
}
