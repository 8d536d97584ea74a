//! The descendants of the guardian.
//!
//! Owns finding them in `/proc` and signalling them so that neither a tree that
//! keeps forking nor a recycled process id spoils it. Refuses to know why.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;

use rustix::process::{
    Pid, PidfdFlags, Signal, getpgrp, getpid, getppid, kill_process, kill_process_group,
    pidfd_open, pidfd_send_signal,
};

/// Most rounds over the guardian's direct children within one call of [`kill`].
const CHASE_ROUNDS: usize = 256;

/// One line of `/proc/PID/stat`, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: i32,
    state: u8,
    parent: i32,
    group: i32,
    threads: u32,
    /// When it was started, in clock ticks: tells an id from its next owner.
    started: u64,
}

/// Asks every descendant of this process to end. `server` leads the group that stands
/// in for them where `/proc` does not show them.
pub(super) fn terminate(server: Pid) {
    let Some(everyone) = everyone() else {
        let _ = kill_process_group(server, Signal::TERM);
        let _ = kill_process_group(server, Signal::CONT);
        return;
    };
    for process in descendants_among(&everyone, own_id()) {
        process.signal(Signal::TERM);
        // A stopped process takes the request up only when it goes on.
        if process.is_stopped() {
            process.signal(Signal::CONT);
        }
    }
}

/// Kills every descendant that exists now, or the group of `server` where `/proc` does
/// not show them. The caller reaps, and calls again until no child is left.
pub(super) fn kill(server: Pid) {
    chase();
    let Some(everyone) = everyone() else {
        let _ = kill_process_group(server, Signal::KILL);
        return;
    };
    let ours = descendants_among(&everyone, own_id());
    // A group is killed in one step, so its members cannot fork out of it.
    for group in groups_within(&everyone, &ours) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    for process in ours {
        process.signal(Signal::KILL);
    }
}

/// Kills direct children until no new one turns up. Orphans become ours at once, so even
/// a chain of processes that fork and exit faster than `/proc` can be searched has to pass
/// here, and one round takes only some microseconds.
fn chase() {
    let mut killed = HashSet::new();
    for _ in 0..CHASE_ROUNDS {
        let before = killed.len();
        // The latest first: it is the one that is about to fork.
        for child in own_children().into_iter().rev() {
            if killed.insert(child) {
                // Only we reap our children, so the id still is this child's.
                let _ = kill_process(child, Signal::KILL);
            }
        }
        if killed.len() == before {
            return;
        }
    }
}

fn own_id() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// The guardian's direct children, from the file that the kernel keeps for that
/// where it was built to; the guardian has one thread.
fn own_children() -> Vec<Pid> {
    let own_id = own_id();
    let listed = fs::read_to_string(format!("/proc/{own_id}/task/{own_id}/children"));
    let ids = listed.unwrap_or_default();
    ids.split_ascii_whitespace()
        .filter_map(|id| Pid::from_raw(id.parse().ok()?))
        .collect()
}

/// Every process that `/proc` shows, without those that end meanwhile; `None` if it is
/// not there, or is that of another namespace where ids mean other processes.
fn everyone() -> Option<Vec<Process>> {
    let found: Vec<Process> = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            Process::read(name.to_str()?.parse().ok()?).ok()
        })
        .collect();
    let parent = getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
    found
        .iter()
        .any(|process| process.id == own_id() && process.parent == parent)
        .then_some(found)
}

/// Those of `everyone` whose chain of parents leads to `root`, zombies included.
fn descendants_among(everyone: &[Process], root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in everyone {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        // Taking the entry out makes this end even if ids were recycled into a circle
        // while /proc was read.
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.id);
            found.push(child);
        }
    }
    found
}

/// The process groups that consist of `ours` alone. A descendant may have joined a
/// group of strangers, even the client's own, and that must not be killed for it.
fn groups_within(everyone: &[Process], ours: &[Process]) -> Vec<Pid> {
    let our_ids: HashSet<i32> = ours.iter().map(|process| process.id).collect();
    let strangers: HashSet<i32> = everyone
        .iter()
        .filter(|process| !our_ids.contains(&process.id))
        .map(|process| process.group)
        .collect();
    let groups: HashSet<i32> = ours.iter().map(|process| process.group).collect();
    groups
        .difference(&strangers)
        .filter_map(|group| Pid::from_raw(*group))
        .filter(|group| *group != getpgrp())
        .collect()
}

