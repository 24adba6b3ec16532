//! The one reader of files that others made: it recognises a format and gives its numbers with their unit.
//!
//! By content, then by name: packed text and UTF-16 are unpacked, JSON is read by the paths of its format, Parquet by its
//! columns, and text as what its first lines show: a format of the table in `formats.rs`, lines that name their numbers,
//! or a table with or without a header. What is ambiguous is an error that asks, never a guess.
//!
//! ```
//! # use intake::{Wanted, read_from};
//! let text = "node,write_ms\na,1.5\nb,\nb,2.25\n";
//! let wanted = Wanted { drop_missing: true, ..Wanted::column(Some("write_ms")) };
//! let taken = read_from(text.as_bytes(), "t.csv", &wanted).unwrap();
//! assert_eq!(taken.values, [1.5, 2.25]);
//! assert_eq!(taken.told.unwrap(), "table: write_ms in ms, 2 of 3 rows (1 without a value left out)");
//! ```
#![forbid(unsafe_code)]

mod array;
mod bins;
mod bpf;
mod calls;
mod dates;
mod documents;
mod elbencho;
mod error;
mod fio_bins;
mod format;
mod formats;
mod gather;
mod hdr;
mod histogram;
mod json;
mod lines;
mod metrics;
mod page;
mod pairs;
mod parquet;
mod plain;
mod read;
mod reports;
mod row;
mod source;
mod split;
mod table;
mod text;
mod unit;
mod value;
mod wanted;

pub use dates::{days, moment};
pub use error::{Error, LineError};
pub use gather::Taken;
pub use histogram::{Bin, Histogram};
pub use lines::NumberLines;
pub use page::page;
pub use read::{read, read_from};
pub use unit::Unit;
pub use wanted::{Filter, Wanted};
