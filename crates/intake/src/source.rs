//! From bytes to text: packed files, text in two bytes a character, and kinds of files that are no text.

use std::io::{BufRead, BufReader, Cursor, Read};

use encoding_rs::{Decoder, UTF_16BE, UTF_16LE};

use crate::Error;

/// Bytes that are looked at to tell what a file is.
const HEAD: usize = 1 << 16;

/// Memory that a packed file may ask for: windows of zstd of 128 MiB, as its own tool permits; xz needs 65 MiB at `-9`.
const WINDOW_BITS: u32 = 27;
const XZ_KIB: u32 = 256 << 10;

/// Files that are no text: how they begin, what they are, and the way out.
const REFUSED: [(&[u8], &str); 7] = [
    (b"BZh", "packed by bzip2: give `bzip2 -dc FILE | lastrank … -`"),
    (b"PK\x03\x04", "a ZIP archive (or a spreadsheet): unpack it, or save the sheet as CSV"),
    (
        b"ARROW1",
        "Arrow IPC (Feather), which Python converts: python3 -c \"import pyarrow.feather as f, pyarrow.parquet as p; \
         p.write_table(f.read_table('FILE'), 'FILE.parquet')\"",
    ),
    (
        b"\x89HDF",
        "HDF5: write the wanted data set as text, for instance `h5dump -d NAME -y -o values.txt FILE`",
    ),
    (b"SQLite format 3", "an SQLite database: sqlite3 -csv -header FILE 'select … from …' | lastrank … -"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"),
];

/// What a file turned out to be.
pub(crate) enum Source<'r> {
    Text(Box<dyn BufRead + 'r>, Vec<u8>),
    Parquet,
    /// An array of NumPy.
    Array(Box<dyn Read + 'r>),
}

/// Recognises packed files and encodings; `name` is for errors.
pub(crate) fn open<'r>(reader: impl Read + 'r, name: &str) -> Result<Source<'r>, Error> {
    let (head, reader) = peeked(reader).map_err(|cause| Error::io(name, cause))?;
    let unpacked: Box<dyn Read + 'r> = if head.starts_with(b"\x1f\x8b") {
        Box::new(flate2::read::MultiGzDecoder::new(reader))
    } else if head.starts_with(b"\x28\xb5\x2f\xfd") {
        let decoder = zstd::stream::read::Decoder::new(reader);
        let mut decoder = decoder.map_err(|error| damaged(name, "zstd", &error.to_string()))?;
        decoder.window_log_max(WINDOW_BITS).map_err(|error| damaged(name, "zstd", &error.to_string()))?;
        Box::new(decoder)
    } else if head.starts_with(b"\xfd7zXZ\0") {
        Box::new(lzma_rust2::XzReader::new_mem_limit(reader, true, XZ_KIB))
    } else {
        return text(reader, head, name);
    };
    let (head, reader) =
        peeked(unpacked).map_err(|cause| damaged(name, "packed data", &cause.to_string()))?;
    match head.starts_with(b"PAR1") {
        true => Err(Error::Refused { name: name.into(), what: "packed Parquet: unpack it first".into() }),
        false => text(reader, head, name),
    }
}

fn damaged(name: &str, what: &str, why: &str) -> Error {
    Error::Damaged { name: name.into(), what: format!("its {what} cannot be unpacked ({why})") }
}

fn peeked<'r>(mut reader: impl Read + 'r) -> std::io::Result<(Vec<u8>, Box<dyn Read + 'r>)> {
    let mut head = Vec::new();
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(reader))))
}

fn text<'r>(reader: Box<dyn Read + 'r>, head: Vec<u8>, name: &str) -> Result<Source<'r>, Error> {
    if head.starts_with(b"PAR1") {
        return Ok(Source::Parquet);
    }
    if head.starts_with(crate::array::MAGIC) {
        return Ok(Source::Array(reader));
    }
    if let Some((_, what)) = REFUSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(Error::Refused { name: name.into(), what: (*what).into() });
    }
    // A text without a mark has a zero byte in each character of ASCII.
    let zeros =
        |odd: usize| head.len() > 3 && (0..4.min(head.len())).all(|at| (head[at] == 0) == (at % 2 == odd));
    let wide = match &head[..] {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ if zeros(1) => Some(UTF_16LE),
        _ if zeros(0) => Some(UTF_16BE),
        _ => None,
    };
    let Some(encoding) = wide else {
        return Ok(Source::Text(Box::new(BufReader::with_capacity(HEAD, reader)), head));
    };
    let decoded =
        Decoded { reader, decoder: encoding.new_decoder(), ready: Cursor::new(Vec::new()), ended: false };
    let (head, decoded) = peeked(decoded).map_err(|cause| Error::io(name, cause))?;
    Ok(Source::Text(Box::new(BufReader::with_capacity(HEAD, decoded)), head))
}

/// UTF-16 as UTF-8.
struct Decoded<'r> {
    reader: Box<dyn Read + 'r>,
    decoder: Decoder,
    ready: Cursor<Vec<u8>>,
    ended: bool,
}

impl Read for Decoded<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.ready.read(to)?;
            if read > 0 || self.ended || to.is_empty() {
                return Ok(read);
            }
            let mut bytes = [0; 1 << 13];
            let read = self.reader.read(&mut bytes)?;
            self.ended = read == 0;
            let most = self.decoder.max_utf8_buffer_length(read).unwrap_or(4 * bytes.len());
            let mut text = vec![0; most];
            let (_, _, written, _) = self.decoder.decode_to_utf8(&bytes[..read], &mut text, self.ended);
            text.truncate(written);
            self.ready = Cursor::new(text);
            if self.ended {
                return self.ready.read(to);
            }
        }
    }
}
