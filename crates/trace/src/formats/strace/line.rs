//! Cuts a line of strace into its parts, as bytes.

use crate::input::{digits, nanoseconds, whole};

/// Arguments of a call that are kept; no call of Linux has more than six, and `clone` is written with names.
const MOST_ARGUMENTS: usize = 16;

/// The arguments of a call.
#[derive(Default)]
struct CallTexts<'a> {
    texts: [&'a [u8]; MOST_ARGUMENTS],
    count: usize,
}

impl<'a> CallTexts<'a> {
    fn push(&mut self, text: &'a [u8]) {
        if let Some(place) = self.texts.get_mut(self.count) {
            *place = trim(text);
            self.count += 1;
        }
    }
}

/// Thread, time and the rest of a line.
pub struct Head<'a> {
    /// 0 where the trace names none.
    pub thread: u32,
    /// Nanoseconds, where the line has a time.
    pub time: Option<u64>,
    /// They are since the line before (`strace -r`).
    pub is_relative: bool,
    /// The call.
    pub rest: &'a [u8],
}

/// What the rest of a line is.
pub enum Line<'a> {
    /// A whole call.
    Call,
    /// The beginning of a call during which another thread ran.
    Unfinished(&'a [u8]),
    /// Its end.
    Resumed(&'a [u8]),
    /// The thread ended.
    Exited,
    /// A signal, or a message of strace.
    Signal,
}

/// One call, cut into its parts.
pub struct LineParts<'a> {
    pub name: &'a [u8],
    arguments: CallTexts<'a>,
    /// What it returned; `None` where the line says `?`.
    pub result: Option<i64>,
    /// Where the resulting descriptor leads (`-y`).
    pub leads_to: Option<Vec<u8>>,
    pub errno: u16,
    /// A signal broke it off; it comes again.
    pub broken_off: bool,
    /// How long it took, in nanoseconds.
    pub duration: u64,
    /// The line says so.
    pub has_duration: bool,
}

fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// Thread, time and rest of a line; `None` of what is none of strace.
pub fn head(line: &[u8]) -> Option<Head<'_>> {
    let mut rest = trim(line);
    let mut thread = 0;
    if let Some(inside) = rest.strip_prefix(b"[pid") {
        let end = inside.iter().position(|byte| *byte == b']')?;
        thread = u32::try_from(whole(&inside[..end])?).ok()?;
        rest = trim(&inside[end + 1..]);
    } else if let Some((first, after)) = word(rest)
        && first.iter().all(u8::is_ascii_digit)
        && let Some(number) = whole(first).and_then(|number| u32::try_from(number).ok())
    {
        thread = number;
        rest = after;
    }
    let (first, after) = word(rest)?;
    match clock(first) {
        Some(time) => {
            let is_relative = is_relative(line, rest, first);
            Some(Head { thread, time: Some(time), is_relative, rest: without_relative(after) })
        }
        None if first[0].is_ascii_alphabetic() || matches!(first[0], b'<' | b'+' | b'-' | b'_') => {
            Some(Head { thread, time: None, is_relative: false, rest })
        }
        None => None,
    }
}

/// Whether `first`, with which `rest` of a line begins, is a time since the line before: seconds are padded to six signs then.
fn is_relative(line: &[u8], rest: &[u8], first: &[u8]) -> bool {
    const WIDTH: usize = 6;
    let seconds = first.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = line.trim_ascii_end().len();
    let before = &line[..end.saturating_sub(rest.len())];
    let padded = before.iter().rev().take_while(|byte| **byte == b' ').count();
    first.get(seconds) == Some(&b'.') && padded > 1 && padded + seconds >= WIDTH && seconds <= WIDTH
}

/// What follows a time without the one since the line before: `(+     0.000012) openat(`.
fn without_relative(after: &[u8]) -> &[u8] {
    let inside = after.strip_prefix(b"(+");
    let behind =
        inside.and_then(|inside| inside.iter().position(|byte| *byte == b')').map(|end| &inside[end + 1..]));
    behind.map_or(after, trim)
}

/// The first word and what follows it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b' ')?;
    (end > 0).then(|| (&text[..end], trim(&text[end..])))
}

/// A time: `1595.000123`, `10:20:30` or `10:20:30.000123`.
fn clock(word: &[u8]) -> Option<u64> {
    if !word[0].is_ascii_digit() {
        return None;
    }
    let parts: Vec<&[u8]> = word.split(|byte| *byte == b':').collect();
    match parts[..] {
        [seconds] => nanoseconds(seconds),
        [hours, minutes, seconds] => {
            let minutes = whole(hours)?.checked_mul(60)?.checked_add(whole(minutes)?)?;
            minutes.checked_mul(60_000_000_000)?.checked_add(nanoseconds(seconds)?)
        }
        _ => None,
    }
}

/// Whether the line looks like a call.
pub fn is_call(line: &[u8]) -> bool {
    let Some(head) = head(line) else { return false };
    match kind(head.rest) {
        Line::Call => call(head.rest).is_some(),
        Line::Unfinished(_) | Line::Resumed(_) => true,
        Line::Exited | Line::Signal => false,
    }
}

