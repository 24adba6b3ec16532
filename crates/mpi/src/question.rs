//! Finds ranks that wait for each other in different communicators, by questions that travel along the waits.
//!
//! A rank that has waited for a while asks the members of the communicator in which it waits. A member that has come
//! to the same meeting ignores the question; one that waits in another communicator adds its own place and passes the
//! question on to the members there. A question that comes to a place which it has passed before has found a ring: each
//! place waits for a rank at the next one, and none can end. A rank that works finds the question when it waits next,
//! and ignores it if it has come to the meeting by then. K. M. Chandy, J. Misra and L. M. Haas, "Distributed deadlock
//! detection", ACM Transactions on Computer Systems 1(2), 1983: the model in which a rank waits for all others.

use std::time::Duration;

/// A rank asks after waiting for this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// The first members of a communicator ask earlier, so that mostly one of them asks.
const TURN: Duration = Duration::from_millis(10);
/// The most places that a question passes.
const LONGEST: usize = 16;
/// Bytes of the asker and its number, and of one step.
const HEAD: usize = 8;
const STEP: usize = 20;

/// A meeting of one communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// A number that all members of the communicator have for it.
    pub(crate) communicator: u64,
    /// How many times each member has come to a meeting of the communicator, this one included.
    pub(crate) arrival: u32,
}

/// Where a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) place: Place,
    /// The meeting of the program, packed, with the rank.
    pub(crate) meeting: u64,
}

/// What a rank has asked, and the places that the question has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    /// The rank that asked, and how many times it has.
    asked_by: (u32, u32),
    steps: Vec<Step>,
}

/// What follows from a question for the rank that received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// Nothing.
    Ignore,
    /// It goes on to the members of the communicator in which the rank waits, as this message.
    PassOn(Vec<u8>),
    /// These ranks wait for each other: their packed meetings, the lowest rank first.
    Ring(Vec<u64>),
}

/// One wait of a rank.
#[derive(Debug)]
pub(crate) struct Wait {
    here: Step,
    /// The wait lasts this long when the rank asks next, and doubles with each question.
    due: Duration,
    /// Questions that were passed on.
    passed: Vec<(u32, u32)>,
}

impl Wait {
    /// A wait of the rank that is number `turn` of its communicator.
    pub(crate) fn new(here: Step, turn: u32) -> Self {
        Self { here, due: PATIENCE + TURN * turn.min(400), passed: Vec::new() }
    }

    /// Whether this rank asks now, having waited for this time.
    pub(crate) fn is_due(&mut self, waited: Duration) -> bool {
        let due = waited >= self.due;
        if due {
            self.due = self.due.max(waited) * 2;
        }
        due
    }

    /// The message by which `rank` asks for the time of this `number`.
    pub(crate) fn question(&self, rank: u32, number: u32) -> Vec<u8> {
        Question { asked_by: (rank, number), steps: vec![self.here] }.message()
    }

    /// Reacts to a message. `arrivals`: how many times this rank has come to a meeting of a communicator.
    pub(crate) fn react(&mut self, message: &[u8], arrivals: impl Fn(u64) -> u32) -> Reaction {
        let Some(mut question) = Question::of(message) else { return Reaction::Ignore };
        let Some(last) = question.steps.last().copied() else { return Reaction::Ignore };
        if arrivals(last.place.communicator) >= last.place.arrival {
            if last.place == self.here.place && question.steps.len() == 1 {
                // Another member asks the same, so this one asks later.
                self.due += PATIENCE;
            }
            return Reaction::Ignore;
        }
        if let Some(first) = question.steps.iter().position(|step| step.place == self.here.place) {
            let mut ring: Vec<u64> = question.steps[first..].iter().map(|step| step.meeting).collect();
            // The last one waits for this rank, and not for the member that passed the question on from here.
            ring[0] = self.here.meeting;
            let lowest = (0..ring.len()).min_by_key(|at| ranks::meeting::rank_of(ring[*at])).unwrap_or(0);
            ring.rotate_left(lowest);
            return Reaction::Ring(ring);
        }
        if question.steps.len() == LONGEST || self.passed.contains(&question.asked_by) {
            return Reaction::Ignore;
        }
        self.passed.push(question.asked_by);
        question.steps.push(self.here);
        Reaction::PassOn(question.message())
    }
}

