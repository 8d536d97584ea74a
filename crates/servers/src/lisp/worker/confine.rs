//! What the operating system lets a worker do.
//!
//! Owns the resource limits of the process: memory, processor time, no files, no core. Where the
//! system has no such limits the language's own and the server's kill remain. A limit that cannot
//! be set is left as it was: the evaluator is then as safe as the language makes it.

use std::time::Duration;

/// Limits for the whole life of the process.
#[cfg(unix)]
pub(super) fn at_start(address_space: Option<u64>) {
    use rustix::process::Resource;

    #[cfg(target_os = "linux")]
    close_inherited_descriptors();
    lower(Resource::Core, 0);
    // Nothing is opened from here on, and nothing is written to a file.
    lower(Resource::Nofile, 0);
    lower(Resource::Fsize, 0);
    if let Some(bytes) = address_space {
        lower(Resource::As, bytes);
    }
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_no_new_privs(true);
        let _ = rustix::thread::set_name(c"lisp-worker");
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
        // This is the first thing that runs, so nobody in this process owns any of them. The one
        // that listed them is closed by now, and closing it fails.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Sets a limit that the process itself cannot raise again.
#[cfg(unix)]
fn lower(resource: rustix::process::Resource, to: u64) {
    use rustix::process::{Rlimit, setrlimit};

    let limit = Rlimit {
        current: Some(to),
        maximum: Some(to),
    };
    let _ = setrlimit(resource, limit);
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
pub(super) fn at_start(_address_space: Option<u64>) {}

#[cfg(not(unix))]
pub(super) fn for_evaluation(_wall: Duration) {}
