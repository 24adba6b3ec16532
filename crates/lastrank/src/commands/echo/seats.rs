//! The connections that an echo has at the same time.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 256;
/// Where all are taken, one that nothing came over for so long gives way to a new one; as long as there is room, all stay.
pub const IDLE: Duration = Duration::from_secs(10);

/// A stream of an echo.
pub trait Connection: Read + Write + Send + Sized + 'static {
    /// The same one once more, by which it is ended.
    fn ender(&self) -> std::io::Result<Box<dyn Fn() + Send + Sync>>;

    /// Who is at the other end, where datagrams could come from there.
    fn peer(&self) -> Option<IpAddr>;
}

impl Connection for TcpStream {
    fn ender(&self) -> std::io::Result<Box<dyn Fn() + Send + Sync>> {
        let same = self.try_clone()?;
        Ok(Box::new(move || drop(same.shutdown(Shutdown::Both))))
    }

    fn peer(&self) -> Option<IpAddr> {
        self.peer_addr().ok().map(|address| address.ip())
    }
}

impl Connection for UnixStream {
    fn ender(&self) -> std::io::Result<Box<dyn Fn() + Send + Sync>> {
        let same = self.try_clone()?;
        Ok(Box::new(move || drop(same.shutdown(Shutdown::Both))))
    }

    fn peer(&self) -> Option<IpAddr> {
        None
    }
}

/// A connection that has a place.
pub struct Seat {
    begun: Instant,
    /// Milliseconds after that at which something came last.
    used: AtomicU64,
    end: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Seat").field("begun", &self.begun).finish_non_exhaustive()
    }
}

impl Seat {
    pub fn new(end: Box<dyn Fn() + Send + Sync>, now: Instant) -> Self {
        Self { begun: now, used: AtomicU64::new(0), end }
    }

    /// Something came.
    pub fn note_use(&self, now: Instant) {
        let since = now.saturating_duration_since(self.begun).as_millis();
        self.used.store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn idle(&self, now: Instant) -> Duration {
        let used = Duration::from_millis(self.used.load(Ordering::Relaxed));
        now.saturating_duration_since(self.begun).saturating_sub(used)
    }
}

/// All places.
#[derive(Debug, Default)]
pub struct Seats(Mutex<Vec<Arc<Seat>>>);

impl Seats {
    /// A place for a new connection; where all are taken, that of the one that was idle longest, if that is [`IDLE`] at least.
    pub fn take(&self, seat: Seat, now: Instant) -> Option<Arc<Seat>> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.len() >= MOST_CONNECTIONS {
            let (at, idle) =
                taken.iter().map(|seat| seat.idle(now)).enumerate().max_by_key(|(_, idle)| *idle)?;
            if idle < IDLE {
                return None;
            }
            (taken.swap_remove(at).end)();
        }
        let seat = Arc::new(seat);
        taken.push(Arc::clone(&seat));
        Some(seat)
    }

    /// The connection is over.
    pub fn leave(&self, seat: &Arc<Seat>) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|one| !Arc::ptr_eq(one, seat));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_all_places_are_taken_the_one_that_was_idle_longest_gives_way() {
        let (seats, begun) = (Seats::default(), Instant::now());
        let ended = Arc::new(Mutex::new(Vec::new()));
        let seat = |number: usize| {
            let ended = Arc::clone(&ended);
            Seat::new(Box::new(move || ended.lock().expect("no panic").push(number)), begun)
        };
        let taken: Vec<_> =
            (0..MOST_CONNECTIONS).map(|number| seats.take(seat(number), begun).expect("room")).collect();
        let later = begun + IDLE - Duration::from_millis(1);
        assert!(seats.take(seat(1000), later).is_none() && ended.lock().expect("no panic").is_empty());
        // All but one are used.
        let later = begun + IDLE;
        taken.iter().enumerate().filter(|(number, _)| *number != 7).for_each(|(_, one)| one.note_use(later));
        let new = seats.take(seat(1001), later).expect("number 7 gives way");
        assert_eq!(*ended.lock().expect("no panic"), [7]);
        new.note_use(later);
        assert!(seats.take(seat(1002), later).is_none());
        seats.leave(&taken[7]);
        assert!(seats.take(seat(1003), later).is_none(), "its place is another one's");
        seats.leave(&taken[8]);
        assert!(seats.take(seat(1004), later).is_some());
    }
}
