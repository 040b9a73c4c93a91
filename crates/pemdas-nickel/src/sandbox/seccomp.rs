//! The system calls that a worker may still make.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter_all_threads};

/// Memory, locks, time, chance, the pipes that are open, and the end. No way to open, create, connect, start or signal anything else.
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    // `abort` sends its signal to itself: the numbers of other processes are no use without permission.
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Refuses all other system calls on all threads, from now on. Says whether the kernel took it.
pub(super) fn restrict() -> bool {
    let Ok(arch) = std::env::consts::ARCH.try_into() else { return false };
    let rules: BTreeMap<i64, Vec<seccompiler::SeccompRule>> =
        ALLOWED.iter().map(|number| (*number, Vec::new())).collect();
    // Refused rather than killed: a library that asks for something it can do without goes on.
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch);
    let program = filter.and_then(BpfProgram::try_from);
    program.is_ok_and(|program| apply_filter_all_threads(&program).is_ok())
}
