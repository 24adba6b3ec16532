//! Reads the traffic of network interfaces and the rates of their links.

use samples::Interface;

use crate::files::{number, text};

/// The interface to this machine itself.
const LOOPBACK: &str = "lo";

/// Interfaces that are told, those with the most traffic: a host of containers has hundreds.
const MOST: usize = 8;

/// The interfaces of this network namespace that have moved anything, without the loopback, as far as `/proc/net/dev` shows them.
pub(crate) fn interfaces() -> Vec<Interface> {
    let found = text("/proc/net/dev").unwrap_or_default();
    let rate = |name: &str| number::<i64>(format!("/sys/class/net/{name}/speed"));
    let mut moved: Vec<Interface> = parse(&found).filter(|one| one.received + one.sent > 0).collect();
    moved.sort_by_key(|one| std::cmp::Reverse(one.received + one.sent));
    moved.truncate(MOST);
    moved.sort_by(|a, b| a.name.cmp(&b.name));
    moved
        .into_iter()
        .map(|one| Interface {
            // Virtual links say -1, or nothing.
            megabits: rate(&one.name).and_then(|rate| u64::try_from(rate).ok()).filter(|rate| *rate > 0),
            ..one
        })
        .collect()
}

/// Two lines of heads, then a line for each interface: 8 numbers of what was received, 8 of what was sent, bytes first.
fn parse(table: &str) -> impl Iterator<Item = Interface> {
    table.lines().filter_map(|line| {
        let (name, numbers) = line.rsplit_once(':')?;
        let mut numbers = numbers.split_whitespace().map(|word| word.parse::<u64>().ok());
        let received = numbers.next()??;
        let sent = numbers.nth(7)??;
        let name = name.trim().to_owned();
        (name != LOOPBACK).then_some(Interface { name, received, sent, megabits: None })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::KernelFiles;

    const TABLE: &str = "Inter-|   Receive                            |  Transmit\n \
         face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
         lo: 900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0\n  \
         eth0:1234567890 10 0 0 0 0 0 0 42 7 0 0 0 0 0 0\neth0:1: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n";

    #[test]
    fn bytes_are_those_of_each_direction_and_a_rate_is_told_where_the_link_has_one() {
        let files = KernelFiles::new(&[
            ("/proc/net/dev", TABLE),
            ("/sys/class/net/eth0/speed", "10000\n"),
            ("/sys/class/net/eth0:1/speed", "-1\n"),
        ]);
        let found = interfaces();
        assert_eq!(found.len(), 2, "{found:?}");
        let of = |at: usize| {
            let one: &Interface = &found[at];
            (one.name.as_str(), one.received, one.sent, one.megabits)
        };
        assert_eq!(of(0), ("eth0", 1_234_567_890, 42, Some(10_000)));
        assert_eq!(of(1), ("eth0:1", 5, 6, None));
        drop(files);
    }
}
