//! Changes as applications tell them, and where the keyboard focus is.
//!
//! One connection and one thread listen for everybody. The thread sleeps in the socket: it uses no time
//! while nothing happens. Only focus and windows are listened for until somebody watches; the flood of
//! object events is asked for by the first watch and called off again when nobody has watched for a while.

use super::Live;
use super::bus::{self, Ref};
use super::roles;
use deskhand_core::element::{ElementId, Role};
use deskhand_core::watch::{Bell, Change, Kind, Watch};
use deskhand_core::{Call, Error, Result};
use futures_util::stream::StreamExt;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};
use zbus::message::{Flags, Type};
use zbus::zvariant::Value;
use zbus::{Message, MessageStream};

/// How many changes wait for a slow reader before the oldest go.
const RING: usize = 1024;

/// How long after the last watch the object events are still listened for: a click is often followed by
/// another, and applications need a moment to begin telling.
const LINGER: Duration = Duration::from_secs(30);

const BUS: &str = "org.freedesktop.DBus";

/// What is listened for from the start. Chromium builds its tree only once somebody listens.
const BASE: [(&str, &str); 3] = [
    (
        "object:state-changed:focused",
        "type='signal',interface='org.a11y.atspi.Event.Object',member='StateChanged',arg0='focused'",
    ),
    ("window:", "type='signal',interface='org.a11y.atspi.Event.Window'"),
    ("focus:", "type='signal',interface='org.a11y.atspi.Event.Focus'"),
];

/// What is listened for while somebody watches.
const FULL: (&str, &str) = ("object:", "type='signal',interface='org.a11y.atspi.Event.Object'");

/// An element, as signals name it.
type Place = (Arc<str>, Arc<str>);

/// The listening end.
#[derive(Debug)]
pub struct Events {
    line: zbus::Connection,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    focus: Option<Place>,
    rings: Vec<Weak<Ring>>,
    pids: HashMap<Arc<str>, u32>,
    gone: Vec<Arc<str>>,
    closed: bool,
    /// When somebody last watched, while the object events are asked for.
    full: Option<Instant>,
}

#[derive(Debug, Default)]
struct Ring {
    queue: Mutex<Queue>,
    came: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    changes: VecDeque<Change>,
    closed: bool,
    /// Whom to wake who does not wait here.
    bell: Option<Bell>,
    /// Only changes in these processes, or all when there are none.
    pids: Vec<u32>,
}

impl Queue {
    fn ring(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }
}

impl Events {
    /// Listens on a connection of its own; asks `bus` for the processes behind names.
    pub async fn listen(line: zbus::Connection, bus: zbus::Connection) -> Result<Arc<Events>> {
        let stream = MessageStream::from(&line);
        let events = Arc::new(Events { line, heard: Mutex::new(Heard::default()) });
        let hearing = Arc::downgrade(&events);
        std::thread::Builder::new()
            .name("atspi events".to_owned())
            .spawn(move || async_io::block_on(hear(stream, &hearing, &bus)))
            .map_err(|error| {
                Error::backend("The thread that listens for changes cannot be started.").because(error)
            })?;
        let names = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'";
        events.add_match(names).await?;
        for (event, rule) in BASE {
            events.add_match(rule).await?;
            events.register(event).await?;
        }
        Ok(events)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether the accessibility bus has gone.
    pub fn is_closed(&self) -> bool {
        self.heard().closed || self.line.is_closed()
    }

    /// The element that last said that it has the focus.
    pub fn focus(&self) -> Option<(Arc<str>, Arc<str>)> {
        self.heard().focus.clone()
    }

    /// The names that have left the bus since this was last asked.
    pub fn gone(&self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.heard().gone)
    }

    /// Tells which process is behind a name.
    pub fn know(&self, name: &Arc<str>, pid: u32) {
        self.heard().pids.insert(name.clone(), pid);
    }

    async fn add_match(&self, rule: &str) -> Result<()> {
        let path = "/org/freedesktop/DBus";
        self.line.call_method(Some(BUS), path, Some(BUS), "AddMatch", &rule).await.map_err(deaf)?;
        Ok(())
    }

    async fn register(&self, event: &str) -> Result<()> {
        let path = "/org/a11y/atspi/registry";
        self.line
            .call_method(Some(bus::REGISTRY), path, Some(bus::REGISTRY), "RegisterEvent", &event)
            .await
            .map_err(deaf)?;
        Ok(())
    }

    /// Asks for the object events, if they are not asked for yet. Says whether they were not.
    async fn ask_for_all(&self) -> Result<bool> {
        let first = self.heard().full.replace(Instant::now()).is_none();
        if first {
            let asked = async {
                self.add_match(FULL.1).await?;
                self.register(FULL.0).await
            };
            if let Err(error) = asked.await {
                self.heard().full = None;
                return Err(error);
            }
        }
        Ok(first)
    }

