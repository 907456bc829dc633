//! What is there and what happens to it, whoever does it.

use super::clipboard::Board;
use super::scene;
use crate::audio::AudioOutput;
use crate::element::{Element, ElementId, Role, State, States};
use crate::files::FileView;
use crate::geometry::{Display, Point, Rect, desktop_bounds, display_of};
use crate::input::{Button, Held};
use crate::key::{Key, NamedKey};
use crate::status_item::StatusItem;
use crate::system::Power;
use crate::watch::{Bell, Change, Kind};
use crate::window::{Window, WindowId, WindowState};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The height of a title bar.
pub(super) const TITLE_BAR: u32 = 24;
/// What it says of how long a double click may take.
pub(super) const DOUBLE_CLICK: Duration = Duration::from_millis(400);
/// Pixels for a character of a text, and for a line.
const CHARACTER: (i32, i32) = (8, 16);
/// Pixels that a notch of the wheel scrolls.
const NOTCH: i32 = 40;
/// Numbers the desktops of the process.
static WORLDS: AtomicU64 = AtomicU64::new(1);
/// How many changes and damaged areas are remembered.
const MEMORY: usize = 1000;

/// The fake desktop behind the capabilities. Its methods are what applications, the person and the
/// circumstances do; tests call them through [`super::Control::change`].
pub struct World {
    pub(super) displays: Vec<Display>,
    /// The topmost first.
    pub(super) windows: Vec<Win>,
    pub(super) apps: Vec<App>,
    pub(super) items: BTreeMap<ElementId, Item>,
    pub(super) active: Option<WindowId>,
    pub(super) pointer: Point,
    pub(super) pointer_hidden: bool,
    pub(super) held: Vec<Held>,
    pub(super) log: Vec<String>,
    pub(super) received: Vec<String>,
    /// The changes from number `first_change` on.
    pub(super) changes: VecDeque<Change>,
    pub(super) first_change: u64,
    /// Tells this desktop from the others of the process.
    pub(super) number: u64,
    /// Counts every damage.
    pub(super) serial: u64,
    pub(super) damage: VecDeque<(u64, Rect)>,
    pub(super) outputs: Vec<AudioOutput>,
    pub(super) status_items: Vec<StatusItem>,
    pub(super) mixer_muted: bool,
    pub(super) power: Power,
    pub(super) notices: super::notification::Notices,
    /// What the file manager shows.
    pub(super) file_view: Option<FileView>,
    pub(super) temper: Temper,
    pub(super) board: Board,
    bells: Vec<(Weak<()>, Bell)>,
    rung: u64,
    pending: Vec<Pending>,
    pressed: Option<Pressed>,
    /// What belongs to one multiple click: clicks of one holder of the input lane, however long they take.
    pub(super) clicks: Option<Clicks>,
    next_window: u64,
    next_pid: u32,
    next_scene: BTreeMap<&'static str, u32>,
}

/// How the world behaves where worlds differ.
#[derive(Default)]
pub(super) struct Temper {
    pub locked: bool,
    pub confined: Option<Rect>,
    pub ignores_keys: bool,
    pub ignores_clicks: bool,
    pub ignores_audio: bool,
    pub refuses_windows: bool,
    pub asks_before_closing: bool,
    pub silent: BTreeSet<u32>,
    pub stubborn: BTreeSet<u32>,
    pub elevated: BTreeSet<u32>,
    pub untypeable: Vec<char>,
    /// After so many more typed characters this window takes the keyboard.
    pub thief: Option<(usize, WindowId)>,
    /// How long a window manager takes, and an application to open a window.
    pub window_delay: Duration,
    pub launch_delay: Duration,
}

pub(super) struct Win {
    pub id: WindowId,
    pub title: String,
    pub pid: u32,
    pub bounds: Rect,
    pub state: WindowState,
    /// Where it goes when it is restored.
    pub normal: Rect,
    pub transient: bool,
    /// Outside the list and without a title bar.
    pub popup: bool,
    pub root: ElementId,
    /// What has the keyboard while the window has it.
    pub focus: Option<ElementId>,
}

pub(super) struct App {
    pub pid: u32,
    pub parent: Option<u32>,
    pub name: String,
    pub id: Option<String>,
    pub process: String,
    pub toolkit: String,
    pub root: ElementId,
}

/// An element behind the scene.
pub(super) struct Item {
    pub id: ElementId,
    pub role: Role,
    pub name: String,
    /// What it holds, also where it is not told.
    pub text: String,
    pub has_value: bool,
    pub description: String,
    pub identifier: Option<String>,
    pub states: States,
    /// Relative to the content of its window, before scrolling.
    pub place: Rect,
    pub actions: Vec<String>,
    pub act: Act,
    pub parent: Option<ElementId>,
    pub children: Vec<ElementId>,
    pub window: Option<WindowId>,
    pub pid: u32,
    /// In characters.
    pub caret: usize,
    pub selection: Option<(usize, usize)>,
    /// How far its content is scrolled.
    pub scrolled: i32,
}

/// What an element does when it is clicked or worked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Nothing,
    Save,
    Toggle,
    Calculate(char),
    Edit,
    Slide {
        least: i32,
        most: i32,
        step: i32,
    },
    Choose,
    Scroll {
        height: i32,
    },
    /// The scroll bar of the scroll pane that it is in: it stays where it is when the rest moves.
    Bar,
    Menu,
    MenuItem(MenuAct),
    /// Closes its window, and the window that it is about when `all` is set.
    Close {
        all: bool,
    },
    Follow,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MenuAct {
    New,
    Save,
    Quit,
    SelectAll,
}

struct Pending {
    due: Instant,
    change: Box<dyn FnOnce(&mut World) + Send>,
}

/// What a button was pressed on.
struct Pressed {
    button: Button,
    window: WindowId,
    item: Option<ElementId>,
    at: Point,
    /// Pressed on the title bar: the window follows the pointer.
    moves: bool,
    window_at: Point,
}

pub(super) struct Clicks {
    button: Button,
    at: Point,
    count: u32,
}

impl World {
    pub(super) fn new(mut displays: Vec<Display>) -> World {
        crate::geometry::number_displays(&mut displays);
        let pointer = displays.first().map_or(Point::default(), |display| display.bounds.center());
        World {
            displays,
            windows: Vec::new(),
            apps: Vec::new(),
            items: BTreeMap::new(),
            active: None,
            pointer,
            pointer_hidden: false,
            held: Vec::new(),
            log: Vec::new(),
            received: Vec::new(),
            changes: VecDeque::new(),
            first_change: 0,
            number: WORLDS.fetch_add(1, Ordering::Relaxed),
            serial: 1,
            damage: VecDeque::new(),
            outputs: super::audio::outputs(),
            status_items: super::status_items::items(),
            mixer_muted: false,
            power: super::system::power(),
            board: Board::default(),
            notices: super::notification::Notices::default(),
            file_view: None,
            temper: Temper { launch_delay: Duration::from_millis(20), ..Temper::default() },
            bells: Vec::new(),
            rung: 0,
            pending: Vec::new(),
            pressed: None,
            clicks: None,
            next_window: 20,
            next_pid: 201,
            next_scene: BTreeMap::new(),
        }
    }

    // How the world behaves.

