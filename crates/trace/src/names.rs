//! Absolute names, as bytes.

/// `name` counted from `from`, without `.`, `..` and double slashes. Of a name above the root the root is left.
pub fn resolve(from: &[u8], name: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(from.len() + name.len() + 2);
    let whole: [&[u8]; 2] = if name.first() == Some(&b'/') { [b"", name] } else { [from, name] };
    for part in whole.iter().flat_map(|half| half.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => out.truncate(out.iter().rposition(|byte| *byte == b'/').unwrap_or(0)),
            part => {
                out.push(b'/');
                out.extend_from_slice(part);
            }
        }
    }
    if out.is_empty() {
        out.push(b'/');
    }
    out
}

/// The name without its last part; of `/a` the empty name.
pub fn parent(name: &[u8]) -> &[u8] {
    &name[..name.iter().rposition(|byte| *byte == b'/').unwrap_or(0)]
}

/// Whether `name` is `above` or lies below it.
pub fn is_below(name: &[u8], above: &[u8]) -> bool {
    match name.strip_prefix(above) {
        Some(rest) => rest.is_empty() || rest[0] == b'/' || above.last() == Some(&b'/'),
        None => false,
    }
}

/// Begins a name that is a text of its own, such as the target of a symbolic link, and not below `$dir`.
pub const RAW: &[u8] = b"\0";

/// The text of a symbolic link for a program. Of an absolute one both that it may have, of which [`which_text`] chooses.
pub fn link_text(link: &[u8], target: &[u8]) -> Vec<u8> {
    let mut out = RAW.to_vec();
    if target.first() != Some(&b'/') {
        out.extend_from_slice(target);
        return out;
    }
    let target = resolve(b"/", target);
    let mut above = parent(link).to_vec();
    while !is_below(&target, &above) && !above.is_empty() {
        out.extend_from_slice(b"../");
        above.truncate(parent(&above).len());
    }
    let rest = target.strip_prefix(above.as_slice()).unwrap_or(&target);
    out.extend_from_slice(rest.strip_prefix(b"/").unwrap_or(rest));
    [out.as_slice(), &target].join(RAW)
}

/// Of what [`link_text`] gave, without its beginning: an absolute text counts from the link where it leads to what the program
/// `has`, since its tree lies elsewhere; anywhere else it leads to what the link of the application led to.
pub fn which_text(text: &[u8], has: impl FnOnce(&[u8]) -> bool) -> &[u8] {
    match text.iter().position(|byte| *byte == RAW[0]) {
        Some(middle) if has(&text[middle + 1..]) => &text[..middle],
        Some(middle) => &text[middle + 1..],
        None => text,
    }
}

/// Which names a program has below its directory.
pub struct NameSet<'a> {
    sorted: Vec<&'a [u8]>,
}

impl<'a> NameSet<'a> {
    /// Of these.
    pub fn of(names: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut sorted: Vec<_> = names.collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    /// Is it one of them, or a directory above one?
    pub fn has(&self, name: &[u8]) -> bool {
        let below = [name, b"/"].concat();
        let next = self.sorted.partition_point(|one| *one < below.as_slice());
        self.sorted.get(next).is_some_and(|one| one.starts_with(&below))
            || self.sorted.binary_search(&name).is_ok()
    }
}

/// A name as text: characters that control a terminal or the order of text, bytes that are no UTF-8, backslashes and what looks like such an escape become
/// `%XX`, so that two names never become one.
pub fn escape(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let text = chunk.valid();
        for (at, sign) in text.char_indices() {
            let digits = text[at..].bytes().skip(1).take(2).filter(u8::is_ascii_hexdigit).count();
            if ppl::commands_a_terminal(sign)
                || sign.is_control()
                || sign == '\\'
                || sign == '%' && digits == 2
            {
                let mut bytes = [0; 4];
                for byte in sign.encode_utf8(&mut bytes).bytes() {
                    out += &format!("%{byte:02X}");
                }
            } else {
                out.push(sign);
            }
        }
        for byte in chunk.invalid() {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

/// The name that [`escape`] made a text of.
pub fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let value = escaped
            .filter(|two| two.iter().all(u8::is_ascii_hexdigit))
            .and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match value {
            Some(value) => {
                out.push(value);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn relative_and_absolute_names_are_one_tree() {
        assert_eq!(resolve(b"/home/u", b"a/./b/../c"), b"/home/u/a/c");
        assert_eq!(resolve(b"/home/u", b"/x//y/"), b"/x/y");
        assert_eq!(resolve(b"/a", b"../../.."), b"/");
        assert_eq!(parent(b"/a/b"), b"/a");
        assert!(is_below(b"/a/b", b"/a") && is_below(b"/a", b"/a") && !is_below(b"/ab", b"/a"));
    }

    #[test]
    fn names_that_are_no_text_are_written_as_one() {
        assert_eq!(escape(b"a\nb"), "a%0Ab");
        assert_eq!(escape(b"a%0Ab 100%"), "a%250Ab 100%");
        assert_eq!(escape(b"\xff\xc3\xa9"), "%FF\u{e9}");
        assert_eq!(escape(b"a\"b$c"), "a\"b$c");
    }

    #[test]
    fn an_absolute_link_counts_from_itself_only_where_it_leads_to_what_the_program_has() {
        let names = NameSet::of([&b"/w/a/f"[..], b"/w/a-b", b"/w/l"].into_iter());
        let text = |target: &[u8]| {
            let both = link_text(b"/w/s/l", target);
            which_text(both.strip_prefix(RAW).unwrap(), |target| names.has(target)).to_vec()
        };
        assert_eq!(text(b"/w/a/f"), b"../a/f");
        assert_eq!(text(b"/w/./a/"), b"../a", "a directory above a name");
        assert_eq!(text(b"/usr/bin/env"), b"/usr/bin/env");
        assert_eq!(text(b"/w/a/g"), b"/w/a/g");
        assert_eq!(text(b"../../f.1"), b"../../f.1");
        assert!(names.has(b"/w/a") && !names.has(b"/w/a/") && !names.has(b"/w/a-"));
    }

    proptest! {
        #[test]
        fn a_name_comes_back_from_its_text(name in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unescape(&escape(&name)), name);
        }
    }
}
