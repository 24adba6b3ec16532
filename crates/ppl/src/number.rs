//! Defines a number: an integer, a float or a duration.

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A time in nanoseconds.
    Duration(i64),
}

impl std::ops::Neg for Number {
    type Output = Self;

    fn neg(self) -> Self {
        match self {
            Number::Int(v) => Number::Int(-v),
            Number::Float(v) => Number::Float(-v),
            Number::Duration(v) => Number::Duration(-v),
        }
    }
}

/// A number in 12 bytes. It is stored in halves, so that the alignment is 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedNumber {
    unit: NumberUnit,
    low: u32,
    high: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberUnit {
    Int,
    Float,
    Duration,
}

impl From<Number> for PackedNumber {
    fn from(number: Number) -> Self {
        let (unit, bits) = match number {
            Number::Int(v) => (NumberUnit::Int, v as u64),
            Number::Float(v) => (NumberUnit::Float, v.to_bits()),
            Number::Duration(v) => (NumberUnit::Duration, v as u64),
        };
        Self { unit, low: bits as u32, high: (bits >> 32) as u32 }
    }
}

impl From<PackedNumber> for Number {
    fn from(packed: PackedNumber) -> Self {
        let bits = u64::from(packed.low) | u64::from(packed.high) << 32;
        match packed.unit {
            NumberUnit::Int => Number::Int(bits as i64),
            NumberUnit::Float => Number::Float(f64::from_bits(bits)),
            NumberUnit::Duration => Number::Duration(bits as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_number_is_the_same_number() {
        for number in [Number::Int(i64::MIN), Number::Int(-1), Number::Float(-0.5), Number::Duration(1 << 40)]
        {
            assert_eq!(Number::from(PackedNumber::from(number)), number);
        }
    }
}
