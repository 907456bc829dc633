//! How a step says where: a window by what stays the same of it, an element by a selector that fits nothing
//! else there.

use crate::tools::target;
use deskhand_core::element::{Bounds, Element, ElementId, Role, Root, State, Tree, TreeQuery};
use deskhand_core::selector::Selector;
use deskhand_core::window::Window;
use deskhand_core::{Call, Desktop, Point, Result};

/// A name that is longer says what an element holds, not which one it is.
const LONGEST_NAME: usize = 80;

/// An element as steps name it.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Fits it alone.
    pub selector: String,
    /// The element itself, which a click on a label in it means.
    pub element: Element,
    /// The names of the menus and the item, when it is one of a menu bar.
    pub menu_path: Vec<String>,
}

/// What a window is called in steps: its application where that is enough, because titles change with what
/// is open; else its title.
pub fn of_window(windows: &[Window], window: &Window) -> Option<String> {
    let means = |name: &str| {
        let found = target::one_window(windows, name);
        !name.is_empty() && found.is_ok_and(|found| found.id == window.id)
    };
    // A leading mark says that something is not saved.
    let title = window.title.trim_start_matches(['*', '•', '●', ' ']);
    let short = [window.application.as_str(), title, window.title.as_str()];
    let of_one = windows.iter().filter(|other| other.application == window.application).count() == 1;
    short.into_iter().skip(usize::from(!of_one)).find(|name| means(name)).map(str::to_owned)
}

/// The title of a window, as something to wait for.
pub fn title_of(window: &Window) -> Option<String> {
    let title = window.title.trim_start_matches(['*', '•', '●', ' ']);
    (!title.is_empty()).then(|| title.to_owned())
}

/// What an element is called in steps: nothing where only a place could tell. `point` is where it was hit.
pub fn of_element(
    call: &Call,
    desktop: &Desktop,
    window: &Window,
    hit: &Element,
    point: Option<Point>,
) -> Result<Option<Address>> {
    let query = |root| TreeQuery { bounds: Bounds::No, values: false, ..TreeQuery::new(root) };
    let is_it = |tree: &Tree, id: &ElementId| tree.nodes.iter().position(|node| node.element.id == *id);
    let mut tree = desktop.elements.tree(call, &query(Root::Window(window.id)));
    let found = |tree: &Result<Tree>| tree.as_ref().is_ok_and(|tree| is_it(tree, &hit.id).is_some());
    if !found(&tree)
        && let Some(pid) = hit.pid
    {
        // A menu that is open stands in no window of the list.
        tree = desktop.elements.tree(call, &query(Root::Process(pid)));
    }
    let tree = tree?;
    let deeper = point.filter(|_| !is_meant(hit.role)).map(|point| inside(call, desktop, hit, point));
    let meant = deeper.transpose()?.flatten().unwrap_or_else(|| hit.clone());
    let Some(mut at) = is_it(&tree, &meant.id) else {
        // Gone already: its click has changed what is there. Its name is the best that is left.
        let selector = named(&meant).filter(|_| is_meant(meant.role));
        return Ok(selector.map(|selector| Address { selector, element: meant, menu_path: Vec::new() }));
    };
    // A click on the picture or the label in a button means the button.
    let parents = std::iter::successors(Some(at), |at| tree.nodes[*at].parent).take(4);
    if let Some(meant) = parents.into_iter().find(|at| is_meant(tree.nodes[*at].element.role)) {
        at = meant;
    }
    let element = &tree.nodes[at].element;
    if !is_meant(element.role) {
        return Ok(None);
    }
    let selector = unique(&tree, at);
    let menu_path = menu_path(&tree, at);
    Ok(selector.map(|selector| Address { selector, element: element.clone(), menu_path }))
}

/// What can be worked at a point inside a container: some toolkits know the container only.
fn inside(call: &Call, desktop: &Desktop, hit: &Element, point: Point) -> Result<Option<Element>> {
    if hit.children == 0 {
        return Ok(None);
    }
    let query = TreeQuery { values: false, ..TreeQuery::new(Root::Element(hit.id.clone())) };
    let tree = desktop.elements.tree(call, &query)?;
    let there = tree.nodes.into_iter().map(|node| node.element).filter(|element| {
        let holds = element.bounds.is_some_and(|bounds| bounds.contains(point));
        holds && is_meant(element.role) && !element.states.has(State::Offscreen)
    });
    Ok(there.min_by_key(|element| element.bounds.map_or(u64::MAX, |bounds| bounds.area())))
}

