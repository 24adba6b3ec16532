//! Evaluates operators and pure functions on values.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::literal;
use crate::quantity::{digits, integers, scaled};
use crate::syntax::{BinaryOp, UnaryOp};
use crate::value::{LONGEST_LIST, LONGEST_TEXT, TOO_LONG, Value};

/// Reason why an operation on two values has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    /// The divisor is the integer or the time 0.
    #[error("division by zero")]
    DivisionByZero,
    /// The result of two integers exceeds 64 bits.
    #[error(
        "{left} {op} {right} exceeds the largest integer, {}; where an approximate result will do, write a float: \
             `{left}.0`",
        i64::MAX
    )]
    TooLarge {
        /// The left operand.
        left: i64,
        /// The operator's sign.
        op: &'static str,
        /// The right operand.
        right: i64,
    },
    /// The result is a time that exceeds 64 bits of nanoseconds.
    #[error("{left} {op} {right} exceeds the longest time, 292 years")]
    TooLong {
        /// The left value, as a program writes it.
        left: String,
        /// The operator's sign.
        op: &'static str,
        /// The right operand.
        right: String,
    },
    /// The list would have more items than a list may.
    #[error("a list has at most {LONGEST_LIST} items")]
    ListTooLong,
    /// The string would be longer than a string may be.
    #[error("{TOO_LONG}")]
    TextTooLong,
    /// The result of two floats is not finite.
    #[error("the result is not a number or exceeds the largest float")]
    NotFinite,
    /// The operator is not defined for these kinds.
    #[error("`{op}` cannot be used between {left} and {right}")]
    Mismatch {
        /// The kind of the left value.
        left: &'static str,
        /// The operator's sign.
        op: &'static str,
        /// The kind of the right value.
        right: &'static str,
    },
    /// Kinds that have no order.
    #[error("{left} cannot be compared with {right}")]
    NoOrder {
        /// The kind of the left value.
        left: &'static str,
        /// The kind of the right value.
        right: &'static str,
    },
    /// A time and a value that is not a time.
    #[error("{left} cannot be compared with {right}; a time needs a unit, such as `5ms`")]
    NoUnit {
        /// The kind of the left value.
        left: &'static str,
        /// The kind of the right value.
        right: &'static str,
    },
}

impl ArithmeticError {
    /// The operands as in the message; `None` if the message does not name them.
    pub(crate) fn operands(&self) -> Option<[String; 2]> {
        match self {
            ArithmeticError::TooLarge { left, right, .. } => Some([left.to_string(), right.to_string()]),
            ArithmeticError::TooLong { left, right, .. } => Some([left.clone(), right.clone()]),
            ArithmeticError::DivisionByZero
            | ArithmeticError::ListTooLong
            | ArithmeticError::TextTooLong
            | ArithmeticError::NotFinite
            | ArithmeticError::Mismatch { .. }
            | ArithmeticError::NoOrder { .. }
            | ArithmeticError::NoUnit { .. } => None,
        }
    }
}

impl From<ArithmeticError> for String {
    fn from(error: ArithmeticError) -> Self {
        error.to_string()
    }
}

/// `left op right` for all operators except `&&` and `||`, which do not always evaluate both sides.
///
/// `/` and `%` truncate toward zero. A string that begins with a number counts as that number; with any other
/// string, `+` concatenates. With `wraps`, integers and times wrap around at 64 bits, as in the original;
/// otherwise overflow is an error.
///
/// # Errors
/// Division by zero, a result out of range, or kinds for which the operator is not defined.
pub fn binary(op: BinaryOp, left: &Value, right: &Value, wraps: bool) -> Result<Value, ArithmeticError> {
    use BinaryOp::{And, AtLeast, AtMost, Equal, Greater, Less, NotEqual, Or};
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        return whole(op, *a, *b, wraps);
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
        BinaryOp::Add => add(left, right, wraps),
        _ => numbers(op, left, right, wraps),
    }
}

fn truth(value: bool) -> Value {
    Value::Int(i64::from(value))
}

/// Evaluates an operator on integers.
#[cold]
fn whole(op: BinaryOp, a: i64, b: i64, wraps: bool) -> Result<Value, ArithmeticError> {
    match integers(op, a, b) {
        Some(result) => Ok(Value::Int(result)),
        None if b == 0 && matches!(op, BinaryOp::Divide | BinaryOp::Modulo) => {
            Err(ArithmeticError::DivisionByZero)
        }
        None if a == 0 && b < 0 && op == BinaryOp::Power => Err(ArithmeticError::DivisionByZero),
        None if wraps => Ok(Value::Int(wrapped(op, a, b))),
        None => Err(ArithmeticError::TooLarge { left: a, op: op.sign(), right: b }),
    }
}

