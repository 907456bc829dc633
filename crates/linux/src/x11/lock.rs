//! The lock of a display across processes, and the journal of what each process holds down on it.
//!
//! Two servers on one display take turns by an advisory lock on a file. Beside it each process keeps a
//! journal: which keys and buttons it holds, which spare keycodes it has given a meaning. A process that
//! was killed cannot let go of anything, so the next one does it from the journal. A journal is locked
//! by its owner for as long as that lives: the kernel says who is dead, not a number that another
//! process may have by now.

use deskhand_core::{Call, Code, Error, Result};
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags};
use std::fmt::Write as _;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The lock of one display, for one provider.
pub struct DisplayLock {
    name: String,
    taken: AtomicBool,
    open: Mutex<Option<Open>>,
}

struct Open {
    folder: OwnedFd,
    path: PathBuf,
    file: File,
    /// Made with the first lock.
    journal: Option<File>,
    journal_name: String,
    /// How long the record on disk is.
    written: usize,
    last: Record,
}

/// The display's lock, held.
pub struct Locked {
    lock: Arc<DisplayLock>,
    /// Another process held the lock since this one last did, or this one never did.
    pub others_were_here: bool,
}

/// What a process holds on a display: enough for another one to let go of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Keycodes that are down.
    pub keys: Vec<u8>,
    /// Buttons that are down, as the server numbers them.
    pub buttons: Vec<u8>,
    /// Spare keycodes and the two symbols they were given.
    pub spares: Vec<(u8, [u32; 2])>,
    /// Locked modifiers and group that were changed for a while.
    pub borrowed: Option<Locks>,
}

/// Locked modifiers and the locked group of the keyboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// The locked modifiers, as the server's mask.
    pub modifiers: u8,
    /// The locked group.
    pub group: u8,
}

impl DisplayLock {
    /// The lock of `display`. Nothing is opened yet.
    pub fn new(display: &str) -> Arc<DisplayLock> {
        Arc::new(DisplayLock {
            name: file_name(display),
            taken: AtomicBool::new(false),
            open: Mutex::new(None),
        })
    }

    /// Takes the lock, waiting at most as long as the call.
    pub fn take(self: &Arc<DisplayLock>, call: &Call) -> Result<Locked> {
        let locked = call.until("waiting for another process to finish its input", || self.try_take());
        locked.map_err(|error| match error.code {
            Code::Timeout => self.busy(),
            _ => error,
        })
    }

    /// Takes the lock if it is free.
    pub fn try_take(self: &Arc<DisplayLock>) -> Result<Option<Locked>> {
        if self.taken.swap(true, Ordering::Acquire) {
            return Ok(None);
        }
        let taken = self.take_file();
        if !matches!(taken, Ok(Some(_))) {
            self.taken.store(false, Ordering::Release);
        }
        Ok(taken?.map(|others_were_here| Locked { lock: self.clone(), others_were_here }))
    }

    /// `Some(whether others were here)` when the file is locked now.
    fn take_file(&self) -> Result<Option<bool>> {
        let mut guard = self.guard();
        loop {
            let open = match &mut *guard {
                Some(open) => open,
                empty => empty.insert(Open::new(&self.name)?),
            };
            match fs::flock(&open.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => return Ok(None),
                Err(error) => return Err(failed("lock", &open.path, error)),
            }
            // Somebody may have emptied the folder: a lock on a file that has no name keeps nobody out.
            let gone = |file: &File| fs::fstat(file).is_ok_and(|stat| stat.st_nlink == 0);
            if gone(&open.file) || open.journal.as_ref().is_some_and(gone) {
                *guard = None;
                continue;
            }
            if open.journal.is_none() {
                open.journal = Some(open.new_journal()?);
            }
            let mut owner = [0; OWNER];
            let _ = open.file.read_at(&mut owner, 0);
            let own = owner_mark(&open.journal_name);
            if owner != own {
                open.file.write_all_at(&own, 0).map_err(|error| failed("write", &open.path, error))?;
            }
            return Ok(Some(owner != own));
        }
    }

