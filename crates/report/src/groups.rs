//! Groups of values, such as nodes, against each other: an answer and a table.

use samples::units::count;
use tail::groups::{Group, GroupFinding, Groups};

use crate::screen::number::{three, time, times};
use crate::table::Table;
use crate::text::sentence;
use crate::unit::{Unit, probability};

/// Groups that the answer names.
const MOST_NAMED: usize = 5;

/// Rows of the table on a first screen.
const MOST_ROWS: usize = 12;

/// Which groups are slow, in a sentence or two; `by` is what they are groups of: `node`.
pub fn groups_answer(found: &Groups, by: &str) -> String {
    let tested = found.groups.iter().filter(|group| group.p.is_some()).count();
    let of = |finding: GroupFinding| -> Vec<&Group> {
        found.groups.iter().filter(|group| group.finding == finding).collect()
    };
    if tested < 2 {
        return format!(
            "Too few values in each {by} for a comparison: {} groups, of which {tested} have at least {} values.",
            found.groups.len(),
            tail::groups::FEWEST
        );
    }
    let told = |groups: Vec<&Group>, word: &str| {
        let n = groups.len();
        let named: Vec<String> = groups.iter().take(MOST_NAMED).map(|group| named(group)).collect();
        let more = if n > MOST_NAMED { format!(" and {} more", n - MOST_NAMED) } else { String::new() };
        (n > 0).then(|| format!("{word}: {}{more}.", named.join(", ")))
    };
    let parts: Vec<String> = [told(of(GroupFinding::Slow), "Slow"), told(of(GroupFinding::Fast), "Fast")]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        return format!("No {by} stands out among {tested} (over all of them p {}).", probability(found.p));
    }
    format!("{} Of {tested} groups by {by}.", parts.join(" "))
}

/// `node7, 1.83 times as slow as the others (p 0.0002)`.
fn named(group: &Group) -> String {
    let by = group.factor.map_or(String::new(), |factor| format!(", {} as the others", times(factor)));
    let by = by.replace("slower as", "slower than").replace("faster as", "faster than");
    format!("{}{by} (p {})", group.name, group.p_adjusted.map_or("–".into(), probability))
}

/// All groups, the slowest first; `seconds` says whether values are durations.
pub fn groups_table(found: &Groups, by: &str, seconds: bool) -> Table {
    let typical = found.groups.get(found.groups.len() / 2).map_or(1.0, |group| group.median);
    let unit = if seconds { Unit::of_duration(typical) } else { Unit::NONE };
    let show = |value: f64| if seconds { time(value) } else { three(value) };
    let heading = format!("<{by}");
    let columns = [&heading, "values", "median", "max", "× others", "larger than others", "p adjusted", "<"];
    let mut table = Table::new(&format!("By {by}"), &columns);
    for group in &found.groups {
        let finding = match group.finding {
            GroupFinding::Slow => "slow",
            GroupFinding::Fast => "fast",
            GroupFinding::AsOthers => "",
            GroupFinding::TooFew => "too few values",
        };
        table.push(
            group.finding == GroupFinding::Slow,
            [
                group.name.clone(),
                count(group.n as u64),
                show(group.median),
                show(group.max),
                match (group.factor, group.shift) {
                    (Some(factor), _) => three(factor),
                    (None, Some(shift)) => {
                        format!("{}{}", if shift > 0.0 { "+" } else { "" }, unit.show(shift))
                    }
                    (None, None) => "–".into(),
                },
                group.larger.map_or("–".into(), |share| format!("{:.0} %", 100.0 * share)),
                group.p_adjusted.map_or("–".into(), probability),
                finding.into(),
            ],
        );
    }
    table.note = format!(
        "Each group against all other values by the sum of its ranks, adjusted for the number of groups; over all groups \
         p {} (Kruskal and Wallis). Values are taken as independent.",
        probability(found.p)
    );
    table
}

/// Answer and table as text; of many groups the slowest unless `all`.
pub fn groups_text(found: &Groups, by: &str, seconds: bool, all: bool) -> String {
    let mut table = groups_table(found, by, seconds);
    let left = if all { 0 } else { table.rows.len().saturating_sub(MOST_ROWS) };
    table.rows.truncate(table.rows.len() - left);
    let more = if left > 0 { format!("  and {left} more: -v\n") } else { String::new() };
    format!("{}\n{}{more}", sentence("", &groups_answer(found, by)), table.text())
}
