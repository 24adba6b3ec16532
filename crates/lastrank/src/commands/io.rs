//! `lastrank io`: reads and writes of a file, in fio's words.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use ppl::condition::Condition;
use workloads::Refusal;
use workloads::fio::{Job, Place, program};
use workloads::quantity::{Prefixes, bytes_literal};

use crate::asked::nearest;
use crate::cli::IoArgs;
use crate::commands::{line, run};
use crate::exit::Status;
use crate::output;

/// Bytes of a file that is made where nothing is said.
const SIZE: &str = "1GiB";
/// How long it lasts where nothing is said.
const TIME: &str = "10s";
/// How long at most where a condition ends it (`--until`).
const LONGEST_TIME: &str = "10m";

/// How many windows a load lasts that is to be steady by a rule (`--steady`).
const WINDOWS: u64 = 3;

/// Makes the program of the options and runs it.
pub fn run(mut args: IoArgs) -> anyhow::Result<Status> {
    // With --rw the first word is the path.
    if args.rw.is_some() && args.access.is_some() {
        if args.path.is_some() {
            bail!("both {} and --rw say what is done: leave one out", args.access.unwrap_or_default());
        }
        args.path = args.access.take().map(PathBuf::from);
    }
    let Some(access) = args.rw.clone().or_else(|| args.access.clone()) else {
        bail!(
            "say what is done: one of read, write, randread, randwrite, rw, randrw (`lastrank io randread`)"
        );
    };
    let amount =
        [("--ops", &args.ops), ("--io-size", &args.io_size)].into_iter().find(|(_, how)| how.is_some());
    if let (Some((option, _)), Some(_)) = (amount, &args.time) {
        bail!(
            "{option} and --time both say when the load ends, and a load of a time fills all of it: leave one out"
        );
    }
    if args.time.is_none() && args.ops.is_none() && args.io_size.is_none() {
        args.time = Some(default_time(&args)?);
    }
    let path = args.path.clone().unwrap_or_else(|| ".".into());
    let found = look(&path)?;
    let job = Job::of_options(&access, &options(&args, &access, &found), Prefixes::Plain);
    let mut job = job.map_err(|refusal| as_typed(refusal, args.rw.is_some()))?;
    job.keep = args.keep;
    fits(&args, &mut job, &path, &found)?;
    let words: Vec<String> =
        crate::output::command_line().skip(2).filter(|word| word != "--print-program").collect();
    let text = program(&job, &found.place, &line::typed("io", &words))?;
    if args.print_program {
        output::print_whole(&text)?;
        return Ok(Status::Ok);
    }
    args.run.clean |= !args.keep;
    match &found.place {
        Place::OldFile { .. } => args.run.allow.push(path),
        Place::Directory(directory) | Place::NewFile { directory, .. } => {
            line::may_make_files_in(&mut args.run, directory);
        }
    }
    // The program begins with as many ranks as there are jobs.
    args.run.ranks = None;
    run::run_made(job.access.word(), text, args.run)
}

/// The refusal with the names that were typed, where the option has another one here than in fio.
fn as_typed(refusal: Refusal, has_rw: bool) -> anyhow::Error {
    const OWN: [(&str, &str); 6] = [
        ("iodepth", "depth"),
        ("numjobs", "jobs"),
        ("runtime", "time"),
        ("ramp_time", "warmup"),
        ("number_ios", "ops"),
        ("thinktime", "think"),
    ];
    let typed = |option: &str| {
        let dashed = option.replace('_', "-");
        let own = OWN.iter().find(|(name, _)| *name == option).map(|(_, own)| *own);
        let given = |name: &&str| {
            crate::output::command_line().any(|word| word.split('=').next() == Some(&format!("--{name}")))
        };
        let name = [Some(option), Some(dashed.as_str()), own].into_iter().flatten().find(given);
        format!("--{}", name.or(own).unwrap_or(option))
    };
    match refusal {
        Refusal::BadValue { option, value, want } if option == "rw" => {
            let known = ["read", "write", "randread", "randwrite", "rw", "randrw"].map(str::to_owned);
            let near = nearest(&value, known.into_iter());
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let value = if has_rw { format!("--rw {value}") } else { value };
            anyhow!("`{value}`: {want}{near}")
        }
        Refusal::BadValue { option, value, want } => {
            Refusal::BadValue { option: typed(&option), value, want }.into()
        }
        Refusal::NoValue { option, want } => Refusal::NoValue { option: typed(&option), want }.into(),
        Refusal::Several(several) => {
            let several: Vec<String> =
                several.into_iter().map(|one| as_typed(one, has_rw).to_string()).collect();
            anyhow!("{}", several.join("\n"))
        }
        other => other.into(),
    }
}

