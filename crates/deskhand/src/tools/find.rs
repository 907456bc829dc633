//! From what a caller names to one element: a ref, an identifier, a selector.

use super::evidence::short;
use super::target::{self, require_not_elevated};
use super::windows::of_application;
use crate::call::Context;
use crate::refs::Shown;
use deskhand_core::element::{Bounds, Element, Node, Root, State, Tree, TreeQuery};
use deskhand_core::selector::Selector;
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Code, Error, Result};

/// What a tool's parameters say of an element.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which<'a> {
    /// A ref, an identifier or a selector.
    pub element: Option<&'a str>,
    /// Only in this window.
    pub window: Option<&'a str>,
    /// Only in this application.
    pub application: Option<&'a str>,
}

/// What finding an element to look at can fail with.
pub const ERRORS: &[Code] = &[
    Code::ElementNotFound,
    Code::ElementStale,
    Code::AmbiguousTarget,
    Code::InvalidSelector,
    Code::WindowNotFound,
    Code::ApplicationNotFound,
    Code::PermissionDenied,
];

/// An element that was found, read afresh.
#[derive(Clone, Debug)]
pub struct Found {
    /// It, as it is now.
    pub element: Element,
    /// Its ref.
    pub name: String,
    /// What a caller should know: that its ref was found again, say.
    pub note: Option<String>,
}

impl Found {
    /// Ref, role and name, for replies.
    pub fn line(&self) -> String {
        line(&self.name, &self.element)
    }
}

/// An element in one line, for messages.
pub fn line(name: &str, element: &Element) -> String {
    if element.name.is_empty() {
        format!("{name} {}", element.role)
    } else {
        format!("{name} {} {}", element.role, short(&element.name))
    }
}

/// Finds the one element to look at.
pub fn read(cx: &Context, which: Which) -> Result<Found> {
    find(cx, which, false)
}

/// Finds the one element to act on: what was shown under its ref has to be true still, and its window may be
/// worked.
pub fn act(cx: &Context, which: Which) -> Result<Found> {
    let found = find(cx, which, true)?;
    require_not_elevated(window_of(cx, &found.element)?.as_ref())?;
    Ok(found)
}

fn find(cx: &Context, which: Which, strict: bool) -> Result<Found> {
    let Some(text) = which.element.map(str::trim).filter(|text| !text.is_empty()) else {
        return Err(Error::new(Code::MissingRequiredParameter, "element is missing: which one?")
            .expected("a ref such as e12, an identifier, or a selector such as button[name=\"OK\"]"));
    };
    match cx.server.refs.get(text) {
        Some(Some(shown)) => by_ref(cx, text, &shown, strict),
        Some(None) => Err(Error::new(Code::ElementStale, format!("No element is known as {text} here."))
            .remedy("Refs come from get_ui_elements and find_elements of this server process: read again.")),
        None => by_text(cx, text, which),
    }
}

fn by_ref(cx: &Context, name: &str, shown: &Shown, strict: bool) -> Result<Found> {
    let element = match cx.desktop.elements.element(&cx.call, &shown.id) {
        Ok(element) => element,
        Err(error) if error.code == Code::ElementStale => return again(cx, name, shown, error),
        Err(error) => return Err(error),
    };
    if let (Some(window), None) = (shown.window, element.window)
        && !cx.desktop.windows.list(&cx.call)?.iter().any(|other| other.id == window)
    {
        // Qt and GTK 4 keep what was in a window for when it opens again.
        let message =
            format!("{name} ({} {}) is gone: its window has closed.", shown.role, short(&shown.name));
        return Err(Error::new(Code::ElementStale, message)
            .remedy("Look at what is there now: list_windows, get_ui_elements."));
    }
    let same = element.role == shown.role && element.name == shown.name && moved(shown, &element).is_none();
    if strict && !same {
        let now = match moved(shown, &element) {
            Some(window) => format!("{} in window {window}", line(name, &element)),
            None => line(name, &element),
        };
        cx.server.refs.show(&element);
        return Err(Error::new(Code::TargetChanged, format!("{name} is no longer what was shown."))
            .expected(format!("{} {}", shown.role, short(&shown.name)))
            .found([now])
            .remedy("Read the elements again; if it is the right one still, repeat the call: the ref means what it shows now."));
    }
    cx.server.refs.show(&element);
    Ok(Found { element, name: name.to_owned(), note: None })
}

