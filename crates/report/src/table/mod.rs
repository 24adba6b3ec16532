//! Tables of a report.

mod grid;
mod law;
mod sites;

pub use grid::{Column, Row, Table};
pub(crate) use grid::{cut, width, wrapped};
pub use law::far_levels;
pub(crate) use law::{independence, levels, models, parameters, tests};
pub(crate) use sites::{gates, site_name, sites, targets};
