//! Tables of a report.

mod grid;
mod law;
mod sites;

pub(crate) use crate::wrap::width;
pub use grid::cut;
pub use grid::{Column, Row, Table};
pub use law::far_levels;
pub(crate) use law::{independence, levels, models, parameters, tests};
pub(crate) use sites::{gates, site_name, sites, targets};
