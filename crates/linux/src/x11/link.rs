//! A connection to the X server that no lost reply can hold up, and that comes back by itself.
//!
//! Each provider has a link of its own, so that a large capture does not delay a key. A link connects
//! when it is first used, bounds every wait by the call's deadline and cancellation, and connects anew
//! after the server has gone.

use deskhand_core::call::Cancellation;
use deskhand_core::{Call, Code, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};
use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

/// The connection that every X11 provider speaks over.
pub type X = RustConnection<BoundedStream>;

/// A connection with what a provider keeps for as long as it lasts: atoms, keymaps, segments.
pub struct Link<S> {
    display: String,
    open: fn(&Call, &X, usize) -> Result<S>,
    live: Mutex<Option<Live<S>>>,
}

struct Live<S> {
    x: X,
    screen: usize,
    state: S,
}

impl<S> Link<S> {
    /// A link to `display` (the value of DISPLAY), not yet connected. `open` makes the provider's state
    /// for a fresh connection; its last argument is the index of the screen.
    pub fn new(display: impl Into<String>, open: fn(&Call, &X, usize) -> Result<S>) -> Link<S> {
        Link { display: display.into(), open, live: Mutex::new(None) }
    }

    /// The display's name.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Runs `body` on the connection, connecting first if need be. Waits inside end with the call. When
    /// the connection turns out to be lost the error says so, and the next use connects anew.
    pub fn with<T>(&self, call: &Call, body: impl FnOnce(&X, usize, &mut S) -> Result<T>) -> Result<T> {
        let mut guard = self.lock(call)?;
        if guard.as_ref().is_some_and(|live| live.x.stream().lost.load(Ordering::Relaxed)) {
            *guard = None;
        }
        let live = match &mut *guard {
            Some(live) => live,
            empty => {
                let (x, screen) = connect(call, &self.display)?;
                x.stream().bind(call);
                let state = (self.open)(call, &x, screen)?;
                empty.insert(Live { x, screen, state })
            }
        };
        live.x.stream().bind(call);
        let result = body(&live.x, live.screen, &mut live.state);
        if live.x.stream().lost.load(Ordering::Relaxed) {
            *guard = None;
            return result.map_err(|error| match error.code {
                Code::Timeout | Code::Cancelled => error,
                _ => lost(&self.display, error),
            });
        }
        result
    }

    fn lock(&self, call: &Call) -> Result<MutexGuard<'_, Option<Live<S>>>> {
        call.until("waiting for another call on the X connection", || match self.live.try_lock() {
            Ok(guard) => Ok(Some(guard)),
            Err(TryLockError::Poisoned(poisoned)) => {
                // A panic in the middle of a request may have left the state half changed.
                self.live.clear_poison();
                let mut guard = poisoned.into_inner();
                *guard = None;
                Ok(Some(guard))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
        })
    }
}

fn lost(display: &str, error: Error) -> Error {
    Error::backend(format!("The connection to the X server {display} was lost."))
        .os(error.detail.os.unwrap_or(error.message))
        .remedy("The next call connects again, as soon as the server is back.")
}

/// Connects once. Waits on the connection end with what it is bound to ([`BoundedStream::bind`]).
pub(super) fn connect(call: &Call, display: &str) -> Result<(X, usize)> {
    let no_server = |os: &dyn std::fmt::Display| {
        Error::backend(format!("No X server answers at {display:?}.")).os(os).remedy(
            "Start one there, name another with --display or DISPLAY, or start Deskhand with --virtual.",
        )
    };
    let parsed = x11rb_protocol::parse_display::parse_display(Some(display))
        .map_err(|error| Error::argument(format!("{display:?} is no name of an X display: {error}.")))?;
    let screen = usize::from(parsed.screen);
    let mut last = None;
    for address in parsed.connect_instruction() {
        match DefaultStream::connect(&address) {
            Ok((stream, (family, peer))) => {
                let (name, data) = x11rb_protocol::xauth::get_auth(family, &peer, parsed.display)
                    .ok()
                    .flatten()
                    .unwrap_or_default();
                let stream = BoundedStream::new(stream);
                stream.bind(call);
                return RustConnection::connect_to_stream_with_auth_info(stream, screen, name, data)
                    .map(|x| (x, screen))
                    .map_err(|error| match error {
                        ConnectError::SetupFailed(_) | ConnectError::SetupAuthenticate(_) => Error::new(
                            Code::PermissionDenied,
                            format!("The X server {display} refuses the connection."),
                        )
                        .os(error)
                        .remedy("Run as the user of that session, or let XAUTHORITY name its cookie file."),
                        other => no_server(&other),
                    });
            }
            Err(error) => last = Some(error),
        }
    }
    Err(no_server(&last.map_or_else(|| "no address to try".to_owned(), |error| error.to_string())))
}

