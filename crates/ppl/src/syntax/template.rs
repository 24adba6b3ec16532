//! Splits a string into text and variables.

use std::borrow::Cow;

/// A part of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<'a> {
    /// Literal text.
    Literal(&'a str),
    /// `$name`: the longest run of letters, digits and `_`, with its offset in the string. The caller, who
    /// knows the defined names, treats the rest of a longer run as text.
    Variable(&'a str, u32),
    /// `${name}` or `${$name}`: exactly that name; for a built-in including its `$$`.
    Braced(&'a str, u32),
    /// `$$name`
    Builtin(&'a str, u32),
    /// `$$env(NAME)`
    Environment(&'a str, u32),
}

/// Splits the inside of a string into parts. A lone `$` is
/// [`TextPart::Variable`] with an empty name. `classic`: backslashes before quotes stay, as in the original.
pub fn parts(text: &str, classic: bool) -> Vec<TextPart<'_>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut from = 0;
    let mut at = 0;
    // Searched once: a search at each `${` would take quadratic time in the worst case.
    let (last_brace, last_bracket) = (text.rfind('}').unwrap_or(0), text.rfind(')').unwrap_or(0));
    let run = |start: usize| {
        start + bytes[start..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
    };
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            let (kept, end) = backslashes(bytes, at, classic);
            push(&mut out, &text[from..at]);
            (from, at) = (kept, end);
            continue;
        }
        if bytes[at] != b'$' {
            at += 1;
            continue;
        }
        push(&mut out, &text[from..at]);
        let offset = at as u32;
        if bytes.get(at + 1) == Some(&b'$') {
            let end = run(at + 2);
            let name = &text[at + 2..end];
            at = end;
            if name.eq_ignore_ascii_case("env")
                && bytes.get(end) == Some(&b'(')
                && end < last_bracket
                && let Some(length) = text[end..].find(')')
            {
                out.push(TextPart::Environment(&text[end + 1..end + length], offset));
                at = end + length + 1;
                from = at;
                continue;
            }
            out.push(TextPart::Builtin(name, offset));
        } else if bytes.get(at + 1) == Some(&b'{') && at < last_brace {
            let length = text[at..].find('}').unwrap_or(0);
            let name = text[at + 2..at + length].trim();
            out.push(match name.strip_prefix("$$") {
                Some(_) => TextPart::Braced(name, offset),
                None => TextPart::Braced(name.strip_prefix('$').unwrap_or(name), offset),
            });
            at += length + 1;
        } else {
            let end = run(at + 1);
            out.push(TextPart::Variable(&text[at + 1..end], offset));
            at = end;
        }
        from = at;
    }
    push(&mut out, &text[from..]);
    out
}

/// For the backslashes that begin at `at`: the offset at which the literal text resumes, and the end of the
/// escape. `\$` is a dollar sign and `\"` a quote; two before a quote or before the end are one. All others
/// are literal.
fn backslashes(bytes: &[u8], at: usize, classic: bool) -> (usize, usize) {
    let end = at + bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
    match bytes.get(end) {
        // The last one escapes the dollar sign; those before it are literal and pushed with it.
        Some(b'$') if end - at == 1 => (end, end + 1),
        Some(b'$') => (at, end - 1),
        Some(b'"') if !classic => (at + (end - at).div_ceil(2), end + 1),
        None if !classic => (at + (end - at).div_ceil(2), end),
        _ => (at, end),
    }
}

/// The inside of a string in which `$` has no meaning: of a default, a path, a position.
pub fn plain(text: &str, classic: bool) -> Cow<'_, str> {
    if classic || !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut from, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let end = at + bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
        if matches!(bytes.get(end), None | Some(b'"')) {
            out.push_str(&text[from..at]);
            from = at + (end - at).div_ceil(2);
        }
        at = (end + 1).min(bytes.len());
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

fn push<'a>(out: &mut Vec<TextPart<'a>>, text: &'a str) {
    if !text.is_empty() {
        out.push(TextPart::Literal(text));
    }
}

/// Whether the string has no variables.
pub fn is_plain(text: &str) -> bool {
    !text.contains(['$', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_split_at_its_dollar_signs() {
        assert_eq!(
            parts(r"v=\$x $x-${y}$$env(HOME)/$$rank", false),
            [
                TextPart::Literal("v="),
                TextPart::Literal("$x "),
                TextPart::Variable("x", 6),
                TextPart::Literal("-"),
                TextPart::Braced("y", 9),
                TextPart::Environment("HOME", 13),
                TextPart::Literal("/"),
                TextPart::Builtin("rank", 25),
            ]
        );
    }
}