/// What is at the path.
struct Found {
    place: Place,
    /// Of a file that exists.
    bytes: Option<u64>,
}

fn look(path: &Path) -> anyhow::Result<Found> {
    if path.is_dir() {
        let place = Place::Directory(text_of(path)?);
        return Ok(Found { place, bytes: None });
    }
    let around = path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().with_context(|| format!("{} names no file", path.display()))?;
    let (directory, name) = (text_of(around)?, text_of(Path::new(name))?);
    let Ok(there) = path.metadata() else {
        if !around.is_dir() {
            let made = report::shell::quoted(&report::file_argument(&around.to_string_lossy()));
            bail!(
                "there is no directory {} for {}; `mkdir -p {made}` makes it",
                around.display(),
                path.display()
            );
        }
        let place = Place::NewFile { directory, name };
        return Ok(Found { place, bytes: None });
    };
    let kind = there.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        bail!("{} is neither a file nor a directory nor a disk", path.display());
    }
    let length = File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let bytes = length.with_context(|| format!("cannot read {}", path.display()))?;
    let place = Place::OldFile { directory, name };
    Ok(Found { place, bytes: Some(bytes) })
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("{} is no UTF-8 name", path.display()))
}

/// The options as pairs of fio's names and values.
fn options<'a>(args: &'a IoArgs, access: &'a str, found: &'a Found) -> Vec<(&'a str, &'a str)> {
    let given: [(&str, &Option<String>); 27] = [
        ("bs", &args.bs),
        ("bsrange", &args.bsrange),
        ("bssplit", &args.bssplit),
        ("size", &args.size),
        ("offset", &args.offset),
        ("ioengine", &args.ioengine),
        ("iodepth", &args.depth),
        ("numjobs", &args.jobs),
        ("time", &args.time),
        ("ramp_time", &args.warmup),
        ("number_ios", &args.ops),
        ("io_size", &args.io_size),
        ("direct", &args.direct),
        ("sync", &args.sync),
        ("fsync", &args.fsync),
        ("fdatasync", &args.fdatasync),
        ("end_fsync", &args.end_fsync),
        ("rate", &args.rate),
        ("rate_iops", &args.rate_iops),
        ("rate_process", &args.rate_process),
        ("thinktime", &args.think),
        ("rwmixread", &args.rwmixread),
        ("random_distribution", &args.random_distribution),
        ("norandommap", &args.norandommap),
        ("overwrite", &args.overwrite),
        ("invalidate", &args.invalidate),
        ("fallocate", &args.fallocate),
    ];
    let mut options = vec![("rw", access)];
    options.extend(given.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
    if args.size.is_none() && found.bytes.is_none() {
        options.push(("size", SIZE));
    }
    options
}

/// How long a load lasts of which nobody says how long.
fn default_time(args: &IoArgs) -> anyhow::Result<String> {
    match (&args.run.until, &args.run.steady) {
        (Some(_), _) => Ok(LONGEST_TIME.into()),
        (None, None) => Ok(TIME.into()),
        (None, Some(text)) => {
            let rule = Condition::parse_steady(text).map_err(|why| anyhow!("--steady {text}: {why}"))?;
            let enough_ns = rule.window_ns.saturating_mul(WINDOWS).saturating_add(rule.after_ns);
            Ok(format!("{}s", enough_ns.div_ceil(1_000_000_000).max(10)))
        }
    }
}

/// Refuses what would write over a file, or read behind its end; the size of a file that exists is its own.
fn fits(args: &IoArgs, job: &mut Job, path: &Path, found: &Found) -> anyhow::Result<()> {
    if let Some(ranks) = args.run.ranks {
        if args.jobs.is_some() {
            bail!("both --jobs and -n say how many processes: leave one out");
        }
        job.jobs = u64::from(ranks);
    }
    let Some(bytes) = found.bytes else { return Ok(()) };
    if job.access.writes && !args.overwrite_existing {
        bail!(
            "{} exists, and {} would write over its content: name a directory, or say --overwrite-existing",
            path.display(),
            job.access.word()
        );
    }
    let rest = bytes.saturating_sub(job.offset);
    if rest < job.sizes.most() {
        bail!("{} holds {} bytes, too few for one operation", path.display(), bytes);
    }
    match job.size {
        None => job.size = Some(rest),
        Some(size) if size > rest && job.access.reads => {
            let length = bytes_literal(bytes);
            bail!("{} is shorter ({length}) than --offset and --size say: leave --size out", path.display());
        }
        Some(_) => {}
    }
    Ok(())
}
