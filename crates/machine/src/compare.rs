//! Compares two descriptions of a machine and warns of what changed during a run.

use samples::units::{bytes, duration};
use samples::{MachineFacts, NfsOperation, PathFacts, Warning};

use crate::layout_words;

/// Warnings about changes.
#[derive(Default)]
struct Changes(Vec<Warning>);

impl Changes {
    fn warn(&mut self, code: &str, text: String, advice: &str) {
        self.0.push(Warning { code: code.into(), text, advice: advice.into() });
    }

    /// Warns if a setting changed that should stay constant during a run.
    fn changed(&mut self, name: &str, old: Option<String>, new: Option<String>) {
        if old != new {
            let word = |value: Option<String>| value.unwrap_or_else(|| "nothing".into());
            let text = format!("the {name} changed from {} to {} during the run", word(old), word(new));
            self.warn("machine-changed", text, "measure again without the change");
        }
    }
}

/// Compares a description from before a run with one from after it and returns warnings on the result.
///
/// I/O pressure is not compared: a run that waits for a device raises it itself.
pub fn compare(before: &MachineFacts, after: &MachineFacts) -> Vec<Warning> {
    let mut found = Changes::default();
    settings(before, after, &mut found);
    slowed(before, after, &mut found);
    load(before, after, &mut found);
    for (old, new) in before.paths.iter().zip(&after.paths) {
        compare_paths(old, new, &mut found);
    }
    found.0
}

fn settings(before: &MachineFacts, after: &MachineFacts, found: &mut Changes) {
    let (old, new) = (&before.processor, &after.processor);
    found.changed("governor", old.governor.clone(), new.governor.clone());
    found.changed("clock source", old.clock_source.clone(), new.clock_source.clone());
    found.changed("boost", old.boost.map(|on| on.to_string()), new.boost.map(|on| on.to_string()));
    let (kernel, later) = (&before.kernel, &after.kernel);
    found.changed("huge-page policy", kernel.huge_pages.clone(), later.huge_pages.clone());
    let number = |value: Option<u64>| value.map(|n| n.to_string());
    let name = "number of free huge pages";
    found.changed(name, number(kernel.huge_pages_free), number(later.huge_pages_free));
    for (name, value) in &kernel.settings {
        found.changed(name, Some(value.clone()), later.settings.get(name).cloned());
    }
    let share =
        |machine: &MachineFacts| machine.limits.processors.map(|share| format!("{share:.2} processors"));
    found.changed("control group's quota", share(before), share(after));
    let memory = |machine: &MachineFacts| machine.limits.memory.map(bytes);
    found.changed("control group's memory", memory(before), memory(after));
    if old.online != new.online || old.allowed != new.allowed {
        found.warn(
            "machine-changed",
            "the number of usable processors changed during the run".into(),
            "measure again without the change",
        );
    }
}

/// Warns of throttling, heat, frequency changes and stolen time.
fn slowed(before: &MachineFacts, after: &MachineFacts, found: &mut Changes) {
    let grew = |old: Option<u64>, new: Option<u64>| new.unwrap_or(0).saturating_sub(old.unwrap_or(0));
    let throttled = grew(before.limits.throttled, after.limits.throttled);
    if throttled > 0 {
        let ms = |machine: &MachineFacts| machine.limits.throttled_ms.unwrap_or(0.0);
        let stood = (ms(after) - ms(before)).max(0.0) / 1e3;
        let stood = if stood > 0.0 { format!(", for {} in total", duration(stood)) } else { String::new() };
        found.warn(
            "throttled",
            format!("the control group was throttled {throttled} times during the run{stood}"),
            "raise cpu.max or use fewer ranks: a throttled rank is stopped for tens of ms",
        );
    }
    let hot = grew(before.processor.hot, after.processor.hot);
    if hot > 0 {
        found.warn(
            "heat",
            format!("cores were throttled for heat {hot} times during the run"),
            "improve the cooling, or use fewer cores",
        );
    }
    if let (Some(old), Some(new)) = (before.processor.gigahertz_measured, after.processor.gigahertz_measured)
        && (new < 0.85 * old || new > 1.15 * old)
    {
        found.warn(
            "frequency-changed",
            format!("the processor ran at {old:.2} GHz before the run and at {new:.2} GHz after it"),
            "fix the frequency (governor performance, boost off), or repeat and compare",
        );
    }
    if let (Some(old), Some(new)) = (before.load.stolen_ms, after.load.stolen_ms) {
        let stolen = new.saturating_sub(old) as f64;
        let elapsed = after.load.uptime_s.unwrap_or(0.0) - before.load.uptime_s.unwrap_or(0.0);
        let share = stolen / (elapsed * 10.0 * f64::from(after.processor.online.unwrap_or(1))).max(1.0);
        if elapsed > 0.0 && share >= 1.0 {
            found.warn(
                "stolen",
                format!(
                    "the hypervisor held the processors back for {share:.0}% of the run (steal): for other guests, for \
                     itself, or by a limit"
                ),
                "measure again at a quieter time, or on a dedicated machine",
            );
        }
    }
}

