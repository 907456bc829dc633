//! Accessibility elements over AT-SPI (D-Bus).
//!
//! `bus` finds and calls applications, `tree` and `cache` read them, `elements` acts on them, `watch` listens,
//! `roles` and `extents` translate, `surfaces` sees what is mapped. Nothing here knows how windows are found: whoever builds an [`Atspi`] hands in
//! the window list, which is needed to put coordinates right and to say which window an element is in.

pub mod bus;
mod cache;
mod elements;
pub mod extents;
pub mod menus;
pub mod roles;
mod surfaces;
mod tree;
pub mod watch;

pub use bus::AccessibilityStatus;

use crate::x11::link::Link;
use bus::{App, Fault, wait, within};
use deskhand_core::element::{ElementId, Role};
use deskhand_core::window::Window;
use deskhand_core::{Call, Code, Error, Result};
use extents::Scene;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// The session whose applications are read.
#[derive(Clone, Debug)]
pub struct Session {
    /// The X display, as DISPLAY names it: its root window says where the accessibility bus is.
    pub display: String,
    /// The address of the session bus; the environment's when absent.
    pub bus: Option<String>,
}

/// The windows of the desktop, the topmost first.
pub type WindowList = Box<dyn Fn(&Call) -> Result<Vec<Window>> + Send + Sync>;

/// Reads and works elements over AT-SPI. Connects when first used, and again when the bus was lost.
///
/// Clones share everything.
#[derive(Clone)]
pub struct Atspi(Arc<Parts>);

/// What clones of an [`Atspi`] share.
pub struct Parts {
    session: Session,
    windows: WindowList,
    link: Link<surfaces::Names>,
    live: Mutex<Option<Arc<Live>>>,
}

impl std::ops::Deref for Atspi {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// A connection to the accessibility bus, and what is known as long as it lasts.
#[derive(Debug)]
pub struct Live {
    bus: zbus::Connection,
    events: Arc<watch::Events>,
    apps: Mutex<HashMap<Arc<str>, Arc<App>>>,
}

impl Atspi {
    /// Elements of this session. Nothing is connected yet.
    pub fn new(session: Session, windows: WindowList) -> Atspi {
        let link = surfaces::link(&session.display);
        Atspi(Arc::new(Parts { session, windows, link, live: Mutex::new(None) }))
    }

    /// Whether accessibility is on in the session.
    pub fn status(&self, call: &Call) -> Result<AccessibilityStatus> {
        bus::status(call, &self.session)
    }

    /// Switches accessibility on in the session; for `doctor --fix`.
    pub fn enable(&self, call: &Call) -> Result<()> {
        bus::enable(call, &self.session, &self.link)
    }

    /// The windows, and what else is mapped.
    fn scene(&self, call: &Call) -> Result<Scene> {
        Ok(Scene { windows: (self.windows)(call)?, surfaces: surfaces::mapped(call, &self.link)? })
    }

