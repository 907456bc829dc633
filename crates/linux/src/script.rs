//! Programs that are run for what they print. They end with the call, and so does all that they have started.

use crate::app::process::{Process, family};
use deskhand_core::script::{Printed, Ran, Run, Scripts};
use deskhand_core::{Call, Code, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs programs with the environment of the desktop.
pub struct Programs {
    /// Variables besides those of this process.
    pub environment: Vec<(String, String)>,
}

/// How long outputs may stay open after the program has ended: what it started in the background holds them.
const LINGERING: Duration = Duration::from_millis(150);
/// How often the program is looked after while it prints nothing.
const GLANCE: Duration = Duration::from_millis(10);

impl Scripts for Programs {
    fn has(&self, program: &str) -> bool {
        self.find(program).is_some()
    }

    fn run(&self, call: &Call, run: &Run) -> Result<Ran> {
        let program = self.find(&run.program).ok_or_else(|| {
            // A line that was taken for a name may hold anything, and messages are logged.
            Error::new(Code::ApplicationNotFound, "No program of this name is installed.")
                .expected("the name of an executable on PATH, or its path")
                .found([short(&run.program)])
                .remedy("Pass the program as command and its arguments as args, or pass shell to have a shell read the line.")
        })?;
        if let Some(folder) = run.directory.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(Error::new(Code::PathNotFound, format!("There is no folder {}.", folder.display()))
                .expected("an existing folder to run it in"));
        }
        call.check("starting the program")?;
        let mut running = Running::start(self.command(&program, run), &run.program)?;
        let mut streams = Streams::of(&mut running.child, run)?;
        let ended = streams.follow(call, &mut running);
        match ended {
            Ok(status) => {
                running.done = true;
                Ok(streams.ran(status))
            }
            Err(error) => {
                running.end();
                Err(error.found(streams.last_words()))
            }
        }
    }
}

