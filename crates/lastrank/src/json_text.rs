//! Lays out JSON for people and machines: what fits into a line stands in one.

use serde_json::Value;

/// Columns of a line.
const WIDTH: usize = 100;

/// The value as JSON, without a final line feed.
pub fn laid_out(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, 0, &mut out);
    out
}

/// Writes a value that begins in column `column` of a line indented by `indent`.
fn write(value: &Value, indent: usize, column: usize, out: &mut String) {
    let begin = out.len();
    if one_line(value, begin + WIDTH.saturating_sub(column), out) {
        return;
    }
    out.truncate(begin);
    let inner = indent + 1;
    let open = |out: &mut String| out.extend(std::iter::once('\n').chain(std::iter::repeat_n(' ', inner)));
    match value {
        Value::Object(fields) => {
            out.push('{');
            // Fields that fit into a line together stand in one; those of the whole document each begin a line.
            let mut line = None;
            for (number, (name, field)) in fields.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                let name = format!("{}: ", Value::from(name.as_str()));
                let before = out.len();
                if let Some(begin) = line.filter(|_| indent > 0) {
                    out.push(' ');
                    out.push_str(&name);
                    if one_line(field, begin + WIDTH - inner, out) {
                        continue;
                    }
                    out.truncate(before);
                }
                open(out);
                let begin = out.len();
                out.push_str(&name);
                write(field, inner, inner + name.len(), out);
                line = (!out[begin..].contains('\n')).then_some(begin);
            }
            close(indent, '}', out);
        }
        Value::Array(items) if items.iter().all(is_plain) => fill(items, indent, out),
        Value::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                open(out);
                write(item, inner, inner, out);
            }
            close(indent, ']', out);
        }
        plain => out.push_str(&plain.to_string()),
    }
}

fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

fn close(indent: usize, bracket: char, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(bracket);
}

/// Numbers and the like: as many to a line as it takes.
fn fill(items: &[Value], indent: usize, out: &mut String) {
    out.push('[');
    let mut column = WIDTH;
    for (number, item) in items.iter().enumerate() {
        out.push_str(if number > 0 { "," } else { "" });
        let text = item.to_string();
        if column + text.len() + 2 > WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent + 1));
            column = indent + 1;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(&text);
        column += text.len() + 1;
    }
    close(indent, ']', out);
}

/// Writes a value into one line that ends at `most`; false, and something of it, where it is longer.
fn one_line(value: &Value, most: usize, out: &mut String) -> bool {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                if !one_line(item, most, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (number, (name, field)) in fields.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(": ");
                if !one_line(field, most, out) {
                    return false;
                }
            }
            out.push('}');
        }
        // A text may be as long as it likes.
        plain => out.push_str(&plain.to_string()),
    }
    out.len() < most
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_fits_stands_in_one_line_and_all_of_it_is_read_back() {
        let value = json!({
            "a": {"b": [1, 2.5, null], "c": "x\ny"},
            "empty": [[], {}],
            "long": vec![1.0 / 3.0; 12],
            "rows": (0..4).map(|n| json!({"n": n, "name": "r".repeat(40), "more": [n, "z".repeat(20)]})).collect::<Vec<_>>(),
            "text": "w".repeat(150),
        });
        let text = laid_out(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains("\n \"a\": {\"b\": [1, 2.5, null], \"c\": \"x\\ny\"},\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH || line.contains("www")), "{text}");
        assert!(text.lines().count() < 20, "{text}");
    }

    #[test]
    fn short_fields_share_lines_and_those_of_the_document_do_not() {
        let row = json!({"a": 1, "b": [2, 3], "long": "z".repeat(50), "more": "y".repeat(30), "n": {"of": "x".repeat(84)}, "z": 9});
        let text = laid_out(&json!({"first": 1, "rows": [row], "second": 2}));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["rows"][0], row);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(lines.contains(&"\"first\": 1,") && lines.contains(&"\"second\": 2"), "{text}");
        assert!(lines.iter().any(|line| line.starts_with("\"a\": 1, \"b\": [2, 3], \"long\": ")), "{text}");
        assert!(lines.iter().any(|line| line.starts_with("\"more\": ") && line.ends_with("y\",")), "{text}");
        assert!(lines.iter().any(|line| line.ends_with("}, \"z\": 9") || *line == "\"z\": 9"), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }
}
