//! An array of NumPy (`.npy`), of one dimension, or a column of one of two.
//!
//! The layout: NEP 1 and the description of `numpy.lib.format`, versions 1 to 3.

use std::io::Read;

use crate::error::{LineError, refuse_columns};
use crate::gather::{Gather, Taken};
use crate::pairs::place;
use crate::row::{Fate, Row};
use crate::value::Value;
use crate::{Error, Wanted};

/// How such a file begins; the number of its version follows.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes of the longest header: its own library refuses longer ones unless told otherwise.
const LONGEST_HEADER: u32 = 10_000;

/// A kind of numbers.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Float,
    Signed,
    Unsigned,
}

/// What the header says.
#[derive(Clone, Copy, Debug)]
struct Header {
    kind: Kind,
    bytes: usize,
    is_big: bool,
    rows: u64,
    columns: u64,
    /// One column after another.
    by_column: bool,
}

/// The numbers of an array.
pub(crate) fn read(mut reader: impl Read, name: &str, wanted: &Wanted) -> Result<Taken, Error> {
    let table = |what: String| Error::Table { name: name.into(), what };
    refuse_columns(wanted, name)?;
    let header = header(&mut reader).map_err(|what| table(format!("it is an array of NumPy {what}")))?;
    let column = match &wanted.column {
        None if header.columns == 1 => 0,
        None => {
            let all = header.columns;
            return Err(table(format!("it is an array of {all} columns: choose one by position, from 1")));
        }
        Some(column) => {
            usize::try_from(header.columns).ok().and_then(|all| place(column, all)).ok_or_else(|| {
                table(format!(
                    "it is an array, whose columns have no names: `{column}` is none of 1 to {}",
                    header.columns
                ))
            })? as u64
        }
    };
    let mut gather = Gather::new(wanted, false, None);
    let mut reader = std::io::BufReader::with_capacity(1 << 16, reader);
    let mut bytes = [0; 8];
    let total = header.rows.saturating_mul(header.columns);
    for at in 0..total {
        let bytes = &mut bytes[..header.bytes];
        reader.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                table(format!("it is an array of {total} numbers and ends after {at}"))
            }
            _ => Error::io(name, error),
        })?;
        let in_column = if header.by_column { at / header.rows } else { at % header.columns };
        if in_column != column {
            continue;
        }
        let number = header.number(bytes);
        let text = number.to_string();
        let value = match number {
            n if n.is_nan() => Value::Missing,
            n if n.is_infinite() => Value::Wrong("is infinite"),
            n => Value::Number(n, None),
        };
        let row = Row { text: &text, value, fate: Fate::Taken, ..Row::number("", 0.0, None) };
        gather.push(&row).map_err(|error: LineError| table(format!("number {}: {error}", at + 1)))?;
    }
    gather.finish(Some("NumPy array"), "").map_err(table)
}

