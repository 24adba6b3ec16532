//! `lastrank echo`: sends back what comes, as the other end of round trips through the network.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use probes::ANSWER_OF_AN_ECHO;
use workloads::quantity::{SECOND, nanoseconds};

use crate::cli::EchoArgs;
use crate::exit::Status;

/// Connections at the same time; a further one is closed at once.
const MOST_CONNECTIONS: usize = 256;
/// Bytes that are taken and sent back at once.
const PIECE: usize = 64 << 10;
/// Where nobody says how long, it goes on until Ctrl-C.
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Answers until the time is up.
pub fn run(args: &EchoArgs) -> anyhow::Result<Status> {
    let time = match &args.time {
        None => FOR_EVER,
        Some(text) => {
            let ns = nanoseconds(text, SECOND).filter(|ns| *ns > 0);
            Duration::from_nanos(ns.with_context(|| format!("--time {text}: a time above 0, such as 10min"))?)
        }
    };
    let until = Instant::now() + time;
    let open = Arc::new(AtomicUsize::new(0));
    if args.address.contains('/') {
        let path = Path::new(&args.address);
        let listener =
            UnixListener::bind(path).with_context(|| format!("cannot listen at {}", args.address))?;
        eprintln!("note: echo at {}; give it as a parameter, --set echo={0}", args.address);
        serve(&open, move || listener.accept().map(|(stream, _)| stream));
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        let _ = std::fs::remove_file(path);
        return Ok(Status::Ok);
    }
    let Ok(address) = args.address.parse::<SocketAddr>() else {
        bail!("{}: write NUMBER:PORT, such as 127.0.0.1:7007, or a path with a slash", args.address);
    };
    let tcp = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
    let address = tcp.local_addr().unwrap_or(address);
    let udp = UdpSocket::bind(address).with_context(|| format!("cannot listen at {address} (UDP)"))?;
    eprintln!("note: echo at {address}, TCP and UDP; give it as a parameter, --set echo={address}");
    serve(&open, move || {
        let (stream, _) = tcp.accept()?;
        stream.set_nodelay(true)?;
        Ok(stream)
    });
    std::thread::spawn(move || datagrams(&udp));
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
    Ok(Status::Ok)
}

/// Takes connections on a thread of its own, each answered by a further one.
fn serve<S: Read + Write + Send + 'static>(
    open: &Arc<AtomicUsize>,
    mut accept: impl FnMut() -> std::io::Result<S> + Send + 'static,
) {
    let open = Arc::clone(open);
    std::thread::spawn(move || {
        loop {
            let Ok(stream) = accept() else {
                // Too many descriptors, or a peer that went: the next one may come.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            if open.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
                open.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let open = Arc::clone(&open);
            std::thread::spawn(move || {
                send_back(stream);
                open.fetch_sub(1, Ordering::AcqRel);
            });
        }
    });
}

/// Until the other end closes.
fn send_back(mut stream: impl Read + Write) {
    let mut bytes = vec![0; PIECE];
    while let Ok(got @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..got]).is_err() {
            return;
        }
    }
}

/// Answers requests, and nothing else: an answer has another first byte, so that two echoes that are told of each other by a
/// forged address do not talk for ever.
fn datagrams(socket: &UdpSocket) {
    let mut bytes = vec![0; PIECE];
    loop {
        if let Ok((got, from)) = socket.recv_from(&mut bytes)
            && got > 0
            && bytes[0] & ANSWER_OF_AN_ECHO == 0
        {
            bytes[0] |= ANSWER_OF_AN_ECHO;
            // One that is lost is lost: so are datagrams.
            let _ = socket.send_to(&bytes[..got], from);
        }
    }
}
