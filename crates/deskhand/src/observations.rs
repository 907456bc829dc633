//! Observations: what has changed since somebody asked to be told, kept until it is read.
//!
//! Each observation has a thread, which sleeps on a bell: what applications and the X server tell says what
//! to read again, and the difference to what was read before are its events. It acts on nothing, activates
//! nothing, and nothing wakes it while nothing happens. Where one application hangs, only what watches it
//! waits.
//!
//! Everything is bounded: the events that are kept, the elements that are compared, the texts in an event,
//! the observations of a client. An element that changes all the time is read at most every [`SPACING`];
//! an event says for how many changes it stands.

mod applications;
mod elements;
mod windows;

pub use applications::Applications;
pub use elements::{Attributes, Elements, Scope};
pub use windows::{Aspect as WindowAspect, Windows, Within};

use crate::call::Client;
use crate::log;
use deskhand_core::call::Cancellation;
use deskhand_core::element::{Role, State};
use deskhand_core::lane::ClientId;
use deskhand_core::watch::Bell;
use deskhand_core::{Call, Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

/// How many events an observation keeps; the oldest go first, and are counted.
pub const MOST_EVENTS: usize = 1000;

/// How many observations one owner has at a time, those that have ended included.
pub const MOST_OBSERVATIONS: usize = 16;

/// How many elements one observation compares.
pub const MOST_ELEMENTS: usize = 5000;

/// How many characters of an old or new text an event tells: those around the difference.
pub const LONGEST_TEXT: usize = 500;

/// How soon the same thing is looked at again: what changes more often is told together.
pub const SPACING: Duration = Duration::from_millis(50);

/// How long an application may take to answer one look.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whose an observation is: it ends with its owner, and nobody else sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A connection, the command line, or a session of theirs, by the number that none of them shares.
    Client(ClientId),
}

/// What is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Elements that come, go and change.
    Element,
    /// Windows that open, close, move and change.
    Window,
    /// Applications that start, quit and become active.
    Application,
    /// What elements hold and are called, and their states.
    Attribute,
    /// Elements that come and go.
    Tree,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// An element is there that was not.
    ElementAdded,
    /// An element is gone.
    ElementRemoved,
    /// What it holds changed.
    ValueChanged,
    /// What it is called changed.
    NameChanged,
    /// What else its application says of it changed.
    DescriptionChanged,
    /// A state went on or off.
    StateChanged,
    /// It moved, or its size changed.
    BoundsChanged,
    /// A window opened.
    WindowOpened,
    /// A window closed.
    WindowClosed,
    /// It moved.
    WindowMoved,
    /// Its size changed.
    WindowResized,
    /// Its title changed.
    WindowTitleChanged,
    /// It was minimized, maximized, restored.
    WindowStateChanged,
    /// It got or lost the keyboard.
    WindowFocusChanged,
    /// An application showed its first window.
    ApplicationStarted,
    /// An application has ended.
    ApplicationQuit,
    /// Another application has the keyboard.
    ApplicationActivated,
    /// An application does not answer: what changed is told when it does.
    NotResponding,
    /// It answers again.
    Responding,
    /// The observation has ended by itself: nothing comes after it.
    Ended,
}

/// One thing that happened. Absent fields do not apply.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Event {
    /// Its number within the observation, from 1 on. Gaps are events that were dropped.
    pub sequence: u64,
    /// When, as RFC 3339.
    pub time: String,
    /// What happened.
    pub kind: EventKind,
    /// To what: ref, role and name, or the window's id and title.
    pub what: String,
    /// The element's ref.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// The window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Which state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<State>,
    /// What it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// The values are those of a password and not told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// For how many changes of the application it stands, when there were several in quick succession.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<u32>,
    /// How many elements below it came or went with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<usize>,
    /// Why the observation ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Event {
    fn new(kind: EventKind, what: String) -> Event {
        Event {
            sequence: 0,
            time: String::new(),
            kind,
            what,
            element: None,
            window: None,
            pid: None,
            attribute: None,
            old: None,
            new: None,
            masked: false,
            changes: None,
            below: None,
            reason: None,
        }
    }

    /// What was and what is, cut around the difference.
    fn with_values(self, old: Option<&str>, new: Option<&str>) -> Event {
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => {
                let (old, new) = around_difference(old, new);
                (Some(old), Some(new))
            }
            (old, new) => (old.map(|text| window_of(text, 0)), new.map(|text| window_of(text, 0))),
        };
        Event { old, new, ..self }
    }

    /// In one line, for a progress notification.
    pub fn line(&self) -> String {
        let kind = serde_json::to_value(self.kind).ok();
        let mut line =
            format!("{} {}", kind.as_ref().and_then(|k| k.as_str()).unwrap_or_default(), self.what);
        if let Some(attribute) = self.attribute {
            line.push_str(&format!(" {attribute}"));
        }
        let short = super::tools::evidence::short;
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => line.push_str(&format!(": {} → {}", short(old), short(new))),
            (None, Some(new)) => line.push_str(&format!(": {}", short(new))),
            (Some(_), None) | (None, None) => {}
        }
        line
    }
}

