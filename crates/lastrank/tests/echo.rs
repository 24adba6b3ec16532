//! Round trips through the network: `lastrank echo` at one end, a program with `net_pingpong` at the other.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

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

#[test]
fn an_echo_answers_requests_and_no_answers() {
    let (echo, own) = (Echo::start(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let mut bytes = [0; 16];
    // What another echo would send comes first: its answer would, too.
    own.send_to(&[0x81, 7], &echo.address).unwrap();
    own.send_to(&[0x01, 8], &echo.address).unwrap();
    own.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    let got = own.recv(&mut bytes).unwrap();
    assert_eq!(bytes[..got], [0x81, 8]);
}
