//! Clauses of screens as text with slots.

use crate::Number;

/// What values are called on screens, the longer words first.
const WHAT: [&str; 6] = ["values", "value", "samples", "sample", "steps", "step"];

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Text(&'static str),
    /// `{}`: a number with its unit, or a dash.
    Number,
    /// `{what}`: what one value is called, or several.
    What,
    /// `{*}`: anything up to the text that follows, at least one character.
    Any,
}

/// What a slot held.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A number; none where a dash stands.
    Number(Option<Number>),
    /// Words.
    Words(String),
}

/// A clause: `median {} ({} to {})`.
#[derive(Clone, Debug)]
pub struct Template {
    /// As it was written.
    pub text: &'static str,
    parts: Vec<Part>,
}

impl Template {
    /// From its text.
    ///
    /// # Panics
    /// For a slot of another kind.
    pub fn new(text: &'static str) -> Template {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.find('{') {
            if at > 0 {
                parts.push(Part::Text(&rest[..at]));
            }
            let slots = [("{*}", Part::Any), ("{what}", Part::What), ("{}", Part::Number)];
            let slot = slots.into_iter().find(|(name, _)| rest[at..].starts_with(name));
            let (name, part) = slot.unwrap_or_else(|| panic!("a slot of another kind: {text}"));
            parts.push(part);
            rest = &rest[at + name.len()..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest));
        }
        Template { text, parts }
    }

    /// The clause at the beginning of a text: the bytes that it takes and what its slots held.
    pub fn matched(&self, text: &str) -> Option<(usize, Vec<Found>)> {
        let (mut end, mut found) = (0, Vec::new());
        for (at, part) in self.parts.iter().enumerate() {
            let rest = &text[end..];
            match part {
                Part::Text(words) => end += rest.starts_with(words).then_some(words.len())?,
                Part::Number => {
                    let (number, length) = match rest.starts_with('–') {
                        true => (None, '–'.len_utf8()),
                        false => Number::at(rest).map(|(number, length)| (Some(number), length))?,
                    };
                    found.push(Found::Number(number));
                    end += length;
                }
                Part::What => {
                    let name = WHAT.into_iter().find(|name| rest.starts_with(name))?;
                    end += name.len();
                }
                Part::Any => {
                    let length = match self.parts.get(at + 1) {
                        Some(Part::Text(words)) => {
                            let from = rest.chars().next().map_or(0, char::len_utf8);
                            rest[from..].find(words)? + from
                        }
                        Some(Part::Number) => rest.find(|letter: char| letter.is_ascii_digit())?,
                        Some(Part::Any | Part::What) | None => rest.len(),
                    };
                    if length == 0 {
                        return None;
                    }
                    found.push(Found::Words(rest[..length].to_owned()));
                    end += length;
                }
            }
        }
        Some((end, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_takes_its_clause_and_leaves_the_rest() {
        let (end, found) = Template::new("median {} ({} to {})")
            .matched("median 9.95 ms (9.02 ms to 10.7 ms), p99")
            .unwrap();
        assert_eq!(end, "median 9.95 ms (9.02 ms to 10.7 ms)".len());
        let value = |at: usize| match &found[at] {
            Found::Number(Some(number)) => number.value,
            other => panic!("{other:?}"),
        };
        assert!((value(0) - 9.95e-3).abs() < 1e-12 && (value(2) - 10.7e-3).abs() < 1e-12);
        assert!(Template::new("p99 {}").matched("median 1").is_none());
        let (_, found) = Template::new("a {*} distribution fits")
            .matched("a log-normal distribution fits better")
            .unwrap();
        assert_eq!(found, [Found::Words("log-normal".into())]);
    }
}
