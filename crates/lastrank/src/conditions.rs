//! What conditions are judged by: the numbers of the answer, as they are shown.

use ppl::claim::Answered;
use ppl::condition::{AskedAnswer, Compared, Estimate, Scope};
use results::{AnswerNumbers, AnswerPart, QuantileInterval, Quantiles, ResultRow, Wish};
use samples::{Facts, Run, SiteKind, SteadyFacts, SteadyRule};

/// Answers for the assertions of a program, of a run that may be asked to be steady by a rule.
#[cfg(target_os = "linux")]
pub fn answers(rule: Option<&SteadyRule>) -> engine::run::Answers {
    let rule = rule.cloned();
    Box::new(move |run| {
        let (rows, facts) = match &rule {
            Some(rule) => warm(run, rule),
            None => (results::of_run(run), run.facts.clone()),
        };
        Box::new(move |asked| answered(&rows, &facts, asked))
    })
}

/// Rows and facts without what was measured before the run was steady.
#[cfg(target_os = "linux")]
fn warm(run: &Run, rule: &SteadyRule) -> (Vec<ResultRow>, Facts) {
    let mut run = run.clone();
    run.facts.steady = Some(results::judge_steady(&run, &SteadyFacts::asked(rule.clone())));
    run.leave_out_warm_up();
    (results::of_run(&run), run.facts)
}

/// What the answer of a run says.
///
/// # Errors
/// Why it does not, with what to write.
pub fn answered(rows: &[ResultRow], facts: &Facts, asked: &AskedAnswer) -> Result<Answered, String> {
    let numbers = numbers(rows, facts, asked);
    let quantity = asked.quantity;
    if let (Compared::Value(Estimate::Count), [] | [_, _, ..]) = (quantity, numbers.parts.as_slice()) {
        // The operations of the whole run are no answer to how many there were of a name.
        let count = match asked.scope {
            Scope::Named if numbers.parts.is_empty() => return Err(not_one(&numbers, asked)),
            Scope::Named => numbers.parts.iter().map(|part| part.operations).sum(),
            Scope::Run | Scope::Block => numbers.operations,
        };
        return Ok(Answered { value: count as f64, part: String::new(), values: count });
    }
    if let (Compared::Value(Estimate::Iops), Some(sum)) = (quantity, numbers.operations_per_second) {
        let part = named(&numbers.parts, " + ");
        return Ok(Answered { value: sum, part, values: numbers.operations });
    }
    let part = numbers.only().ok_or_else(|| not_one(&numbers, asked))?;
    let value = value_of(part, rows, asked)?;
    let values =
        if matches!(quantity, Compared::Value(Estimate::Count)) { part.operations } else { part.count };
    Ok(Answered { value, part: part.told(), values })
}

/// The interval of a quantile of that answer.
pub fn interval(rows: &[ResultRow], facts: &Facts, asked: &AskedAnswer) -> Option<QuantileInterval> {
    let Compared::Value(Estimate::Quantile(probability)) = asked.quantity else { return None };
    numbers(rows, facts, asked).only()?.interval(probability).copied()
}

fn numbers(rows: &[ResultRow], facts: &Facts, asked: &AskedAnswer) -> AnswerNumbers {
    match asked.scope {
        Scope::Run => AnswerNumbers::of(rows, facts, Wish::default()),
        Scope::Named => {
            let found = AnswerNumbers::of(rows, facts, Wish { of: Some(&asked.name), gate: Some(false) });
            // A block moves the bytes of its operations.
            let lacks_bytes = found.only().is_some_and(|part| part.bytes_per_second.is_none());
            let is_of_bytes = asked.quantity == Compared::Value(Estimate::Bandwidth);
            if is_of_bytes && lacks_bytes { inside(rows, facts, asked) } else { found }
        }
        Scope::Block => inside(rows, facts, asked),
    }
}

/// What was done in the block that is named.
fn inside(rows: &[ResultRow], facts: &Facts, asked: &AskedAnswer) -> AnswerNumbers {
    let mut inside: Vec<ResultRow> =
        rows.iter().filter(|row| row.labels.contains(&asked.name)).cloned().collect();
    // Bytes are moved by writes, whatever the calls behind them take.
    let moves = |row: &ResultRow| row.kind == SiteKind::Operation && row.bytes > 0;
    if asked.quantity == Compared::Value(Estimate::Bandwidth) && inside.iter().any(moves) {
        inside.retain(moves);
    }
    // What a program says that its report is about may lie in another block.
    let found = AnswerNumbers::of(&inside, facts, Wish::default());
    match found.parts.is_empty() {
        true => AnswerNumbers::of(
            &inside,
            &Facts { report: Default::default(), ..facts.clone() },
            Wish::default(),
        ),
        false => found,
    }
}

