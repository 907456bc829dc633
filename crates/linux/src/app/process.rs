//! Processes, read from /proc without a crate: five fields of one file are all that is needed.

use super::entry::base_name;
use std::collections::HashMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A process, as `/proc/PID/stat` tells it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    pub pid: u32,
    /// The kernel's name for it, at most 15 bytes.
    pub name: String,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// Zombies are dead already.
    pub dead: bool,
}

/// When a process started, in ticks of the kernel's clock: with its number this is one process for ever.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let stat = stat(pid)?;
    stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The line that tells about a process. In one read: the kernel makes all of it anew for each, and it is never
/// longer than this.
fn stat(pid: u32) -> Option<String> {
    let mut bytes = [0; 2048];
    let read =
        std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut bytes)).ok()?;
    Some(String::from_utf8_lossy(&bytes[..read]).into_owned())
}

impl Process {
    /// Reads one; `None` when there is none.
    pub fn read(pid: u32) -> Option<Process> {
        Process::parse(pid, &stat(pid)?)
    }

    /// The name stands in parentheses and may hold blanks and parentheses itself: the last one ends it.
    fn parse(pid: u32, stat: &str) -> Option<Process> {
        let (start, end) = (stat.find('(')?, stat.rfind(')')?);
        let mut fields = stat.get(end + 1..)?.split_ascii_whitespace();
        let state = fields.next()?;
        let mut number = || fields.next()?.parse::<i64>().ok().and_then(|n| u32::try_from(n).ok());
        Some(Process {
            pid,
            name: stat.get(start + 1..end)?.to_owned(),
            parent: number()?,
            group: number()?,
            session: number()?,
            dead: matches!(state, "Z" | "X" | "x"),
        })
    }

    /// Every living process that is no thread of the kernel.
    pub fn all() -> Vec<Process> {
        let Ok(listing) = std::fs::read_dir("/proc") else { return Vec::new() };
        listing
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(Process::read)
            .filter(|process| !process.dead && !process.is_kernel())
            .collect()
    }

    /// Threads of the kernel descend from process 2.
    pub fn is_kernel(&self) -> bool {
        // In a container process 2 is anybody's: the kernel's threads have no command line.
        (self.pid == 2 || self.parent == 2) && self.command().is_empty()
    }

    /// The arguments it was started with.
    pub fn command(&self) -> Vec<String> {
        let bytes = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    /// The file it runs, where we may know it.
    pub fn executable(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    /// A variable of the environment that it was started with, where we may know it.
    pub fn variable(&self, name: &str) -> Option<String> {
        let bytes = std::fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        bytes.split(|byte| *byte == 0).find_map(|pair| {
            let pair = String::from_utf8_lossy(pair);
            let (key, value) = pair.split_once('=')?;
            (key == name).then(|| value.to_owned())
        })
    }

    /// Its name in full: of the file it runs, or of the script when that is what an interpreter runs.
    pub fn full_name(&self) -> String {
        let command = self.command();
        // The kernel cuts names at 15 bytes; the command line has all of them, if it is not rewritten.
        let whole = command.iter().take(2).map(|part| base_name(part)).find(|part| {
            part.len() >= self.name.len()
                && part.is_char_boundary(self.name.len())
                && part.starts_with(&self.name)
        });
        whole.map_or_else(|| self.name.clone(), str::to_owned)
    }

    /// The user that it runs as.
    pub fn user(&self) -> Option<u32> {
        std::fs::metadata(format!("/proc/{}", self.pid)).ok().map(|data| data.uid())
    }
}

/// The living processes that descend from `pid`, itself first; with the members of the group and the
/// session that it leads, since a launcher that has ended leaves its children to somebody else.
pub(crate) fn family(all: &[Process], pid: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let itself = all.iter().any(|process| process.pid == pid);
    let mut found: Vec<u32> = if itself { vec![pid] } else { Vec::new() };
    found.extend(
        all.iter()
            .filter(|process| process.pid != pid && (process.group == pid || process.session == pid))
            .map(|process| process.pid),
    );
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        for child in children.get(&parent).into_iter().flatten() {
            if !found.contains(child) {
                found.push(*child);
            }
        }
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let process = Process::parse(7, "7 (a) b (c) S 1 7 7 0 -1 4194560").unwrap();
        assert_eq!(process.name, "a) b (c");
        assert_eq!((process.parent, process.group, process.session, process.dead), (1, 7, 7, false));
        assert!(Process::parse(7, "7 (x) Z 1 7 7").unwrap().dead);
        assert!(Process::parse(7, "").is_none());
    }

    #[test]
    fn a_family_keeps_those_whose_parent_has_gone() {
        let one = |pid, parent, session| Process {
            pid,
            name: String::new(),
            parent,
            group: session,
            session,
            dead: false,
        };
        let all = [one(10, 1, 10), one(11, 10, 10), one(12, 11, 12), one(13, 1, 10), one(14, 1, 14)];
        assert_eq!(family(&all, 10), [10, 11, 13, 12]);
        assert_eq!(family(&all[1..], 10), [11, 13, 12]);
        assert_eq!(family(&all, 11), [11, 12]);
    }
}
