//! Where the wall time of every rank went.

use samples::TimeUse;
use serde::Serialize;
use serde_json::json;

use crate::figures::{Figure, Numbers, draw};
use crate::unit::{Unit, percent, rounded};
use crate::{Chapter, Table};

/// The wall time of every rank by what it went into, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeShares {
    /// Ranks, ascending.
    pub rank: Vec<u32>,
    /// What the time went into: a name and seconds for every rank.
    pub parts: Vec<(&'static str, Vec<f64>)>,
}

/// Name, colour and value of a part.
type Part = (&'static str, &'static str, fn(&TimeUse) -> f64);

const PARTS: [Part; 4] = [
    ("in commands", draw::DATA, |one| one.operations_s),
    ("waiting for others", draw::DISTRIBUTION, |one| one.waiting_s),
    ("pauses of the program", draw::SECOND, |one| one.paused_s),
    ("engine", draw::OTHER, |one| one.engine_s),
];

/// Rows of the table; of more ranks those that waited least, whom the others waited for.
const MOST_RANKS: usize = 64;

/// Table and stacked bars; none where nothing is known.
pub(super) fn chapter(time: &[TimeUse]) -> Option<Chapter> {
    let wall: f64 = time.iter().map(|one| one.wall_s).sum();
    if wall <= 0.0 {
        return None;
    }
    let mut sorted: Vec<&TimeUse> = time.iter().collect();
    sorted.sort_by_key(|one| one.rank);
    let numbers = TimeShares {
        rank: sorted.iter().map(|one| one.rank).collect(),
        parts: PARTS
            .iter()
            .map(|(name, _, part)| (*name, sorted.iter().map(|one| part(one)).collect::<Vec<f64>>()))
            .filter(|(_, seconds)| seconds.iter().any(|seconds| *seconds > 0.0))
            .collect(),
    };
    let longest = time.iter().map(|one| one.wall_s).fold(0.0, f64::max);
    let unit = Unit::of_duration(longest);
    let traces = numbers
        .parts
        .iter()
        .map(|(name, seconds)| {
            let colour =
                PARTS.iter().find(|(known, _, _)| known == name).map_or(draw::OTHER, |(_, colour, _)| colour);
            json!({
                "type": "bar", "orientation": "h", "name": name, "x": unit.scale_all(seconds),
                "y": numbers.rank, "marker": {"color": colour},
                "hovertemplate": format!("rank %{{y}}, {name}: %{{x:.4g}} {}<extra></extra>", unit.name)
            })
        })
        .collect();
    let title = "Where the time of every rank went".to_string();
    let total = |name: &str| {
        let sum: f64 =
            numbers.parts.iter().filter(|(known, _)| *known == name).flat_map(|(_, seconds)| seconds).sum();
        sum / wall
    };
    let waited = numbers.parts.iter().find(|(name, _)| *name == "waiting for others");
    let late = waited.filter(|_| numbers.rank.len() > 1).and_then(|(_, seconds)| {
        let least = (0..seconds.len()).min_by(|a, b| seconds[*a].total_cmp(&seconds[*b]))?;
        Some(format!(" Rank {} waited least: the others waited for it most.", numbers.rank[least]))
    });
    let found = format!(
        "{} of the time went into commands, {} into waiting for other ranks, {} into the engine.",
        percent(total("in commands")),
        percent(total("waiting for others")),
        percent(total("engine"))
    );
    let ranks = numbers.rank.len();
    let ends = [
        f64::from(numbers.rank.first().copied().unwrap_or(0)) - 0.6,
        f64::from(numbers.rank.last().copied().unwrap_or(0)) + 0.6,
    ];
    let mut y = draw::axis_with("rank", json!({"range": [ends[1], ends[0]]}));
    if ranks <= 24 {
        // All of many would run into each other on paper.
        y["dtick"] = json!(ranks.div_ceil(8));
    }
    let mut plot = draw::figure(
        &title,
        traces,
        draw::axis_with(&unit.axis("time"), json!({"range": [0, rounded(1.02 * unit.scale(longest))]})),
        y,
    );
    plot["layout"]["barmode"] = json!("stack");
    let figure = Figure {
        id: "time-use".into(),
        caption: format!(
            "Long waits: ranks are unequal, the storage need not be slow. {found}{}",
            late.unwrap_or_default()
        ),
        alternative: format!("Stacked bars of the time of {ranks} ranks. {found}"),
        wide: true,
        plot,
        title,
        numbers: Numbers::new("shares", numbers),
    };
    let mut chapter = Chapter::new(
        "time-use",
        "Where did the time go?",
        "The wall time of every rank from its first statement to its last.",
    )
    .with([figure], [table(&sorted)])
    .repeating();
    // The head of the terminal text says it in one line.
    chapter.on_page_only = true;
    Some(chapter)
}

fn table(ranks: &[&TimeUse]) -> Table {
    let mut table =
        Table::new("Time of every rank", &["<rank", "total", "in commands", "waiting", "pauses", "engine"]);
    let mut order: Vec<&TimeUse> = ranks.to_vec();
    if order.len() > MOST_RANKS {
        order.sort_by(|a, b| a.waiting_s.total_cmp(&b.waiting_s));
        order.truncate(MOST_RANKS);
        table.note = format!("The {MOST_RANKS} of {} ranks that waited least.", ranks.len());
    }
    for one in order {
        let share = |part: f64| if one.wall_s > 0.0 { percent(part / one.wall_s) } else { "–".into() };
        table.push(
            false,
            [
                one.rank.to_string(),
                crate::duration(one.wall_s),
                share(one.operations_s),
                share(one.waiting_s),
                share(one.paused_s),
                share(one.engine_s),
            ],
        );
    }
    table
}
