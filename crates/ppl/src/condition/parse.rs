//! Text to condition.

use super::{Bound, Compared, Condition, ConditionError, Estimate, Relation};
use crate::diagnostic::nearest;
use crate::literal::{self, BadLiteral};
use crate::number::Number;

/// The words for estimates without an argument, with what each means.
const WORDS: [(&str, Estimate); 15] = [
    ("median", Estimate::Quantile(0.5)),
    ("mean", Estimate::Mean),
    ("max", Estimate::Slowest),
    ("slowest", Estimate::Slowest),
    ("count", Estimate::Count),
    ("iops", Estimate::Iops),
    ("bw", Estimate::Bandwidth),
    ("bandwidth", Estimate::Bandwidth),
    ("lat", Estimate::Latency),
    ("latency", Estimate::Latency),
    ("factor", Estimate::Factor),
    ("k", Estimate::Factor),
    ("location", Estimate::Location),
    ("scale", Estimate::Scale),
    ("shape", Estimate::Shape),
];

pub(super) fn condition(text: &str) -> Result<Condition, ConditionError> {
    let text = text.trim();
    let at = relation_at(text)?.ok_or_else(|| ConditionError::NoRelation(text.into()))?;
    let (left, right) = (text[..at].trim(), &text[at..]);
    let end = right.find(|c: char| !is_relation(c)).unwrap_or(right.len());
    let relation = match &right[..end] {
        "<" | "<=" | "≤" => Relation::Below,
        ">" | ">=" | "≥" => Relation::Above,
        "=" | "==" => Relation::Equal,
        other => return Err(ConditionError::UnknownRelation(other.into())),
    };
    if left.is_empty() {
        return Err(ConditionError::NoRelation(text.into()));
    }
    let (quantity, of) = quantity(left)?;
    let bound = bound(right[end..].trim())?;
    Ok(Condition { text: text.into(), quantity, of, relation, bound })
}

fn is_relation(c: char) -> bool {
    "<>=!≤≥".contains(c)
}

/// Where the first relation outside of parentheses and quotes begins.
fn relation_at(text: &str) -> Result<Option<usize>, ConditionError> {
    let (mut depth, mut quoted) = (0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 && is_relation(c) => return Ok(Some(at)),
            _ => {}
        }
    }
    if depth > 0 || quoted { Err(ConditionError::Unclosed(text.into())) } else { Ok(None) }
}

/// `p99 of read`, `p99("read")`, `width(p99 of read)`, `n_eff`.
pub(super) fn quantity(text: &str) -> Result<(Compared, Option<String>), ConditionError> {
    let (head, of) = place(text)?;
    if head == "n_eff" {
        return Ok((Compared::EffectiveN(Estimate::Quantile(0.99)), of));
    }
    let Some((word, inside)) = call(head)? else {
        return Ok((Compared::Value(estimate(head)?), of));
    };
    let about: fn(Estimate) -> Compared = match word {
        "width" => Compared::Width,
        "n_eff" if of.is_none() && unquoted(inside).is_some() => {
            return Ok((Compared::EffectiveN(Estimate::Quantile(0.99)), unquoted(inside)));
        }
        "n_eff" => Compared::EffectiveN,
        "return-level" => return Ok((Compared::Value(return_level(inside)?), of)),
        // As `assert` writes it.
        _ => {
            let takes = "in its parentheses stands the label or operation in quotes, as in `p99(\"read\")`";
            let wrong = || ConditionError::Inside { word: word.into(), inside: inside.into(), takes };
            let found = estimate(word)?;
            let name = unquoted(inside).filter(|_| of.is_none()).ok_or_else(wrong)?;
            return Ok((Compared::Value(found), Some(name)));
        }
    };
    let (inner, inner_of) = place(inside)?;
    let takes = "the label or operation stands once: `p99 of read` or `p99(\"read\")`";
    let (found, quoted) = match call(inner)? {
        Some(("return-level", runs)) => (return_level(runs)?, None),
        Some((word, name)) => (estimate(word)?, Some(unquoted(name).ok_or_else(|| unknown(inner))?)),
        None => (estimate(inner)?, None),
    };
    let places = [quoted, inner_of, of];
    if places.iter().flatten().count() > 1 {
        return Err(ConditionError::Inside { word: word.into(), inside: inside.into(), takes });
    }
    Ok((about(found), places.into_iter().flatten().next()))
}

/// A quantity and the place behind its ` of `, outside of parentheses.
fn place(text: &str) -> Result<(&str, Option<String>), ConditionError> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && text[at..].starts_with(" of ") => {
                let name = text[at + 4..].trim();
                let name = unquoted(name).unwrap_or_else(|| name.into());
                return match name.is_empty() {
                    true => Err(unknown(text)),
                    false => Ok((text[..at].trim(), Some(name))),
                };
            }
            _ => {}
        }
    }
    Ok((text.trim(), None))
}

