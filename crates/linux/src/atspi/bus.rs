//! The accessibility bus: finding it, calling over it, and never waiting without end.
//!
//! The async of zbus ends here: [`wait`] is the one place that blocks, and it ends with the call. Requests
//! to one application go out [`IN_FLIGHT`] at a time, over a connection of our own to the application where
//! it offers one: that halves every call.
//!
//! Never asks for `Properties.GetAll`: Qt 5.15 crashes on it.

use super::Session;
use super::surfaces::{self, Names};
use crate::x11::link::Link;
use atspi_common::Role as Spi;
use deskhand_core::{Call, Code, Error, Result};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use zbus::Message;
use zbus::zvariant::{DynamicType, ObjectPath, Value};

/// How many requests are under way to one application. Past this nothing gets faster.
pub const IN_FLIGHT: usize = 32;

/// The path of every application's root, and of the registry's.
pub const ROOT: &str = "/org/a11y/atspi/accessible/root";

/// The registry's well-known name.
pub const REGISTRY: &str = "org.a11y.atspi.Registry";

const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
const REMEDY: &str = "Run `deskhand doctor --fix`, then start the applications again.";

/// Waits for `work` until the call ends. Every wait for D-Bus goes through here.
pub fn wait<T>(call: &Call, doing: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let ended = async {
        loop {
            call.check(doing)?;
            // Cancellation has no waker: it is looked at now and then, as the X connection does.
            let next = call.deadline().min(Instant::now() + Duration::from_millis(50));
            async_io::Timer::at(next).await;
        }
    };
    async_io::block_on(futures_lite::future::or(work, ended))
}

/// `work`'s result, or nothing when it takes longer than `time`.
pub async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let late = async {
        async_io::Timer::after(time).await;
        None
    };
    futures_lite::future::or(async { Some(work.await) }, late).await
}

/// Why a request was not answered as wished.
#[derive(Debug)]
pub enum Fault {
    /// The object, or the application, is not there.
    Gone(String),
    /// The application does not know the method, the interface or the property.
    Absent(String),
    /// The application said no.
    Refused(String),
    /// The connection is broken.
    Lost(zbus::Error),
}

/// What a request came to.
pub type Reply = std::result::Result<Message, Fault>;

impl From<zbus::Error> for Fault {
    fn from(error: zbus::Error) -> Fault {
        let zbus::Error::MethodError(name, text, _) = &error else {
            return Fault::Lost(error);
        };
        let said = match text {
            Some(text) => format!("{}: {text}", name.as_str()),
            None => name.as_str().to_owned(),
        };
        match name.as_str().rsplit('.').next() {
            Some("UnknownObject" | "ServiceUnknown" | "NameHasNoOwner" | "NoReply" | "Disconnected") => {
                Fault::Gone(said)
            }
            Some("UnknownMethod" | "UnknownInterface" | "UnknownProperty" | "NotSupported") => {
                Fault::Absent(said)
            }
            _ => Fault::Refused(said),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Gone(said) | Fault::Absent(said) | Fault::Refused(said) => f.write_str(said),
            Fault::Lost(error) => error.fmt(f),
        }
    }
}

/// Which toolkit an application is built with, where that changes how it has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolkit {
    /// GTK 4: coordinates from the window's corner, `showing` on windows only, class names for names.
    Gtk4,
    /// Qt: no cache, and no way to tell a missing method from a missing object.
    Qt,
    /// Chromium and Electron: the tree is built only once somebody listens.
    Chromium,
    /// Everything that says the truth: GTK 3, LibreOffice.
    Other,
}

impl Toolkit {
    fn of(name: &str, version: &str) -> Toolkit {
        match name.to_lowercase().as_str() {
            "gtk" if version.starts_with('4') => Toolkit::Gtk4,
            "qt" => Toolkit::Qt,
            "chromium" | "chrome" | "electron" => Toolkit::Chromium,
            _ => Toolkit::Other,
        }
    }
}

