//! Who owns what outlives a call: held keys and buttons, opened applications, variables, observations, a recording.
//!
//! Each client has a session of its own from its beginning to its end, and may make more of them, which end
//! when they are deleted, when nobody has used them for a while, or with their client. Whatever is to end with
//! its owner belongs here: a field of [`State`] that is dropped with it, or a number of its own
//! ([`Session::owner`]) under which it is kept elsewhere and that [`Sessions::let_go`] clears up.

use crate::observations::{Observations, Owner};
use crate::recording::Recording;
use deskhand_core::call::Cancellation;
use deskhand_core::input::Held;
use deskhand_core::lane::ClientId;
use deskhand_core::near::near;
use deskhand_core::{Call, Code, Desktop, Error, Result};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The name of the session that every client has.
pub const OWN: &str = "own";

/// How many sessions a client may have besides its own.
pub const MOST_SESSIONS: usize = 32;

/// How many bytes the variables of one session may take, as JSON.
pub const MOST_BYTES: usize = 1 << 20;

/// Owns what its calls leave behind.
pub struct Session {
    /// `own`, or `s1` and so on.
    pub name: String,
    /// What the client says that it is for.
    pub description: String,
    /// What it keeps elsewhere is kept under this number: holds, in the desktop's own list, and observations.
    pub owner: ClientId,
    /// Whose it is.
    pub client: ClientId,
    /// How long nobody has to use it before it ends; `None` for a client's own, which ends with the client.
    pub ttl: Option<Duration>,
    state: Mutex<State>,
}

/// What a session has. All of it goes with the session.
pub struct State {
    /// Applications that were opened or attached.
    pub applications: Vec<u32>,
    /// Named values, for steps.
    pub variables: Map<String, Value>,
    /// A person's input on its way to becoming a macro.
    pub recording: Option<Recording>,
    calls: usize,
    last_used: Instant,
    ended: bool,
}

/// A session while a call uses it: it does not end meanwhile for want of use.
pub struct InUse {
    session: Arc<Session>,
    desktop: Arc<Desktop>,
}

impl std::ops::Deref for InUse {
    type Target = Arc<Session>;

    fn deref(&self) -> &Arc<Session> {
        &self.session
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut state = self.session.state();
        state.calls -= 1;
        state.last_used = Instant::now();
        let late = state.ended && state.calls == 0;
        drop(state);
        if late {
            // It ended during the call, which may have pressed something after that.
            self.desktop.release_client(self.session.owner);
        }
    }
}

impl Session {
    fn new(name: String, owner: ClientId, client: ClientId, ttl: Option<Duration>) -> Session {
        let state = State {
            applications: Vec::new(),
            variables: Map::new(),
            recording: None,
            calls: 0,
            last_used: Instant::now(),
            ended: false,
        };
        Session { name, description: String::new(), owner, client, ttl, state: Mutex::new(state) }
    }

    /// The one that a client has from the beginning.
    pub fn own(client: ClientId) -> Arc<Session> {
        Arc::new(Session::new(OWN.to_owned(), client, client, None))
    }

    /// What it has.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers an application that was opened or attached.
    pub fn track(&self, pid: u32) {
        let mut state = self.state();
        if !state.applications.contains(&pid) {
            state.applications.push(pid);
        }
    }

    /// Gives variables values. None is given one when together they would take too much room.
    pub fn assign(&self, values: Map<String, Value>) -> Result<()> {
        let mut state = self.state();
        let mut all = state.variables.clone();
        all.extend(values);
        let bytes = all.iter().map(|(name, value)| name.len() + value.to_string().len()).sum::<usize>();
        if MOST_BYTES < bytes {
            return Err(Error::argument(format!(
                "The variables of the session {} would take {bytes} bytes.",
                self.name
            ))
            .expected(format!("at most {MOST_BYTES} bytes as JSON, all together"))
            .remedy("Keep less: what is needed of a result and not all of it."));
        }
        state.variables = all;
        Ok(())
    }

    /// When it ends for want of use; never while a call uses it, nor a client's own.
    pub fn expires(&self) -> Option<Instant> {
        let state = self.state();
        (state.calls == 0).then_some(state.last_used + self.ttl?)
    }
}

/// The sessions of all clients, besides the one that each has anyway.
pub struct Sessions {
    desktop: Arc<Desktop>,
    observations: Arc<Observations>,
    live: Mutex<Vec<Arc<Session>>>,
    last: AtomicU64,
    /// Whether a thread sees to those that expire, and what makes it look anew.
    watched: AtomicBool,
    wake: Mutex<Cancellation>,
}

impl Sessions {
    /// None yet.
    pub fn new(desktop: Arc<Desktop>, observations: Arc<Observations>) -> Arc<Sessions> {
        Arc::new(Sessions {
            desktop,
            observations,
            live: Mutex::default(),
            last: AtomicU64::new(0),
            watched: AtomicBool::new(false),
            wake: Mutex::default(),
        })
    }

