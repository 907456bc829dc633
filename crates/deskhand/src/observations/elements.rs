//! Elements that come, go and change.
//!
//! A change that an application tells says only what to read again: one element, what is below one, or
//! everything where too much happened at once. What is told to the client is the difference.

use super::{Event, EventKind, MOST_ELEMENTS, SPACING, Size, Source};
use crate::refs::Refs;
use crate::tools::evidence::short;
use deskhand_core::call::Call;
use deskhand_core::element::{Bounds, Element, ElementId, Role, Root, State, States, Tree, TreeQuery};
use deskhand_core::watch::{Bell, Change, Kind, Watch};
use deskhand_core::window::{WindowId, WindowWatch};
use deskhand_core::{Code, Desktop, Error, Rect, Result};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// From how many changed elements on everything is read anew: that takes fewer requests.
const MOST_READ_ALONE: usize = 32;

/// From how many parents with new or lost children on everything is read anew.
const MOST_BRANCHES: usize = 3;

/// How many combo boxes are asked for what is chosen when an observation begins: a tree does not say.
const MOST_CHOICES: usize = 32;

/// After a reading of everything, it rests for so many times as long as it took.
const REST: u32 = 5;

/// How long until an application that did not answer is asked again; each time twice as long, up to the
/// second.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// Which elements, and what of them.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Where they are.
    pub roots: Vec<Root>,
    /// The one root is an element, and what is below it does not matter.
    pub single: bool,
    /// Their processes.
    pub pids: Vec<u32>,
    /// Whether to tell what comes and goes.
    pub structure: bool,
    /// What of those that stay.
    pub attributes: Attributes,
    /// Only these roles, or all.
    pub roles: Vec<Role>,
    /// Only what shows.
    pub visible_only: bool,
    /// How often to look without being told.
    pub poll: Option<Duration>,
}

/// What of an element is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// What it is called.
    pub name: bool,
    /// What it holds.
    pub value: bool,
    /// What else is said of it.
    pub description: bool,
    /// Where it lies.
    pub bounds: bool,
    /// These states.
    pub states: States,
}

impl Attributes {
    /// Everything but the place, which changes with every scrolling.
    pub fn usual() -> Attributes {
        let states = States::of(State::ALL.iter().copied());
        Attributes { name: true, value: true, description: true, bounds: false, states }
    }
}

/// Compares elements with what they were.
pub struct Elements {
    desktop: Arc<Desktop>,
    refs: Arc<Refs>,
    scope: Scope,
    watch: Box<dyn Watch>,
    windows: Option<Box<dyn WindowWatch>>,
    _ends: Vec<Box<dyn Send>>,
    known: HashMap<ElementId, Known>,
    cut: bool,
    /// What has to be read again.
    dirty: HashMap<ElementId, Dirty>,
    branches: HashSet<ElementId>,
    everything: bool,
    /// Something has gone: perhaps what is observed.
    verify: bool,
    dropped: u64,
    /// When single elements were read last.
    rested: HashMap<ElementId, Instant>,
    next_reading: Instant,
    next_poll: Option<Instant>,
    silent: Option<Silence>,
}

#[derive(Clone, Debug)]
struct Known {
    number: u64,
    role: Role,
    name: String,
    value: Option<String>,
    description: String,
    states: States,
    bounds: Option<Rect>,
    pid: Option<u32>,
    window: Option<WindowId>,
    parent: Option<ElementId>,
}

struct Dirty {
    changes: u32,
    content: bool,
    due: Instant,
}

struct Silence {
    until: Instant,
    gap: Duration,
}

/// A reading: elements with their parents, and the processes that did not answer.
type Reading = Vec<(Element, Option<ElementId>)>;