/// Two texts of which at most [`LONGEST_TEXT`] characters are kept: from shortly before they differ.
fn around_difference(old: &str, new: &str) -> (String, String) {
    let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    let longest = old.chars().count().max(new.chars().count());
    let start = if longest <= LONGEST_TEXT { 0 } else { same.saturating_sub(40) };
    (window_of(old, start), window_of(new, start))
}

fn window_of(text: &str, start: usize) -> String {
    let mut rest = text.chars().skip(start);
    let mut part: String = rest.by_ref().take(LONGEST_TEXT).collect();
    if rest.next().is_some() {
        part.push('…');
    }
    if 0 < start { format!("…{part}") } else { part }
}

/// How changes are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// The source tells them.
    Events,
    /// The source does not tell some of them, and is looked at now and then.
    Polling,
}

/// What an observation was asked to do, for whoever lists it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it observes.
    pub subject: Subject,
    /// Of what: an element, a window, an application, everything.
    pub target: String,
    /// The windows, processes or the element, as a caller names them in `parent`.
    pub parents: Vec<String>,
    /// Only these roles.
    pub roles: Vec<Role>,
    /// Only these attributes.
    pub attributes: Vec<&'static str>,
    /// Only what shows.
    pub visible_only: bool,
    /// What its source does not tell.
    pub polled: Vec<&'static str>,
    /// How often that is looked for.
    pub poll: Option<Duration>,
    /// Parameters that have no effect on its subject.
    pub ignored: Vec<&'static str>,
}

/// The observations of every owner.
#[derive(Default)]
pub struct Observations(Mutex<Store>);

#[derive(Default)]
struct Store {
    last: u64,
    all: BTreeMap<u64, Arc<Observation>>,
}

/// One observation.
pub struct Observation {
    /// What it was asked to do.
    pub plan: Plan,
    /// When it began.
    pub created: SystemTime,
    number: u64,
    owner: Owner,
    kept: Mutex<Kept>,
    bell: Bell,
    stop: Cancellation,
    /// Who is told of new events, if it has subscribed.
    client: Weak<Client>,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<Event>,
    last: u64,
    dropped: u64,
    ended: Option<String>,
    size: Size,
    subscribed: bool,
    listeners: Vec<(Weak<()>, Bell)>,
}

/// How much an observation compares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Size {
    /// Elements, windows or applications.
    pub watched: usize,
    /// Not all that there is: some are not watched.
    pub cut: bool,
    /// An application that does not answer.
    pub silent: bool,
}

/// What an observation is at the moment.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The number of the newest event.
    pub last: u64,
    /// How many are kept.
    pub kept: usize,
    /// How many were dropped.
    pub dropped: u64,
    /// Why it has ended.
    pub ended: Option<String>,
    /// How much it compares.
    pub size: Size,
}

/// Where changes come from.
pub trait Source: Send {
    /// Takes in what has come and adds what changed. Answers when it wants to look again although nothing
    /// has come; an error ends the observation.
    fn look(&mut self, call: &Call, found: &mut Vec<Event>) -> Result<Option<Instant>>;

    /// How much it compares.
    fn size(&self) -> Size;
}