    /// Locks the session, or unlocks it.
    pub fn lock_session(&mut self, locked: bool) {
        self.temper.locked = locked;
    }

    /// Keeps the pointer inside an area, as a game or a virtual machine does.
    pub fn confine_pointer(&mut self, area: Option<Rect>) {
        self.temper.confined = area;
    }

    /// Hides the pointer's picture.
    pub fn hide_pointer(&mut self, hidden: bool) {
        self.pointer_hidden = hidden;
    }

    /// Keys and typed text are made but reach nobody.
    pub fn ignore_keys(&mut self, ignored: bool) {
        self.temper.ignores_keys = ignored;
    }

    /// Clicks and the wheel are made but reach nobody.
    pub fn ignore_clicks(&mut self, ignored: bool) {
        self.temper.ignores_clicks = ignored;
    }

    /// The audio server takes orders and does nothing.
    pub fn ignore_audio(&mut self, ignored: bool) {
        self.temper.ignores_audio = ignored;
    }

    /// The file manager shows something else, or nothing.
    pub fn set_file_view(&mut self, view: Option<FileView>) {
        self.file_view = view;
    }

    /// What power there is.
    pub fn set_power(&mut self, power: Power) {
        self.power = power;
    }

    /// The items of the notification area that there are.
    pub fn set_status_items(&mut self, items: Vec<StatusItem>) {
        self.status_items = items;
    }

    /// The outputs that there are.
    pub fn set_audio_outputs(&mut self, outputs: Vec<AudioOutput>) {
        self.outputs = outputs;
    }

    /// The window manager does nothing that it is asked, as a tiling one does with places and states.
    pub fn refuse_window_requests(&mut self, refused: bool) {
        self.temper.refuses_windows = refused;
    }

    /// How long the window manager takes to do what it is asked.
    pub fn delay_windows(&mut self, delay: Duration) {
        self.temper.window_delay = delay;
    }

    /// How long an application takes to open its window; 20 ms unless set.
    pub fn delay_launches(&mut self, delay: Duration) {
        self.temper.launch_delay = delay;
    }

    /// An editor whose text is not empty asks "Save changes?" before it closes.
    pub fn ask_before_closing(&mut self, asks: bool) {
        self.temper.asks_before_closing = asks;
    }

    /// An application no longer answers, or does again.
    pub fn silence(&mut self, pid: u32, silent: bool) {
        if silent {
            self.temper.silent.insert(pid);
        } else {
            self.temper.silent.remove(&pid);
        }
    }

    /// An application does not end when it is asked to.
    pub fn make_stubborn(&mut self, pid: u32) {
        self.temper.stubborn.insert(pid);
    }

    /// An application runs with more rights than we have.
    pub fn elevate(&mut self, pid: u32) {
        self.temper.elevated.insert(pid);
    }

    /// Characters that this keyboard cannot type.
    pub fn forbid_characters(&mut self, characters: &[char]) {
        self.temper.untypeable = characters.to_vec();
    }

    /// After so many more typed characters a window takes the keyboard for itself.
    pub fn steal_focus_after(&mut self, characters: usize, window: u64) {
        self.temper.thief = Some((characters, WindowId(window)));
    }

    /// What an application says of its toolkit; `fake 1.0` unless set.
    pub fn set_toolkit(&mut self, pid: u32, toolkit: &str) {
        for app in self.apps.iter_mut().filter(|app| app.pid == pid) {
            app.toolkit = toolkit.to_owned();
        }
    }

    /// The person presses something and keeps it down, or lets go of it.
    pub fn person_holds(&mut self, held: Held, down: bool) {
        self.hold(held, down);
    }

    pub(super) fn hold(&mut self, held: Held, down: bool) {
        self.held.retain(|other| *other != held);
        if down {
            self.held.push(held);
        }
    }

    /// Does something after a while.
    pub fn after(&mut self, delay: Duration, change: impl FnOnce(&mut World) + Send + 'static) {
        self.pending.push(Pending { due: Instant::now() + delay, change: Box::new(change) });
    }

    /// Does at once without a delay what would be done after one.
    pub(super) fn soon(&mut self, delay: Duration, change: impl FnOnce(&mut World) + Send + 'static) {
        if delay.is_zero() {
            change(self);
        } else {
            self.after(delay, change);
        }
    }

    /// Does what is due by now, in the order in which it is due.
    pub(super) fn catch_up(&mut self) {
        while let Some(first) = self.next_due().filter(|due| *due <= Instant::now()) {
            let Some(place) = self.pending.iter().position(|pending| pending.due == first) else { return };
            let pending = self.pending.remove(place);
            (pending.change)(self);
        }
    }

