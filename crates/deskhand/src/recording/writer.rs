//! From acts to steps: presses and lets-go become clicks and drags, keys become texts and combinations.

use super::address::{self, Address};
use crate::macros::{Kind, Parameter};
use crate::steps::StepList;
use deskhand_core::element::{Element, Role, State};
use deskhand_core::input::{Button, Press};
use deskhand_core::key::{Key, Modifier, NamedKey};
use deskhand_core::person::{Act, Keystroke, What};
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Call, Desktop, Point, Result};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The steps.
    pub steps: StepList,
    /// What has to be given when they are run: what was typed into password fields, of which nothing is kept.
    pub parameters: Vec<Parameter>,
    /// What could not be recorded as it was, sentences.
    pub notes: Vec<String>,
}

/// How long one look at the desktop may take. What does not answer is recorded by its place.
const LOOK: Duration = Duration::from_millis(800);
/// A press and its release this close together are a click.
const SAME_PLACE: i32 = 5;
/// How many places of a drag are kept between its ends.
const MOST_WAYPOINTS: usize = 30;
/// How many steps a recording has at most.
const MOST_STEPS: usize = 500;
/// A key that stays down longer than this has repeated itself.
const REPEATS_AFTER: Duration = Duration::from_millis(400);

/// Makes steps of acts.
pub struct Writer {
    desktop: Arc<Desktop>,
    double_click: Duration,
    steps: Vec<Value>,
    parameters: Vec<Parameter>,
    notes: Vec<String>,
    /// The windows that were there at the last look.
    known: Vec<WindowId>,
    pressed: Option<Pressed>,
    last_click: Option<LastClick>,
    typing: Option<Typing>,
    scrolling: Option<Scrolling>,
    /// How many of the last steps opened menus.
    opened_menus: usize,
    /// Buttons that stay pressed and were clicked already.
    toggled: Vec<String>,
    /// The key that is down, and since when.
    key: Option<(Key, Instant)>,
}

/// What lay under the pointer.
#[derive(Clone)]
struct Under {
    window: Option<Window>,
    /// What the window is called in steps.
    name: Option<String>,
    hit: Option<Element>,
    address: Option<Address>,
}

struct Pressed {
    button: Button,
    at: Point,
    modifiers: Vec<Modifier>,
    under: Under,
    way: Vec<Point>,
}

struct LastClick {
    button: Button,
    at: Point,
    time: Instant,
    count: u64,
}

struct Typing {
    window: Option<String>,
    focus: Option<Element>,
    selector: Option<String>,
    text: String,
    how: Kept,
}

/// Whether what is typed may stand in a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Text,
    /// It is typed into a password field.
    Secret,
    /// Nobody can say what it is typed into.
    Unknown,
}

struct Scrolling {
    window: Option<WindowId>,
    at: Point,
    direction: &'static str,
}

impl Writer {
    /// Begins with what is there now.
    pub fn begin(call: &Call, desktop: Arc<Desktop>) -> Result<Writer> {
        let known = desktop.windows.list(call)?.iter().map(|window| window.id).collect();
        let double_click = desktop.double_click_time(call).unwrap_or(Duration::from_millis(500));
        Ok(Writer {
            desktop,
            double_click,
            steps: Vec::new(),
            parameters: Vec::new(),
            notes: Vec::new(),
            known,
            pressed: None,
            last_click: None,
            typing: None,
            scrolling: None,
            opened_menus: 0,
            toggled: Vec::new(),
            key: None,
        })
    }

    /// How many steps stand so far.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Takes what a person did.
    pub fn take(&mut self, act: &Act) {
        match &act.what {
            What::Moved => {
                if let Some(pressed) = &mut self.pressed {
                    pressed.way.push(act.at);
                }
            }
            What::Button(button, Press::Down) => self.press(*button, act),
            What::Button(button, Press::Up) => self.release(*button, act),
            What::Wheel { across, down } => self.turn(*across, *down, act),
            What::Key(stroke, Press::Down) => self.key_down(*stroke, act),
            What::Key(stroke, Press::Up) => self.key_up(*stroke, act),
            What::Touch(Press::Down) => self.note("A touch was not recorded: only mouse and keyboard are."),
            What::Touch(Press::Up) => {}
        }
    }

