//! How a client introduces itself to an echo before it sends datagrams: by a token of its own, over a connection that it keeps.
//!
//! The address that a datagram says it comes from may be forged. So an echo answers datagrams only of an address that sent the
//! token of a connection (TCP, same port, same host) and then sent back a word that the echo had sent to it, and only as long
//! as that connection is open. What another service answers, or another echo, has no such connection, and who forged its
//! address does not see the word, so that no two ends can be made to talk for ever.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Bytes of a token.
pub const TOKEN: usize = 16;
const WORDS: usize = 24;
/// Bytes of each message of an introduction.
pub const MESSAGE: usize = WORDS + TOKEN;
/// First bytes of what a client says, on the connection and as its first datagram. No round trip begins so: their bytes begin with
/// the number of the trip, which would be beyond 2^40.
const ASKED: &[u8; WORDS] = b"\0lastrank echo: may I? 2";
/// First bytes of the answer. The highest bit is that of answers, which no echo answers.
const GRANTED: &[u8; WORDS] = b"\x80lastrank echo: go on, 2";
/// How long a client waits before it sends its first datagram again.
const AGAIN: Duration = Duration::from_millis(200);

/// What a client says.
pub fn asked(token: [u8; TOKEN]) -> [u8; MESSAGE] {
    message(ASKED, token)
}

/// What an echo answers.
pub fn granted(token: [u8; TOKEN]) -> [u8; MESSAGE] {
    message(GRANTED, token)
}

fn message(words: &[u8; WORDS], token: [u8; TOKEN]) -> [u8; MESSAGE] {
    let mut bytes = [0; MESSAGE];
    bytes[..WORDS].copy_from_slice(words);
    bytes[WORDS..].copy_from_slice(&token);
    bytes
}

/// Can what begins so still become an introduction?
pub fn may_be_asked(bytes: &[u8]) -> bool {
    bytes.len() <= MESSAGE && bytes.iter().zip(ASKED).all(|(got, said)| got == said)
}

/// The token, where this is what a client says.
pub fn token_of(bytes: &[u8]) -> Option<[u8; TOKEN]> {
    let token = bytes.strip_prefix(ASKED)?;
    token.try_into().ok()
}

/// Introduces this client: over the connection, which is to stay open, and with its first datagram. Both wait for answers
/// as long as their sockets do, at most until `given_up`.
///
/// # Errors
/// Where the other end does not answer, or is an echo of an older version.
pub fn introduce(
    connection: &mut (impl Read + Write),
    socket: &UdpSocket,
    token: [u8; TOKEN],
    given_up: Instant,
) -> Result<()> {
    connection.write_all(&asked(token))?;
    let mut answer = [0; MESSAGE];
    connection.read_exact(&mut answer)?;
    if answer != granted(token) {
        let why = "the echo there is of another version of lastrank, or no echo; start the one of this version there";
        return Err(Error::new(ErrorKind::InvalidData, why));
    }
    let patience = socket.read_timeout()?;
    socket.set_read_timeout(Some(AGAIN))?;
    let mut said = token;
    loop {
        socket.send(&asked(said))?;
        match socket.recv(&mut answer) {
            Ok(MESSAGE) if answer == granted(token) => break,
            // The word that shows that answers arrive here.
            Ok(MESSAGE) if answer.starts_with(GRANTED) => said.copy_from_slice(&answer[WORDS..]),
            // Something else, or nothing yet: datagrams are lost.
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
        if Instant::now() > given_up {
            let why = "connections reach it and datagrams do not: see the firewall between";
            return Err(Error::new(ErrorKind::TimedOut, why));
        }
    }
    socket.set_read_timeout(patience)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_introduction_is_known_as_a_whole_and_by_its_beginning() {
        let token = [7; TOKEN];
        let said = asked(token);
        assert!((0..=MESSAGE).all(|length| may_be_asked(&said[..length])));
        assert_eq!(token_of(&said), Some(token));
        assert_eq!(token_of(&said[..MESSAGE - 1]), None);
        assert_eq!(token_of(&granted(token)), None);
        assert!(!may_be_asked(&granted(token)));
        assert!(!may_be_asked(&[said.as_slice(), &[0]].concat()));
    }
}
