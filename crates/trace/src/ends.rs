//! When each call ended, by the clock.

use crate::model::column::{DURATION, HELD, START, THREAD};
use crate::model::{Call, CallReader, Trace};
use crate::packed::Scattered;

/// When each call ended, by the clock. A recorder that stops threads tells durations without that, so that calls which
/// overlapped look as if one had come behind the other; how long the thread had stood still by its next call tells the rest.
pub struct CallEnds {
    /// By how much each call ended later than it says.
    later: Scattered,
}

impl CallEnds {
    /// Those of a trace.
    pub fn of(trace: &Trace) -> Self {
        if !trace.calls.tell_of_stops() {
            return Self { later: Scattered::default() };
        }
        let mut later = Scattered::zeros(trace.calls.len());
        let mut last: Vec<Option<(u32, u64, u64)>> = vec![None; trace.threads.len()];
        let mut reader = CallReader::of(&[START, DURATION, THREAD, HELD]);
        for at in trace.calls.by_start() {
            let call = reader.get(&trace.calls, at);
            let Some(last) = last.get_mut(call.thread as usize) else { continue };
            if let Some((before, end, held)) = last.replace((at, call.end(), call.held)) {
                let by_then = call.start.min(end.saturating_add(call.held.saturating_sub(held)));
                later.put(before as usize, by_then.saturating_sub(end));
            }
        }
        Self { later }
    }

    /// When a call ended.
    pub fn get(&self, at: u32, call: &Call) -> u64 {
        call.end().saturating_add(self.later.get(at as usize))
    }
}
