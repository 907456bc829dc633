//! One line from a pipe, with a deadline.

use deskhand_core::{Call, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

/// Reads up to the first line end. `None` when the other side closes before it.
pub fn read(call: &Call, from: &mut (impl Read + AsFd), doing: &str) -> Result<Option<String>> {
    let mut line = Vec::new();
    loop {
        call.check(doing)?;
        if !readable(from, call.remaining())? {
            continue;
        }
        // Nothing follows the line in any of our pipes, so that reading past it loses nothing.
        let mut chunk = [0; 4096];
        let read = from
            .read(&mut chunk)
            .map_err(|error| Error::backend(format!("Reading failed while {doing}.")).because(error))?;
        if read == 0 {
            return Ok(None);
        }
        line.extend_from_slice(&chunk[..read]);
        if let Some(end) = line.iter().position(|&byte| byte == b'\n') {
            return Ok(Some(String::from_utf8_lossy(&line[..end]).trim().to_owned()));
        }
    }
}

/// Waits a moment for something to read; at most 50 ms, so that a cancellation is seen.
fn readable(from: &impl AsFd, left: Duration) -> Result<bool> {
    let nap = left.min(Duration::from_millis(50));
    let nap = Timespec { tv_sec: 0, tv_nsec: i64::from(nap.subsec_nanos()) };
    match poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&nap)) {
        Ok(ready) => Ok(0 < ready),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(Error::backend("Waiting for a program's answer failed.").because(error)),
    }
}