    /// Calls the object events off. Nobody waits for the answers: this runs in the listening thread.
    async fn call_off(&self) -> zbus::Result<()> {
        let rule = Message::method_call("/org/freedesktop/DBus", "RemoveMatch")?
            .destination(BUS)?
            .interface(BUS)?
            .with_flags(Flags::NoReplyExpected)?
            .build(&FULL.1)?;
        let event = Message::method_call("/org/a11y/atspi/registry", "DeregisterEvent")?
            .destination(bus::REGISTRY)?
            .interface(bus::REGISTRY)?
            .with_flags(Flags::NoReplyExpected)?
            .build(&FULL.0)?;
        self.line.send(&rule).await?;
        self.line.send(&event).await
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        // The listening thread ends with the connection, and holds it until then.
        let line = self.line.clone();
        let closing = async_io::block_on(bus::within(Duration::from_millis(200), line.close()));
        // Whether it could be closed in good order changes nothing for anybody.
        drop(closing);
    }
}

fn deaf(error: zbus::Error) -> Error {
    Error::backend("The registry of accessible applications takes no listeners.")
        .because(error)
        .remedy("Is at-spi2-registryd installed (package at-spi2-core)? The next call asks again.")
}

async fn hear(mut stream: MessageStream, events: &Weak<Events>, bus: &zbus::Connection) {
    while let Some(Ok(message)) = stream.next().await {
        if message.message_type() != Type::Signal {
            continue;
        }
        let Some(events) = events.upgrade() else { return };
        take(&events, bus, &message).await;
    }
    if let Some(events) = events.upgrade() {
        let mut heard = events.heard();
        heard.closed = true;
        for ring in heard.rings.iter().filter_map(Weak::upgrade) {
            ring.close();
        }
    }
}

async fn take(events: &Arc<Events>, bus: &zbus::Connection, message: &Message) {
    let header = message.header();
    let (Some(interface), Some(member), Some(path), Some(sender)) =
        (header.interface(), header.member(), header.path(), header.sender())
    else {
        return;
    };
    if interface.as_str() == BUS {
        if let Ok((name, _, new)) = message.body().deserialize::<(&str, &str, &str)>()
            && new.is_empty()
        {
            let mut heard = events.heard();
            heard.pids.remove(name);
            heard.gone.push(name.into());
            if heard.focus.as_ref().is_some_and(|(bus, _)| **bus == *name) {
                heard.focus = None;
            }
        }
        return;
    }
    let Some(event) = Event::of(message, interface.as_str(), member.as_str()) else { return };
    let place: Place = (sender.as_str().into(), path.as_str().into());
    let mut idle = false;
    let known = {
        let mut heard = events.heard();
        if event.kind == Kind::Focused && event.on {
            heard.focus = Some(place.clone());
        }
        heard.rings.retain(|ring| 0 < ring.strong_count());
        if heard.rings.is_empty() {
            idle = heard.full.is_some_and(|last| LINGER < last.elapsed());
            if idle {
                heard.full = None;
            }
            None
        } else {
            Some(heard.pids.get(&place.0).copied())
        }
    };
    if idle && events.call_off().await.is_err() {
        // The connection is gone: the stream says so next.
        return;
    }
    let Some(pid) = known else { return };
    let pid = match pid {
        Some(pid) => pid,
        None => match bus::within(Duration::from_millis(500), bus::process(bus, &place.0)).await {
            Some(Ok(pid)) => {
                events.know(&place.0, pid);
                pid
            }
            // It left before it could be asked.
            Some(Err(_)) | None => return,
        },
    };
    let change = Change {
        kind: event.kind,
        element: ElementId(format!("{pid} {} {}", place.0, place.1).into()),
        pid: Some(pid),
        detail: event.detail,
        on: event.on,
        text: event.text,
    };
    let rings: Vec<Arc<Ring>> = events.heard().rings.iter().filter_map(Weak::upgrade).collect();
    for ring in rings {
        ring.push(&change);
    }
}

/// A signal in our words.
struct Event {
    kind: Kind,
    detail: String,
    on: bool,
    text: Option<String>,
}