fn named(parts: &[AnswerPart], between: &str) -> String {
    parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(between)
}

/// Why there is no one value, and what to write.
fn not_one(numbers: &AnswerNumbers, asked: &AskedAnswer) -> String {
    let quantity = asked.quantity;
    let of_what = match asked.scope {
        Scope::Run => "the answer of this run".to_owned(),
        Scope::Block => format!("what was done in \"{}\"", asked.name),
        Scope::Named => format!("\"{}\"", asked.name),
    };
    match numbers.parts.as_slice() {
        [] if asked.scope == Scope::Named => format!("there are no samples of {of_what}"),
        [] => format!(
            "{of_what} is not about one operation; write `{quantity} of LABEL` or `{quantity} of OPERATION`"
        ),
        parts => {
            let all: Vec<String> = parts
                .iter()
                .map(|part| format!("`{quantity} of \"{}\"`", part.name.replace(" / ", "/")))
                .collect();
            format!("{of_what} has {} parts; write {}", parts.len(), all.join(" or "))
        }
    }
}

fn value_of(part: &AnswerPart, rows: &[ResultRow], asked: &AskedAnswer) -> Result<f64, String> {
    let quantity = asked.quantity;
    let lacks = |what: &str| format!("{} has no {what}", part.name);
    let interval = |probability: f64| -> Result<&QuantileInterval, String> {
        part.interval(probability).ok_or_else(|| lacks(&format!("interval of {}", quantity.estimate())))
    };
    match quantity {
        Compared::Width(Estimate::Quantile(probability)) => {
            let known = part.quantiles_seconds.as_ref().ok_or_else(|| lacks("latency"))?;
            // Too few values for the quantile are too few for its width.
            let Some(found) = part.interval(probability) else {
                return quantile(known, probability).map(|_| f64::INFINITY).ok_or_else(|| lacks("interval"));
            };
            Ok(if asked.share { found.width() } else { found.width() * found.seconds })
        }
        Compared::EffectiveN(Estimate::Quantile(probability)) => Ok(interval(probability)?.effective_n),
        Compared::Value(Estimate::Iops) => part.operations_per_second.ok_or_else(|| lacks("rate")),
        Compared::Value(Estimate::Bandwidth) => {
            part.bytes_per_second.ok_or_else(|| lacks("rate of bytes: its operations move none"))
        }
        Compared::Value(Estimate::Count) => Ok(part.operations as f64),
        Compared::Value(Estimate::Mean | Estimate::Latency) => mean(part, rows).ok_or_else(|| {
            format!("the answer has no mean; write `mean of \"{}\"`", part.name.replace(" / ", "/"))
        }),
        Compared::Value(Estimate::Quantile(probability)) => {
            let known = part.quantiles_seconds.as_ref().ok_or_else(|| lacks("latency"))?;
            quantile(known, probability).ok_or_else(|| lacks(&quantity.to_string()))
        }
        Compared::Value(Estimate::Slowest) => {
            part.quantiles_seconds.as_ref().map(|known| known.max).ok_or_else(|| lacks("latency"))
        }
        _ => Err(lacks(&quantity.to_string())),
    }
}

/// The mean of what the quantiles of an answer are of.
fn mean(part: &AnswerPart, rows: &[ResultRow]) -> Option<f64> {
    let row = rows.iter().find(|row| row.name() == part.name)?;
    match part.value {
        results::AnswerValue::Operation => row.mean_seconds,
        results::AnswerValue::Response => row.response_mean_seconds,
        _ => None,
    }
}

/// A quantile as a rank among the values: with fewer than a hundred the 99th of a hundred is the longest.
fn quantile(known: &Quantiles, probability: f64) -> Option<f64> {
    let kept = |value: Option<f64>| Some(value.unwrap_or(known.max));
    match probability {
        0.5 => Some(known.p50),
        0.9 => kept(known.p90),
        0.99 => kept(known.p99),
        0.999 => kept(known.p999),
        0.9999 => kept(known.p9999),
        _ => None,
    }
}