/// Several times what a local server takes for most of what is asked of it.
const AWAKE: Duration = Duration::from_micros(60);

/// A stream to the server whose waits end with the call that is bound to it.
pub struct BoundedStream {
    inner: DefaultStream,
    bound: Mutex<(Instant, Cancellation)>,
    lost: AtomicBool,
    /// Whether the last write found no room. Before each request x11rb asks whether there is, and a system
    /// call for every request made up a third of the time of a pipelined list.
    full: AtomicBool,
    /// How often in a row it was no use to look for an answer before sleeping until it comes.
    in_vain: AtomicU32,
    /// With one core the server cannot answer while we look.
    several_cores: bool,
}

impl BoundedStream {
    fn new(inner: DefaultStream) -> BoundedStream {
        BoundedStream {
            inner,
            bound: Mutex::new((Instant::now(), Cancellation::default())),
            lost: AtomicBool::new(false),
            full: AtomicBool::new(false),
            in_vain: AtomicU32::new(0),
            several_cores: std::thread::available_parallelism().is_ok_and(|cores| 1 < cores.get()),
        }
    }

    /// Whether the server is on this machine behind a socket that can carry file descriptors.
    pub fn is_local(&self) -> bool {
        rustix::net::getsockname(&self.inner)
            .is_ok_and(|address| address.address_family() == rustix::net::AddressFamily::UNIX)
    }

    /// Whether to look for an answer for a moment before sleeping: a local server answers within
    /// microseconds, and to be put to sleep and woken takes longer. Where that was no use lately (a busy
    /// machine, a server far away) it is tried only now and then.
    fn looks_pay(&self) -> bool {
        let in_vain = self.in_vain.load(Ordering::Relaxed);
        if in_vain < 4 {
            return self.several_cores;
        }
        self.in_vain.fetch_add(1, Ordering::Relaxed);
        in_vain.is_multiple_of(32)
    }

