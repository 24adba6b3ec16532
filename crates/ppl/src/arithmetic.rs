//! What do the operators give?

use std::cmp::Ordering;
use std::sync::Arc;

use crate::syntax::literal;
use crate::syntax::{BinaryOp, UnaryOp};
use crate::value::Value;

/// `left op right` for everything but `&&` and `||`, which do not evaluate both sides.
///
/// Integers wrap around, `/` and `%` truncate toward zero. A string that begins with a number
/// counts as that number; where a string does not, `+` joins.
///
/// # Errors
/// A message: a division by zero, or kinds that do not go together.
pub fn binary(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, String> {
    use BinaryOp::{And, AtLeast, AtMost, Equal, Greater, Less, NotEqual, Or};
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        return integers(op, *a, *b).map(Value::Int).ok_or_else(|| "division by zero".into());
    }
    match op {
        Or => Ok(truth(left.truth() || right.truth())),
        And => Ok(truth(left.truth() && right.truth())),
        Equal => Ok(truth(equal(left, right))),
        NotEqual => Ok(truth(!equal(left, right))),
        Less | AtMost | Greater | AtLeast => {
            let order = compare(left, right)?;
            Ok(truth(match op {
                Less => order == Some(Ordering::Less),
                AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
                Greater => order == Some(Ordering::Greater),
                _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            }))
        }
        BinaryOp::Add => add(left, right),
        _ => numbers(op, left, right),
    }
}

/// The integer operators; `None` for a division by zero.
#[inline]
pub(crate) fn integers(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Divide if b == 0 => return None,
        BinaryOp::Divide => a.wrapping_div(b),
        BinaryOp::Modulo if b == 0 => return None,
        BinaryOp::Modulo => a.wrapping_rem(b),
        BinaryOp::Power => power(a, b),
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

fn truth(value: bool) -> Value {
    Value::Int(i64::from(value))
}

/// `a ^ b`, wrapping; a negative exponent gives what truncation leaves of the fraction.
fn power(base: i64, exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut factor, mut rest) = (1i64, base, exponent as u64);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(factor);
        }
        factor = factor.wrapping_mul(factor);
        rest >>= 1;
    }
    result
}

/// The number a value stands for: a string as its leading number, a handle as its index.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Duration(_) => Some(value.clone()),
        Value::Text(text) => literal::leading(text),
        Value::File(index) | Value::Buffer(index) => Some(Value::Int(i64::from(*index))),
        Value::Unset | Value::List(_) => None,
    }
}

fn add(left: &Value, right: &Value) -> Result<Value, String> {
    if let (Value::List(a), Value::List(b)) = (left, right) {
        return Ok(Value::List(Arc::new(a.iter().chain(b.iter()).cloned().collect())));
    }
    let joins = matches!(left, Value::Text(_)) || matches!(right, Value::Text(_));
    if joins && (number(left).is_none() || number(right).is_none()) {
        if matches!(left, Value::List(_) | Value::Unset) || matches!(right, Value::List(_) | Value::Unset) {
            return Err(mismatch(BinaryOp::Add, left, right));
        }
        let mut out = Vec::new();
        left.render(&mut out);
        right.render(&mut out);
        return Ok(Value::Text(String::from_utf8_lossy(&out).into()));
    }
    numbers(BinaryOp::Add, left, right)
}

fn mismatch(op: BinaryOp, left: &Value, right: &Value) -> String {
    format!("`{}` cannot be used between {} and {}", op.sign(), left.kind(), right.kind())
}

