//! What a run made: objects, not names.
//!
//! A name says little of what lies there: a directory can be moved away and a link put in its place. So a run remembers the
//! objects that calls of its own made, by device, inode and birth time, in memory that all of its ranks share.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::earlier_runs::EarlierRuns;
use super::moment::Moment;
use super::object::Object;
use super::others::OtherRun;
use super::table::Table;
use super::taken::Taken;

/// What belongs to a run: what its ranks made, and what earlier runs of the same user left.
///
/// A clone, also in a forked rank or a worker, is the same.
#[derive(Clone, Default)]
pub struct Ownership {
    made: Option<Arc<Table>>,
    /// Under an MPI launcher: that of the lowest rank of this machine, which all of them fill.
    of_machine: Option<Arc<Table>>,
    earlier: EarlierRuns,
    /// Other runs of the same user, for what is said of what they made.
    others: Arc<[OtherRun]>,
    /// Why nothing is remembered of earlier runs.
    forgotten: Option<Arc<String>>,
    /// Ranks of other machines made what was born since, where they can reach it.
    elsewhere_since: Option<Moment>,
}

/// Bytes by which a process says where its table is: the boot of its machine, process, descriptor, key.
pub const TICKET: usize = 64;
const BOOT: usize = 48;

impl Ownership {
    /// Of a run that begins: nothing is its own but what earlier runs left. Taken before ranks are forked.
    pub fn new() -> Self {
        Self { made: Table::new(false).map(Arc::new), earlier: EarlierRuns::read(), ..Self::default() }
    }

    /// As [`Ownership::new`]; what the run makes is known from `file` when all its processes were killed.
    pub fn kept_in(file: &File) -> Self {
        match Table::kept_in(file).map(Arc::new) {
            Some(made) => Self { made: Some(made), earlier: EarlierRuns::read(), ..Self::default() },
            None => Self::new(),
        }
    }

    /// Of a run that was killed, which kept in `file` what it made.
    pub fn left(file: File) -> Option<Self> {
        Some(Self { made: Some(Arc::new(Table::left(file)?)), ..Self::default() })
    }

    /// Did the run make more than is known now?
    pub(super) fn forgets(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.forgets())
    }

    /// When the run began, where it knows what it made.
    pub(super) fn since(&self) -> Option<Moment> {
        self.made.as_ref().map(|made| made.since())
    }

    /// Messages name these runs. What they made is not this one's.
    #[must_use]
    pub fn beside(self, others: Vec<OtherRun>) -> Self {
        let forgotten = super::earlier_runs::forgotten().map(Arc::new);
        Self { others: others.into(), forgotten, ..self }
    }

    /// Other runs of the same user.
    pub(super) fn others(&self) -> &[OtherRun] {
        &self.others
    }

    /// Why nothing is remembered of earlier runs.
    pub(super) fn forgotten(&self) -> Option<&String> {
        self.forgotten.as_deref()
    }

    /// As [`Ownership::new`], of one process among those that an MPI launcher started.
    pub fn of_process() -> Self {
        Self { made: Table::new(true).map(Arc::new), earlier: EarlierRuns::read(), ..Self::default() }
    }

    /// By which other ranks find the table of this one: [`TICKET`] bytes.
    pub fn ticket(&self) -> Vec<u8> {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut ticket = boot;
        ticket.resize(BOOT, 0);
        if let Some((process, descriptor, key)) = self.made.as_ref().and_then(|made| made.address()) {
            ticket.extend(process.to_le_bytes());
            ticket.extend(descriptor.to_le_bytes());
            ticket.extend(key.to_le_bytes());
        }
        ticket.resize(TICKET, 0);
        ticket
    }

    /// Knows what the others of this machine make, by the tickets of all ranks in their order; and whether there are ranks
    /// whose table cannot be reached from here. All call it before any of them is confined or ends.
    pub fn join(&mut self, tickets: &[u8], rank: u32) -> bool {
        let tickets = tickets.as_chunks::<TICKET>().0;
        let Some(mine) = tickets.get(rank as usize).filter(|_| self.made.is_some()) else { return false };
        let here = |ticket: &&[u8; TICKET]| ticket[..BOOT] == mine[..BOOT] && mine[0] != 0;
        let first = tickets.iter().position(|ticket| here(&ticket));
        if first != Some(rank as usize)
            && let Some(ticket) = first.map(|first| &tickets[first])
        {
            let number =
                |at: usize| ticket[at..at + 4].try_into().map(u32::from_le_bytes).unwrap_or_default();
            let key = ticket[BOOT + 8..].first_chunk().copied().map(u64::from_le_bytes).unwrap_or_default();
            let address = (number(BOOT), number(BOOT + 4) as i32, key);
            self.of_machine = Table::of_process(address).map(Arc::new);
        }
        let is_reached = first == Some(rank as usize) || self.of_machine.is_some();
        !is_reached || !tickets.iter().all(|ticket| here(&ticket))
    }

    /// There are ranks whose tables cannot be reached: those of other machines. What was born since `begun` is taken for
    /// theirs, on file systems that other machines can reach: those without a device of this one.
    #[must_use]
    pub fn with_ranks_elsewhere_since(self, begun: Moment) -> Self {
        Self { elsewhere_since: Some(begun), ..self }
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.made.iter().chain(&self.of_machine).map(AsRef::as_ref)
    }

    /// A call of this run made it.
    pub fn made(&self, object: &Object) {
        self.tables().for_each(|table| table.insert(object));
    }

    /// What the ranks of this machine take of the file system with this device; `None` where each counts alone.
    pub fn taken(&self, device: u64) -> Option<&Taken> {
        self.of_machine.as_ref().or(self.made.as_ref())?.taken(device)
    }

    /// It is gone: its number may be another's from now on.
    pub fn gone(&self, object: &Object) {
        for slot in self.tables().filter_map(|table| table.find(object)) {
            slot.store(0, Ordering::Release);
        }
    }

    /// Did this run make it?
    pub fn is_made(&self, object: &Object) -> bool {
        self.tables().any(|table| table.find(object).is_some())
            || self.elsewhere_since.is_some_and(|begun| {
                let born = Moment { ns: object.born_ns };
                object.device.0 == 0 && object.born_ns > 0 && born.is_within((begun, Moment::MAX))
            })
    }

    /// Did this run, or an earlier one of the same user, make it?
    pub fn is_ours(&self, object: &Object) -> bool {
        self.is_made(object) || self.earlier.know(object)
    }

    /// A call of this run is about to make a link that leads up from its directory.
    pub fn expect_link_up(&self) {
        self.made(&LINKS_UP);
    }

    /// May the run have made links that lead up from their directories?
    pub fn has_links_up(&self) -> bool {
        self.tables().any(|table| table.find(&LINKS_UP).is_some()) || self.elsewhere_since.is_some()
    }
}