    /// Ends with what was under way; `why` it ended by itself.
    pub fn end(mut self, why: Option<String>) -> Recorded {
        self.flush();
        if self.pressed.take().is_some() {
            self.note("A button was still down at the end: that press is not recorded.");
        }
        self.notes.extend(why);
        Recorded { steps: StepList(self.steps), parameters: self.parameters, notes: self.notes }
    }

    fn look() -> Call {
        Call::with_timeout(LOOK)
    }

    fn note(&mut self, note: &str) {
        if self.notes.len() < 50 && !self.notes.iter().any(|other| other == note) {
            self.notes.push(note.to_owned());
        }
    }

    fn add(&mut self, tool: &str, arguments: Value) {
        self.push(json!({ "tool": tool, "arguments": arguments }));
    }

    fn push(&mut self, step: Value) {
        if MOST_STEPS <= self.steps.len() {
            return self.note("It became too long: what came after 500 steps is not recorded.");
        }
        self.steps.push(step);
    }

    /// The windows now; a step waits for `target` when it was not there before.
    fn arrive(&mut self, target: Option<WindowId>) -> Vec<Window> {
        let Ok(windows) = self.desktop.windows.list(&Writer::look()) else { return Vec::new() };
        let fresh =
            windows.iter().find(|window| Some(window.id) == target && !self.known.contains(&window.id));
        if let Some(title) = fresh.and_then(address::title_of) {
            self.push(json!({ "wait": { "window_title": title } }));
        }
        self.known = windows.iter().map(|window| window.id).collect();
        windows
    }

    /// What lies at a point: the element first, because the click is about to change it.
    fn under(&mut self, at: Point) -> Under {
        let call = Writer::look();
        let mut window = self.desktop.windows.at(&call, at).ok().flatten();
        let hit = window.as_ref().map(|window| {
            let pid = window.pid;
            self.answered(&call, pid, || self.desktop.elements.at(&call, window.id, at))
        });
        let hit = self.told(hit.transpose(), at).flatten().flatten();
        let call = Writer::look();
        let address = match (&window, &hit) {
            (Some(window), Some(hit)) => {
                let address = address::of_element(&call, &self.desktop, window, hit, Some(at));
                self.told(address, at).flatten()
            }
            _ => None,
        };
        self.flush();
        let windows = self.arrive(window.as_ref().map(|window| window.id));
        // A menu is a window of its own that no step can name: the one that it belongs to is meant.
        let listed = |id: WindowId| windows.iter().find(|window| window.id == id).cloned();
        if let Some(shown) = &window
            && listed(shown.id).is_none()
        {
            let of_hit = hit.as_ref().and_then(|hit| listed(hit.window?));
            let pid = shown.pid.or_else(|| hit.as_ref()?.pid);
            window =
                of_hit.or_else(|| windows.iter().find(|other| pid.is_some() && other.pid == pid).cloned());
        }
        let name = window.as_ref().and_then(|window| address::of_window(&windows, window));
        Under { window, name, hit, address }
    }

    /// Asks for an element, and once more a moment later where the application has some and shows none: while
    /// its window changes its title, say, nobody knows which one is which.
    fn answered(
        &self,
        call: &Call,
        pid: Option<u32>,
        ask: impl Fn() -> Result<Option<Element>>,
    ) -> Result<Option<Element>> {
        let first = ask()?;
        if first.is_some() || !self.has_tree(pid) {
            return Ok(first);
        }
        call.until_within(Duration::from_millis(150), "looking for an element again", ask)
    }

