//! Serialises findings as JSON, with sentences in the documented fields.

use serde::{Serialize, Serializer};
use serde_json::{Error, Value};
use tail::alarm::Baseline;
use tail::assess::Assessment;
use tail::congestion::Comparison;
use tail::independence::Independence;
use tail::latency::Latency;
use tail::planning::Plan;
use tail::scale::{Joint, Scaled};
use tail::targets::Targets;

/// A result whose JSON has sentences in place of typed findings.
pub trait Worded: Serialize {
    /// Replaces the findings in `json`, which is this result serialised.
    fn word(&self, json: &mut Value);
}

/// The JSON of a result.
///
/// # Errors
/// None is expected: every result serialises.
pub fn json<T: Worded>(found: &T) -> Result<Value, Error> {
    let mut json = serde_json::to_value(found)?;
    found.word(&mut json);
    Ok(json)
}

/// [`json`] as an attribute of a field: `#[serde(serialize_with = "…")]`.
pub(crate) fn serialize<T: Worded, S: Serializer>(found: &T, to: S) -> Result<S::Ok, S::Error> {
    json(found).map_err(serde::ser::Error::custom)?.serialize(to)
}

impl<T: Worded> Worded for Option<T> {
    fn word(&self, json: &mut Value) {
        if let Some(found) = self {
            found.word(json);
        }
    }
}

impl<T: Worded> Worded for Vec<T> {
    fn word(&self, json: &mut Value) {
        for (found, json) in self.iter().zip(json.as_array_mut().into_iter().flatten()) {
            found.word(json);
        }
    }
}

impl Worded for Independence {
    fn word(&self, json: &mut Value) {
        for (test, json) in self.tests.iter().zip(json["tests"].as_array_mut().into_iter().flatten()) {
            if let Some(json) = json.as_object_mut() {
                json.remove("finding");
                json.insert("text".into(), super::finding(&test.finding).into());
            }
        }
    }
}

impl Worded for Assessment {
    fn word(&self, json: &mut Value) {
        self.diagnostics.independence.word(&mut json["diagnostics"]["independence"]);
        let verdict = &mut json["verdict"];
        verdict["text"] = super::verdict::text(self).into();
        verdict["findings"] = super::verdict::findings(self).into();
        verdict["advice"] = super::verdict::advice(self, "value").into();
        // Numbers of earlier versions that were equivalent to a p-value; their keys remain.
        verdict["runs_needed"] = Vec::<Value>::new().into();
        for rival in json["alternatives"].as_array_mut().into_iter().flatten() {
            if let Some(vuong) = rival["vuong"].as_object_mut() {
                vuong.insert("values_needed".into(), Value::Null);
            }
        }
    }
}

/// The fields of a comparison by the distribution.
const BY_DISTRIBUTION: [&str; 7] = [
    "factor",
    "p_no_difference",
    "shift",
    "negative_log_likelihood_separate",
    "factor_weight",
    "agrees",
    "curve",
];

impl Worded for Comparison {
    fn word(&self, json: &mut Value) {
        json["text"] = super::comparison::text(self).into();
        json["advice"] = super::comparison::advice(self).into();
        json["negligible"] = self.is_negligible().into();
        json["undecided"] = super::comparison::is_open(self).into();
        // One number has the name of the factor: that which is quoted, and which `--fail-if 'factor > 1.05'` asks.
        let by_fit: serde_json::Map<String, Value> =
            BY_DISTRIBUTION.into_iter().map(|key| (key.to_owned(), json[key].take())).collect();
        let headline = serde_json::to_value(self.headline()).unwrap_or_default();
        json["factor"] = headline.clone();
        json["headline"] = headline;
        json["gev"] = if self.distribution.is_some() { by_fit.into() } else { Value::Null };
        if let Some(fields) = json.as_object_mut() {
            BY_DISTRIBUTION.iter().filter(|key| **key != "factor").for_each(|key| drop(fields.remove(*key)));
        }
        for (key, arm) in [("quiet", &self.baseline), ("new", &self.new)] {
            json[key]["against"] = arm.against.iter().map(super::finding).collect();
        }
    }
}

impl Worded for Targets {
    fn word(&self, json: &mut Value) {
        json["findings"] = super::targets::findings(self).into();
    }
}

impl Worded for Scaled {
    fn word(&self, json: &mut Value) {
        json["warnings"] = super::prediction::warnings(&self.warnings).into();
    }
}

impl Worded for Joint {
    fn word(&self, json: &mut Value) {
        json["warnings"] = super::prediction::warnings(&self.warnings).into();
    }
}

impl Worded for Plan {
    fn word(&self, json: &mut Value) {
        json["text"] = super::planning::text(self, "value").into();
    }
}

impl Worded for Latency {
    fn word(&self, json: &mut Value) {
        json["text"] = super::latency::text(self).into();
    }
}

impl Worded for Baseline {
    fn word(&self, json: &mut Value) {
        json["warnings"] = super::alarm::warnings(self, "value").into();
    }
}