impl Event {
    fn of(message: &Message, interface: &str, member: &str) -> Option<Event> {
        let body = message.body();
        // The fifth argument is a dictionary or, of Qt 5, a reference: nobody needs it.
        let old: Result<(&str, i32, i32, Value<'_>, Ref<'_>), _> = body.deserialize();
        let (detail, first, any) = match old {
            Ok((detail, first, _, any, _)) => (detail, first, any),
            Err(_) => {
                type New<'m> = (&'m str, i32, i32, Value<'m>, HashMap<&'m str, Value<'m>>);
                let (detail, first, _, any, _) = body.deserialize::<New<'_>>().ok()?;
                (detail, first, any)
            }
        };
        let text = match &any {
            Value::Str(text) if !text.is_empty() => Some(text.as_str().to_owned()),
            Value::F64(number) => Some(number.to_string()),
            _ => None,
        };
        let plain =
            |kind, detail: &str| Event { kind, detail: detail.to_owned(), on: first != 0, text: None };
        let event = match interface.rsplit('.').next()? {
            "Window" => {
                let off = ["Deactivate", "Destroy", "Close", "Minimize"].contains(&member);
                Event { on: !off, ..plain(Kind::Window, &member.to_lowercase()) }
            }
            "Focus" => Event { on: true, ..plain(Kind::Focused, "") },
            "Object" => match member {
                "StateChanged" if detail == "focused" && first != 0 => plain(Kind::Focused, detail),
                "StateChanged" => plain(Kind::State, roles::state_word(detail)),
                "TextChanged" => {
                    let what = detail.split(':').next().unwrap_or(detail);
                    Event { on: what == "insert", text, ..plain(Kind::Text, what) }
                }
                "TextCaretMoved" | "TextSelectionChanged" => plain(Kind::Caret, member),
                "PropertyChange" if detail == "accessible-value" => {
                    Event { text, ..plain(Kind::Value, detail) }
                }
                "PropertyChange" => Event { text, ..plain(Kind::Property, detail) },
                "ValueChanged" => plain(Kind::Value, detail),
                "ChildrenChanged" => Event { on: detail.starts_with("add"), ..plain(Kind::Children, detail) },
                "SelectionChanged" | "ActiveDescendantChanged" => plain(Kind::Selection, member),
                "BoundsChanged" => plain(Kind::Bounds, ""),
                other => plain(Kind::Property, other),
            },
            _ => return None,
        };
        Some(event)
    }
}

impl Ring {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn push(&self, change: &Change) {
        let mut queue = self.queue();
        if !queue.pids.is_empty() && change.pid.is_none_or(|pid| !queue.pids.contains(&pid)) {
            return;
        }
        if RING <= queue.changes.len() {
            queue.changes.pop_front();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        queue.changes.push_back(change.clone());
        queue.ring();
        self.came.notify_all();
    }

    fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.ring();
        self.came.notify_all();
    }
}

fn lost() -> Error {
    Error::backend("The accessibility bus has gone, and the changes with it.")
        .remedy("The next call connects again, as soon as it is back.")
}

/// A place in the stream of changes.
pub struct AtspiWatch {
    ring: Arc<Ring>,
    live: Arc<Live>,
    secret: HashMap<ElementId, bool>,
}

impl AtspiWatch {
    /// A watch from now on.
    pub fn open(call: &Call, live: &Arc<Live>) -> Result<AtspiWatch> {
        let ring = Arc::new(Ring::default());
        live.events.heard().rings.push(Arc::downgrade(&ring));
        bus::wait(call, "asking applications to tell their changes", async {
            if live.events.ask_for_all().await? {
                live.let_them_hear().await?;
            }
            Ok(())
        })?;
        Ok(AtspiWatch { ring, live: live.clone(), secret: HashMap::new() })
    }

    fn pop(&self, call: &Call, until: Instant) -> Result<Option<Change>> {
        let mut queue = self.ring.queue();
        loop {
            if let Some(change) = queue.changes.pop_front() {
                return Ok(Some(change));
            }
            if queue.closed {
                return Err(lost());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            call.check("waiting for a change")?;
            // Cancellation does not wake this wait: it is looked at now and then.
            let nap = left.min(call.remaining()).min(Duration::from_millis(50));
            let woken = self.ring.came.wait_timeout(queue, nap);
            queue = woken.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    /// Whether the text of this element must not be told: it is a password field, or nobody knows.
    fn is_secret(&mut self, call: &Call, id: &ElementId) -> bool {
        if let Some(secret) = self.secret.get(id) {
            return *secret;
        }
        let call = call.within(Duration::from_millis(300));
        let secret = match self.live.role(&call, id) {
            Ok(role) => role == Role::PasswordField,
            Err(_) => return true,
        };
        self.secret.insert(id.clone(), secret);
        secret
    }
}

impl Watch for AtspiWatch {
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<Change>> {
        let mut change = self.pop(call, until)?;
        if let Some(change) = &mut change
            && change.text.is_some()
            && self.is_secret(call, &change.element)
        {
            change.text = None;
        }
        Ok(change)
    }

    fn dropped(&self) -> u64 {
        self.ring.dropped.load(Ordering::Relaxed)
    }

    fn listen(&mut self, bell: &Bell, pids: &[u32]) {
        let mut queue = self.ring.queue();
        queue.bell = Some(bell.clone());
        queue.pids = pids.to_vec();
        queue.changes.retain(|change| pids.is_empty() || change.pid.is_some_and(|pid| pids.contains(&pid)));
        // What came before is heard, too.
        queue.ring();
    }

    fn drain(&mut self) -> Result<Vec<Change>> {
        let mut queue = self.ring.queue();
        if queue.closed && queue.changes.is_empty() {
            return Err(lost());
        }
        Ok(queue.changes.drain(..).map(|change| Change { text: None, ..change }).collect())
    }
}

impl Drop for AtspiWatch {
    fn drop(&mut self) {
        let mut heard = self.live.events.heard();
        if heard.full.is_some() {
            heard.full = Some(Instant::now());
        }
    }
}