/// Stands in a table for all links that lead up: no file system has this device.
const LINKS_UP: Object = Object { device: (u32::MAX, u32::MAX), inode: 1, born_ns: 0, changed_ns: 0 };

impl std::fmt::Debug for Ownership {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.debug_struct("Ownership").field("elsewhere_since", &self.elsewhere_since).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(inode: u64) -> Object {
        Object { device: (8, 1), inode, born_ns: 1_700_000_000_000_000_000, changed_ns: 0 }
    }

    #[test]
    fn an_object_is_made_until_it_is_gone_and_no_other_is() {
        let own = Ownership { made: Table::new(false).map(Arc::new), ..Ownership::default() };
        // More than the first level has room for.
        for inode in 0..20_000 {
            own.made(&object(inode));
        }
        assert!((0..20_000).all(|inode| own.is_made(&object(inode))));
        assert!((20_000..60_000).all(|inode| !own.is_made(&object(inode))));
        let other = Object { born_ns: 1, ..object(7) };
        assert!(!own.is_made(&other) && !own.is_made(&Object { device: (8, 2), ..object(7) }));
        (0..20_000).for_each(|inode| own.gone(&object(inode)));
        assert!((0..20_000).all(|inode| !own.is_made(&object(inode))));
    }

    #[test]
    fn making_and_removing_for_ever_takes_no_more_room() {
        let own = Ownership { made: Table::new(false).map(Arc::new), ..Ownership::default() };
        for inode in 0..1_000_000 {
            own.made(&object(inode));
            own.gone(&object(inode));
        }
        let table = own.made.expect("memory");
        assert_eq!(table.deepest().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn threads_that_make_at_the_same_time_lose_nothing() {
        let own = Ownership { made: Table::new(false).map(Arc::new), ..Ownership::default() };
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let own = own.clone();
                scope.spawn(move || (0..5_000).for_each(|n| own.made(&object(worker * 5_000 + n))));
            }
        });
        assert!((0..20_000).all(|inode| own.is_made(&object(inode))));
    }

    /// Tables of three ranks of one machine, joined.
    fn joined() -> Vec<Ownership> {
        let mut all: Vec<_> = (0..3)
            .map(|_| Ownership { made: Table::new(true).map(Arc::new), ..Ownership::default() })
            .collect();
        let tickets: Vec<u8> = all.iter().flat_map(Ownership::ticket).collect();
        for (rank, own) in (0..).zip(&mut all) {
            assert!(!own.join(&tickets, rank), "all are of this machine");
        }
        all
    }

    #[test]
    fn ranks_of_a_launcher_know_what_each_other_made_and_nothing_else() {
        let all = joined();
        for (maker, own) in (0..).zip(&all) {
            own.made(&object(maker));
            assert!(all.iter().all(|other| other.is_made(&object(maker))));
        }
        // Born while they run, and made by none of them.
        let stranger = Object { born_ns: Moment::now().ns, ..object(77) };
        assert!(!all.iter().any(|own| own.is_made(&stranger)));
        all[1].gone(&object(2));
        assert!(!all[0].is_made(&object(2)) && !all[1].is_made(&object(2)));
    }

    #[test]
    fn ranks_elsewhere_are_believed_only_where_other_machines_reach() {
        let mut own = Ownership { made: Table::new(true).map(Arc::new), ..Ownership::default() };
        let mut tickets = own.ticket();
        let mut other = tickets.clone();
        other[0] ^= 1;
        tickets.extend(other);
        assert!(own.join(&tickets, 0));
        let begun = Moment { ns: 1 };
        let own = own.with_ranks_elsewhere_since(begun);
        let (disk, network) = (object(5), Object { device: (0, 40), ..object(5) });
        assert!(!own.is_made(&disk) && own.is_made(&network));
    }

    #[test]
    fn a_ticket_that_leads_to_something_else_joins_nothing() {
        let mut all: Vec<_> = (0..2)
            .map(|_| Ownership { made: Table::new(true).map(Arc::new), ..Ownership::default() })
            .collect();
        let mut tickets: Vec<u8> = all.iter().flat_map(Ownership::ticket).collect();
        tickets[BOOT + 8] ^= 1;
        assert!(all[1].join(&tickets, 1));
        all[0].made(&object(1));
        assert!(!all[1].is_made(&object(1)));
    }

    #[test]
    fn links_that_lead_up_are_known_to_all() {
        let all = joined();
        assert!(!all[0].has_links_up());
        all[1].expect_link_up();
        assert!(all.iter().all(Ownership::has_links_up));
    }
}