fn load(before: &MachineFacts, after: &MachineFacts, found: &mut Changes) {
    let busy = |machine: &MachineFacts| machine.load.processor_pressure.unwrap_or(0.0);
    let average = |machine: &MachineFacts| machine.load.average.map_or(0.0, |average| average[0]);
    let own = "the run's own ranks may be the cause: use no more ranks than processors, or look at the corrected results";
    let online = f64::from(after.processor.online.unwrap_or(1));
    if before.load.processor_pressure.is_some() && busy(before) < 10.0 && busy(after) >= 40.0 {
        found.warn(
            "load-changed",
            format!(
                "the share of time in which tasks waited for a processor rose from {:.0} to {:.0}% during the run",
                busy(before),
                busy(after)
            ),
            own,
        );
    } else if average(after) > average(before) + 1.5 * online {
        found.warn(
            "load-changed",
            format!(
                "the load rose from {:.1} to {:.1} during the run, which adds to it itself",
                average(before),
                average(after)
            ),
            own,
        );
    }
    let short = |machine: &MachineFacts| machine.load.memory_pressure.unwrap_or(0.0);
    if before.load.memory_pressure.is_some() && short(before) < 1.0 && short(after) >= 1.0 {
        found.warn(
            "memory-pressure",
            format!(
                "tasks began to wait for memory during the run, in {:.0}% of the last 10 s",
                short(after)
            ),
            "use smaller sizes or fewer ranks, or stop other processes that use much memory",
        );
    }
    let swapped = |machine: &MachineFacts| machine.memory.swap_used.unwrap_or(0);
    if swapped(after) > swapped(before) + (16 << 20) {
        found.warn(
            "swapped",
            format!("{} of memory were swapped out during the run", bytes(swapped(after) - swapped(before))),
            "memory was short: pages that were swapped in again were read from a device",
        );
    }
}

