//! What the first lines of a comparison with a recording say.

use report::{duration, percent};
use trace::fidelity::{Elsewhere, Excess, Fidelity, Side};
use trace::ledger::Missing;

/// Whether the same was done, and whether it took as long.
pub fn words((found, missing): (&Fidelity, Missing), application: &Side, further: usize) -> String {
    let replays = found.elapsed.len();
    let operations = found.rows.iter().map(|row| row.calls.0).sum::<u64>();
    let order = match found.same_order {
        Some(true) => " in the same order",
        Some(false) => " in another order",
        None => "",
    };
    let first = match (found.same_calls && found.same_bytes, found.failures) {
        (true, 0) => {
            let failed = match found.failed_as_recorded {
                0 => "none fails".to_owned(),
                1 => "1 fails, as it did in the application".to_owned(),
                more => format!("{more} fail, as they did in the application"),
            };
            match missing {
                Missing::Nothing => {
                    format!(
                        "The replay does the same {operations} operations{order} and moves the same bytes, and {failed}."
                    )
                }
                Missing::Reads | Missing::Changes => format!(
                    "The replay does the {operations} operations that a program repeats{order}, and {failed}; what it does not repeat \
                     {}.",
                    if missing == Missing::Reads { "read files" } else { "changed files" }
                ),
            }
        }
        (true, failures) => {
            format!(
                "The replay does the same {operations} operations{order}, but {failures} fail that worked in the application."
            )
        }
        (false, failures) => format!(
            "The replay differs: see the rows marked ≠{}.",
            if failures > 0 {
                format!(", and {failures} operations fail that worked in the application")
            } else {
                String::new()
            }
        ),
    };
    let mut out = format!("{first}\n");
    if found.successes > 0 {
        out += &format!(
            "Operations that failed in the application and not in the replay: {}.\n",
            found.successes
        );
    }
    out += &times(found, application);
    let other = (1..).zip(&found.excess).find(|(_, one)| one.within == Some(false));
    out += &other.map_or(String::new(), |(number, one)| why(one, (replays > 1).then_some(number)));
    out += &found.excess.iter().find_map(|one| one.elsewhere).map_or(String::new(), elsewhere);
    if found.excess.iter().any(|one| one.threads_waited) {
        out += "Threads of one process worked at the same time. Where one waited for another (a lock, an interpreter), the \
                replay waits as recorded, also where operations take less time here: it may take longer than the \
                application would here. Record that here to know.\n";
    }
    let runs = match further {
        0 => String::new(),
        more => format!(", {} runs of the application", more + 1),
    };
    out += &match found.deviance {
        Some((low, high)) => format!(
            "Interval of deviance: the operations of one more replay take {low:.2} to {high:.2} times as long (95%, \
             {replays} replays{runs}).\n"
        ),
        None if replays >= 3 => String::new(),
        None => "From three replays on there is an interval of deviance.\n".to_owned(),
    };
    out
}

/// For how much of `ran` nanoseconds operations were in flight.
pub fn in_flight(application: &Side, ran: u64) -> String {
    if ran == 0 {
        return String::new();
    }
    format!(
        "Operations on these files were in flight for {} of the {} from the start of the application to its end.\n",
        percent(application.busy() as f64 / ran as f64),
        duration(ran as f64 / 1e9)
    )
}

/// How long the operations take, which is compared, and the whole with its pauses, which is not: they are the recording's.
fn times(found: &Fidelity, application: &Side) -> String {
    let list = |ratios: Vec<f64>| ratios.iter().map(|one| format!("{one:.2}")).collect::<Vec<_>>().join(", ");
    let known: Vec<f64> = found.excess.iter().filter_map(|one| one.ratio).collect();
    let own = duration(application.busy() as f64 / 1e9);
    let mut out = match (known.len() == found.excess.len(), application.busy()) {
        (true, own_ns) => {
            let within = found.excess.iter().filter(|one| one.within == Some(true)).count();
            let told = match within {
                0 => "not within 5%".to_owned(),
                all if all == found.excess.len() => "within 5%".to_owned(),
                some => format!("{some} of {} within 5%", found.excess.len()),
            };
            let theirs = match found.excess.as_slice() {
                [one] => {
                    let theirs = own_ns.saturating_add_signed(one.operations);
                    format!("{}; the application: {own}", duration(theirs as f64 / 1e9))
                }
                _ => format!("the application: {own}"),
            };
            format!("Its operations take {} times as long ({theirs}): {told}.\n", list(known))
        }
        (false, 0) => {
            "Whether its operations take as long is not known: the trace has no durations.\n".to_owned()
        }
        (false, _) => format!(
            "Whether its operations take as long is not known: {} of the {own} that the application spent in operations are in \
             calls too short for the recording. `lastrank record --quiet` disturbs them least.\n",
            percent(found.unusable_share)
        ),
    };
    let recorder = match application.recorder {
        0 => String::new(),
        ns => format!(", without the {} of the recorder", duration(ns as f64 / 1e9)),
    };
    out += &format!(
        "From the first operation to the last, with the pauses that a replay has from the recording, it takes {} times as \
         long as the application ({}{recorder}).\n",
        list(found.elapsed.clone()),
        duration(application.elapsed as f64 / 1e9),
    );
    out
}

/// Where a replay, of several the one with a number, takes longer or less long.
fn why(excess: &Excess, number: Option<usize>) -> String {
    const NAMED: usize = 3;
    let time = |ns: i64| duration(ns.unsigned_abs() as f64 / 1e9);
    let than = |ns: i64| format!("{} {}", time(ns), if ns < 0 { "less" } else { "more" });
    let signed = |ns: i64| format!("{}{}", if ns < 0 { "-" } else { "+" }, time(ns));
    // A tenth of the largest is worth a word.
    let largest = excess.by_operation.first().map_or(0, |(_, more)| more.unsigned_abs());
    let named = excess.by_operation.iter().take(NAMED);
    let named: Vec<String> = named
        .filter(|(_, more)| *more != 0 && more.unsigned_abs() * 10 >= largest)
        .map(|(name, more)| format!("{name} {}", signed(*more)))
        .collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    let whose =
        number.map_or("Its operations".to_owned(), |number| format!("The operations of replay {number}"));
    let mut out = format!(
        "{whose} take {}{named}, the time between them {}.",
        than(excess.operations),
        than(excess.between)
    );
    let more = excess.operations.saturating_add(excess.between);
    if more > 0 && excess.clock.saturating_mul(5) >= more.unsigned_abs() {
        out += &format!(
            " Reading the clock takes the replay {}: two readings an operation.",
            duration(excess.clock as f64 / 1e9)
        );
    }
    out + "\n"
}

/// What a replay in another place may not show.
fn elsewhere(found: Elsewhere) -> String {
    format!(
        "The application waited for its files where the replay does not, and computed {} right after such waits, when a \
         processor is slow. Here it would compute that faster, and the replay pauses as recorded: it may take up to {:.2} \
         times as long as the application would here. Record that here to know.\n",
        duration(found.behind_waits as f64 / 1e9),
        found.at_most
    )
}