    /// The records of processes that have died without letting go, and removes their journals once
    /// `let_go` has done it.
    pub fn recover(&self, mut let_go: impl FnMut(&Record) -> Result<()>) -> Result<()> {
        for (name, record) in self.journals(true)? {
            let_go(&record)?;
            if let Some(open) = &*self.guard() {
                let _ = fs::unlinkat(&open.folder, name.as_str(), AtFlags::empty());
            }
        }
        Ok(())
    }

    /// The records of the other processes that are alive.
    pub fn others(&self) -> Result<Vec<Record>> {
        Ok(self.journals(false)?.into_iter().map(|(_, record)| record).collect())
    }

    /// Writes down what this process holds. A few microseconds.
    pub fn write(&self, record: &Record) -> Result<()> {
        let mut guard = self.guard();
        let Some(open) = &mut *guard else {
            // Without a lock nothing is pressed, so there is nothing to write down either.
            return Ok(());
        };
        let Some(journal) = &open.journal else { return Ok(()) };
        let text = record.to_text();
        let fail = |error| failed("write", &open.path, error);
        journal.write_all_at(text.as_bytes(), 0).map_err(fail)?;
        if text.len() < open.written {
            journal.set_len(text.len() as u64).map_err(fail)?;
        }
        open.written = text.len();
        open.last = record.clone();
        Ok(())
    }

    /// What was written down last.
    pub fn last(&self) -> Record {
        self.guard().as_ref().map(|open| open.last.clone()).unwrap_or_default()
    }

    /// The journals of other owners, dead or alive.
    fn journals(&self, dead: bool) -> Result<Vec<(String, Record)>> {
        let guard = self.guard();
        let Some(open) = &*guard else { return Ok(Vec::new()) };
        let entries = fs::Dir::read_from(&open.folder).map_err(|error| failed("read", &open.path, error))?;
        let prefix = format!("{}.", self.name);
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !name.starts_with(&prefix) || !name.ends_with(".held") || name == open.journal_name {
                continue;
            }
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(file) = fs::openat(&open.folder, name, flags, Mode::empty()) else { continue };
            let is_dead = fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_dead == dead {
                let text = std::io::read_to_string(File::from(file)).unwrap_or_default();
                found.push((name.to_owned(), Record::from_text(&text)));
            }
        }
        Ok(found)
    }

    fn busy(&self) -> Error {
        let holder = self.guard().as_ref().and_then(|open| {
            let mut owner = [0; OWNER];
            open.file.read_at(&mut owner, 0).ok()?;
            let text = String::from_utf8_lossy(&owner).trim().to_owned();
            Some(text.split('-').next().unwrap_or_default().to_owned())
        });
        let holder = match holder {
            Some(pid) if !pid.is_empty() => format!("process {pid}"),
            _ => "another process".to_owned(),
        };
        Error::new(Code::Busy, format!("The time was up while {holder} was making input on this display."))
            .remedy("Try again when it is done, or pass a larger timeout_ms.")
    }

    fn guard(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if let Some(open) = &*self.lock.guard() {
            let _ = fs::flock(&open.file, FlockOperation::Unlock);
        }
        self.lock.taken.store(false, Ordering::Release);
    }
}

impl Open {
    fn new(name: &str) -> Result<Open> {
        let (folder, path) = folder()?;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = open_private(&folder, &path, &format!("{name}.lock"))?;
        let journal_name = format!("{name}.{}-{number}.held", std::process::id());
        Ok(Open {
            folder,
            path,
            file,
            journal: None,
            journal_name,
            written: usize::MAX,
            last: Record::default(),
        })
    }

    /// Made under the display's lock: before it is locked itself it looks like a dead one's, and those
    /// are removed under that lock.
    fn new_journal(&self) -> Result<File> {
        let journal = open_private(&self.folder, &self.path, &self.journal_name)?;
        fs::flock(&journal, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| failed("lock", &self.path.join(&self.journal_name), error))?;
        Ok(journal)
    }
}

