//! Memory that the X server fills with pixels.

use crate::x11::link::{X, failed};
use bytes::Bytes;
use deskhand_core::{Error, Result};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, MutexGuard};
use x11rb::connection::Connection;
use x11rb::protocol::shm::{self, Seg};

/// Shared segments of one connection. Those in use are with the calls that use them.
pub(super) struct Memory {
    /// Nothing when the server takes no file descriptors.
    home: Option<Arc<Mutex<Home>>>,
}

#[derive(Default)]
struct Home {
    spare: Vec<Segment>,
    /// Segments that are unmapped here and not yet in the server.
    gone: Vec<Seg>,
}

/// Segments that wait for the next use. Two calls may capture at once; more share the same two.
const MOST_SPARE: usize = 2;
/// Fewer pixels than these are copied, so that a segment of a megabyte is not held for an icon.
const SMALL: usize = 64 << 10;

/// A piece of memory that the server and this process share.
struct Segment {
    id: Seg,
    address: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the segment alone and can be read from any thread.
unsafe impl Send for Segment {}
// SAFETY: through a shared reference it is only read.
unsafe impl Sync for Segment {}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length and nothing borrows it any more.
        // There is nothing to do when it fails.
        let _ = unsafe { munmap(self.address.as_ptr(), self.bytes) };
    }
}

/// A segment that a call has to itself, until it is filled.
pub(super) struct Lease {
    segment: Option<Segment>,
    home: Arc<Mutex<Home>>,
}

/// Pixels as the server gave them.
pub(super) enum Grabbed {
    /// In shared memory, which goes back to its place when nobody holds it any more.
    Shared(Arc<Filled>),
    /// In memory of our own.
    Own(Vec<u8>),
}

/// A lease whose first bytes the server has written.
pub(super) struct Filled {
    lease: Lease,
    bytes: usize,
}

impl Memory {
    /// Whether the server can fill memory of ours is what it declares: MIT-SHM 1.2 or newer, over a
    /// connection that can carry a file descriptor.
    pub(super) fn open(x: &X, has_extension: bool) -> Result<Memory> {
        let doing = "asking about shared memory";
        if !has_extension || !x.stream().is_local() {
            return Ok(Memory { home: None });
        }
        let version = shm::query_version(x).map_err(failed(doing))?.reply().map_err(failed(doing))?;
        let takes_fds = (1, 2) <= (version.major_version, version.minor_version);
        Ok(Memory { home: takes_fds.then(Arc::default) })
    }

    /// A segment for `bytes`, or nothing where the server takes none.
    pub(super) fn take(&self, x: &X, bytes: usize) -> Result<Option<Lease>> {
        let Some(home) = &self.home else { return Ok(None) };
        let doing = "sharing memory with the X server";
        let (fitting, gone) = {
            let mut inside = lock(home);
            // A picture holds its segment: one that is much too large would be wasted on it.
            let fits = |segment: &Segment| (bytes..=2 * bytes.max(1 << 20)).contains(&segment.bytes);
            let fitting = inside.spare.iter().position(fits).map(|place| inside.spare.swap_remove(place));
            if fitting.is_none() {
                // Those that did not fit make room for the one that does.
                let others = std::mem::take(&mut inside.spare);
                inside.gone.extend(others.iter().map(|segment| segment.id));
            }
            (fitting, std::mem::take(&mut inside.gone))
        };
        for id in gone {
            shm::detach(x, id).map_err(failed(doing))?.ignore_error();
        }
        let segment = match fitting {
            Some(segment) => segment,
            None => Segment::create(x, bytes)?,
        };
        Ok(Some(Lease { segment: Some(segment), home: home.clone() }))
    }

    /// The segment of earlier pixels once more, to bring them up to date; nothing when somebody still holds
    /// them, or when they came over a connection that is gone.
    pub(super) fn again(&self, filled: Arc<Filled>) -> Option<Lease> {
        let mut filled = Arc::into_inner(filled)?;
        let home = self.home.as_ref().filter(|home| Arc::ptr_eq(home, &filled.lease.home))?;
        Some(Lease { segment: filled.lease.segment.take(), home: home.clone() })
    }
}

impl Segment {
    fn create(x: &X, bytes: usize) -> Result<Segment> {
        let doing = "sharing memory with the X server";
        let bytes = bytes.next_multiple_of(1 << 20);
        let no_memory = |error: rustix::io::Errno| {
            Error::backend(format!("No {bytes} bytes of memory to share with the X server are left."))
                .os(error)
        };
        let file: OwnedFd = memfd_create("deskhand", MemfdFlags::CLOEXEC).map_err(no_memory)?;
        ftruncate(&file, bytes as u64).map_err(no_memory)?;
        // SAFETY: a new mapping at an address that the kernel chooses; the file is as long as the mapping.
        let address = unsafe {
            mmap(null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), 0).map_err(no_memory)?
        };
        let address = NonNull::new(address)
            .ok_or_else(|| Error::backend("The kernel mapped shared memory at address zero."))?;
        let id = x.generate_id().map_err(failed(doing))?;
        let segment = Segment { id, address, bytes };
        shm::attach_fd(x, id, file, false).map_err(failed(doing))?.check().map_err(failed(doing))?;
        Ok(segment)
    }
}

impl Lease {
    pub(super) fn id(&self) -> Seg {
        self.segment.as_ref().map_or(0, |segment| segment.id)
    }

    /// The server has answered: the first `bytes` are written, and it will not touch them again.
    pub(super) fn filled(self, bytes: usize) -> Grabbed {
        Grabbed::Shared(Arc::new(Filled { lease: self, bytes }))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Without an answer the server may still be about to write: such a segment is not used again.
        if let Some(segment) = self.segment.take() {
            lock(&self.home).gone.push(segment.id);
        }
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        let mut home = lock(&self.lease.home);
        if let Some(segment) = self.lease.segment.take() {
            if home.spare.len() < MOST_SPARE {
                home.spare.push(segment);
            } else {
                home.gone.push(segment.id);
            }
        }
    }
}

impl AsRef<[u8]> for Filled {
    fn as_ref(&self) -> &[u8] {
        match &self.lease.segment {
            // SAFETY: the mapping is at least as long (`Memory::take`), lives as long as the borrow, and the
            // server writes to it only for a request that carries its number, of which none is open: only a
            // `Lease` can make one, and `Memory::again` makes a lease of pixels only when nobody holds them.
            Some(segment) => unsafe {
                std::slice::from_raw_parts(
                    segment.address.as_ptr().cast::<u8>(),
                    self.bytes.min(segment.bytes),
                )
            },
            None => &[],
        }
    }
}

/// Pixels that share their segment with whoever may want to use it again.
struct Holder(Arc<Filled>);

impl AsRef<[u8]> for Holder {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Grabbed {
    /// The pixels, and the memory in which they lie if it is shared.
    pub(super) fn into_bytes(self) -> (Bytes, Option<Arc<Filled>>) {
        match self {
            Grabbed::Own(pixels) => (pixels.into(), None),
            Grabbed::Shared(filled) if (*filled).as_ref().len() < SMALL => {
                (Bytes::copy_from_slice((*filled).as_ref()), None)
            }
            Grabbed::Shared(filled) => (Bytes::from_owner(Holder(filled.clone())), Some(filled)),
        }
    }
}

fn lock(home: &Mutex<Home>) -> MutexGuard<'_, Home> {
    home.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