    fn live(&self, call: &Call) -> Result<Arc<Live>> {
        let mut guard = call.until("waiting for the accessibility bus", || match self.live.try_lock() {
            Ok(guard) => Ok(Some(guard)),
            Err(TryLockError::Poisoned(poisoned)) => Ok(Some(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => Ok(None),
        })?;
        if let Some(live) = guard.as_ref().filter(|live| !live.events.is_closed()) {
            return Ok(live.clone());
        }
        *guard = None;
        bus::require_enabled(call, &self.session)?;
        let address = bus::address(call, &self.session, &self.link)?;
        let live = wait(call, "connecting to the accessibility bus", async {
            let bus = bus::open(&self.session, &address).await?;
            let line = bus::open(&self.session, &address).await?;
            let events = watch::Events::listen(line, bus.clone()).await?;
            Ok(Arc::new(Live { bus, events, apps: Mutex::default() }))
        })?;
        Ok(guard.insert(live).clone())
    }
}

impl Live {
    fn known(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<App>>> {
        let mut apps = self.apps.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for name in self.events.gone() {
            apps.remove(&name);
        }
        apps
    }

    /// The application behind a bus name, introduced if it is new.
    async fn app(&self, name: &Arc<str>) -> std::result::Result<Arc<App>, Fault> {
        let known = self.known().get(name).filter(|app| !app.is_broken()).cloned();
        if let Some(app) = known {
            return Ok(app);
        }
        let pid = bus::process(&self.bus, name).await?;
        self.events.know(name, pid);
        let app = Arc::new(bus::introduce(&self.bus, name, pid).await?);
        // An application that is still starting does not know its toolkit yet: it is asked again next time.
        if !app.toolkit_text.is_empty() {
            self.known().insert(name.clone(), app.clone());
        }
        Ok(app)
    }

    /// The process behind a bus name, without asking the application.
    async fn pid(&self, name: &Arc<str>) -> std::result::Result<u32, Fault> {
        let known = self.known().get(name).map(|app| app.pid);
        match known {
            Some(pid) => Ok(pid),
            None => bus::process(&self.bus, name).await,
        }
    }

    /// The application and the path behind an id; `element_stale` when that application has gone.
    async fn find(&self, id: &ElementId) -> Result<(Arc<App>, Arc<str>)> {
        let (pid, name, path) = parts(id)?;
        let app = self.app(&name).await.map_err(|fault| failed(fault, id))?;
        if app.pid != pid {
            return Err(stale(id, "its application was started anew"));
        }
        Ok((app, path))
    }

    fn role(&self, call: &Call, id: &ElementId) -> Result<Role> {
        wait(call, "asking for a role", async {
            let (app, path) = self.find(id).await?;
            let mut raw = tree::Raw::at(path.clone());
            raw.learn(bus::Question::State, app.put(&path, bus::Question::State).await);
            raw.learn(bus::Question::Role, app.put(&path, bus::Question::Role).await);
            raw.learn(bus::Question::Name, app.put(&path, bus::Question::Name).await);
            if raw.is_gone() { Err(stale(id, "it is gone")) } else { Ok(raw.role()) }
        })
    }

    /// Gives every application the time to notice that somebody listens: what it is asked through the bus
    /// comes after the registry's word to it.
    async fn let_them_hear(&self) -> Result<()> {
        let names = bus::registered(&self.bus).await?;
        let greetings = names.iter().map(|name| async move {
            let (path, interface) = (bus::ROOT, bus::ACCESSIBLE);
            let greeting = self.bus.call_method(Some(&**name), path, Some(interface), "GetRole", &());
            within(Duration::from_millis(150), greeting).await
        });
        // Who does not answer in time is told late; nothing else follows from it.
        drop(futures_util::future::join_all(greetings).await);
        Ok(())
    }
}

/// The process, bus name and path in an id.
fn parts(id: &ElementId) -> Result<(u32, Arc<str>, Arc<str>)> {
    let mut parts = id.0.splitn(3, ' ');
    let parsed = (|| {
        let pid = parts.next()?.parse().ok()?;
        let name = parts.next().filter(|name| name.starts_with(':'))?;
        let path = parts.next().filter(|path| path.starts_with('/'))?;
        Some((pid, name.into(), path.into()))
    })();
    parsed.ok_or_else(|| Error::argument(format!("{:?} is no id of an element of AT-SPI.", &*id.0)))
}

fn stale(id: &ElementId, why: &str) -> Error {
    Error::new(Code::ElementStale, format!("The element is not there any more: {why}."))
        .found([id.0.to_string()])
        .remedy("Read the elements again and use the new ref.")
}

/// What a fault means for somebody who asked about one element.
fn failed(fault: Fault, id: &ElementId) -> Error {
    match fault {
        Fault::Gone(said) => stale(id, "its application has closed it or has ended").os(said),
        Fault::Lost(error) => stale(id, "the connection to its application has ended").because(error),
        Fault::Absent(said) => {
            Error::unsupported("The application does not offer this for the element.").os(said)
        }
        Fault::Refused(said) => Error::backend("The application refused the request.").os(said),
    }
}