fn compare_paths(old: &PathFacts, new: &PathFacts, found: &mut Changes) {
    if old.mount != new.mount {
        found.warn(
            "mount-changed",
            format!("{} was mounted again during the run", old.path),
            "measure again without the change",
        );
    }
    if old.layout != new.layout {
        let words =
            |place: &PathFacts| layout_words::words(&place.layout).unwrap_or_else(|| "unknown".into());
        found.warn(
            "layout-changed",
            format!("the layout of {} changed during the run: {}, then {}", old.path, words(old), words(new)),
            "measure again without the change",
        );
    }
    let full = |place: &PathFacts| match (place.free, place.total) {
        (Some(free), Some(total)) => free < total / 20,
        _ => false,
    };
    if full(new) && !full(old) {
        found.warn(
            "disk-filled",
            format!("{} became nearly full during the run", old.path),
            "nearly full file systems allocate slowly: make room, or write less",
        );
    }
    let sum = |place: &PathFacts, of: fn(&NfsOperation) -> u64| -> u64 {
        place.nfs.iter().flat_map(|nfs| nfs.operations.values()).map(of).sum()
    };
    let grew = |of: fn(&NfsOperation) -> u64| sum(new, of).saturating_sub(sum(old, of));
    let again = grew(|one| one.transmissions.saturating_sub(one.count));
    if again > 0 {
        found.warn(
            "nfs-retransmitted",
            format!("{again} NFS requests under {} were sent again during the run", old.path),
            "the network loses packets or the server is overloaded; this adds to the tail",
        );
    }
    let lost = grew(|one| one.timeouts);
    if lost > 0 {
        found.warn(
            "nfs-timeouts",
            format!("{lost} NFS requests under {} timed out and were started again by the client", old.path),
            "the server did not answer within `timeo`: check the server and the network",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{FileLayout, Limits, Load, Memory, Mount, NfsMount, OsKernel, Processor};

    fn codes(before: &MachineFacts, after: &MachineFacts) -> Vec<String> {
        assert_eq!(compare(before, before), []);
        compare(before, after).into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn throttling_and_stealing_during_a_run_become_warnings() {
        let at = |throttled, stolen_ms, uptime_s| MachineFacts {
            processor: Processor { online: Some(2), ..Processor::default() },
            limits: Limits { throttled: Some(throttled), ..Limits::default() },
            load: Load { stolen_ms: Some(stolen_ms), uptime_s: Some(uptime_s), ..Load::default() },
            ..MachineFacts::default()
        };
        let found = compare(&at(3, 1000, 50.0), &at(5, 3000, 60.0));
        let codes: Vec<_> = found.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, ["throttled", "stolen"]);
        assert!(found[1].text.contains("10%"), "{}", found[1].text);
        assert_eq!(compare(&at(3, 1000, 50.0), &at(3, 1000, 60.0)), []);
    }

    #[test]
    fn every_change_of_the_machine_becomes_one_warning() {
        let place = |options: &str, free, again: u64, timeouts| {
            let write =
                NfsOperation { count: 9, transmissions: 9 + again, timeouts, ..NfsOperation::default() };
            PathFacts {
                path: "/d".into(),
                mount: Some(Mount { options: vec![options.into()], ..Mount::default() }),
                free: Some(free),
                total: Some(1000),
                nfs: Some(NfsMount { operations: [("WRITE".into(), write)].into(), ..NfsMount::default() }),
                ..PathFacts::default()
            }
        };
        let before = MachineFacts {
            processor: Processor {
                governor: Some("performance".into()),
                clock_source: Some("tsc".into()),
                boost: Some(false),
                online: Some(8),
                allowed: Some(8),
                hot: Some(2),
                gigahertz_measured: Some(3.5),
                ..Processor::default()
            },
            kernel: OsKernel {
                huge_pages: Some("madvise".into()),
                huge_pages_free: Some(64),
                settings: [("vm/swappiness".to_owned(), "60".to_owned())].into(),
                ..OsKernel::default()
            },
            limits: Limits { processors: Some(4.0), throttled: Some(1), ..Limits::default() },
            memory: Memory { swap_used: Some(0), ..Memory::default() },
            load: Load {
                average: Some([1.0; 3]),
                processor_pressure: Some(1.0),
                memory_pressure: Some(0.0),
                ..Load::default()
            },
            paths: vec![place("rw", 500, 0, 0)],
            ..MachineFacts::default()
        };
        let with = |change: &dyn Fn(&mut MachineFacts)| {
            let mut after = before.clone();
            change(&mut after);
            codes(&before, &after)
        };
        assert_eq!(with(&|m| m.processor.governor = Some("powersave".into())), ["machine-changed"]);
        assert_eq!(with(&|m| m.processor.clock_source = Some("hpet".into())), ["machine-changed"]);
        assert_eq!(with(&|m| m.processor.boost = Some(true)), ["machine-changed"]);
        assert_eq!(with(&|m| m.processor.allowed = Some(4)), ["machine-changed"]);
        assert_eq!(with(&|m| m.kernel.huge_pages = Some("never".into())), ["machine-changed"]);
        assert_eq!(with(&|m| m.kernel.huge_pages_free = Some(3)), ["machine-changed"]);
        assert_eq!(with(&|m| m.kernel.settings.clear()), ["machine-changed"]);
        assert_eq!(with(&|m| m.limits.processors = Some(2.0)), ["machine-changed"]);
        assert_eq!(with(&|m| m.limits.memory = Some(1 << 30)), ["machine-changed"]);
        assert_eq!(with(&|m| m.processor.hot = Some(3)), ["heat"]);
        assert_eq!(with(&|m| m.processor.gigahertz_measured = Some(2.0)), ["frequency-changed"]);
        assert_eq!(with(&|m| m.load.processor_pressure = Some(60.0)), ["load-changed"]);
        assert_eq!(with(&|m| m.load.average = Some([20.0; 3])), ["load-changed"]);
        assert_eq!(with(&|m| m.load.memory_pressure = Some(5.0)), ["memory-pressure"]);
        assert_eq!(with(&|m| m.memory.swap_used = Some(1 << 30)), ["swapped"]);
        assert_eq!(with(&|m| m.paths = vec![place("ro", 500, 0, 0)]), ["mount-changed"]);
        assert_eq!(with(&|m| m.paths = vec![place("rw", 10, 0, 0)]), ["disk-filled"]);
        assert_eq!(with(&|m| m.paths = vec![place("rw", 500, 4, 0)]), ["nfs-retransmitted"]);
        assert_eq!(with(&|m| m.paths = vec![place("rw", 500, 0, 1)]), ["nfs-timeouts"]);
        let layout = FileLayout::Described { text: "2 bricks".into() };
        assert_eq!(with(&|m| m.paths[0].layout = layout.clone()), ["layout-changed"]);
        let throttled = with(&|m| {
            m.limits.throttled = Some(5);
            m.limits.throttled_ms = Some(120.0);
        });
        assert_eq!(throttled, ["throttled"]);
    }
}
