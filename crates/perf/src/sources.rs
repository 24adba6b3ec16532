//! Opens the best sources of observation that this machine allows and reports which causes they cannot see.

use std::io;

use samples::{Cause, Coverage, Tier};

use crate::device::Devices;
use crate::events::{self, EventMeaning, KernelEvent};
use crate::ring::EventRing;

/// The data sources of a watch other than the counters of its thread.
pub struct Sources {
    /// Records of switches, faults and interrupts.
    pub ring: Option<EventRing>,
    /// Requests to block devices.
    pub devices: Option<Devices>,
    /// The causes that these sources can observe.
    pub coverage: Coverage,
}

/// Opens the best sources within `limit`; `queue` says whether the wait on the run queue can be read.
pub fn open(limit: Tier, queue: bool) -> Sources {
    let sees = vec![Cause::Preempted, Cause::Blocked, Cause::Migration, Cause::MinorFault, Cause::MajorFault];
    let mut coverage = Coverage { sees, ..Coverage::default() };
    let blind = &mut coverage.blind;
    if !queue {
        blind.push(
            "the time that tasks waited for a processor: /proc/thread-self/schedstat is missing, so nothing is corrected"
                .into(),
        );
    }
    let leader = (limit >= Tier::Events).then(events::switches);
    let led_by = leader.as_ref().and_then(|leader| leader.as_ref().ok());
    let mut interrupts = (limit >= Tier::Tracepoints).then(|| events::interrupts(led_by));
    let ring = leader.map(|leader| {
        let found = interrupts.as_mut().and_then(|found| found.as_mut().ok());
        let meanings: Vec<EventMeaning> =
            found.iter().flat_map(|all| all.iter()).map(|one| one.meaning).collect();
        open_ring(leader?, found.map(std::mem::take).unwrap_or_default()).map(|ring| (ring, meanings))
    });
    if let Some(Err(error)) = &interrupts {
        blind.push(format!(
            "interrupts: no tracepoints ({error}; they need root or CAP_PERFMON, and tracefs)"
        ));
    }
    let ring = match ring {
        None => None,
        Some(Ok((ring, meanings))) => {
            coverage.tier = if matches!(interrupts, Some(Ok(_))) { Tier::Tracepoints } else { Tier::Events };
            let pairs = [
                (EventMeaning::Timer, Cause::Timer),
                (EventMeaning::SoftInterrupt, Cause::SoftInterrupt),
                (EventMeaning::DeviceInterrupt, Cause::DeviceInterrupt),
            ];
            let seen = pairs.iter().filter(|(meaning, _)| meanings.contains(meaning));
            coverage.sees.extend(seen.map(|(_, cause)| *cause));
            Some(ring)
        }
        Some(Err(error)) => {
            let paranoid = events::paranoid().map_or("not readable".into(), |value| value.to_string());
            blind.push(format!(
                "causes of operations shorter than 20 µs: no perf events ({error}; \
                 kernel.perf_event_paranoid is {paranoid}, 2 or less is needed)"
            ));
            None
        }
    };
    if coverage.tier < Tier::Tracepoints && !matches!(interrupts, Some(Err(_))) {
        blind.push("interrupts: they need tracepoints, which were not asked for or not available".into());
    }
    let devices = open_devices(&mut coverage);
    Sources { ring, devices, coverage }
}

/// A ring for switches, faults and `interrupts`.
fn open_ring(leader: KernelEvent, interrupts: Vec<KernelEvent>) -> io::Result<EventRing> {
    let mut others = vec![events::faults(&leader)?];
    others.extend(interrupts);
    EventRing::map(leader, others)
}

/// Rings for the requests to block devices, where tracepoints are available.
fn open_devices(coverage: &mut Coverage) -> Option<Devices> {
    let devices = match (coverage.tier == Tier::Tracepoints).then(Devices::of_this_thread) {
        None => None,
        Some(Ok(found)) => {
            coverage.sees.push(Cause::Device);
            Some(found)
        }
        Some(Err(error)) => {
            coverage.blind.push(format!("time inside block devices ({error})"));
            None
        }
    };
    coverage.blind.push(match devices {
        Some(_) => {
            "time the hypervisor took, and what a device did for the kernel's own threads (a journal, \
             write-back): what remains unexplained may be either"
                .into()
        }
        None => {
            "time the hypervisor took, and time inside the device: what remains unexplained may be either"
                .into()
        }
    });
    devices
}
