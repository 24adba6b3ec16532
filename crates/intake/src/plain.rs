//! Rows of large tables, without a look at more than a number needs: the reader takes them where nothing else is in a line.

use crate::Unit;
use crate::format::{Column, Format, Take};
use crate::split::Separator;
use crate::table::{Table, is_sum};

/// The longest number that is read here.
const LONGEST: usize = 40;

impl Table {
    /// Whether its rows may be read by [`Table::plain`].
    pub fn is_plain(&self) -> bool {
        let is_begun = self.titles_ahead == 0 && !self.header_ahead && !self.fresh;
        let is_alone = self.series.is_none()
            && self.beside.is_none()
            && self.conditions.is_empty()
            && self.failed.is_none();
        let has_points = self.signs.decimal == '.' && self.signs.thousands.is_none();
        let is_split = match self.split.separator {
            Separator::Sign(sign) => sign != b'|',
            Separator::None => self.fields == 1,
            Separator::Blanks | Separator::Places => false,
        };
        is_begun && is_alone && has_points && is_split
    }

    /// The unit of such rows.
    pub fn plain_unit(&self) -> Option<Unit> {
        match self.format {
            Some(Format { take: Take::Column(Column { unit, .. }), .. }) => unit.of_series(""),
            _ => self.unit,
        }
    }

    /// The finite number of a line without quotes and other signs than those of ASCII, that begins as a row does, has as
    /// many fields as the others, and is no sum; any other line is read by [`Table::row`].
    pub fn plain(&self, line: &[u8]) -> Option<f64> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let first = *line.first()?;
        if !first.is_ascii_alphanumeric() && !matches!(first, b'+' | b'-' | b'.') {
            return None;
        }
        let field = match self.split.separator {
            Separator::Sign(sign) => self.field_of(line, sign)?,
            _ => line,
        };
        if field.len() > LONGEST {
            return None;
        }
        std::str::from_utf8(field.trim_ascii()).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn field_of<'a>(&self, line: &'a [u8], sign: u8) -> Option<&'a [u8]> {
        let (mut at, mut from, mut found, mut first) = (0, 0, None, line.len());
        let mut is_plain = true;
        for (place, &byte) in line.iter().enumerate() {
            is_plain &= byte != b'"' && byte < 0x80;
            if byte == sign {
                if at == 0 {
                    first = place;
                }
                if at == self.value {
                    found = Some(&line[from..place]);
                }
                (at, from) = (at + 1, place + 1);
            }
        }
        if at == self.value {
            found = Some(&line[from..]);
        }
        let may_sum = self.value > 0 && line[0].is_ascii_alphabetic();
        let sums_up = may_sum && std::str::from_utf8(&line[..first]).is_ok_and(|field| is_sum(field.trim()));
        found.filter(|_| is_plain && at + 1 == self.fields && !sums_up)
    }
}
