//! Reads the watched values: from a pipe, a text file, a run file, or a directory of run files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail};
use intake::{LineError, NumberLines, Wanted};

use super::per_run;
use super::session::Session;
use crate::cli::WatchArgs;
use crate::exit::BrokenInput;
use crate::soundness;
use crate::system::StopSignals;
use crate::values;

/// Characters at the beginning of a file that identify it: a rotated log has others.
const HEAD: usize = 64;

/// Longest line that is read as one.
const LONGEST: u64 = 1 << 16;

/// Whether the process waits for values (a pipe, or a file that is followed), so that Ctrl-C ends the stream.
pub fn waits(args: &WatchArgs) -> bool {
    let is_plain = std::fs::metadata(&args.stream).is_ok_and(|kind| kind.is_file() || kind.is_dir());
    args.follow || args.stream == Path::new("-") || !is_plain
}

/// Read everything there is, and while following everything that comes, until told to stop.
pub fn read(args: &WatchArgs, session: &mut Session, stop: Option<StopSignals>) -> anyhow::Result<()> {
    let path = args.stream.as_path();
    if path == Path::new("-") {
        values::reject_run_options_of_stream(path, &args.choice, session.healthy().values.subject.is_some())?;
        return pipe(BufReader::new(std::io::stdin()), args, session, stop);
    }
    let kind = std::fs::metadata(path).with_context(|| format!("cannot watch {}", path.display()))?;
    if !kind.is_file() && !kind.is_dir() {
        let file = File::open(path).with_context(|| format!("cannot watch {}", path.display()))?;
        return pipe(BufReader::new(file), args, session, stop);
    }
    if session.position().stream != path.display().to_string() {
        session.restart();
    }
    let mut lines = lines_of(args);
    let mut last = None;
    loop {
        // Read again only what has changed. A file that is being replaced may be missing for a moment.
        let now = changed(path);
        if now != last || !args.follow {
            look(path, args, session, &mut lines)?;
        }
        last = now;
        let Some(stop) = stop.as_ref().filter(|_| args.follow) else { return Ok(()) };
        session.pause()?;
        if stop.wait(Duration::from_secs_f64(args.every)).is_some() {
            return Ok(());
        }
    }
}

/// Read what is new in a file or a directory.
fn look(path: &Path, args: &WatchArgs, session: &mut Session, lines: &mut NumberLines) -> anyhow::Result<()> {
    if path.is_dir() && !store::has_parts(path) {
        directory(path, args, session)
    } else if values::is_run(path) {
        let run = store::read(path).map_err(|error| BrokenInput(error.to_string()))?;
        let began = run.facts.started.clone();
        let found = of_run(run, path, args, session)?;
        let position = session.position();
        let same = position.run == began && position.values <= found.len() as u64;
        let seen = if same { position.values as usize } else { 0 };
        (position.run, position.values) = (began, found.len() as u64);
        found[seen..].iter().try_for_each(|number| session.push(*number))
    } else if args.follow && !path.exists() {
        Ok(())
    } else {
        text(path, args, session, lines)
    }
}

/// Bytes and time of the last change, of a directory those of all that is in it; none where nothing is there.
fn changed(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let of = |kind: std::fs::Metadata| (kind.len(), kind.modified().ok());
    let mut all = of(std::fs::metadata(path).ok()?);
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if let Ok(found) = entry.metadata().map(of) {
            all = (all.0 + found.0, all.1.max(found.1));
        }
    }
    Some(all)
}

/// Lines of the stream, read as its options want them.
fn lines_of(args: &WatchArgs) -> NumberLines {
    // The column of the baseline need not be one of the stream.
    let wanted = Wanted { bare: true, ..args.choice.wanted() };
    NumberLines::new(&wanted, &args.stream.display().to_string())
}

/// What the threads of a pipe send.
enum Message {
    Line(Vec<u8>),
    Failed(std::io::Error),
    End,
}

