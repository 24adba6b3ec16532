//! Implements the kernel of a round trip through the network: bytes to an echo and back.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::introduction::{TOKEN, introduce};
use crate::kernel::Probe;
use crate::net_server::{icmp, sunrpc};

/// How long an answer may take before the operation fails with ETIMEDOUT.
const PATIENCE: Duration = Duration::from_secs(5);
/// The bit that an echo sets in the first byte of the datagram that it sends back. It answers none that has it.
pub const ANSWER_OF_AN_ECHO: u8 = 0x80;

/// Most bytes of a datagram: what fits into one of IPv4.
const MOST_OF_A_DATAGRAM: usize = 65_507;
/// Most bytes of a round trip; more would need to read while it writes.
const MOST: usize = 1 << 20;

/// The way to the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A connection, without delay (`TCP_NODELAY`).
    Tcp,
    /// Datagrams. The echo answers them while a connection to the same port is open ([`introduction`](crate::introduction)).
    Udp,
    /// A stream socket of this machine, by its path.
    Unix,
    /// The time in which a connection is made, to any server: it is closed again at once.
    Connect,
    /// A call of a server of NFS that does nothing (procedure 0), through one connection.
    NfsNull,
    /// An echo request of ICMP, where this user may send one (`net.ipv4.ping_group_range`).
    Icmp,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    /// And the connection that lets it have answers.
    Udp {
        socket: UdpSocket,
        _open: TcpStream,
    },
    Unix(UnixStream),
    /// Where a connection is made.
    Connect(SocketAddr),
    NfsNull(TcpStream),
    Icmp(UdpSocket),
}

/// Sends bytes to an echo and waits until as many came back: a round trip.
#[derive(Debug)]
pub struct NetPingPong {
    socket: Socket,
    /// Begin with the number of the trip, as far as they are long enough.
    bytes: Vec<u8>,
    answer: Vec<u8>,
    trips: u64,
    /// Whether a stream has lost its place: what arrives may be the answer to an earlier trip.
    is_lost: bool,
}

impl NetPingPong {
    /// Connects to `address`: `HOST:PORT` with a number or `localhost` as the host, or the path of a socket.
    ///
    /// # Errors
    /// [`Error::Address`] where the address is none, nobody answers, or it is too much for one round trip.
    pub fn new(transport: Transport, address: &str, bytes: u64) -> Result<Self, Error> {
        let refused = |why: String| Error::Address { address: address.to_owned(), why };
        let most = if transport == Transport::Udp { MOST_OF_A_DATAGRAM } else { MOST };
        let length = usize::try_from(bytes).ok().filter(|length| (1..=most).contains(length));
        let length = length.ok_or_else(|| refused(format!("a round trip moves 1 to {most} bytes")))?;
        let failed = |error: std::io::Error| {
            refused(format!("{error}; the other end is `lastrank echo {address}`, and it must be running"))
        };
        let unanswered = |error: std::io::Error| refused(format!("{error}; a server must answer there"));
        let socket = match transport {
            Transport::Tcp => Socket::Tcp(connected(numeric(address)?).map_err(failed)?),
            Transport::Udp => {
                let to = numeric(address)?;
                let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any).map_err(failed)?;
                socket.connect(to).map_err(failed)?;
                socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
                let mut connection = connected(to).map_err(failed)?;
                let given_up = Instant::now() + PATIENCE;
                introduce(&mut connection, &socket, token().map_err(failed)?, given_up).map_err(failed)?;
                Socket::Udp { socket, _open: connection }
            }
            Transport::Unix => {
                let stream = UnixStream::connect(address).map_err(failed)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
                stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
                Socket::Unix(stream)
            }
            Transport::Connect => {
                let to = numeric(address)?;
                connected(to).map_err(unanswered)?;
                Socket::Connect(to)
            }
            Transport::NfsNull => Socket::NfsNull(connected(numeric(address)?).map_err(unanswered)?),
            Transport::Icmp => Socket::Icmp(icmp::socket(address).map_err(refused)?),
        };
        let mut made =
            Self { socket, bytes: vec![0x6c; length], answer: vec![0; length], trips: 0, is_lost: false };
        // Who does not speak the language of the other end is told before anything is timed.
        if matches!(made.socket, Socket::NfsNull(_) | Socket::Icmp(_)) {
            made.trip().map_err(unanswered)?;
        }
        Ok(made)
    }

    fn trip(&mut self) -> std::io::Result<()> {
        if self.is_lost {
            return Err(std::io::Error::from_raw_os_error(libc::ENOTCONN));
        }
        self.trips += 1;
        // The highest bit of the first byte is that of answers.
        let low = self.trips & u64::from(!ANSWER_OF_AN_ECHO);
        let number = (low | (self.trips >> 7) << 8).to_le_bytes();
        let length = number.len().min(self.bytes.len());
        self.bytes[..length].copy_from_slice(&number[..length]);
        let done = match &mut self.socket {
            Socket::Tcp(stream) => {
                stream.write_all(&self.bytes).and_then(|()| stream.read_exact(&mut self.answer))
            }
            Socket::Unix(stream) => {
                stream.write_all(&self.bytes).and_then(|()| stream.read_exact(&mut self.answer))
            }
            Socket::Udp { socket, .. } => return datagram(socket, &self.bytes, &mut self.answer),
            Socket::Connect(to) => return connected(*to).map(drop),
            Socket::NfsNull(stream) => sunrpc::null(stream, self.trips as u32),
            Socket::Icmp(socket) => return icmp::echo(socket, self.trips as u16, &self.bytes),
        };
        self.is_lost = done.is_err();
        done
    }
}

