//! Is the session locked, or somebody else's? Asked before any input, so the answer is kept: D-Bus
//! signals change it, asking costs a lock and a look.
//!
//! logind knows whether the session is locked and whether it is the one in front; screen savers say
//! whether they are active. Nothing is ever started by asking. Where there is no bus, nothing can be
//! locked through it; lockers that use none are seen by the display's own provider.

use async_io::{Async, Timer};
use deskhand_core::{Call, Code, Error, Result};
use futures_lite::{FutureExt, StreamExt, future};
use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use zbus::proxy::MethodFlags;
use zbus::zvariant::{OwnedObjectPath, OwnedValue};
use zbus::{Connection, MatchRule, MessageStream, Proxy};

/// What the buses say about the session. Watching begins with the first question.
pub struct Session {
    buses: Buses,
    shared: Arc<Shared>,
    watch: Mutex<Watch>,
}

/// Where to ask.
#[derive(Clone, Debug, Default)]
pub struct Buses {
    /// Address of the bus that logind is on; `None` leaves logind out.
    pub system: Option<String>,
    /// Address of the bus that screen savers are on; `None` leaves them out.
    pub session: Option<String>,
    /// logind's name of the session; `None` for the one that this process or this user is in.
    pub id: Option<String>,
}

impl Buses {
    /// The buses that this process belongs to.
    pub fn from_environment() -> Buses {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let socket = |path: String| std::path::Path::new(&path).exists().then(|| format!("unix:path={path}"));
        Buses {
            system: variable("DBUS_SYSTEM_BUS_ADDRESS")
                .or_else(|| socket("/run/dbus/system_bus_socket".to_owned())),
            session: variable("DBUS_SESSION_BUS_ADDRESS")
                .or_else(|| variable("XDG_RUNTIME_DIR").and_then(|folder| socket(format!("{folder}/bus")))),
            id: variable("XDG_SESSION_ID"),
        }
    }
}

/// What keeps the display from being ours now, by who says so.
#[derive(Default)]
struct Known {
    logind: Option<Sighting>,
    savers: Vec<&'static str>,
    /// Buses that have not answered the first questions yet.
    pending: u8,
}

struct Sighting {
    /// The X display that logind has written down for the session, if any.
    display: String,
    /// What is the matter.
    what: &'static str,
}

#[derive(Default)]
struct Shared {
    known: Mutex<Known>,
    answered: Condvar,
}

#[derive(Default)]
struct Watch {
    /// Closing it ends the thread.
    _stop: Option<UnixStream>,
    thread: Option<std::thread::JoinHandle<()>>,
    started: Option<Instant>,
}

/// How long a service may take to answer. One that hangs must not hold up all input.
const PATIENCE: Duration = Duration::from_millis(800);

/// After how long a bus that was absent is looked for again.
const AGAIN: Duration = Duration::from_secs(5);

impl Session {
    /// Asks these buses.
    pub fn on(buses: Buses) -> Arc<Session> {
        Arc::new(Session { buses, shared: Arc::default(), watch: Mutex::default() })
    }

    /// Asks the buses that this process belongs to.
    pub fn from_environment() -> Arc<Session> {
        Session::on(Buses::from_environment())
    }

    /// Asks nobody: for a private display, which no session's lock concerns.
    pub fn none() -> Arc<Session> {
        Session::on(Buses::default())
    }

    /// Fails with `secure_desktop_active` when the session of `display` is locked or not in front.
    pub fn check(&self, call: &Call, display: &str) -> Result<()> {
        if self.buses.system.is_none() && self.buses.session.is_none() {
            return Ok(());
        }
        self.watch()?;
        let known = self.first_answers(call)?;
        if let Some(sighting) = &known.logind
            && same_display(&sighting.display, display)
        {
            return Err(locked(sighting.what, "logind"));
        }
        match known.savers.first() {
            Some(saver) => Err(locked("is locked or its screen saver is on", saver)),
            None => Ok(()),
        }
    }

    /// Starts the watch, again if a bus has come or gone.
    fn watch(&self) -> Result<()> {
        let mut watch = self.watch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let ended = watch.thread.as_ref().is_none_or(|thread| thread.is_finished());
        if !ended || watch.started.is_some_and(|started| started.elapsed() < AGAIN) {
            return Ok(());
        }
        let fail = |error: std::io::Error| {
            Error::backend("Could not begin to watch whether the session is locked.").because(error)
        };
        let (stop, stopped) = UnixStream::pair().map_err(fail)?;
        self.known().pending = 2;
        let (buses, shared) = (self.buses.clone(), self.shared.clone());
        let thread = std::thread::Builder::new()
            .name("session".into())
            .spawn(move || run(&buses, &shared, stopped))
            .map_err(fail)?;
        *watch = Watch { _stop: Some(stop), thread: Some(thread), started: Some(Instant::now()) };
        Ok(())
    }

