//! HTML pages: one file each that opens without a network.

mod document;
mod light;
mod parts;
mod points;
mod run;

pub(crate) use document::{Document, Tile, VerdictCard};
pub(crate) use run::{of_report, tiles};
