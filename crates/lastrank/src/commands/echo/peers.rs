//! Whose datagrams an echo answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use probes::introduction::TOKEN;

/// Datagrams of a peer that are answered in a second. A client waits for each answer before it sends the next one, which takes
/// microseconds at the least.
const MOST_IN_A_SECOND: u32 = 500_000;

/// Those that introduced themselves over connections that are open.
#[derive(Debug, Default)]
pub struct Peers {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Where the datagrams of each token come from, once the first came.
    of_token: HashMap<[u8; TOKEN], Option<SocketAddr>>,
    of_address: HashMap<SocketAddr, Peer>,
}

#[derive(Debug)]
struct Peer {
    token: [u8; TOKEN],
    /// When the second began in which `answered` were answered.
    since: Instant,
    answered: u32,
}

impl Peers {
    /// Lets in who knows this token; not a second one with the same.
    pub fn let_in(&self, token: [u8; TOKEN]) -> bool {
        let mut known = self.known();
        let is_new = !known.of_token.contains_key(&token);
        if is_new {
            known.of_token.insert(token, None);
        }
        is_new
    }

    /// Answers this one no more.
    pub fn let_go(&self, token: [u8; TOKEN]) {
        let mut known = self.known();
        if let Some(address) = known.of_token.remove(&token).flatten() {
            known.of_address.remove(&address);
        }
    }

    /// Has who knows this token this address? The first address that says it does.
    pub fn is_at(&self, token: [u8; TOKEN], from: SocketAddr, now: Instant) -> bool {
        let mut known = self.known();
        match known.of_token.get(&token) {
            Some(None) if !known.of_address.contains_key(&from) => {
                known.of_token.insert(token, Some(from));
                known.of_address.insert(from, Peer { token, since: now, answered: 0 });
                true
            }
            Some(address) => {
                *address == Some(from) && known.of_address.get(&from).is_some_and(|peer| peer.token == token)
            }
            None => false,
        }
    }

    /// Is a datagram of this address to be answered? Counts it as answered then; none where nobody at this address was let in.
    pub fn may_have_answer(&self, from: SocketAddr, now: Instant) -> Option<bool> {
        let mut known = self.known();
        let peer = known.of_address.get_mut(&from)?;
        if now.saturating_duration_since(peer.since) >= Duration::from_secs(1) {
            (peer.since, peer.answered) = (now, 0);
        }
        peer.answered = peer.answered.saturating_add(1);
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

    #[test]
    fn only_an_address_that_sent_a_token_has_answers_and_only_while_it_is_let_in() {
        let (peers, now) = (Peers::default(), Instant::now());
        assert!(!peers.is_at(TOKENS[0], address(1), now));
        assert!(peers.let_in(TOKENS[0]) && !peers.let_in(TOKENS[0]));
        assert_eq!(peers.may_have_answer(address(1), now), None);
        assert!(peers.is_at(TOKENS[0], address(1), now) && peers.is_at(TOKENS[0], address(1), now));
        // Nobody else has this token, and nobody else this address.
        assert!(!peers.is_at(TOKENS[0], address(2), now));
        assert!(peers.let_in(TOKENS[1]) && !peers.is_at(TOKENS[1], address(1), now));
        assert_eq!(peers.may_have_answer(address(1), now), Some(true));
        assert_eq!(peers.may_have_answer(address(2), now), None);
        peers.let_go(TOKENS[0]);
        assert_eq!(peers.may_have_answer(address(1), now), None);
    }

    #[test]
    fn answers_of_a_second_are_bounded() {
        let (peers, now) = (Peers::default(), Instant::now());
        assert!(peers.let_in(TOKENS[0]) && peers.is_at(TOKENS[0], address(1), now));
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