/// Lines as they come. A thread waits for them, another for Ctrl-C.
fn pipe(
    mut reader: impl BufRead + Send + 'static,
    args: &WatchArgs,
    session: &mut Session,
    stop: Option<StopSignals>,
) -> anyhow::Result<()> {
    let (sender, receiver) = sync_channel(1024);
    let stopped: SyncSender<Message> = sender.clone();
    if let Some(stop) = stop {
        std::thread::spawn(move || {
            while stop.wait(Duration::from_secs(3600)).is_none() {}
            let _ = stopped.send(Message::End);
        });
    }
    std::thread::spawn(move || {
        loop {
            let mut line = Vec::new();
            let message = match (&mut reader).take(LONGEST).read_until(b'\n', &mut line) {
                Ok(0) => Message::End,
                Ok(_) => Message::Line(line),
                Err(error) => Message::Failed(error),
            };
            let last = !matches!(message, Message::Line(_));
            if sender.send(message).is_err() || last {
                return;
            }
        }
    });
    let mut lines = lines_of(args);
    let mut number = 0;
    loop {
        let message = match receiver.try_recv() {
            Ok(message) => message,
            Err(_) => {
                session.pause()?;
                receiver.recv()?
            }
        };
        match message {
            Message::Line(line) => {
                number += 1;
                take(&line, number, &mut lines, session)?;
            }
            Message::Failed(error) => {
                bail!(BrokenInput(format!("cannot read {}: {error}", session.stream())))
            }
            Message::End => return Ok(()),
        }
    }
}

/// One line of text: a value, nothing, or a bad line.
fn take(line: &[u8], number: u64, lines: &mut NumberLines, session: &mut Session) -> anyhow::Result<()> {
    let had_header = lines.header().is_some();
    match lines.number(&String::from_utf8_lossy(line)) {
        Ok(Some(value)) if value < 0.0 => {
            let what = format!("holds {value}, and a duration is not negative");
            session.bad(&format!("line {number} of {}", session.stream()), &what)?;
        }
        Ok(Some(value)) => {
            if let Some(took) = lines.took() {
                session.note(&took);
            }
            session.push_plain(value, lines.unit())?;
        }
        Ok(None) => {}
        Err(LineError::Layout(what)) => bail!("{}: {what} (--column)", session.stream()),
        Err(LineError::Refused(what)) => bail!("{} is {what}", session.stream()),
        Err(error) => session.bad(&format!("line {number} of {}", session.stream()), &error.to_string())?,
    }
    if let (false, Some(header)) = (had_header, lines.header()) {
        session.header(header);
    }
    Ok(())
}

/// What a text file holds beyond the position. A last line without its end is left for the next look, where
/// there is one.
fn text(path: &Path, args: &WatchArgs, session: &mut Session, lines: &mut NumberLines) -> anyhow::Result<()> {
    values::reject_run_options_of_stream(path, &args.choice, session.healthy().values.subject.is_some())?;
    let cannot = || format!("cannot read {}", path.display());
    let mut file = BufReader::new(File::open(path).with_context(cannot)?);
    let head =
        String::from_utf8_lossy(file.fill_buf().with_context(cannot)?).chars().take(HEAD).collect::<String>();
    let length = file.get_ref().metadata().with_context(cannot)?.len();
    let position = session.position();
    if length < position.bytes || !head.starts_with(&position.head) {
        session
            .note(&format!("{} is another file than before: it is read from its beginning", path.display()));
        session.restart();
        *lines = lines_of(args);
    }
    let (mut bytes, mut number) = (session.position().bytes, session.position().lines);
    if !lines.is_ready() {
        let begin = file.fill_buf().with_context(cannot)?;
        if let Some((_, unpacks)) = PACKED.iter().find(|(magic, _)| begin.starts_with(magic)) {
            bail!(
                "{0} is packed, and a stream is read as it grows: `{unpacks} {0} | lastrank watch BASELINE -`",
                path.display()
            );
        }
        let most = HEAD_LINES + args.choice.skip;
        let head = first_lines(&mut file, length, most).with_context(cannot)?;
        let texts: Vec<&str> = head.iter().map(|(_, line)| line.as_str()).collect();
        match lines.learn(&texts) {
            Err(LineError::Refused(what)) => bail!("{} is {what}", path.display()),
            learnt => learnt.map_err(|error| anyhow!("{}: {error} (--column)", path.display()))?,
        }
        // What was read before shows the header and the unit once more.
        for (_, line) in head.iter().filter(|(end, _)| *end <= bytes) {
            let _ = lines.number(line);
        }
        file.seek(SeekFrom::Start(bytes)).with_context(cannot)?;
    } else if bytes > 0 {
        file.seek(SeekFrom::Start(bytes)).with_context(cannot)?;
    }
    let more_to_come = args.follow || args.state.is_some();
    loop {
        let mut line = Vec::new();
        let read = (&mut file).take(LONGEST).read_until(b'\n', &mut line).with_context(cannot)? as u64;
        let whole = line.last() == Some(&b'\n') || read == LONGEST;
        if read == 0 || (!whole && more_to_come) {
            break;
        }
        bytes += read;
        number += 1;
        let position = session.position();
        (position.bytes, position.lines) = (bytes, number);
        if position.head.len() < HEAD {
            position.head = head.chars().take(usize::try_from(bytes).unwrap_or(HEAD)).collect();
        }
        take(&line, number, lines, session)?;
    }
    Ok(())
}