    /// When the next delayed change is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.pending.iter().map(|pending| pending.due).min()
    }

    // What applications do by themselves.

    /// Adds an element below another one, at a place relative to the content of the window.
    pub fn add(&mut self, parent: &str, id: &str, role: Role, name: &str, place: Rect) -> ElementId {
        let (window, pid) = {
            let parent = self.item(parent);
            (parent.window, parent.pid)
        };
        let id = ElementId(id.into());
        let parent_id = ElementId(parent.into());
        let item = Item {
            id: id.clone(),
            role,
            name: name.to_owned(),
            text: String::new(),
            has_value: false,
            description: String::new(),
            identifier: None,
            states: States::of([State::Enabled, State::Visible]),
            place,
            actions: Vec::new(),
            act: Act::Nothing,
            parent: Some(parent_id.clone()),
            children: Vec::new(),
            window,
            pid,
            caret: 0,
            selection: None,
            scrolled: 0,
        };
        self.items.insert(id.clone(), item);
        self.item_mut(parent).children.push(id.clone());
        self.say(&parent_id, Kind::Children, "add", true, None);
        self.drawn(&id);
        id
    }

    /// Takes an element away, with everything below it: its id is stale from now on.
    pub fn remove(&mut self, id: &str) {
        self.drawn(&ElementId(id.into()));
        let parent = self.item(id).parent.clone();
        self.forget(&ElementId(id.into()));
        if let Some(parent) = parent {
            if let Some(item) = self.items.get_mut(&parent) {
                item.children.retain(|child| &*child.0 != id);
            }
            self.say(&parent, Kind::Children, "remove", false, None);
        }
    }

    fn forget(&mut self, id: &ElementId) {
        let Some(item) = self.items.remove(id) else { return };
        for child in &item.children {
            self.forget(child);
        }
        for window in &mut self.windows {
            if window.focus.as_ref() == Some(id) {
                window.focus = None;
            }
        }
    }

    /// Replaces an element by an equal one under a new id, as toolkits do when they build a view anew:
    /// `editor/save` becomes `editor/save#2`. What is below it goes.
    pub fn recreate(&mut self, id: &str) -> ElementId {
        let old = ElementId(id.into());
        let (stem, number) = id.rsplit_once('#').map_or((id, 1), |(stem, n)| (stem, n.parse().unwrap_or(1)));
        let new = ElementId(format!("{stem}#{}", number + 1).into());
        let parent = self.item(id).parent.clone();
        let children = std::mem::take(&mut self.item_mut(id).children);
        for child in &children {
            self.forget(child);
        }
        if let Some(mut item) = self.items.remove(&old) {
            item.id = new.clone();
            self.items.insert(new.clone(), item);
        }
        for window in &mut self.windows {
            if window.focus.as_ref() == Some(&old) {
                window.focus = Some(new.clone());
            }
        }
        if let Some(parent) = parent {
            if let Some(item) = self.items.get_mut(&parent) {
                item.children
                    .iter_mut()
                    .filter(|child| **child == old)
                    .for_each(|child| *child = new.clone());
            }
            self.say(&parent, Kind::Children, "remove", false, None);
            self.say(&parent, Kind::Children, "add", true, None);
        }
        new
    }

    /// Turns the children of an element round: names and texts move, ids and places stay. This is what
    /// lists do that recycle their rows.
    pub fn reverse(&mut self, id: &str) {
        let children = self.item(id).children.clone();
        let mut faces: Vec<(String, String)> = children
            .iter()
            .map(|child| (self.item(&child.0).name.clone(), self.item(&child.0).text.clone()))
            .collect();
        faces.reverse();
        for (child, (name, text)) in children.iter().zip(faces) {
            let item = self.item_mut(&child.0);
            (item.name, item.text) = (name, text);
            self.drawn(child);
            self.say(child, Kind::Property, "name", true, None);
        }
    }

    /// Renames an element.
    pub fn set_name(&mut self, id: &str, name: &str) {
        self.item_mut(id).name = name.to_owned();
        let id = ElementId(id.into());
        self.drawn(&id);
        self.say(&id, Kind::Property, "name", true, Some(name.to_owned()));
    }

    /// Changes what an element holds.
    pub fn set_text(&mut self, id: &str, text: &str) {
        let item = self.item_mut(id);
        let kind = if matches!(item.act, Act::Edit) { Kind::Text } else { Kind::Value };
        item.text = text.to_owned();
        item.caret = text.chars().count();
        item.selection = None;
        let hidden = item.role == Role::PasswordField;
        let id = ElementId(id.into());
        self.drawn(&id);
        let detail = if kind == Kind::Text { "insert" } else { "value" };
        self.say(&id, kind, detail, true, (!hidden).then(|| text.to_owned()));
    }

    /// Turns a state on or off.
    pub fn set_state(&mut self, id: &str, state: State, on: bool) {
        let item = self.item_mut(id);
        item.states = if on { item.states.with(state) } else { item.states.without(state) };
        let id = ElementId(id.into());
        self.drawn(&id);
        self.say(&id, Kind::State, state.name(), on, None);
    }

    /// Sets the identifier that the application gives an element.
    pub fn set_identifier(&mut self, id: &str, identifier: &str) {
        self.item_mut(id).identifier = Some(identifier.to_owned());
    }

    /// Sets the actions that an element declares.
    pub fn set_actions(&mut self, id: &str, actions: &[&str]) {
        self.item_mut(id).actions = actions.iter().map(|action| (*action).to_owned()).collect();
    }

    /// Opens a window with nothing in it but its own element, in front, with or without the keyboard.
    pub fn open_window(&mut self, pid: u32, title: &str, bounds: Rect, takes_keyboard: bool) -> u64 {
        let id = self.new_window(pid, title, bounds, &format!("window{}", self.next_window));
        if takes_keyboard {
            self.activate(id);
        }
        id.0
    }

    /// Closes a window without asking anybody.
    pub fn close_window(&mut self, window: u64) {
        self.destroy(WindowId(window));
    }

    /// Brings a window to the front without giving it the keyboard: it covers what lies below it.
    pub fn raise_window(&mut self, window: u64) {
        self.raise(WindowId(window));
    }

    /// Gives a window the keyboard and the front, as a click of the person would.
    pub fn activate_window(&mut self, window: u64) {
        self.activate(WindowId(window));
    }

    /// Moves and resizes a window.
    pub fn place_window(&mut self, window: u64, bounds: Rect) {
        self.put(WindowId(window), bounds);
    }

    /// Changes a window's title.
    pub fn retitle_window(&mut self, window: u64, title: &str) {
        let Some(place) = self.win(WindowId(window)) else { return };
        self.windows[place].title = title.to_owned();
        let root = self.windows[place].root.clone();
        self.set_name(&root.0, title);
    }

    /// Ends a process at once, as a crash does.
    pub fn crash(&mut self, pid: u32) {
        self.end_process(pid);
    }

    /// Puts the pointer somewhere, as the person would.
    pub fn person_moves(&mut self, to: Point) {
        self.pointer = to;
    }

    // What is there.

    /// Panics when there is no such element: tests name what they know to be there.
    pub(super) fn item(&self, id: &str) -> &Item {
        self.items.get(&ElementId(id.into())).unwrap_or_else(|| panic!("no element {id} is there"))
    }

    pub(super) fn item_mut(&mut self, id: &str) -> &mut Item {
        self.items.get_mut(&ElementId(id.into())).unwrap_or_else(|| panic!("no element {id} is there"))
    }

    pub(super) fn win(&self, id: WindowId) -> Option<usize> {
        self.windows.iter().position(|window| window.id == id)
    }

    pub(super) fn app(&self, pid: u32) -> Option<&App> {
        self.apps.iter().find(|app| app.pid == pid)
    }

    /// A window as the capability shows it.
    pub(super) fn described(&self, id: WindowId) -> Option<Window> {
        let window = &self.windows[self.win(id)?];
        Some(Window {
            id,
            title: window.title.clone(),
            application: self.app(window.pid).map(|app| app.name.clone()).unwrap_or_default(),
            pid: Some(window.pid),
            bounds: window.bounds,
            content: window.content(),
            state: window.state,
            focused: self.active == Some(id),
            transient: window.transient || window.popup,
            elevated: self.temper.elevated.contains(&window.pid),
        })
    }

    /// The topmost window at a point, popups too.
    pub(super) fn window_at(&self, point: Point) -> Option<&Win> {
        self.windows.iter().find(|window| window.shows() && window.bounds.contains(point))
    }

    /// The innermost element that shows at a point of a window.
    pub(super) fn item_at(&self, window: &Win, point: Point) -> Option<&Item> {
        // An open menu lies over everything else in its window.
        let open = self.items.values().find(|item| {
            item.window == Some(window.id)
                && matches!(item.act, Act::MenuItem(_))
                && self.shows(item)
                && self.bounds(item).is_some_and(|bounds| bounds.contains(point))
        });
        if open.is_some() {
            return open;
        }
        let mut innermost = self.items.get(&window.root)?;
        if !self.bounds(innermost)?.contains(point) {
            return None;
        }
        while let Some(child) =
            innermost.children.iter().rev().filter_map(|id| self.items.get(id)).find(|child| {
                self.shows(child) && self.bounds(child).is_some_and(|bounds| bounds.contains(point))
            })
        {
            innermost = child;
        }
        Some(innermost)
    }

    /// Where an element lies on the screen.
    pub(super) fn bounds(&self, item: &Item) -> Option<Rect> {
        let content = self.windows[self.win(item.window?)?].content();
        Some(item.place.translated(content.x, content.y.saturating_sub(self.scroll_of(item))))
    }

    fn scroll_of(&self, item: &Item) -> i32 {
        self.above(item).skip(usize::from(item.act == Act::Bar)).map(|above| above.scrolled).sum()
    }

    /// What contains an element, from the inside out.
    fn above<'w>(&'w self, item: &'w Item) -> impl Iterator<Item = &'w Item> {
        std::iter::successors(Some(item), |item| self.items.get(item.parent.as_ref()?)).skip(1)
    }

    /// Whether a scroll pane has scrolled it out of sight.
    fn scrolled_away(&self, item: &Item) -> bool {
        let Some(bounds) = self.bounds(item) else { return false };
        let pane = self.pane_of(item).and_then(|pane| self.bounds(pane));
        pane.is_some_and(|pane| pane.intersection(&bounds).is_none())
    }

    /// The scroll pane around an element.
    pub(super) fn pane_of<'w>(&'w self, item: &'w Item) -> Option<&'w Item> {
        self.above(item).find(|above| matches!(above.act, Act::Scroll { .. }))
    }

    /// Whether it is on the screen as far as its window is.
    pub(super) fn shows(&self, item: &Item) -> bool {
        let states = self.states(item);
        states.has(State::Visible) && !states.has(State::Offscreen)
    }

    /// The states that it declares and those that follow from where it is.
    pub(super) fn states(&self, item: &Item) -> States {
        let mut states = item.states;
        let window = item.window.and_then(|id| self.win(id)).map(|place| &self.windows[place]);
        if let Some(window) = window {
            if !window.shows() {
                states = states.without(State::Visible);
            }
            if self.active == Some(window.id) {
                if window.focus.as_ref() == Some(&item.id) {
                    states = states.with(State::Focused);
                }
                if window.root == item.id {
                    states = states.with(State::Active);
                }
            }
        }
        if self.scrolled_away(item) {
            states = states.with(State::Offscreen);
        }
        states
    }

    /// An element as the capability shows it.
    pub(super) fn element(&self, item: &Item) -> Element {
        let told = item.has_value && item.role != Role::PasswordField;
        Element {
            id: item.id.clone(),
            role: item.role,
            name: item.name.clone(),
            value: told.then(|| item.text.clone()),
            description: item.description.clone(),
            identifier: item.identifier.clone(),
            states: self.states(item),
            bounds: self.bounds(item),
            actions: item.actions.clone(),
            window: item.window,
            pid: Some(item.pid),
            children: u32::try_from(item.children.len()).unwrap_or(u32::MAX),
        }
    }

    /// What has the keyboard.
    pub(super) fn focused(&self) -> Option<ElementId> {
        self.windows[self.win(self.active?)?].focus.clone()
    }

    // What is told of it.

    /// The bell rings on every change from now on, as long as what is returned is kept.
    pub(super) fn hang(&mut self, bell: &Bell) -> Arc<()> {
        let kept = Arc::new(());
        if self.bells.is_empty() {
            self.rung = self.looks();
        }
        self.bells.push((Arc::downgrade(&kept), bell.clone()));
        kept
    }

    /// Rings the bells when something has changed since they were rung last.
    pub(super) fn ring_bells(&mut self) {
        self.bells.retain(|(kept, _)| 0 < kept.strong_count());
        if self.bells.is_empty() {
            return;
        }
        let looks = self.looks();
        if std::mem::replace(&mut self.rung, looks) != looks {
            self.bells.iter().for_each(|(_, bell)| bell.ring());
        }
    }

    /// Differs when what elements, windows and processes there are differs.
    fn looks(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        (self.first_change + self.changes.len() as u64).hash(&mut hasher);
        self.apps.iter().for_each(|app| app.pid.hash(&mut hasher));
        self.windows_look().hash(&mut hasher);
        hasher.finish()
    }

    /// Differs when the windows differ.
    pub(super) fn windows_look(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        self.active.hash(&mut hasher);
        for window in &self.windows {
            let bounds = (window.bounds.origin().x, window.bounds.origin().y, window.bounds.size());
            (window.id, &window.title, format!("{bounds:?}"), window.state).hash(&mut hasher);
        }
        hasher.finish()
    }

    pub(super) fn say(&mut self, id: &ElementId, kind: Kind, detail: &str, on: bool, text: Option<String>) {
        let pid = self.items.get(id).map(|item| item.pid);
        if pid.is_some_and(|pid| self.temper.silent.contains(&pid)) {
            return;
        }
        self.changes.push_back(Change {
            kind,
            element: id.clone(),
            pid,
            detail: detail.to_owned(),
            on,
            text,
        });
        if MEMORY < self.changes.len() {
            self.changes.pop_front();
            self.first_change += 1;
        }
    }

    pub(super) fn drawn(&mut self, id: &ElementId) {
        let bounds = self.items.get(id).and_then(|item| self.bounds(item));
        if let Some(bounds) = bounds {
            self.drawn_at(bounds);
        }
    }

    pub(super) fn drawn_at(&mut self, area: Rect) {
        self.serial += 1;
        self.damage.push_back((self.serial, area));
        if MEMORY < self.damage.len() {
            self.damage.pop_front();
        }
    }

    fn got(&mut self, id: &ElementId, what: &str) {
        self.received.push(format!("{} {what}", id.0));
    }

    // Windows.

    pub(super) fn number_scene(&mut self, name: &'static str) -> String {
        let number = self.next_scene.entry(name).or_insert(0);
        *number += 1;
        if *number == 1 { name.to_owned() } else { format!("{name}{number}") }
    }

    pub(super) fn new_pid(&mut self) -> u32 {
        self.next_pid += 1;
        self.next_pid - 1
    }

    /// Opens a window in front, with the element `root` for it.
    pub(super) fn new_window(&mut self, pid: u32, title: &str, bounds: Rect, root: &str) -> WindowId {
        let id = WindowId(self.next_window);
        self.next_window += 1;
        self.new_window_as(id, pid, title, bounds, root);
        id
    }

    pub(super) fn new_window_as(&mut self, id: WindowId, pid: u32, title: &str, bounds: Rect, root: &str) {
        let Some(app_root) = self.app(pid).map(|app| app.root.clone()) else {
            panic!("no process {pid} is there");
        };
        self.windows.insert(
            0,
            Win {
                id,
                title: title.to_owned(),
                pid,
                bounds,
                state: WindowState::Normal,
                normal: bounds,
                transient: false,
                popup: false,
                root: ElementId(root.into()),
                focus: None,
            },
        );
        let content = self.windows[0].content();
        let root =
            self.add(&app_root.0, root, Role::Window, title, Rect::new(0, 0, content.width, content.height));
        if let Some(item) = self.items.get_mut(&root) {
            item.window = Some(id);
        }
        self.drawn_at(bounds);
        self.say(&root, Kind::Window, "create", true, None);
    }

    pub(super) fn raise(&mut self, id: WindowId) {
        if let Some(place) = self.win(id) {
            let window = self.windows.remove(place);
            let bounds = window.bounds;
            self.windows.insert(0, window);
            self.drawn_at(bounds);
        }
    }

    pub(super) fn activate(&mut self, id: WindowId) {
        let Some(place) = self.win(id) else { return };
        if self.windows[place].state == WindowState::Minimized {
            self.set_window_state(id, WindowState::Normal);
        }
        let before = self.active.filter(|active| *active != id);
        self.raise(id);
        self.active = Some(id);
        if let Some(place) = before.and_then(|before| self.win(before)) {
            let (root, bounds) = (self.windows[place].root.clone(), self.windows[place].bounds);
            self.say(&root, Kind::Window, "deactivate", false, None);
            self.drawn_at(bounds);
        }
        let (root, focus) = (self.windows[0].root.clone(), self.windows[0].focus.clone());
        self.say(&root, Kind::Window, "activate", true, None);
        if let Some(focus) = focus {
            self.say(&focus, Kind::Focused, "", true, None);
        }
    }

    /// Gives the keyboard to the topmost window that can have it.
    fn activate_next(&mut self) {
        self.active = None;
        let next = self.windows.iter().find(|window| window.shows() && !window.popup).map(|window| window.id);
        if let Some(next) = next {
            self.activate(next);
        }
    }

    pub(super) fn put(&mut self, id: WindowId, bounds: Rect) {
        let Some(place) = self.win(id) else { return };
        let window = &mut self.windows[place];
        let before = std::mem::replace(&mut window.bounds, bounds);
        if window.state == WindowState::Normal {
            window.normal = bounds;
        }
        let (root, content) = (window.root.clone(), window.content());
        let root_place = Rect::new(0, 0, content.width, content.height);
        if let Some(item) = self.items.get_mut(&root) {
            item.place = root_place;
        }
        self.drawn_at(before.union(&bounds));
        self.say(&root, Kind::Window, "move", true, None);
    }

    pub(super) fn set_window_state(&mut self, id: WindowId, state: WindowState) {
        let Some(place) = self.win(id) else { return };
        let window = &mut self.windows[place];
        window.state = state;
        let (root, bounds, normal) = (window.root.clone(), window.bounds, window.normal);
        let display = display_of(&self.displays, &bounds).or(self.displays.first()).cloned();
        match (state, display) {
            (WindowState::Normal, _) => self.put(id, normal),
            (WindowState::Maximized, Some(display)) => self.put(id, display.work_area),
            (WindowState::Fullscreen, Some(display)) => self.put(id, display.bounds),
            (WindowState::Minimized | WindowState::Hidden, _) => {
                self.drawn_at(bounds);
                if self.active == Some(id) {
                    self.activate_next();
                }
            }
            (WindowState::Maximized | WindowState::Fullscreen, None) => {}
        }
        let detail = match state {
            WindowState::Normal => "restore",
            WindowState::Minimized => "minimize",
            WindowState::Maximized => "maximize",
            WindowState::Fullscreen => "fullscreen",
            WindowState::Hidden => "hide",
        };
        self.say(&root, Kind::Window, detail, true, None);
    }

    /// What a close button does.
    pub(super) fn ask_to_close(&mut self, id: WindowId) {
        let Some(place) = self.win(id) else { return };
        let (pid, root) = (self.windows[place].pid, self.windows[place].root.clone());
        if self.temper.silent.contains(&pid) || self.temper.stubborn.contains(&pid) {
            return;
        }
        let unsaved = self.items.get(&ElementId(format!("{}/text", root.0).into()));
        let unsaved = unsaved.is_some_and(|item| item.act == Act::Edit && !item.text.is_empty());
        if self.temper.asks_before_closing && unsaved {
            scene::closing_dialog(self, pid, id);
        } else {
            self.destroy(id);
        }
    }

    /// Takes a window away. An application whose last window has gone ends.
    pub(super) fn destroy(&mut self, id: WindowId) {
        let Some(place) = self.win(id) else { return };
        let window = self.windows.remove(place);
        self.say(&window.root, Kind::Window, "destroy", false, None);
        self.drawn_at(window.bounds);
        if self.items.contains_key(&window.root) {
            self.remove(&window.root.0);
        }
        if self.active == Some(id) {
            self.activate_next();
        }
        if !window.popup && !self.windows.iter().any(|other| other.pid == window.pid) {
            self.end_process(window.pid);
        }
    }

    pub(super) fn end_process(&mut self, pid: u32) {
        let Some(place) = self.apps.iter().position(|app| app.pid == pid) else { return };
        let app = self.apps.remove(place);
        let windows: Vec<_> =
            self.windows.iter().filter(|window| window.pid == pid).map(|window| window.id).collect();
        for window in windows {
            self.destroy(window);
        }
        self.forget(&app.root);
    }

    // The pointer.

    pub(super) fn move_pointer(&mut self, to: Point) {
        let all = self.temper.confined.unwrap_or_else(|| desktop_bounds(&self.displays));
        let within = |value: i32, low: i32, size: u32| {
            let high = i64::from(low) + i64::from(size.max(1)) - 1;
            i32::try_from(i64::from(value).clamp(i64::from(low), high)).unwrap_or(value)
        };
        self.pointer = Point::new(within(to.x, all.x, all.width), within(to.y, all.y, all.height));
        let Some(pressed) = &self.pressed else { return };
        let (at, window_at, window) = (pressed.at, pressed.window_at, pressed.window);
        let (dx, dy) = (self.pointer.x - at.x, self.pointer.y - at.y);
        if pressed.moves {
            if let Some(place) = self.win(window) {
                let bounds = self.windows[place].bounds;
                self.put(window, Rect::new(window_at.x + dx, window_at.y + dy, bounds.width, bounds.height));
            }
        } else if let Some(item) = pressed.item.clone() {
            self.drag(&item, at);
        }
    }

    /// The pointer moves with the left button down on an element.
    fn drag(&mut self, id: &ElementId, from: Point) {
        let Some(item) = self.items.get(id) else { return };
        match item.act {
            Act::Slide { .. } => self.slide_to(id, self.pointer),
            Act::Edit => {
                let (start, end) = (self.character_at(item, from), self.character_at(item, self.pointer));
                self.select_text(id, start.min(end), start.max(end), end);
            }
            _ => {}
        }
    }

    pub(super) fn press(&mut self, button: Button) {
        if self.temper.ignores_clicks {
            return;
        }
        let at = self.pointer;
        let Some(window) = self.window_at(at) else {
            self.close_popups(None);
            return;
        };
        let (id, popup, origin) = (window.id, window.popup, window.bounds.origin());
        let on_content = window.content().contains(at);
        let silent = self.temper.silent.contains(&window.pid);
        let item = self.item_at(window, at).map(|item| item.id.clone());
        if !popup {
            self.close_popups(item.as_ref());
            if self.active != Some(id) {
                self.activate(id);
            }
        }
        let moves = !on_content && button == Button::Left;
        let item = item.filter(|_| !silent && on_content);
        self.pressed = Some(Pressed { button, window: id, item: item.clone(), at, moves, window_at: origin });
        let Some(item) = item else { return };
        if self.item(&item.0).states.has(State::Focusable) && self.item(&item.0).states.has(State::Enabled) {
            self.focus_item(&item);
        }
        if let Act::Slide { .. } = self.item(&item.0).act {
            self.slide_to(&item, at);
        }
    }

    pub(super) fn release(&mut self, button: Button) {
        let Some(pressed) = self.pressed.take_if(|pressed| pressed.button == button) else { return };
        let Some(id) = pressed.item else { return };
        let same = self.window_at(self.pointer).filter(|window| window.id == pressed.window);
        let same =
            same.and_then(|window| self.item_at(window, self.pointer)).is_some_and(|item| item.id == id);
        if !same {
            if self.items.contains_key(&id) {
                self.got(&id, "dragged");
            }
            return;
        }
        let count = self.count_click(button);
        self.clicked(&id, button, count, pressed.at);
    }

    fn count_click(&mut self, button: Button) -> u32 {
        let at = self.pointer;
        let before = self.clicks.as_ref().filter(|clicks| {
            clicks.button == button && (clicks.at.x - at.x).abs() <= 4 && (clicks.at.y - at.y).abs() <= 4
        });
        let count = before.map_or(1, |clicks| clicks.count % 3 + 1);
        self.clicks = Some(Clicks { button, at, count });
        count
    }

    fn clicked(&mut self, id: &ElementId, button: Button, count: u32, from: Point) {
        let name = match button {
            Button::Left => "",
            Button::Middle => "middle ",
            Button::Right => "right ",
            Button::Back => "back ",
            Button::Forward => "forward ",
        };
        let times = match count {
            1 => "",
            2 => "double ",
            _ => "triple ",
        };
        if !self.item(&id.0).states.has(State::Enabled) {
            return;
        }
        let modifiers = self.modifiers();
        let with = if modifiers.is_empty() { String::new() } else { format!(" with {modifiers}") };
        self.got(id, &format!("{name}{times}clicked{with}"));
        let item = self.item(&id.0);
        match (button, item.act) {
            (Button::Left, Act::Edit) => {
                let (end, start) = (self.character_at(item, self.pointer), self.character_at(item, from));
                let (start, end) = match count {
                    1 => (start.min(end), start.max(end)),
                    2 => word_around(&item.text, end),
                    _ => line_around(&item.text, end),
                };
                self.select_text(id, start, end, end);
            }
            (Button::Left, Act::Slide { .. }) => {}
            (Button::Left, _) => self.work(id),
            (Button::Right, Act::Edit) => scene::context_menu(self, id, self.pointer),
            _ => {}
        }
    }

    pub(super) fn wheel(&mut self, across: i32, down: i32) {
        if self.temper.ignores_clicks {
            return;
        }
        let Some(window) = self.window_at(self.pointer) else { return };
        if self.temper.silent.contains(&window.pid) {
            return;
        }
        let Some(item) = self.item_at(window, self.pointer) else { return };
        if let Act::Slide { step, .. } = item.act {
            let (id, now) = (item.id.clone(), item.text.parse::<f64>().unwrap_or(0.0));
            self.slide(&id, now - f64::from(step) * f64::from(down));
            return;
        }
        let pane =
            std::iter::once(item).chain(self.above(item)).find(|item| matches!(item.act, Act::Scroll { .. }));
        let Some(id) = pane.map(|pane| pane.id.clone()) else { return };
        if across != 0 {
            self.got(&id, "scrolled across");
        }
        if down != 0 {
            self.scroll_by(&id, down.saturating_mul(NOTCH));
        }
    }

    pub(super) fn scroll_by(&mut self, id: &ElementId, by: i32) {
        let item = self.item_mut(&id.0);
        let Act::Scroll { height } = item.act else { return };
        let most = (height - i32::try_from(item.place.height).unwrap_or(0)).max(0);
        let now = item.scrolled.saturating_add(by).clamp(0, most);
        let before = std::mem::replace(&mut item.scrolled, now);
        let bar = item.children.iter().find(|child| child.0.ends_with("/bar")).cloned();
        if before != now {
            self.drawn(id);
            self.got(id, &format!("scrolled to {now}"));
            if let Some(bar) = bar {
                self.set_text(&bar.0, &now.to_string());
            }
        }
    }

    /// Scrolls the pane around an element until it shows.
    pub(super) fn reveal(&mut self, id: &ElementId) {
        let item = self.item(&id.0);
        let Some((pane, bounds)) = self.pane_of(item).and_then(|pane| Some((pane, self.bounds(pane)?)))
        else {
            return;
        };
        let Some(own) = self.bounds(item) else { return };
        let pane = pane.id.clone();
        if own.y < bounds.y {
            self.scroll_by(&pane, own.y - bounds.y);
        } else if bounds.bottom() < own.bottom() {
            self.scroll_by(&pane, i32::try_from(own.bottom() - bounds.bottom()).unwrap_or(0));
        }
    }

    fn close_popups(&mut self, but_menus_of: Option<&ElementId>) {
        let popups: Vec<_> =
            self.windows.iter().filter(|window| window.popup).map(|window| window.id).collect();
        for popup in popups {
            self.destroy(popup);
        }
        let keep = but_menus_of.and_then(|id| self.items.get(id)).map(|item| match item.act {
            Act::MenuItem(_) => item.parent.clone(),
            _ => Some(item.id.clone()),
        });
        let open: Vec<ElementId> = self
            .items
            .values()
            .filter(|item| item.act == Act::Menu && item.states.has(State::Expanded))
            .map(|item| item.id.clone())
            .filter(|id| Some(Some(id)) != keep.as_ref().map(Option::as_ref))
            .collect();
        for menu in open {
            self.open_menu(&menu, false);
        }
    }

    fn open_menu(&mut self, id: &ElementId, open: bool) {
        self.set_state(&id.0, State::Expanded, open);
        for child in self.item(&id.0).children.clone() {
            self.set_state(&child.0, State::Visible, open);
            // The surface of a menu behind a button.
            if self.item(&child.0).role == Role::Menu {
                for item in self.item(&child.0).children.clone() {
                    self.set_state(&item.0, State::Visible, open);
                }
            }
        }
    }

    // What elements do.

    /// What an element does when it is clicked, or when its action is performed. Disabled ones do nothing.
    pub(super) fn work(&mut self, id: &ElementId) {
        let item = self.item(&id.0);
        if !item.states.has(State::Enabled) {
            return;
        }
        let (window, scene) = (item.window, id.0.split('/').next().unwrap_or_default().to_owned());
        match item.act {
            Act::Nothing | Act::Edit | Act::Slide { .. } | Act::Scroll { .. } | Act::Bar => {}
            Act::Save => self.save(&scene),
            Act::Toggle => {
                let on = item.states.has(State::Checked);
                self.set_state(&id.0, State::Checked, !on);
            }
            Act::Calculate(key) => self.calculate(&scene, key),
            Act::Choose => self.choose(id),
            Act::Menu => {
                let open = item.states.has(State::Expanded);
                self.open_menu(id, !open);
            }
            Act::MenuItem(act) => {
                self.close_popups(None);
                match (act, window) {
                    (MenuAct::New, _) => self.set_text(&format!("{scene}/text"), ""),
                    (MenuAct::Save, _) => self.save(&scene),
                    (MenuAct::Quit, Some(window)) => self.ask_to_close(window),
                    (MenuAct::Quit, None) => {}
                    (MenuAct::SelectAll, _) => self.select_all(),
                }
            }
            Act::Close { all } => {
                let about = self.item(&id.0).description.parse().ok().map(WindowId).filter(|_| all);
                for window in window.into_iter().chain(about) {
                    self.destroy(window);
                }
            }
            Act::Follow => self.set_state(&id.0, State::Visited, true),
        }
    }

    fn save(&mut self, scene: &str) {
        let status = format!("{scene}/status");
        if self.items.contains_key(&ElementId(status.as_str().into())) {
            self.set_name(&status, "Saved");
        }
    }

    fn choose(&mut self, id: &ElementId) {
        let list = self.item(&id.0).parent.clone();
        let others = list.as_ref().map(|list| self.item(&list.0).children.clone()).unwrap_or_default();
        for other in others {
            let selected = self.item(&other.0).states.has(State::Selected);
            if selected != (other == *id) {
                self.set_state(&other.0, State::Selected, other == *id);
            }
        }
        if let Some(list) = list {
            self.say(&list, Kind::Selection, "", true, None);
        }
    }

    /// A calculator as simple as they come: from left to right.
    fn calculate(&mut self, scene: &str, key: char) {
        let result = format!("{scene}/result");
        let shown = self.item(&result).text.clone();
        let next = match key {
            'C' => "0".to_owned(),
            '=' => scene::evaluate(&shown).unwrap_or_else(|| "Error".to_owned()),
            _ if (shown == "0" || shown == "Error") && key.is_ascii_digit() => key.to_string(),
            _ if shown == "Error" => shown,
            key => format!("{shown}{key}"),
        };
        self.set_text(&result, &next);
    }

    fn slide_to(&mut self, id: &ElementId, at: Point) {
        let item = self.item(&id.0);
        let (Act::Slide { least, most, .. }, Some(bounds)) = (item.act, self.bounds(item)) else { return };
        if !item.states.has(State::Enabled) {
            return;
        }
        let along = f64::from(at.x - bounds.x) / f64::from(bounds.width.max(1));
        self.slide(id, f64::from(least) + along * f64::from(most - least));
    }

    /// Sets a slider to the nearest of its steps.
    pub(super) fn slide(&mut self, id: &ElementId, to: f64) {
        let Act::Slide { least, most, step } = self.item(&id.0).act else { return };
        let stepped = ((to - f64::from(least)) / f64::from(step)).round() as i32;
        let value = least.saturating_add(stepped.saturating_mul(step)).clamp(least, most).to_string();
        if self.item(&id.0).text != value {
            self.set_text(&id.0, &value);
        }
    }

    pub(super) fn focus_item(&mut self, id: &ElementId) {
        let Some(place) = self.item(&id.0).window.and_then(|window| self.win(window)) else { return };
        let before = self.windows[place].focus.replace(id.clone());
        if before.as_ref() == Some(id) {
            return;
        }
        if let Some(before) = before.filter(|before| self.items.contains_key(before)) {
            self.drawn(&before);
            self.say(&before, Kind::State, State::Focused.name(), false, None);
        }
        self.drawn(id);
        if self.active == Some(self.windows[place].id) {
            self.say(id, Kind::Focused, "", true, None);
        }
    }

    // The keyboard.

    fn holds(&self, keys: [NamedKey; 2]) -> bool {
        keys.iter().any(|key| self.held.contains(&Held::Key(Key::Named(*key))))
    }

    /// The modifiers that are down: `ctrl+shift`.
    fn modifiers(&self) -> String {
        let all = [
            ("ctrl", [NamedKey::Ctrl, NamedKey::CtrlRight]),
            ("shift", [NamedKey::Shift, NamedKey::ShiftRight]),
            ("alt", [NamedKey::Alt, NamedKey::AltRight]),
            ("meta", [NamedKey::Meta, NamedKey::MetaRight]),
        ];
        let down: Vec<_> =
            all.into_iter().filter(|(_, keys)| self.holds(*keys)).map(|(name, _)| name).collect();
        down.join("+")
    }

    /// A key goes down; `held` knows of it already.
    pub(super) fn key_down(&mut self, key: Key) {
        let Some(window) = self.active.and_then(|active| self.win(active)) else { return };
        let (window, pid) = (self.windows[window].id, self.windows[window].pid);
        if self.temper.ignores_keys || self.temper.silent.contains(&pid) {
            return;
        }
        if matches!(key, Key::Named(named) if named.is_modifier()) {
            return;
        }
        let modifiers = self.modifiers();
        if modifiers.is_empty() || modifiers == "shift" {
            self.plain_key(key, !modifiers.is_empty());
            return;
        }
        if let Some(app) = self.app(pid) {
            let line = format!("{} got {modifiers}+{key}", app.process);
            self.received.push(line);
        }
        let scene = self.focused().map(|id| id.0.split('/').next().unwrap_or_default().to_owned());
        match (modifiers.as_str(), key) {
            ("ctrl", Key::Char('a' | 'A')) => self.select_all(),
            ("ctrl", Key::Char('v' | 'V')) => self.paste(pid),
            ("ctrl", Key::Char('s' | 'S')) => self.save(&scene.unwrap_or_default()),
            ("ctrl", Key::Char('w' | 'q')) | ("alt", Key::Named(NamedKey::F4)) => self.ask_to_close(window),
            _ => {}
        }
    }

    fn paste(&mut self, pid: u32) {
        let edits = self.focused().is_some_and(|id| self.item(&id.0).act == Act::Edit);
        if edits && let Some(text) = self.board.paste(pid) {
            for c in text.chars() {
                self.plain_key(if c == '\n' { Key::Named(NamedKey::Enter) } else { Key::Char(c) }, false);
            }
        }
    }

    fn plain_key(&mut self, key: Key, shift: bool) {
        if key == Key::Named(NamedKey::Escape) {
            self.close_popups(None);
        }
        let Some(id) = self.focused() else { return };
        let item = self.item(&id.0);
        let (act, role) = (item.act, item.role);
        match (act, key) {
            (_, Key::Named(NamedKey::Tab)) if role != Role::TextArea => self.focus_next(shift),
            (Act::Edit, _) => self.edit_key(&id, key, shift),
            (Act::Calculate(_), Key::Named(NamedKey::Enter | NamedKey::Space)) => {
                self.pressed_by_key(&id, key)
            }
            (Act::Calculate(_), Key::Char(c)) => self.calculator_character(&id, c),
            (Act::Slide { step, .. }, Key::Named(named)) => {
                let now: f64 = self.item(&id.0).text.parse().unwrap_or(0.0);
                match named {
                    NamedKey::Right | NamedKey::Up => self.slide(&id, now + f64::from(step)),
                    NamedKey::Left | NamedKey::Down => self.slide(&id, now - f64::from(step)),
                    _ => {}
                }
            }
            (_, Key::Named(NamedKey::Enter | NamedKey::Space)) => self.pressed_by_key(&id, key),
            _ => self.got(&id, &format!("got key {key}")),
        }
    }

    fn pressed_by_key(&mut self, id: &ElementId, key: Key) {
        self.got(id, &format!("got key {key}"));
        self.work(id);
    }

    fn calculator_character(&mut self, id: &ElementId, c: char) {
        let scene = id.0.split('/').next().unwrap_or_default().to_owned();
        match c {
            '0'..='9' | '+' | '-' | '.' | '=' => self.calculate(&scene, c),
            '*' => self.calculate(&scene, '×'),
            '/' => self.calculate(&scene, '÷'),
            _ => {}
        }
    }

    fn edit_key(&mut self, id: &ElementId, key: Key, shift: bool) {
        let item = self.item(&id.0);
        let (count, caret, multiline) =
            (item.text.chars().count(), item.caret, item.states.has(State::Multiline));
        let selected = item.selection.unwrap_or((caret, caret));
        match key {
            Key::Char(c) => {
                let typed = if shift { c.to_uppercase().collect() } else { c.to_string() };
                self.insert(id, &typed);
            }
            Key::Named(NamedKey::Space) => self.insert(id, " "),
            Key::Named(NamedKey::Tab) => self.insert(id, "\t"),
            Key::Named(NamedKey::Enter | NamedKey::NumpadEnter) if multiline => self.insert(id, "\n"),
            Key::Named(NamedKey::Backspace) if selected.0 == selected.1 => {
                self.replace(id, caret.saturating_sub(1), caret, "");
            }
            Key::Named(NamedKey::Delete) if selected.0 == selected.1 => {
                self.replace(id, caret, (caret + 1).min(count), "");
            }
            Key::Named(NamedKey::Backspace | NamedKey::Delete) => self.insert(id, ""),
            Key::Named(NamedKey::Left) => self.select_text(id, 0, 0, caret.saturating_sub(1)),
            Key::Named(NamedKey::Right) => self.select_text(id, 0, 0, (caret + 1).min(count)),
            Key::Named(NamedKey::Home) => self.select_text(id, 0, 0, 0),
            Key::Named(NamedKey::End) => self.select_text(id, 0, 0, count),
            Key::Named(_) => self.got(id, &format!("got key {key}")),
        }
    }

    /// One character of a typed text arrives at what has the keyboard now.
    pub(super) fn typed(&mut self, c: char) {
        match &mut self.temper.thief {
            Some((0, window)) => {
                let window = *window;
                self.temper.thief = None;
                self.activate(window);
            }
            Some((left, _)) => *left -= 1,
            None => {}
        }
        let key = match c {
            '\n' => Key::Named(NamedKey::Enter),
            '\t' => Key::Named(NamedKey::Tab),
            c => Key::Char(c),
        };
        self.key_down(key);
    }

    fn focus_next(&mut self, backward: bool) {
        let Some(place) = self.active.and_then(|active| self.win(active)) else { return };
        let mut order = Vec::new();
        self.focusable_below(&self.windows[place].root, &mut order);
        if backward {
            order.reverse();
        }
        let now =
            self.windows[place].focus.as_ref().and_then(|id| order.iter().position(|other| other == id));
        let next = now.map_or(0, |now| (now + 1) % order.len().max(1));
        if let Some(next) = order.get(next).cloned() {
            self.focus_item(&next);
        }
    }

    fn focusable_below(&self, id: &ElementId, order: &mut Vec<ElementId>) {
        let Some(item) = self.items.get(id) else { return };
        if item.states.has(State::Focusable) && item.states.has(State::Enabled) && self.shows(item) {
            order.push(id.clone());
        }
        for child in &item.children {
            self.focusable_below(child, order);
        }
    }

    // Texts.

    /// Puts a text in the place of what is selected.
    pub(super) fn insert(&mut self, id: &ElementId, text: &str) {
        let item = self.item(&id.0);
        let (start, end) = item.selection.unwrap_or((item.caret, item.caret));
        self.replace(id, start, end, text);
    }

    pub(super) fn replace(&mut self, id: &ElementId, start: usize, end: usize, text: &str) {
        let item = self.item_mut(&id.0);
        if item.states.has(State::ReadOnly) || !item.states.has(State::Enabled) {
            return;
        }
        let characters: Vec<char> = item.text.chars().collect();
        let (start, end) = (start.min(characters.len()), end.min(characters.len()));
        let removed: String = characters[start..end].iter().collect();
        item.text = characters[..start]
            .iter()
            .copied()
            .chain(text.chars())
            .chain(characters[end..].iter().copied())
            .collect();
        item.caret = start + text.chars().count();
        item.selection = None;
        let hidden = item.role == Role::PasswordField;
        let told = |text: &str| (!hidden).then(|| text.to_owned());
        self.drawn(id);
        if !removed.is_empty() {
            self.say(id, Kind::Text, "delete", false, told(&removed));
        }
        if !text.is_empty() {
            self.note_text(id, text);
            self.say(id, Kind::Text, "insert", true, told(text));
        }
    }

    /// What is typed one after the other into one element is one line of what it got.
    fn note_text(&mut self, id: &ElementId, text: &str) {
        let begin = format!("{} got \"", id.0);
        match self.received.last_mut() {
            Some(last) if last.starts_with(&begin) => {
                last.pop();
                last.extend(text.escape_debug());
                last.push('"');
            }
            _ => self.received.push(format!("{begin}{}\"", text.escape_debug())),
        }
    }

    fn select_all(&mut self) {
        let Some(id) = self.focused() else { return };
        if self.item(&id.0).act == Act::Edit {
            let count = self.item(&id.0).text.chars().count();
            self.select_text(&id, 0, count, count);
        }
    }

    pub(super) fn select_text(&mut self, id: &ElementId, start: usize, end: usize, caret: usize) {
        let item = self.item_mut(&id.0);
        let selection = (start < end).then_some((start, end));
        if item.selection == selection && item.caret == caret {
            return;
        }
        (item.selection, item.caret) = (selection, caret);
        self.drawn(id);
        self.say(id, Kind::Caret, "", true, None);
    }

    fn character_at(&self, item: &Item, at: Point) -> usize {
        let Some(bounds) = self.bounds(item) else { return 0 };
        let line = usize::try_from((at.y - bounds.y) / CHARACTER.1).unwrap_or(0);
        let column = usize::try_from((at.x - bounds.x + CHARACTER.0 / 2) / CHARACTER.0).unwrap_or(0);
        let line = if item.states.has(State::Multiline) { line } else { 0 };
        let mut passed = 0;
        for (number, text) in item.text.split('\n').enumerate() {
            let count = text.chars().count();
            if number == line {
                return passed + column.min(count);
            }
            passed += count + 1;
        }
        item.text.chars().count()
    }
}

