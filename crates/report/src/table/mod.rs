//! Tables of a report.

mod distribution;
mod grid;
mod sites;

pub(crate) use crate::wrap::width;
pub use distribution::far_levels;
pub(crate) use distribution::{independence, levels, models, parameters, tests};
pub use grid::cut;
pub use grid::{Column, Row, Table};
pub(crate) use sites::{gates, site_name, sites, targets};