/// The word and the text in the parentheses of `word(inside)`.
fn call(text: &str) -> Result<Option<(&str, &str)>, ConditionError> {
    let Some((word, rest)) = text.split_once('(') else { return Ok(None) };
    let inside = rest.strip_suffix(')').ok_or_else(|| ConditionError::Unclosed(text.into()))?;
    Ok(Some((word.trim(), inside.trim())))
}

fn unquoted(text: &str) -> Option<String> {
    let name = text.strip_prefix('"')?.strip_suffix('"')?;
    (!name.is_empty() && !name.contains('"')).then(|| name.into())
}

pub(super) fn estimate(word: &str) -> Result<Estimate, ConditionError> {
    let named = WORDS.iter().find(|(name, _)| *name == word).map(|(_, estimate)| *estimate);
    named.or_else(|| quantile(word).map(Estimate::Quantile)).ok_or_else(|| unknown(word))
}

fn unknown(word: &str) -> ConditionError {
    let words = WORDS.iter().map(|(name, _)| *name);
    let others = ["p50", "p90", "p99", "p99.9", "p99.99", "width(p99)", "n_eff", "return-level(100)"];
    let near = nearest(word, words.filter(|name| name.len() > 1).chain(others)).map(String::from);
    ConditionError::UnknownQuantity { word: word.into(), near }
}

