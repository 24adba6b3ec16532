//! Reads the messages of an editor, each of bounded length, and writes the answers, on threads of their own.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::thread::JoinHandle;

use lsp_server::{Connection, Message};

/// Bytes of the longest message: a program of 256 MiB is refused elsewhere, and an editor sends no such text.
const LONGEST: u64 = 64 << 20;
/// Bytes of the lines before a message.
const LONGEST_HEAD: usize = 4096;

/// The threads behind a [`Connection`].
pub struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

/// A connection with the editor on standard input and output.
pub fn connection() -> (Connection, Threads) {
    let (server, Connection { sender, receiver }) = Connection::memory();
    let reader = std::thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Some(message) = message(&mut input)? {
            let is_exit = matches!(&message, Message::Notification(it) if it.method == "exit");
            if sender.send(message).is_err() || is_exit {
                break;
            }
        }
        Ok(())
    });
    let writer = std::thread::spawn(move || {
        let mut output = io::stdout();
        receiver.into_iter().try_for_each(|message| message.write(&mut output))
    });
    (server, Threads { reader, writer })
}

impl Threads {
    /// Waits until the editor has said goodbye.
    ///
    /// # Errors
    /// What broke a pipe, or was no message.
    pub fn join(self) -> io::Result<()> {
        let broken = |_| io::Error::from(ErrorKind::Other);
        self.reader.join().map_err(broken)??;
        self.writer.join().map_err(broken)?
    }
}

/// The next message; `None` at the end of the input. No more is read, or held, than a message may have.
pub fn message(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let wrong = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_owned());
    let mut frame = Vec::new();
    let mut length = None;
    loop {
        let begin = frame.len();
        input.by_ref().take((LONGEST_HEAD + 1) as u64).read_until(b'\n', &mut frame)?;
        if frame.is_empty() {
            return Ok(None);
        }
        if frame.len() > LONGEST_HEAD || frame.last() != Some(&b'\n') {
            return Err(wrong("what stands before a message has no end"));
        }
        let line = String::from_utf8_lossy(&frame[begin..]);
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let length = length.ok_or_else(|| wrong("a message without a length"))?;
    if length > LONGEST {
        return Err(wrong("a message of more than 64 MiB"));
    }
    let head = frame.len() as u64;
    input.by_ref().take(length).read_to_end(&mut frame)?;
    if frame.len() as u64 != head + length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Message::read(&mut &frame[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_one_by_one_and_strange_ones_are_errors_within_bounds() {
        let hello = r#"{"jsonrpc":"2.0","method":"hello","params":null}"#;
        let framed = format!("Content-Length: {}\r\n\r\n{hello}", hello.len());
        let mut two = framed.repeat(2);
        two.push_str("Content-Length: 5\r\n\r\n{}");
        let mut input = two.as_bytes();
        assert!(matches!(message(&mut input), Ok(Some(Message::Notification(_)))));
        assert!(matches!(message(&mut input), Ok(Some(_))));
        assert_eq!(message(&mut input).map_err(|error| error.kind()).unwrap_err(), ErrorKind::UnexpectedEof);
        assert!(matches!(message(&mut &b""[..]), Ok(None)));
        for strange in [
            "Content-Length: 18446744073709551615\r\n\r\n{}".to_owned(),
            "Content-Length: 99999999999999999999\r\n\r\n{}".to_owned(),
            "Content-Length: -1\r\n\r\n{}".to_owned(),
            "\r\n\r\n".to_owned(),
            "x".repeat(1 << 20),
            "Content-Length: 2\r\n\r\n[]".to_owned(),
            format!("{}\r\n", "a: b\r\n".repeat(10_000)),
        ] {
            assert!(message(&mut strange.as_bytes()).is_err(), "{:.60}", strange);
        }
    }
}
