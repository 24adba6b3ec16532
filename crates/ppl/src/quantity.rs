//! Numbers and times without the other kinds of a value, and numbers as text: what loops evaluate most.

use crate::syntax::BinaryOp;
use crate::value::{Value, integer};

/// The integer operators; `None` on division by zero or 64-bit overflow.
#[inline(always)]
pub(crate) fn integers(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        BinaryOp::Add => return a.checked_add(b),
        BinaryOp::Subtract => return a.checked_sub(b),
        BinaryOp::Multiply => return a.checked_mul(b),
        BinaryOp::Divide => return a.checked_div(b),
        BinaryOp::Modulo if b == 0 => return None,
        // A division takes as long as a clock read, and most are by a number of bytes.
        BinaryOp::Modulo if a >= 0 && b > 0 && b & (b - 1) == 0 => a & (b - 1),
        BinaryOp::Modulo => a.wrapping_rem(b),
        BinaryOp::Power => return power(a, b),
        BinaryOp::Equal => i64::from(a == b),
        BinaryOp::NotEqual => i64::from(a != b),
        BinaryOp::Less => i64::from(a < b),
        BinaryOp::AtMost => i64::from(a <= b),
        BinaryOp::Greater => i64::from(a > b),
        BinaryOp::AtLeast => i64::from(a >= b),
        BinaryOp::And => i64::from(a != 0 && b != 0),
        BinaryOp::Or => i64::from(a != 0 || b != 0),
    })
}

/// `a ^ b`; with a negative exponent the fraction is truncated.
pub(crate) fn power(base: i64, exponent: i64) -> Option<i64> {
    match (base, exponent) {
        (1, _) => Some(1),
        (-1, _) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        // One divided by zero.
        (0, ..=-1) => None,
        (0, 1..) | (_, ..=-1) => Some(0),
        _ => base.checked_pow(u32::try_from(exponent).ok()?),
    }
}

/// A number or a time, without the other kinds of a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantity {
    Int(i64),
    Float(f64),
    Duration(i64),
}

impl Quantity {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(value) => Some(Self::Int(*value)),
            Value::Float(value) => Some(Self::Float(*value)),
            Value::Duration(ns) => Some(Self::Duration(*ns)),
            _ => None,
        }
    }
}

impl From<Quantity> for Value {
    fn from(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Int(value) => Value::Int(value),
            Quantity::Float(value) => Value::Float(value),
            Quantity::Duration(ns) => Value::Duration(ns),
        }
    }
}

/// Sums and multiples of times, and operators on integers; `None` for everything else, and where the result is out of range.
pub(crate) fn quantities(op: BinaryOp, a: Quantity, b: Quantity) -> Option<Quantity> {
    use BinaryOp::{Add, Multiply, Subtract};
    use Quantity::{Duration, Float, Int};
    match (op, a, b) {
        (_, Int(a), Int(b)) => integers(op, a, b).map(Int),
        (Add | Subtract, Duration(a), Duration(b)) => integers(op, a, b).map(Duration),
        (Multiply, Duration(a), Int(b)) | (Multiply, Int(b), Duration(a)) => a.checked_mul(b).map(Duration),
        (Multiply, Duration(a), Float(b)) | (Multiply, Float(b), Duration(a)) => scaled(a, b).map(Duration),
        _ => None,
    }
}

/// A time times a factor, to the nearest nanosecond.
pub(crate) fn scaled(ns: i64, factor: f64) -> Option<i64> {
    let product = (ns as f64 * factor).round();
    (product.abs() < i64::MAX as f64).then_some(product as i64)
}

/// The integer as a string of at least `width` characters, with zeros in front.
pub(crate) fn digits(number: i64, width: i64) -> Result<Value, String> {
    const WIDEST: usize = 64;
    let width = usize::try_from(width).ok().filter(|width| *width <= WIDEST);
    let Some(width) = width else { return Err(format!("a width is 0 to {WIDEST}")) };
    let mut text = Vec::with_capacity(WIDEST);
    integer(number, &mut text);
    let sign = usize::from(number < 0);
    let missing = width.saturating_sub(text.len());
    text.splice(sign..sign, std::iter::repeat_n(b'0', missing));
    Ok(Value::Text(String::from_utf8_lossy(&text).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_as_wide_as_they_must_be() {
        for (number, width, wanted) in [(7, 3, "007"), (1234, 3, "1234"), (-7, 3, "-07"), (0, 0, "0")] {
            assert_eq!(digits(number, width), Ok(Value::Text(wanted.into())));
        }
        // As the standard library pads.
        for number in [0, 1, -1, 9, -10, 999, i64::MAX, i64::MIN] {
            for width in 0..=64 {
                let wanted = format!("{number:0width$}", width = width as usize);
                assert_eq!(digits(number, width), Ok(Value::Text(wanted.as_str().into())));
            }
        }
        assert!([-1, 65, i64::MAX].iter().all(|width| digits(7, *width).is_err()));
    }
}