/// How packed files begin, and what unpacks them.
const PACKED: [(&[u8], &str); 3] =
    [(b"\x1f\x8b", "gzip -dc"), (b"\x28\xb5\x2f\xfd", "zstd -dc"), (b"\xfd7zXZ\0", "xz -dc")];

/// First lines that show how all are read.
const HEAD_LINES: usize = 16;

/// The first whole lines of a file, and where each ends.
fn first_lines(file: &mut impl BufRead, until: u64, most: usize) -> std::io::Result<Vec<(u64, String)>> {
    let (mut at, mut head) = (0, Vec::new());
    while at < until && head.len() < most {
        let mut line = Vec::new();
        at += file.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') {
            break;
        }
        head.push((at, String::from_utf8_lossy(&line).into_owned()));
    }
    Ok(head)
}

/// New run files of a directory, oldest run first.
fn directory(path: &Path, args: &WatchArgs, session: &mut Session) -> anyhow::Result<()> {
    let mut new: Vec<(String, PathBuf)> = Vec::new();
    for file in per_run::runs_of(path)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !session.position().files.contains(&name) {
            new.push((name, file));
        }
    }
    new.sort();
    let mut runs = Vec::new();
    for (name, file) in new {
        session.position().files.insert(name);
        match store::read(&file) {
            Ok(run) => runs.push((run.facts.started.clone(), file, run)),
            Err(error) => session.corrupt(&file.display().to_string(), &error.to_string())?,
        }
    }
    runs.sort_by(|a, b| a.0.cmp(&b.0));
    for (_, file, run) in runs {
        for number in of_run(run, &file, args, session)? {
            session.push(number)?;
        }
    }
    Ok(())
}

/// The values of a run that stand against those of the baseline; what has no counterpart there is told. Of a run that is not
/// sound there may be none: the runs after it are watched all the same.
fn of_run(
    run: samples::Run,
    path: &Path,
    args: &WatchArgs,
    session: &mut Session,
) -> anyhow::Result<Vec<f64>> {
    let choice = args.choice.of_run();
    let quiet = &session.healthy().values;
    if !quiet.seconds {
        bail!(
            "{} is a run, in seconds; say with --unit which unit the numbers of {} are in",
            path.display(),
            quiet.name
        );
    }
    let unsound = soundness::unsound_of(&run, path);
    let found = values::of_run_like(run, path, &choice, quiet);
    session.look_at_soundness(&unsound)?;
    let (found, notes) = match found {
        Err(_) if !unsound.is_empty() => return Ok(Vec::new()),
        found => found?,
    };
    let ranks = |values: &values::Values| values.facts.as_ref().map(|facts| facts.ranks);
    if let (Some(baseline), Some(own)) = (ranks(&session.healthy().values), ranks(&found))
        && baseline != own
    {
        bail!(
            "{} is of {own} {}, and {} of {baseline}: their times differ for that alone; watch runs on as many ranks as the \
             baseline's",
            path.display(),
            if own == 1 { "rank" } else { "ranks" },
            session.healthy().values.name
        );
    }
    for note in notes.into_iter().chain(found.cautions()) {
        session.note(&note);
    }
    session.look_at_run(&found.numbers);
    let Some(statistic) = per_run::statistic(args)? else { return Ok(found.numbers) };
    Ok(statistic.of_values(found.numbers).into_iter().collect())
}
