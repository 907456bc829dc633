//! Elements as compact text for reading: one line an element, containers without meaning folded away.

use deskhand_core::element::{Element, Role, State, Tree};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard};

/// How many readings are remembered for differences and continuations.
const MOST: usize = 32;
/// The longest name or value in a line, in characters.
const LONGEST: usize = 120;

/// The readings of one server.
#[derive(Default)]
pub struct Snapshots(Mutex<Store>);

#[derive(Default)]
struct Store {
    last: u64,
    kept: VecDeque<(u64, Vec<Line>)>,
}

/// One line of a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The element's number; 0 for a line of plain text.
    pub number: u64,
    /// How deep it is among the lines that are shown.
    pub depth: u32,
    /// The line without its indentation.
    pub text: String,
}

impl Snapshots {
    /// Remembers a reading and names it.
    pub fn add(&self, lines: Vec<Line>) -> String {
        let mut store = self.store();
        store.last += 1;
        let number = store.last;
        store.kept.push_back((number, lines));
        if MOST < store.kept.len() {
            store.kept.pop_front();
        }
        format!("s{number}")
    }

    /// The lines of an earlier reading.
    pub fn get(&self, name: &str) -> Option<Vec<Line>> {
        let number: u64 = name.strip_prefix('s')?.parse().ok()?;
        self.store().kept.iter().find(|(kept, _)| *kept == number).map(|(_, lines)| lines.clone())
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// What to show of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    /// Also what is scrolled away or hidden.
    pub hidden: bool,
    /// Only elements that can be worked.
    pub interactive_only: bool,
    /// Only these roles.
    pub roles: &'a [Role],
    /// With the place of each.
    pub bounds: bool,
    /// Containers too.
    pub everything: bool,
}

/// The lines of a tree. `numbers` are the refs of its nodes.
pub fn lines(tree: &Tree, numbers: &[u64], view: View) -> Vec<Line> {
    let mut lines = Vec::new();
    // The depth at which each node's children are shown.
    let mut depths: Vec<u32> = Vec::with_capacity(tree.nodes.len());
    for (index, (node, kept)) in tree.nodes.iter().zip(kept(tree, view)).enumerate() {
        let depth = node.parent.map_or(0, |parent| depths[parent]);
        depths.push(depth + u32::from(kept));
        if kept {
            lines.push(Line { number: numbers[index], depth, text: describe(&node.element, view) });
        }
    }
    fold(lines)
}

/// Which nodes of a tree are shown.
pub fn kept(tree: &Tree, view: View) -> Vec<bool> {
    let mut all = Vec::with_capacity(tree.nodes.len());
    let mut hidden: Vec<bool> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let element = &node.element;
        let under_hidden = node.parent.is_some_and(|parent| hidden[parent]);
        // Views whose application does not say that they show may hold elements that do.
        let away = !view.hidden && is_away(element, under_hidden);
        hidden.push(away && !element.states.has(State::Visible));
        let repeats = node.parent.is_some_and(|parent| repeats(&tree.nodes[parent].element, element));
        all.push(!away && !repeats && wanted(element, view));
    }
    all
}

fn is_away(element: &Element, under_hidden: bool) -> bool {
    under_hidden || element.states.has(State::Offscreen) || !element.states.has(State::Visible)
}

/// A text inside a button that says what the button's name says already.
fn repeats(parent: &Element, element: &Element) -> bool {
    matches!(element.role, Role::Label | Role::Static)
        && (parent.role.is_interactive()
            || matches!(parent.role, Role::Heading | Role::Paragraph | Role::Cell | Role::Label))
        && (element.name == parent.name || parent.name.contains(&element.name))
}

fn wanted(element: &Element, view: View) -> bool {
    if !view.roles.is_empty() {
        return view.roles.contains(&element.role);
    }
    if element.role.is_interactive() || element.states.has(State::Focused) {
        return true;
    }
    if view.interactive_only {
        return matches!(element.role, Role::Window | Role::Dialog | Role::Alert);
    }
    if view.everything {
        return true;
    }
    match element.role {
        Role::Window
        | Role::Dialog
        | Role::Alert
        | Role::Notification
        | Role::FileChooser
        | Role::ColorChooser => true,
        Role::Separator | Role::Filler | Role::ScrollBar | Role::Viewport | Role::SplitPane => false,
        _ => {
            !element.name.trim().is_empty()
                || element.value.as_ref().is_some_and(|value| !value.trim().is_empty())
        }
    }
}

