//! The applications and their windows, as the table in the module's documentation lists them.

use super::world::{Act, App, Item, MenuAct, World};
use crate::element::{ElementId, Role, State, States};
use crate::geometry::{Display, Orientation, Point, Rect};
use crate::window::WindowId;

/// The displays of the usual desktop.
pub(super) fn displays() -> Vec<Display> {
    let display = |id: &str, name: &str, bounds: Rect, panel: u32, primary| Display {
        index: 0,
        id: id.to_owned(),
        name: name.to_owned(),
        bounds,
        work_area: Rect::new(bounds.x, bounds.y + panel as i32, bounds.width, bounds.height - panel),
        scale: 1.0,
        refresh_hz: Some(60.0),
        primary,
        orientation: Orientation::of(bounds, false),
    };
    vec![
        display("FAKE-1", "Built-in display", Rect::new(0, 0, 1280, 800), 32, true),
        display("FAKE-2", "Second display", Rect::new(-1024, 0, 1024, 768), 0, false),
    ]
}

/// Opens what is open on the usual desktop.
pub(super) fn set(world: &mut World) {
    let editor = start(world, Program::Editor, Some(101), None);
    let calculator = start(world, Program::Calculator, Some(102), None);
    let window = editor_window(world, editor, Some(7));
    tips_window(world, editor);
    calculator_window(world, calculator, Some(8));
    world.activate(window);
    world.changes.clear();
    world.damage.clear();
}

/// A program that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Editor,
    Calculator,
    Viewer,
    /// Never shows a window, and ends.
    Ghost,
    /// An interpreter.
    Shell,
}

impl Program {
    pub const ALL: [Program; 5] =
        [Program::Editor, Program::Calculator, Program::Viewer, Program::Ghost, Program::Shell];

    /// The name that people see, and the desktop entry.
    pub const fn entry(self) -> Option<(&'static str, &'static str)> {
        match self {
            Program::Editor => Some(("Editor", "org.example.Editor")),
            Program::Calculator => Some(("Calculator", "org.example.Calculator")),
            Program::Viewer => Some(("Viewer", "org.example.Viewer")),
            Program::Ghost | Program::Shell => None,
        }
    }

    pub const fn executable(self) -> &'static str {
        match self {
            Program::Editor => "editor",
            Program::Calculator => "calculator",
            Program::Viewer => "viewer",
            Program::Ghost => "ghost",
            Program::Shell => "sh",
        }
    }
}

/// Starts a process without a window.
pub(super) fn start(world: &mut World, program: Program, pid: Option<u32>, parent: Option<u32>) -> u32 {
    let pid = pid.unwrap_or_else(|| world.new_pid());
    let process = program.executable();
    let entry = program.entry();
    let root = ElementId(format!("process{pid}").into());
    let name = entry.map_or(process, |(name, _)| name);
    world.items.insert(
        root.clone(),
        Item {
            id: root.clone(),
            role: Role::Application,
            name: name.to_owned(),
            text: String::new(),
            has_value: false,
            description: String::new(),
            identifier: None,
            states: States::of([State::Enabled]),
            place: Rect::default(),
            actions: Vec::new(),
            act: Act::Nothing,
            parent: None,
            children: Vec::new(),
            window: None,
            pid,
            caret: 0,
            selection: None,
            scrolled: 0,
        },
    );
    world.apps.push(App {
        pid,
        parent,
        name: name.to_owned(),
        id: entry.map(|(_, id)| id.to_owned()),
        process: process.to_owned(),
        toolkit: "fake 1.0".to_owned(),
        root,
    });
    pid
}

/// Opens a program's window.
pub(super) fn open(world: &mut World, program: Program, pid: u32) {
    let window = match program {
        Program::Editor => editor_window(world, pid, None),
        Program::Calculator => calculator_window(world, pid, None),
        Program::Viewer => viewer_window(world, pid),
        Program::Ghost | Program::Shell => return,
    };
    world.activate(window);
}

fn window(world: &mut World, id: Option<u64>, pid: u32, title: &str, bounds: Rect, scene: &str) -> WindowId {
    match id {
        Some(id) => {
            world.new_window_as(WindowId(id), pid, title, bounds, scene);
            WindowId(id)
        }
        None => world.new_window(pid, title, bounds, scene),
    }
}

