//! Opens Parquet files that anybody may have made: footer and page headers are checked before the library reads them.
//!
//! The names and numbers of fields are those of the format's definition, `parquet.thrift`; fields that are not named here
//! are skipped, by the library too.

use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, FileReader as _, SerializedFileReader};

use crate::thrift::{BINARY, BYTE, DOUBLE, I16, I32, I64, Kept, Shape, Unsound, Walk};

/// Columns, and groups of them. A run has some thirty; the library calls itself for each that lies in another.
const MOST_COLUMNS: i64 = 512;
/// Bytes of a column's name, which the library copies for each column below it.
const LONGEST_NAME: i64 = 512;
/// Bytes that are first read of a page header.
const HEADER: u64 = 4096;

const fn list(each: &'static Shape) -> Shape {
    Shape::List(each, i32::MAX as i64)
}

const EMPTY: Shape = Shape::Struct(&[]);
const TIME: Shape = Shape::Struct(&[(2, Shape::Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);
const LOGICAL_TYPE: Shape = Shape::Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Shape::Struct(&[(1, Shape::Of(I32)), (2, Shape::Of(I32))])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Shape::Struct(&[(1, Shape::Of(BYTE))])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Shape::Struct(&[(1, Shape::Of(BYTE))])),
    (17, Shape::Struct(&[(1, Shape::Of(BINARY))])),
    (18, Shape::Struct(&[(1, Shape::Of(BINARY)), (2, Shape::Of(I32))])),
    (19, EMPTY),
]);
const SCHEMA_ELEMENT: Shape = Shape::Struct(&[
    (1, Shape::Of(I32)),
    (2, Shape::Of(I32)),
    (3, Shape::Of(I32)),
    (4, Shape::AtMost(BINARY, LONGEST_NAME)),
    (5, Shape::AtMost(I32, MOST_COLUMNS)),
    (6, Shape::Of(I32)),
    (7, Shape::Of(I32)),
    (8, Shape::Of(I32)),
    (9, Shape::Of(I32)),
    (10, LOGICAL_TYPE),
]);
const STATISTICS: Shape = Shape::Struct(&[
    (1, Shape::Of(BINARY)),
    (2, Shape::Of(BINARY)),
    (3, Shape::Of(I64)),
    (4, Shape::Of(I64)),
    (5, Shape::Of(BINARY)),
    (6, Shape::Of(BINARY)),
    (9, Shape::Of(I64)),
]);
const ENCODING_STATISTICS: Shape =
    Shape::Struct(&[(1, Shape::Of(I32)), (2, Shape::Of(I32)), (3, Shape::Of(I32))]);
const SIZE_STATISTICS: Shape =
    Shape::Struct(&[(1, Shape::Of(I64)), (2, list(&Shape::Of(I64))), (3, list(&Shape::Of(I64)))]);
const BOUNDING_BOX: Shape = Shape::Struct(&[
    (1, Shape::Of(DOUBLE)),
    (2, Shape::Of(DOUBLE)),
    (3, Shape::Of(DOUBLE)),
    (4, Shape::Of(DOUBLE)),
    (5, Shape::Of(DOUBLE)),
    (6, Shape::Of(DOUBLE)),
    (7, Shape::Of(DOUBLE)),
    (8, Shape::Of(DOUBLE)),
]);
const COLUMN_META_DATA: Shape = Shape::Struct(&[
    (1, Shape::Of(I32)),
    (2, list(&Shape::Of(I32))),
    (4, Shape::Of(I32)),
    (5, Shape::Of(I64)),
    (6, Shape::Of(I64)),
    (7, Shape::Of(I64)),
    (9, Shape::Of(I64)),
    (10, Shape::Of(I64)),
    (11, Shape::Of(I64)),
    (12, STATISTICS),
    (13, list(&ENCODING_STATISTICS)),
    (14, Shape::Of(I64)),
    (15, Shape::Of(I32)),
    (16, SIZE_STATISTICS),
    (17, Shape::Struct(&[(1, BOUNDING_BOX), (2, list(&Shape::Of(I32)))])),
]);
const COLUMN_CHUNK: Shape = Shape::Struct(&[
    (1, Shape::Of(BINARY)),
    (2, Shape::Of(I64)),
    (3, COLUMN_META_DATA),
    (4, Shape::Of(I64)),
    (5, Shape::Of(I32)),
    (6, Shape::Of(I64)),
    (7, Shape::Of(I32)),
]);
const ROW_GROUP: Shape = Shape::Struct(&[
    (1, Shape::List(&COLUMN_CHUNK, MOST_COLUMNS)),
    (2, Shape::Of(I64)),
    (3, Shape::Of(I64)),
    (4, list(&Shape::Struct(&[(1, Shape::Of(I32))]))),
    (5, Shape::Of(I64)),
    (7, Shape::Of(I16)),
]);
const KEY_VALUE: Shape = Shape::Struct(&[(1, Shape::Of(BINARY)), (2, Shape::Of(BINARY))]);
const FILE_META_DATA: Shape = Shape::Struct(&[
    (1, Shape::Of(I32)),
    (2, Shape::List(&SCHEMA_ELEMENT, MOST_COLUMNS)),
    (3, Shape::Of(I64)),
    (4, list(&ROW_GROUP)),
    (5, list(&KEY_VALUE)),
    (6, Shape::Of(BINARY)),
    (7, list(&Shape::Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))),
]);

