//! `lastrank echo`: sends back what comes, as the other end of round trips through the network.

mod peers;
mod seats;
mod socket;

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use peers::{Peers, Reply};
use probes::ANSWER_OF_AN_ECHO;
use probes::introduction::{MESSAGE, TOKEN, granted, may_be_asked, token_of};
use ranks::StopSignals;
use seats::{Connection, Seat, Seats};
use socket::NamedSocket;
use workloads::quantity::{SECOND, nanoseconds};

use crate::cli::EchoArgs;
use crate::exit::Status;

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
    let seats = Arc::default();
    if args.address.contains('/') {
        // Its name is to go with it, also where a signal ends it. Threads inherit that these wait.
        let (signals, held) = StopSignals::hold();
        let (listener, name) = NamedSocket::bind(Path::new(&args.address))?;
        eprintln!("note: echo at {}; give it as a parameter, --set echo={0}", args.address);
        serve((&seats, &Arc::default()), move || listener.accept().map(|(stream, _)| stream));
        signals.pass_on(until.saturating_duration_since(Instant::now()), || name.remove());
        name.remove();
        drop(held);
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
    serve((&seats, &peers), move || {
        let (stream, _) = tcp.accept()?;
        stream.set_nodelay(true)?;
        Ok(stream)
    });
    std::thread::spawn(move || datagrams(&udp, &peers));
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
    Ok(Status::Ok)
}

/// Takes connections on a thread of its own, each answered by a further one.
fn serve<S: Connection>(
    (seats, peers): (&Arc<Seats>, &Arc<Peers>),
    mut accept: impl FnMut() -> std::io::Result<S> + Send + 'static,
) {
    let (seats, peers) = (Arc::clone(seats), Arc::clone(peers));
    std::thread::spawn(move || {
        loop {
            let Ok(stream) = accept() else {
                // Too many descriptors, or a peer that went: the next one may come.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            let Ok(end) = stream.ender() else { continue };
            let now = Instant::now();
            // Without a place it is closed at once.
            let Some(seat) = seats.take(Seat::new(end, now), now) else { continue };
            let (seats, peers) = (Arc::clone(&seats), Arc::clone(&peers));
            std::thread::spawn(move || {
                answer(stream, &seat, &peers);
                seats.leave(&seat);
            });
        }
    });
}

/// Sends back what comes until the other end closes; or lets its datagrams in as long, where it asks for that.
fn answer(mut stream: impl Connection, seat: &Arc<Seat>, peers: &Peers) {
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
        Some(token) => let_in(stream, token, seat, peers),
        None => send_back(stream, &mut bytes, begun, seat),
    }
}

/// Until the other end closes; `begun` bytes came already.
fn send_back(mut stream: impl Connection, bytes: &mut [u8], begun: usize, seat: &Seat) {
    let mut got = begun;
    loop {
        seat.note_use(Instant::now());
        if stream.write_all(&bytes[..got]).is_err() {
            return;
        }
        match stream.read(bytes) {
            Ok(more @ 1..) => got = more,
            Ok(0) | Err(_) => return,
        }
    }
}

/// Until the other end closes.
fn let_in(mut stream: impl Connection, token: [u8; TOKEN], seat: &Arc<Seat>, peers: &Peers) {
    let Some(host) = stream.peer() else { return };
    if !peers.let_in(token, host, seat) {
        return;
    }
    if stream.write_all(&granted(token)).is_ok() {
        // Nothing is to come; whoever talks all the same is let go.
        let _ = stream.read(&mut [0]);
    }
    peers.let_go(token);
}

/// Answers those who introduced themselves and got the answer, as long as they keep their connection: an address may be
/// forged. And it answers requests only: an answer has another first byte.
fn datagrams(socket: &UdpSocket, peers: &Peers) {
    let mut bytes = vec![0; PIECE];
    let mut told = false;
    loop {
        let Ok((got, from)) = socket.recv_from(&mut bytes) else { continue };
        let now = Instant::now();
        // One that is lost is lost: so are datagrams.
        if let Some(said) = token_of(&bytes[..got]) {
            match peers.introduced(said, from, now) {
                Reply::Prove(word) => drop(socket.send_to(&granted(word), from)),
                Reply::Granted(token) => drop(socket.send_to(&granted(token), from)),
                Reply::Nothing => {}
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
