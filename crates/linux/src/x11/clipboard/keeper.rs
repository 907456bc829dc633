//! A small process of this program that goes on offering what was copied, after the one that copied it has
//! ended. It ends as soon as somebody else copies something, or when the display does.

use super::forms::{self, Content};
use super::owner::{Owner, Shared, Why};
use deskhand_core::clipboard::Selection;
use deskhand_core::{Call, Error, Result};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The argument that makes a process of this program a keeper. For Deskhand's own use.
const KEEP: &str = "keep-clipboard-contents";
/// What the keeper says when it offers everything.
const READY: u8 = b'k';
/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(2);

/// Starts a keeper and waits until it offers everything.
pub fn hand_over(call: &Call, display: &str, rest: &[(Selection, Content)]) -> Result<()> {
    let failed =
        |error: std::io::Error| lost("The process that would keep it cannot be started.").because(error);
    let mut keeper = Command::new("/proc/self/exe")
        .arg0("deskhand")
        .args([KEEP, display])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // An open end of somebody's pipe would keep its reader waiting for as long as the keeper lives.
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let (Some(mut input), Some(mut output)) = (keeper.stdin.take(), keeper.stdout.take()) else {
        return Err(lost("The process that would keep it has no streams."));
    };
    let order = write(rest);
    let (reply, answer) = channel();
    // A keeper that hangs must not hold up the end of this process.
    std::thread::Builder::new()
        .name("hand-over".into())
        .spawn(move || {
            let mut said = [0];
            let done = input.write_all(&order).and_then(|()| {
                drop(input);
                output.read_exact(&mut said)
            });
            let _ = reply.send(done.map(|()| said[0]));
        })
        .map_err(failed)?;
    match answer.recv_timeout(PATIENCE.min(call.remaining())) {
        Ok(Ok(READY)) => Ok(()),
        Ok(Ok(_)) => Err(lost("The process that would keep it says something else.")),
        Ok(Err(error)) => Err(lost("The process that would keep it ended.").because(error)),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            let _ = keeper.kill();
            Err(lost("The process that would keep it did not answer in time."))
        }
    }
}

fn lost(why: &str) -> Error {
    Error::backend(format!("What was copied ends with this process. {why}"))
        .remedy("Run a clipboard manager, or use deskhand serve, which keeps it for as long as it runs.")
}

/// Makes this process a keeper, if that is what it was started for. Belongs at the very beginning of `main`,
/// before any thread exists and before arguments are read.
pub fn keep_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != KEEP {
        return None;
    }
    let display = arguments.next().unwrap_or_default().to_string_lossy().into_owned();
    Some(match keep(&display) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deskhand: {KEEP} is for Deskhand's own use: {error}");
            ExitCode::FAILURE
        }
    })
}

fn keep(display: &str) -> Result<()> {
    // Apart from the terminal and the folder that the other process was started in. What fails here makes
    // no difference to the clipboard.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    // It was started as /proc/self/exe, and people would see "exe".
    let _ = std::fs::write("/proc/self/comm", "deskhand");
    let mut order = Vec::new();
    std::io::stdin()
        .read_to_end(&mut order)
        .map_err(|error| Error::backend("What is to be kept cannot be read.").because(error))?;
    let contents =
        read(&order).ok_or_else(|| Error::argument("What is to be kept does not come from Deskhand."))?;
    let call = Call::with_timeout(PATIENCE);
    let mut owner = Owner::open(&call, display, Arc::<Shared>::default())?;
    for (selection, content) in contents {
        owner.own(selection, content, Why::Copied, None)?;
    }
    drop(order);
    let mut output = std::io::stdout();
    let told = output.write_all(&[READY]).and_then(|()| output.flush());
    told.map_err(|error| Error::backend("The process that asked for it has gone.").because(error))?;
    owner.serve_out();
    Ok(())
}

fn write(contents: &[(Selection, Content)]) -> Vec<u8> {
    let mut order = Vec::new();
    for (selection, content) in contents {
        order.push(match selection {
            Selection::Clipboard => 0,
            Selection::Primary => 1,
        });
        forms::write(content, &mut order);
    }
    order
}

fn read(mut order: &[u8]) -> Option<Vec<(Selection, Content)>> {
    let mut contents = Vec::new();
    while let Some((which, rest)) = order.split_first() {
        order = rest;
        let selection = match which {
            0 => Selection::Clipboard,
            1 => Selection::Primary,
            _ => return None,
        };
        contents.push((selection, Arc::new(forms::read(&mut order)?)));
    }
    Some(contents)
}
