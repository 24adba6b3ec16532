//! The numbers of every figure, tables and words, and the one-file HTML page.
#![forbid(unsafe_code)]