    /// Waits end with this call from now on.
    pub(super) fn bind(&self, call: &Call) {
        *self.bound.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) =
            (call.deadline(), call.cancellation().clone());
    }

    fn wrote(&self, result: io::Result<usize>) -> io::Result<usize> {
        let full = result.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        self.full.store(full, Ordering::Relaxed);
        self.note(result)
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
        {
            self.lost.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl AsFd for BoundedStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl Stream for BoundedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        // Nothing is lost by trying: a write that finds no room says so, and then this waits.
        if mode.writable() && !self.full.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let (deadline, cancellation) =
            self.bound.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let mut flags = PollFlags::empty();
        if mode.readable() {
            flags |= PollFlags::IN;
        }
        if mode.writable() {
            flags |= PollFlags::OUT;
        }
        if self.looks_pay() {
            let until = Instant::now() + AWAKE;
            while Instant::now() < until {
                let mut fds = [PollFd::new(&self.inner, flags)];
                if poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| 0 < ready) {
                    self.in_vain.store(0, Ordering::Relaxed);
                    return Ok(());
                }
            }
            self.in_vain.fetch_add(1, Ordering::Relaxed);
        }
        loop {
            if cancellation.is_cancelled() {
                return Err(io::Error::new(ErrorKind::Interrupted, CANCELLED));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(ErrorKind::TimedOut, "the X server did not answer in time"));
            }
            // Waking now and then is how a cancellation is seen; answers come within microseconds.
            let nap = left.min(Duration::from_millis(50));
            let nap = Timespec { tv_sec: 0, tv_nsec: i64::from(nap.subsec_nanos()) };
            let mut fds = [PollFd::new(&self.inner, flags)];
            match poll(&mut fds, Some(&nap)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read(&self, buf: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        let result = self.note(self.inner.read(buf, fds));
        if matches!(result, Ok(0)) {
            self.lost.store(true, Ordering::Relaxed);
        }
        result
    }

    fn write(&self, buf: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.wrote(self.inner.write(buf, fds))
    }

    fn write_vectored(&self, bufs: &[IoSlice<'_>], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.wrote(self.inner.write_vectored(bufs, fds))
    }
}

const CANCELLED: &str = "cancelled";

/// Turns what x11rb reports into an error of ours. `doing` completes "The X server failed while …".
pub fn failed<E: Into<XError>>(doing: &str) -> impl Fn(E) -> Error {
    move |error| {
        let error = error.into().0;
        if let ReplyError::ConnectionError(ConnectionError::IoError(io)) = &error {
            if io.kind() == ErrorKind::TimedOut {
                return Error::new(
                    Code::Timeout,
                    format!("The X server did not answer in time while {doing}."),
                )
                .remedy("Pass a larger timeout_ms; if it goes on, the X server hangs.");
            }
            if io.to_string() == CANCELLED {
                return Error::new(Code::Cancelled, format!("The call was cancelled while {doing}."));
            }
        }
        let os = match &error {
            ReplyError::X11Error(x) => {
                format!(
                    "{:?} for value {} in {}",
                    x.error_kind,
                    x.bad_value,
                    x.request_name.unwrap_or("a request")
                )
            }
            other => other.to_string(),
        };
        Error::backend(format!("The X server failed while {doing}.")).os(os)
    }
}

/// Whether the server keeps this client apart from the others: it is shown hardly any extension then, whatever
/// the server has (by the X11 SECURITY extension, "Untrusted clients").
pub fn is_untrusted(x: &X) -> Result<bool> {
    let doing = "asking which extensions the X server has";
    let known = x.list_extensions().map_err(failed(doing))?.reply().map_err(failed(doing))?.names;
    Ok(known.iter().all(|extension| matches!(&*extension.name, b"BIG-REQUESTS" | b"XC-MISC")))
}

/// What a server refuses to clients that it does not trust.
pub fn untrusted() -> Error {
    Error::new(
        Code::PermissionDenied,
        "The X server shows this client no pixels and takes no input from it: it is connected as an untrusted \
         one, as with ssh -X.",
    )
    .remedy("Let XAUTHORITY name the cookie file of the session itself; over ssh, connect with -Y instead of -X.")
}

/// Whether the server itself answered with an error (a window that has gone, say), not the connection.
pub fn is_x_error(error: &ReplyError) -> bool {
    matches!(error, ReplyError::X11Error(_))
}

/// Any of the three error types of x11rb.
pub struct XError(ReplyError);

impl From<ReplyError> for XError {
    fn from(error: ReplyError) -> XError {
        XError(error)
    }
}

impl From<ConnectionError> for XError {
    fn from(error: ConnectionError) -> XError {
        XError(ReplyError::ConnectionError(error))
    }
}

impl From<ReplyOrIdError> for XError {
    fn from(error: ReplyOrIdError) -> XError {
        XError(match error {
            ReplyOrIdError::IdsExhausted => ReplyError::ConnectionError(ConnectionError::UnknownError),
            ReplyOrIdError::ConnectionError(error) => ReplyError::ConnectionError(error),
            ReplyOrIdError::X11Error(error) => ReplyError::X11Error(error),
        })
    }
}
