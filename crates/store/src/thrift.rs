//! Walks over Thrift's compact encoding, in which Parquet writes its footer and page headers, without taking memory for
//! what it says.
//!
//! The Parquet library skips a list of truth values without reading a byte for each, and takes a field's type from its
//! number. So a few bytes can make it count to 2^31, or read one text in another way than its types say. What passes this
//! walk takes the library as many steps as it has bytes.

/// A type of the compact encoding, as its number.
pub(crate) type Kind = u8;
pub(crate) const I16: Kind = 4;
pub(crate) const I32: Kind = 5;
pub(crate) const I64: Kind = 6;
pub(crate) const BYTE: Kind = 3;
pub(crate) const DOUBLE: Kind = 7;
pub(crate) const BINARY: Kind = 8;
const TRUE: Kind = 1;
const FALSE: Kind = 2;
const LIST: Kind = 9;
const SET: Kind = 10;
const MAP: Kind = 11;
const STRUCT: Kind = 12;
const UUID: Kind = 13;

/// Structures within each other; the library skips 64.
const DEEPEST: u32 = 64;

/// What a value must be.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Anything: the library skips it.
    Any,
    /// A value of this type.
    Of(Kind),
    /// A number of 32 bits, or as many bytes, up to this.
    AtMost(Kind, i64),
    /// A number of 32 bits that is kept in this place of [`Kept`].
    Kept(usize),
    /// A list of at most so many.
    List(&'static Shape, i64),
    /// A structure whose fields of these numbers have these shapes; others are skipped.
    Struct(&'static [(i16, Shape)]),
}

impl Shape {
    fn kind(self, found: Kind) -> Kind {
        match self {
            Self::Any => found,
            Self::Of(kind) | Self::AtMost(kind, _) => kind,
            Self::Kept(_) => I32,
            Self::List(..) => LIST,
            Self::Struct(_) => STRUCT,
        }
    }
}

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsound {
    /// It ends within a value.
    Ends,
    /// It says what no Parquet file says.
    Says(&'static str),
}

/// The last value of each [`Shape::Kept`].
pub(crate) type Kept = [Option<i32>; 3];

/// Goes over bytes.
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(crate) kept: Kept,
}

impl<'a> Walk<'a> {
    pub(crate) fn over(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, kept: [None; 3] }
    }

    /// Goes over a structure that begins here; how many bytes it has.
    pub(crate) fn structure(&mut self, shape: Shape) -> Result<usize, Unsound> {
        self.value(STRUCT, shape, DEEPEST)?;
        Ok(self.at)
    }

    fn byte(&mut self) -> Result<u8, Unsound> {
        let byte = *self.bytes.get(self.at).ok_or(Unsound::Ends)?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, count: u64) -> Result<(), Unsound> {
        let left = self.bytes.len() - self.at;
        self.at += usize::try_from(count).ok().filter(|count| *count <= left).ok_or(Unsound::Ends)?;
        Ok(())
    }

    /// A number of any length; bits beyond the 64th fall upon the first ones, as the library has it.
    fn number(&mut self) -> Result<u64, Unsound> {
        let (mut number, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            shift = shift.wrapping_add(7);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
    }

    /// A number with its sign in the lowest bit; the library keeps 32 bits.
    fn narrow(&mut self) -> Result<i32, Unsound> {
        let number = self.number()?;
        Ok(((number >> 1).cast_signed() ^ -(number & 1).cast_signed()) as i32)
    }

    fn value(&mut self, kind: Kind, shape: Shape, depth: u32) -> Result<(), Unsound> {
        if depth == 0 {
            return Err(Unsound::Says("structures too deep within each other"));
        }
        if shape.kind(kind) != kind {
            return Err(Unsound::Says("a field of another type than the format's"));
        }
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.skip(1),
            I16 | I32 | I64 => self.integer(shape),
            DOUBLE => self.skip(8),
            UUID => self.skip(16),
            BINARY => {
                let length = self.number()?;
                if matches!(shape, Shape::AtMost(_, most) if length > most.cast_unsigned()) {
                    return Err(Unsound::Says("a name that is too long"));
                }
                self.skip(length)
            }
            LIST | SET => self.list(shape, depth),
            MAP => self.map(depth),
            STRUCT => self.fields(shape, depth),
            _ => Err(Unsound::Says("a value of no type")),
        }
    }

    fn integer(&mut self, shape: Shape) -> Result<(), Unsound> {
        let value = self.narrow()?;
        match shape {
            Shape::AtMost(_, most) if i64::from(value) > most => {
                Err(Unsound::Says("a number that is too large"))
            }
            Shape::Kept(place) => {
                self.kept[place] = Some(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn list(&mut self, shape: Shape, depth: u32) -> Result<(), Unsound> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(());
        }
        let kind = head & 0x0f;
        let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        let each = match shape {
            Shape::List(_, most) if count > most.cast_unsigned() => {
                return Err(Unsound::Says("a list that is too long"));
            }
            Shape::List(each, _) => *each,
            _ => Shape::Any,
        };
        if matches!(kind, TRUE | FALSE) && count > 0 {
            return Err(Unsound::Says("a list of truth values, which Parquet has nowhere"));
        }
        (0..count).try_for_each(|_| self.value(kind, each, depth - 1))
    }

    fn map(&mut self, depth: u32) -> Result<(), Unsound> {
        let count = self.number()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        let (key, value) = (kinds >> 4, kinds & 0x0f);
        if matches!((key, value), (TRUE | FALSE, TRUE | FALSE)) {
            return Err(Unsound::Says("a map of truth values, which Parquet has nowhere"));
        }
        (0..count).try_for_each(|_| {
            self.value(key, Shape::Any, depth - 1)?;
            self.value(value, Shape::Any, depth - 1)
        })
    }

    fn fields(&mut self, shape: Shape, depth: u32) -> Result<(), Unsound> {
        let known = if let Shape::Struct(known) = shape { known } else { &[] };
        let mut last = 0_i16;
        loop {
            let head = self.byte()?;
            let (step, kind) = (head >> 4, head & 0x0f);
            if kind == 0 {
                return Ok(());
            }
            last = if step == 0 {
                self.narrow()? as i16
            } else {
                last.checked_add(i16::from(step)).ok_or(Unsound::Says("a field of too large a number"))?
            };
            let shape =
                known.iter().find(|(number, _)| *number == last).map_or(Shape::Any, |(_, shape)| *shape);
            self.value(kind, shape, depth - 1)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Shape =
        Shape::Struct(&[(1, Shape::Of(I32)), (2, Shape::List(&Shape::Of(BINARY), 2)), (3, Shape::Kept(0))]);

    fn walked(bytes: &[u8]) -> Result<usize, Unsound> {
        Walk::over(bytes).structure(PLAIN)
    }

    #[test]
    fn a_structure_is_gone_over_to_its_end() {
        // 1: 150; 2: ["a", ""]; 9 (unknown): {1: true}; 3: -2
        let bytes = [0x15, 0xac, 0x02, 0x19, 0x28, 1, b'a', 0, 0x7c, 0x11, 0, 0x05, 6, 3, 0, 99];
        let mut walk = Walk::over(&bytes);
        assert_eq!(walk.structure(PLAIN), Ok(bytes.len() - 1));
        assert_eq!(walk.kept[0], Some(-2));
        for length in 0..bytes.len() - 1 {
            assert_eq!(walked(&bytes[..length]), Err(Unsound::Ends), "{length}");
        }
    }

    #[test]
    fn what_takes_no_bytes_is_not_counted_to() {
        let endless = [0xff, 0xff, 0xff, 0xff, 0x07];
        for (head, kinds) in [(0x79, Some(0xf1)), (0x79, Some(0xf2)), (0x7a, Some(0xf1)), (0x7b, None)] {
            let mut bytes = vec![head];
            bytes.extend(kinds);
            bytes.extend(endless);
            bytes.extend(kinds.is_none().then_some(0x11));
            bytes.push(0);
            assert!(matches!(walked(&bytes), Err(Unsound::Says(_))), "{bytes:x?}");
        }
    }

    #[test]
    fn a_field_of_another_type_is_refused() {
        assert!(matches!(walked(&[0x18, 0, 0]), Err(Unsound::Says(_))));
        assert!(
            matches!(walked(&[0x29, 0x38, 0, 0, 0, 0]), Err(Unsound::Says(_))),
            "a list that is too long"
        );
        assert!(matches!(walked(&[0x0e, 0]), Err(Unsound::Says(_))), "no such type");
        assert!(matches!(walked(&[0x9c].repeat(100)), Err(Unsound::Says(_))), "too deep");
    }
}
