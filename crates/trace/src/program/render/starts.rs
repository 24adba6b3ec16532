//! When statements start, in a program that starts each call when it did.

use super::{Renderer, Verb};
use crate::columns::Indices;
use crate::fold::Site;
use crate::packed::Packed;
use crate::pauses::{Pause, Start};
use crate::program::expressions::{Expression, Place};
use crate::statements::Shape;

/// Of so many executions of a statement one may come after a pause, where the statement has no time of its own.
const FOLLOWING: usize = 20;

impl Renderer<'_> {
    /// When a statement starts, if it is to start when its call did.
    pub(super) fn start(&mut self, shape: &Shape, site: &Site, indices: &Indices<'_>) -> Expression {
        if !self.shared.open_loop || matches!(shape.verb, Verb::Make | Verb::Signal | Verb::Await) {
            return Expression::default();
        }
        if !std::mem::take(&mut self.anchors) && follows(site) {
            return Expression::default();
        }
        let starts: Packed = site.gaps.iter().map(|start| Start::of(start).us).collect();
        let place = Place { indices, counters: &self.counters, scaled: self.in_scaled };
        let mut start = self.heads.number(&starts, &place, "start");
        start.text = match start.text.parse::<i64>() {
            Ok(constant) => format!("at $begin + {constant}us * $pace "),
            Err(_) => format!("at $begin + ({}) * 1us * $pace ", start.text),
        };
        start
    }
}

/// Whether nearly all executions followed what was done before at once, and none came long after it.
fn follows(site: &Site) -> bool {
    let pauses = |wanted: Pause| site.gaps.iter().filter(|start| Start::of(*start).pause == wanted).count();
    pauses(Pause::Long) == 0 && pauses(Pause::Short) * FOLLOWING <= site.gaps.len()
}