fn numbers(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, String> {
    use BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
    use Value::{Duration, Float, Int};
    let (Some(a), Some(b)) = (number(left), number(right)) else { return Err(mismatch(op, left, right)) };
    let zero = || "division by zero".to_owned();
    let scaled = |ns: i64, factor: f64| Duration((ns as f64 * factor).round() as i64);
    match (op, a, b) {
        (_, Int(a), Int(b)) => integers(op, a, b).map(Int).ok_or_else(zero),
        (Add, Duration(a), Duration(b)) => Ok(Duration(a.wrapping_add(b))),
        (Subtract, Duration(a), Duration(b)) => Ok(Duration(a.wrapping_sub(b))),
        (Divide | Modulo, Duration(_), Duration(0) | Int(0)) => Err(zero()),
        (Divide, Duration(a), Duration(b)) => Ok(Float(a as f64 / b as f64)),
        (Modulo, Duration(a), Duration(b)) => Ok(Duration(a.wrapping_rem(b))),
        (Multiply, Duration(a), Int(b)) | (Multiply, Int(b), Duration(a)) => Ok(Duration(a.wrapping_mul(b))),
        (Multiply, Duration(a), Float(b)) | (Multiply, Float(b), Duration(a)) => Ok(scaled(a, b)),
        (Divide, Duration(a), Int(b)) => Ok(Duration(a.wrapping_div(b))),
        (Divide, Duration(a), Float(b)) if b != 0.0 => Ok(scaled(a, 1.0 / b)),
        (_, Duration(_), _) | (_, _, Duration(_)) => Err(mismatch(op, left, right)),
        (op, a, b) => {
            let (a, b) = (a.float().unwrap_or(f64::NAN), b.float().unwrap_or(f64::NAN));
            Ok(Float(match op {
                Add => a + b,
                Subtract => a - b,
                Multiply => a * b,
                Divide | Modulo if b == 0.0 => return Err(zero()),
                Divide => a / b,
                Modulo => a % b,
                _ => a.powf(b),
            }))
        }
    }
}

/// Equal: strings by their letters; a string and a number by the number it spells.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Text(text), other) | (other, Value::Text(text)) => {
            literal::signed(text).is_ok_and(|value| equal(&value, other))
        }
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Duration(_), _) | (_, Value::Duration(_)) => false,
        _ => match (number(left), number(right)) {
            (Some(Value::Int(a)), Some(Value::Int(b))) => a == b,
            (Some(a), Some(b)) => a.float() == b.float(),
            _ => false,
        },
    }
}

fn compare(left: &Value, right: &Value) -> Result<Option<Ordering>, String> {
    if let (Value::Text(a), Value::Text(b)) = (left, right)
        && (number(left).is_none() || number(right).is_none())
    {
        return Ok(Some(a.cmp(b)));
    }
    match (number(left), number(right)) {
        (Some(Value::Int(a)), Some(Value::Int(b))) => Ok(Some(a.cmp(&b))),
        (Some(Value::Duration(a)), Some(Value::Duration(b))) => Ok(Some(a.cmp(&b))),
        (Some(Value::Duration(_)), _) | (_, Some(Value::Duration(_))) => Err(format!(
            "{} cannot be compared with {}; a time needs a unit, such as `5ms`",
            left.kind(),
            right.kind()
        )),
        (Some(a), Some(b)) => Ok(a.float().unwrap_or(f64::NAN).partial_cmp(&b.float().unwrap_or(f64::NAN))),
        _ => Err(format!("{} cannot be compared with {}", left.kind(), right.kind())),
    }
}

/// `-a` and `!a`.
///
/// # Errors
/// A message where the value has no sign.
pub fn unary(op: UnaryOp, value: &Value) -> Result<Value, String> {
    match (op, value) {
        (UnaryOp::Not, value) => Ok(truth(!value.truth())),
        (UnaryOp::Negate, value) => match number(value) {
            Some(Value::Int(v)) => Ok(Value::Int(v.wrapping_neg())),
            Some(Value::Float(v)) => Ok(Value::Float(-v)),
            Some(Value::Duration(v)) => Ok(Value::Duration(v.wrapping_neg())),
            _ => Err(format!("`-` cannot be used before {}", value.kind())),
        },
    }
}