impl Observations {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails when an owner has as many as it may have. What has ended makes room, the oldest first.
    pub fn make_room(&self, owner: Owner) -> Result<()> {
        let mut store = self.store();
        let own: Vec<Arc<Observation>> =
            store.all.values().filter(|observation| observation.owner == owner).cloned().collect();
        if own.len() < MOST_OBSERVATIONS {
            return Ok(());
        }
        match own.iter().find(|observation| observation.standing().ended.is_some()) {
            Some(ended) => {
                store.all.remove(&ended.number);
                Ok(())
            }
            None => Err(Error::new(
                Code::Busy,
                format!("{MOST_OBSERVATIONS} observations are running, which is the most that there may be."),
            )
            .found(
                own.iter().map(|observation| format!("{} {}", observation.name(), observation.plan.target)),
            )
            .remedy("Cancel one with cancel_observation.")),
        }
    }

    /// Begins one. `bell` is what the source rings; `client` is told of events, once it has subscribed.
    pub fn begin(
        &self,
        client: &Arc<Client>,
        owner: Owner,
        plan: Plan,
        bell: Bell,
        source: Box<dyn Source>,
    ) -> Result<Arc<Observation>> {
        self.make_room(owner)?;
        let mut store = self.store();
        store.last += 1;
        let observation = Arc::new(Observation {
            plan,
            created: SystemTime::now(),
            number: store.last,
            owner,
            kept: Mutex::new(Kept { size: source.size(), ..Kept::default() }),
            bell,
            stop: Cancellation::default(),
            client: Arc::downgrade(client),
        });
        let watching = observation.clone();
        std::thread::Builder::new()
            .name(format!("observation {}", store.last))
            .spawn(move || watching.run(source))
            .map_err(|error| {
                Error::backend("The thread of an observation cannot be started.").because(error)
            })?;
        store.all.insert(observation.number, observation.clone());
        Ok(observation)
    }

    /// The one of this name (`observations/o1` or `o1`).
    pub fn get(&self, owner: Owner, name: &str) -> Result<Arc<Observation>> {
        let wanted = name.trim();
        let wanted = wanted.strip_prefix("observations/").unwrap_or(wanted);
        let own = self.of(owner);
        let found = own.iter().find(|observation| observation.short_name() == wanted).cloned();
        found.ok_or_else(|| {
            Error::new(Code::ObservationNotFound, format!("There is no observation {name:?}."))
                .expected("the name of one of your observations, observations/o1 say")
                .found(own.iter().map(|observation| observation.name()))
                .remedy("List them with list_observations, or begin one with create_observation.")
        })
    }

    /// All of an owner, the oldest first.
    pub fn of(&self, owner: Owner) -> Vec<Arc<Observation>> {
        self.store().all.values().filter(|observation| observation.owner == owner).cloned().collect()
    }

    /// Ends one and forgets it.
    pub fn cancel(&self, observation: &Observation) {
        self.store().all.remove(&observation.number);
        observation.end("It was cancelled.");
    }

    /// The owner has gone.
    pub fn release(&self, owner: Owner) {
        for observation in self.of(owner) {
            self.cancel(&observation);
        }
    }
}

impl Drop for Observations {
    fn drop(&mut self) {
        for observation in self.store().all.values() {
            observation.end("Deskhand ends.");
        }
    }
}

/// A place among those that are woken by new events.
pub struct Listening {
    /// Rings when events have come, or the observation has ended.
    pub bell: Bell,
    _kept: Arc<()>,
}

impl Observation {
    /// The name, as callers pass it.
    pub fn name(&self) -> String {
        format!("observations/o{}", self.number)
    }

    /// The address of the resource.
    pub fn uri(&self) -> String {
        format!("{URI}{}", self.short_name())
    }