impl Process {
    fn read(id: i32) -> io::Result<Self> {
        let line = fs::read(format!("/proc/{id}/stat"))?;
        Self::parse(&line).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The name is in parentheses and may itself contain spaces and parentheses, so
    /// the fields are counted from the last one.
    fn parse(line: &[u8]) -> Option<Self> {
        let id_ends = line.iter().position(|byte| *byte == b' ')?;
        let id = std::str::from_utf8(&line[..id_ends]).ok()?.parse().ok()?;
        let name_ends = line.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(line.get(name_ends + 1..)?).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // The manual calls these fields 20 and 22, counting from the id.
        let threads = fields.nth(14)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        Some(Self {
            id,
            state,
            parent,
            group,
            threads,
            started,
        })
    }

    /// Whether there is nothing left to signal. A process whose first thread has ended
    /// looks like a zombie while others go on.
    fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }

    fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// Signals the process through a descriptor, which cannot come to mean another
    /// one, after making sure that the id did not change hands since it was read.
    /// Where the kernel has no such descriptors the id has to do.
    fn signal(&self, signal: Signal) {
        let Some(id) = Pid::from_raw(self.id).filter(|_| !self.has_ended()) else {
            return;
        };
        // Sending fails when the process has ended, which is what it was for, and when
        // it belongs to another user, which nothing here can change.
        let _ = match pidfd_open(id, PidfdFlags::empty()) {
            Ok(descriptor) if self.is_still_there() => pidfd_send_signal(descriptor, signal),
            Ok(_) => Ok(()),
            Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(_) => kill_process(id, signal),
        };
    }

    fn is_still_there(&self) -> bool {
        Self::read(self.id).is_ok_and(|now| now.started == self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: i32, parent: i32, group: i32) -> Process {
        Process {
            id,
            state: b'S',
            parent,
            group,
            threads: 1,
            started: 0,
        }
    }

    #[test]
    fn names_cannot_confuse_the_parser() {
        let rest = "T 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 987654 0 0";
        let names: [&[u8]; 6] = [
            b"cat",
            b"tmux: server",
            b"a) R 1 1 (b",
            b")",
            b"",
            b"\xff\xfe) ",
        ];
        for name in names {
            let mut line = b"42 (".to_vec();
            line.extend_from_slice(name);
            line.extend_from_slice(format!(") {rest}\n").as_bytes());
            assert_eq!(
                Process::parse(&line),
                Some(Process {
                    id: 42,
                    state: b'T',
                    parent: 7,
                    group: 42,
                    threads: 3,
                    started: 987_654,
                }),
                "{name:?}"
            );
        }
    }

    #[test]
    fn broken_lines_are_left_out() {
        for line in [
            "",
            "42",
            "42 (cat",
            "42 (cat)",
            "42 (cat) S 1 2",
            "x (cat) S 1 2",
        ] {
            assert_eq!(Process::parse(line.as_bytes()), None, "{line:?}");
        }
    }

    #[test]
    fn a_process_whose_first_thread_ended_is_not_taken_for_a_zombie() {
        for (state, threads, ended) in [
            (b'Z', 1, true),
            (b'X', 0, true),
            (b'Z', 2, false),
            (b'S', 1, false),
        ] {
            let process = Process {
                state,
                threads,
                ..process(42, 1, 42)
            };
            assert_eq!(process.has_ended(), ended, "{process:?}");
        }
    }

    #[test]
    fn our_own_line_is_read_as_the_system_knows_it() {
        let own = Process::read(own_id()).unwrap();
        assert_eq!(own.id, own_id());
        assert_eq!(
            Some(own.parent),
            getppid().map(|parent| parent.as_raw_nonzero().get())
        );
        assert!(own.started > 0);
        assert!(own.is_still_there());
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_strangers_are_not() {
        let everyone = [
            process(1, 0, 1),
            process(10, 1, 10),
            process(11, 10, 11),
            process(12, 11, 11),
            process(13, 12, 13),
            process(20, 1, 20),
        ];
        let mut ids: Vec<_> = descendants_among(&everyone, 10)
            .iter()
            .map(|process| process.id)
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, [11, 12, 13]);
    }

    #[test]
    fn a_circle_of_recycled_ids_ends() {
        let everyone = [process(2, 3, 2), process(3, 2, 3), process(4, 3, 4)];
        assert_eq!(descendants_among(&everyone, 2).len(), 3);
    }

    #[test]
    fn a_group_shared_with_strangers_is_not_killed_as_a_whole() {
        let everyone = [process(5, 1, 5), process(11, 10, 5), process(12, 11, 12)];
        let ours = descendants_among(&everyone, 10);
        assert_eq!(ours.len(), 2);
        assert_eq!(
            groups_within(&everyone, &ours),
            [Pid::from_raw(12).unwrap()]
        );
    }
}