/// What the rest of a line is.
pub fn kind(rest: &[u8]) -> Line<'_> {
    if let Some(begun) = rest.strip_suffix(b"<unfinished ...>") {
        return Line::Unfinished(begun.trim_ascii_end());
    }
    if let Some(resumed) = rest.strip_prefix(b"<... ") {
        let at = resumed.windows(8).position(|window| window == b"resumed>");
        return match at {
            Some(at) => Line::Resumed(&resumed[at + 8..]),
            None => Line::Signal,
        };
    }
    match rest {
        [b'+', b'+', b'+', ..] => Line::Exited,
        [b'-', b'-', b'-', ..] => Line::Signal,
        rest if rest.starts_with(b"strace: ") => Line::Signal,
        _ => Line::Call,
    }
}

/// The arguments of a call, split at the commas outside of strings and brackets, and what follows the bracket.
fn arguments(text: &[u8]) -> Option<(CallTexts<'_>, &[u8])> {
    let mut out = CallTexts::default();
    let rest = arguments_into(text, &mut out)?;
    Some((out, rest))
}

/// Adds the arguments that are whole to `out`; what follows the bracket, where the line has one.
fn arguments_into<'a>(text: &'a [u8], out: &mut CallTexts<'a>) -> Option<&'a [u8]> {
    let (mut from, mut depth, mut at) = (0, 0_i32, 0);
    while at < text.len() {
        match text[at] {
            b'"' => at = end_of_string(text, at)?,
            b'<' if at > 0 && opens_path(text, at) => at = end_of_path(text, at)?,
            b'/' if text[at..].starts_with(b"/*") => {
                at += text[at..].windows(2).position(|window| window == b"*/")? + 1;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                out.push(&text[from..at]);
                return Some(&text[at + 1..]);
            }
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                out.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the string that begins at `at` ends.
fn end_of_string(text: &[u8], at: usize) -> Option<usize> {
    let mut here = at + 1;
    while here < text.len() {
        match text[here] {
            b'\\' => here += 1,
            b'"' => return Some(here),
            _ => {}
        }
        here += 1;
    }
    None
}

/// Whether a `<` begins the path of a descriptor: `3</path>`, `AT_FDCWD</path>`, `4<pipe:[5]>`.
fn opens_path(text: &[u8], at: usize) -> bool {
    (text[at - 1].is_ascii_digit() || text[at - 1] == b'D')
        && text.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'/' | b'\\'))
}

/// Where the path in angle brackets that begins at `at` ends.
fn end_of_path(text: &[u8], at: usize) -> Option<usize> {
    let is_path = matches!(text.get(at + 1), Some(b'/' | b'\\'));
    let mut depth = 0_i32;
    for (here, byte) in text.iter().enumerate().skip(at + 1) {
        match byte {
            b'[' if !is_path => depth += 1,
            b']' if !is_path => depth -= 1,
            b'>' if depth <= 0 => return Some(here),
            _ => {}
        }
    }
    None
}

/// The call that `text` holds: `name(arguments) = result errno (words) <seconds>`.
pub fn call(text: &[u8]) -> Option<LineParts<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let name = &text[..open];
    if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let (arguments, rest) = arguments(&text[open + 1..])?;
    let rest = trim(trim(rest).strip_prefix(b"=")?);
    let duration = match (rest.iter().rposition(|byte| *byte == b'<'), rest.strip_suffix(b">")) {
        (Some(at), Some(whole)) => nanoseconds(&whole[at + 1..]),
        _ => None,
    };
    let (duration, has_duration) = (duration.unwrap_or(0), duration.is_some());
    let number_end = rest.iter().position(|byte| matches!(byte, b' ' | b'<')).unwrap_or(rest.len());
    let number = &rest[..number_end];
    let after = &rest[number_end..];
    let leads_to = match after.first() {
        Some(b'<') => end_of_path(after, 0).map(|end| unescape(&after[1..end])),
        _ => None,
    };
    let failed = matches!(number.first(), Some(b'-' | b'?'));
    let word = std::str::from_utf8(trim(after)).unwrap_or("").split([' ', '(']).next();
    let (errno, broken_off) = match word.filter(|_| failed) {
        Some(word) if word.starts_with("ERESTART") => (0, true),
        Some(word) => (u16::try_from(ppl::errno::number(word).unwrap_or(0)).unwrap_or(0), false),
        None => (0, false),
    };
    let result = match number {
        b"?" => None,
        [b'0', b'x', hex @ ..] => {
            Some(i64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).unwrap_or(i64::MAX))
        }
        number => Some(signed(number)?),
    };
    // An errno that is not in the table still is a failure.
    let errno = if result.is_some_and(|result| result < 0) && errno == 0 { 5 } else { errno };
    Some(LineParts { name, arguments, result, leads_to, errno, broken_off, duration, has_duration })
}

/// Whether the text, which is no whole call, begins as one.
pub fn begins_call(text: &[u8]) -> bool {
    let name = text.iter().position(|byte| *byte == b'(').map(|open| &text[..open]);
    name.is_some_and(|name| {
        !name.is_empty()
            && name.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_')
    })
}