/// An application with a tree, and how to speak to it.
#[derive(Debug)]
pub struct App {
    /// Its unique name on the accessibility bus.
    pub bus: Arc<str>,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its toolkit, where that matters.
    pub toolkit: Toolkit,
    /// Its toolkit and version, to be shown.
    pub toolkit_text: String,
    line: zbus::Connection,
    direct: bool,
    broken: AtomicBool,
    /// Whether its tree has been seen filled once.
    pub warm: AtomicBool,
}

impl App {
    /// Whether the line to it is cut, so that it has to be introduced anew.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed) || self.line.is_closed()
    }

    /// Gives up the line: a request may have been left half written on it.
    pub fn hang_up(&self) {
        if self.direct {
            self.broken.store(true, Ordering::Relaxed);
        }
    }

    /// Asks one thing.
    pub async fn ask<B>(&self, path: &str, interface: &str, method: &str, body: &B) -> Reply
    where
        B: serde::Serialize + DynamicType,
    {
        Ok(self.line.call_method(Some(&*self.bus), path, Some(interface), method, body).await?)
    }

    /// Asks for one property.
    pub async fn property(&self, path: &str, interface: &str, name: &str) -> Reply {
        self.ask(path, PROPERTIES, "Get", &(interface, name)).await
    }

    /// Sets one property.
    pub async fn set_property(&self, path: &str, interface: &str, name: &str, value: Value<'_>) -> Reply {
        self.ask(path, PROPERTIES, "Set", &(interface, name, value)).await
    }

    /// Sends `question` for the element at `path`.
    pub async fn put(&self, path: &str, question: Question) -> Reply {
        match question {
            Question::Role => self.ask(path, ACCESSIBLE, "GetRole", &()).await,
            Question::State => self.ask(path, ACCESSIBLE, "GetState", &()).await,
            Question::Interfaces => self.ask(path, ACCESSIBLE, "GetInterfaces", &()).await,
            Question::Name => self.property(path, ACCESSIBLE, "Name").await,
            Question::Description => self.property(path, ACCESSIBLE, "Description").await,
            Question::Identifier => self.property(path, ACCESSIBLE, "AccessibleId").await,
            Question::Parent => self.property(path, ACCESSIBLE, "Parent").await,
            Question::ChildCount => self.property(path, ACCESSIBLE, "ChildCount").await,
            Question::Children => self.ask(path, ACCESSIBLE, "GetChildren", &()).await,
            Question::Child(index) => self.ask(path, ACCESSIBLE, "GetChildAtIndex", &index).await,
            Question::Extents => self.ask(path, COMPONENT, "GetExtents", &SCREEN).await,
            Question::Text(end) => self.ask(path, TEXT, "GetText", &(0i32, end)).await,
            Question::Characters => self.property(path, TEXT, "CharacterCount").await,
            Question::Number => self.property(path, VALUE, "CurrentValue").await,
            Question::Actions => self.ask(path, ACTION, "GetActions", &()).await,
            Question::ActionName(index) => self.ask(path, ACTION, "GetName", &index).await,
            Question::Keys => self.ask(path, ACTION, "GetKeyBinding", &0i32).await,
            Question::Chosen => self.ask(path, SELECTION, "GetSelectedChild", &0i32).await,
        }
    }

    /// Asks everything in `work`, many at a time, and hands every answer to `take`, which may ask more.
    pub async fn pump<T>(
        &self,
        work: &mut VecDeque<(T, Arc<str>, Question)>,
        mut take: impl FnMut(T, Question, Reply, &mut VecDeque<(T, Arc<str>, Question)>),
    ) -> std::result::Result<(), Fault> {
        let mut flying = FuturesUnordered::new();
        loop {
            while flying.len() < IN_FLIGHT
                && let Some((tag, path, question)) = work.pop_front()
            {
                flying.push(async move {
                    let reply = self.put(&path, question).await;
                    (tag, question, reply)
                });
            }
            let Some((tag, question, reply)) = flying.next().await else {
                return Ok(());
            };
            match reply {
                Err(Fault::Lost(error)) => return Err(Fault::Lost(error)),
                reply => take(tag, question, reply, work),
            }
        }
    }
}