    /// An answer of the application, or a note why there is none.
    fn told<T>(&mut self, answer: Result<T>, at: Point) -> Option<T> {
        let why = |error: &deskhand_core::Error| {
            format!("What lies at {at} is recorded by its place: {}", error.message)
        };
        answer.map_err(|error| self.note(&why(&error))).ok()
    }

    fn press(&mut self, button: Button, act: &Act) {
        let under = self.under(act.at);
        self.scrolling = None;
        if self.pressed.is_some() {
            self.note("Two buttons were down at once: each is recorded by itself.");
        }
        self.pressed =
            Some(Pressed { button, at: act.at, modifiers: act.modifiers.clone(), under, way: Vec::new() });
    }

    fn release(&mut self, button: Button, act: &Act) {
        let Some(pressed) = self.pressed.take_if(|pressed| pressed.button == button) else { return };
        let far = (act.at.x - pressed.at.x).abs().max((act.at.y - pressed.at.y).abs());
        if far <= SAME_PLACE {
            return self.click(&pressed, act);
        }
        let on_menu =
            pressed.under.address.as_ref().is_some_and(|address| address.element.role == Role::Menu);
        if on_menu {
            // Menus are worked in one go as well: pressed on the bar, let go on the item.
            let item = self.under(act.at);
            if item.address.is_some() {
                return self.click(&Pressed { under: item, ..pressed }, act);
            }
        }
        self.drag(&pressed, act.at);
    }

    fn click(&mut self, pressed: &Pressed, act: &Act) {
        let Pressed { button, at, under, .. } = pressed;
        let again = self.last_click.take().filter(|last| {
            let near = (last.at.x - at.x).abs().max((last.at.y - at.y).abs()) <= SAME_PLACE;
            let once =
                under.address.as_ref().is_some_and(|address| knows_single_clicks(address.element.role));
            last.button == *button
                && near
                && !once
                && act.time.duration_since(last.time) <= self.double_click
                && last.count < 3
        });
        let count = again.map_or(1, |last| last.count + 1);
        self.last_click = Some(LastClick { button: *button, at: *at, time: act.time, count });
        if 1 < count {
            // The step before was the first half of this one.
            if let Some(step) = self.steps.last_mut() {
                if let Some(arguments) = step.get_mut("arguments").and_then(Value::as_object_mut) {
                    arguments.insert("click_count".to_owned(), json!(count));
                }
                return;
            }
        }
        let plain = *button == Button::Left && pressed.modifiers.is_empty();
        if let Some(address) = under.address.as_ref().filter(|address| plain && 1 < address.menu_path.len()) {
            let path = address.menu_path.join(" > ");
            // The way through the menus is the path.
            self.steps.truncate(self.steps.len() - self.opened_menus.min(self.steps.len()));
            self.opened_menus = 0;
            return self.add("click_menu_item", in_window(json!({ "path": path }), under.name.as_deref()));
        }
        let role = under.address.as_ref().map(|address| address.element.role);
        self.opened_menus = if plain && role == Some(Role::Menu) { self.opened_menus + 1 } else { 0 };
        if let Some(address) = &under.address {
            self.await_toggle(address, under.name.as_deref());
        }
        let (tool, mut arguments) = match &under.address {
            Some(address) => ("click_ui_element", json!({ "element": address.selector })),
            None => ("click", place(under, *at)),
        };
        arguments = in_window(arguments, under.name.as_deref());
        self.add(tool, with_hands(arguments, *button, &pressed.modifiers));
    }

    /// Some buttons come up again a moment after they were clicked, and a click before that takes the first one
    /// back. A person is slow enough; steps wait until it is as the person found it.
    fn await_toggle(&mut self, address: &Address, window: Option<&str>) {
        let Address { selector, element, .. } = address;
        if element.role != Role::ToggleButton || selector.contains(":nth(") {
            return;
        }
        if !self.toggled.contains(selector) {
            return self.toggled.push(selector.clone());
        }
        let state = if element.states.has(State::Checked) { ":checked" } else { ":not(:checked)" };
        let wait = in_window(json!({ "selector": format!("{selector}{state}") }), window);
        self.push(json!({ "wait": wait }));
    }

