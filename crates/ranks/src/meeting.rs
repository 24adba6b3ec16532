//! Which meeting of the program a rank has come to: ranks that wait for each other must mean the same one.

/// Bits of a packed meeting below those that ranks compare: the rank.
const RANK_BITS: u32 = 20;
const FIELD: u64 = (1 << RANK_BITS) - 1;

/// What ranks meet in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum MeetingKind {
    /// Before the program.
    #[default]
    Start = 1,
    /// A barrier, or that at the beginning of a phase.
    Barrier = 2,
    /// The barrier at the end of a phase.
    PhaseEnd = 3,
    /// A collective command.
    Command = 4,
    /// The next round of a loop over time.
    Round = 5,
    /// Behind the program.
    End = 6,
}

/// A place where ranks meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    /// In what.
    pub kind: MeetingKind,
    /// The line in the program.
    pub line: u32,
    /// The number of the statement, which tells two in one line apart.
    pub place: u32,
}

impl Meeting {
    /// In 64 bits, never 0, with the rank that has come. Lines and places past a million count modulo that: two
    /// meetings may look the same, one never looks like two.
    pub fn packed(self, rank: u32) -> u64 {
        let field = |number: u32| u64::from(number) & FIELD;
        (self.kind as u64) << (3 * RANK_BITS)
            | field(self.line) << (2 * RANK_BITS)
            | field(self.place) << RANK_BITS
            | field(rank)
    }
}

/// Bits of [`count_of_arrivals`].
const COUNT_BITS: u32 = RANK_BITS;

/// What the arrival of one rank for a packed meeting adds to the word in which a barrier counts: one, and above the count
/// a number that says which meeting, another one for each.
pub(crate) fn arrival(packed: u64) -> u64 {
    /// Bits of the number: all above the count.
    const BITS: u32 = u64::BITS - COUNT_BITS;
    // Each step can be undone. Sums of several numbers then differ as those of random ones do.
    let meeting = packed >> RANK_BITS;
    let spread = (meeting ^ (meeting >> (BITS / 2))).wrapping_mul(0x9e37_79b9_7f4a_7c15) << COUNT_BITS;
    (spread ^ ((spread >> (BITS / 2)) & !FIELD)) | 1
}

/// How many ranks have arrived by such a word.
pub(crate) fn count_of_arrivals(word: u64) -> u64 {
    word & ((1 << COUNT_BITS) - 1)
}

/// Have all who arrived by `word` come for the meeting of this arrival?
pub(crate) fn all_meet(word: u64, arrival: u64) -> bool {
    word == arrival.wrapping_mul(count_of_arrivals(word))
}

/// Are two packed meetings the same, whichever ranks came?
pub fn is_same(one: u64, other: u64) -> bool {
    (one ^ other) >> RANK_BITS == 0
}

/// Is this number a packed meeting?
pub(crate) fn is_one(packed: u64) -> bool {
    (MeetingKind::Start as u64..=MeetingKind::End as u64).contains(&(packed >> (3 * RANK_BITS)))
}

/// The rank in a packed meeting.
pub fn rank_of(packed: u64) -> u32 {
    (packed & FIELD) as u32
}

/// Where the rank in a packed meeting is: `rank 2 is at the barrier at line 7`.
fn whereabouts(packed: u64) -> String {
    format!("rank {} is {}", packed & FIELD, place(packed))
}

/// The place of a packed meeting: `at the barrier at line 7`.
pub fn place(packed: u64) -> String {
    let line = packed >> (2 * RANK_BITS) & FIELD;
    match packed >> (3 * RANK_BITS) {
        2 => format!("at the barrier at line {line}"),
        3 => format!("at the end of the phase at line {line}"),
        4 => format!("at the collective command at line {line}"),
        5 => format!("before a round of the loop at line {line}"),
        6 => "at the end of the program".into(),
        _ => "at the start of the program".into(),
    }
}

/// What is wrong with ranks that came to these two packed meetings, in words; the lower rank comes first.
pub fn apart(one: u64, other: u64) -> String {
    let (first, second) = if one & FIELD <= other & FIELD { (one, other) } else { (other, one) };
    format!(
        "ranks wait for each other at different places: {}, {}; every rank of a group must come to the same \
         barriers and collective commands in the same order",
        whereabouts(first),
        whereabouts(second)
    )
}

/// What is wrong with ranks of which each waits in a group of its own for the next one, and the last for the first.
pub fn ring(packed: &[u64]) -> String {
    /// So many are named.
    const NAMED: usize = 4;
    let named: Vec<String> = packed.iter().take(NAMED).map(|packed| whereabouts(*packed)).collect();
    let more = match packed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(
        "ranks wait for each other in different groups: {}{more}; ranks that are in several groups must come to their \
         barriers and collective commands in the same order",
        named.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_for_another_meeting_show_in_the_sum() {
        let kinds = [MeetingKind::Barrier, MeetingKind::PhaseEnd, MeetingKind::End];
        let meetings: Vec<Meeting> = kinds
            .into_iter()
            .flat_map(|kind| {
                (0..16).flat_map(move |line| (0..4).map(move |place| Meeting { kind, line, place }))
            })
            .collect();
        let of = |meeting: &Meeting, rank| arrival(meeting.packed(rank));
        for one in &meetings {
            for count in [1, 2, 3, 16, 1024, (1 << COUNT_BITS) - 1] {
                let same = of(one, 3).wrapping_mul(count);
                assert!(all_meet(same, of(one, 5)) && count_of_arrivals(same) == count);
                for other in meetings.iter().filter(|other| *other != one) {
                    assert!(!all_meet(same, of(other, 0)), "{count} at {one:?}, then one at {other:?}");
                    let mixed = same.wrapping_sub(of(one, 0)).wrapping_add(of(other, 0));
                    assert!(!all_meet(mixed, of(one, 0)), "one of {count} at {other:?}, then one at {one:?}");
                }
            }
        }
        assert!(all_meet(0, of(&meetings[0], 1)));
    }

    #[test]
    fn meetings_differ_by_kind_line_and_place_and_not_by_rank() {
        let barrier = Meeting { kind: MeetingKind::Barrier, line: 7, place: 3 };
        assert!(is_same(barrier.packed(0), barrier.packed(9)));
        for other in [
            Meeting { kind: MeetingKind::PhaseEnd, ..barrier },
            Meeting { line: 8, ..barrier },
            Meeting { place: 4, ..barrier },
        ] {
            assert!(!is_same(barrier.packed(0), other.packed(0)));
        }
        assert_ne!(Meeting::default().packed(0), 0);
        let end = Meeting { kind: MeetingKind::End, ..Meeting::default() };
        let text = apart(end.packed(5), barrier.packed(2));
        assert!(
            text.contains("rank 2 is at the barrier at line 7, rank 5 is at the end of the program"),
            "{text}"
        );
    }
}
