//! The page of formats, made from the table.

use crate::format::{Format, Take, UnitOf};
use crate::formats;

/// `docs/formats.md`: what is read, and what is refused with which way out.
pub fn page() -> String {
    let mut page = BEGINNING.to_owned();
    page += "\n## Formats that are read\n\n| format | made by | values | left out |\n|---|---|---|---|\n";
    for format in formats::all() {
        if let Some((values, failed)) = told(format) {
            page += &format!("| {} | `{}` | {values} | {failed} |\n", format.name, format.made_by);
        }
    }
    page += "\nWhat failed is left out, and how many rows did is said; `--failed` keeps them.\n";
    page += BINNED;
    page += "\n| format | made by | bins | what keeps the values |\n|---|---|---|---|\n";
    for format in formats::all() {
        let (what, out) = match &format.take {
            Take::Bins(bins) => (bins.what, bins.out),
            Take::JsonBins(bins) => (bins.what, bins.out),
            _ => continue,
        };
        page += &format!("| {} | `{}` | {what} | {out} |\n", format.name, format.made_by);
    }
    page += "\n## Formats without single values\n\nA distribution is fitted to single values. These files hold summaries:\n\n";
    page += "| format | made by | way out |\n|---|---|---|\n";
    for format in formats::all() {
        if let Take::Refused(why) = format.take {
            page += &format!("| {} | `{}` | {why} |\n", format.name, format.made_by);
        }
    }
    page
}

const BEGINNING: &str = include_str!("page.md");

const BINNED: &str = include_str!("binned.md");

fn told(format: &Format) -> Option<(String, String)> {
    let unit = |unit: UnitOf| match unit {
        UnitOf::Fixed(unit) => format!(" ({})", unit.symbol()),
        UnitOf::Series(_) => " (times in ms)".into(),
        UnitOf::Field(path) => format!(" (unit: `{path}`)"),
        UnitOf::Other(unit) => format!(" ({unit})"),
    };
    let series = |by: &str, default: Option<&str>| match default {
        Some(default) => format!("; series by `{by}`, `{default}` where none is chosen"),
        None => format!("; series by `{by}`"),
    };
    Some(match &format.take {
        Take::Column(column) => {
            let by = column.series.map_or(String::new(), |by| series(by, column.default));
            let failed: Vec<String> = column
                .failed
                .iter()
                .map(|(name, how, value)| format!("`{name}{}{value}`", how.sign()))
                .collect();
            (format!("column `{}`{}{by}", column.value, unit(column.unit)), failed.join(", "))
        }
        Take::Json(json) => {
            let path =
                [json.each, json.values].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
            let per = json.per.map_or(String::new(), |per| format!(" divided by `{per}`"));
            let by = match json.series {
                [] => String::new(),
                by => series(&by.join(" "), json.default),
            };
            let failed = json.failed.map_or(String::new(), |(name, how, value)| match value {
                "" => format!("`{name}` is not empty"),
                _ => format!("`{name}{}{value}`", how.sign()),
            });
            (format!("`{}`{per}{}{by}", path.join("."), unit(json.unit)), failed)
        }
        Take::Lines(lines) => (lines.what.into(), String::new()),
        Take::Sections(sections) => (sections.what.into(), String::new()),
        Take::JsonRows(rows) => (rows.what.into(), String::new()),
        Take::Bins(_) | Take::JsonBins(_) | Take::Refused(_) => return None,
    })
}
