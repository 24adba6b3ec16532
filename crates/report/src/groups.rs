//! Groups of values, such as nodes, against each other: an answer and a table.

use samples::units::count;
use tail::groups::{Group, GroupFinding, Groups};

use crate::screen::number::{three, time};
use crate::table::Table;
use crate::text::sentence;
use crate::unit::{Unit, fixed, probability};

/// Groups that the answer names.
const MOST_NAMED: usize = 5;

/// Rows of the table on a first screen.
const MOST_ROWS: usize = 12;

/// Which groups are slow, in a sentence or two; `by` is what they are groups of: `node`.
pub fn groups_answer(found: &Groups, by: &str) -> String {
    let tested = found.groups.iter().filter(|group| group.p_adjusted.is_some()).count();
    let of = |finding: GroupFinding| -> Vec<&Group> {
        found.groups.iter().filter(|group| group.finding == finding).collect()
    };
    if tested < 2 {
        let large = found.groups.iter().filter(|group| group.n >= tail::groups::FEWEST).count();
        return format!(
            "Too few values in each {by} for a comparison: {} group{}, of which {large} {} at least {} values.",
            found.groups.len(),
            if found.groups.len() == 1 { "" } else { "s" },
            if large == 1 { "has" } else { "have" },
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

/// `node7, 83.0% slower than the others (78.0 to 88.1%)`.
fn named(group: &Group) -> String {
    match than_others(group) {
        Some(by) => format!("{}, {by}", group.name),
        None => format!("{} (p {})", group.name, group.p_adjusted.map_or("–".into(), probability)),
    }
}

/// `83.0% slower than the others (78.0 to 88.1%)`; none where values have no ratio.
fn than_others(group: &Group) -> Option<String> {
    let (factor, interval) = (group.factor?, group.interval.as_ref()?);
    let (word, ends) = match factor < 1.0 {
        true => ("faster", [1.0 - interval.upper, 1.0 - interval.lower]),
        false => ("slower", [interval.lower - 1.0, interval.upper - 1.0]),
    };
    let [lower, upper] = ends.map(|end| fixed(100.0 * end, 1));
    let by = fixed(100.0 * (factor - 1.0).abs(), 1);
    Some(format!("{by}% {word} than the others ({lower} to {upper}%)"))
}

/// Which ranks are slow, as one sentence of a first screen; none where no rank was tested. `name` says what a rank is called.
pub fn ranks_answer(found: &Groups, name: &dyn Fn(&str) -> String) -> Option<String> {
    let tested = found.groups.iter().filter(|group| group.p_adjusted.is_some()).count();
    if tested < 2 {
        return None;
    }
    let slow: Vec<&Group> = found.groups.iter().filter(|group| group.finding == GroupFinding::Slow).collect();
    let factor = |group: &&&Group| group.factor.unwrap_or(1.0);
    let Some(worst) = slow.iter().max_by(|a, b| factor(a).total_cmp(&factor(b))) else {
        return Some("No rank is found slower than the others.".into());
    };
    let by = than_others(worst)?;
    let by = if tested == 2 { by.replace("the others", "the other") } else { by };
    Some(match slow.len() {
        1 => format!("Rank {} is {by}.", name(&worst.name)),
        n => format!("{n} ranks are slower than the others, most of all rank {}: {by}.", name(&worst.name)),
    })
}

/// All groups, the slowest first; `seconds` says whether values are durations.
pub fn groups_table(found: &Groups, by: &str, seconds: bool) -> Table {
    let typical = found.groups.get(found.groups.len() / 2).map_or(1.0, |group| group.median);
    let unit = if seconds { Unit::of_duration(typical) } else { Unit::NONE };
    let show = |value: f64| if seconds { time(value) } else { three(value) };
    let heading = format!("<{by}");
    let columns = [
        &heading,
        "values",
        "median",
        "max",
        "× others",
        "from",
        "to",
        "larger than others",
        "p adjusted",
        "<",
    ];
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
                end(group, |interval| interval.lower),
                end(group, |interval| interval.upper),
                group.larger.map_or("–".into(), |share| format!("{:.0}%", 100.0 * share)),
                group.p_adjusted.map_or("–".into(), probability),
                finding.into(),
            ],
        );
    }
    table.note = format!(
        "Each group against the others that are not found slow or fast, by exchange of blocks of neighbouring values, adjusted for \
         the number of groups; said from 2% on and below p 0.005. Over all groups, as independent values, p {} (Kruskal and \
         Wallis).",
        probability(found.p)
    );
    table
}

/// An end of the interval of a factor.
fn end(group: &Group, of: fn(&tail::Interval) -> f64) -> String {
    let interval = group.factor.and(group.interval.as_ref()).map(of);
    interval.filter(|end| end.is_finite()).map_or("–".into(), three)
}

/// Answer and table as text; of many groups the slowest unless `all`.
pub fn groups_text(found: &Groups, by: &str, seconds: bool, all: bool) -> String {
    let mut table = groups_table(found, by, seconds);
    let left = if all { 0 } else { table.rows.len().saturating_sub(MOST_ROWS) };
    table.rows.truncate(table.rows.len() - left);
    let more = if left > 0 { format!("  and {left} more: -v\n") } else { String::new() };
    format!("{}\n{}{more}", sentence("", &groups_answer(found, by)), table.text())
}
