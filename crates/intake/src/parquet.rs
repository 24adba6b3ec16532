//! Columns of a Parquet file of any tool.

use std::fs::File;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::record::Field;
use parquet::schema::types::Type;

use crate::error::{LineError, listed};
use crate::gather::{Gather, Taken};
use crate::pairs::place;
use crate::row::{Fate, Row};
use crate::value::{self, Value};
use crate::{Error, Unit, Wanted};

/// The numbers of a column.
pub(crate) fn read(path: &Path, wanted: &Wanted) -> Result<Taken, Error> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|cause| Error::io(&name, cause))?;
    match store::expecting_panics(|| of_file(file, wanted)) {
        Ok(Ok(taken)) => Ok(taken),
        Ok(Err(what)) => Err(Error::Table { name, what }),
        Err(_) => Err(Error::Table { name, what: "it is Parquet and damaged".into() }),
    }
}

fn of_file(file: File, wanted: &Wanted) -> Result<Taken, String> {
    let damaged = |error: ParquetError| match error {
        // The library says so of a codec that it was built without.
        ParquetError::General(what) | ParquetError::NYI(what) if what.contains("feature") => {
            "its columns are packed by a codec that is not read here: write it with compression=\"snappy\""
                .into()
        }
        error => format!("it is Parquet and damaged: {error}"),
    };
    let pages = file.try_clone().map_err(|error| error.to_string())?;
    let reader = store::open_parquet(file).map_err(damaged)?;
    let schema = reader.metadata().file_metadata().schema().clone();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    let find = |wanted: &str| {
        let at = names.iter().position(|name| *name == wanted).or_else(|| place(wanted, names.len()));
        at.ok_or_else(|| {
            format!("it has no column `{wanted}`; its columns are {}", listed(names.iter().copied()))
        })
    };
    let column = match (&wanted.column, &names[..]) {
        (Some(column), _) => find(column)?,
        (None, [_]) => 0,
        (None, _) => return Err(format!("choose one of its columns: {}", listed(names.iter().copied()))),
    };
    let mut places = vec![column];
    for other in wanted.filters.iter().map(|filter| &filter.column).chain(&wanted.beside) {
        places.push(find(other)?);
    }
    // The library gives columns in the order of the file.
    let mut in_order = places.clone();
    in_order.sort_unstable();
    in_order.dedup();
    let fields = in_order.iter().map(|at| schema.get_fields()[*at].clone()).collect();
    let part = Type::group_type_builder(schema.name()).with_fields(fields).build().map_err(damaged)?;
    for group in reader.metadata().row_groups() {
        let rows = usize::try_from(group.num_rows()).map_err(|_| "it is Parquet and damaged".to_owned())?;
        for leaf in group.columns() {
            if in_order.iter().any(|at| names[*at] == leaf.column_path().parts()[0]) {
                store::check_pages(&pages, leaf, rows).map_err(damaged)?;
            }
        }
    }
    let rows = reader.get_row_iter(Some(part)).map_err(damaged)?;
    let mut gather = Gather::new(wanted, false, None);
    let unit = Unit::of_name(names[column]);
    let within = |place: usize| in_order.iter().position(|at| *at == place).unwrap_or_default();
    let (value, others): (usize, Vec<usize>) =
        (within(column), places[1..].iter().map(|at| within(*at)).collect());
    for row in rows {
        let row = row.map_err(damaged)?;
        let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
        push(&fields, (value, &others), unit, &mut gather, wanted).map_err(|error| error.to_string())?;
    }
    gather.finish(Some("Parquet"), names[column])
}

fn push(
    fields: &[&Field],
    (value, others): (usize, &[usize]),
    unit: Option<Unit>,
    gather: &mut Gather,
    wanted: &Wanted,
) -> Result<(), LineError> {
    let text = shown(fields[value]);
    let beside =
        wanted.beside.as_ref().and_then(|_| others.last()).map(|at| shown(fields[*at])).unwrap_or_default();
    let meets = wanted.filters.iter().zip(others).all(|(filter, at)| filter.meets(&shown(fields[*at])));
    let value = number(fields[value]).unwrap_or_else(|| value::read(&text, '.'));
    let fate = if meets { Fate::Taken } else { Fate::Filtered };
    gather.push(&Row { series: "", value, text: &text, unit, beside: &beside, fate, sums_up: false })
}

/// A number as such; none of what is a text.
fn number(field: &Field) -> Option<Value> {
    let number = match field {
        Field::Null => return Some(Value::Missing),
        Field::Byte(n) => f64::from(*n),
        Field::Short(n) => f64::from(*n),
        Field::Int(n) => f64::from(*n),
        Field::Long(n) => *n as f64,
        Field::UByte(n) => f64::from(*n),
        Field::UShort(n) => f64::from(*n),
        Field::UInt(n) => f64::from(*n),
        Field::ULong(n) => *n as f64,
        Field::Float(n) => f64::from(*n),
        Field::Double(n) => *n,
        _ => return None,
    };
    Some(match number {
        n if n.is_nan() => Value::Missing,
        n if n.is_infinite() => Value::Wrong("is infinite"),
        n => Value::Number(n, None),
    })
}

fn shown(field: &Field) -> String {
    match field {
        Field::Str(text) => text.clone(),
        Field::Null => String::new(),
        other => other.to_string(),
    }
}
