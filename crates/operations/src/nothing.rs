//! Calls that mean nothing to files: of any other that is not in the table one must be told.

/// Whether a call neither reads, changes, makes nor moves the content or the names of files.
pub fn means_nothing(name: &[u8]) -> bool {
    NOTHING.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
}

/// In the order of their bytes.
#[rustfmt::skip]
const NOTHING: &[&str] = &[
    "_newselect", "_sysctl", "add_key", "adjtimex", "afs_syscall", "alarm", "arch_prctl", "bdflush", "bpf",
    "break", "breakpoint", "brk", "cacheflush", "cachestat", "capget", "capset", "clock_adjtime",
    "clock_adjtime64", "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64",
    "clock_nanosleep", "clock_nanosleep_time64", "clock_settime", "clock_settime64", "connect",
    "create_module", "delete_module", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old",
    "epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "exit", "exit_group", "fadvise64",
    "fadvise64_64", "fanotify_init", "fanotify_mark", "finit_module", "flock", "fstatfs", "fstatfs64",
    "ftime", "futex", "futex_requeue", "futex_time64", "futex_wait", "futex_waitv", "futex_wake",
    "get_kernel_syms", "get_mempolicy", "get_robust_list", "get_thread_area", "getcpu", "getegid",
    "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getgroups", "getgroups32", "getitimer",
    "getpeername", "getpgid", "getpgrp", "getpid", "getpmsg", "getppid", "getpriority", "getrandom",
    "getresgid", "getresgid32", "getresuid", "getresuid32", "getrlimit", "getrusage", "getsid", "getsockname",
    "getsockopt", "gettid", "gettimeofday", "getuid", "getuid32", "gtty", "idle", "init_module",
    "inotify_add_watch", "inotify_rm_watch", "io_cancel", "io_destroy", "io_setup", "io_uring_register",
    "ioperm", "iopl", "ioprio_get", "ioprio_set", "ipc", "kcmp", "kexec_file_load", "kexec_load", "keyctl",
    "kill", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "listen", "listmount",
    "lock", "lsm_get_self_attr", "lsm_list_modules", "lsm_set_self_attr", "madvise", "map_shadow_stack",
    "mbind", "membarrier", "memfd_secret", "migrate_pages", "mincore", "mlock", "mlock2", "mlockall",
    "modify_ldt", "move_pages", "mprotect", "mpx", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive",
    "mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64", "mq_unlink", "mremap", "mseal", "msgctl",
    "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall", "munmap", "name_to_handle_at",
    "nanosleep", "nice", "oldolduname", "olduname", "pause", "perf_event_open", "personality", "pidfd_getfd",
    "pidfd_open", "pidfd_send_signal", "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "ppoll",
    "ppoll_time64", "prctl", "prlimit64", "process_madvise", "process_mrelease", "process_vm_readv", "prof",
    "profil", "pselect6", "pselect6_time64", "ptrace", "putpmsg", "query_module", "readahead", "reboot",
    "recv", "recvfrom", "recvmmsg", "recvmmsg_time64", "recvmsg", "request_key", "restart_syscall", "rseq",
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo", "sched_get_priority_max",
    "sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
    "sched_rr_get_interval", "sched_rr_get_interval_time64", "sched_setaffinity", "sched_setattr",
    "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp", "security", "select", "semctl",
    "semget", "semop", "semtimedop", "semtimedop_time64", "send", "sendmmsg", "sendmsg", "sendto",
    "set_mempolicy", "set_mempolicy_home_node", "set_robust_list", "set_thread_area", "set_tid_address",
    "set_tls", "setdomainname", "setfsgid", "setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32",
    "setgroups", "setgroups32", "sethostname", "setitimer", "setns", "setpgid", "setpriority", "setregid",
    "setregid32", "setresgid", "setresgid32", "setresuid", "setresuid32", "setreuid", "setreuid32",
    "setrlimit", "setsid", "setsockopt", "settimeofday", "setuid", "setuid32", "sgetmask", "shmat", "shmctl",
    "shmdt", "shmget", "shutdown", "sigaction", "sigaltstack", "signal", "sigpending", "sigprocmask",
    "sigreturn", "sigsuspend", "socketcall", "ssetmask", "statfs", "statfs64", "statmount", "stime", "stty",
    "sysfs", "sysinfo", "syslog", "tgkill", "time", "timer_create", "timer_delete", "timer_getoverrun",
    "timer_gettime", "timer_gettime64", "timer_settime", "timer_settime64", "timerfd_gettime",
    "timerfd_gettime64", "timerfd_settime", "timerfd_settime64", "times", "tkill", "tuxcall", "ugetrlimit",
    "ulimit", "umask", "uname", "unshare", "uretprobe", "userfaultfd", "usr26", "usr32", "ustat", "vhangup",
    "vm86", "vm86old", "vserver",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_in_order_and_none_has_an_entry() {
        assert!(NOTHING.is_sorted());
        for name in NOTHING {
            assert!(crate::by_name(name.as_bytes()).is_none(), "{name}");
        }
        assert!(means_nothing(b"futex") && !means_nothing(b"quotactl") && !means_nothing(b"read"));
    }
}
