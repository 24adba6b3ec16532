//! Ways in which a rank of an MPI job ends before its time.

/// Kills the process that the launcher started, our parent's parent, as a launcher does.
pub fn kill_launched() -> Result<(), String> {
    let keeper = std::os::unix::process::parent_id();
    let status =
        std::fs::read_to_string(format!("/proc/{keeper}/status")).map_err(|error| error.to_string())?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
    let launched: i32 = parent.ok_or("the keeper has no parent")?;
    // SAFETY: a plain system call.
    unsafe { libc::kill(launched, libc::SIGKILL) };
    Ok(())
}

/// Calls `MPI_Abort`, as a library does that met an error it cannot return.
pub fn abort(description: &str) -> Result<(), String> {
    // SAFETY: names that end in NUL; the library was opened with its symbols for everyone.
    let (abort, world) = unsafe {
        let find = |name: &std::ffi::CStr| libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        (find(c"MPI_Abort"), find(c"ompi_mpi_comm_world"))
    };
    if abort.is_null() {
        return Err("there is no MPI_Abort here".into());
    }
    let world =
        match (world.is_null(), description.contains("standard ABI") || description.contains("mpi_abi")) {
            (false, _) => world as usize,
            (true, true) => 0x101,
            (true, false) => 0x4400_0000,
        };
    // SAFETY: the standard fixes the parameters; handles are passed as in `comm::mpi`.
    let abort: unsafe extern "C" fn(usize, i32) -> i32 = unsafe { std::mem::transmute(abort) };
    // SAFETY: the world is a valid handle of this library.
    unsafe { abort(world, 7) };
    // Some libraries come back and wait for their end elsewhere.
    // SAFETY: waits for a signal.
    unsafe { libc::pause() };
    Ok(())
}
