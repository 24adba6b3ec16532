//! Whose datagrams an echo answers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use probes::introduction::TOKEN;

use super::seats::Seat;

/// Datagrams of a peer that are answered in a second. A client waits for each answer before it sends the next one, which takes
/// microseconds at the least.
const MOST_IN_A_SECOND: u32 = 500_000;

/// Those that introduced themselves over connections that are open.
#[derive(Debug, Default)]
pub struct Peers {
    known: Mutex<Known>,
    /// Keys drawn at the start, of which the words are made that an address is to send back.
    keys: [RandomState; 2],
}

/// What a datagram that introduces its sender is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// This word, which is to come back from the same address: whoever forged the address does not see it.
    Prove([u8; TOKEN]),
    /// The token: it is let in.
    Granted([u8; TOKEN]),
    Nothing,
}

#[derive(Debug, Default)]
struct Known {
    of_token: HashMap<[u8; TOKEN], Guest>,
    of_address: HashMap<SocketAddr, Peer>,
}

/// Who holds a token.
#[derive(Debug)]
struct Guest {
    /// The other end of the connection.
    host: IpAddr,
    seat: Arc<Seat>,
    /// Where its datagrams come from, once that was proved.
    address: Option<SocketAddr>,
}

#[derive(Debug)]
struct Peer {
    token: [u8; TOKEN],
    seat: Arc<Seat>,
    /// When the second began in which `answered` were answered.
    since: Instant,
    answered: u32,
}

impl Peers {
    /// Lets in who knows this token, from this host only; not a second one with the same.
    pub fn let_in(&self, token: [u8; TOKEN], host: IpAddr, seat: &Arc<Seat>) -> bool {
        let mut known = self.known();
        let is_new = !known.of_token.contains_key(&token);
        if is_new {
            known.of_token.insert(token, Guest { host, seat: Arc::clone(seat), address: None });
        }
        is_new
    }

    /// Answers this one no more.
    pub fn let_go(&self, token: [u8; TOKEN]) {
        let mut known = self.known();
        if let Some(address) = known.of_token.remove(&token).and_then(|guest| guest.address) {
            known.of_address.remove(&address);
        }
    }

    /// Takes a datagram that says it comes from `from`: with a token, or with the word that proves that answers arrive there.
    /// Only at the host that has the connection, and for each token at one address.
    pub fn introduced(&self, said: [u8; TOKEN], from: SocketAddr, now: Instant) -> Reply {
        let mut known = self.known();
        if let Some(guest) = known.of_token.get(&said) {
            return match guest.address {
                Some(address) if address == from => Reply::Granted(said),
                None if guest.host == from.ip() && !known.of_address.contains_key(&from) => {
                    Reply::Prove(self.word(said, from))
                }
                _ => Reply::Nothing,
            };
        }
        if let Some(peer) = known.of_address.get(&from) {
            // The answer was lost, and the word came once more.
            let is_again = self.word(peer.token, from) == said;
            return if is_again { Reply::Granted(peer.token) } else { Reply::Nothing };
        }
        let proved = known.of_token.iter_mut().find(|(token, guest)| {
            guest.address.is_none() && guest.host == from.ip() && self.word(**token, from) == said
        });
        let Some((&token, guest)) = proved else { return Reply::Nothing };
        guest.address = Some(from);
        let seat = Arc::clone(&guest.seat);
        known.of_address.insert(from, Peer { token, seat, since: now, answered: 0 });
        Reply::Granted(token)
    }

    /// What only this echo can make of a token and an address.
    fn word(&self, token: [u8; TOKEN], from: SocketAddr) -> [u8; TOKEN] {
        let mut word = [0; TOKEN];
        for (part, key) in word.chunks_mut(8).zip(&self.keys) {
            part.copy_from_slice(&key.hash_one((token, from)).to_le_bytes());
        }
        word
    }