/// The result modulo 2⁶⁴ of the operators that can overflow.
fn wrapped(op: BinaryOp, a: i64, b: i64) -> i64 {
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Power => {
            let (mut result, mut factor, mut rest) = (1i64, a, b.unsigned_abs());
            while rest > 0 {
                if rest & 1 == 1 {
                    result = result.wrapping_mul(factor);
                }
                factor = factor.wrapping_mul(factor);
                rest >>= 1;
            }
            result
        }
        _ => a.wrapping_div(b),
    }
}

/// A value as a number: a string is its leading number, a handle its index.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Duration(_) => Some(value.clone()),
        Value::Text(text) => literal::leading(text).map(Value::from),
        Value::File(index) | Value::Buffer(index) => Some(Value::Int(i64::from(*index))),
        Value::Unset | Value::List(_) => None,
    }
}

fn add(left: &Value, right: &Value, wraps: bool) -> Result<Value, ArithmeticError> {
    if let (Value::List(a), Value::List(b)) = (left, right) {
        if a.len() + b.len() > LONGEST_LIST {
            return Err(ArithmeticError::ListTooLong);
        }
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
        if out.len() > LONGEST_TEXT {
            return Err(ArithmeticError::TextTooLong);
        }
        return Ok(Value::Text(String::from_utf8_lossy(&out).into()));
    }
    numbers(BinaryOp::Add, left, right, wraps)
}

fn mismatch(op: BinaryOp, left: &Value, right: &Value) -> ArithmeticError {
    ArithmeticError::Mismatch { left: left.kind(), op: op.sign(), right: right.kind() }
}

fn numbers(op: BinaryOp, left: &Value, right: &Value, wraps: bool) -> Result<Value, ArithmeticError> {
    use BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
    use Value::{Duration, Float, Int};
    let (Some(a), Some(b)) = (number(left), number(right)) else { return Err(mismatch(op, left, right)) };
    // Times are 64-bit nanoseconds, so they overflow like integers.
    let time = |op: BinaryOp, a: i64, b: i64| match whole(op, a, b, wraps) {
        Ok(Int(ns)) => Ok(Duration(ns)),
        _ => Err(longest(op, left, right)),
    };
    let scaled =
        |ns: i64, factor: f64| scaled(ns, factor).map(Duration).ok_or_else(|| longest(op, left, right));
    match (op, a, b) {
        (_, Int(a), Int(b)) => whole(op, a, b, wraps),
        (Add | Subtract, Duration(a), Duration(b)) => time(op, a, b),
        (Divide | Modulo, Duration(_), Duration(0) | Int(0)) => Err(ArithmeticError::DivisionByZero),
        (Divide, Duration(a), Duration(b)) => Ok(Float(a as f64 / b as f64)),
        (Modulo, Duration(a), Duration(b)) => Ok(Duration(a.wrapping_rem(b))),
        (Multiply, Duration(a), Int(b)) | (Multiply, Int(b), Duration(a)) => time(op, a, b),
        (Multiply, Duration(a), Float(b)) | (Multiply, Float(b), Duration(a)) => scaled(a, b),
        (Divide, Duration(a), Int(b)) => Ok(Duration(a.wrapping_div(b))),
        (Divide, Duration(a), Float(b)) if b != 0.0 => scaled(a, 1.0 / b),
        (_, Duration(_), _) | (_, _, Duration(_)) => Err(mismatch(op, left, right)),
        (op, a, b) => {
            let (a, b) = (a.float().unwrap_or(f64::NAN), b.float().unwrap_or(f64::NAN));
            let result = match op {
                Add => a + b,
                Subtract => a - b,
                Multiply => a * b,
                Divide | Modulo if b == 0.0 => return Err(ArithmeticError::DivisionByZero),
                Divide => a / b,
                Modulo => a % b,
                _ => a.powf(b),
            };
            if result.is_finite() { Ok(Float(result)) } else { Err(ArithmeticError::NotFinite) }
        }
    }
}

fn longest(op: BinaryOp, left: &Value, right: &Value) -> ArithmeticError {
    ArithmeticError::TooLong { left: left.to_string(), op: op.sign(), right: right.to_string() }
}