impl Programs {
    fn variable(&self, name: &str) -> Option<String> {
        let own = self.environment.iter().rev().find(|(key, _)| key == name);
        own.map(|(_, value)| value.clone()).or_else(|| std::env::var(name).ok())
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            return Some(PathBuf::from(program)).filter(|path| is_executable(path));
        }
        let path = self.variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned());
        let folders =
            path.split(':').map(Path::new).filter(|folder| folder.is_absolute() && !program.is_empty());
        folders.map(|folder| folder.join(program)).find(|path| is_executable(path))
    }

    fn command(&self, program: &Path, run: &Run) -> Command {
        let mut command = Command::new(program);
        command
            .args(&run.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            // Our own streams are the wire.
            .stdin(if run.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &run.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = &run.directory {
            command.current_dir(folder);
        }
        crate::app::in_own_session(&mut command);
        command
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// A command line that was taken for a program's name may hold anything.
fn short(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().chars().take(60).collect()
}

/// A program that does not outlive the call.
struct Running {
    child: Child,
    done: bool,
}

impl Running {
    fn start(mut command: Command, name: &str) -> Result<Running> {
        let child = command.spawn().map_err(|error| {
            let code = match error.kind() {
                ErrorKind::PermissionDenied => Code::PermissionDenied,
                ErrorKind::ArgumentListTooLong => Code::InvalidArgument,
                _ => Code::Backend,
            };
            Error::new(code, "The program could not be started.").found([short(name)]).because(error)
        })?;
        Ok(Running { child, done: false })
    }

    /// Ends it with everything that it has started: its group, and what has left the group.
    fn end(&mut self) {
        self.done = true;
        let own = self.child.id();
        for pid in family(&Process::all(), own) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.done {
            self.end();
        }
    }
}

/// What goes into a program and what comes out of it.
struct Streams {
    stdin: Option<std::process::ChildStdin>,
    input: Vec<u8>,
    written: usize,
    stdout: Option<std::process::ChildStdout>,
    stderr: Option<std::process::ChildStderr>,
    output: Kept,
    errors: Kept,
}

impl Streams {
    fn of(child: &mut Child, run: &Run) -> Result<Streams> {
        let streams = Streams {
            stdin: child.stdin.take(),
            input: run.input.clone(),
            written: 0,
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            output: Kept::new(run.most_output),
            errors: Kept::new(run.most_output),
        };
        for stream in [
            streams.stdin.as_ref().map(AsFd::as_fd),
            streams.stdout.as_ref().map(AsFd::as_fd),
            streams.stderr.as_ref().map(AsFd::as_fd),
        ]
        .into_iter()
        .flatten()
        {
            let unblocked =
                fcntl_getfl(stream).and_then(|flags| fcntl_setfl(stream, flags | OFlags::NONBLOCK));
            unblocked
                .map_err(|error| Error::backend("A pipe to the program cannot be used.").because(error))?;
        }
        Ok(streams)
    }

    /// Moves what there is until the program has ended and its outputs are closed or left to others.
    fn follow(&mut self, call: &Call, running: &mut Running) -> Result<ExitStatus> {
        let mut ended: Option<(ExitStatus, Instant)> = None;
        loop {
            self.wait()?;
            self.write();
            read(&mut self.stdout, &mut self.output);
            read(&mut self.stderr, &mut self.errors);
            if ended.is_none() {
                let failed = |error| Error::backend("The program cannot be waited for.").because(error);
                ended = running.child.try_wait().map_err(failed)?.map(|status| (status, Instant::now()));
            }
            match ended {
                Some((status, _)) if self.stdout.is_none() && self.stderr.is_none() => return Ok(status),
                Some((status, since)) if LINGERING <= since.elapsed() => return Ok(status),
                _ => {}
            }
            call.check("the program was running")?;
        }
    }

    /// Waits until something can be moved, or for a glance.
    fn wait(&self) -> Result<()> {
        let mut all: Vec<PollFd> = Vec::with_capacity(3);
        all.extend(self.stdin.as_ref().map(|stream| PollFd::new(stream, PollFlags::OUT)));
        all.extend(self.stdout.as_ref().map(|stream| PollFd::new(stream, PollFlags::IN)));
        all.extend(self.stderr.as_ref().map(|stream| PollFd::new(stream, PollFlags::IN)));
        let glance = Timespec { tv_sec: 0, tv_nsec: GLANCE.subsec_nanos().into() };
        match poll(&mut all, Some(&glance)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => {
                Err(Error::backend("The pipes to the program cannot be waited for.").because(error))
            }
        }
    }

    fn write(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(&self.input[self.written..]) {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // It does not read on: its own business.
            Err(_) => self.written = self.input.len(),
        }
        if self.written == self.input.len() {
            self.stdin = None;
        }
    }

    fn ran(self, status: ExitStatus) -> Ran {
        Ran {
            exit_code: status.code(),
            signal: status.signal(),
            left_running: self.stdout.is_some() || self.stderr.is_some(),
            output: self.output.printed(),
            errors: self.errors.printed(),
        }
    }

    /// What a program had printed at last when its time was up.
    fn last_words(self) -> Vec<String> {
        let last = |name: &str, kept: Kept| {
            let printed = kept.printed();
            let all = [printed.begin, printed.end].concat();
            let text = String::from_utf8_lossy(&all).trim_end().to_owned();
            let start = text.char_indices().rev().nth(399).map_or(0, |(at, _)| at);
            (!text.is_empty()).then(|| format!("{name}: {}", &text[start..]))
        };
        [last("stdout", self.output), last("stderr", self.errors)].into_iter().flatten().collect()
    }
}

/// Reads what there is, a bounded amount at once; the stream is dropped at its end.
fn read<S: Read + AsFd>(stream: &mut Option<S>, kept: &mut Kept) {
    let mut buffer = [0; 64 * 1024];
    for _ in 0..16 {
        let Some(open) = stream else { return };
        match open.read(&mut buffer) {
            Ok(0) => *stream = None,
            Ok(count) => kept.add(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => *stream = None,
        }
    }
}

/// The beginning and the end of an output: errors stand at the end, and what was asked for at the beginning.
struct Kept {
    half: usize,
    begin: Vec<u8>,
    end: VecDeque<u8>,
    cut: u64,
}

impl Kept {
    fn new(most: usize) -> Kept {
        Kept { half: most / 2, begin: Vec::new(), end: VecDeque::new(), cut: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.begin.len()));
        self.begin.extend_from_slice(first);
        self.end.extend(rest);
        let over = self.end.len().saturating_sub(self.half);
        self.end.drain(..over);
        self.cut += over as u64;
    }

    fn printed(self) -> Printed {
        let end = Vec::from(self.end);
        match self.cut {
            0 => Printed { begin: [self.begin, end].concat(), end: Vec::new(), cut: 0 },
            cut => Printed { begin: self.begin, end, cut },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(timeout: Duration, run: &Run) -> Result<Ran> {
        Programs { environment: Vec::new() }.run(&Call::with_timeout(timeout), run)
    }

    fn shell(line: &str) -> Run {
        Run {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), line.to_owned()],
            most_output: 1000,
            ..Run::default()
        }
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn both_outputs_the_code_and_the_signal_come_back() {
        let ran = run(LONG, &shell("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!((ran.exit_code, ran.signal, ran.left_running), (Some(3), None, false));
        assert_eq!((&ran.output.begin[..], &ran.errors.begin[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(run(LONG, &shell("kill -9 $$")).unwrap().signal, Some(9));
    }

    #[test]
    fn much_goes_in_and_comes_out_at_once_and_is_cut_in_the_middle() {
        let input = Run { input: vec![b'x'; 3 << 20], ..shell("cat; printf end") };
        let ran = run(LONG, &input).unwrap();
        assert_eq!(ran.output.begin.len() + ran.output.end.len(), 1000);
        assert!(ran.output.end.ends_with(b"xend"));
        assert_eq!(ran.output.cut, (3 << 20) + 3 - 1000);
        // It need not read what it is given.
        assert_eq!(
            run(LONG, &Run { input: vec![b'x'; 1 << 20], ..shell("exit 0") }).unwrap().exit_code,
            Some(0)
        );
    }

    #[test]
    fn the_whole_group_ends_with_the_time() {
        let mark = format!("10{}", std::process::id());
        let began = Instant::now();
        let line = format!("echo begun; sleep {mark} & setsid sleep {mark} & sleep {mark}");
        let error = run(Duration::from_millis(400), &shell(&line)).unwrap_err();
        assert_eq!((error.code, &error.detail.found[..]), (Code::Timeout, &["stdout: begun".to_owned()][..]));
        assert!(began.elapsed() < Duration::from_secs(5));
        let left = || Process::all().into_iter().filter(|process| process.command().contains(&mark)).count();
        Call::with_timeout(LONG).until("the processes ended", || Ok((left() == 0).then_some(()))).unwrap();
    }

    #[test]
    fn what_goes_on_in_the_background_holds_nobody_up() {
        let began = Instant::now();
        let ran = run(LONG, &shell("sleep 5 & echo done")).unwrap();
        assert!(ran.left_running && began.elapsed() < Duration::from_secs(3), "{ran:?}");
        assert_eq!(ran.output.begin, b"done\n");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let missing = Run { program: "nothing-of-this-name".to_owned(), ..Run::default() };
        assert_eq!(run(LONG, &missing).unwrap_err().code, Code::ApplicationNotFound);
        let nowhere = Run { directory: Some("/nowhere".into()), ..shell("true") };
        assert_eq!(run(LONG, &nowhere).unwrap_err().code, Code::PathNotFound);
    }
}