    /// Waits until both buses have said something, were found absent or had their chance.
    fn first_answers(&self, call: &Call) -> Result<MutexGuard<'_, Known>> {
        let mut known = self.known();
        while known.pending > 0 {
            call.check("asking whether the session is locked")?;
            let nap = call.remaining().min(Duration::from_millis(20));
            known = self
                .shared
                .answered
                .wait_timeout(known, nap)
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .0;
        }
        Ok(known)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.shared.known()
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn locked(what: &str, who: &str) -> Error {
    Error::new(Code::SecureDesktopActive, format!("The session {what}; no input was made."))
        .found([format!("{who} says so")])
        .remedy("Let the person at the desktop unlock it or switch back to it.")
}

/// Whether logind speaks of this display. It often does not know one; then it means its session's own.
fn same_display(of_session: &str, ours: &str) -> bool {
    let number = |name: &str| {
        x11rb_protocol::parse_display::parse_display(Some(name))
            .ok()
            .map(|parsed| (parsed.host, parsed.display))
    };
    of_session.is_empty() || number(of_session) == number(ours)
}

fn run(buses: &Buses, shared: &Shared, stopped: UnixStream) {
    let stop = async {
        match Async::new(stopped) {
            // Readable means closed: nothing is ever written.
            Ok(stopped) => drop(stopped.readable().await),
            Err(_) => future::pending().await,
        }
    };
    let watching = async {
        let logind = async {
            let ended = watch_logind(buses, shared).await;
            // A bus that is absent or has gone has nobody who says that anything is locked.
            publish(shared, ended.is_err(), |known| known.logind = None);
        };
        let savers = async {
            let ended = watch_savers(buses, shared).await;
            publish(shared, ended.is_err(), |known| known.savers.clear());
        };
        future::zip(logind, savers).await;
    };
    async_io::block_on(watching.or(stop));
}

/// Writes down what a bus says now. `first` when it had said nothing yet.
fn publish(shared: &Shared, first: bool, write: impl FnOnce(&mut Known)) {
    let mut known = shared.known();
    write(&mut known);
    if first {
        known.pending = known.pending.saturating_sub(1);
    }
    drop(known);
    shared.answered.notify_all();
}

/// The bus was never reached.
struct Absent;

/// Asks `look` now and after every signal that `rules` let through, and publishes by `tell`.
async fn watch_bus<T>(
    address: Option<&str>,
    rules: &[MatchRule<'_>],
    shared: &Shared,
    look: impl AsyncFn(&Connection) -> T,
    tell: impl Fn(&mut Known, T),
) -> std::result::Result<(), Absent> {
    let opening = async {
        let connection = zbus::connection::Builder::address(address.ok_or(Absent)?)
            .map_err(|_| Absent)?
            .build()
            .await
            .map_err(|_| Absent)?;
        let signals = MessageStream::from(&connection);
        for rule in rules {
            let rule = rule.to_string();
            let bus = Some("org.freedesktop.DBus");
            let added = connection.call_method(bus, "/org/freedesktop/DBus", bus, "AddMatch", &rule);
            added.await.map_err(|_| Absent)?;
        }
        Ok((connection, signals))
    };
    let (connection, mut signals) = within(opening).await.unwrap_or(Err(Absent))?;
    let mut first = true;
    loop {
        let seen = look(&connection).await;
        publish(shared, std::mem::take(&mut first), |known| tell(known, seen));
        loop {
            match signals.next().await {
                Some(Ok(message)) if message.message_type() == zbus::message::Type::Signal => break,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Ok(()),
            }
        }
    }
}

async fn watch_logind(buses: &Buses, shared: &Shared) -> std::result::Result<(), Absent> {
    let rules = [
        MatchRule::try_from(
            "type='signal',sender='org.freedesktop.login1',path_namespace='/org/freedesktop/login1'",
        ),
        MatchRule::try_from(
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.login1'",
        ),
    ];
    let rules: Vec<MatchRule<'_>> = rules.into_iter().flatten().collect();
    let look = async |bus: &Connection| within(look_at_logind(bus, buses.id.as_deref())).await.flatten();
    watch_bus(buses.system.as_deref(), &rules, shared, look, |known, seen| known.logind = seen).await
}

const LOGIND: &str = "org.freedesktop.login1";

async fn look_at_logind(bus: &Connection, id: Option<&str>) -> Option<Sighting> {
    if !is_there(bus, LOGIND).await {
        return None;
    }
    let session = own_session(bus, id).await?;
    let properties = Proxy::new(bus, LOGIND, session, "org.freedesktop.DBus.Properties").await.ok()?;
    let all: HashMap<String, OwnedValue> =
        ask(&properties, "GetAll", &("org.freedesktop.login1.Session",)).await?;
    let flag = |name: &str| all.get(name).and_then(|value| bool::try_from(value).ok());
    let text = |name: &str| {
        all.get(name).and_then(|value| <&str>::try_from(value).ok()).unwrap_or_default().to_owned()
    };
    let what = if flag("LockedHint") == Some(true) {
        "is locked"
    } else if flag("Active") == Some(false) && text("Type") != "tty" {
        // A text login owns no display: an X server started from it is not hidden by leaving it.
        "is not the one in front: somebody else's is"
    } else {
        return None;
    };
    Some(Sighting { display: text("Display"), what })
}

async fn own_session(bus: &Connection, id: Option<&str>) -> Option<OwnedObjectPath> {
    let manager =
        Proxy::new(bus, LOGIND, "/org/freedesktop/login1", "org.freedesktop.login1.Manager").await.ok()?;
    if let Some(id) = id {
        return ask(&manager, "GetSession", &(id,)).await;
    }
    if let Some(path) = ask(&manager, "GetSessionByPID", &(std::process::id(),)).await {
        return Some(path);
    }
    // A service of the user is in no session; what the user sees is the one that logind calls so.
    let user: OwnedObjectPath = ask(&manager, "GetUser", &(rustix::process::getuid().as_raw(),)).await?;
    let properties = Proxy::new(bus, LOGIND, user, "org.freedesktop.DBus.Properties").await.ok()?;
    let value: OwnedValue = ask(&properties, "Get", &("org.freedesktop.login1.User", "Display")).await?;
    let (_, path) = <(String, OwnedObjectPath)>::try_from(value).ok()?;
    (path.as_str() != "/").then_some(path)
}

/// Screen savers: the name on the session bus, which is the interface too, and the object.
const SAVERS: &[(&str, &str)] = &[
    ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
    ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
    ("org.xfce.ScreenSaver", "/org/xfce/ScreenSaver"),
    ("org.cinnamon.ScreenSaver", "/org/cinnamon/ScreenSaver"),
    ("org.mate.ScreenSaver", "/org/mate/ScreenSaver"),
];

async fn watch_savers(buses: &Buses, shared: &Shared) -> std::result::Result<(), Absent> {
    let rules: Vec<String> = SAVERS
        .iter()
        .flat_map(|(name, _)| {
            [
                format!("type='signal',interface='{name}',member='ActiveChanged'"),
                format!(
                    "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='{name}'"
                ),
            ]
        })
        .collect();
    let rules: Vec<MatchRule<'_>> =
        rules.iter().flat_map(|rule| MatchRule::try_from(rule.as_str())).collect();
    let look = async |bus: &Connection| {
        let mut active = Vec::new();
        for (name, path) in SAVERS {
            if is_there(bus, name).await && within(is_active(bus, name, path)).await.flatten() == Some(true) {
                active.push(*name);
            }
        }
        active
    };
    watch_bus(buses.session.as_deref(), &rules, shared, look, |known, seen| known.savers = seen).await
}

async fn is_active(bus: &Connection, name: &'static str, path: &'static str) -> Option<bool> {
    ask(&Proxy::new(bus, name, path, name).await.ok()?, "GetActive", &()).await
}

async fn is_there(bus: &Connection, name: &str) -> bool {
    let asked = bus.call_method(
        Some("org.freedesktop.DBus"),
        "/org/freedesktop/DBus",
        Some("org.freedesktop.DBus"),
        "NameHasOwner",
        &name,
    );
    within(asked).await.and_then(|reply| reply.ok()?.body().deserialize().ok()).unwrap_or(false)
}

/// One question that never starts the service.
async fn ask<R>(
    service: &Proxy<'_>,
    method: &'static str,
    body: &(impl serde::Serialize + zbus::zvariant::DynamicType),
) -> Option<R>
where
    R: for<'d> zbus::zvariant::DynamicDeserialize<'d>,
{
    service.call_with_flags(method, MethodFlags::NoAutoStart.into(), body).await.ok().flatten()
}

async fn within<T>(work: impl Future<Output = T>) -> Option<T> {
    let bound = async {
        Timer::after(PATIENCE).await;
        None
    };
    async { Some(work.await) }.or(bound).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_that_logind_does_not_know_is_taken_for_ours() {
        assert!(same_display("", ":5"));
        assert!(same_display(":5", ":5.0"));
        assert!(!same_display(":0", ":5"));
    }
}