/// The interface that every element has.
pub const ACCESSIBLE: &str = "org.a11y.atspi.Accessible";
/// Actions by index.
pub const ACTION: &str = "org.a11y.atspi.Action";
/// A place on the screen.
pub const COMPONENT: &str = "org.a11y.atspi.Component";
/// A text that can be replaced.
pub const EDITABLE_TEXT: &str = "org.a11y.atspi.EditableText";
/// Children of which some are selected.
pub const SELECTION: &str = "org.a11y.atspi.Selection";
/// A text.
pub const TEXT: &str = "org.a11y.atspi.Text";
/// A number.
pub const VALUE: &str = "org.a11y.atspi.Value";
/// Coordinates from the corner of the screen.
pub const SCREEN: u32 = 0;

/// What can be asked of an element without further ado.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Its role's number.
    Role,
    /// Its states.
    State,
    /// Its interfaces.
    Interfaces,
    /// Its name.
    Name,
    /// Its description.
    Description,
    /// The application's own identifier.
    Identifier,
    /// Its parent.
    Parent,
    /// How many children it has.
    ChildCount,
    /// All its children.
    Children,
    /// One of its children.
    Child(i32),
    /// Where it lies.
    Extents,
    /// Its text up to this character.
    Text(i32),
    /// How many characters its text has.
    Characters,
    /// Its number.
    Number,
    /// Its actions.
    Actions,
    /// The untranslated name of one action.
    ActionName(i32),
    /// The keys of its first action.
    Keys,
    /// The first selected child.
    Chosen,
}

/// A reference to an element: the application's bus name and the path.
pub type Ref<'m> = (&'m str, ObjectPath<'m>);

/// Opens the accessibility bus of the session.
pub async fn open(session: &Session, address: &str) -> Result<zbus::Connection> {
    let refused = |error: zbus::Error| {
        Error::backend(format!("The accessibility bus at {address:?} cannot be reached."))
            .because(error)
            .remedy(format!("Is the session {} still running? {REMEDY}", session.display))
    };
    let builder = zbus::connection::Builder::address(address).map_err(refused)?;
    builder.build().await.map_err(refused)
}

/// Where the session's accessibility bus listens: what the display names, else what the session bus says.
pub fn address(call: &Call, session: &Session, link: &Link<Names>) -> Result<String> {
    if let Some(address) = of_display(call, link)? {
        return Ok(address);
    }
    wait(call, "asking the session bus for the accessibility bus", async {
        let bus = session_bus(session).await?;
        let reply = bus
            .call_method(Some("org.a11y.Bus"), "/org/a11y/bus", Some("org.a11y.Bus"), "GetAddress", &())
            .await
            .map_err(no_launcher)?;
        reply.body().deserialize::<String>().map_err(no_launcher)
    })
}

/// The address on the root window, when something listens there.
fn of_display(call: &Call, link: &Link<Names>) -> Result<Option<String>> {
    // The property outlives a launcher that was killed: an address where nobody listens is none.
    Ok(surfaces::bus_address(call, link)?.filter(|address| match address.strip_prefix("unix:path=") {
        Some(rest) => {
            let path = rest.split(',').next().unwrap_or(rest);
            std::os::unix::net::UnixStream::connect(path).is_ok()
        }
        None => true,
    }))
}

/// A connection to the session bus.
pub async fn session_bus(session: &Session) -> Result<zbus::Connection> {
    let missing = |error: zbus::Error| {
        Error::backend("The session bus cannot be reached.").because(error).remedy(
            "Run inside the desktop session, set DBUS_SESSION_BUS_ADDRESS to its bus, or start Deskhand with --virtual.",
        )
    };
    let builder = match &session.bus {
        Some(address) => zbus::connection::Builder::address(address.as_str()),
        None => zbus::connection::Builder::session(),
    };
    builder.map_err(missing)?.build().await.map_err(missing)
}

