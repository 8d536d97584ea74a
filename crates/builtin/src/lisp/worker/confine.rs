//! What the operating system lets a worker do.
//!
//! Owns all that is particular to a platform: resource limits (memory, processor time, no files, no
//! core), and on Linux also Landlock and seccomp. Where the system has no such thing the language's
//! own limits and the server's kill remain. What cannot be set is left as it was and reported: the
//! evaluator is then as safe as the language makes it.

use std::time::Duration;

use crate::lisp::confinement::{Confinement, Holds};

/// Confines the process for its whole life. This is the first thing that runs, so that threads
/// inherit it.
#[cfg(unix)]
pub(super) fn at_start(address_space: Option<u64>) -> Confinement {
    use rustix::process::Resource;

    let mut confinement = Confinement::default();
    #[cfg(target_os = "linux")]
    {
        close_inherited_descriptors();
        let _ = rustix::thread::set_no_new_privs(true);
        let _ = rustix::thread::set_name(c"lisp-worker");
        // A set of rules is a descriptor for a moment, so this comes before there can be none.
        confinement.landlock = linux::close_paths_and_ports();
    }
    let mut limits = vec![
        (Resource::Core, 0),
        // Nothing is opened from here on, and nothing is written to a file.
        (Resource::Nofile, 0),
        (Resource::Fsize, 0),
    ];
    limits.extend(address_space.map(|bytes| (Resource::As, bytes)));
    let set = limits.iter().filter(|(resource, to)| lower(*resource, *to));
    confinement.limits = match set.count() {
        0 => Holds::Not,
        count if count == limits.len() => Holds::Whole,
        _ => Holds::Partly,
    };
    #[cfg(target_os = "linux")]
    {
        confinement.seccomp = linux::allow_only_evaluating();
    }
    confinement
}

#[cfg(target_os = "linux")]
mod linux {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetStatus, Scope,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };

    use super::Holds;

    /// The newest rules that are asked for; an older kernel holds those that it knows.
    const NEWEST: ABI = ABI::V6;

    /// No rule allows anything, so no path and no port can be reached.
    pub(super) fn close_paths_and_ports() -> Holds {
        let restricted = Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST))
            .and_then(|it| it.handle_access(AccessNet::from_all(NEWEST)))
            .and_then(|it| it.scope(Scope::from_all(NEWEST)))
            .and_then(Ruleset::create)
            .and_then(landlock::RulesetCreated::restrict_self);
        match restricted.map(|it| it.ruleset) {
            Ok(RulesetStatus::FullyEnforced) => Holds::Whole,
            Ok(RulesetStatus::PartiallyEnforced) => Holds::Partly,
            Ok(RulesetStatus::NotEnforced) | Err(_) => Holds::Not,
        }
    }

    /// What evaluating takes: pipes, memory, threads, clocks, and the process's own end. Everything
    /// else fails with "not permitted", so that a defect shows as an error of the worker.
    const ALLOWED: &[libc::c_long] = &[
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_lseek,
        libc::SYS_fstat,
        libc::SYS_ppoll,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_clone3,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_prctl,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_getrandom,
        libc::SYS_prlimit64,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_sigaltstack,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    pub(super) fn allow_only_evaluating() -> Holds {
        match filters().and_then(|filters| {
            filters
                .iter()
                .try_for_each(|it| seccompiler::apply_filter(it))
                .ok()
        }) {
            Some(()) => Holds::Whole,
            None => Holds::Not,
        }
    }

    fn filters() -> Option<[BpfProgram; 2]> {
        let architecture: TargetArch = std::env::consts::ARCH.try_into().ok()?;
        let refuse = |number: libc::c_int| SeccompAction::Errno(number.unsigned_abs());
        // Which flags `clone3` is given cannot be seen. The C library takes `clone` where it does
        // not exist, and of that a thread is all that is allowed.
        let missing = SeccompFilter::new(
            [(libc::SYS_clone3, Vec::new())].into(),
            SeccompAction::Allow,
            refuse(libc::ENOSYS),
            architecture,
        );
        let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
        let makes_thread = SeccompCondition::new(
            0,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(thread),
            thread,
        );
        let makes_thread = SeccompRule::new(vec![makes_thread.ok()?]).ok()?;
        let allowed = ALLOWED.iter().map(|number| (*number, Vec::new()));
        let allowed = allowed.chain([(libc::SYS_clone, vec![makes_thread])]);
        let allowed = SeccompFilter::new(
            allowed.collect(),
            refuse(libc::EPERM),
            SeccompAction::Allow,
            architecture,
        );
        Some([
            missing.ok()?.try_into().ok()?,
            allowed.ok()?.try_into().ok()?,
        ])
    }
}

/// Closes what the server's own parent or a foreign library left open across the start of
/// processes (S12).
#[cfg(target_os = "linux")]
fn close_inherited_descriptors() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in open {
        // This is the first thing that runs, so no code of this process owns any of them. The one
        // that listed them is closed by now, and closing it fails.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Sets a limit that the process itself cannot raise again; whether that worked.
#[cfg(unix)]
fn lower(resource: rustix::process::Resource, to: u64) -> bool {
    use rustix::process::{Rlimit, setrlimit};

    let limit = Rlimit {
        current: Some(to),
        maximum: Some(to),
    };
    setrlimit(resource, limit).is_ok()
}

/// Gives an evaluation its processor time: what is used up already and the wall limit, rounded up
/// generously, since ending at the wall limit is the server's work.
#[cfg(unix)]
pub(super) fn for_evaluation(wall: Duration) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};

    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let used = u64::try_from(used).unwrap_or(0);
    // A form that nests deeply uses a second thread, never at the same time as the first.
    let current = used.saturating_add(wall.as_secs()).saturating_add(3);
    let maximum = getrlimit(Resource::Cpu).maximum;
    let current = Some(maximum.map_or(current, |maximum| current.min(maximum)));
    let _ = setrlimit(Resource::Cpu, Rlimit { current, maximum });
}

#[cfg(not(unix))]
pub(super) fn at_start(_address_space: Option<u64>) -> Confinement {
    Confinement::default()
}

#[cfg(not(unix))]
pub(super) fn for_evaluation(_wall: Duration) {}
