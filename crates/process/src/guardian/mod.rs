//! A small process between us and a server, for the one thing we cannot do
//! ourselves: clean up after our own sudden death (invariant 7, FAULTS 2 to 4).
//!
//! The guardian is this executable started again. It is the server's parent and
//! the adoptive parent of everything the server leaves behind (a *subreaper*), so
//! no descendant can get out of its sight. It holds one socket to us; when that
//! closes, or we ask, it takes the whole tree down and ends. The server's pipes do
//! not pass through it, so it costs nothing while the server works.
//!
//! Owns the guardian's life on both sides of the socket: `client_side` here, `helper`
//! there, `wire` between them, `tree` for finding and signalling descendants.
//! Refuses to know what the server is for. It exists on Linux only.

#[cfg(target_os = "linux")]
mod client_side;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod wire;

use std::path::PathBuf;

#[cfg(target_os = "linux")]
pub(super) use client_side::{Control, Starting, start};

use super::Guardianship;

/// The first argument that makes an executable a guardian.
#[cfg(target_os = "linux")]
const GUARDIAN_ARGUMENT: &str = "__attache-guardian";

/// The guardian's name in lists of processes. It has nothing of the program's own name,
/// so that stopping the program by name does not hit the guardian.
#[cfg(target_os = "linux")]
const GUARDIAN_NAME: &std::ffi::CStr = c"mcp-guardian";

/// How a running process finds its own executable, even after an upgrade has
/// replaced the file.
#[cfg(target_os = "linux")]
const OWN_EXECUTABLE: &str = "/proc/self/exe";

#[cfg(target_os = "linux")]
static ENABLED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Lets this program guard the servers it starts. Call it first thing in `main`,
/// before threads, runtimes and argument parsing.
///
/// If the program was started to be a guardian, this runs the guardian and then
/// ends the process; it is the one place where the library does so. Otherwise it
/// notes that the program can be started as one, and [`Guardianship::Automatic`]
/// uses that from then on. On systems other than Linux it does nothing.
///
/// ```no_run
/// use attache_process::guardian;
///
/// guardian::enable(); // The first line of `main`.
/// ```
pub fn enable() {
    #[cfg(target_os = "linux")]
    {
        if std::env::args_os()
            .nth(1)
            .is_some_and(|first| first == GUARDIAN_ARGUMENT)
        {
            std::process::exit(helper::run());
        }
        // Where /proc is not mounted no guardian could be started; the documented
        // fallback is better than a failure at every start.
        let reachable = std::fs::metadata(OWN_EXECUTABLE).is_ok();
        ENABLED.store(reachable, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Keeps other processes of the same user out of this one's memory and environment, as far as the
/// system can: servers run as the user, and what this process knows is not for all of them.
///
/// The price is that the process leaves no core dump and that only root can attach a debugger to
/// it, so it is a program's own choice. Called before [`enable`], it holds for the program's
/// guardians too; servers do not inherit it. On systems other than Linux it does nothing.
pub fn forbid_inspection() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // A system that refuses leaves things as they are everywhere else.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// The executable that shall guard a launch, if any.
pub(super) fn executable_for(guardianship: &Guardianship) -> Option<PathBuf> {
    match guardianship {
        Guardianship::Automatic => own_executable(),
        Guardianship::Helper(path) => Some(path.clone()),
        Guardianship::ProcessGroup => None,
    }
}

#[cfg(target_os = "linux")]
fn own_executable() -> Option<PathBuf> {
    ENABLED
        .load(std::sync::atomic::Ordering::Relaxed)
        .then(|| PathBuf::from(OWN_EXECUTABLE))
}

#[cfg(not(target_os = "linux"))]
fn own_executable() -> Option<PathBuf> {
    None
}
