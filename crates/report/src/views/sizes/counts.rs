//! Operations by a number that is no size, such as a queue depth.

use samples::Run;
use serde_json::{Value, json};

use super::axis::{MOST_LINES, SECONDS, colour, measured, size_axis, times_axis};
use super::numbers::{SizeCurve, Sizes};
use super::overlay::overlays;
use super::tables::of_family;
use crate::Chapter;
use crate::figures::{Figure, Numbers, draw, in_short, slug};
use crate::screen::number::time;
use crate::unit::{rounded, significant};
use crate::views::family::SizeFamily;
use crate::views::place::Place;

pub(super) fn chapter(run: &Run, places: &[Place], families: &[&SizeFamily], name: &str) -> Chapter {
    let mut chapter = Chapter::new(
        &format!("by-{}", slug(name)),
        &format!("By {name}"),
        "What more of it buys, and what it costs every single operation.",
    );
    let numbers: Vec<SizeCurve> =
        families.iter().take(MOST_LINES).map(|family| SizeCurve::of(family, places)).collect();
    let unit = SECONDS;
    let sizes: Vec<f64> = numbers.iter().flat_map(|family| family.size.iter().copied()).collect();
    let mut traces: Vec<Value> = Vec::new();
    for (index, family) in numbers.iter().enumerate() {
        traces.push(measured(family, index, unit));
        let p99: Option<Vec<f64>> = family.p99.iter().copied().collect();
        if let Some(p99) = p99 {
            let name = format!("{} p99", family.name);
            traces.push(draw::line(
                &name,
                family.size.clone(),
                unit.scale_all(&p99),
                (colour(index), "dash"),
                "p99%{y:.4s}s<extra></extra>",
            ));
        }
    }
    let title = format!("Time of one operation by {name}");
    let ends = |of: &dyn Fn(&SizeCurve, usize) -> String| -> Vec<String> {
        numbers
            .iter()
            .map(|family| {
                let last = family.size.len() - 1;
                format!("{} from {} to {}", family.name, of(family, 0), of(family, last))
            })
            .collect()
    };
    let found = ends(&|family, at| time(family.median[at]));
    let all = found.join("; ");
    chapter.brief = format!("Medians by {name}: {all}.");
    chapter.figures.push(Figure {
        id: format!("time-by-{}", slug(name)),
        caption: format!(
            "Rising: operations wait for each other. Medians: {found}.",
            found = in_short(&found, 64)
        ),
        alternative: format!("Median time against {name}: {all}."),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            size_axis(name, &sizes, false),
            draw::axis_with("median time", times_axis(&numbers)),
        ),
        title,
        numbers: Numbers::new("sizes", Sizes { families: numbers.clone(), caches: Vec::new() }),
    });
    let title = format!("Operations a second by {name}");
    let traces = numbers
        .iter()
        .enumerate()
        .map(|(index, family)| {
            let y = family.rate.iter().map(|rate| rounded(*rate)).collect();
            let mut line = draw::line(
                &family.name,
                family.size.clone(),
                y,
                (colour(index), "solid"),
                "%{x}: %{y:.4g}/s<extra></extra>",
            );
            line["mode"] = json!("lines+markers");
            line
        })
        .collect();
    let found = ends(&|family, at| format!("{}/s", significant(family.rate[at], 3)));
    chapter.figures.push(Figure {
        id: format!("rate-by-{}", slug(name)),
        caption: format!("Level: the device or processor is full. {found}.", found = in_short(&found, 78)),
        alternative: format!("Operations a second against {name}: {}.", found.join("; ")),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            size_axis(name, &sizes, false),
            draw::axis_with("operations a second", json!({"type": "log"})),
        ),
        title,
        numbers: Numbers::new("sizes", Sizes { families: numbers, caches: Vec::new() }),
    });
    chapter.figures.extend(overlays(run, places, families));
    chapter.tables.extend(families.iter().map(|family| of_family(run, places, family)));
    chapter
}
