//! Takes names of files apart.

/// The index of the last slash in `path`. The C library looks at many bytes at a time.
#[inline]
pub fn last_slash(path: &[u8]) -> Option<usize> {
    // SAFETY: reads the bytes of `path` only; the result is null or points to one of them.
    let found = unsafe { libc::memrchr(path.as_ptr().cast(), i32::from(b'/'), path.len()) };
    (!found.is_null()).then(|| found.addr() - path.as_ptr().addr())
}

#[cfg(test)]
mod tests {
    use super::last_slash;

    #[test]
    fn the_last_slash_is_found() {
        let long = [b"a/".repeat(100), b"b".repeat(100)].concat();
        for path in [&b""[..], b"a", b"/", b"a/", b"/a", b"a/b/c", b"a//", &long] {
            assert_eq!(last_slash(path), path.iter().rposition(|byte| *byte == b'/'), "{path:?}");
        }
    }
}