    fn drag(&mut self, pressed: &Pressed, to: Point) {
        let origin = origin(&pressed.under);
        let (from, to) = (minus(pressed.at, origin), minus(to, origin));
        let step = pressed.way.len().div_ceil(MOST_WAYPOINTS).max(1);
        let inner = pressed.way.len().saturating_sub(1);
        let way: Vec<Value> = pressed.way[..inner]
            .iter()
            .step_by(step)
            .map(|point| minus(*point, origin))
            .map(|point| json!({ "x": point.x, "y": point.y }))
            .collect();
        let mut arguments = json!({ "start_x": from.x, "start_y": from.y, "end_x": to.x, "end_y": to.y });
        if !way.is_empty() {
            arguments["path"] = Value::Array(way);
        }
        let arguments = in_window(arguments, pressed.under.name.as_deref());
        self.last_click = None;
        self.opened_menus = 0;
        self.add("drag", with_hands(arguments, pressed.button, &pressed.modifiers));
    }

    fn turn(&mut self, across: i32, down: i32, act: &Act) {
        let (direction, notches) = match (across, down) {
            (0, down) if 0 < down => ("down", down),
            (0, down) => ("up", -down),
            (across, _) if 0 < across => ("right", across),
            (across, _) => ("left", -across),
        };
        let call = Writer::look();
        let window = self.desktop.windows.at(&call, act.at).ok().flatten().map(|window| window.id);
        let goes_on = self.scrolling.as_ref().is_some_and(|last| {
            let near = (last.at.x - act.at.x).abs().max((last.at.y - act.at.y).abs()) <= 40;
            near && last.window == window && last.direction == direction
        });
        if goes_on && let Some(arguments) = self.steps.last_mut().and_then(|step| step.get_mut("arguments")) {
            let before = arguments["notches"].as_i64().unwrap_or(0);
            arguments["notches"] = json!(before + i64::from(notches));
            return;
        }
        let under = self.under(act.at);
        let pane = match (&under.window, &under.hit) {
            (Some(window), Some(hit)) => {
                address::scrolled(&Writer::look(), &self.desktop, window, hit).ok().flatten()
            }
            _ => None,
        };
        let mut arguments = match pane {
            Some(selector) => json!({ "element": selector }),
            None => place(&under, act.at),
        };
        arguments["direction"] = json!(direction);
        arguments["notches"] = json!(notches);
        let arguments = in_window(arguments, under.name.as_deref());
        self.add("scroll", with_hands(arguments, Button::Left, &act.modifiers));
        self.last_click = None;
        self.scrolling = Some(Scrolling { window, at: act.at, direction });
    }

    fn key_down(&mut self, stroke: Keystroke, act: &Act) {
        if let Some(Key::Named(named)) = stroke.key
            && (named.is_modifier() || matches!(named, NamedKey::CapsLock | NamedKey::NumLock))
        {
            // They show in what is pressed with them.
            return;
        }
        (self.last_click, self.scrolling, self.opened_menus) = (None, None, 0);
        self.key = stroke.key.map(|key| (key, act.time));
        if let Some(c) = stroke.text {
            return self.character(c);
        }
        let plain = act.modifiers.is_empty();
        if plain
            && stroke.key == Some(Key::Named(NamedKey::Backspace))
            && let Some(typing) = &mut self.typing
            && (typing.how != Kept::Text || typing.text.pop().is_some())
        {
            // Of a secret nothing is kept that could be taken back.
            return;
        }
        let Some(key) = stroke.key else {
            return self.note("A key without a name (a dead key, say) was pressed: characters that are put together from several keys are not recorded.");
        };
        self.flush();
        let window = self.active();
        let combination: String =
            act.modifiers.iter().map(|modifier| format!("{}+", modifier.name())).collect();
        let key = format!("{combination}{key}");
        let arguments = in_window(json!({ "key": key }), window.as_deref());
        if let Some(last) = self.steps.last_mut()
            && last["tool"] == "press_key"
            && last["arguments"]["key"] == arguments["key"]
            && last["arguments"]["window"] == arguments["window"]
        {
            let times = last["arguments"]["repeat"].as_u64().unwrap_or(1);
            last["arguments"]["repeat"] = json!(times + 1);
            return;
        }
        self.add("press_key", arguments);
    }

