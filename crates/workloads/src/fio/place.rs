//! Where the operations of a job go, and how large they are: expressions and the statements before them.

use super::access::{BlockSizes, Distribution, Sequence};
use super::job::{Extent, Job};
use super::terms::Terms;
use crate::quantity::bytes_literal;

/// A place as an expression, with the statements that it needs.
pub(super) struct Target {
    /// The offset.
    pub offset: String,
    /// The bytes.
    pub bytes: String,
    /// Before each operation.
    pub lines: Vec<String>,
    /// After each operation.
    pub after: Vec<String>,
    /// Before the loop.
    pub before: Vec<String>,
    /// Whether `$i` counts operations.
    pub counts: bool,
}

/// The places of one stream of operations: a direction of a mix in order has a stream of its own, named by a suffix.
pub(super) fn place(job: &Job, terms: &Terms, stream: &str) -> Target {
    let one_size = matches!(job.sizes, BlockSizes::One(_));
    let mut placed = match (job.access.random, one_size) {
        (false, true) => in_order(job, terms, stream),
        (false, false) => in_order_of_several_sizes(job, terms, stream),
        (true, _) => random(job, terms),
    };
    if job.offset_increment > 0 {
        placed.offset = format!("$base + {}", placed.offset);
    } else if job.offset > 0 {
        placed.offset = format!("{} + {}", bytes_literal(job.offset), placed.offset);
    }
    placed
}

/// Whether a job may go over its file more than once.
fn wraps(job: &Job) -> bool {
    job.time_based || job.ramp.is_some() || !matches!(job.extent, Extent::Once)
}

/// Blocks of one file in a pass, where it does not use all of them.
fn blocks_of_pass(job: &Job) -> Option<u64> {
    let (pass, region, block) = (job.pass()?, job.region()?, job.sizes.least());
    let in_file = pass / job.files() / block;
    (in_file < region / block).then_some(in_file)
}

fn in_order(job: &Job, terms: &Terms, stream: &str) -> Target {
    let has_own_count = !stream.is_empty();
    let count = if has_own_count { format!("${stream}") } else { "$i".into() };
    let index = if job.files() > 1 { format!("{count} / {}", job.files()) } else { count.clone() };
    let unit = &terms.block;
    let all = blocks_of_pass(job).map_or("$blocks".into(), |blocks| blocks.to_string());
    let offset = match job.sequence {
        Sequence::Holes(hole) => {
            let step = job.sizes.least() + hole;
            let steps = job.region().unwrap_or(step) / step;
            format!("mod({index}, {steps}) * {}", bytes_literal(step))
        }
        Sequence::Backwards(back) => backwards(job, &index, back),
        _ if job.zones.strided => strided(job, &index),
        _ if wraps(job) || has_own_count => format!("mod({index}, {all}) * {unit}"),
        _ if index.contains(' ') => format!("({index}) * {unit}"),
        _ => format!("{index} * {unit}"),
    };
    let (before, after) = match has_own_count {
        true => (vec![format!("{count} = 0;")], vec![format!("{count} = {count} + 1;")]),
        false => (Vec::new(), Vec::new()),
    };
    Target { offset, bytes: unit.clone(), lines: Vec::new(), after, before, counts: !has_own_count }
}

/// The first block is the first of the file; from the end on, each begins `back` bytes before the end of the one
/// before it, and where that is before the file, `back` before its end.
fn backwards(job: &Job, index: &str, back: u64) -> String {
    let (size, block) = (job.region().unwrap_or(back), job.sizes.least());
    let (first, step) = (size.saturating_sub(back), back.saturating_sub(block).max(1));
    let turns = first / step + 1;
    let (first, step) = (bytes_literal(first), bytes_literal(step));
    format!("({index} == 0 ? 0 : {first} - mod({index} - 1, {turns}) * {step})")
}

/// The blocks of one stretch after the other.
fn strided(job: &Job, index: &str) -> String {
    let (block, zones) = (job.sizes.least(), job.zones);
    let in_zone = zones.size / block;
    let turns = job.region().unwrap_or(0).div_ceil(zones.step()).max(1);
    let (step, block) = (bytes_literal(zones.step()), bytes_literal(block));
    format!("mod({index} / {in_zone}, {turns}) * {step} + mod({index}, {in_zone}) * {block}")
}

fn in_order_of_several_sizes(job: &Job, terms: &Terms, stream: &str) -> Target {
    let at = format!("$at{stream}");
    let (size, unit) = (&terms.size, &terms.block);
    let draw = draw_size(job).unwrap_or_default();
    Target {
        offset: at.clone(),
        bytes: "$n".into(),
        lines: vec![
            format!("if {at} + {unit} > {size} {at} = 0;"),
            draw.clone(),
            format!("while {at} + $n > {size} {draw}"),
        ],
        after: vec![format!("{at} = {at} + $n;")],
        before: vec![format!("{at} = 0;"), "$n = 0;".into()],
        counts: false,
    }
}

