//! Run files: Parquet in and out, and the plain formats we read numbers from.
#![forbid(unsafe_code)]