    /// Is a datagram of this address to be answered? Counts it as answered then; none where nobody at this address was let in.
    pub fn may_have_answer(&self, from: SocketAddr, now: Instant) -> Option<bool> {
        let mut known = self.known();
        let peer = known.of_address.get_mut(&from)?;
        if now.saturating_duration_since(peer.since) >= Duration::from_secs(1) {
            (peer.since, peer.answered) = (now, 0);
        }
        peer.answered = peer.answered.saturating_add(1);
        peer.seat.note_use(now);
        Some(peer.answered <= MOST_IN_A_SECOND)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: [[u8; TOKEN]; 2] = [[1; TOKEN], [2; TOKEN]];

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn seat() -> Arc<Seat> {
        Arc::new(Seat::new(Box::new(|| ()), Instant::now()))
    }

    /// Who has the connection of this token says where it is, and sends back what it got.
    fn comes(peers: &Peers, token: usize, from: SocketAddr, now: Instant) -> bool {
        match peers.introduced(TOKENS[token], from, now) {
            Reply::Prove(word) => peers.introduced(word, from, now) == Reply::Granted(TOKENS[token]),
            answer => answer == Reply::Granted(TOKENS[token]),
        }
    }

    #[test]
    fn only_an_address_that_sent_a_token_has_answers_and_only_while_it_is_let_in() {
        let (peers, now, host) = (Peers::default(), Instant::now(), address(1).ip());
        assert!(!comes(&peers, 0, address(1), now));
        assert!(peers.let_in(TOKENS[0], host, &seat()) && !peers.let_in(TOKENS[0], host, &seat()));
        assert_eq!(peers.may_have_answer(address(1), now), None);
        assert!(comes(&peers, 0, address(1), now) && comes(&peers, 0, address(1), now));
        // Nobody else has this token, and nobody else this address.
        assert!(!comes(&peers, 0, address(2), now));
        assert!(peers.let_in(TOKENS[1], host, &seat()) && !comes(&peers, 1, address(1), now));
        assert_eq!(peers.may_have_answer(address(1), now), Some(true));
        assert_eq!(peers.may_have_answer(address(2), now), None);
        peers.let_go(TOKENS[0]);
        assert_eq!(peers.may_have_answer(address(1), now), None);
    }

    #[test]
    fn an_address_is_let_in_only_where_it_sends_back_what_was_sent_to_it() {
        let (peers, now, host) = (Peers::default(), Instant::now(), address(1).ip());
        assert!(peers.let_in(TOKENS[0], host, &seat()));
        let word = |from| match peers.introduced(TOKENS[0], from, now) {
            Reply::Prove(word) => word,
            other => panic!("{other:?}"),
        };
        // Whoever forges the address of a service knows the token and the word of its own address, and not that of the service.
        let (own, service) = (word(address(1)), word(address(2)));
        assert_ne!(own, service);
        for forged in [TOKENS[0], own, TOKENS[1]] {
            assert!(!matches!(peers.introduced(forged, address(2), now), Reply::Granted(_)));
            assert_eq!(peers.may_have_answer(address(2), now), None);
        }
        // Another host has no connection.
        let elsewhere = ([192, 0, 2, 1], 1).into();
        assert_eq!(peers.introduced(TOKENS[0], elsewhere, now), Reply::Nothing);
        assert_eq!(peers.introduced(peers.word(TOKENS[0], elsewhere), elsewhere, now), Reply::Nothing);
        assert_eq!(peers.introduced(own, address(1), now), Reply::Granted(TOKENS[0]));
        assert_eq!(peers.introduced(own, address(1), now), Reply::Granted(TOKENS[0]), "once more");
        assert_eq!(peers.introduced(service, address(2), now), Reply::Nothing, "it has an address");
    }

    #[test]
    fn answers_of_a_second_are_bounded() {
        let (peers, now) = (Peers::default(), Instant::now());
        assert!(peers.let_in(TOKENS[0], address(1).ip(), &seat()) && comes(&peers, 0, address(1), now));
        let answered = |now| {
            (0..MOST_IN_A_SECOND + 10)
                .filter(|_| peers.may_have_answer(address(1), now) == Some(true))
                .count()
        };
        assert_eq!(answered(now), MOST_IN_A_SECOND as usize);
        assert_eq!(answered(now + Duration::from_millis(900)), 0);
        assert_eq!(answered(now + Duration::from_secs(2)), MOST_IN_A_SECOND as usize);
    }
}