/// What scrolls: the innermost element around it that shows a part of something larger.
pub fn scrolled(call: &Call, desktop: &Desktop, window: &Window, hit: &Element) -> Result<Option<String>> {
    let query = TreeQuery { bounds: Bounds::No, values: false, ..TreeQuery::new(Root::Window(window.id)) };
    let tree = desktop.elements.tree(call, &query)?;
    let Some(at) = tree.nodes.iter().position(|node| node.element.id == hit.id) else { return Ok(None) };
    let mut around = std::iter::successors(Some(at), |at| tree.nodes[*at].parent);
    let pane = around.find(|at| {
        let role = tree.nodes[*at].element.role;
        matches!(
            role,
            Role::ScrollPane
                | Role::TextArea
                | Role::List
                | Role::ListBox
                | Role::Table
                | Role::Tree
                | Role::Grid
                | Role::Document
        )
    });
    Ok(pane.and_then(|at| unique(&tree, at)))
}

/// Whether a click on such an element means the element, and not a place in it.
const fn is_meant(role: Role) -> bool {
    match role {
        // Their places mean something: a value, a position, a cell that is not told of.
        Role::Slider | Role::Terminal => false,
        Role::Cell | Role::ColumnHeader | Role::Icon | Role::Row | Role::RowHeader => true,
        _ => role.is_interactive(),
    }
}

/// The shortest selector that fits this element alone.
fn unique(tree: &Tree, at: usize) -> Option<String> {
    let element = &tree.nodes[at].element;
    let alone = |selector: &String| {
        Selector::parse(selector)
            .is_ok_and(|selector| matches!(selector.select(tree)[..], [only] if only == at))
    };
    let identified = element.identifier.as_deref().filter(|id| !id.is_empty());
    let identified = identified.map(|id| format!("{}[id={}]", element.role, quoted(id)));
    let role = element.role.to_string();
    let own = named(element);
    let ancestors = std::iter::successors(tree.nodes[at].parent, |at| tree.nodes[*at].parent);
    let inside = ancestors.filter_map(|at| named(&tree.nodes[at].element)).take(3);
    let base = own.clone().unwrap_or_else(|| role.clone());
    let inside: Vec<String> = inside.map(|outer| format!("{outer} {base}")).collect();
    let first = identified.into_iter().chain(own).chain([role]).chain(inside.iter().cloned());
    if let Some(selector) = first.into_iter().find(alone) {
        return Some(selector);
    }
    // Alike in everything: which one it is in their order.
    let nth = |base: &String| {
        let all = Selector::parse(base).ok()?.select(tree);
        let place = all.iter().position(|index| *index == at)?;
        Some(format!("{base}:nth({})", place + 1))
    };
    inside.first().into_iter().chain([&base]).filter_map(nth).find(alone)
}

fn named(element: &Element) -> Option<String> {
    let name = element.name.trim();
    let fits = !name.is_empty() && name.chars().count() <= LONGEST_NAME;
    fits.then(|| format!("{}[name={}]", element.role, quoted(name)))
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

/// `File`, `Save As`: only for items whose menus hang on a menu bar.
fn menu_path(tree: &Tree, at: usize) -> Vec<String> {
    let is_item =
        |role| matches!(role, Role::Menu | Role::MenuItem | Role::CheckMenuItem | Role::RadioMenuItem);
    if !is_item(tree.nodes[at].element.role) || tree.nodes[at].element.role == Role::Menu {
        return Vec::new();
    }
    let mut path = Vec::new();
    for at in std::iter::successors(Some(at), |at| tree.nodes[*at].parent) {
        let element = &tree.nodes[at].element;
        if element.role == Role::MenuBar {
            path.reverse();
            return path;
        }
        if is_item(element.role) && !element.name.trim().is_empty() {
            path.push(element.name.trim().to_owned());
        }
    }
    Vec::new()
}