/// The window that an element is in now, if that is another one than was shown.
fn moved(shown: &Shown, element: &Element) -> Option<WindowId> {
    match (shown.window, element.window) {
        (Some(then), Some(now)) if then != now => Some(now),
        _ => None,
    }
}

/// An application may have rebuilt the element: if exactly one looks the same, that is it.
fn again(cx: &Context, name: &str, shown: &Shown, stale: Error) -> Result<Found> {
    let Some(pid) = shown.pid else { return Err(stale) };
    let root = match shown.window {
        Some(window) => Root::Window(window),
        None => Root::Process(pid),
    };
    let Ok(tree) =
        cx.desktop.elements.tree(&cx.call, &TreeQuery { bounds: Bounds::No, ..TreeQuery::new(root) })
    else {
        let message = format!(
            "{name} ({} {}) is gone, and so is its window or application.",
            shown.role,
            short(&shown.name)
        );
        return Err(Error::new(Code::ElementStale, message)
            .os(stale.message)
            .remedy("Look at what is there now: list_windows, get_ui_elements."));
    };
    let alike: Vec<&Node> = tree.nodes.iter().filter(|node| shown.resembles(&node.element)).collect();
    if let [only] = alike[..] {
        let element = cx.desktop.elements.element(&cx.call, &only.element.id)?;
        cx.server.refs.rebind(name, &element);
        return Ok(Found {
            element,
            name: name.to_owned(),
            note: Some(format!(
                "{name} had been rebuilt by its application and was found again by role and name"
            )),
        });
    }
    let near: Vec<&Element> = if alike.is_empty() {
        tree.nodes
            .iter()
            .map(|node| &node.element)
            .filter(|element| element.role == shown.role)
            .take(20)
            .collect()
    } else {
        alike.iter().map(|node| &node.element).take(20).collect()
    };
    Err(Error::new(Code::ElementStale, format!("{name} ({} {}) is gone.", shown.role, short(&shown.name)))
        .expected(format!("{} {}", shown.role, short(&shown.name)))
        .found(near.into_iter().map(|element| line(&cx.server.refs.show(element), element)))
        .remedy("Read the elements again and use a ref of that reading."))
}

fn by_text(cx: &Context, text: &str, which: Which) -> Result<Found> {
    let tree = tree(cx, which, Bounds::No)?;
    let by_identifier: Vec<usize> = (0..tree.nodes.len())
        .filter(|index| tree.nodes[*index].element.identifier.as_deref() == Some(text))
        .collect();
    let matches = if by_identifier.is_empty() { Selector::parse(text)?.select(&tree) } else { by_identifier };
    let index = one(cx, &tree, &matches, text)?;
    let element = cx.desktop.elements.element(&cx.call, &tree.nodes[index].element.id)?;
    let name = cx.server.refs.show(&element);
    Ok(Found { element, name, note: None })
}

/// The one match; several and none are errors with what there is.
fn one(cx: &Context, tree: &Tree, matches: &[usize], text: &str) -> Result<usize> {
    let lines = |indexes: &[usize]| {
        let elements: Vec<&Element> =
            indexes.iter().take(Error::MOST_FOUND + 1).map(|index| &tree.nodes[*index].element).collect();
        let numbers = cx.server.refs.show_all(elements.iter().copied());
        elements
            .iter()
            .zip(numbers)
            .map(|(element, number)| line(&format!("e{number}"), element))
            .collect::<Vec<_>>()
    };
    match matches {
        [only] => return Ok(*only),
        [] => {}
        several => {
            // Of several that match, only those that show count, if that leaves one.
            let showing: Vec<usize> =
                several.iter().copied().filter(|index| shows(&tree.nodes[*index].element)).collect();
            if let [only] = showing[..] {
                return Ok(only);
            }
            return Err(Error::new(
                Code::AmbiguousTarget,
                format!("{} elements match {text:?}; one is needed.", several.len()),
            )
            .found(lines(several))
            .remedy(
                "Pass the ref of the one you mean, or narrow the selector (:nth(1), a parent, a state).",
            ));
        }
    }
    if let (true, Some(silent)) = (tree.nodes.is_empty(), tree.silent.first()) {
        return Err(Error::new(
            Code::Timeout,
            format!("{} did not answer, so {text:?} could not be looked for.", silent.application),
        )
        .os(&silent.reason)
        .remedy("The application hangs or is stopped: wait, or quit it by force (quit_app)."));
    }
    let near = Selector::parse(text).map(|selector| selector.explain(tree)).unwrap_or_default();
    let mut error =
        Error::new(Code::ElementNotFound, format!("No element matches {text:?} among {}.", tree.nodes.len()))
            .expected("a ref, an identifier, or a selector with exactly one match")
            .found(lines(&near))
            .remedy("Read the elements with get_ui_elements, or wait for it with wait_for.");
    if let Some(silent) = tree.silent.first() {
        error = error.os(format!("{} did not answer: {}", silent.application, silent.reason));
    }
    Err(error)
}

