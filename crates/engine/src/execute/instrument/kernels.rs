//! Times native kernels.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use probes::{Error, OwnFile, Request};
use samples::Outcome;

use super::layer::Layer;
use crate::driver::Driver;
use crate::execute::call::{Meaning, NoKernel, Timed};

impl Layer {
    pub(super) fn kernel(
        &mut self,
        driver: &mut dyn Driver,
        request: Request,
        count: u32,
    ) -> Result<Timed, NoKernel> {
        if self.bracket.is_virtual() {
            return Ok(self.bracket.draw(driver, count));
        }
        if !self.kernels.is_ready(&request) {
            let file = self.file_of_kernel(&request)?;
            self.kernels.build(&request, file, self.bracket.clock).map_err(NoKernel::Failed)?;
        }
        let (kernels, stop) = (&mut self.kernels, self.stop);
        let (done, seen) = self.bracket.watched(request.faults(), |clock| {
            kernels.time(clock, (&request, count), || stop.why().is_some())
        });
        let Some(done) = done else { return Ok(self.bracket.failed(driver, libc::ENOSYS)) };
        let (begin, end) = (done.timed.begin, done.timed.end);
        // The value of a kernel that moves nothing is what its last operation gave.
        let (value, meaning) = match done.bytes {
            0 => (done.value, Meaning::Value),
            bytes => (bytes, Meaning::Bytes),
        };
        let outcome = Outcome { value, errno: done.timed.errno, ..Outcome::default() };
        Ok(Timed { begin, end, outcome, meaning, seen, batch: done.batch })
    }
    /// A kernel that makes a file, or starts a program, may do so where the program may: its file.
    fn file_of_kernel(&mut self, request: &Request) -> Result<Option<OwnFile>, NoKernel> {
        if let Request::Spawn { program } = request {
            self.guard
                .may_start(&CString::new(program.as_bytes()).unwrap_or_default())
                .map_err(NoKernel::Refused)?;
        }
        let Some((directory, path)) = request.writes_in().zip(request.own_file()) else { return Ok(None) };
        let named = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        // Its own name begins with a dot, which programs may not use.
        let anything = named(&directory.join("x"));
        let held = match self.guard.reach_for_kernel(&anything).map_err(NoKernel::Refused)? {
            reached if *reached.path == *anything => None,
            reached => match reached.into_held() {
                None => {
                    let source = std::io::Error::from_raw_os_error(libc::ENOENT);
                    return Err(NoKernel::Failed(Error::Open { path: path.display().to_string(), source }));
                }
                held => held.map(Into::into),
            },
        };
        self.guard.register_local(&named(&path));
        Ok(Some(OwnFile { path, held }))
    }
}
