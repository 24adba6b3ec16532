//! Whole numbers in as few bytes as they need (LEB128), and their differences.

/// Takes numbers.
#[derive(Default)]
pub(super) struct ByteWriter(pub(super) Vec<u8>);

impl ByteWriter {
    pub(super) fn unsigned(&mut self, value: impl Into<u128>) {
        let mut value = value.into();
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Small ones of both signs are short.
    pub(super) fn signed(&mut self, value: impl Into<i128>) {
        let value = value.into();
        self.unsigned(((value << 1) ^ (value >> 127)) as u128);
    }

    /// How a number of 64 bits differs from the one before.
    pub(super) fn change(&mut self, before: &mut u64, value: u64) {
        self.signed(i128::from(value) - i128::from(*before));
        *before = value;
    }
}

/// Gives numbers; `None` where there are none, too large ones, or one in more bytes than it needs.
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl ByteReader<'_> {
    pub(super) fn wide(&mut self) -> Option<u128> {
        let mut value = 0_u128;
        for shift in (0..).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let part = u128::from(byte & 0x7f);
            if shift > 126 || (shift == 126 && part > 3) || (*byte == 0 && shift > 0) {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn unsigned<T: TryFrom<u128>>(&mut self) -> Option<T> {
        T::try_from(self.wide()?).ok()
    }

    pub(super) fn signed<T: TryFrom<i128>>(&mut self) -> Option<T> {
        let value = self.wide()?;
        T::try_from((value >> 1) as i128 ^ -((value & 1) as i128)).ok()
    }

    pub(super) fn change(&mut self, before: &mut u64) -> Option<u64> {
        let value = i128::from(*before).checked_add(self.signed::<i128>()?)?;
        *before = u64::try_from(value).ok()?;
        Some(*before)
    }

    /// The length of a list of which each entry takes at least one byte.
    pub(super) fn length(&mut self) -> Option<usize> {
        self.unsigned::<usize>().filter(|length| *length <= self.0.len())
    }
}