/// Adds an element and lets `detail` fill in what is particular to it.
fn part(
    world: &mut World,
    parent: &str,
    id: &str,
    role: Role,
    name: &str,
    place: Rect,
    detail: impl FnOnce(&mut Item),
) {
    world.add(parent, id, role, name, place);
    detail(world.item_mut(id));
}

fn works(item: &mut Item, action: &str, act: Act) {
    item.actions = vec![action.to_owned()];
    item.act = act;
    item.states = item.states.with(State::Focusable);
}

fn edits(item: &mut Item, text: &str) {
    works(item, "activate", Act::Edit);
    item.states = item.states.with(State::Editable);
    item.text = text.to_owned();
    item.has_value = true;
    item.caret = text.chars().count();
}

fn editor_window(world: &mut World, pid: u32, id: Option<u64>) -> WindowId {
    let e = world.number_scene("editor");
    let step = if e == "editor" { 0 } else { 40 };
    let bounds = Rect::new(40 + step, 40 + step, 640, 480);
    let id = window(world, id, pid, "Untitled - Editor", bounds, &e);
    editor_menu(world, &e);
    let bar = format!("{e}/tools");
    part(world, &e, &bar, Role::ToolBar, "", Rect::new(0, 24, 640, 36), |_| {});
    part(world, &bar, &format!("{e}/save"), Role::Button, "Save", Rect::new(8, 28, 80, 28), |item| {
        works(item, "click", Act::Save);
        item.identifier = Some("save-button".to_owned());
        item.description = "Save the document".to_owned();
    });
    part(world, &bar, &format!("{e}/undo"), Role::Button, "Undo", Rect::new(96, 28, 80, 28), |item| {
        works(item, "click", Act::Nothing);
        item.states = item.states.without(State::Enabled);
    });
    part(
        world,
        &bar,
        &format!("{e}/wrap"),
        Role::CheckBox,
        "Wrap lines",
        Rect::new(200, 28, 120, 28),
        |item| {
            works(item, "toggle", Act::Toggle);
            item.states = item.states.with(State::Checkable);
        },
    );
    part(world, &bar, &format!("{e}/zoom"), Role::Slider, "Zoom", Rect::new(340, 28, 200, 28), |item| {
        works(item, "activate", Act::Slide { least: 50, most: 200, step: 10 });
        item.actions.clear();
        (item.text, item.has_value) = ("100".to_owned(), true);
    });
    part(world, &e, &format!("{e}/title"), Role::TextField, "Title", Rect::new(8, 64, 304, 28), |item| {
        edits(item, "Untitled");
    });
    part(
        world,
        &e,
        &format!("{e}/password"),
        Role::PasswordField,
        "Password",
        Rect::new(320, 64, 312, 28),
        |item| {
            edits(item, "");
        },
    );
    part(world, &e, &format!("{e}/text"), Role::TextArea, "Document", Rect::new(0, 100, 400, 320), |item| {
        edits(item, "");
        item.states = item.states.with(State::Multiline);
    });
    editor_files(world, &e);
    part(world, &e, &format!("{e}/status"), Role::Label, "Ready", Rect::new(0, 428, 640, 28), |_| {});
    world.focus_item(&ElementId(format!("{e}/text").into()));
    id
}

fn editor_menu(world: &mut World, e: &str) {
    let (bar, file) = (format!("{e}/menu"), format!("{e}/file"));
    part(world, e, &bar, Role::MenuBar, "", Rect::new(0, 0, 640, 24), |_| {});
    part(world, &bar, &file, Role::Menu, "File", Rect::new(0, 0, 48, 24), |item| {
        works(item, "click", Act::Menu);
        item.states = item.states.with(State::Expandable).with(State::HasPopup).without(State::Focusable);
    });
    let items =
        [("new", "New", MenuAct::New), ("save", "Save", MenuAct::Save), ("quit", "Quit", MenuAct::Quit)];
    for (row, (id, name, act)) in items.into_iter().enumerate() {
        let place = Rect::new(0, 24 + 24 * row as i32, 160, 24);
        part(world, &file, &format!("{file}/{id}"), Role::MenuItem, name, place, |item| {
            works(item, "click", Act::MenuItem(act));
            item.states = item.states.without(State::Visible).without(State::Focusable);
        });
    }
}