fn connected(to: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A number that nobody else knows.
fn token() -> std::io::Result<[u8; TOKEN]> {
    let mut token = [0; TOKEN];
    // SAFETY: the bytes are valid to write; so few come whole or not at all.
    let got = unsafe { libc::getrandom(token.as_mut_ptr().cast(), token.len(), 0) };
    if got != TOKEN as isize {
        return Err(std::io::Error::last_os_error());
    }
    Ok(token)
}

/// The address in numbers: names are not asked for, since a confined rank may not read what that needs.
fn numeric(address: &str) -> Result<SocketAddr, Error> {
    let here = address.strip_prefix("localhost:").map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    here.as_deref().unwrap_or(address).parse().map_err(|_| Error::Address {
        address: address.to_owned(),
        why: "this is no NUMBER:PORT such as 10.0.0.7:7007; `getent hosts NAME` says the number of a name"
            .into(),
    })
}

/// The errno of a failed transfer; one whose time is up is ETIMEDOUT.
fn errno_of(error: &std::io::Error) -> i32 {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::UnexpectedEof => libc::ECONNRESET,
        _ => error.raw_os_error().unwrap_or(libc::EIO),
    }
}

/// Sends a datagram and waits for the same one; the late answer to an earlier trip that was given up is passed over.
fn datagram(socket: &UdpSocket, bytes: &[u8], answer: &mut [u8]) -> std::io::Result<()> {
    socket.send(bytes)?;
    let given_up = Instant::now() + PATIENCE;
    loop {
        let got = socket.recv(answer)?;
        if got == bytes.len() && answer[0] == bytes[0] | ANSWER_OF_AN_ECHO && answer[1..got] == bytes[1..] {
            return Ok(());
        }
        if Instant::now() > given_up {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

impl Probe for NetPingPong {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count {
            if let Err(error) = self.trip() {
                return errno_of(&error);
            }
        }
        0
    }

    /// There and back; none of a connection or of a call that does nothing.
    fn bytes_each(&self) -> u64 {
        match self.socket {
            Socket::Connect(_) | Socket::NfsNull(_) => 0,
            Socket::Tcp(_) | Socket::Udp { .. } | Socket::Unix(_) | Socket::Icmp(_) => {
                2 * self.bytes.len() as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::introduction::{MESSAGE, granted, token_of};

    /// Echoes one connection until it closes.
    fn echo(mut stream: impl Read + Write) {
        let mut bytes = [0; 4096];
        while let Ok(got @ 1..) = stream.read(&mut bytes) {
            if stream.write_all(&bytes[..got]).is_err() {
                break;
            }
        }
    }

    /// An echo of datagrams that has a port for connections, too: who comes is let in.
    struct Datagrams {
        tcp: TcpListener,
        udp: UdpSocket,
    }

    impl Datagrams {
        fn new() -> Self {
            let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
            let udp = UdpSocket::bind(tcp.local_addr().expect("an address")).expect("the same port");
            Self { tcp, udp }
        }

        fn address(&self) -> String {
            self.tcp.local_addr().expect("an address").to_string()
        }

        /// The connection of the one who was let in.
        fn let_in(&self) -> TcpStream {
            let mut asked = [0; MESSAGE];
            let mut stream = self.tcp.accept().expect("a connection").0;
            stream.read_exact(&mut asked).expect("an introduction");
            let token = token_of(&asked).expect("a token");
            stream.write_all(&granted(token)).expect("an answer");
            // First the word that is to come back.
            for (said, answer) in [(token, [9; TOKEN]), ([9; TOKEN], token)] {
                let (_, from) = self.udp.recv_from(&mut asked).expect("a datagram");
                assert_eq!(token_of(&asked), Some(said));
                self.udp.send_to(&granted(answer), from).expect("an answer");
            }
            stream
        }
    }

    #[test]
    fn an_echo_of_another_version_is_told_by_what_it_sends_back() {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = tcp.local_addr().expect("an address").to_string();
        std::thread::scope(|scope| {
            scope.spawn(|| echo(tcp.accept().expect("a connection").0));
            let said = NetPingPong::new(Transport::Udp, &at, 8).expect_err("an old echo").to_string();
            assert!(said.contains("another version of lastrank"), "{said}");
        });
    }

    #[test]
    fn bytes_go_there_and_come_back_by_each_transport() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("echo");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let datagrams = Datagrams::new();
        let udp = &datagrams.udp;
        let unix = UnixListener::bind(&path).expect("a socket");
        let tcp_at = tcp.local_addr().expect("an address").to_string();
        let udp_at = datagrams.address();
        std::thread::scope(|scope| {
            scope.spawn(|| echo(tcp.accept().expect("a connection").0));
            scope.spawn(|| echo(unix.accept().expect("a connection").0));
            scope.spawn(|| {
                let _open = datagrams.let_in();
                for _ in 0..3 {
                    let mut bytes = [0; 128];
                    let (got, from) = udp.recv_from(&mut bytes).expect("a datagram");
                    bytes[0] |= ANSWER_OF_AN_ECHO;
                    udp.send_to(&bytes[..got], from).expect("an answer");
                }
            });
            for (transport, address) in [
                (Transport::Tcp, tcp_at.as_str()),
                (Transport::Udp, &udp_at),
                (Transport::Unix, path.to_str().unwrap()),
            ] {
                let mut trip = NetPingPong::new(transport, address, 64).expect("an echo");
                assert_eq!((trip.run(3), trip.bytes_each()), (0, 128), "{transport:?}");
                assert_eq!(trip.bytes[1..], trip.answer[1..]);
            }
        });
    }

    #[test]
    fn an_address_that_is_none_and_an_end_that_is_not_there_are_told() {
        let said = |transport, address: &str, bytes| {
            NetPingPong::new(transport, address, bytes).expect_err("no echo").to_string()
        };
        assert!(said(Transport::Tcp, "example.org:80", 8).contains("getent hosts"));
        assert!(said(Transport::Udp, "127.0.0.1:9", 70_000).contains("1 to 65507 bytes"));
        assert!(said(Transport::Tcp, "127.0.0.1:9", 0).contains("1 to 1048576 bytes"));
        let closed = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a port");
        assert!(said(Transport::Tcp, &closed.to_string(), 8).contains("lastrank echo"));
        assert!(said(Transport::Unix, "/no/such/socket", 8).contains("lastrank echo"));
    }

    #[test]
    fn an_echo_that_hangs_up_is_an_error_of_the_operation() {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut trip =
            NetPingPong::new(Transport::Tcp, &tcp.local_addr().expect("an address").to_string(), 8)
                .expect("a connection");
        drop(tcp.accept().expect("a connection"));
        assert!(matches!(trip.run(1), libc::ECONNRESET | libc::EPIPE));
    }

    #[test]
    fn the_late_answer_to_an_earlier_trip_is_not_taken_for_this_one() {
        let datagrams = Datagrams::new();
        let udp = &datagrams.udp;
        std::thread::scope(|scope| {
            let let_in = scope.spawn(|| datagrams.let_in());
            let mut trip = NetPingPong::new(Transport::Udp, &datagrams.address(), 64).expect("an echo");
            let _open = let_in.join().expect("an introduction");
            scope.spawn(|| {
                let mut bytes = [0; 64];
                let (_, from) = udp.recv_from(&mut bytes).expect("a datagram");
                // An answer to the trip before, then that to this one, then silence of the next one's.
                bytes[0] |= ANSWER_OF_AN_ECHO;
                let mut late = bytes;
                late[0] = late[0].wrapping_sub(1);
                udp.send_to(&late, from).expect("an answer");
                udp.send_to(&bytes, from).expect("an answer");
            });
            assert_eq!(trip.run(1), 0);
            assert_eq!(trip.answer[1..], trip.bytes[1..]);
        });
    }

    #[test]
    fn a_stream_that_lost_its_place_gives_no_further_times() {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = tcp.local_addr().expect("an address").to_string();
        let mut trip = NetPingPong::new(Transport::Tcp, &at, 8).expect("a connection");
        drop(tcp.accept().expect("a connection"));
        assert_ne!(trip.run(1), 0);
        assert_eq!(trip.run(1), libc::ENOTCONN);
    }
}