impl Question {
    fn message(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + STEP * self.steps.len());
        bytes.extend(self.asked_by.0.to_ne_bytes());
        bytes.extend(self.asked_by.1.to_ne_bytes());
        for step in &self.steps {
            bytes.extend(step.place.communicator.to_ne_bytes());
            bytes.extend(step.place.arrival.to_ne_bytes());
            bytes.extend(step.meeting.to_ne_bytes());
        }
        bytes
    }

    /// `None` for bytes that are no question.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (asker, rest) = bytes.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let steps = rest.chunks_exact(STEP).map(|step| {
            let (communicator, rest) = step.split_first_chunk()?;
            let (arrival, meeting) = rest.split_first_chunk()?;
            Some(Step {
                place: Place {
                    communicator: u64::from_ne_bytes(*communicator),
                    arrival: u32::from_ne_bytes(*arrival),
                },
                meeting: u64::from_ne_bytes(*meeting.first_chunk()?),
            })
        });
        let steps: Vec<Step> = steps.collect::<Option<_>>()?;
        let asked_by = (u32::from_ne_bytes(*asker), u32::from_ne_bytes(*number));
        (rest.len().is_multiple_of(STEP)).then_some(Self { asked_by, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranks::meeting::{Meeting, MeetingKind};

    /// Ranks that come to meetings of communicators, and messages between them that arrive at any time.
    struct SimulatedJob {
        /// Members of each communicator.
        members: Vec<Vec<u32>>,
        /// The communicators in which each rank meets, in order; and how many of them it has passed.
        programs: Vec<(Vec<usize>, usize)>,
        /// How many times each rank has come to each communicator.
        arrivals: Vec<Vec<u32>>,
        waits: Vec<Option<Wait>>,
        /// Receiver and message.
        mail: Vec<(u32, Vec<u8>)>,
        asked: u32,
        state: u64,
    }

    impl SimulatedJob {
        fn random(seed: u64) -> Self {
            let mut job = Self {
                members: Vec::new(),
                programs: Vec::new(),
                arrivals: Vec::new(),
                waits: Vec::new(),
                mail: Vec::new(),
                asked: 0,
                state: seed,
            };
            let ranks = 2 + job.draw(4) as u32;
            for _ in 0..2 + job.draw(3) {
                let members: Vec<u32> = (0..ranks).filter(|_| job.draw(3) > 0).collect();
                job.members.push(members);
            }
            // One order for all makes a program that ends; some ranks exchange two meetings.
            let order: Vec<usize> = (0..2 + job.draw(5)).map(|_| job.draw(job.members.len())).collect();
            for rank in 0..ranks {
                let mut own = order.clone();
                if job.draw(2) == 0 {
                    let at = job.draw(own.len() - 1);
                    own.swap(at, at + 1);
                }
                own.retain(|comm| job.members[*comm].contains(&rank));
                job.programs.push((own, 0));
                job.arrivals.push(vec![0; job.members.len()]);
                job.waits.push(None);
            }
            job
        }

        fn draw(&mut self, below: usize) -> usize {
            self.state =
                self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.state >> 33) as usize % below
        }

        /// The communicator in which `rank` waits.
        fn at(&self, rank: usize) -> Option<usize> {
            let (program, passed) = &self.programs[rank];
            self.waits[rank].as_ref().and_then(|_| program.get(*passed).copied())
        }

        /// `rank` comes to its next meeting.
        fn come(&mut self, rank: usize) {
            let (program, passed) = &self.programs[rank];
            let Some(comm) = program.get(*passed).copied().filter(|_| self.waits[rank].is_none()) else {
                return;
            };
            self.arrivals[rank][comm] += 1;
            let place = Place { communicator: comm as u64, arrival: self.arrivals[rank][comm] };
            let meeting = Meeting { kind: MeetingKind::Barrier, line: 1, place: comm as u32 };
            self.waits[rank] =
                Some(Wait::new(Step { place, meeting: meeting.packed(rank as u32) }, rank as u32));
        }

        /// The members of `comm` that wait in it go on if all have come.
        fn release(&mut self, comm: usize) -> bool {
            let members = self.members[comm].clone();
            if members.is_empty() || members.iter().any(|rank| self.at(*rank as usize) != Some(comm)) {
                return false;
            }
            for rank in members {
                self.waits[rank as usize] = None;
                self.programs[rank as usize].1 += 1;
            }
            true
        }

        fn send(&mut self, comm: usize, message: &[u8]) {
            for rank in self.members[comm].clone() {
                self.mail.push((rank, message.to_vec()));
            }
        }

        fn ask(&mut self, rank: usize) {
            if let (Some(comm), Some(wait)) = (self.at(rank), &self.waits[rank]) {
                self.asked += 1;
                let message = wait.question(rank as u32, self.asked);
                self.send(comm, &message);
            }
        }

        /// Delivers one message whose receiver waits; the ring that it finds.
        fn deliver(&mut self) -> Option<Vec<u64>> {
            let open: Vec<usize> =
                (0..self.mail.len()).filter(|at| self.waits[self.mail[*at].0 as usize].is_some()).collect();
            let at = *open.get(self.draw(open.len().max(1)))?;
            let (rank, message) = self.mail.swap_remove(at);
            let arrivals = &self.arrivals[rank as usize];
            let wait = self.waits[rank as usize].as_mut()?;
            match wait.react(&message, |comm| arrivals[comm as usize]) {
                Reaction::Ignore => None,
                Reaction::PassOn(message) => {
                    let comm = self.at(rank as usize)?;
                    self.send(comm, &message);
                    None
                }
                Reaction::Ring(ring) => Some(ring),
            }
        }

        /// Lets all come and go on until nothing moves.
        fn run_on(&mut self) {
            loop {
                (0..self.programs.len()).for_each(|rank| self.come(rank));
                let moved = (0..self.members.len()).filter(|comm| self.release(*comm)).count();
                if moved == 0 {
                    return;
                }
            }
        }

        /// The ranks of `ring` wait for each other, each in another communicator.
        fn assert_ring(&self, ring: &[u64]) {
            let ranks: Vec<u32> = ring.iter().map(|packed| ranks::meeting::rank_of(*packed)).collect();
            assert!(ranks.len() > 1);
            for (at, rank) in ranks.iter().enumerate() {
                let next = ranks[(at + 1) % ranks.len()];
                let (here, there) = (self.at(*rank as usize).unwrap(), self.at(next as usize).unwrap());
                assert!(here != there && self.members[here].contains(&next));
            }
        }

        fn is_stuck(&self) -> bool {
            self.programs.iter().any(|(program, passed)| *passed < program.len())
        }
    }

    #[test]
    fn a_ring_is_found_where_ranks_wait_for_each_other_and_nowhere_else() {
        let (mut rings, mut ended) = (0, 0);
        for seed in 0..3000 {
            let mut job = SimulatedJob::random(seed * 7919 + 1);
            let mut found = None;
            for _ in 0..200 {
                match job.draw(4) {
                    0 => {
                        let rank = job.draw(job.programs.len());
                        job.come(rank);
                    }
                    1 => {
                        let comm = job.draw(job.members.len());
                        job.release(comm);
                    }
                    2 => {
                        let rank = job.draw(job.programs.len());
                        job.ask(rank);
                    }
                    _ => found = job.deliver(),
                }
                if found.is_some() {
                    break;
                }
            }
            if let Some(ring) = &found {
                job.assert_ring(ring);
                // Whatever the others do, these stay.
                job.run_on();
                job.assert_ring(ring);
                rings += 1;
                continue;
            }
            job.run_on();
            if !job.is_stuck() {
                ended += 1;
                continue;
            }
            // Every rank has a later meeting that all others share, so who is stuck waits for one who waits.
            (0..job.programs.len()).for_each(|rank| job.ask(rank));
            let found = loop {
                if let Some(ring) = job.deliver() {
                    break Some(ring);
                }
                if job.mail.iter().all(|(rank, _)| job.waits[*rank as usize].is_none()) {
                    break None;
                }
            };
            job.assert_ring(&found.expect("a ring"));
            rings += 1;
        }
        assert!(rings > 300 && ended > 300, "{rings} {ended}");
    }

    #[test]
    fn a_rank_asks_again_at_growing_intervals_and_later_if_another_has_asked() {
        let here =
            Step { place: Place { communicator: 1, arrival: 3 }, meeting: Meeting::default().packed(0) };
        let mut wait = Wait::new(here, 0);
        let seconds = Duration::from_secs_f64;
        assert!(!wait.is_due(seconds(0.9)));
        assert!(wait.is_due(seconds(1.0)) && !wait.is_due(seconds(1.9)) && wait.is_due(seconds(2.0)));
        let mut other = Wait::new(here, 3);
        assert_eq!(other.react(&wait.question(0, 1), |_| 3), Reaction::Ignore);
        assert!(!other.is_due(seconds(2.0)) && other.is_due(seconds(2.1)));
    }

    #[test]
    fn bytes_that_are_no_question_are_ignored() {
        let here =
            Step { place: Place { communicator: 1, arrival: 3 }, meeting: Meeting::default().packed(0) };
        let mut wait = Wait::new(here, 0);
        let message = wait.question(4, 1);
        for length in 0..message.len() {
            assert_eq!(wait.react(&message[..length], |_| 0), Reaction::Ignore, "{length}");
        }
        assert_eq!(Question::of(&message).unwrap().message(), message);
    }
}
