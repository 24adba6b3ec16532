//! Open modes and errnos by name.

/// Flags of `open`, from one of `r w a r+ w+ a+`, or from `O_*` names joined by `|`, `,` or blanks.
///
/// Errors name the word that is not known.
pub fn open_flags(mode: &str) -> Result<i32, String> {
    let text = mode.trim();
    let plain = match text.replace('b', "").as_str() {
        "r" => Some(libc::O_RDONLY),
        "w" => Some(libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC),
        "a" => Some(libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND),
        "r+" => Some(libc::O_RDWR),
        "w+" => Some(libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC),
        "a+" => Some(libc::O_RDWR | libc::O_CREAT | libc::O_APPEND),
        _ => None,
    };
    if let Some(flags) = plain {
        return Ok(flags);
    }
    let words =
        text.split(|c: char| c == '|' || c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let mut flags = 0;
    let mut any = false;
    for word in words {
        any = true;
        flags |= NAMES.iter().find(|(name, _)| *name == word).map(|(_, flag)| *flag).ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("unknown open mode \"{word}\": one of r w a r+ w+ a+, or of {}", names.join(" "))
        })?;
    }
    if any { Ok(flags) } else { Err("an empty open mode: one of r w a r+ w+ a+, or O_* names".into()) }
}

const NAMES: [(&str, i32); 17] = [
    ("O_RDONLY", libc::O_RDONLY),
    ("O_WRONLY", libc::O_WRONLY),
    ("O_RDWR", libc::O_RDWR),
    ("O_CREAT", libc::O_CREAT),
    ("O_EXCL", libc::O_EXCL),
    ("O_TRUNC", libc::O_TRUNC),
    ("O_APPEND", libc::O_APPEND),
    ("O_SYNC", libc::O_SYNC),
    ("O_DSYNC", libc::O_DSYNC),
    ("O_DIRECT", libc::O_DIRECT),
    ("O_NONBLOCK", libc::O_NONBLOCK),
    ("O_NOATIME", libc::O_NOATIME),
    ("O_NOFOLLOW", libc::O_NOFOLLOW),
    ("O_DIRECTORY", libc::O_DIRECTORY),
    ("O_TMPFILE", libc::O_TMPFILE),
    ("O_CLOEXEC", libc::O_CLOEXEC),
    ("O_LARGEFILE", 0),
];

/// The mode of `fallocate`: the table's words without their beginning, in lower case, joined by `|`; nothing is 0.
///
/// Errors name the word that is not known.
pub fn allocation_mode(words: &str) -> Result<i32, String> {
    const BEGINNING: &str = "FALLOC_FL_";
    let set = operations::by_name(b"fallocate").and_then(operations::Entry::flags);
    let known = set.map_or(&[][..], |(_, set)| set.0);
    let name = |flag: &operations::Flag| flag.word.trim_start_matches(BEGINNING).to_lowercase();
    let mut mode = 0;
    for word in words.split('|').map(str::trim).filter(|word| !word.is_empty()) {
        let flag = known.iter().find(|flag| name(flag) == word).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(name).collect();
            format!("unknown mode \"{word}\" of fallocate: words of {}, joined by |", names.join(" "))
        })?;
        mode |= flag.x86.cast_signed();
    }
    // Linux takes no hole that changes the size.
    if mode & libc::FALLOC_FL_PUNCH_HOLE != 0 { Ok(mode | libc::FALLOC_FL_KEEP_SIZE) } else { Ok(mode) }
}

/// Can a file opened like this change anything?
pub fn writes(flags: i32) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

/// Does a file opened like this serve nothing but reading, whatever it is?
#[inline(always)]
pub fn only_reads(flags: i32) -> bool {
    let how =
        libc::O_CLOEXEC | libc::O_DIRECT | libc::O_SYNC | libc::O_DSYNC | libc::O_NONBLOCK | libc::O_NOATIME;
    flags & !how == libc::O_RDONLY
}

/// The short name of an errno (`ENOSPC`), and the system's words for it.
pub fn errno_text(errno: i32) -> String {
    let words = std::io::Error::from_raw_os_error(errno).to_string();
    let words = words.split(" (os error").next().unwrap_or_default().to_owned();
    match errno_name(errno) {
        Some(name) => format!("{name}, {}", lower_first(&words)),
        None => format!("errno {errno}, {}", lower_first(&words)),
    }
}

/// The same of what failed in `operation`: of a read that there was no more to read.
pub fn failure_text(errno: i32, operation: &str) -> String {
    // Of an extended attribute that is not there it means something else.
    match errno == libc::ENODATA && !operation.contains("xattr") {
        true => "ENODATA, the file ended early".to_owned(),
        false => errno_text(errno),
    }
}

fn lower_first(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The short name of an errno: `ENOSPC`.
pub fn errno_name(errno: i32) -> Option<&'static str> {
    ERRNOS.iter().find(|(number, _)| *number == errno).map(|(_, name)| *name)
}

macro_rules! errnos {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

const ERRNOS: &[(i32, &str)] = errnos!(
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY
    EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK
    EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ENODATA ETIME EREMOTE ECOMM EPROTO
    EBADMSG EOVERFLOW EILSEQ EOPNOTSUPP ECONNABORTED ECONNRESET ENOBUFS ENOTCONN ESHUTDOWN ETIMEDOUT
    ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN EREMOTEIO EDQUOT ECANCELED
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_fallocate_are_those_of_the_table_and_a_hole_keeps_the_size() {
        assert_eq!(allocation_mode(""), Ok(0));
        let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        assert_eq!(allocation_mode("punch_hole"), Ok(hole));
        assert_eq!(allocation_mode("keep_size | punch_hole"), Ok(hole));
        assert_eq!(allocation_mode("zero_range"), Ok(libc::FALLOC_FL_ZERO_RANGE));
        assert_eq!(allocation_mode("insert_range"), Ok(libc::FALLOC_FL_INSERT_RANGE));
        assert!(allocation_mode("punch").unwrap_err().contains("\"punch\""));
    }

    #[test]
    fn modes_of_both_kinds_are_read() {
        assert_eq!(open_flags("r"), Ok(libc::O_RDONLY));
        assert_eq!(open_flags("a+"), Ok(libc::O_RDWR | libc::O_CREAT | libc::O_APPEND));
        let wanted = libc::O_WRONLY | libc::O_CREAT | libc::O_SYNC;
        assert_eq!(open_flags("O_WRONLY|O_CREAT|O_SYNC"), Ok(wanted));
        assert_eq!(open_flags(" O_WRONLY O_CREAT, O_SYNC "), Ok(wanted));
    }

    #[test]
    fn an_unknown_mode_is_named() {
        assert!(open_flags("O_RDNLY").expect_err("wrong").starts_with("unknown open mode \"O_RDNLY\""));
        assert!(open_flags("  ").is_err());
    }

    #[test]
    fn an_errno_is_told_by_name() {
        assert_eq!(errno_text(libc::ENOSPC), "ENOSPC, no space left on device");
        assert_eq!(failure_text(libc::ENOSPC, "write"), errno_text(libc::ENOSPC));
        assert_eq!(failure_text(libc::ENODATA, "fread"), "ENODATA, the file ended early");
        assert_eq!(failure_text(libc::ENODATA, "getxattr"), errno_text(libc::ENODATA));
    }
}