impl Win {
    /// Where its content lies.
    pub fn content(&self) -> Rect {
        if self.popup || self.state == WindowState::Fullscreen {
            return self.bounds;
        }
        let bar = TITLE_BAR.min(self.bounds.height);
        Rect::new(
            self.bounds.x,
            self.bounds.y.saturating_add(bar as i32),
            self.bounds.width,
            self.bounds.height - bar,
        )
    }

    /// Whether it is on the screen.
    pub fn shows(&self) -> bool {
        match self.state {
            WindowState::Normal | WindowState::Maximized | WindowState::Fullscreen => true,
            WindowState::Minimized | WindowState::Hidden => false,
        }
    }
}

fn word_around(text: &str, at: usize) -> (usize, usize) {
    around(text, at, |c| c.is_alphanumeric())
}

fn line_around(text: &str, at: usize) -> (usize, usize) {
    around(text, at, |c| c != '\n')
}

fn around(text: &str, at: usize, belongs: impl Fn(char) -> bool) -> (usize, usize) {
    let characters: Vec<char> = text.chars().collect();
    let at = at.min(characters.len());
    let before = characters[..at].iter().rev().take_while(|c| belongs(**c)).count();
    let after = characters[at..].iter().take_while(|c| belongs(**c)).count();
    (at - before, at + after)
}
