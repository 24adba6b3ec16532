//! `lastrank mem`: latency and bandwidth of memory.

use anyhow::{Context, bail};
use workloads::memory::{Memory, What};
use workloads::quantity::{Prefixes, SECOND, bytes, nanoseconds};

use crate::cli::{MemArgs, MemoryKind};
use crate::commands::{line, run};
use crate::exit::Status;
use crate::output;

/// Makes the program and runs it.
pub fn run(args: MemArgs) -> anyhow::Result<Status> {
    let size = bytes(&args.size, Prefixes::Plain).filter(|size| *size >= 64 << 10);
    let time = nanoseconds(&args.time, SECOND).filter(|time| *time > 0);
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let what = match args.kind {
        MemoryKind::Latency => What::Latency,
        MemoryKind::Bandwidth => What::Bandwidth,
        MemoryKind::Loaded => What::Loaded,
        MemoryKind::Cores => What::Cores,
        MemoryKind::Nodes => What::Nodes,
    };
    let workers = args.workers.unwrap_or(processors.max(2));
    if what == What::Loaded && workers < 2 {
        bail!("--workers {workers}: a load needs 2 workers or more, one that is timed and one that loads");
    }
    let numbers = match what {
        What::Cores => machine::affinity::allowed().into_iter().map(u32::from).collect(),
        What::Nodes => machine::memory_nodes(),
        What::Latency | What::Bandwidth | What::Loaded => Vec::new(),
    };
    if what == What::Cores && numbers.len() < 2 {
        bail!(
            "this process may use one processor alone; a cache line goes from one to another: two are needed"
        );
    }
    let memory = Memory {
        what,
        size: size
            .with_context(|| format!("--size {}: a size of at least 64KiB, such as 1GiB", args.size))?,
        workers,
        time: time.with_context(|| format!("--time {}: a time above 0, such as 200ms", args.time))?,
        huge_pages: args.huge,
        numbers,
    };
    let words: Vec<String> =
        crate::output::command_line().skip(2).filter(|word| word != "--print-program").collect();
    let text = memory.program(&line::typed("mem", &words));
    if args.print_program {
        output::print_whole(&text)?;
        return Ok(Status::Ok);
    }
    run::run_made("mem", text, args.run)
}
