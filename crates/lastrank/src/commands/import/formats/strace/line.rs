//! Cuts a line of strace into the parts of a call.

/// One call, cut into its parts.
pub struct Call<'a> {
    pub process: u32,
    /// Seconds since 1970.
    pub start: f64,
    pub name: &'a str,
    arguments: Vec<&'a str>,
    pub result: i64,
    pub errno: Option<&'a str>,
    /// How long it took.
    pub seconds: f64,
}

impl<'a> Call<'a> {
    /// The text of an argument, from 0.
    pub fn argument(&self, at: usize) -> Option<&'a str> {
        self.arguments.get(at).copied()
    }

    /// An argument that is a whole number.
    pub fn number(&self, at: usize) -> Option<u64> {
        self.argument(at)?.parse().ok()
    }

    /// An argument that is a descriptor: `3`, or `3</path>` with `-y`; none of `AT_FDCWD`.
    pub fn descriptor(&self, at: usize) -> Option<i64> {
        self.argument(at)?.split('<').next()?.parse().ok()
    }

    /// An argument that is a string, without its escapes.
    pub fn string(&self, at: usize) -> Option<String> {
        string(self.argument(at)?)
    }

    /// Whether any argument contains `word`.
    pub fn mentions(&self, word: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(word))
    }

    /// Bytes that the call moved, or another number that it returned; 0 of one that failed.
    pub fn amount(&self) -> u64 {
        u64::try_from(self.result).unwrap_or(0)
    }
}

/// Whether the line looks like a call.
pub fn is_call(line: &str) -> bool {
    let (_, _, rest) = match head(line) {
        Some(parts) => parts,
        None => return false,
    };
    rest.find('(')
        .is_some_and(|at| rest[..at].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        && rest.contains(" = ")
}

/// Process, seconds, and the rest of a line.
pub fn head(line: &str) -> Option<(u32, f64, &str)> {
    let mut rest = line.trim();
    let mut process = 0;
    if let Some(inside) = rest.strip_prefix("[pid") {
        let (number, after) = inside.split_once(']')?;
        process = number.trim().parse().ok()?;
        rest = after.trim_start();
    } else if let Some((first, after)) = rest.split_once(' ')
        && let Ok(number) = first.parse::<u32>()
    {
        process = number;
        rest = after.trim_start();
    }
    match rest.split_once(' ') {
        Some((stamp, after)) if stamp.contains('.') => {
            Some((process, stamp.parse().ok()?, after.trim_start()))
        }
        _ => None,
    }
}

/// The arguments of a call, split at the commas outside of strings and brackets.
fn arguments(text: &str) -> Vec<&str> {
    let (mut out, mut from, mut depth, mut inside, mut escaped) = (Vec::new(), 0, 0_i32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ if inside => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                out.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[from..].trim());
    out
}

/// The call that `text` holds: `name(arguments) = result errno (words) <seconds>`.
pub fn call(process: u32, start: f64, text: &str) -> Option<Call<'_>> {
    let open = text.find('(')?;
    let name = &text[..open];
    let equals = text.rfind(" = ")?;
    let inner = text[open + 1..equals].trim_end().strip_suffix(')')?;
    let mut words = text[equals + 3..].split_whitespace();
    let number = words.next()?;
    // `3</path>` with -y, `0x7f…` for addresses.
    let digits = number.split('<').next()?;
    let result = digits.parse().unwrap_or(0);
    let errno = (result < 0).then(|| words.next()).flatten();
    let seconds =
        text.rsplit_once('<').and_then(|(_, last)| last.strip_suffix('>')?.parse().ok()).unwrap_or(0.0);
    Some(Call { process, start, name, arguments: arguments(inner), result, errno, seconds })
}

/// What stands in quotes, without its escapes.
fn string(argument: &str) -> Option<String> {
    let inner = argument.strip_prefix('"')?;
    let inner = &inner[..inner.rfind('"')?];
    let mut out = Vec::new();
    let mut bytes = inner.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next()? {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            first @ b'0'..=b'7' => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    match bytes.peek() {
                        Some(digit @ b'0'..=b'7') => {
                            value = value * 8 + u32::from(digit - b'0');
                            bytes.next();
                        }
                        _ => break,
                    }
                }
                out.push(value as u8);
            }
            other => out.push(other),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}
