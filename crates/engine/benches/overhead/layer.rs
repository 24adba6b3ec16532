//! What an operation costs in the engine, driven by a loop in Rust.

use std::ffi::CString;
use std::path::Path;

use engine::execute::{Call, Session, Stop};
use engine::run::{Body, Options, ranks};
use record::StaticSite;
use samples::SiteKind;

use super::cost::Cost;
use super::{BLOCK, FILE, TimedCall, raw};

/// The loop a program would run, without the language: its own cost is measured by the language's
/// benchmark.
struct Loop {
    kind: TimedCall,
    operations: u64,
    path: CString,
    places: [StaticSite; 3],
}

impl Body for Loop {
    fn places(&self) -> &[StaticSite] {
        &self.places
    }

    fn run(&self, session: &mut Session<'_>) -> Result<(), Stop> {
        let opened = session.operation(0, Call::Open { path: &self.path, flags: libc::O_RDWR, mode: 0 })?;
        let file = opened.value as u32;
        let memory = session.operation(0, Call::TakeMemory { length: BLOCK, filled: true })?.value as u32;
        let turn = |session: &mut Session<'_>, n: u64| {
            let offset = Some(n * BLOCK % FILE);
            let call = match self.kind {
                TimedCall::Write => Call::Write { file, length: BLOCK, offset, buffer: None },
                TimedCall::WriteMemory => Call::Write { file, length: BLOCK, offset, buffer: Some(memory) },
                TimedCall::Read => Call::Read { file, length: Some(BLOCK), offset },
                TimedCall::Stat => Call::Stat { path: &self.path },
                TimedCall::Open => {
                    let call = Call::Open { path: &self.path, flags: libc::O_RDONLY, mode: 0 };
                    let file = session.operation(0, call)?.value as u32;
                    return session.operation(2, Call::Close { file });
                }
            };
            session.operation(1, call)
        };
        for n in 0..1000 {
            turn(session, n)?;
        }
        let mut result = Ok(());
        let cost = Cost::of_turns(self.operations, |n| {
            if result.is_ok() {
                result = turn(session, n).map(|_| ());
            }
        });
        result?;
        session.print(cost.to_line().as_bytes())
    }
}

/// An operation in the engine, with everything it does for each.
pub fn cost(kind: TimedCall, path: &Path, operations: u64) -> Cost {
    let place = |operation: &str| StaticSite {
        operation: operation.into(),
        kind: SiteKind::Operation,
        ..StaticSite::default()
    };
    let places = [place("fopen"), place(kind.name()), place("fclose")];
    let program = Loop { kind, operations, path: raw::c_path(path), places };
    let options = Options {
        allow: path.parent().map(Path::to_owned).into_iter().collect(),
        expected_samples: 2 * operations + 3000,
        ..Options::new(1)
    };
    let text = raw::stdout_of(|| {
        ranks(&program, &options, |_| ()).expect("a run");
    });
    Cost::of_line(&text).expect("a cost")
}
