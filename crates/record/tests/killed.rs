//! A rank that is killed leaves what it published. A program of its own: a process that is forked holds what others of
//! its tests have locked.

use std::sync::Arc;

use record::{RecordState, Recorder, SampleRegion, read};
use samples::{Sample, Site};

#[test]
fn a_killed_process_loses_none_of_its_published_samples() {
    let region = Arc::new(SampleRegion::new(3, 1 << 20, &std::env::temp_dir()).expect("a region"));
    // SAFETY: the child only pushes samples and waits to be killed.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
        recorder.site(&Site::default()).expect("room");
        recorder.begin(0);
        for n in 0..70_000 {
            recorder.push(Sample { start_ns: n, rank: 3, batch: 1, ..Sample::default() }).expect("room");
        }
        loop {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        }
    }
    while region.progress() < 70_000 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // SAFETY: our own child.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    let record = read(&region).expect("whole");
    assert_eq!(
        (record.samples.len(), record.state, record.last_site),
        (70_000, RecordState::Running, Some(0))
    );
}
