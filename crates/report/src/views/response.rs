//! Response times: from the moment when a request was due.
//!
//! Under `rate` an operation is due at a given moment. Where the one before it is still under way it
//! begins late, and whoever asked for it waits for both: the response time. Service times alone hide a
//! pause in one sample (coordinated omission, Tene 2013).

use samples::{Run, Sample};

use crate::figures::curve::{Curve, Curves, above};
use crate::figures::{Figure, Numbers, draw};
use crate::summary::Summary;
use crate::unit::{Unit, duration, rounded};
use crate::{Chapter, Table};

/// Service and response time of every site that ran under `rate`; none where nothing was late.
pub(super) fn chapter(run: &Run) -> Option<Chapter> {
    let mut late: Vec<bool> = vec![false; run.sites.len()];
    for sample in run.samples.iter().filter(|sample| sample.late_ns > 0) {
        if let Some(late) = late.get_mut(sample.site as usize) {
            *late = true;
        }
    }
    let mut table = Table::new(
        "Response time and service time",
        &["<what", "<time", "n", "mean", "median", "p99", "p99.9", "max"],
    );
    let mut figures = Vec::new();
    for site in (0..run.sites.len()).filter(|site| late[*site]) {
        let of = |time: fn(&Sample) -> f64| -> Vec<f64> {
            run.of_site(site as u32).filter(|sample| !sample.failed()).map(time).collect()
        };
        let service = of(Sample::seconds_each);
        let response = of(Sample::response_seconds_each);
        let (Some(of_service), Some(of_response)) = (Summary::of(&service), Summary::of(&response)) else {
            continue;
        };
        let name = run.sites[site].name();
        for (index, (kind, summary)) in
            [("service", &of_service), ("response", &of_response)].iter().enumerate()
        {
            let optional = |value: Option<f64>| value.map_or("–".into(), duration);
            table.push(
                index == 1,
                [
                    if index == 0 { name.clone() } else { String::new() },
                    (*kind).into(),
                    samples::units::count(summary.n as u64),
                    duration(summary.mean),
                    duration(summary.median),
                    optional(summary.p99),
                    optional(summary.p999),
                    duration(summary.max),
                ],
            );
        }
        if figures.len() < 8 {
            figures.push(figure(site, &name, service, response));
        }
    }
    table.note =
        "Response: from the moment when `rate` meant it to begin; service: from its real start.".into();
    (!figures.is_empty()).then(|| {
        Chapter::new(
            "response",
            "Response time",
            "What a user waits for who asks at a steady pace: the delay of the start and the operation itself.",
        )
        .with(figures, [table])
    })
}

fn figure(site: usize, name: &str, service: Vec<f64>, response: Vec<f64>) -> Figure {
    let n = service.len();
    let slow = |values: &[f64], limit: f64| values.iter().filter(|value| **value > limit).count();
    // Where the two diverge: ten times what nearly all services take.
    let mut sorted = service.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let limit = 10.0 * crate::quantile(&sorted, 0.5);
    let (of_service, of_response) = (slow(&service, limit), slow(&response, limit));
    let curves: Vec<Curve> = [("service", service), ("response", response)]
        .into_iter()
        .map(|(name, values)| {
            let (x, y) = above(values);
            Curve { name: name.into(), x, y }
        })
        .collect();
    let unit = Unit::of_duration(limit / 10.0);
    let hover = format!("%{{y:.3g}} take longer than %{{x}} {}<extra></extra>", unit.name);
    let traces = curves
        .iter()
        .map(|curve| {
            let colour = if curve.name == "service" { draw::DATA } else { draw::DISTRIBUTION };
            let y = curve.y.iter().map(|y| rounded(*y)).collect();
            draw::line(&curve.name, unit.scale_all(&curve.x), y, (colour, "solid"), &hover)
        })
        .collect();
    let title = format!("Response and service time: {name}");
    let mut x = draw::axis(&unit.axis("time"));
    if curves.iter().all(|curve| curve.x.first().is_some_and(|first| *first > 0.0)) {
        x["type"] = serde_json::json!("log");
    }
    Figure {
        id: format!("response-{site}"),
        caption: format!(
            "Lines part: requests waited for others. Of {n}, {of_service} took more than {} once begun, but {of_response} from when due.",
            duration(limit)
        ),
        alternative: format!(
            "Share of {n} requests that take longer: {of_service} services and {of_response} responses above {}.",
            duration(limit)
        ),
        wide: false,
        plot: draw::figure(&title, traces, x, draw::axis_with("share that takes longer", draw::shares())),
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}
