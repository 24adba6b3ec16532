//! What of a file is wanted: a column or series, and which of its rows.

use std::cmp::Ordering;

/// The choice among the numbers of a file. The default takes the only column there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// A column by name, else by place (`#2`, or `2` where no column has that name); of a format that holds several
    /// series, the name of one; of JSON a path such as `requests.latency`.
    pub column: Option<String>,
    /// Conditions that a row must meet, all of them.
    pub filters: Vec<Filter>,
    /// Leaves out missing values, which are refused otherwise.
    pub drop_missing: bool,
    /// The sign before the fraction.
    pub decimal: char,
    /// The sign between groups of three digits, where there is one.
    pub thousands: Option<char>,
    /// Lines before the table.
    pub skip: usize,
    /// Takes what failed too, where a format says what did.
    pub failed: bool,
    /// Whether the first line names the columns; decided by what the lines hold where it is not said.
    pub header: Option<bool>,
    /// Another column, whose texts are given for the same rows.
    pub beside: Option<String>,
    /// Without [`Wanted::beside`]: the only column of a table that holds dates, taken in its place.
    pub dates: bool,
    /// Takes lines of one number and nothing else too, though they name no column.
    pub bare: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted {
            column: None,
            filters: Vec::new(),
            drop_missing: false,
            decimal: '.',
            thousands: None,
            skip: 0,
            failed: false,
            header: None,
            beside: None,
            dates: false,
            bare: false,
        }
    }
}

impl Wanted {
    /// A column, and all of its rows.
    pub fn column(column: Option<&str>) -> Wanted {
        Wanted { column: column.map(Into::into), ..Wanted::default() }
    }
}

/// A condition about a column: `status=200`, `node!=a`, `load>0.5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The column.
    pub column: String,
    pub(crate) how: How,
    /// What its fields are compared with.
    pub value: String,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

const SIGNS: [(&str, How); 6] = [
    ("!=", How::Unequal),
    (">=", How::AtLeast),
    ("<=", How::AtMost),
    ("=", How::Equal),
    (">", How::Above),
    ("<", How::Below),
];

impl How {
    /// Whether it leaves out all above a value.
    pub(crate) fn has_upper_end(self) -> bool {
        matches!(self, How::Below | How::AtMost)
    }

    /// As it is written.
    pub(crate) fn sign(self) -> &'static str {
        SIGNS.iter().find(|(_, how)| *how == self).map_or("", |(sign, _)| sign)
    }
}

impl std::str::FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Filter, String> {
        let at = text.find(['!', '=', '<', '>']).filter(|at| *at > 0);
        let found =
            at.and_then(|at| SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign)).map(|s| (at, s)));
        let (at, (sign, how)) = found
            .ok_or_else(|| format!("`{text}`: a column and its value, such as status=200 or load>0.5"))?;
        let (column, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        Ok(Filter { column: column.into(), how: *how, value: value.into() })
    }
}

impl Filter {
    /// Whether a field meets it: as numbers where both are, else as texts.
    pub fn meets(&self, field: &str) -> bool {
        compare(field, self.how, &self.value)
    }
}

pub(crate) fn compare(field: &str, how: How, value: &str) -> bool {
    let order = match (field.parse::<f64>(), value.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.partial_cmp(&b),
        // A number stands in no order with a text.
        (Ok(_), Err(_)) | (Err(_), Ok(_)) if !matches!(how, How::Equal | How::Unequal) => None,
        _ => Some(field.cmp(value)),
    };
    match how {
        How::Equal => order == Some(Ordering::Equal),
        How::Unequal => order != Some(Ordering::Equal),
        How::Below => order == Some(Ordering::Less),
        How::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        How::Above => order == Some(Ordering::Greater),
        How::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_numbers_and_texts() {
        let meets = |text: &str, field: &str| text.parse::<Filter>().expect("a condition").meets(field);
        assert!(meets("status=200", "200.0") && !meets("status!=200", "200"));
        assert!(meets("load>9", "10") && !meets("load>9", "9") && meets("load >= 9", "9"));
        assert!(meets("day<2026-02-01", "2026-01-31") && !meets("day<2026-02-01", "2026-02-01"));
        assert!(!meets("load>9", "n/a") && !meets("load<9", "n/a") && meets("load!=9", "n/a"));
        for wrong in ["status", "=3", "", "!x"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }
}
