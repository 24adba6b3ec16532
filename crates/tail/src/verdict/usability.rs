//! What a verdict permits: the one word that every output of a verdict shows.

use serde::{Deserialize, Serialize};

use super::evidence::VerdictCode;

/// What may be done with the values and their distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Usability {
    /// The distribution describes the values: levels beyond the sample may be used.
    Natural,
    /// The level changes, slow values cluster, or several kinds are mixed: parts and measured quantiles, whose
    /// intervals allow for dependence, may be used; levels beyond the sample may not.
    InParts,
    /// No distribution describes the values: measured quantiles may be used, levels beyond the sample may not.
    #[default]
    NotUsable,
    /// Too few values, or too few distinct ones, for any of these words.
    TooFew,
}

impl Usability {
    /// Whether levels of the distribution may be shown beside measured values.
    pub fn is_distribution_shown(self) -> bool {
        match self {
            Usability::Natural | Usability::TooFew => true,
            Usability::InParts | Usability::NotUsable => false,
        }
    }
}

impl VerdictCode {
    /// What a verdict with this code permits.
    pub fn usability(self) -> Usability {
        match self {
            VerdictCode::GevPreferred | VerdictCode::GevConsistent => Usability::Natural,
            VerdictCode::NotIndependent => Usability::InParts,
            VerdictCode::NoMaximum
            | VerdictCode::GevRejected
            | VerdictCode::RivalPreferred
            | VerdictCode::NoMean
            | VerdictCode::Rounded => Usability::NotUsable,
            VerdictCode::TooFew => Usability::TooFew,
        }
    }
}