fn no_launcher(error: zbus::Error) -> Error {
    Error::backend("The session bus starts no accessibility service (org.a11y.Bus).")
        .because(error)
        .remedy("Install the package at-spi2-core, then run `deskhand doctor --fix`.")
}

/// Whether accessibility is on in the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessibilityStatus {
    /// `org.a11y.Status` says that it is on.
    pub enabled: bool,
    /// A screen reader is announced, which has the same effect.
    pub screen_reader: bool,
}

/// Asks the session whether accessibility is on.
pub fn status(call: &Call, session: &Session) -> Result<AccessibilityStatus> {
    wait(call, "asking whether accessibility is on", async {
        let bus = session_bus(session).await?;
        let ask = async |name: &str| {
            let reply = bus
                .call_method(
                    Some("org.a11y.Bus"),
                    "/org/a11y/bus",
                    Some(PROPERTIES),
                    "Get",
                    &("org.a11y.Status", name),
                )
                .await
                .map_err(no_launcher)?;
            let body = reply.body();
            let value: Value<'_> = body.deserialize().map_err(no_launcher)?;
            Ok::<bool, Error>(matches!(value, Value::Bool(true)))
        };
        Ok(AccessibilityStatus {
            enabled: ask("IsEnabled").await?,
            screen_reader: ask("ScreenReaderEnabled").await?,
        })
    })
}

/// Switches accessibility on in the session, and starts its registry. Applications that run already may have
/// to be started again. Qt 5 never registers when it is started before the registry.
pub fn enable(call: &Call, session: &Session, link: &Link<Names>) -> Result<()> {
    wait(call, "switching accessibility on", async {
        let bus = session_bus(session).await?;
        bus.call_method(
            Some("org.a11y.Bus"),
            "/org/a11y/bus",
            Some(PROPERTIES),
            "Set",
            &("org.a11y.Status", "IsEnabled", Value::Bool(true)),
        )
        .await
        .map_err(no_launcher)?;
        Ok(())
    })?;
    let address = address(call, session, link)?;
    wait(call, "starting the registry of accessible applications", async {
        registered(&open(session, &address).await?).await.map(drop)
    })
}

/// Refuses to go on where accessibility is off: trees would be missing or half empty without a word.
pub fn require_enabled(call: &Call, session: &Session) -> Result<()> {
    let status = status(call, session)?;
    if status.enabled || status.screen_reader {
        return Ok(());
    }
    Err(Error::new(Code::PermissionDenied, "Accessibility is switched off in this session.")
        .expected("org.a11y.Status IsEnabled = true")
        .found(["IsEnabled = false"])
        .remedy(REMEDY))
}

/// The applications that the registry knows, by bus name.
pub async fn registered(bus: &zbus::Connection) -> Result<Vec<Arc<str>>> {
    let failed = |error: zbus::Error| {
        Error::backend("The registry of accessible applications does not answer.")
            .because(error)
            .remedy("Is at-spi2-registryd installed (package at-spi2-core)? The next call asks again.")
    };
    let reply =
        bus.call_method(Some(REGISTRY), ROOT, Some(ACCESSIBLE), "GetChildren", &()).await.map_err(failed)?;
    let body = reply.body();
    let children: Vec<Ref<'_>> = body.deserialize().map_err(failed)?;
    let mut names: Vec<Arc<str>> = Vec::with_capacity(children.len());
    for (name, _) in children {
        // An application may register twice.
        if !name.is_empty() && !names.iter().any(|known| **known == *name) {
            names.push(name.into());
        }
    }
    Ok(names)
}

/// The bus names of a process that the registry does not know: of a Qt application that was started before
/// the registry.
pub async fn unregistered(bus: &zbus::Connection, pid: u32) -> Result<Vec<Arc<str>>> {
    let failed = |error: zbus::Error| {
        Error::backend("The accessibility bus does not tell who is on it.").because(error)
    };
    let path = "/org/freedesktop/DBus";
    let daemon = "org.freedesktop.DBus";
    let reply = bus.call_method(Some(daemon), path, Some(daemon), "ListNames", &()).await.map_err(failed)?;
    let body = reply.body();
    let names: Vec<&str> = body.deserialize().map_err(failed)?;
    let names: Vec<&str> = names.into_iter().filter(|name| name.starts_with(':')).collect();
    let pids = futures_util::future::join_all(names.iter().map(|name| process(bus, name))).await;
    let own =
        names.into_iter().zip(pids).filter(|(_, owner)| owner.as_ref().is_ok_and(|owner| *owner == pid));
    Ok(own.map(|(name, _)| name.into()).collect())
}