/// The built-in functions that draw nothing and ask nobody; `None` for the others.
///
/// # Errors
/// A message where an argument does not fit.
pub(crate) fn function(
    function: crate::commands::Function,
    values: &[Value],
) -> Option<Result<Value, String>> {
    use crate::commands::Function as F;
    let best = |want: Ordering| -> Result<Value, String> {
        let mut best = values[0].clone();
        for value in &values[1..] {
            if compare(value, &best)? == Some(want) {
                best = value.clone();
            }
        }
        Ok(best)
    };
    Some(match function {
        F::Mod => binary(BinaryOp::Modulo, &values[0], &values[1]).and_then(|rest| {
            let below =
                compare(&rest, &binary(BinaryOp::Multiply, &rest, &Value::Int(0))?)? == Some(Ordering::Less);
            let other = binary(BinaryOp::Multiply, &values[1], &Value::Int(0))?;
            let negative = compare(&values[1], &other)? == Some(Ordering::Less);
            if below != negative && rest.truth() {
                binary(BinaryOp::Add, &rest, &values[1])
            } else {
                Ok(rest)
            }
        }),
        F::Min => best(Ordering::Less),
        F::Max => best(Ordering::Greater),
        F::Abs => match number(&values[0]) {
            Some(Value::Int(v)) => Ok(Value::Int(v.wrapping_abs())),
            Some(Value::Float(v)) => Ok(Value::Float(v.abs())),
            Some(Value::Duration(v)) => Ok(Value::Duration(v.wrapping_abs())),
            _ => Err(format!("{} has no magnitude", values[0].kind())),
        },
        F::Int => values[0].integer().map(Value::Int).ok_or(format!("{} is no number", values[0].kind())),
        F::Float => values[0].float().map(Value::Float).ok_or(format!("{} is no number", values[0].kind())),
        F::Len => match &values[0] {
            Value::Text(text) => Ok(Value::Int(text.len() as i64)),
            Value::List(items) => Ok(Value::Int(items.len() as i64)),
            other => Err(format!("{} has no length", other.kind())),
        },
        F::Range => match (values[0].integer(), values[1].integer()) {
            (Some(a), Some(b)) if b.saturating_sub(a) <= 1_000_000 => {
                Ok(Value::List(Arc::new((a..b).map(Value::Int).collect())))
            }
            (Some(_), Some(_)) => Err("a list of more than a million items; use `for $i in a..b`".into()),
            _ => Err("a range needs two integers".into()),
        },
        F::Split => {
            let separator = values.get(1).map_or(",".into(), ToString::to_string);
            if separator.is_empty() {
                return Some(Err("a separator has at least one letter".into()));
            }
            let text = values[0].to_string();
            let pieces = text.split(&separator).map(str::trim).filter(|piece| !piece.is_empty());
            Ok(Value::List(Arc::new(pieces.map(|piece| Value::Text(piece.into())).collect())))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_add_as_numbers_when_they_begin_with_one_and_join_otherwise() {
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(binary(BinaryOp::Add, &text("12k"), &Value::Int(1)), Ok(Value::Int(13)));
        assert_eq!(binary(BinaryOp::Add, &text("3"), &text("4")), Ok(Value::Int(7)));
        assert_eq!(binary(BinaryOp::Add, &text("a"), &Value::Int(1)), Ok(text("a1")));
    }

    #[test]
    fn a_string_is_split_at_commas_or_what_is_given() {
        let split = |values: &[Value]| function(crate::commands::Function::Split, values);
        let text = |text: &str| Value::Text(text.into());
        let list =
            |items: &[&str]| Some(Ok(Value::List(Arc::new(items.iter().map(|item| text(item)).collect()))));
        assert_eq!(split(&[text("/tmp, /mnt/nfs,,")]), list(&["/tmp", "/mnt/nfs"]));
        assert_eq!(split(&[text("a b"), text(" ")]), list(&["a", "b"]));
        assert_eq!(split(&[text("")]), list(&[]));
        assert!(split(&[text("a"), text("")]).is_some_and(|found| found.is_err()));
    }

    #[test]
    fn powers_wrap_as_in_the_original() {
        assert_eq!(power(2, 63), i64::MIN);
        assert_eq!(power(10, 18), 1_000_000_000_000_000_000);
        assert_eq!(power(2, -1), 0);
    }

    #[test]
    fn a_duration_keeps_its_unit() {
        let ms = Value::Duration(1_000_000);
        assert_eq!(binary(BinaryOp::Multiply, &ms, &Value::Int(3)), Ok(Value::Duration(3_000_000)));
        assert_eq!(binary(BinaryOp::Divide, &ms, &Value::Duration(2_000_000)), Ok(Value::Float(0.5)));
        assert!(binary(BinaryOp::Less, &ms, &Value::Int(5)).is_err());
    }
}
