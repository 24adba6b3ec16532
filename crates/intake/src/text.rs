//! Text that is no table: how it is recognised, and the value of each of its lines.

use crate::Unit;
use crate::row::{Fate, Row};

fn begins(lines: &[&str], with: &str) -> bool {
    lines.iter().any(|line| line.trim_start().starts_with(with))
}

/// Whole numbers between commas and blanks, as fio writes them.
fn is_fio_log(lines: &[&str]) -> bool {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(", ").collect();
        let numbers = fields.iter().all(|field| {
            let digits = field.strip_prefix("0x").unwrap_or(field);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        (4..=7).contains(&fields.len()) && numbers && matches!(fields[2], "0" | "1" | "2")
    };
    !lines.is_empty() && lines.iter().all(|line| of(line))
}

/// The kind of a log by its name, such as `clat` of `mix_clat.1.log`; the lines are the same for all kinds.
fn kind_of_fio_log(file: &str) -> Option<&str> {
    let name = file.rsplit(['/', '\\']).next()?;
    let stem = name.trim_end_matches(".gz").trim_end_matches(".zst").strip_suffix(".log")?;
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
    ["_clat", "_slat", "_lat", "_bw", "_iops"].into_iter().find(|kind| stem.ends_with(kind))
}

pub(crate) fn is_fio_latencies(lines: &[&str], file: &str) -> bool {
    is_fio_log(lines) && matches!(kind_of_fio_log(file), Some("_clat" | "_slat" | "_lat"))
}

pub(crate) fn is_fio_rates(lines: &[&str], file: &str) -> bool {
    is_fio_log(lines) && matches!(kind_of_fio_log(file), Some("_bw" | "_iops"))
}

pub(crate) fn fio_latency<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    let mut fields = line.split(',').map(str::trim);
    let value = fields.nth(1)?.parse().ok()?;
    let series = match fields.next()? {
        "0" => "read",
        "1" => "write",
        "2" => "trim",
        _ => return None,
    };
    Some(Row::number(series, value, Some(Unit::Ns)))
}

pub(crate) fn is_ping(lines: &[&str], _file: &str) -> bool {
    lines.first().is_some_and(|line| line.starts_with("PING "))
        || lines.iter().any(|line| line.contains(" bytes from ") && line.contains(" time="))
}

/// `64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.045 ms`, whose prefix with -D is a time.
pub(crate) fn ping<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    if !line.contains(" bytes from ") {
        return None;
    }
    let (_, time) = line.split_once(" time=").or_else(|| line.split_once(" time<"))?;
    let (number, rest) = time.split_once([' ', 'm'])?;
    let mut row = Row::number("", number.parse().ok()?, Some(Unit::Ms));
    if rest.contains("(DUP!)") {
        row.fate = Fate::Failed;
    }
    Some(row)
}

/// Columns of whole numbers whose fifth is a time since 1970 and whose sixth its microseconds.
pub(crate) fn is_pgbench(lines: &[&str], _file: &str) -> bool {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let whole = |at: usize| fields.get(at).and_then(|field: &&str| field.parse::<u64>().ok());
        let second = whole(4).is_some_and(|second| (1_000_000_000..10_000_000_000).contains(&second));
        let micros = whole(5).is_some_and(|micros| micros < 1_000_000);
        let time = whole(2).is_some() || matches!(fields.get(2), Some(&"skipped" | &"failed"));
        (6..=9).contains(&fields.len())
            && whole(0).is_some()
            && whole(1).is_some()
            && time
            && second
            && micros
    };
    !lines.is_empty() && lines.iter().all(|line| of(line))
}

pub(crate) fn pgbench<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    let time = line.split(' ').nth(2)?;
    match time.parse() {
        Ok(time) => Some(Row::number("", time, Some(Unit::Us))),
        Err(_) => Some(Row { fate: Fate::Failed, text: time, ..Row::number("", f64::NAN, None) }),
    }
}

pub(crate) fn is_pgbench_summary(lines: &[&str], _file: &str) -> bool {
    begins(lines, "pgbench (PostgreSQL)")
        || (begins(lines, "transaction type:") && begins(lines, "scaling factor:"))
}

pub(crate) fn is_vegeta(lines: &[&str], _file: &str) -> bool {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let stamp = fields[0].len() == 19 && fields[0].bytes().all(|byte| byte.is_ascii_digit());
        fields.len() >= 11 && stamp && fields[1].len() <= 3 && fields[1].parse::<u16>().is_ok()
    };
    !lines.is_empty() && lines.iter().all(|line| of(line))
}

/// Stamp, status, latency, bytes out, bytes in, error, body, attack, number, method, URL, headers.
pub(crate) fn vegeta<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    let fields: Vec<&str> = line.split(',').collect();
    let mut row = Row::number("", fields.get(2)?.parse().ok()?, Some(Unit::Ns));
    let status: u16 = fields.get(1)?.parse().ok()?;
    if !(200..400).contains(&status) {
        row.fate = Fate::Failed;
    }
    Some(row)
}

pub(crate) fn is_wrk(lines: &[&str], _file: &str) -> bool {
    lines.first().is_some_and(|line| line.starts_with("Running ") && line.contains(" test @ "))
}

pub(crate) fn is_summary_of_hey(lines: &[&str], _file: &str) -> bool {
    begins(lines, "Summary:") && begins(lines, "Requests/sec:")
}

pub(crate) fn is_gatling(lines: &[&str], _file: &str) -> bool {
    lines.first().is_some_and(|line| line.starts_with("RUN\t"))
}

/// `REQUEST`, groups, name, start, end, status; earlier versions have a scenario and a user before the groups.
pub(crate) fn gatling<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    if fields[0] != "REQUEST" {
        return None;
    }
    let status = fields.iter().rposition(|field| matches!(*field, "OK" | "KO")).filter(|at| *at >= 3)?;
    let time = |at: usize| fields[at].parse::<u64>().ok();
    let took = time(status - 1)?.checked_sub(time(status - 2)?)?;
    let mut row = Row::number(fields[status - 3], took as f64, Some(Unit::Ms));
    if fields[status] == "KO" {
        row.fate = Fate::Failed;
    }
    Some(row)
}

pub(crate) fn is_sysbench(lines: &[&str], _file: &str) -> bool {
    lines.first().is_some_and(|line| line.starts_with("sysbench ") && line.contains("LuaJIT"))
}

pub(crate) fn is_ior(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| line.starts_with("IOR-"))
}

/// A row of the table of results: access, bandwidth and others, the total time, the repetition.
pub(crate) fn ior<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let series = fields.first().filter(|access| matches!(**access, "write" | "read"))?;
    let is_row = (9..=11).contains(&fields.len())
        && fields[1..].iter().all(|field| field.parse::<f64>().is_ok() || matches!(*field, "-" | "NA"));
    let repetition: Option<u32> = fields.last()?.parse().ok();
    let total = fields[fields.len().checked_sub(2)?].parse().ok()?;
    (is_row && repetition.is_some()).then(|| Row::number(series, total, Some(Unit::S)))
}

pub(crate) fn is_mdtest(lines: &[&str], _file: &str) -> bool {
    lines
        .iter()
        .any(|line| line.starts_with("mdtest-") || line.contains("mdtest") && line.contains("was launched"))
}