/// The process behind a bus name. The bus itself answers, also for an application that hangs.
pub async fn process(bus: &zbus::Connection, name: &str) -> std::result::Result<u32, Fault> {
    let reply = bus
        .call_method(
            Some("org.freedesktop.DBus"),
            "/org/freedesktop/DBus",
            Some("org.freedesktop.DBus"),
            "GetConnectionUnixProcessID",
            &name,
        )
        .await?;
    Ok(reply.body().deserialize()?)
}

/// What the kernel calls a process, for applications that do not say who they are.
pub fn command(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { format!("process {pid}") } else { name.to_owned() }
}

/// Gets to know an application: who it is, and the best line to it.
pub async fn introduce(bus: &zbus::Connection, name: &Arc<str>, pid: u32) -> std::result::Result<App, Fault> {
    let app = App {
        bus: name.clone(),
        pid,
        name: String::new(),
        toolkit: Toolkit::Other,
        toolkit_text: String::new(),
        line: bus.clone(),
        direct: false,
        broken: AtomicBool::new(false),
        warm: AtomicBool::new(false),
    };
    let application = "org.a11y.atspi.Application";
    let (title, toolkit, version, address) = futures_util::future::join4(
        app.property(ROOT, ACCESSIBLE, "Name"),
        app.property(ROOT, application, "ToolkitName"),
        app.property(ROOT, application, "Version"),
        app.ask(ROOT, application, "GetApplicationBusAddress", &()),
    )
    .await;
    let title = match title {
        Ok(reply) => text(&reply),
        Err(Fault::Gone(said)) => return Err(Fault::Gone(said)),
        Err(_) => String::new(),
    };
    let toolkit = toolkit.map(|reply| text(&reply)).unwrap_or_default();
    let version = version.map(|reply| text(&reply)).unwrap_or_default();
    // Most toolkits offer no connection of their own; that is no fault.
    let address = match &address {
        Ok(reply) => reply.body().deserialize::<String>().unwrap_or_default(),
        Err(_) => String::new(),
    };
    let own = if address.is_empty() { None } else { peer(&address).await };
    Ok(App {
        name: if title.is_empty() { command(pid) } else { title },
        toolkit: Toolkit::of(&toolkit, &version),
        toolkit_text: format!("{toolkit} {version}").trim().to_owned(),
        direct: own.is_some(),
        line: own.unwrap_or_else(|| bus.clone()),
        ..app
    })
}

/// A line of our own to an application, when its address can be reached from here (a sandbox may hide it).
async fn peer(address: &str) -> Option<zbus::Connection> {
    zbus::connection::Builder::address(address).ok()?.p2p().build().await.ok()
}

/// The text in a property's answer.
pub fn text(reply: &Message) -> String {
    match reply.body().deserialize::<Value<'_>>() {
        Ok(Value::Str(text)) => text.as_str().to_owned(),
        _ => String::new(),
    }
}

/// The number in a property's answer.
pub fn number(reply: &Message) -> Option<f64> {
    match reply.body().deserialize::<Value<'_>>().ok()? {
        Value::F64(number) => Some(number),
        Value::I32(number) => Some(f64::from(number)),
        Value::U32(number) => Some(f64::from(number)),
        _ => None,
    }
}

/// Whether a role's number means a top-level window.
pub fn is_top_level(role: u32) -> bool {
    matches!(
        Spi::try_from(role),
        Ok(Spi::Frame | Spi::Dialog | Spi::Window | Spi::Alert | Spi::FileChooser | Spi::ColorChooser)
    )
}
