//! Blocks that are timed as a whole: those that are open, and those that were left while operations started in them
//! are still under way.
//!
//! Leaving a block waits for nothing: in an `async` block that would let one operation after the other be under way.
//! Its sample ends when everything started in it has ended, and is stored then.

/// What commands did: the time in them, the bytes they moved, their time on the run queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::execute) struct WorkDone {
    pub(super) commands_ps: u64,
    pub(super) bytes: u64,
    pub(super) queue_ns: u64,
}

impl WorkDone {
    pub(super) fn add(&mut self, more: WorkDone) {
        self.commands_ps += more.commands_ps;
        self.bytes += more.bytes;
        self.queue_ns += more.queue_ns;
    }

    /// What was done since `before`.
    pub(super) fn since(self, before: WorkDone) -> WorkDone {
        WorkDone {
            commands_ps: self.commands_ps - before.commands_ps,
            bytes: self.bytes - before.bytes,
            queue_ns: self.queue_ns - before.queue_ns,
        }
    }
}

/// A block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// The block around it.
    parent: Option<u32>,
    /// When it was entered, and how late that was.
    pub(super) begin: u64,
    pub(super) late_ns: u64,
    /// What had been done before, each command before the next one; once it was left, what was done in it.
    done: WorkDone,
    /// What operations did that were started in it, or in blocks inside.
    started: WorkDone,
    /// Operations started in it and blocks inside it that have not ended.
    under_way: u32,
    /// When it was left, or, if later, when the last operation started in it ended.
    pub(super) left: Option<u64>,
    /// Its place in the program, and the number of its site.
    pub(super) place: usize,
    pub(super) site: u32,
    /// Of the first operation in it that failed.
    pub(super) errno: i32,
}

impl Block {
    /// What was done in it, once it has ended.
    pub(super) fn inside(&self) -> WorkDone {
        let mut all = self.done;
        all.add(self.started);
        all
    }
}

/// All blocks that have not ended.
#[derive(Debug, Default)]
pub(in crate::execute) struct OpenBlocks {
    all: Vec<Block>,
    free: Vec<u32>,
    innermost: Option<u32>,
}

impl OpenBlocks {
    pub(super) fn new() -> Self {
        Self { all: Vec::with_capacity(64), ..Self::default() }
    }

    fn get(&mut self, number: Option<u32>) -> Option<&mut Block> {
        self.all.get_mut(number? as usize)
    }

    /// A block inside the innermost one begins; `done` is what was done before.
    pub(in crate::execute) fn enter(&mut self, begin: u64, late_ns: u64, done: WorkDone) {
        let parent = self.innermost;
        if let Some(around) = self.get(parent) {
            around.under_way += 1;
        }
        let block = Block { parent, begin, late_ns, done, ..Block::default() };
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(number as usize) {
            Some(unused) => *unused = block,
            None => self.all.push(block),
        }
        self.innermost = Some(number);
    }

    /// The innermost block, of this place and site, is left at `end`; `done` is what was done by then.
    pub(super) fn leave(&mut self, (place, site): (usize, u32), end: u64, done: WorkDone) -> Option<u32> {
        let number = self.innermost?;
        let block = self.get(Some(number))?;
        block.done = done.since(block.done);
        (block.place, block.site, block.left) = (place, site, Some(end));
        self.innermost = block.parent;
        Some(number)
    }

    /// An operation is started in the innermost block: in which one that is.
    pub(super) fn started(&mut self) -> Option<u32> {
        let number = self.innermost;
        if let Some(block) = self.get(number) {
            block.under_way += 1;
        }
        number
    }

    /// An operation that was started in this block has ended, and did so much.
    pub(super) fn ended(&mut self, number: Option<u32>, end: u64, done: WorkDone) {
        if let Some(block) = self.get(number) {
            block.under_way -= 1;
            block.started.add(done);
            block.left = block.left.map(|left| left.max(end));
        }
    }

    /// The block, if it was left and nothing started in it is under way any more; the one around it hears of it.
    pub(super) fn take_ended(&mut self, number: u32) -> Option<Block> {
        let block = *self.get(Some(number))?;
        let end = block.left.filter(|_| block.under_way == 0)?;
        self.free.push(number);
        self.ended(block.parent, end, block.started);
        Some(block)
    }

    /// The block around one that was taken.
    pub(super) fn around(block: &Block) -> Option<u32> {
        block.parent
    }

    /// Something failed in the innermost block.
    pub(in crate::execute) fn mark(&mut self, errno: i32) {
        self.mark_from(self.innermost, errno);
    }

    /// Something failed in this block, so in those around it, too: the first failure of each stays.
    pub(super) fn mark_from(&mut self, mut number: Option<u32>, errno: i32) {
        while let Some(block) = self.get(number) {
            if block.errno == 0 {
                block.errno = errno;
            }
            number = block.parent;
        }
    }

    /// The errno of the first failure in the block entered first.
    pub(in crate::execute) fn first_errno(&self) -> i32 {
        self.all.first().map_or(0, |block| block.errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: u64) -> WorkDone {
        WorkDone { bytes, ..WorkDone::default() }
    }

    #[test]
    fn a_block_ends_with_the_last_operation_started_in_it_or_in_a_block_inside() {
        let mut blocks = OpenBlocks::new();
        blocks.enter(10, 0, bytes(0));
        let outer = blocks.started();
        blocks.enter(11, 0, bytes(100));
        let inner = blocks.started();
        // 7 bytes were moved in the ordinary way inside.
        assert_eq!(blocks.leave((1, 1), 20, bytes(107)), inner);
        assert_eq!(blocks.leave((0, 0), 30, bytes(107)), outer);
        let (outer, inner) = (outer.expect("a block"), inner.expect("a block"));
        blocks.ended(Some(outer), 25, bytes(1));
        assert!(blocks.take_ended(inner).is_none() && blocks.take_ended(outer).is_none());
        blocks.mark_from(Some(inner), 5);
        blocks.ended(Some(inner), 40, bytes(2));
        let found = blocks.take_ended(inner).expect("ended");
        assert_eq!((found.begin, found.left, found.inside().bytes, found.errno), (11, Some(40), 9, 5));
        let found = blocks.take_ended(outer).expect("ended");
        assert_eq!((found.begin, found.left, found.inside().bytes, found.errno), (10, Some(40), 110, 5));
        assert_eq!(OpenBlocks::around(&found), None);
    }
}