    fn key_up(&mut self, stroke: Keystroke, act: &Act) {
        if let Some((key, since)) = self.key.take_if(|(key, _)| Some(*key) == stroke.key)
            && REPEATS_AFTER < act.time.duration_since(since)
        {
            let secret = self.typing.as_ref().is_some_and(|typing| typing.how != Kept::Text);
            let key = if secret { "A key".to_owned() } else { format!("The key {key}") };
            self.note(&format!("{key} was held down; it is recorded as pressed once."));
        }
    }

    fn character(&mut self, c: char) {
        let call = Writer::look();
        let pid = self.active_window().and_then(|window| window.pid);
        let focus = self.answered(&call, pid, || self.desktop.elements.focused(&call));
        let now = focus.as_ref().ok().and_then(Option::as_ref);
        let goes_on = self.typing.as_ref().is_some_and(|typing| {
            typing.focus.as_ref().map(|element| &element.id) == now.map(|element| &element.id)
        });
        // The focus may have moved on because of this very key: then it still belongs to the password.
        let belongs_to_secret =
            !goes_on && self.typing.as_ref().is_some_and(|typing| typing.how == Kept::Secret);
        if goes_on || belongs_to_secret {
            if let Some(typing) = &mut self.typing
                && typing.how == Kept::Text
            {
                typing.text.push(c);
            }
            if belongs_to_secret {
                self.flush();
            }
            return;
        }
        self.flush();
        let window = self.active_window();
        let how = match &focus {
            Ok(Some(element)) if element.role == Role::PasswordField => Kept::Secret,
            Ok(Some(_)) => Kept::Text,
            // A window that shows its elements would show a password field.
            Ok(None) if self.has_tree(pid) => Kept::Text,
            Ok(None) | Err(_) => Kept::Unknown,
        };
        let element = focus.ok().flatten().filter(|element| takes_text(element.role));
        let selector = match (&window, &element) {
            (Some(window), Some(element)) => {
                let address = address::of_element(&Writer::look(), &self.desktop, window, element, None);
                address.ok().flatten().filter(|address| address.element.id == element.id)
            }
            _ => None,
        };
        let name = self.active();
        let text = if how == Kept::Text { c.to_string() } else { String::new() };
        self.typing = Some(Typing {
            window: name,
            focus: now_of(element, self.desktop.elements.focused(&Writer::look())),
            selector: selector.map(|address| address.selector),
            text,
            how,
        });
    }

    /// What was typed so far becomes a step.
    fn flush(&mut self) {
        let Some(typing) = self.typing.take() else { return };
        if typing.how == Kept::Text && typing.text.is_empty() {
            return;
        }
        let text = match typing.how {
            Kept::Text => json!(typing.text),
            Kept::Secret => self.parameter(typing.focus.as_ref(), true),
            Kept::Unknown => {
                self.note("Something was typed where no element could be asked what it is: a parameter takes its place, because it may be a password.");
                self.parameter(None, false)
            }
        };
        let mut arguments = json!({ "text": text });
        if let Some(selector) = &typing.selector {
            arguments["element"] = json!(selector);
        }
        self.add("type_text", in_window(arguments, typing.window.as_deref()));
    }