    /// Makes one for a client. `owner` is a number that no client and no other session has.
    pub fn create(
        self: &Arc<Sessions>,
        client: ClientId,
        owner: ClientId,
        ttl: Duration,
        description: String,
        variables: Map<String, Value>,
    ) -> Result<Arc<Session>> {
        let mut live = self.live();
        if MOST_SESSIONS <= live.iter().filter(|session| session.client == client).count() {
            return Err(Error::new(Code::Busy, format!("This client has {MOST_SESSIONS} sessions already."))
                .remedy("Delete one that is no longer needed with delete_session."));
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut session = Session::new(format!("s{number}"), owner, client, Some(ttl));
        session.description = description;
        session.assign(variables)?;
        let session = Arc::new(session);
        live.push(session.clone());
        drop(live);
        self.watch()?;
        Ok(session)
    }

    /// Those that a client made, the oldest first.
    pub fn of(&self, client: ClientId) -> Vec<Arc<Session>> {
        self.live().iter().filter(|session| session.client == client).cloned().collect()
    }

    /// The session that a client means, in use from now on; its own when it names none.
    pub fn enter(&self, own: &Arc<Session>, name: Option<&str>) -> Result<InUse> {
        let Some(name) = name.filter(|name| plain(name) != OWN) else { return Ok(self.used(own)) };
        let live = self.live();
        let theirs = || live.iter().filter(|session| session.client == own.client);
        match theirs().find(|session| session.name == plain(name)) {
            Some(session) => Ok(self.used(session)),
            None => {
                let names = theirs().map(|session| session.name.as_str()).chain([OWN]);
                let names: Vec<&str> = names.collect();
                let near = near(plain(name), names.iter().copied());
                let found = if near.is_empty() { names } else { near };
                Err(Error::new(Code::SessionNotFound, format!("This client has no session {name:?}."))
                    .expected("a session that list_sessions lists")
                    .found(found.iter().map(|name| format!("sessions/{name}")))
                    .remedy(
                        "Sessions end when nobody uses them for ttl_ms: make a new one with create_session.",
                    ))
            }
        }
    }

    /// A session in use by a call.
    pub fn used(&self, session: &Arc<Session>) -> InUse {
        let mut state = session.state();
        state.calls += 1;
        state.last_used = Instant::now();
        drop(state);
        InUse { session: session.clone(), desktop: self.desktop.clone() }
    }

    /// Ends one. What is pressed for it has to be let go of before.
    pub fn remove(&self, session: &Arc<Session>) {
        self.live().retain(|other| !Arc::ptr_eq(other, session));
        self.forget(session);
    }

    /// A client goes, and all that it left behind with it.
    pub fn leave(&self, own: &Arc<Session>) {
        let gone: Vec<_> = {
            let mut live = self.live();
            let (gone, stay) = live.drain(..).partition(|session| session.client == own.client);
            *live = stay;
            gone
        };
        for session in gone.iter().chain([own]) {
            self.let_go(session);
        }
    }

    /// Ends what belongs to a session.
    fn let_go(&self, session: &Session) {
        self.desktop.release_client(session.owner);
        self.forget(session);
    }

    fn forget(&self, session: &Session) {
        self.observations.release(Owner::Client(session.owner));
        let recording = {
            let mut state = session.state();
            state.ended = true;
            state.applications.clear();
            state.variables.clear();
            state.recording.take()
        };
        // Ends a thread, which may take a moment: not with the session locked.
        drop(recording);
    }

    /// Sees to sessions that expire, on a thread that lives as long as there are any.
    fn watch(self: &Arc<Sessions>) -> Result<()> {
        self.wake().cancel();
        if self.watched.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let weak = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("sessions".into()).spawn(move || end_in_time(&weak));
        thread.map(drop).map_err(|error| {
            self.watched.store(false, Ordering::SeqCst);
            Error::backend("The thread that ends sessions in time could not be started.").os(error)
        })
    }

    /// Ends those whose time is up; when the next one's is, and what wakes earlier than that.
    fn expire(&self) -> Option<(Instant, Cancellation)> {
        let wake = Cancellation::default();
        *self.wake() = wake.clone();
        let now = Instant::now();
        let (due, next) = {
            let mut live = self.live();
            let due = |session: &Arc<Session>| session.expires().is_some_and(|time| time <= now);
            let (due, stay): (Vec<_>, Vec<_>) = live.drain(..).partition(due);
            *live = stay;
            // One in use may end its call at any time: it cannot expire before its whole time has passed.
            let next = live.iter().map(|session| {
                session.expires().unwrap_or_else(|| now + session.ttl.unwrap_or(Duration::from_secs(60)))
            });
            (due, next.min())
        };
        for session in due {
            self.let_go(&session);
        }
        Some((next?, wake))
    }

    fn live(&self) -> MutexGuard<'_, Vec<Arc<Session>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) -> MutexGuard<'_, Cancellation> {
        self.wake.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.wake().cancel();
    }
}

fn end_in_time(weak: &Weak<Sessions>) {
    while let Some(sessions) = weak.upgrade() {
        let Some((next, wake)) = sessions.expire() else {
            sessions.watched.store(false, Ordering::SeqCst);
            // One that was made in between saw the thread running and started none.
            if sessions.live().is_empty() || sessions.watched.swap(true, Ordering::SeqCst) {
                return;
            }
            continue;
        };
        drop(sessions);
        let left = next.saturating_duration_since(Instant::now());
        let nap = Call::with_timeout(left + Duration::from_secs(1)).with_cancellation(wake);
        // Woken early, there is something new to look at.
        let _ = nap.pause(left, "waiting for a session to expire");
    }
}

/// `s1` of `sessions/s1`.
fn plain(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("sessions/").unwrap_or(name)
}

/// What is held, for a reply.
pub fn name_of(held: Held) -> String {
    match held {
        Held::Button(button) => format!("{button:?} button").to_lowercase(),
        Held::Key(key) => key.to_string(),
    }
}
