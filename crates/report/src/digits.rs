//! Shortens the numbers of a document to the digits that mean something.

use serde_json::{Number, Value};

/// Significant digits: no clock of a computer keeps time to a part in ten million, and no estimate is known as well.
const DIGITS: usize = 7;

/// Decimals that stay however large a number is: of likelihoods and criteria the differences count.
const DECIMALS: i32 = 2;

/// What stays as it is to the last digit: facts are those of the run file, and the numbers of the answer those of `ls` and of
/// appended rows.
const AS_THEY_ARE: [&str; 2] = ["facts", "numbers"];

/// Shortens the numbers of a document, but for those in [`AS_THEY_ARE`].
pub(crate) fn shorten(document: &mut Value) {
    match document {
        Value::Object(fields) => {
            let shortened = fields.iter_mut().filter(|(name, _)| !AS_THEY_ARE.contains(&name.as_str()));
            shortened.for_each(|(_, field)| shorten(field));
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Number(number) => {
            // Whole numbers count something.
            if let Some(short) = number.as_f64().filter(|_| number.is_f64()).and_then(short) {
                *number = short;
            }
        }
        _ => {}
    }
}

fn short(number: f64) -> Option<Number> {
    let whole_digits = if number == 0.0 { 0 } else { number.abs().log10().floor() as i32 + 1 };
    let digits = DIGITS.max(usize::try_from(whole_digits + DECIMALS).unwrap_or(0));
    // The shortest text of the nearest number with so many digits is these digits.
    let rounded: f64 = format!("{number:.*e}", digits - 1).parse().ok()?;
    Number::from_f64(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn computed_numbers_have_seven_digits_or_two_decimals_and_facts_all() {
        let mut document = json!({
            "facts": {"ticks_per_ns": 2.596_096_002_010_584},
            "numbers": {"operations_per_second": 1_134.547_686_394_88},
            "rows": [{"seconds": 0.070_426_377_860_999_99, "bytes": 6_710_886_400_u64, "tiny": -2.369_558_123e-5, "p": 0.0}],
            "log_likelihood": -15_012_345.678_912,
            "bytes_per_second": 328_314_258.372_131_65,
            "half": 0.5,
            "none": null,
        });
        shorten(&mut document);
        let wanted = json!({
            "facts": {"ticks_per_ns": 2.596_096_002_010_584},
            "numbers": {"operations_per_second": 1_134.547_686_394_88},
            "rows": [{"seconds": 0.070_426_38, "bytes": 6_710_886_400_u64, "tiny": -2.369_558e-5, "p": 0.0}],
            "log_likelihood": -15_012_345.68,
            "bytes_per_second": 328_314_258.37,
            "half": 0.5,
            "none": null,
        });
        assert_eq!(document, wanted);
    }

    #[test]
    fn the_ends_of_what_a_number_can_be_stay_numbers() {
        let ends = [f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0, 9_999_999.999, 0.999_999_99, 1e300];
        let mut document = json!(ends);
        shorten(&mut document);
        for (before, after) in ends.iter().zip(document.as_array().expect("a list")) {
            let after = after.as_f64().expect("a number");
            assert!((before - after).abs() <= 1e-7 * before.abs(), "{before} became {after}");
        }
    }
}