fn open_private(folder: &OwnedFd, path: &Path, name: &str) -> Result<File> {
    let create = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(folder, name, create, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(|error| failed("open", &path.join(name), error))
}

impl Drop for Open {
    fn drop(&mut self) {
        // What is still held has to be found by the next start.
        if self.journal.is_some() && self.last == Record::default() {
            let _ = fs::unlinkat(&self.folder, self.journal_name.as_str(), AtFlags::empty());
        }
    }
}

/// That the person has stopped every Deskhand on a display, kept beside its lock: a file that says how.
pub struct StopMark {
    name: String,
    /// Kept open, since the mark is looked for before every piece of input.
    folder: Mutex<Option<Arc<(OwnedFd, PathBuf)>>>,
}

impl StopMark {
    /// The mark of `display`. Nothing is opened yet.
    pub fn new(display: &str) -> StopMark {
        StopMark { name: format!("{}.stopped", file_name(display)), folder: Mutex::default() }
    }

    fn folder(&self) -> Result<Arc<(OwnedFd, PathBuf)>> {
        let mut kept = self.folder.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Somebody may have removed it, and the others look into the one that was made anew.
        let there = |kept: &&Arc<(OwnedFd, PathBuf)>| fs::fstat(&kept.0).is_ok_and(|stat| stat.st_nlink != 0);
        if let Some(kept) = kept.as_ref().filter(there) {
            return Ok(kept.clone());
        }
        Ok(kept.insert(Arc::new(folder()?)).clone())
    }

    /// How the person stopped it, if they did.
    pub fn read(&self) -> Result<Option<String>> {
        let kept = self.folder()?;
        let (folder, path) = &*kept;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match fs::openat(folder, self.name.as_str(), flags, Mode::empty()) {
            Ok(file) => {
                let text = std::io::read_to_string(File::from(file)).unwrap_or_default();
                Ok(Some(text.trim().to_owned()))
            }
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(failed("read", &path.join(&self.name), error)),
        }
    }

    /// Sets it.
    pub fn set(&self, how: &str) -> Result<()> {
        let kept = self.folder()?;
        let (folder, path) = &*kept;
        let file = open_private(folder, path, &self.name)?;
        file.write_all_at(how.as_bytes(), 0)
            .and_then(|()| file.set_len(how.len() as u64))
            .map_err(|error| failed("write", &path.join(&self.name), error))
    }

    /// Takes it away. Whether it was set.
    pub fn clear(&self) -> Result<bool> {
        let kept = self.folder()?;
        let (folder, path) = &*kept;
        match fs::unlinkat(folder, self.name.as_str(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(failed("remove", &path.join(&self.name), error)),
        }
    }
}

/// How many bytes of the lock file name its last holder.
const OWNER: usize = 24;

fn owner_mark(journal_name: &str) -> [u8; OWNER] {
    let name = journal_name.trim_end_matches(".held");
    let owner = name.rsplit('.').next().unwrap_or_default();
    let mut mark = [b' '; OWNER];
    for (place, byte) in mark.iter_mut().zip(owner.bytes()) {
        *place = byte;
    }
    mark
}

/// The display's name as a file name: `:0`, `:0.0` and `unix:0` are one display.
fn file_name(display: &str) -> String {
    let plain = match x11rb_protocol::parse_display::parse_display(Some(display)) {
        Ok(parsed) if parsed.host == "unix" => format!(":{}", parsed.display),
        Ok(parsed) => format!("{}:{}", parsed.host, parsed.display),
        Err(_) => display.to_owned(),
    };
    plain.replace(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, ':' | '-' | '_'), "_")
}

/// The folder of the locks: the session's runtime folder, or a private one of the user where there is
/// none. A folder that somebody else made, or a link, is refused: the lock would be theirs to break.
fn folder() -> Result<(OwnedFd, PathBuf)> {
    let user = rustix::process::getuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .into_iter()
        // A login over su or ssh does not set the variable; it has to meet the others all the same.
        .chain([PathBuf::from(format!("/run/user/{user}"))])
        .find(|path| path.is_absolute() && path.is_dir());
    let path = match runtime {
        Some(runtime) => runtime.join("deskhand"),
        None => std::env::temp_dir().join(format!("deskhand-{user}")),
    };
    match fs::mkdir(&path, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(failed("make", &path, error)),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = fs::open(&path, flags, Mode::empty()).map_err(|error| failed("open", &path, error))?;
    let stat = fs::fstat(&folder).map_err(|error| failed("look at", &path, error))?;
    if stat.st_uid != user || stat.st_mode & 0o077 != 0 {
        return Err(Error::backend(format!(
            "{} belongs to somebody else or is open to others, so the lock of the display cannot live there.",
            path.display()
        ))
        .expected("a folder of this user with mode 0700")
        .found([format!("user {}, mode {:o}", stat.st_uid, stat.st_mode & 0o777)])
        .remedy("Remove it, or let XDG_RUNTIME_DIR name a folder of this user."));
    }
    Ok((folder, path))
}

fn failed(verb: &str, path: &Path, error: impl std::fmt::Display) -> Error {
    Error::backend(format!(
        "Could not {verb} {}, which keeps two processes from mixing their input.",
        path.display()
    ))
    .os(error)
    .remedy("Let XDG_RUNTIME_DIR name a folder that this user can write to.")
}

impl Record {
    fn to_text(&self) -> String {
        let mut text = String::with_capacity(64);
        let mut line = |word: &str, numbers: &mut dyn Iterator<Item = u32>| {
            let _ = write!(text, "{word}");
            for number in numbers {
                let _ = write!(text, " {number}");
            }
            text.push('\n');
        };
        if !self.keys.is_empty() {
            line("keys", &mut self.keys.iter().map(|key| u32::from(*key)));
        }
        if !self.buttons.is_empty() {
            line("buttons", &mut self.buttons.iter().map(|button| u32::from(*button)));
        }
        for (keycode, [plain, shifted]) in &self.spares {
            line("spare", &mut [u32::from(*keycode), *plain, *shifted].into_iter());
        }
        if let Some(locks) = self.borrowed {
            line("borrowed", &mut [u32::from(locks.modifiers), u32::from(locks.group)].into_iter());
        }
        // What follows is left over from a longer record that was not cut off in time.
        text.push_str("end\n");
        text
    }

    fn from_text(text: &str) -> Record {
        let mut record = Record::default();
        for line in text.lines().take_while(|line| *line != "end") {
            let mut words = line.split(' ');
            let word = words.next().unwrap_or_default();
            let numbers: Vec<u32> = words.filter_map(|word| word.parse().ok()).collect();
            let bytes = || numbers.iter().filter_map(|number| u8::try_from(*number).ok());
            match (word, numbers.as_slice()) {
                ("keys", _) => record.keys.extend(bytes()),
                ("buttons", _) => record.buttons.extend(bytes()),
                ("spare", [keycode, plain, shifted]) => {
                    record.spares.extend(u8::try_from(*keycode).map(|keycode| (keycode, [*plain, *shifted])));
                }
                ("borrowed", [modifiers, group]) => {
                    record.borrowed = Some(Locks { modifiers: *modifiers as u8, group: *group as u8 });
                }
                _ => {}
            }
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_file_and_what_an_older_one_left_behind() {
        let record = Record {
            keys: vec![50, 37],
            buttons: vec![1],
            spares: vec![(97, [0x0100_1234, 0]), (8, [65, 66])],
            borrowed: Some(Locks { modifiers: 2, group: 1 }),
        };
        let text = record.to_text();
        assert_eq!(Record::from_text(&text), record);
        assert_eq!(Record::from_text(&format!("{text}97 1 2\nkeys 9\n")), record);
        assert_eq!(Record::from_text("end\nkeys 9\n"), Record::default());
    }

    #[test]
    fn names_of_one_display_are_one_file() {
        for name in [":7", ":7.0", "unix:7", "unix/:7"] {
            if x11rb_protocol::parse_display::parse_display(Some(name)).is_ok() {
                assert_eq!(file_name(name).trim_start_matches("unix_"), ":7", "{name}");
            }
        }
        assert_eq!(file_name("../x"), "___x");
    }
}