fn header(reader: &mut impl Read) -> Result<Header, String> {
    let mut exactly =
        |bytes: &mut [u8]| reader.read_exact(bytes).map_err(|_| "and ends in its header".to_owned());
    let mut begin = [0; 8];
    exactly(&mut begin)?;
    let length = match begin[6] {
        1 => {
            let mut length = [0; 2];
            exactly(&mut length)?;
            u32::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0; 4];
            exactly(&mut length)?;
            u32::from_le_bytes(length)
        }
        version => return Err(format!("of version {version}, which is not read here")),
    };
    if length > LONGEST_HEADER {
        return Err("with a header of more than 10,000 bytes".into());
    }
    let mut text = vec![0; length as usize];
    exactly(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let after = |key: &str| {
        let at = text.find(&format!("'{key}':"))? + key.len() + 3;
        Some(text[at..].trim_start())
    };
    let quoted = after("descr").and_then(|rest| rest.strip_prefix('\''));
    let Some((kind, _)) = quoted.and_then(|rest| rest.split_once('\'')) else {
        return Err("of records: save one field of it, as numpy.save('FILE.npy', array['FIELD'])".into());
    };
    let (order, of) = kind.split_at_checked(1).unwrap_or_default();
    let (kind, bytes) = match of {
        "f4" => (Kind::Float, 4),
        "f8" => (Kind::Float, 8),
        "i1" => (Kind::Signed, 1),
        "i2" => (Kind::Signed, 2),
        "i4" => (Kind::Signed, 4),
        "i8" => (Kind::Signed, 8),
        "u1" => (Kind::Unsigned, 1),
        "u2" => (Kind::Unsigned, 2),
        "u4" => (Kind::Unsigned, 4),
        "u8" => (Kind::Unsigned, 8),
        _ => {
            return Err(format!(
                "of {}: save it as numpy.save('FILE.npy', array.astype('f8'))",
                crate::error::shown(kind)
            ));
        }
    };
    let shape = after("shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
    let shape = shape.map(|(shape, _)| shape.split(',').map(str::trim).filter(|part| !part.is_empty()));
    let shape: Option<Vec<u64>> = shape.and_then(|parts| parts.map(|part| part.parse().ok()).collect());
    let (rows, columns) = match shape.as_deref() {
        Some(&[rows]) => (rows, 1),
        Some(&[rows, columns]) if columns > 0 => (rows, columns),
        _ => return Err("of another shape than one list of numbers or one table".into()),
    };
    let by_column = after("fortran_order").is_some_and(|rest| rest.starts_with("True")) && rows > 0;
    Ok(Header { kind, bytes, is_big: order == ">", rows, columns, by_column })
}

impl Header {
    fn number(&self, bytes: &[u8]) -> f64 {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        if self.is_big {
            wide[..bytes.len()].reverse();
        }
        let whole = u64::from_le_bytes(wide);
        let unused = 64 - 8 * bytes.len() as u32;
        match (self.kind, bytes.len()) {
            (Kind::Float, 4) => f64::from(f32::from_bits(whole as u32)),
            (Kind::Float, _) => f64::from_bits(whole),
            (Kind::Signed, _) => ((whole << unused) as i64 >> unused) as f64,
            (Kind::Unsigned, _) => whole as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    }

    fn values(bytes: &[u8], column: Option<&str>) -> Result<Vec<f64>, String> {
        let taken =
            crate::read_from(bytes, "a.npy", &Wanted::column(column)).map_err(|error| error.to_string())?;
        Ok(taken.values)
    }

    #[test]
    fn numbers_of_each_kind_are_read() {
        let doubles: Vec<u8> = [1.5_f64, -2.5, 3.0].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(values(&file("<f8", "False", "(3,)", &doubles), None).unwrap(), [1.5, -2.5, 3.0]);
        let big: Vec<u8> = [1.5_f32, -2.5].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert_eq!(values(&file(">f4", "False", "(2,)", &big), None).unwrap(), [1.5, -2.5]);
        let shorts: Vec<u8> = [-2_i16, 300].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(values(&file("<i2", "False", "(2, 1)", &shorts), None).unwrap(), [-2.0, 300.0]);
        assert_eq!(values(&file("|u1", "False", "(2,)", &[7, 255]), None).unwrap(), [7.0, 255.0]);
        let table: Vec<u8> = [1_u32, 2, 3, 4, 5, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(values(&file("<u4", "False", "(3, 2)", &table), Some("2")).unwrap(), [2.0, 4.0, 6.0]);
        assert_eq!(values(&file("<u4", "True", "(3, 2)", &table), Some("#2")).unwrap(), [4.0, 5.0, 6.0]);
        assert!(
            values(&file("<u4", "False", "(3, 2)", &table), None)
                .unwrap_err()
                .contains("2 columns: choose one")
        );
    }

    #[test]
    fn other_arrays_and_damaged_ones_are_refused() {
        let of = |descr, shape| values(&file(descr, "False", shape, &[0; 24]), None).unwrap_err();
        assert!(of("<c16", "(1,)").contains("astype('f8')"));
        assert!(of("<f8", "(1, 1, 3)").contains("another shape"));
        assert!(of("<f8", "()").contains("another shape"));
        assert!(of("<f8", "(4,)").contains("of 4 numbers and ends after 3"));
        assert!(of("<f8", "(18446744073709551615, 9)").contains("9 columns"));
        let nan: Vec<u8> = [1.5, f64::NAN].iter().flat_map(|n: &f64| n.to_le_bytes()).collect();
        assert!(values(&file("<f8", "False", "(2,)", &nan), None).unwrap_err().contains("--missing drop"));
        let whole = file("<f8", "False", "(3,)", &[0; 24]);
        for end in 0..whole.len() {
            assert!(values(&whole[..end], None).is_err(), "{end}");
        }
    }
}