/// Places of what is kept of a page header.
const UNPACKED: usize = 0;
const PACKED: usize = 1;
const ENTRIES: usize = 2;
const PAGE_HEADER: Shape = Shape::Struct(&[
    (1, Shape::Of(I32)),
    (2, Shape::Kept(UNPACKED)),
    (3, Shape::Kept(PACKED)),
    (4, Shape::Of(I32)),
    (5, Shape::Struct(&[(1, Shape::Of(I32)), (2, Shape::Of(I32)), (3, Shape::Of(I32)), (4, Shape::Of(I32))])),
    (6, EMPTY),
    (7, Shape::Struct(&[(1, Shape::Kept(ENTRIES)), (2, Shape::Of(I32))])),
    (
        8,
        Shape::Struct(&[
            (1, Shape::Of(I32)),
            (2, Shape::Of(I32)),
            (3, Shape::Of(I32)),
            (4, Shape::Of(I32)),
            (5, Shape::Of(I32)),
            (6, Shape::Of(I32)),
        ]),
    ),
]);

/// Opens a Parquet file whose footer takes no more time and memory than its length justifies.
///
/// # Errors
/// Where the footer is not one, says what no Parquet file says, or names more data than the file has. The library may
/// panic at other damage: see [`crate::expecting_panics`].
pub fn open_parquet<R: ChunkReader + 'static>(source: R) -> Result<SerializedFileReader<R>, ParquetError> {
    let length = source.len();
    let tail = length.checked_sub(8).ok_or_else(|| damaged("the file is too short"))?;
    let tail = source.get_bytes(tail, 8)?;
    let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start =
        (length - 8).checked_sub(footer).ok_or_else(|| damaged("the footer is longer than the file"))?;
    let footer = source.get_bytes(start, footer as usize)?;
    Walk::over(&footer).structure(FILE_META_DATA).map_err(|why| unsound("the footer", why))?;
    let reader = SerializedFileReader::new(source)?;
    let columns = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    let data = columns.map(|column| u64::try_from(column.compressed_size()).unwrap_or(u64::MAX));
    if data.fold(0, u64::saturating_add) > length {
        return Err(damaged("the footer names more data than the file has"));
    }
    Ok(reader)
}

/// Checks the page headers of a column of `rows` values before the library reads them: pages lie in the column, unpack to
/// no more than it says, and its dictionary has no more entries than it has values.
///
/// # Errors
/// Where that is not so, or a page cannot be read.
pub fn check_pages(
    source: &impl ChunkReader,
    column: &ColumnChunkMetaData,
    rows: usize,
) -> Result<(), ParquetError> {
    let (mut at, length) = column.byte_range();
    let end = at.checked_add(length).filter(|end| *end <= source.len());
    let end = end.ok_or_else(|| damaged("a column lies beyond the end of the file"))?;
    let mut unpacked = 0_i64;
    while at < end {
        let (header, kept) = page_header(source, at, end)?;
        at += header;
        let size =
            |place: usize| kept[place].filter(|size| *size >= 0).ok_or_else(|| damaged("a page has no size"));
        unpacked += i64::from(size(UNPACKED)?);
        if unpacked > column.uncompressed_size() {
            return Err(damaged("the pages of a column unpack to more than it says"));
        }
        if let Some(entries) =
            kept[ENTRIES].filter(|entries| usize::try_from(*entries).is_ok_and(|n| n > rows))
        {
            return Err(damaged(&format!("a dictionary of {entries} entries for {rows} values")));
        }
        at += u64::from(size(PACKED)?.cast_unsigned());
    }
    if at > end {
        return Err(damaged("a page is longer than its column"));
    }
    Ok(())
}

/// The length of the page header at `at`, and what is kept of it.
fn page_header(source: &impl ChunkReader, at: u64, end: u64) -> Result<(u64, Kept), ParquetError> {
    let mut length = HEADER.min(end - at);
    loop {
        let bytes = source.get_bytes(at, length as usize)?;
        let mut walk = Walk::over(&bytes);
        match walk.structure(PAGE_HEADER) {
            Ok(header) => return Ok((header as u64, walk.kept)),
            Err(Unsound::Ends) if length < end - at => length = (2 * length).min(end - at),
            Err(why) => return Err(unsound("a page header", why)),
        }
    }
}

fn unsound(what: &str, why: Unsound) -> ParquetError {
    match why {
        Unsound::Ends => damaged(&format!("{what} ends within a value")),
        Unsound::Says(what_not) => damaged(&format!("{what} has {what_not}")),
    }
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}
