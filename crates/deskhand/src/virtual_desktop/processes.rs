//! Finding and ending the processes of a desktop.
//!
//! A process belongs to a desktop when it carries the desktop's mark in its environment, or when the
//! keeper is its parent, which as their reaper adopts every process whose own parent has gone.

use deskhand_core::Call;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

/// A process, held so that a signal cannot reach another one that has got its number since.
pub struct Process {
    /// Its number.
    pub pid: Pid,
    handle: OwnedFd,
}

impl Process {
    /// Sends a signal; a process that has ended meanwhile does not mind.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }
}

/// The processes with `mark` (`NAME=value`) in the environment they were started with.
pub fn marked(mark: &str) -> Vec<Process> {
    all(|pid| {
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    })
}

/// The living children of this process.
pub fn children() -> Vec<Process> {
    let own = getpid().as_raw_nonzero().to_string();
    all(|pid| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        // The name, in parentheses, may hold anything; the state and the parent follow its last one.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.next() != Some("Z") && fields.next() == Some(&own)
    })
}

/// Ends what `find` finds: politely, and after `patience` for good. Goes on until nothing is found.
pub fn end(call: &Call, patience: Duration, mut find: impl FnMut() -> Vec<Process>) {
    let give_up = Instant::now() + patience;
    let mut asked = HashSet::new();
    // When the call's time is up the rest stays: there is nobody to tell, and the caller tries other ways.
    let _ = call.until("ending the programs of a private desktop", || {
        let found = find();
        for process in &found {
            if give_up <= Instant::now() {
                process.signal(Signal::KILL);
            } else if asked.insert(process.pid) {
                process.signal(Signal::TERM);
            }
        }
        Ok(found.is_empty().then_some(()))
    });
}

fn all(belongs: impl Fn(Pid) -> bool) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|&pid| pid != getpid() && belongs(pid))
        .filter_map(|pid| {
            // Looked at once more through the handle's eyes: the number may have changed hands before.
            let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
            belongs(pid).then_some(Process { pid, handle })
        })
        .collect()
}