impl Elements {
    /// Begins with the elements that there are.
    pub fn begin(
        desktop: &Arc<Desktop>,
        refs: &Arc<Refs>,
        call: &Call,
        bell: &Bell,
        scope: Scope,
    ) -> Result<Elements> {
        // Listening comes first: what changes during the reading is read again.
        let mut watch = desktop.elements.watch(call)?;
        watch.listen(bell, &scope.pids);
        let on_window = scope.roots.iter().any(|root| matches!(root, Root::Window(_)));
        let windows = if on_window { Some(desktop.windows.watch(call, bell)?) } else { None };
        let ends = scope.pids.iter().map(|pid| desktop.apps.watch_end(*pid, bell)).collect::<Result<_>>()?;
        let mut elements = Elements {
            desktop: desktop.clone(),
            refs: refs.clone(),
            watch,
            windows,
            _ends: ends,
            known: HashMap::new(),
            cut: false,
            dirty: HashMap::new(),
            branches: HashSet::new(),
            everything: false,
            verify: false,
            dropped: 0,
            rested: HashMap::new(),
            next_reading: Instant::now(),
            next_poll: scope.poll.map(|gap| Instant::now() + gap),
            silent: None,
            scope,
        };
        let reading = elements.read_everything(call)?;
        elements.take(reading, None, &mut Vec::new());
        elements.ask_for_choices(call)?;
        Ok(elements)
    }

    fn query(&self, root: Root, room: usize) -> TreeQuery {
        let bounds = if self.scope.attributes.bounds { Bounds::All } else { Bounds::No };
        let values = self.scope.attributes.value;
        TreeQuery { bounds, values, max_nodes: room, ..TreeQuery::new(root) }
    }

    /// All elements of the scope. An application that does not answer fails it, when it is the only one;
    /// of several, its elements are taken to be what they were.
    fn read_everything(&mut self, call: &Call) -> Result<Reading> {
        if self.scope.single {
            let Some(Root::Element(id)) = self.scope.roots.first() else { return Ok(Vec::new()) };
            return Ok(vec![(self.desktop.elements.element(call, id)?, None)]);
        }
        let (mut reading, mut failure, mut cut) = (Vec::new(), None, false);
        for root in self.scope.roots.clone() {
            let room = MOST_ELEMENTS.saturating_sub(reading.len());
            match self.desktop.elements.tree(call, &self.query(root.clone(), room)) {
                Ok(tree) if tree.nodes.is_empty() && !tree.silent.is_empty() => {
                    let silent = &tree.silent[0];
                    failure = Some(
                        Error::new(Code::Timeout, format!("{} does not answer.", silent.application))
                            .os(&silent.reason)
                            .remedy("It hangs or is stopped: wait, or quit it by force (quit_app)."),
                    );
                    if let Root::Process(pid) = root {
                        reading.extend(self.as_it_was(pid));
                    }
                }
                Ok(tree) => {
                    cut |= tree.cut;
                    reading.extend(with_parents(tree));
                }
                Err(error) => failure = Some(error),
            }
        }
        self.cut = cut;
        match failure {
            Some(error) if reading.is_empty() || error.code == Code::Cancelled => Err(error),
            Some(_) | None => Ok(reading),
        }
    }

    /// The elements of a process that cannot be read now.
    fn as_it_was(&self, pid: u32) -> Reading {
        let own = self.known.iter().filter(|(_, known)| known.pid == Some(pid));
        own.map(|(id, known)| (known.element(id), known.parent.clone())).collect()
    }