fn editor_files(world: &mut World, e: &str) {
    let (files, recent) = (format!("{e}/files"), format!("{e}/recent"));
    let place = Rect::new(408, 100, 224, 320);
    part(world, e, &files, Role::ScrollPane, "Files", place, |item| item.act = Act::Scroll { height: 560 });
    let list = Rect { width: 212, height: 560, ..place };
    part(world, &files, &recent, Role::ListBox, "Recent files", list, |_| {});
    for row in 1..=20 {
        let place = Rect::new(408, 100 + 28 * (row - 1), 212, 28);
        part(
            world,
            &recent,
            &format!("{recent}/{row}"),
            Role::ListItem,
            &format!("File {row}"),
            place,
            |item| {
                works(item, "select", Act::Choose);
                item.states = item.states.with(State::Selectable).without(State::Focusable);
            },
        );
    }
    let bar = Rect::new(620, 100, 12, 320);
    part(world, &files, &format!("{files}/bar"), Role::ScrollBar, "", bar, |item| {
        item.act = Act::Bar;
        (item.text, item.has_value) = ("0".to_owned(), true);
    });
}

fn calculator_window(world: &mut World, pid: u32, id: Option<u64>) -> WindowId {
    let c = world.number_scene("calculator");
    let step = if c == "calculator" { 0 } else { 40 };
    let id = window(world, id, pid, "Calculator", Rect::new(800 + step, 100 + step, 260, 344), &c);
    part(world, &c, &format!("{c}/result"), Role::TextField, "Result", Rect::new(8, 8, 244, 48), |item| {
        (item.text, item.has_value) = ("0".to_owned(), true);
        item.states = item.states.with(State::ReadOnly);
    });
    let keys = [
        [("7", '7'), ("8", '8'), ("9", '9'), ("divide", '÷')],
        [("4", '4'), ("5", '5'), ("6", '6'), ("times", '×')],
        [("1", '1'), ("2", '2'), ("3", '3'), ("minus", '-')],
        [("0", '0'), ("point", '.'), ("equals", '='), ("plus", '+')],
    ];
    for (row, keys) in keys.into_iter().enumerate() {
        for (column, (name, key)) in keys.into_iter().enumerate() {
            let place = Rect::new(8 + 61 * column as i32, 64 + 50 * row as i32, 58, 46);
            calculator_key(world, &c, name, key, place);
        }
    }
    calculator_key(world, &c, "clear", 'C', Rect::new(8, 264, 58, 46));
    world.focus_item(&ElementId(format!("{c}/equals").into()));
    id
}

fn calculator_key(world: &mut World, c: &str, name: &str, key: char, place: Rect) {
    part(world, c, &format!("{c}/{name}"), Role::Button, &key.to_string(), place, |item| {
        works(item, "click", Act::Calculate(key));
    });
}

fn tips_window(world: &mut World, pid: u32) {
    window(world, Some(9), pid, "Tips - Editor", Rect::new(-900, 100, 500, 400), "tips");
    part(world, "tips", "tips/heading", Role::Heading, "Tips", Rect::new(8, 8, 480, 28), |_| {});
    let tip = "Press Ctrl+S to save. Everything else follows from that.";
    part(world, "tips", "tips/text", Role::Paragraph, tip, Rect::new(8, 44, 480, 28), |_| {});
    part(world, "tips", "tips/more", Role::Link, "More tips", Rect::new(8, 80, 120, 28), |item| {
        works(item, "jump", Act::Follow);
    });
    part(world, "tips", "tips/show", Role::CheckBox, "Show at start", Rect::new(8, 120, 200, 28), |item| {
        works(item, "toggle", Act::Toggle);
        item.actions.clear();
        item.states = item.states.with(State::Checkable).with(State::Checked);
    });
    part(world, "tips", "tips/close", Role::Button, "Close", Rect::new(8, 160, 80, 28), |item| {
        works(item, "click", Act::Close { all: false });
    });
}

