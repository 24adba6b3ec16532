//! Chooses a processor for each rank of this machine, and pins the rank to it.

use machine::affinity::{allowed, pin};

/// Are ranks pinned to processors?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Several ranks are, where there is a processor for each. They wait for each other, and two of them on
    /// one processor would make each step as long as a time slice. A rank alone is left to the scheduler,
    /// which moves it when another process wants its processor: a pinned one would wait.
    #[default]
    Auto,
    /// Each rank has a processor of its own; with more ranks than processors they share evenly.
    Cores,
    /// None is.
    None,
}

/// Which processors the ranks get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// One a rank; empty: they are left to the scheduler.
    processors: Vec<u16>,
    /// Why, for the facts.
    why: String,
}

impl Placement {
    /// For `ranks` ranks that this process will fork.
    pub fn choose(pin: Pin, ranks: u32) -> Self {
        Self::among(pin, ranks, &by_core(&allowed(), first_sibling))
    }

    fn among(pin: Pin, ranks: u32, processors: &[u16]) -> Self {
        let free = |why: &str| Self { processors: Vec::new(), why: format!("left to the scheduler: {why}") };
        let count = processors.len();
        match pin {
            _ if processors.is_empty() => free("the kernel does not say which processors may be used"),
            Pin::None => free("asked for"),
            Pin::Auto if ranks == 1 => free("one rank alone"),
            Pin::Auto if ranks as usize > count => {
                free(&format!("{ranks} ranks, and {count} processors that may be used"))
            }
            Pin::Auto | Pin::Cores => {
                let chosen: Vec<u16> = processors.iter().copied().cycle().take(ranks as usize).collect();
                let list: Vec<String> = chosen.iter().take(64).map(u16::to_string).collect();
                let more = if chosen.len() > list.len() { ", …" } else { "" };
                Self {
                    processors: chosen,
                    why: format!("pinned to processors {}{more}, by rank", list.join(", ")),
                }
            }
        }
    }

    /// What was chosen and why, for the facts.
    pub fn describe(&self) -> String {
        self.why.clone()
    }

    /// Pins the calling process, which is `rank`, for as long as it lives; its threads are set free again by
    /// [`machine::affinity::unpin`]. A processor that went away meanwhile leaves the rank where it may run.
    pub fn pin_rank(&self, rank: u32) {
        if let Some(processor) = self.processors.get(rank as usize)
            && let Ok(pinned) = pin(*processor)
        {
            pinned.keep();
        }
    }
}

/// The processors with one of each core first, so that ranks share a core only when there are more of them.
fn by_core(processors: &[u16], first_sibling: impl Fn(u16) -> u16) -> Vec<u16> {
    let mut seen = std::collections::HashMap::new();
    let mut ordered: Vec<(u32, u16)> = processors
        .iter()
        .map(|processor| {
            let turn = seen.entry(first_sibling(*processor)).or_insert(0u32);
            *turn += 1;
            (*turn, *processor)
        })
        .collect();
    ordered.sort_unstable();
    ordered.into_iter().map(|(_, processor)| processor).collect()
}

/// The lowest processor on the same core; itself where that is not known.
fn first_sibling(processor: u16) -> u16 {
    let path = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    list.split(|c: char| !c.is_ascii_digit()).next().and_then(|first| first.parse().ok()).unwrap_or(processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_of_each_core_comes_first() {
        let ordered = by_core(&[0, 1, 2, 3, 6], |processor| processor % 2);
        assert_eq!(ordered, [0, 1, 2, 3, 6]);
        let ordered = by_core(&[0, 1, 2, 3], |processor| processor / 2 * 2);
        assert_eq!(ordered, [0, 2, 1, 3]);
    }

    #[test]
    fn several_ranks_are_pinned_where_there_is_a_processor_for_each() {
        let of = |pin, ranks| Placement::among(pin, ranks, &[4, 6]).processors;
        assert_eq!(of(Pin::Auto, 2), [4, 6]);
        assert!(of(Pin::Auto, 1).is_empty() && of(Pin::Auto, 3).is_empty() && of(Pin::None, 2).is_empty());
        assert_eq!(of(Pin::Cores, 1), [4]);
        assert_eq!(of(Pin::Cores, 5), [4, 6, 4, 6, 4]);
        assert!(Placement::among(Pin::Cores, 2, &[]).describe().contains("does not say"));
        assert_eq!(Placement::among(Pin::Auto, 2, &[4, 6]).describe(), "pinned to processors 4, 6, by rank");
    }
}
