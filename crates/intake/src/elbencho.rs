//! The latency histograms in the JSON results of elbencho.

use serde_json::Value;

use crate::Unit;
use crate::bins::Collected;
use crate::error::shown;
use crate::histogram::Bin;

/// The buckets of a phase, in whole microseconds: `{"range": "12-16us", "count": "7"}`, the last one `268435456+us`.
pub(crate) fn phase(document: &Value, to: &mut Collected) -> Result<(), String> {
    let text = |key: &str| document[key].as_str().unwrap_or_default();
    let phase = format!("{} {}", text("label"), text("phase_type"));
    for kind in ["IO", "entries"] {
        let histogram = &document["last_done"]["latency"][kind]["histogram"];
        for (part, words) in [(histogram, ""), (&histogram["rwmix_read"], " of reads")] {
            let series = format!("{} {kind}{words}", phase.trim());
            let Some(buckets) = part["buckets"].as_array() else { continue };
            // Results of later runs are appended to the same file.
            if to.has(&series) {
                return Err(format!("`{}` is there twice: keep the line that is meant", shown(&series)));
            }
            for bucket in buckets {
                let wrong =
                    || format!("`{}` of `{}` is no bucket", shown(&bucket.to_string()), shown(&series));
                to.add(&series, Some(Unit::Us), bin(bucket).ok_or_else(wrong)?)?;
            }
        }
    }
    Ok(())
}

fn bin(bucket: &Value) -> Option<Bin> {
    let range = bucket["range"].as_str()?.strip_suffix("us")?;
    let whole = |text: &str| text.parse::<u64>().ok().map(|number| number as f64);
    let (low, high) = match range.strip_suffix('+') {
        Some(low) => (whole(low)?, f64::INFINITY),
        None => range.split_once('-').and_then(|(low, high)| Some((whole(low)?, whole(high)?)))?,
    };
    let count = &bucket["count"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok())?;
    Some(Bin { low, high, count })
}