fn describe(element: &Element, view: View) -> String {
    let mut text = element.role.name().to_owned();
    if !element.name.trim().is_empty() {
        let _ = write!(text, " {}", quoted(&element.name));
    }
    if let Some(value) = &element.value
        && (*value != element.name)
        && (!value.is_empty() || element.states.has(State::Editable))
    {
        let _ = write!(text, " = {}", quoted(value));
    }
    for state in element.states.iter() {
        let shown = match state {
            State::Checked
            | State::Indeterminate
            | State::Expanded
            | State::Collapsed
            | State::Focused
            | State::Invalid
            | State::Modal
            | State::Pressed
            | State::Required
            | State::Selected
            | State::Busy
            | State::Active
            | State::Offscreen => true,
            State::ReadOnly => element.role.is_interactive(),
            State::Checkable
            | State::Defunct
            | State::Editable
            | State::Enabled
            | State::Expandable
            | State::Focusable
            | State::HasPopup
            | State::Multiline
            | State::Selectable
            | State::Visible
            | State::Visited => false,
        };
        if shown {
            let _ = write!(text, " {state}");
        }
    }
    if !element.states.has(State::Enabled) && element.role.is_interactive() {
        text.push_str(" disabled");
    }
    if view.bounds
        && let Some(bounds) = element.bounds
    {
        let _ = write!(text, " @{},{} {}x{}", bounds.x, bounds.y, bounds.width, bounds.height);
    }
    text
}

/// White space as single blanks, cut, in quotation marks.
fn quoted(text: &str) -> String {
    let mut plain = String::new();
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
        if LONGEST * 4 < plain.len() {
            break;
        }
    }
    if LONGEST < plain.chars().count() {
        plain = plain.chars().take(LONGEST).collect();
        plain.push('…');
    }
    format!("\"{}\"", plain.replace('"', "'"))
}

/// Neighboring plain texts become one line: a page of prose costs as much as it says, not more.
fn fold(lines: Vec<Line>) -> Vec<Line> {
    let mut folded: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        let is_text = |line: &Line| line.text.starts_with("label \"") || line.text.starts_with("static \"");
        if let Some(last) = folded.last_mut()
            && is_text(last)
            && is_text(&line)
            && last.depth == line.depth
            && last.text.ends_with('"')
            && last.text.len() + line.text.len() < 200
            && let Some((_, words)) = line.text.split_once(' ')
        {
            last.text.push_str(" | ");
            last.text.push_str(words);
            continue;
        }
        folded.push(line);
    }
    folded
}

/// Lines as text, from `start` on, at most `bytes`; and where to go on.
pub fn print(lines: &[Line], start: usize, bytes: usize) -> (String, Option<usize>) {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate().skip(start) {
        let indent = usize::try_from(line.depth).unwrap_or(0).min(20);
        if bytes < text.len() + line.text.len() + indent + 8 && !text.is_empty() {
            return (text, Some(index));
        }
        let _ = writeln!(text, "{:indent$}e{} {}", "", line.number, line.text);
    }
    (text, None)
}

/// What changed between two readings: `+` new, `-` gone, `~` changed.
pub fn difference(before: &[Line], after: &[Line]) -> String {
    let old: HashMap<u64, &str> = before.iter().map(|line| (line.number, line.text.as_str())).collect();
    let new: HashMap<u64, &str> = after.iter().map(|line| (line.number, line.text.as_str())).collect();
    let mut text = String::new();
    for line in after {
        match old.get(&line.number) {
            None => {
                let _ = writeln!(text, "+ e{} {}", line.number, line.text);
            }
            Some(was) if *was != line.text => {
                let _ = writeln!(text, "~ e{} {}   (was {was})", line.number, line.text);
            }
            Some(_) => {}
        }
    }
    for line in before.iter().filter(|line| !new.contains_key(&line.number)) {
        let _ = writeln!(text, "- e{} {}", line.number, line.text);
    }
    text
}