    fn short_name(&self) -> String {
        format!("o{}", self.number)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it is at the moment.
    pub fn standing(&self) -> Standing {
        let kept = self.kept();
        Standing {
            last: kept.last,
            kept: kept.events.len(),
            dropped: kept.dropped,
            ended: kept.ended.clone(),
            size: kept.size.clone(),
        }
    }

    /// Events after a number, the oldest first, and whether there are more.
    pub fn events(&self, after: u64, most: usize) -> (Vec<Event>, bool) {
        let kept = self.kept();
        let mut later = kept.events.iter().filter(|event| after < event.sequence);
        let events = later.by_ref().take(most).cloned().collect();
        (events, later.next().is_some())
    }

    /// Wakes `bell` when events have come.
    pub fn listen(&self, bell: &Bell) -> Listening {
        let held = Arc::new(());
        self.kept().listeners.push((Arc::downgrade(&held), bell.clone()));
        Listening { bell: bell.clone(), _kept: held }
    }

    /// Whether its client is told of new events.
    pub fn subscribe(&self, subscribed: bool) {
        self.kept().subscribed = subscribed;
    }

    /// How changes are noticed.
    pub fn via(&self) -> Via {
        if self.plan.poll.is_some() { Via::Polling } else { Via::Events }
    }

    fn end(&self, why: &str) {
        self.stop.cancel();
        self.bell.ring();
        self.kept().ended.get_or_insert_with(|| why.to_owned());
        self.wake();
    }

    fn wake(&self) {
        let mut kept = self.kept();
        kept.listeners.retain(|(held, _)| 0 < held.strong_count());
        kept.listeners.iter().for_each(|(_, bell)| bell.ring());
    }

    fn run(&self, mut source: Box<dyn Source>) {
        // The first look is for what came between the reading and now.
        let mut next = Some(Instant::now());
        // A client that is told of every event is told at most this often.
        let (mut tell_at, mut untold) = (Instant::now(), false);
        loop {
            let until = if untold { Some(next.map_or(tell_at, |next| next.min(tell_at))) } else { next };
            self.bell.wait(until);
            if self.stop.is_cancelled() {
                return;
            }
            let call = Call::with_timeout(PATIENCE).with_cancellation(self.stop.clone());
            let mut found = Vec::new();
            let looked = std::panic::catch_unwind(AssertUnwindSafe(|| source.look(&call, &mut found)))
                .unwrap_or_else(|_| Err(Error::new(Code::Internal, "A defect in Deskhand ended it.")));
            if self.stop.is_cancelled() {
                return;
            }
            let ended = match looked {
                Ok(again) => {
                    next = again;
                    false
                }
                Err(error) => {
                    let what = self.plan.target.clone();
                    let reason = Some(error.message);
                    found.push(Event { reason, ..Event::new(EventKind::Ended, what) });
                    true
                }
            };
            untold |= !found.is_empty();
            self.record(found, source.size());
            if untold && (tell_at <= Instant::now() || ended) {
                (tell_at, untold) = (Instant::now() + SPACING, false);
                self.tell();
            }
            if ended {
                return;
            }
        }
    }

    fn record(&self, found: Vec<Event>, size: Size) {
        let mut kept = self.kept();
        kept.size = size;
        if found.is_empty() {
            return;
        }
        let time = log::rfc3339(SystemTime::now());
        for event in found {
            if MOST_EVENTS <= kept.events.len() {
                kept.events.pop_front();
                kept.dropped += 1;
            }
            kept.last += 1;
            kept.ended = kept.ended.take().or_else(|| event.reason.clone());
            let sequence = kept.last;
            kept.events.push_back(Event { sequence, time: time.clone(), ..event });
        }
        drop(kept);
        self.wake();
    }

    /// Tells the client that there is something to read, if it wants to know.
    fn tell(&self) {
        if self.kept().subscribed
            && let Some(client) = self.client.upgrade()
        {
            client.tell("notifications/resources/updated", json!({ "uri": self.uri() }));
        }
    }
}

/// What the addresses of observations begin with.
pub const URI: &str = "deskhand://observations/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_told_whole() {
        assert_eq!(around_difference("one", "one two"), ("one".to_owned(), "one two".to_owned()));
    }

    #[test]
    fn long_texts_are_told_around_where_they_differ() {
        let same = "x".repeat(900);
        let (old, new) = (format!("{same}old{same}"), format!("{same}new{same}"));
        let (old, new) = around_difference(&old, &new);
        let start = format!("…{}", "x".repeat(40));
        assert!(old.starts_with(&format!("{start}old")) && new.starts_with(&format!("{start}new")));
        assert!(old.chars().count() <= LONGEST_TEXT + 2 && old.ends_with('…'));
    }
}
