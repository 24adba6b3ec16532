//! Serialises numbers that may not be finite: NaN and infinities are null in JSON, and NaN when read back.

use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_none() }
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}