/// The probability of `p99.9`, which is also written `p999`.
fn quantile(word: &str) -> Option<f64> {
    let digits = word.strip_prefix('p')?;
    let plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = match digits.split_once('.') {
        Some((whole, part)) => (whole, part),
        // `p999` is p99.9; `p100` is nothing.
        None if digits.starts_with("99") && digits.len() > 2 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    if !plain(whole) || !plain(part) || whole.len() > 2 || part.len() > 8 {
        return None;
    }
    // As one division, so that `p99.9` is the 0.999 that a program writes.
    let all: f64 = format!("{whole}{part}").parse().ok()?;
    let probability = all / 10f64.powi(2 + part.len() as i32);
    (probability > 0.0).then_some(probability)
}

fn return_level(runs: &str) -> Result<Estimate, ConditionError> {
    let found = number(runs).ok().map(Bound::value).filter(|runs| *runs > 1.0 && runs.is_finite());
    let takes = "it takes a number of runs above 1, as in `return-level(100)`";
    let word = "return-level".to_owned();
    found.map(Estimate::ReturnLevel).ok_or(ConditionError::Inside { word, inside: runs.into(), takes })
}

pub(super) fn bound(text: &str) -> Result<Bound, ConditionError> {
    if let (true, Some(percent)) = (text.starts_with(['+', '-']), text.strip_suffix('%')) {
        return change(percent, text);
    }
    let found = match text.strip_suffix('%') {
        Some(digits) => match number(digits.trim()) {
            Ok(Bound::Number(percent)) => Bound::Share(percent / 100.0),
            Ok(_) => return Err(ConditionError::NoNumber { word: text.into(), near: None }),
            Err(_) => return Err(ConditionError::NoNumber { word: text.into(), near: None }),
        },
        None => number(text.strip_suffix("/s").map_or(text, str::trim_end))?,
    };
    let value = found.value();
    if value > 0.0 && value.is_finite() { Ok(found) } else { Err(ConditionError::NotPositive(text.into())) }
}

/// `+20` of `+20%`.
fn change(percent: &str, text: &str) -> Result<Bound, ConditionError> {
    let joined: String = percent.split_whitespace().collect();
    let digits = joined.get(1..).unwrap_or_default();
    let Ok(Bound::Number(size)) = number(digits) else {
        return Err(ConditionError::NoNumber { word: text.into(), near: None });
    };
    let share = if joined.starts_with('-') { -size / 100.0 } else { size / 100.0 };
    let is_change = share > -1.0 && share != 0.0 && share.is_finite();
    if is_change { Ok(Bound::Change(share)) } else { Err(ConditionError::NoChange(text.into())) }
}

/// A number with a unit as in a program; `.5` and a space before the unit are read besides.
fn number(text: &str) -> Result<Bound, ConditionError> {
    let joined: String = text.split_whitespace().collect();
    let joined = if joined.starts_with('.') { format!("0{joined}") } else { joined };
    match literal::signed(&joined) {
        Ok(Number::Int(number)) => Ok(Bound::Number(number as f64)),
        Ok(Number::Float(number)) => Ok(Bound::Number(number)),
        Ok(Number::Duration(nanoseconds)) => Ok(Bound::Seconds(nanoseconds as f64 * 1e-9)),
        Err(BadLiteral::Unit(near)) => Err(ConditionError::NoNumber { word: text.into(), near }),
        Err(BadLiteral::TooLarge | BadLiteral::NotANumber) => {
            Err(ConditionError::NoNumber { word: text.into(), near: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = (Compared, Option<String>, Relation, Bound);

    fn parts(text: &str) -> Parts {
        let found = condition(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        (found.quantity, found.of, found.relation, found.bound)
    }

    #[test]
    fn conditions_are_read_as_one_writes_them() {
        use Compared::{EffectiveN, Value, Width};
        let p99 = Estimate::Quantile(0.99);
        let read = || Some("read".to_owned());
        for (text, wanted) in [
            ("p99 < 5ms", (Value(p99), None, Relation::Below, Bound::Seconds(0.005))),
            ("p99(\"read\") < 5 ms", (Value(p99), read(), Relation::Below, Bound::Seconds(0.005))),
            ("p99 of read<5ms", (Value(p99), read(), Relation::Below, Bound::Seconds(0.005))),
            ("factor > 1.05", (Value(Estimate::Factor), None, Relation::Above, Bound::Number(1.05))),
            ("k>1.05", (Value(Estimate::Factor), None, Relation::Above, Bound::Number(1.05))),
            ("width(p99) < 5%", (Width(p99), None, Relation::Below, Bound::Share(0.05))),
            ("p99 > +20%", (Value(p99), None, Relation::Above, Bound::Change(0.2))),
            ("iops of read < - 10 %", (Value(Estimate::Iops), read(), Relation::Below, Bound::Change(-0.1))),
            ("width(p99(\"read\")) < 5%", (Width(p99), read(), Relation::Below, Bound::Share(0.05))),
            (
                "n_eff( p99( \"read\" ) ) > 50",
                (EffectiveN(p99), read(), Relation::Above, Bound::Number(50.0)),
            ),
            ("width(p99) of read ≤ 5%", (Width(p99), read(), Relation::Below, Bound::Share(0.05))),
            (
                " width( p99.9 of \"a<b\" )<=.1 ",
                (Width(Estimate::Quantile(0.999)), Some("a<b".into()), Relation::Below, Bound::Number(0.1)),
            ),
            ("n_eff = 400", (EffectiveN(p99), None, Relation::Equal, Bound::Number(400.0))),
            (
                "n_eff(median) >= 50",
                (EffectiveN(Estimate::Quantile(0.5)), None, Relation::Above, Bound::Number(50.0)),
            ),
            ("iops > 1000/s", (Value(Estimate::Iops), None, Relation::Above, Bound::Number(1000.0))),
            (
                "bw >= 1.5 GiB/s",
                (Value(Estimate::Bandwidth), None, Relation::Above, Bound::Number(1.5 * f64::from(1 << 30))),
            ),
            (
                "width(return-level(100)) < 0.5%",
                (Width(Estimate::ReturnLevel(100.0)), None, Relation::Below, Bound::Share(0.005)),
            ),
            (
                "return-level(100)=0.5%",
                (Value(Estimate::ReturnLevel(100.0)), None, Relation::Equal, Bound::Share(0.005)),
            ),
        ] {
            assert_eq!(parts(text), wanted, "{text}");
        }
        for (word, p) in [
            ("p50", 0.5),
            ("p99.9", 0.999),
            ("p999", 0.999),
            ("p99.99", 0.9999),
            ("p9999", 0.9999),
            ("p5", 0.05),
        ] {
            assert_eq!(parts(&format!("{word}<1")).0, Value(Estimate::Quantile(p)), "{word}");
        }
    }

    #[test]
    fn what_is_written_of_a_quantity_is_read_as_it() {
        for (_, estimate) in WORDS {
            for quantity in
                [Compared::Value(estimate), Compared::Width(estimate), Compared::EffectiveN(estimate)]
            {
                assert_eq!(parts(&format!("{quantity} > 2")).0, quantity);
            }
        }
    }

    #[test]
    fn mistakes_name_what_is_wrong_and_what_to_write() {
        for (text, wanted) in [
            ("", "compares nothing"),
            ("p99", "such as `p99 < 5ms`"),
            ("< 5ms", "compares nothing"),
            ("p99 != 5ms", "`!=` is no comparison"),
            ("p99 =< 5ms", "`=<` is no comparison"),
            ("pp9 < 5ms", "`pp9` is not a quantity (`p99`?)"),
            ("speed > 5", "there are p50, p90"),
            ("p100 < 5ms", "`p100` is not a quantity"),
            ("p0 < 5ms", "`p0` is not a quantity"),
            ("width(p99 < 5%", "closing `)`"),
            ("width(width(p99)) < 5%", "is not a quantity"),
            ("p99(read) < 5ms", "`p99(\"read\")`"),
            ("return-level(1) = 1%", "a number of runs above 1"),
            ("p99 < 5mss", "(`5ms`?)"),
            ("p99 < ", "is not a number"),
            ("p99 < 5ms%", "is not a number"),
            ("p99 < -5ms", "a number above 0"),
            ("width(p99) < 0%", "a number above 0"),
            ("p99 > +0%", "no change"),
            ("iops < -100%", "no change"),
            ("p99 > +5ms%", "is not a number"),
            ("p99 > ++5%", "is not a number"),
            ("p99 < 1e999", "is not a number"),
        ] {
            let said = condition(text).expect_err(text).to_string();
            assert!(said.contains(wanted), "{text}: {said}");
        }
    }
}