fn random(job: &Job, terms: &Terms) -> Target {
    let unit = &terms.unit(job);
    let mut lines = Vec::new();
    let mut before = Vec::new();
    let block = match (&job.distribution, job.sequence) {
        (_, Sequence::Runs(run)) => {
            before.extend(["$k = 0;".into(), "$run = 0;".into()]);
            lines.push(format!(
                "if $run == 0 || $k + 1 >= $blocks {{\n$k = uniform(0, $blocks);\n$run = {run};\n}} else $k = $k + 1;"
            ));
            lines.push("$run = $run - 1;".into());
            "$k".into()
        }
        (Distribution::Uniform, _) if job.has_map() => from_the_map(job),
        (Distribution::Uniform, _) if job.has_map_of_blocks() => {
            lines.push("$k = unused($blocks, $key);".into());
            "$k".into()
        }
        (Distribution::Uniform, _) => "uniform(0, $blocks)".into(),
        (Distribution::Zipf(theta), _) => scattered(&format!("zipf($blocks, {})", float(*theta))),
        (Distribution::Pareto(h), _) => {
            let power = h.ln() / (1.0 - h).ln();
            let power = float((power * 1e6).round() / 1e6);
            scattered(&format!("int(($blocks - 1) * uniform(0.0, 1.0) ^ {power})"))
        }
        (Distribution::Normal(percent), _) => {
            lines.push(around_the_middle(*percent));
            scattered("$k + $d")
        }
        (Distribution::Zoned(zones), _) => {
            lines.push(zoned(zones));
            "$k".into()
        }
    };
    let counts = job.has_map();
    let Some(draw) = draw_size(job) else {
        return Target {
            offset: format!("{block} * {unit}"),
            bytes: terms.block.clone(),
            lines,
            after: Vec::new(),
            before,
            counts,
        };
    };
    // fio draws the place first, and then a size until one fits.
    lines.extend([format!("$at = {block} * {unit};"), draw.clone()]);
    lines.push(format!("while $at + $n > {} {draw}", terms.size));
    if job.has_map_of_blocks() {
        lines.push(format!("$n = min($n, use($k, ($n + {unit} - 1) / {unit}, $blocks, $key) * {unit});"));
    }
    before.push("$n = 0;".into());
    Target { offset: "$at".into(), bytes: "$n".into(), lines, after: Vec::new(), before, counts }
}

/// Each block once a pass, in an order that the key chooses.
fn from_the_map(job: &Job) -> String {
    let files = job.files();
    if files > 1 {
        return format!("shuffled($i / {files}, $blocks, $key + mod($i, {files}))");
    }
    match blocks_of_pass(job) {
        // Each pass over a part of the blocks is the beginning of an order of its own.
        Some(pass) => format!("shuffled(($i / {pass}) * $blocks + mod($i, {pass}), $blocks, $key)"),
        None => "shuffled($i, $blocks, $key)".into(),
    }
}

/// A number scattered over the blocks as by fio: its hash, and a place that each process draws once.
fn scattered(number: &str) -> String {
    format!("mod(scattered({number}, $blocks) + $key, $blocks)")
}

/// Draws what fio calls normal into `$k` and `$d`: the mean of twelve uniform numbers, and a uniform one beside it.
fn around_the_middle(percent: f64) -> String {
    let twelve = ["uniform(0, $blocks + 1)"; 12].join(" + ");
    let share = float(percent / 100.0);
    format!(
        "$k = ({twelve} + 11) / 12;\n$spread = max(1, int($blocks * {share} + 0.999999));\n\
         $d = uniform(0, $spread) - $spread / 2;\nwhile $k + $d >= $blocks $d = $d / 2;"
    )
}

/// Draws a block into `$k`: a zone by its share of accesses, a place in it.
fn zoned(zones: &[(u64, u64)]) -> String {
    let mut start = 0;
    let mut text = String::from("choose {\n");
    for (accesses, size) in zones {
        let end = start + size;
        if *accesses > 0 {
            let at = |percent: u64| match percent {
                0 => "0".to_owned(),
                100 => "$blocks".to_owned(),
                percent => format!("$blocks * {percent} / 100"),
            };
            let from = at(start);
            text += &format!(" {accesses}: $k = uniform({from}, max({}, {from} + 1));\n", at(end));
        }
        start = end;
    }
    text + " }"
}

/// Draws the size of an operation into `$n`, where there are several.
fn draw_size(job: &Job) -> Option<String> {
    match &job.sizes {
        BlockSizes::One(_) => None,
        // fio draws a number of bytes up to the largest size, adds the smallest, and cuts both ends.
        BlockSizes::Range(low, high) if low.is_power_of_two() => {
            let (low, high) = (bytes_literal(*low), bytes_literal(*high));
            Some(format!("$n = min({high}, ({low} + uniform(0, {high})) / {low} * {low});"))
        }
        BlockSizes::Range(low, high) => {
            Some(format!("$n = {} * uniform(1, {});", bytes_literal(*low), high / low + 1))
        }
        BlockSizes::Split(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|(size, weight)| format!("{weight}: $n = {};", bytes_literal(*size)))
                .collect();
            Some(format!("choose {{\n {}\n }}", parts.join("\n ")))
        }
    }
}

/// A float as the language spells it.
fn float(value: f64) -> String {
    format!("{value:?}")
}

/// Whether a job draws from an order that a key chooses.
pub(super) fn has_key(job: &Job) -> bool {
    let is_scattered =
        matches!(job.distribution, Distribution::Zipf(_) | Distribution::Pareto(_) | Distribution::Normal(_));
    job.has_map()
        || job.has_map_of_blocks()
        || (job.access.random && is_scattered && !matches!(job.sequence, Sequence::Runs(_)))
}