/// Whether an element shows on the screen as far as its application says.
pub fn shows(element: &Element) -> bool {
    element.states.has(State::Visible) && !element.states.has(State::Offscreen)
}

/// Reads the elements of a scope: a window, an application, or everything.
pub fn tree(cx: &Context, which: Which, bounds: Bounds) -> Result<Tree> {
    let mut whole = Tree::default();
    for root in roots(cx, which)? {
        let mut part = cx.desktop.elements.tree(&cx.call, &TreeQuery { bounds, ..TreeQuery::new(root) })?;
        let shift = whole.nodes.len();
        for node in &mut part.nodes {
            node.parent = node.parent.map(|parent| parent + shift);
        }
        whole.nodes.append(&mut part.nodes);
        whole.silent.append(&mut part.silent);
        whole.cut |= part.cut;
    }
    Ok(whole)
}

/// Where to read for a scope.
pub fn roots(cx: &Context, which: Which) -> Result<Vec<Root>> {
    if let Some(name) = which.window {
        return Ok(vec![Root::Window(target::window(cx, name)?.id)]);
    }
    let Some(name) = which.application else { return Ok(vec![Root::Desktop]) };
    let mut pids: Vec<u32> = Vec::new();
    if let Ok(pid) = name.trim().trim_start_matches("applications/").parse() {
        pids.push(pid);
    } else {
        let lower = name.trim().to_lowercase();
        let apps = cx.desktop.elements.applications(&cx.call)?;
        pids.extend(apps.iter().filter(|app| app.name.to_lowercase() == lower).filter_map(|app| app.pid));
    }
    if pids.is_empty() {
        let windows = cx.desktop.windows.list(&cx.call)?;
        let of = of_application(cx, &windows, name)?;
        pids.extend(windows.iter().filter(|window| of.contains(&window.id)).filter_map(|window| window.pid));
    }
    pids.sort_unstable();
    pids.dedup();
    if pids.is_empty() {
        return Err(Error::new(
            Code::ApplicationNotFound,
            format!("The application {name:?} has no window and no tree."),
        )
        .remedy("Look at list_running_apps; it may have to be started with accessibility on."));
    }
    Ok(pids.into_iter().map(Root::Process).collect())
}

/// The window that an element is in: the one its application names, else the one that holds its place.
pub fn window_of(cx: &Context, element: &Element) -> Result<Option<Window>> {
    let windows = cx.desktop.windows.list(&cx.call)?;
    if let Some(id) = element.window {
        return Ok(windows.into_iter().find(|window| window.id == id));
    }
    let Some(bounds) = element.bounds else { return Ok(None) };
    Ok(windows
        .into_iter()
        .find(|window| window.pid == element.pid && window.bounds.contains(bounds.center())))
}

/// Refuses what cannot be worked: disabled or defunct elements.
pub fn require_enabled(found: &Found) -> Result<()> {
    if found.element.states.has(State::Enabled) {
        return Ok(());
    }
    Err(Error::new(Code::ElementNotActionable, format!("{} is disabled.", found.line()))
        .remedy("Wait until it is enabled (wait_for with :enabled), or do first what enables it."))
}
