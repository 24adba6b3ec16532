//! Round trips through the network: `lastrank echo` at one end, a program with `net_pingpong` at the other.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{all, program};

/// An echo on a port of its own, ended when it is dropped.
struct Echo {
    child: Child,
    address: String,
}

impl Echo {
    fn start() -> Echo {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lastrank"))
            .args(["echo", "127.0.0.1:0", "--time", "10min"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.split_once("echo at ").and_then(|(_, rest)| rest.split_once(',')).map(|(to, _)| to);
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Echo { child, address }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

const TRIPS: &str = r#"define param "echo" $echo ""
for $transport in ["tcp", "udp"] time["$transport"] repeat 30 net_pingpong($transport, $echo, 100);
"#;

#[test]
fn a_confined_program_reaches_the_address_that_its_user_gave() {
    let (echo, folder) = (Echo::start(), tempfile::tempdir().unwrap());
    let done = program(folder.path(), TRIPS, &["--set", &format!("echo={}", echo.address), "-v"]);
    assert_eq!(done.status, Some(0), "{}", all(&done));
    assert!(done.out.contains("net_pingpong"), "{}", done.out);
}

#[test]
fn a_program_reaches_no_address_that_nobody_gave() {
    let (echo, folder) = (Echo::start(), tempfile::tempdir().unwrap());
    let text = format!("net_pingpong(\"tcp\", \"{}\", 8);", echo.address);
    let done = program(folder.path(), &text, &[]);
    assert_ne!(done.status, Some(0), "{}", all(&done));
    assert!(all(&done).contains("only to an address that is given as a parameter"), "{}", all(&done));
}

#[test]
fn an_end_that_is_not_there_fails_the_operation_and_says_how_to_start_it() {
    let (echo, folder) = (Echo::start(), tempfile::tempdir().unwrap());
    let address = echo.address.clone();
    drop(echo);
    let done = program(folder.path(), TRIPS, &["--set", &format!("echo={address}"), "-v"]);
    assert_eq!(done.status, Some(3), "{}", all(&done));
    assert!(all(&done).contains("lastrank echo"), "{}", all(&done));
}

/// What a client says: words, then its token.
fn asked(token: u8) -> Vec<u8> {
    [b"\0lastrank echo: may I? 2".as_slice(), &[token; 16]].concat()
}

/// A socket that waits for an answer, and the connection that lets it have one.
fn introduced(echo: &Echo, token: u8) -> (UdpSocket, TcpStream) {
    let own = UdpSocket::bind("127.0.0.1:0").unwrap();
    own.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut connection = TcpStream::connect(&echo.address).unwrap();
    let mut granted = [0; 40];
    // In two pieces, as networks may.
    connection.write_all(&asked(token)[..9]).unwrap();
    connection.write_all(&asked(token)[9..]).unwrap();
    connection.read_exact(&mut granted).unwrap();
    own.send_to(&asked(token), &echo.address).unwrap();
    assert_eq!(own.recv(&mut granted).unwrap(), 40);
    // The word that shows that answers arrive here.
    let proof = [&asked(token)[..24], &granted[24..]].concat();
    own.send_to(&proof, &echo.address).unwrap();
    assert_eq!(own.recv(&mut granted).unwrap(), 40);
    assert_eq!(granted[24..], [token; 16]);
    (own, connection)
}

#[test]
fn an_echo_answers_requests_and_no_answers() {
    let echo = Echo::start();
    let (own, _open) = introduced(&echo, 1);
    let mut bytes = [0; 16];
    // What another echo would send comes first: its answer would, too.
    own.send_to(&[0x81, 7], &echo.address).unwrap();
    own.send_to(&[0x01, 8], &echo.address).unwrap();
    let got = own.recv(&mut bytes).unwrap();
    assert_eq!(bytes[..got], [0x81, 8]);
}

#[test]
fn an_echo_answers_nobody_who_did_not_introduce_itself() {
    let echo = Echo::start();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (own, open) = introduced(&echo, 1);
    let mut bytes = [0; 64];
    // A forged address of another service looks like this to the echo: so does the token of somebody else from it, and one
    // that nobody has.
    for said in [vec![1, 2, 3], asked(1), asked(9)] {
        stranger.send_to(&said, &echo.address).unwrap();
    }
    own.send_to(&[1, 8], &echo.address).unwrap();
    assert_eq!(own.recv(&mut bytes).unwrap(), 2);
    // Datagrams are taken in turn: what was sent before was looked at.
    stranger.set_nonblocking(true).unwrap();
    assert_eq!(stranger.recv(&mut bytes).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    // Without the connection the token is worth nothing: a second one waits until the first is over.
    drop(open);
    let (other, _open) = introduced(&echo, 2);
    for turn in 0.. {
        own.send_to(&[1, 9], &echo.address).unwrap();
        other.send_to(&[1, turn], &echo.address).unwrap();
        assert_eq!(other.recv(&mut bytes).unwrap(), 2);
        own.set_nonblocking(true).unwrap();
        if own.recv(&mut bytes).is_err() {
            break;
        }
        assert!(turn < 200, "still answered");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_forged_address_of_a_chatty_service_gets_one_message_and_no_more() {
    let echo = Echo::start();
    // A service that answers whatever comes (RFC 864), and somebody who has a token and forges one datagram of its address.
    let service = UdpSocket::bind("127.0.0.1:0").unwrap();
    service.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut connection = TcpStream::connect(&echo.address).unwrap();
    let mut got = [0; 64];
    connection.write_all(&asked(7)).unwrap();
    connection.read_exact(&mut got[..40]).unwrap();
    service.send_to(&asked(7), &echo.address).unwrap();
    assert_eq!(service.recv(&mut got).unwrap(), 40);
    assert_ne!(got[24..40], [7; 16], "let in without a proof");
    for text in [b" !\"#$%&ABCDEF".as_slice(), &got[..40], &asked(7)] {
        service.send_to(text, &echo.address).unwrap();
    }
    // The token alone is answered by the word again, what the service says by nothing.
    assert_eq!(service.recv(&mut got).unwrap(), 40);
    let (other, _open) = introduced(&echo, 8);
    other.send_to(&[1], &echo.address).unwrap();
    other.recv(&mut got).unwrap();
    service.set_nonblocking(true).unwrap();
    assert_eq!(service.recv(&mut got).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_socket_goes_with_its_echo_also_where_a_signal_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("echo");
    let mut child = Command::new(env!("CARGO_BIN_EXE_lastrank"))
        .args(["echo".as_ref(), path.as_os_str(), "--time".as_ref(), "10min".as_ref()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(path.exists(), "{line}");
    // What starts tests in the background may have it ignore Ctrl-C.
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success() && !child.wait().unwrap().success());
    assert!(!path.exists());
}

#[test]
fn two_echoes_cannot_be_made_to_talk_to_each_other() {
    // This end stands for an echo whose address was forged: whatever it gets, a real one would send back.
    let echo = Echo::start();
    let (forged, _open) = introduced(&echo, 1);
    let second = Echo::start();
    let mut bytes = [0; 64];
    forged.send_to(&[1, 2, 3], &echo.address).unwrap();
    let got = forged.recv(&mut bytes).unwrap();
    // The answer, and what lets a peer in, sent on to an echo, and to the same one: no answer.
    let granted = [b"\x80lastrank echo: go on, 2".as_slice(), &[1; 16]].concat();
    for to in [&second.address, &echo.address] {
        forged.send_to(&bytes[..got], to).unwrap();
        forged.send_to(&granted, to).unwrap();
        forged.send_to(&asked(9), to).unwrap();
    }
    let (other, _second_open) = introduced(&second, 3);
    other.send_to(&[4], &second.address).unwrap();
    assert_eq!(other.recv(&mut bytes).unwrap(), 1);
    forged.send_to(&[5, 6, 7, 8, 9], &echo.address).unwrap();
    assert_eq!(forged.recv(&mut bytes).unwrap(), 5, "an answer to an answer");
    forged.set_nonblocking(true).unwrap();
    assert!(forged.recv(&mut bytes).is_err());
}