fn viewer_window(world: &mut World, pid: u32) -> WindowId {
    let v = world.number_scene("viewer");
    let id = window(world, None, pid, "Viewer", Rect::new(200, 200, 400, 300), &v);
    part(world, &v, &format!("{v}/picture"), Role::Image, "A lake", Rect::new(0, 0, 400, 240), |_| {});
    part(world, &v, &format!("{v}/caption"), Role::Label, "lake.png", Rect::new(0, 240, 400, 36), |_| {});
    viewer_menu(world, &v);
    id
}

/// A menu behind a button, which is there only while it is open.
fn viewer_menu(world: &mut World, v: &str) {
    let (button, menu) = (format!("{v}/options"), format!("{v}/options/menu"));
    part(world, v, &button, Role::Button, "Options", Rect::new(320, 240, 80, 36), |item| {
        works(item, "open", Act::Menu);
        item.states = item.states.with(State::Expandable).with(State::HasPopup);
    });
    part(world, &button, &menu, Role::Menu, "", Rect::new(240, 168, 160, 72), |item| {
        item.states = item.states.without(State::Visible);
    });
    for (row, (id, name, enabled)) in
        [("rotate", "Rotate left\u{2026} Ctrl+L", false), ("close", "Close", true)].into_iter().enumerate()
    {
        let place = Rect::new(240, 168 + 24 * row as i32, 160, 24);
        part(world, &menu, &format!("{menu}/{id}"), Role::MenuItem, name, place, |item| {
            works(item, "click", Act::MenuItem(MenuAct::Quit));
            item.states = item.states.without(State::Visible).without(State::Focusable);
            if !enabled {
                item.states = item.states.without(State::Enabled);
            }
        });
    }
}

/// "Save changes?", for a window that is asked to close.
pub(super) fn closing_dialog(world: &mut World, pid: u32, about: WindowId) {
    let d = world.number_scene("closing");
    let id = window(world, None, pid, "Save changes?", Rect::new(300, 250, 360, 124), &d);
    if let Some(dialog) = world.windows.first_mut() {
        dialog.transient = true;
    }
    world.item_mut(&d).role = Role::Dialog;
    world.item_mut(&d).states = world.item(&d).states.with(State::Modal);
    let text = "The document has unsaved changes.";
    part(world, &d, &format!("{d}/text"), Role::Label, text, Rect::new(8, 8, 340, 28), |_| {});
    for (column, (name, all)) in
        [("Save", true), ("Discard", true), ("Cancel", false)].into_iter().enumerate()
    {
        let place = Rect::new(8 + 112 * column as i32, 60, 104, 28);
        part(world, &d, &format!("{d}/{}", name.to_lowercase()), Role::Button, name, place, |item| {
            works(item, "click", Act::Close { all });
            item.description = about.to_string();
        });
    }
    world.activate(id);
}

/// The menu of a right click, in a window of its own outside the list.
pub(super) fn context_menu(world: &mut World, item: &ElementId, at: Point) {
    let pid = world.item(&item.0).pid;
    let m = world.number_scene("popup");
    window(world, None, pid, "", Rect::new(at.x, at.y, 160, 24), &m);
    if let Some(popup) = world.windows.first_mut() {
        popup.popup = true;
    }
    world.item_mut(&m).role = Role::Menu;
    world.item_mut(&m).place = Rect::new(0, 0, 160, 24);
    let place = Rect::new(0, 0, 160, 24);
    part(world, &m, &format!("{m}/all"), Role::MenuItem, "Select all", place, |item| {
        works(item, "click", Act::MenuItem(MenuAct::SelectAll));
        item.states = item.states.without(State::Focusable);
    });
}

/// Works a sum out from left to right.
pub(super) fn evaluate(text: &str) -> Option<String> {
    let mut total: Option<f64> = None;
    let mut operator = '+';
    let mut number = String::new();
    for c in text.chars().chain(['=']) {
        match c {
            '0'..='9' | '.' => number.push(c),
            '-' if number.is_empty() && total.is_none() => number.push(c),
            '+' | '-' | '×' | '÷' | '=' => {
                let value: f64 = std::mem::take(&mut number).parse().ok()?;
                let before = total.unwrap_or(0.0);
                total = Some(match operator {
                    '-' => before - value,
                    '×' => before * value,
                    '÷' => before / value,
                    _ => before + value,
                });
                operator = c;
            }
            _ => return None,
        }
    }
    total.filter(|total| total.is_finite()).map(|total| total.to_string())
}