/// Equality: two strings that are numbers as a whole by their values, others by their bytes; a string and a number by
/// the number that the string is.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => {
            let number = |text| literal::signed(text).ok().map(Value::from);
            a == b || number(a).zip(number(b)).is_some_and(|(one, other)| equal(&one, &other))
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Text(text), other) | (other, Value::Text(text)) => {
            literal::signed(text).is_ok_and(|number| equal(&number.into(), other))
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

fn compare(left: &Value, right: &Value) -> Result<Option<Ordering>, ArithmeticError> {
    if let (Value::Text(a), Value::Text(b)) = (left, right)
        && (number(left).is_none() || number(right).is_none())
    {
        return Ok(Some(a.cmp(b)));
    }
    let (one, other) = (left.kind(), right.kind());
    match (number(left), number(right)) {
        (Some(Value::Int(a)), Some(Value::Int(b))) => Ok(Some(a.cmp(&b))),
        (Some(Value::Duration(a)), Some(Value::Duration(b))) => Ok(Some(a.cmp(&b))),
        (Some(Value::Duration(_)), _) | (_, Some(Value::Duration(_))) => {
            Err(ArithmeticError::NoUnit { left: one, right: other })
        }
        (Some(a), Some(b)) => Ok(a.float().unwrap_or(f64::NAN).partial_cmp(&b.float().unwrap_or(f64::NAN))),
        _ => Err(ArithmeticError::NoOrder { left: one, right: other }),
    }
}

/// `-a` and `!a`.
///
/// # Errors
/// A message if the value has no sign.
pub fn unary(op: UnaryOp, value: &Value) -> Result<Value, String> {
    match (op, value) {
        (UnaryOp::Not, value) => Ok(truth(!value.truth())),
        (UnaryOp::Negate, value) => match number(value) {
            Some(Value::Int(v)) => v.checked_neg().map(Value::Int).ok_or_else(|| no_positive(v)),
            Some(Value::Float(v)) => Ok(Value::Float(-v)),
            Some(Value::Duration(v)) => Ok(Value::Duration(v.saturating_neg())),
            _ => Err(format!("`-` cannot be used before {}", value.kind())),
        },
    }
}

fn no_positive(value: i64) -> String {
    format!("-({value}) exceeds the largest integer, {}", i64::MAX)
}

/// The pure built-in functions; `None` for those that draw random numbers or use samples.
///
/// # Errors
/// A message if an argument is invalid.
pub(crate) fn function(
    function: crate::commands::Function,
    values: &[Value],
) -> Option<Result<Value, String>> {
    use crate::commands::Function as F;
    let best = |want: Ordering| -> Result<Value, ArithmeticError> {
        let mut best = values[0].clone();
        for value in &values[1..] {
            if compare(value, &best)? == Some(want) {
                best = value.clone();
            }
        }
        Ok(best)
    };
    Some(match function {
        F::Mod => binary(BinaryOp::Modulo, &values[0], &values[1], false)
            .and_then(|rest| {
                let below = compare(&rest, &binary(BinaryOp::Multiply, &rest, &Value::Int(0), false)?)?
                    == Some(Ordering::Less);
                let other = binary(BinaryOp::Multiply, &values[1], &Value::Int(0), false)?;
                let negative = compare(&values[1], &other)? == Some(Ordering::Less);
                if below != negative && rest.truth() {
                    binary(BinaryOp::Add, &rest, &values[1], false)
                } else {
                    Ok(rest)
                }
            })
            .map_err(String::from),
        F::Min => best(Ordering::Less).map_err(String::from),
        F::Max => best(Ordering::Greater).map_err(String::from),
        F::Abs => match number(&values[0]) {
            Some(Value::Int(v)) => v.checked_abs().map(Value::Int).ok_or_else(|| no_positive(v)),
            Some(Value::Float(v)) => Ok(Value::Float(v.abs())),
            Some(Value::Duration(v)) => Ok(Value::Duration(v.saturating_abs())),
            _ => Err(format!("{} has no magnitude", values[0].kind())),
        },
        F::Int => match (values[0].integer(), values[0].float()) {
            (Some(whole), _) => Ok(Value::Int(whole)),
            (None, Some(_)) => Err(format!("{} does not fit an integer", values[0])),
            (None, None) => Err(format!("{} is not a number", values[0].kind())),
        },
        F::Float => {
            values[0].float().map(Value::Float).ok_or(format!("{} is not a number", values[0].kind()))
        }
        F::Len => match &values[0] {
            Value::Text(text) => Ok(Value::Int(text.len() as i64)),
            Value::List(items) => Ok(Value::Int(items.len() as i64)),
            other => Err(format!("{} has no length", other.kind())),
        },
        F::Digits => match (values[0].integer(), values[1].integer()) {
            (Some(number), Some(width)) => digits(number, width),
            _ => Err("digits need two integers".into()),
        },
        F::Shuffled => match (values[0].integer(), values[1].integer(), values[2].integer()) {
            (Some(place), Some(limit), Some(key)) => {
                crate::shuffled::shuffled(place, limit, key).map(Value::Int)
            }
            _ => Err("`shuffled` needs three integers".into()),
        },
        F::Scattered => match (values[0].integer(), values[1].integer()) {
            (Some(number), Some(limit)) => crate::shuffled::scattered(number, limit).map(Value::Int),
            _ => Err("`scattered` needs two integers".into()),
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
                return Some(Err("a separator needs at least one character".into()));
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
    use crate::quantity::power;

    fn binary(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, ArithmeticError> {
        super::binary(op, left, right, false)
    }

    #[test]
    fn strings_add_as_numbers_if_they_begin_with_one_and_concatenate_otherwise() {
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(binary(BinaryOp::Add, &text("12k"), &Value::Int(1)), Ok(Value::Int(13)));
        assert_eq!(binary(BinaryOp::Add, &text("3"), &text("4")), Ok(Value::Int(7)));
        assert_eq!(binary(BinaryOp::Add, &text("a"), &Value::Int(1)), Ok(text("a1")));
    }

    #[test]
    fn strings_that_are_numbers_are_equal_by_their_values_and_others_by_their_bytes() {
        let equal =
            |a: &str, b: &str| binary(BinaryOp::Equal, &Value::Text(a.into()), &Value::Text(b.into()));
        for (one, other) in [("5", "5.0"), ("5", "05"), ("1k", "1024"), ("-1", "-1.0"), ("5ms", "0.005s")] {
            assert_eq!(equal(one, other), Ok(Value::Int(1)), "{one} {other}");
        }
        for (one, other) in [("5", "5a"), ("1-a", "1-b"), ("5", "6"), ("5ms", "5"), ("", "0"), ("a", "A")] {
            assert_eq!(equal(one, other), Ok(Value::Int(0)), "{one} {other}");
        }
    }

    #[test]
    fn very_large_and_very_small_numbers_are_printed_with_an_exponent() {
        let said = [1e300, -1e16, 1e15, 0.5, 1e-5, 1e-9, 0.0].map(|v| Value::Float(v).to_string());
        assert_eq!(said, ["1e300", "-1e16", "1000000000000000", "0.5", "0.00001", "1e-9", "0"]);
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
    fn overflow_is_an_error_or_wraps_as_in_the_original() {
        assert_eq!(power(10, 18), Some(1_000_000_000_000_000_000));
        assert_eq!(
            [power(2, -1), power(-1, -3), power(0, 0), power(-2, 63)].map(Option::unwrap),
            [0, -1, 1, i64::MIN]
        );
        assert_eq!(power(0, -1), None);
        let nothing = binary(BinaryOp::Power, &Value::Int(0), &Value::Int(-1));
        assert_eq!(nothing, Err(ArithmeticError::DivisionByZero));
        let max = Value::Int(i64::MAX);
        for (op, left, right, wrapped) in [
            (BinaryOp::Add, &max, &Value::Int(1), i64::MIN),
            (BinaryOp::Subtract, &Value::Int(-2), &max, i64::MAX),
            (BinaryOp::Multiply, &max, &max, 1),
            (BinaryOp::Power, &Value::Int(2), &Value::Int(63), i64::MIN),
            (BinaryOp::Divide, &Value::Int(i64::MIN), &Value::Int(-1), i64::MIN),
        ] {
            let message = binary(op, left, right).unwrap_err();
            assert!(
                message.to_string().contains("exceeds the largest integer, 9223372036854775807"),
                "{message}"
            );
            assert_eq!(super::binary(op, left, right, true), Ok(Value::Int(wrapped)));
        }
        assert_eq!(binary(BinaryOp::Modulo, &Value::Int(i64::MIN), &Value::Int(-1)), Ok(Value::Int(0)));
        let century = Value::Duration(100 * 365 * 86_400_000_000_000);
        assert!(
            binary(BinaryOp::Multiply, &century, &Value::Int(3))
                .unwrap_err()
                .to_string()
                .contains("292 years")
        );
        assert!(
            binary(BinaryOp::Multiply, &century, &Value::Float(3.0))
                .unwrap_err()
                .to_string()
                .contains("292 years")
        );
    }

    #[test]
    fn a_duration_keeps_its_unit() {
        let ms = Value::Duration(1_000_000);
        assert_eq!(binary(BinaryOp::Multiply, &ms, &Value::Int(3)), Ok(Value::Duration(3_000_000)));
        assert_eq!(binary(BinaryOp::Divide, &ms, &Value::Duration(2_000_000)), Ok(Value::Float(0.5)));
        assert!(binary(BinaryOp::Less, &ms, &Value::Int(5)).is_err());
    }
}
