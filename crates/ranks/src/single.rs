//! The communicator of a rank without others.

use samples::ClockOffset;

use crate::{Comm, CommError, RankStatus};

/// One rank with nobody to wait for: every call returns at once.
#[derive(Debug, Default)]
pub struct Single {
    status: RankStatus,
}

impl Single {
    /// A communicator of one rank.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Comm for Single {
    fn rank(&self) -> u32 {
        0
    }

    fn size(&self) -> u32 {
        1
    }

    fn barrier(&self, value: u64) -> Result<u64, CommError> {
        Ok(value)
    }

    fn broadcast(&self, _root: u32, _bytes: &mut Vec<u8>) -> Result<(), CommError> {
        Ok(())
    }

    fn gather(&self, _root: u32, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        Ok(Some(vec![bytes.to_vec()]))
    }

    fn split(&self, color: Option<u32>, _key: u32) -> Result<Option<Box<dyn Comm>>, CommError> {
        Ok(color.map(|_| Box::new(Self::new()) as Box<dyn Comm>))
    }

    fn clock_offsets(&self, now: &mut dyn FnMut() -> u64) -> Result<Vec<ClockOffset>, CommError> {
        Ok(vec![ClockOffset { at_ns: now(), ..ClockOffset::default() }])
    }

    fn status(&self) -> &RankStatus {
        &self.status
    }

    fn stopped(&self) -> Option<CommError> {
        None
    }

    fn abandon(&self, _why: &str) {}

    fn name(&self) -> &'static str {
        "single"
    }

    fn description(&self) -> String {
        "one rank".into()
    }
}
