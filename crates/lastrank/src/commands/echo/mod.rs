//! `lastrank echo`: sends back what comes, as the other end of round trips through the network.

mod peers;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use peers::Peers;
use probes::ANSWER_OF_AN_ECHO;
use probes::introduction::{MESSAGE, TOKEN, granted, may_be_asked, token_of};
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
        serve((&open, &Arc::default()), move || listener.accept().map(|(stream, _)| stream));
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
    let peers = Arc::<Peers>::default();
    serve((&open, &peers), move || {
        let (stream, _) = tcp.accept()?;
        stream.set_nodelay(true)?;
        Ok(stream)
    });
    std::thread::spawn(move || datagrams(&udp, &peers));
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
    Ok(Status::Ok)
}

/// Takes connections on a thread of its own, each answered by a further one.
fn serve<S: Read + Write + Send + 'static>(
    (open, peers): (&Arc<AtomicUsize>, &Arc<Peers>),
    mut accept: impl FnMut() -> std::io::Result<S> + Send + 'static,
) {
    let (open, peers) = (Arc::clone(open), Arc::clone(peers));
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
            let (open, peers) = (Arc::clone(&open), Arc::clone(&peers));
            std::thread::spawn(move || {
                answer(stream, &peers);
                open.fetch_sub(1, Ordering::AcqRel);
            });
        }
    });
}

/// Sends back what comes until the other end closes; or lets its datagrams in as long, where it asks for that.
fn answer(mut stream: impl Read + Write, peers: &Peers) {
    let mut bytes = vec![0; PIECE];
    let mut begun = 0;
    // An introduction may come in pieces.
    while begun < MESSAGE && may_be_asked(&bytes[..begun]) {
        match stream.read(&mut bytes[begun..]) {
            Ok(got @ 1..) => begun += got,
            Ok(0) | Err(_) => return,
        }
    }
    match token_of(&bytes[..begun]) {
        Some(token) => let_in(stream, token, peers),
        None => send_back(stream, &mut bytes, begun),
    }
}

/// Until the other end closes; `begun` bytes came already.
fn send_back(mut stream: impl Read + Write, bytes: &mut [u8], begun: usize) {
    let mut got = begun;
    while stream.write_all(&bytes[..got]).is_ok() {
        match stream.read(bytes) {
            Ok(more @ 1..) => got = more,
            Ok(0) | Err(_) => return,
        }
    }
}

/// Until the other end closes.
fn let_in(mut stream: impl Read + Write, token: [u8; TOKEN], peers: &Peers) {
    if !peers.let_in(token) {
        return;
    }
    if stream.write_all(&granted(token)).is_ok() {
        // Nothing is to come; whoever talks all the same is let go.
        let _ = stream.read(&mut [0]);
    }
    peers.let_go(token);
}

/// Answers those who introduced themselves, as long as they keep their connection: an address may be forged. And it answers requests
/// only: an answer has another first byte.
fn datagrams(socket: &UdpSocket, peers: &Peers) {
    let mut bytes = vec![0; PIECE];
    let mut told = false;
    loop {
        let Ok((got, from)) = socket.recv_from(&mut bytes) else { continue };
        let now = Instant::now();
        // One that is lost is lost: so are datagrams.
        if let Some(token) = token_of(&bytes[..got]) {
            if peers.is_at(token, from, now) {
                let _ = socket.send_to(&granted(token), from);
            }
        } else if got > 0 && bytes[0] & ANSWER_OF_AN_ECHO == 0 {
            match peers.may_have_answer(from, now) {
                Some(true) => {
                    bytes[0] |= ANSWER_OF_AN_ECHO;
                    let _ = socket.send_to(&bytes[..got], from);
                }
                Some(false) => {}
                None if !told => {
                    told = true;
                    eprintln!(
                        "note: {from} sends datagrams without an introduction, which are not answered: another program, or \
                         a lastrank of an older version (update it); further ones are not told"
                    );
                }
                None => {}
            }
        }
    }
}
