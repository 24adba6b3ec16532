//! Round trips to servers that run anyway: a call of ONC RPC that does nothing (RFC 5531), and an echo request of ICMP (RFC 792).

/// A call of NFS that does nothing.
pub(crate) mod sunrpc {
    use std::io::{Error, ErrorKind, Read, Write};

    /// The program number of NFS, and the versions that are tried: an answer "other versions" is an answer as well, so one
    /// is enough.
    const PROGRAM: u32 = 100_003;
    const VERSION: u32 = 3;
    /// The bit of a record's length that says it is the last part.
    const LAST: u32 = 1 << 31;
    const REPLY: u32 = 1;
    /// Longest reply to a call that does nothing.
    const MOST: usize = 1024;

    /// The words of the call, with the length of the record in front.
    pub(super) fn call(number: u32) -> [u8; 44] {
        // Number, call, version of RPC, program, version, procedure 0, no credentials, no verifier.
        let words = [LAST | 40, number, 0, 2, PROGRAM, VERSION, 0, 0, 0, 0, 0];
        let mut bytes = [0; 44];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Makes a call and waits for its reply.
    ///
    /// # Errors
    /// Those of the connection; `InvalidData` where what comes back is no reply of this call.
    pub(crate) fn null(stream: &mut (impl Read + Write), number: u32) -> Result<(), Error> {
        let strange = || Error::new(ErrorKind::InvalidData, "this is no server of NFS");
        stream.write_all(&call(number))?;
        let mut head = [0; 4];
        stream.read_exact(&mut head)?;
        let length = (u32::from_be_bytes(head) & !LAST) as usize;
        if !(24..=MOST).contains(&length) {
            return Err(strange());
        }
        let mut reply = [0; MOST];
        stream.read_exact(&mut reply[..length])?;
        let word = |at: usize| u32::from_be_bytes(reply[4 * at..4 * at + 4].try_into().unwrap_or_default());
        if word(0) == number && word(1) == REPLY { Ok(()) } else { Err(strange()) }
    }
}

/// Echo requests through the socket that Linux gives users.
pub(crate) mod icmp {
    use std::io::{Error, ErrorKind};
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
    use std::os::fd::FromRawFd;
    use std::time::{Duration, Instant};

    /// How long an answer may take.
    const PATIENCE: Duration = Duration::from_secs(5);
    const REQUEST: u8 = 8;
    const REPLY: u8 = 0;
    /// Bytes of the header.
    const HEADER: usize = 8;

    /// A socket to the machine of `address`: a number, with or without a port.
    pub(crate) fn socket(address: &str) -> Result<UdpSocket, String> {
        let here =
            if address.starts_with("localhost") { Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) } else { None };
        let with_port = || address.parse::<SocketAddr>().ok().map(|found| found.ip());
        let to = match here.or_else(|| address.parse().ok()).or_else(with_port) {
            Some(IpAddr::V4(to)) => to,
            Some(IpAddr::V6(_)) => return Err("echo requests are sent by IPv4 alone".into()),
            None => return Err("this is no number of a machine, such as 10.0.0.7".into()),
        };
        // SAFETY: a call without memory; what it returns is checked.
        let made =
            unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::IPPROTO_ICMP) };
        if made < 0 {
            let error = Error::last_os_error();
            return Err(format!("no echo requests for this user ({error}): net.ipv4.ping_group_range"));
        }
        // SAFETY: the kernel has just returned this descriptor and nothing else owns it. It has the calls of a socket of
        // datagrams.
        let socket = unsafe { UdpSocket::from_raw_fd(made) };
        let ready = socket.connect((to, 0)).and_then(|()| socket.set_read_timeout(Some(PATIENCE)));
        ready.map_err(|error| error.to_string())?;
        Ok(socket)
    }

    /// Sends a request with this number and these bytes, and waits for its reply. The kernel puts checksum and identifier in.
    pub(crate) fn echo(socket: &UdpSocket, number: u16, bytes: &[u8]) -> Result<(), Error> {
        let mut request = vec![0; HEADER];
        request[0] = REQUEST;
        request[6..8].copy_from_slice(&number.to_be_bytes());
        request.extend_from_slice(bytes);
        socket.send(&request)?;
        let given_up = Instant::now() + PATIENCE;
        let mut answer = vec![0; request.len()];
        loop {
            let got = socket.recv(&mut answer)?;
            if got == request.len() && answer[0] == REPLY && answer[6..] == request[6..] {
                return Ok(());
            }
            if Instant::now() > given_up {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use crate::kernel::Probe;
    use crate::net::{NetPingPong, Transport};

    use super::sunrpc;

    /// Answers calls with the reply that a server of NFS gives, `spoilt` in one word.
    fn serve(mut stream: TcpStream, spoilt: u32) {
        let mut call = [0; 44];
        while stream.read_exact(&mut call).is_ok() {
            let number = u32::from_be_bytes(call[4..8].try_into().expect("four bytes"));
            // Reply, accepted, no verifier, success.
            let words = [1 << 31 | 24, number ^ spoilt, 1, 0, 0, 0, 0];
            let reply: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
            if stream.write_all(&reply).is_err() {
                break;
            }
        }
    }

    #[test]
    fn a_server_of_nfs_is_asked_for_nothing_and_a_stranger_is_told() {
        assert_eq!(sunrpc::call(7)[4..8], [0, 0, 0, 7]);
        let port = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = port.local_addr().expect("an address").to_string();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                serve(port.accept().expect("a connection").0, 0);
                serve(port.accept().expect("a connection").0, 1);
            });
            let mut trip = NetPingPong::new(Transport::NfsNull, &at, 64).expect("a server");
            assert_eq!((trip.run(3), trip.bytes_each()), (0, 0));
            drop(trip);
            let said = NetPingPong::new(Transport::NfsNull, &at, 64).expect_err("a stranger").to_string();
            assert!(said.contains("no server of NFS"), "{said}");
        });
    }

    #[test]
    fn a_connection_is_made_and_closed_each_time() {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = port.local_addr().expect("an address").to_string();
        let mut trip = NetPingPong::new(Transport::Connect, &at, 64).expect("somebody listens");
        assert_eq!((trip.run(3), trip.bytes_each()), (0, 0));
        for _ in 0..4 {
            port.accept().expect("one connection each, and one before");
        }
        drop(port);
        assert_eq!(trip.run(1), libc::ECONNREFUSED);
    }

    #[test]
    fn an_echo_request_comes_back_or_the_setting_that_forbids_it_is_named() {
        match NetPingPong::new(Transport::Icmp, "127.0.0.1", 56) {
            Ok(mut trip) => assert_eq!((trip.run(3), trip.bytes_each()), (0, 112)),
            Err(error) => assert!(error.to_string().contains("ping_group_range"), "{error}"),
        }
        let said = NetPingPong::new(Transport::Icmp, "nobody", 56).expect_err("no number").to_string();
        assert!(said.contains("10.0.0.7"), "{said}");
    }
}