    /// A parameter in the place of what must not be kept.
    fn parameter(&mut self, field: Option<&Element>, secret: bool) -> Value {
        let base = if secret { "password" } else { "text" };
        let taken = |name: &str| self.parameters.iter().any(|parameter| parameter.name == name);
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let name = std::iter::once(base.to_owned()).chain(numbered).find(|name| !taken(name));
        let name = name.unwrap_or_else(|| base.to_owned());
        let description = match field.map(|field| field.name.trim()).filter(|name| !name.is_empty()) {
            Some(field) => {
                format!("What was typed into the password field {field:?}, of which nothing was kept.")
            }
            None if secret => "What was typed into a password field, of which nothing was kept.".to_owned(),
            None => "What was typed, of which nothing was kept.".to_owned(),
        };
        self.parameters.push(Parameter {
            name: name.clone(),
            kind: Kind::String,
            description,
            default: Value::Null,
            options: Vec::new(),
            secret,
        });
        json!({ "$from": format!("params.{name}") })
    }

    fn active_window(&self) -> Option<Window> {
        let windows = self.desktop.windows.list(&Writer::look()).ok()?;
        windows.into_iter().find(|window| window.focused)
    }

    /// What the window that has the keyboard is called in steps; one that is new is waited for.
    fn active(&mut self) -> Option<String> {
        let active = self.active_window()?;
        let windows = self.arrive(Some(active.id));
        address::of_window(&windows, &active)
    }

    fn has_tree(&self, pid: Option<u32>) -> bool {
        let Some(pid) = pid else { return false };
        let apps = self.desktop.elements.applications(&Writer::look());
        apps.is_ok_and(|apps| apps.iter().any(|app| app.pid == Some(pid)))
    }
}

/// What the next characters are compared with: the element itself, or whatever has the keyboard.
fn now_of(element: Option<Element>, focused: Result<Option<Element>>) -> Option<Element> {
    element.or_else(|| focused.ok().flatten())
}

/// Whether two quick clicks on such an element are two clicks and no double click.
const fn knows_single_clicks(role: Role) -> bool {
    matches!(
        role,
        Role::Button
            | Role::CheckBox
            | Role::CheckMenuItem
            | Role::Link
            | Role::Menu
            | Role::MenuItem
            | Role::RadioButton
            | Role::RadioMenuItem
            | Role::SpinButton
            | Role::Switch
            | Role::Tab
            | Role::ToggleButton
    )
}

/// Whether typing into such an element needs no more than its name.
const fn takes_text(role: Role) -> bool {
    matches!(role, Role::TextField | Role::TextArea | Role::PasswordField | Role::SpinButton | Role::ComboBox)
}

fn origin(under: &Under) -> Point {
    match (&under.window, &under.name) {
        (Some(window), Some(_)) => window.bounds.origin(),
        _ => Point::new(0, 0),
    }
}

fn minus(point: Point, origin: Point) -> Point {
    Point::new(point.x - origin.x, point.y - origin.y)
}

/// A place in the window, so that it holds when the window has moved.
fn place(under: &Under, at: Point) -> Value {
    let at = minus(at, origin(under));
    json!({ "x": at.x, "y": at.y })
}

fn in_window(mut arguments: Value, window: Option<&str>) -> Value {
    if let Some(window) = window {
        arguments["window"] = json!(window);
    }
    arguments
}

/// What differs from an ordinary click.
fn with_hands(arguments: Value, button: Button, modifiers: &[Modifier]) -> Value {
    let mut all: Map<String, Value> = match arguments {
        Value::Object(all) => all,
        _ => Map::new(),
    };
    if button != Button::Left {
        all.insert("button".to_owned(), json!(button));
    }
    if !modifiers.is_empty() {
        all.insert("modifiers".to_owned(), json!(modifiers));
    }
    Value::Object(all)
}