/// What is left of a call whose line is cut: its name, and the arguments that are whole.
pub fn cut_call(text: &[u8]) -> Option<LineParts<'_>> {
    let open = text.iter().position(|byte| *byte == b'(').filter(|_| begins_call(text))?;
    let mut arguments = CallTexts::default();
    arguments_into(&text[open + 1..], &mut arguments);
    Some(LineParts {
        name: &text[..open],
        arguments,
        result: None,
        leads_to: None,
        errno: 0,
        broken_off: false,
        duration: 0,
        has_duration: false,
    })
}

/// The descriptor that a call which has only begun closes.
pub fn closes(begun: &[u8]) -> Option<i32> {
    let argument = begun.strip_prefix(b"close(")?;
    let end = argument.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(argument.len());
    i32::try_from(digits(&argument[..end])?).ok()
}

/// How long a call took, in nanoseconds, that gave a descriptor; 0 of others.
pub fn gives_descriptor_after(rest: &[u8]) -> u64 {
    const GIVING: [&[u8]; 6] = [b"open", b"creat", b"dup", b"pipe", b"socket", b"accept"];
    if !GIVING.iter().any(|name| rest.starts_with(name)) {
        return 0;
    }
    call(rest).map_or(0, |call| call.duration)
}

/// A whole number in decimal that may be negative.
fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(text) => 0_i64.checked_sub_unsigned(digits(text)?),
        None => i64::try_from(digits(text)?).ok(),
    }
}

impl<'a> LineParts<'a> {
    /// The text of an argument, from 0.
    pub fn argument(&self, at: usize) -> &'a [u8] {
        self.arguments.texts.get(at).copied().unwrap_or(b"")
    }

    /// An argument that is a whole number: decimal, octal or hexadecimal.
    pub fn number(&self, at: usize) -> Option<u64> {
        number(self.argument(at))
    }

    /// An argument that is a pointer to a whole number: `[0]`, or `[0] => [4096]` of one that the call changed.
    pub fn pointed(&self, at: usize) -> Option<u64> {
        number(self.argument(at).strip_prefix(b"[")?.split(|byte| *byte == b']').next()?)
    }

    /// An argument that is a descriptor: `3`, or `3</path>` with `-y`; `0xffffff9c` with `-X raw`.
    pub fn descriptor(&self, at: usize) -> Option<i32> {
        let digits = self.argument(at).split(|byte| matches!(byte, b'<' | b' ')).next()?;
        match digits.strip_prefix(b"0x") {
            Some(_) => number(digits).map(|bits| bits as i32),
            None => i32::try_from(signed(digits)?).ok(),
        }
    }

    /// Where a descriptor argument leads, with `-y`.
    pub fn path_of(&self, at: usize) -> Option<Vec<u8>> {
        let text = self.argument(at);
        let open = text.iter().position(|byte| *byte == b'<')?;
        let inside = text[open + 1..].strip_suffix(b">")?;
        Some(unescape(inside))
    }

    /// An argument that is a string, without its escapes.
    pub fn string(&self, at: usize) -> Option<Vec<u8>> {
        let text = self.argument(at);
        let inner = text.strip_prefix(b"\"")?;
        let end = inner.iter().rposition(|byte| *byte == b'"')?;
        Some(unescape(&inner[..end]))
    }

    /// An argument as text; empty where it is none.
    pub fn words(&self, at: usize) -> &'a str {
        std::str::from_utf8(self.argument(at)).unwrap_or("")
    }

    /// Whether any argument contains `word`.
    pub fn mentions(&self, word: &[u8]) -> bool {
        self.arguments.texts.iter().any(|argument| argument.windows(word.len()).any(|window| window == word))
    }
}

/// A whole number: decimal, octal or hexadecimal.
pub fn number(text: &[u8]) -> Option<u64> {
    let based = |digits: &[u8], base| u64::from_str_radix(std::str::from_utf8(digits).ok()?, base).ok();
    match text {
        [b'0', b'x', rest @ ..] => based(rest, 16),
        [b'0', rest @ ..] if !rest.is_empty() => based(rest, 8),
        _ => digits(text),
    }
}

/// What strace wrote, without its escapes: `\"`, `\n`, `\303`, `\x2f`.
pub fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        if byte != b'\\' || at == text.len() {
            out.push(byte);
            continue;
        }
        let escape = text[at];
        at += 1;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'v' => out.push(0x0b),
            b'f' => out.push(0x0c),
            b'x' => {
                let digits = text.get(at..at + 2).and_then(|two| std::str::from_utf8(two).ok());
                match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
                    Some(value) => {
                        out.push(value);
                        at += 2;
                    }
                    None => out.push(b'x'),
                }
            }
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    match text.get(at) {
                        Some(digit @ b'0'..=b'7') => {
                            value = value * 8 + u32::from(digit - b'0');
                            at += 1;
                        }
                        _ => break,
                    }
                }
                out.push(value as u8);
            }
            other => out.push(other),
        }
    }
    out
}
