//! Cuts a string into text and the variables in it.

/// A part of a string, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<'a> {
    /// Text as it stands.
    Literal(&'a str),
    /// `$name`: the longest run of letters, digits and `_`. What is not part of a defined name is
    /// text again; the one who knows the names decides. With its offset in the string.
    Variable(&'a str, u32),
    /// `${name}` or `${$name}`: exactly that name; for a built-in with its `$$`.
    Braced(&'a str, u32),
    /// `$$name`
    Builtin(&'a str, u32),
    /// `$$env(NAME)`
    Environment(&'a str, u32),
}

/// Cuts the inside of a string into parts. A lone `$` before anything else is
/// [`TextPart::Variable`] with an empty name.
pub fn parts(text: &str) -> Vec<TextPart<'_>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut from = 0;
    let mut at = 0;
    // Looked for once: a search at each `${` would make a hostile string quadratic.
    let (last_brace, last_bracket) = (text.rfind('}').unwrap_or(0), text.rfind(')').unwrap_or(0));
    let run = |start: usize| {
        start + bytes[start..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
    };
    while at < bytes.len() {
        if bytes[at] == b'\\' && bytes.get(at + 1) == Some(&b'$') {
            push(&mut out, &text[from..at]);
            from = at + 1;
            at += 2;
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

fn push<'a>(out: &mut Vec<TextPart<'a>>, text: &'a str) {
    if !text.is_empty() {
        out.push(TextPart::Literal(text));
    }
}

/// Is there nothing to fill in?
pub fn is_plain(text: &str) -> bool {
    !text.contains('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_cut_at_its_dollar_signs() {
        assert_eq!(
            parts(r"v=\$x $x-${y}$$env(HOME)/$$rank"),
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