    /// A tree does not tell what is chosen in every combo box; a later reading of one does.
    fn ask_for_choices(&mut self, call: &Call) -> Result<()> {
        let blank = |known: &Known| {
            known.role == Role::ComboBox
                && known.states.has(State::Visible)
                && known.value.as_ref().is_none_or(String::is_empty)
        };
        let boxes: Vec<ElementId> = self
            .known
            .iter()
            .filter(|(_, known)| self.scope.attributes.value && blank(known))
            .map(|(id, _)| id.clone())
            .take(MOST_CHOICES)
            .collect();
        for id in boxes {
            match self.desktop.elements.element(call, &id) {
                Ok(element) => self.take_one(element, None, &mut Vec::new()),
                // It has gone already.
                Err(error) if error.code == Code::ElementStale => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes in what applications told.
    fn hear(&mut self, now: Instant) -> Result<()> {
        for change in self.watch.drain()? {
            self.note(&change, now);
        }
        let dropped = self.watch.dropped();
        self.everything |= std::mem::replace(&mut self.dropped, dropped) < dropped;
        Ok(())
    }

    fn note(&mut self, change: &Change, now: Instant) {
        let known = self.known.contains_key(&change.element);
        match change.kind {
            Kind::Caret => {}
            Kind::Children if known && !self.scope.single => {
                self.branches.insert(change.element.clone());
            }
            Kind::Children => self.verify |= !change.on,
            // Something may have come that is not told otherwise, and the others made room for it.
            Kind::Bounds if !self.scope.single => self.everything = true,
            Kind::Bounds if !self.scope.attributes.bounds => {}
            Kind::State if !known => {
                // Qt tells of a new widget only that it shows.
                self.everything |= change.on && change.detail == State::Visible.name() && !self.scope.single;
            }
            Kind::Window if !known => self.verify = true,
            Kind::State
            | Kind::Focused
            | Kind::Text
            | Kind::Value
            | Kind::Property
            | Kind::Bounds
            | Kind::Selection
            | Kind::Window => {
                if known {
                    let rested = self.rested.get(&change.element).map(|last| *last + SPACING);
                    let due = rested.map_or(now, |rested| rested.max(now));
                    let dirty = self.dirty.entry(change.element.clone());
                    let dirty = dirty.or_insert(Dirty { changes: 0, content: false, due });
                    dirty.changes = dirty.changes.saturating_add(1);
                    dirty.content |= matches!(change.kind, Kind::Text | Kind::Value);
                }
            }
        }
    }

    /// Fails when what is observed is not there any more.
    fn require_target(&mut self, call: &Call) -> Result<()> {
        let gone = |what: &str| Error::new(Code::ElementStale, what.to_owned());
        if !self.scope.pids.is_empty() && self.scope.pids.iter().all(|pid| !self.desktop.apps.alive(*pid)) {
            return Err(gone("The application has quit."));
        }
        if let Some(windows) = &mut self.windows {
            self.verify |= windows.changed(call)?;
        }
        if !std::mem::take(&mut self.verify) {
            return Ok(());
        }
        match self.scope.roots.first() {
            Some(Root::Window(id)) => {
                let list = self.desktop.windows.list(call)?;
                if list.iter().all(|window| window.id != *id) {
                    return Err(gone("The window has closed."));
                }
            }
            Some(Root::Element(id)) => {
                let now = Instant::now();
                let due = self.rested.get(id).map_or(now, |last| *last + SPACING);
                let id = id.clone();
                self.dirty.entry(id).or_insert(Dirty { changes: 0, content: false, due });
            }
            Some(Root::Process(_) | Root::Desktop) | None => {}
        }
        Ok(())
    }

    /// Reads what is due and compares it.
    fn read(&mut self, call: &Call, now: Instant, found: &mut Vec<Event>) -> Result<()> {
        self.require_target(call)?;
        let due = self.dirty.values().filter(|dirty| dirty.due <= now).count();
        self.everything |= MOST_READ_ALONE < due || MOST_BRANCHES < self.branches.len();
        if !self.everything || now < self.next_reading {
            // What changed by itself is not held up by what takes longer.
            self.read_alone(call, now, found)?;
        }
        if now < self.next_reading || (!self.everything && self.branches.is_empty()) {
            return Ok(());
        }
        let everything = std::mem::take(&mut self.everything);
        let branches = std::mem::take(&mut self.branches);
        let began = Instant::now();
        let read = match everything {
            true => self.read_everything(call).map(|reading| {
                self.take(reading, None, found);
                self.dirty.clear();
            }),
            false => branches.iter().try_for_each(|id| self.read_branch(call, id, found)),
        };
        // One that failed is tried again as soon as the application may answer.
        self.next_reading = Instant::now() + SPACING;
        match read {
            Ok(()) => self.next_reading += began.elapsed() * REST,
            Err(_) => {
                self.everything |= everything;
                self.branches.extend(branches);
            }
        }
        read
    }

    fn read_branch(&mut self, call: &Call, id: &ElementId, found: &mut Vec<Event>) -> Result<()> {
        if !self.known.contains_key(id) {
            return Ok(());
        }
        let room = MOST_ELEMENTS.saturating_sub(self.known.len()) + self.below(id).len();
        match self.desktop.elements.tree(call, &self.query(Root::Element(id.clone()), room)) {
            Ok(tree) if tree.nodes.is_empty() => {
                Err(Error::new(Code::Timeout, "The application does not answer."))
            }
            Ok(tree) => {
                self.cut |= tree.cut;
                self.take(with_parents(tree), Some(id), found);
                Ok(())
            }
            Err(error) if error.code == Code::ElementStale => self.lose(id, error, found),
            Err(error) => Err(error),
        }
    }

    fn read_alone(&mut self, call: &Call, now: Instant, found: &mut Vec<Event>) -> Result<()> {
        self.rested.retain(|_, last| now < *last + SPACING);
        let due: Vec<ElementId> =
            self.dirty.iter().filter(|(_, dirty)| dirty.due <= now).map(|(id, _)| id.clone()).collect();
        for id in due.into_iter().take(MOST_READ_ALONE) {
            if !self.known.contains_key(&id) {
                self.dirty.remove(&id);
                continue;
            }
            match self.desktop.elements.element(call, &id) {
                Ok(element) => {
                    let dirty = self.dirty.remove(&id);
                    self.rested.insert(id, Instant::now());
                    self.take_one(element, dirty, found);
                }
                Err(error) if error.code == Code::ElementStale => self.lose(&id, error, found)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// An element is gone, with all below it; when it is what is observed, that is the end.
    fn lose(&mut self, id: &ElementId, error: Error, found: &mut Vec<Event>) -> Result<()> {
        self.dirty.remove(id);
        if matches!(&self.scope.roots[..], [Root::Element(root)] if root == id) {
            let message = format!("The element is gone. {}", error.message);
            return Err(Error { message, ..error });
        }
        self.take(Vec::new(), Some(id), found);
        Ok(())
    }

    /// The ids of an element and all below it.
    fn below(&self, top: &ElementId) -> HashSet<ElementId> {
        let mut children: HashMap<&ElementId, Vec<&ElementId>> = HashMap::new();
        for (id, known) in &self.known {
            if let Some(parent) = &known.parent {
                children.entry(parent).or_default().push(id);
            }
        }
        let (mut all, mut open) = (HashSet::new(), vec![top]);
        while let Some(id) = open.pop() {
            if self.known.contains_key(id) && all.insert(id.clone()) {
                open.extend(children.get(id).into_iter().flatten());
            }
        }
        all
    }

    /// Compares a reading with what was known, of everything or of what is below one element.
    fn take(&mut self, reading: Reading, within: Option<&ElementId>, found: &mut Vec<Event>) {
        let fresh: HashSet<&ElementId> = reading.iter().map(|(element, _)| &element.id).collect();
        let before: HashSet<ElementId> = match within {
            Some(top) => self.below(top),
            None => self.known.keys().cloned().collect(),
        };
        let gone: HashSet<ElementId> = before.into_iter().filter(|id| !fresh.contains(id)).collect();
        let mut removed = self.tops(&gone, &self.known);
        for id in &gone {
            self.dirty.remove(id);
            self.branches.remove(id);
        }
        let gone: HashMap<ElementId, Known> =
            gone.into_iter().filter_map(|id| self.known.remove(&id).map(|known| (id, known))).collect();

        let numbers = self.refs.numbers_of(reading.iter().map(|(element, _)| element));
        let (mut came, mut order, mut changed) = (HashSet::new(), Vec::new(), Vec::new());
        for ((element, parent), number) in reading.into_iter().zip(numbers) {
            let id = element.id.clone();
            let before = self.known.get(&id);
            let parent = parent.or_else(|| before.and_then(|known| known.parent.clone()));
            let now = Known::of(element, parent, number, !self.scope.single);
            let dirty = self.dirty.remove(&id);
            match before {
                None => {
                    came.insert(id.clone());
                    order.push(id.clone());
                }
                Some(before) => {
                    let (was, is) = (self.passes(before), self.passes(&now));
                    if is && !was {
                        came.insert(id.clone());
                        order.push(id.clone());
                    } else if was && !is {
                        removed.push((before.clone(), 0));
                    } else if is {
                        self.difference(before, &now, dirty.as_ref(), &mut changed);
                    }
                }
            }
            self.known.insert(id, now);
        }
        drop(gone);
        if self.scope.structure {
            removed.sort_by_key(|(known, _)| known.number);
            found.extend(removed.iter().map(|(known, below)| known.event(EventKind::ElementRemoved, *below)));
        }
        found.append(&mut changed);
        if self.scope.structure {
            let mut added = self.tops(&came, &self.known);
            let place: HashMap<u64, usize> =
                order.iter().enumerate().map(|(place, id)| (self.known[id].number, place)).collect();
            added.sort_by_key(|(known, _)| place.get(&known.number).copied());
            found.extend(added.iter().map(|(known, below)| known.added(*below)));
        }
    }

    /// Of elements that came or went together those that are told, each with how many went with it: what
    /// lies within another one of them is only counted.
    fn tops(&self, ids: &HashSet<ElementId>, all: &HashMap<ElementId, Known>) -> Vec<(Known, usize)> {
        let mut below: HashMap<&ElementId, usize> = HashMap::new();
        for id in ids {
            let Some(known) = all.get(id).filter(|known| self.passes(known)) else { continue };
            let (mut top, mut parent) = (id, known.parent.as_ref());
            // Trees of applications may be wrong: no chain is longer than there are elements.
            for _ in 0..ids.len() {
                let Some(next) = parent.filter(|parent| ids.contains(*parent)) else { break };
                let Some(above) = all.get(next) else { break };
                if self.passes(above) {
                    top = next;
                }
                parent = above.parent.as_ref();
            }
            *below.entry(top).or_default() += usize::from(top != id);
        }
        below.into_iter().filter_map(|(id, below)| Some((all.get(id)?.clone(), below))).collect()
    }

    /// Compares one element.
    fn take_one(&mut self, element: Element, dirty: Option<Dirty>, found: &mut Vec<Event>) {
        let id = element.id.clone();
        let Some(before) = self.known.get(&id) else { return };
        let now = Known::of(element, before.parent.clone(), before.number, !self.scope.single);
        match (self.passes(before), self.passes(&now)) {
            (false, true) if self.scope.structure => found.push(now.added(0)),
            (true, false) if self.scope.structure => found.push(before.event(EventKind::ElementRemoved, 0)),
            (true, true) => self.difference(before, &now, dirty.as_ref(), found),
            (false, true) | (true, false) | (false, false) => {}
        }
        self.known.insert(id, now);
    }

    fn passes(&self, known: &Known) -> bool {
        (self.scope.roles.is_empty() || self.scope.roles.contains(&known.role))
            && (!self.scope.visible_only || known.states.has(State::Visible))
    }

    fn difference(&self, old: &Known, new: &Known, told: Option<&Dirty>, found: &mut Vec<Event>) {
        let wanted = &self.scope.attributes;
        let changes = told.map(|told| told.changes).filter(|changes| 1 < *changes);
        let mut tell = |kind: EventKind, was: Option<&str>, is: Option<&str>| {
            if was != is {
                found.push(Event { changes, ..new.event(kind, 0) }.with_values(was, is));
            }
        };
        if wanted.name {
            tell(EventKind::NameChanged, Some(&old.name), Some(&new.name));
        }
        if wanted.value {
            tell(EventKind::ValueChanged, old.value.as_deref(), new.value.as_deref());
        }
        if wanted.description {
            tell(EventKind::DescriptionChanged, Some(&old.description), Some(&new.description));
        }
        if wanted.bounds {
            let place = |bounds: Option<Rect>| bounds.map(|bounds| bounds.to_string());
            let (was, is) = (place(old.bounds), place(new.bounds));
            tell(EventKind::BoundsChanged, was.as_deref(), is.as_deref());
        }
        if wanted.value && new.role == Role::PasswordField && told.is_some_and(|told| told.content) {
            found.push(Event { masked: true, changes, ..new.event(EventKind::ValueChanged, 0) });
        }
        for state in wanted.states.iter() {
            let (was, is) = (old.states.has(state), new.states.has(state));
            if was != is {
                let event =
                    Event { attribute: Some(state), changes, ..new.event(EventKind::StateChanged, 0) };
                found.push(event.with_values(Some(&was.to_string()), Some(&is.to_string())));
            }
        }
    }

    /// It did not answer: it is asked again later, and nothing that it told is forgotten.
    fn fall_silent(&mut self, found: &mut Vec<Event>, error: &Error) {
        let gap = match &self.silent {
            Some(silence) => (silence.gap * 2).min(RETRY.1),
            None => {
                found.push(Event::new(EventKind::NotResponding, error.message.clone()));
                RETRY.0
            }
        };
        self.silent = Some(Silence { until: Instant::now() + gap, gap });
    }

    /// When to look again although nothing is told.
    fn next(&self) -> Option<Instant> {
        if let Some(silence) = &self.silent {
            return Some(silence.until);
        }
        let alone = self.dirty.values().map(|dirty| dirty.due).min();
        let together = (self.everything || !self.branches.is_empty()).then_some(self.next_reading);
        [alone, together, self.next_poll].into_iter().flatten().min()
    }
}

impl Source for Elements {
    fn look(&mut self, call: &Call, found: &mut Vec<Event>) -> Result<Option<Instant>> {
        let now = Instant::now();
        self.hear(now)?;
        if let (Some(due), Some(gap)) = (self.next_poll, self.scope.poll)
            && due <= now
        {
            self.everything = true;
            self.next_poll = Some(now + gap);
        }
        if self.silent.as_ref().is_some_and(|silence| now < silence.until) {
            // It may have ended instead of answering.
            let gone = |pid: &u32| !self.desktop.apps.alive(*pid);
            if !self.scope.pids.is_empty() && self.scope.pids.iter().all(gone) {
                return Err(Error::new(Code::ElementStale, "The application has quit."));
            }
            return Ok(self.next());
        }
        if self.silent.is_some() {
            // Only an answer says that it answers: what failed is read now, not when it has rested.
            self.next_reading = now;
        }
        match self.read(call, now, found) {
            Ok(()) => {
                if self.silent.take().is_some() {
                    let answers = Event::new(EventKind::Responding, "The application answers again.".into());
                    found.insert(0, answers);
                }
            }
            // A window may for a moment be called otherwise than the application says, and its tree not be found.
            Err(error) if matches!(error.code, Code::Timeout | Code::PermissionDenied) => {
                self.fall_silent(found, &error);
            }
            Err(error) => return Err(error),
        }
        Ok(self.next())
    }

    fn size(&self) -> Size {
        Size { watched: self.known.len(), cut: self.cut, silent: self.silent.is_some() }
    }
}

impl Known {
    /// `shown`: what does not show has no value, as in a reading of a whole tree.
    fn of(element: Element, parent: Option<ElementId>, number: u64, shown: bool) -> Known {
        let shows = !shown || element.states.has(State::Visible);
        Known {
            number,
            role: element.role,
            name: element.name,
            value: element.value.filter(|_| shows && element.role != Role::PasswordField),
            description: element.description,
            // It follows from the place, which is not always read.
            states: element.states.without(State::Offscreen),
            bounds: element.bounds,
            pid: element.pid,
            window: element.window,
            parent,
        }
    }

    fn element(&self, id: &ElementId) -> Element {
        Element {
            id: id.clone(),
            role: self.role,
            name: self.name.clone(),
            value: self.value.clone(),
            description: self.description.clone(),
            identifier: None,
            states: self.states,
            bounds: self.bounds,
            actions: Vec::new(),
            window: self.window,
            pid: self.pid,
            children: 0,
        }
    }

    /// It is there now, with what it holds.
    fn added(&self, below: usize) -> Event {
        self.event(EventKind::ElementAdded, below).with_values(None, self.value.as_deref())
    }

    fn event(&self, kind: EventKind, below: usize) -> Event {
        let name = format!("e{}", self.number);
        let what = match self.name.is_empty() {
            true => format!("{name} {}", self.role),
            false => format!("{name} {} {}", self.role, short(&self.name)),
        };
        Event {
            element: Some(name),
            window: self.window.map(|window| window.0),
            pid: self.pid,
            below: (0 < below).then_some(below),
            ..Event::new(kind, what)
        }
    }
}

/// The elements of a tree, each with its parent.
fn with_parents(tree: Tree) -> Reading {
    let ids: Vec<ElementId> = tree.nodes.iter().map(|node| node.element.id.clone()).collect();
    let parent = |index: Option<usize>| index.and_then(|index| ids.get(index).cloned());
    tree.nodes.into_iter().map(|node| (node.element, parent(node.parent))).collect()
}
