//! Accessibility elements: reading them, and working them by their own actions.

use super::evidence::{Acted, Witness, changed, difference, short};
use super::find::{self, Found, Which};
use super::ocr::{self, Seen};
use super::page::page;
use super::{Alias, same};
use super::{pointer, scroll};
use crate::call::Context;
use crate::snapshot::{self, View};
use crate::tool::{Data, Effect, Group, Output, Ranged, Reply, Row, Tool, both};
use deskhand_core::element::{Bounds, Element, Role, Root, Silent, State, Tree, TreeQuery};
use deskhand_core::input::Button;
use deskhand_core::key::Modifier;
use deskhand_core::selector::Selector;
use deskhand_core::{Code, Error, Point, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<GetUiElements>(),
    Row::of::<FindElements>(),
    Row::of::<GetElement>(),
    Row::of::<GetElementActions>(),
    Row::of::<ClickUiElement>(),
    Row::of::<GetUiElementValue>(),
    Row::of::<SetUiElementValue>(),
    Row::of::<PerformElementAction>(),
    Row::of::<FocusUiElement>(),
    Row::of::<ScrollToElement>(),
];

/// Other names.
pub static ALIASES: &[Alias] = &[
    same("click_element", "click_ui_element"),
    same("write_element_value", "set_ui_element_value"),
    same("get_element_value", "get_ui_element_value"),
    same("focus_element", "focus_ui_element"),
];

/// What acting on an element can fail with, besides finding it.
const ACT_ERRORS: &[Code] = &[
    Code::ElementNotFound,
    Code::ElementStale,
    Code::ElementNotActionable,
    Code::AmbiguousTarget,
    Code::TargetChanged,
    Code::InvalidSelector,
    Code::WindowNotFound,
    Code::ApplicationNotFound,
    Code::PermissionDenied,
    Code::ElevatedProcessTarget,
    Code::SecureDesktopActive,
    Code::Busy,
];

/// The same for a click, which needs the element on the screen where it has no action of its own.
const CLICK_ERRORS: &[Code] = &both::<13>(ACT_ERRORS, &[Code::WindowMinimized]);

/// An element as it is shown to callers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ElementInfo {
    /// Pass this as `element`.
    #[serde(rename = "ref")]
    pub name_ref: String,
    /// What it is.
    pub role: Role,
    /// What it is called.
    pub name: String,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What else its application says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its application's identifier for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    /// Its states.
    pub states: Vec<State>,
    /// Where it lies, in global pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Rect>,
    /// The actions it declares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// The window it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The process it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

impl ElementInfo {
    /// What a caller is shown of an element.
    pub fn of(name: impl Into<String>, element: &Element) -> ElementInfo {
        ElementInfo {
            name_ref: name.into(),
            role: element.role,
            name: element.name.clone(),
            value: element.value.clone(),
            description: element.description.clone(),
            identifier: element.identifier.clone(),
            states: element.states.iter().collect(),
            bounds: element.bounds,
            actions: element.actions.clone(),
            window: element.window.map(|window| window.0),
            pid: element.pid,
        }
    }
}

/// How a reading is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// One line an element.
    #[default]
    Text,
    /// Nested JSON.
    Json,
}

/// Read the elements of a window (the focused one by default), an application, or below an element. One
/// line each: ref, role, "name", = "value", states. Pass the refs to the other tools.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetUiElements {
    /// The application (name, id or pid).
    pub application: Option<String>,
    /// The window (id or title).
    pub window: Option<String>,
    /// Only what is below this element (ref or selector).
    pub element: Option<String>,
    /// How deep to read.
    pub max_depth: Option<Ranged<0, 200>>,
    /// Only these roles.
    pub roles: Vec<String>,
    /// Only what can be clicked, typed into or changed.
    pub interactive_only: bool,
    /// Also what is scrolled away, in closed menus, on other tabs.
    pub include_hidden: bool,
    /// Also containers without a name.
    pub include_containers: bool,
    /// With each place in global pixels.
    pub include_bounds: bool,
    /// At most this many bytes of text; 10000 by default.
    pub max_bytes: Option<Ranged<200, 1_000_000>>,
    /// Where to go on, as the cut reading said.
    pub page_token: Option<String>,
    /// Only what changed since this snapshot (s1, s2 …).
    pub since: Option<String>,
    /// text (default) or json.
    pub format: Format,
    #[schemars(skip)]
    #[doc(hidden)]
    pub visible_only: Option<bool>,
    #[schemars(skip)]
    #[doc(hidden)]
    pub include_actions: bool,
}

impl Tool for GetUiElements {
    const NAME: &'static str = "get_ui_elements";
    const HIDDEN: &'static [&'static str] = &["visible_only", "include_actions"];
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = find::ERRORS;
    const GROUP: Group = Group::Elements;
    type Output = Reply;

    fn call(self, cx: &Context) -> Result<Reply> {
        let bytes = self.max_bytes.map_or(10_000, Ranged::get) as usize;
        if let Some(token) = &self.page_token {
            return go_on(cx, token, bytes);
        }
        let roles = self
            .roles
            .iter()
            .map(|name| {
                Role::from_name(name).ok_or_else(|| {
                    Error::argument(format!("No role is called {name:?}."))
                        .found(Role::ALL.iter().map(|role| role.name()))
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let (heading, tree) = self.read(cx)?;
        let numbers = cx.server.refs.show_all(tree.nodes.iter().map(|node| &node.element));
        let view = View {
            hidden: self.include_hidden || self.visible_only == Some(false),
            interactive_only: self.interactive_only,
            roles: &roles,
            bounds: self.include_bounds,
            everything: self.include_containers,
        };
        if self.format == Format::Json {
            return Ok(Reply::Reading(nested(&tree, &numbers, view, bytes).to_string()));
        }
        let lines = snapshot::lines(&tree, &numbers, view);
        let shown = lines.len();
        let before = match &self.since {
            Some(since) => Some(cx.server.snapshots.get(since).ok_or_else(|| {
                Error::argument(format!("No snapshot {since:?} is remembered."))
                    .remedy("Read without since, and use the snapshot name of that reading.")
            })?),
            None => None,
        };
        let name = cx.server.snapshots.add(lines.clone());
        let mut text = format!("{heading} (snapshot {name}: {shown} of {} elements)\n", tree.nodes.len());
        for silent in &tree.silent {
            text.push_str(&format!("! {} does not answer: {}\n", silent.application, silent.reason));
        }
        if let Some(before) = before {
            let since = self.since.as_deref().unwrap_or_default();
            let difference = snapshot::difference(&before, &lines);
            text.push_str(&if difference.is_empty() {
                format!("Nothing changed since {since}.\n")
            } else {
                format!("Since {since}: + new, - gone, ~ changed\n{}", cut(&difference, bytes))
            });
            return Ok(Reply::Reading(text));
        }
        let (body, rest) = snapshot::print(&lines, 0, bytes);
        text.push_str(&body);
        ending(&mut text, &name, rest, shown, tree.cut);
        Ok(Reply::Reading(text))
    }
}

impl GetUiElements {
    fn read(&self, cx: &Context) -> Result<(String, Tree)> {
        let bounds =
            if self.include_bounds || self.format == Format::Json { Bounds::Showing } else { Bounds::No };
        let depth = self.max_depth.map_or(64, Ranged::get) as u32;
        let actions = self.include_actions;
        let query = |root| TreeQuery { max_depth: depth, bounds, actions, ..TreeQuery::new(root) };
        let which =
            Which { element: None, window: self.window.as_deref(), application: self.application.as_deref() };
        if let Some(name) = &self.element {
            let found = find::read(cx, Which { element: Some(name), ..which })?;
            let tree = cx.desktop.elements.tree(&cx.call, &query(Root::Element(found.element.id.clone())))?;
            return Ok((found.line(), tree));
        }
        if which.window.is_none() && which.application.is_none() {
            let windows = cx.desktop.windows.list(&cx.call)?;
            let focused = windows.iter().find(|window| window.focused).ok_or_else(|| {
                Error::new(
                    Code::WindowNotFound,
                    "No window has the keyboard, so there is none to read by default.",
                )
                .found(windows.iter().map(super::target::line))
                .remedy("Pass window or application.")
            })?;
            let tree = cx.desktop.elements.tree(&cx.call, &query(Root::Window(focused.id)))?;
            return Ok((format!("window {}", super::target::line(focused)), tree));
        }
        let mut whole = Tree::default();
        for root in find::roots(cx, which)? {
            let mut part = cx.desktop.elements.tree(&cx.call, &query(root))?;
            let shift = whole.nodes.len();
            for node in &mut part.nodes {
                node.parent = node.parent.map(|parent| parent + shift);
            }
            whole.nodes.append(&mut part.nodes);
            whole.silent.append(&mut part.silent);
            whole.cut |= part.cut;
        }
        let what = match (which.window, which.application) {
            (Some(window), _) => format!("window {window:?}"),
            (None, application) => format!("application {:?}", application.unwrap_or_default()),
        };
        Ok((what, whole))
    }
}

/// The rest of a reading that was cut.
fn go_on(cx: &Context, token: &str, bytes: usize) -> Result<Reply> {
    let unknown = || {
        Error::argument(format!("The page token {token:?} is unknown or too old."))
            .remedy("Read again without page_token.")
    };
    let (name, start) = token.split_once('-').ok_or_else(unknown)?;
    let start: usize = start.parse().map_err(|_| unknown())?;
    let lines = cx.server.snapshots.get(name).filter(|lines| start < lines.len()).ok_or_else(unknown)?;
    let (page, rest) = snapshot::print(&lines, start, bytes);
    let mut text = format!("snapshot {name}, from line {} of {}\n{page}", start + 1, lines.len());
    ending(&mut text, name, rest, lines.len(), false);
    Ok(Reply::Reading(text))
}

fn ending(text: &mut String, name: &str, rest: Option<usize>, all: usize, cut: bool) {
    if let Some(rest) = rest {
        text.push_str(&format!("… {} more lines: pass page_token={name}-{rest} for them.\n", all - rest));
    }
    if cut {
        text.push_str(
            "! The application has more elements than were read: narrow it by element or window.\n",
        );
    }
}

fn cut(text: &str, bytes: usize) -> String {
    match text.char_indices().map(|(index, _)| index).find(|index| bytes <= *index) {
        Some(end) => {
            let whole = &text[..text[..end].rfind('\n').map_or(0, |line| line + 1)];
            let left = text.lines().count() - whole.lines().count();
            format!("{whole}… {left} more: read again without since, or with a larger max_bytes.\n")
        }
        None => text.to_owned(),
    }
}

/// What is shown of a tree as nested JSON, cut at about `bytes`. What is below something that is not shown
/// moves up.
fn nested(tree: &Tree, numbers: &[u64], view: View, bytes: usize) -> Value {
    let kept = snapshot::kept(tree, view);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    let mut roots = Vec::new();
    for index in (0..tree.nodes.len()).filter(|index| kept[*index]) {
        let above = std::iter::successors(tree.nodes[index].parent, |parent| tree.nodes[*parent].parent);
        match above.into_iter().find(|parent| kept[*parent]) {
            Some(parent) => children[parent].push(index),
            None => roots.push(index),
        }
    }
    fn build(
        tree: &Tree,
        numbers: &[u64],
        children: &[Vec<usize>],
        index: usize,
        room: &mut usize,
    ) -> Option<Value> {
        let info = ElementInfo::of(format!("e{}", numbers[index]), &tree.nodes[index].element);
        let mut value = serde_json::to_value(info).ok()?;
        *room = room.checked_sub(value.to_string().len())?;
        let below: Vec<Value> =
            children[index].iter().map_while(|child| build(tree, numbers, children, *child, room)).collect();
        if below.len() < children[index].len() {
            value["children_cut"] = json!(children[index].len() - below.len());
        }
        if !below.is_empty() {
            value["children"] = Value::Array(below);
        }
        Some(value)
    }
    let mut room = bytes;
    let elements: Vec<Value> =
        roots.iter().map_while(|root| build(tree, numbers, &children, *root, &mut room)).collect();
    let cut = tree.cut || elements.len() < roots.len() || elements.iter().any(is_cut);
    let mut answer = json!({ "elements": elements, "truncated": cut });
    if !tree.silent.is_empty() {
        answer["silent"] = json!(tree.silent);
    }
    answer
}

/// Whether children are missing anywhere below.
fn is_cut(element: &Value) -> bool {
    element.get("children_cut").is_some()
        || element.get("children").and_then(Value::as_array).is_some_and(|below| below.iter().any(is_cut))
}

/// Find elements by selector, or by role, title and identifier. Nothing found is an empty list.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct FindElements {
    /// Such as `button[name="OK"]`, `text_field:focused`, `list > list_item:nth(2)`.
    pub selector: Option<String>,
    /// What they are.
    pub role: Option<String>,
    /// Their name or a part of it, in any case.
    pub title: Option<String>,
    /// Their application's identifier.
    pub identifier: Option<String>,
    /// A part of their name or value.
    pub text: Option<String>,
    /// Only in this application.
    pub application: Option<String>,
    /// Only in this window.
    pub window: Option<String>,
    /// Also what does not show.
    pub include_hidden: bool,
    /// Also where `text` is merely seen (OCR).
    pub include_ocr: bool,
    /// How many at the most; 50 by default.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
    #[schemars(skip)]
    #[doc(hidden)]
    pub visible_only: Option<bool>,
}

/// Elements that were found.
#[derive(Serialize, JsonSchema)]
pub struct ElementList {
    /// The elements, in the order of the document.
    pub elements: Vec<ElementInfo>,
    /// Whether not everything could be searched, or the list is cut.
    pub truncated: bool,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
    /// Applications that did not answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<Silent>,
    /// Where the text is seen on the screen, whatever its application says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Vec<Seen>>,
}

impl Tool for FindElements {
    const NAME: &'static str = "find_elements";
    const HIDDEN: &'static [&'static str] = &["visible_only"];
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[
        Code::AmbiguousTarget,
        Code::InvalidSelector,
        Code::WindowNotFound,
        Code::ApplicationNotFound,
        Code::PermissionDenied,
        Code::WindowMinimized,
    ];
    const GROUP: Group = Group::Elements;
    type Output = Data<ElementList>;

    fn patience(&self) -> Duration {
        if self.include_ocr { ocr::PATIENCE } else { Duration::ZERO }
    }

    fn call(self, cx: &Context) -> Result<Data<ElementList>> {
        let which =
            Which { element: None, window: self.window.as_deref(), application: self.application.as_deref() };
        let wanted = Wanted::new(
            self.selector.as_deref(),
            self.role.as_deref(),
            self.title.as_deref(),
            self.identifier.as_deref(),
            self.text.as_deref(),
        )?;
        let seen = self.seen(cx)?;
        let tree = find::tree(cx, which, Bounds::Showing)?;
        let hidden = self.include_hidden || self.visible_only == Some(false);
        let matches: Vec<usize> = wanted
            .select(&tree)
            .into_iter()
            .filter(|index| hidden || find::shows(&tree.nodes[*index].element))
            .collect();
        let size = self.page_size.map_or(50, Ranged::get);
        let (matches, next_page_token) = page(matches, Some(size), self.page_token.as_deref())?;
        let elements: Vec<&Element> = matches.iter().map(|index| &tree.nodes[*index].element).collect();
        let numbers = cx.server.refs.show_all(elements.iter().copied());
        Ok(Data(ElementList {
            elements: elements
                .into_iter()
                .zip(numbers)
                .map(|(element, number)| ElementInfo::of(format!("e{number}"), element))
                .collect(),
            truncated: tree.cut || next_page_token.is_some() || !tree.silent.is_empty(),
            next_page_token,
            silent: tree.silent,
            seen,
        }))
    }
}

impl FindElements {
    /// Where the text is seen, if that was asked for.
    fn seen(&self, cx: &Context) -> Result<Option<Vec<Seen>>> {
        if !self.include_ocr {
            return Ok(None);
        }
        let text = self.text.as_ref().or(self.title.as_ref()).ok_or_else(|| {
            Error::new(Code::MissingRequiredParameter, "include_ocr looks for a text, and none is given.")
                .expected("text or title")
        })?;
        let which = match (&self.window, &self.application) {
            (Some(name), _) | (None, Some(name)) => Some(super::target::window(cx, name)?),
            (None, None) => None,
        };
        ocr::look_for(cx, text, which.as_ref()).map(Some)
    }
}

/// What elements have to be like, from a tool's parameters.
pub struct Wanted {
    selector: Option<Selector>,
    role: Option<Role>,
    title: Option<String>,
    identifier: Option<String>,
    text: Option<String>,
}

impl Wanted {
    /// Takes whatever of it is given; all of it has to hold.
    pub fn new(
        selector: Option<&str>,
        role: Option<&str>,
        title: Option<&str>,
        identifier: Option<&str>,
        text: Option<&str>,
    ) -> Result<Wanted> {
        if [selector, role, title, identifier, text].iter().all(Option::is_none) {
            return Err(Error::new(Code::MissingRequiredParameter, "Nothing says which elements to find.")
                .expected("at least one of selector, role, title, identifier, text"));
        }
        Ok(Wanted {
            selector: selector.map(Selector::parse).transpose()?,
            role: role
                .map(|name| {
                    Role::from_name(name).ok_or_else(|| {
                        Error::argument(format!("No role is called {name:?}."))
                            .found(Role::ALL.iter().map(|role| role.name()))
                    })
                })
                .transpose()?,
            title: title.map(str::to_lowercase),
            identifier: identifier.map(str::to_owned),
            text: text.map(str::to_lowercase),
        })
    }

    /// The elements of a tree that fit.
    pub fn select(&self, tree: &Tree) -> Vec<usize> {
        let candidates = match &self.selector {
            Some(selector) => selector.select(tree),
            None => (0..tree.nodes.len()).collect(),
        };
        candidates.into_iter().filter(|index| self.fits(&tree.nodes[*index].element)).collect()
    }

    fn fits(&self, element: &Element) -> bool {
        let holds = |text: &str, part: &str| text.to_lowercase().contains(part);
        self.role.is_none_or(|role| role == element.role)
            && self.title.as_ref().is_none_or(|title| holds(&element.name, title))
            && self.identifier.as_ref().is_none_or(|id| element.identifier.as_ref() == Some(id))
            && self.text.as_ref().is_none_or(|text| {
                holds(&element.name, text) || element.value.as_ref().is_some_and(|value| holds(value, text))
            })
    }
}

/// The parameters of tools that take one element and nothing else.
macro_rules! element_tools {
    ($($(#[$doc:meta])* $type:ident $name:literal $effect:ident $errors:expr => $output:ty, $body:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            /// A ref (e12), an identifier or a selector.
            pub element: String,
            /// Only in this window.
            #[serde(default)]
            pub window: Option<String>,
            /// Only in this application.
            #[serde(default)]
            pub application: Option<String>,
        }

        impl Tool for $type {
            const NAME: &'static str = $name;
            const EFFECT: Effect = Effect::$effect;
            const ERRORS: &'static [Code] = $errors;
            const ALIASES: &'static [(&'static str, &'static str)] = &[("selector", "element")];
            const GROUP: Group = Group::Elements;
            type Output = $output;

            fn call(self, cx: &Context) -> Result<$output> {
                let which = Which {
                    element: Some(&self.element),
                    window: self.window.as_deref(),
                    application: self.application.as_deref(),
                };
                let body: fn(&Context, Which) -> Result<$output> = $body;
                body(cx, which)
            }
        }
    )*};
}

/// The actions of an element.
#[derive(Serialize, JsonSchema)]
pub struct ActionList {
    /// The element.
    #[serde(rename = "ref")]
    pub name_ref: String,
    /// Their names, as the application gives them.
    pub actions: Vec<String>,
}

/// What an element holds.
#[derive(Serialize, JsonSchema)]
pub struct ElementValue {
    /// The element.
    #[serde(rename = "ref")]
    pub name_ref: String,
    /// What it is.
    pub role: Role,
    /// What it is called.
    pub name: String,
    /// What it holds; absent when it holds nothing that can be read, or is a password field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it is checked, for elements that can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

element_tools! {
    /// Show one element: role, name, value, states, bounds, actions.
    GetElement "get_element" Read find::ERRORS => Data<ElementInfo>, |cx, which| {
        let found = find::read(cx, which)?;
        Ok(Data(ElementInfo::of(found.name, &found.element)))
    };

    /// List the actions that an element declares.
    GetElementActions "get_element_actions" Read find::ERRORS => Data<ActionList>, |cx, which| {
        let found = find::read(cx, which)?;
        Ok(Data(ActionList { name_ref: found.name, actions: found.element.actions }))
    };

    /// Read what an element holds: a text, a number, a choice.
    GetUiElementValue "get_ui_element_value" Read find::ERRORS => Data<ElementValue>, |cx, which| {
        let found = find::read(cx, which)?;
        let element = &found.element;
        let password = element.role == Role::PasswordField;
        let text = if password { None } else { cx.desktop.elements.text(&cx.call, &element.id, 1_000_000)?.map(|text| text.text) };
        let value = text.filter(|text| !text.is_empty()).or_else(|| element.value.clone()).filter(|_| !password);
        let checkable = element.states.has(State::Checkable) || element.states.has(State::Checked);
        Ok(Data(ElementValue {
            reason: match (&value, password) {
                (Some(_), _) => None,
                (None, true) => Some("the values of password fields are never read"),
                (None, false) => Some("it holds no text, number or choice"),
            },
            name_ref: found.name,
            role: element.role,
            name: element.name.clone(),
            value,
            checked: checkable.then(|| element.states.has(State::Checked)),
        }))
    };

    /// Give an element the keyboard.
    FocusUiElement "focus_ui_element" Input ACT_ERRORS => Data<Acted>, |cx, which| {
        let found = find::act(cx, which)?;
        focus(cx, &found).map(Data)
    };

    /// Scroll until an element shows.
    ScrollToElement "scroll_to_element" Input ACT_ERRORS => Data<Acted>, |cx, which| {
        let found = find::act(cx, which)?;
        scroll_to(cx, &found).map(Data)
    };
}

/// Gives an element the keyboard, and its window first.
pub fn focus(cx: &Context, found: &Found) -> Result<Acted> {
    find::require_enabled(found)?;
    let target = Some(found.line());
    let mut window_came = None;
    if let Some(window) = find::window_of(cx, &found.element)?
        && !window.focused
    {
        let acted = super::windows::focus(cx, &window)?;
        if acted.effect != super::evidence::Seen::Confirmed {
            return Ok(Acted { target, ..acted });
        }
        window_came = acted.evidence;
    }
    let has = |cx: &Context| {
        cx.desktop.elements.element(&cx.call, &found.element.id).map(|now| now.states.has(State::Focused))
    };
    if has(cx)? {
        return Ok(Acted {
            target,
            ..Acted::confirmed(match window_came {
                Some(came) => format!("{came}; in that window it has the keyboard"),
                None => "it had the keyboard already".to_owned(),
            })
        });
    }
    let via = match cx.desktop.elements.focus(&cx.call, &found.element.id) {
        Ok(()) => "action",
        // The toolkit declares no way to give the focus: then a click is the way, where one is harmless.
        Err(error) if error.code == Code::Unsupported && takes_text(found.element.role) => {
            let center = place_of(cx, found)?;
            pointer::click_at(cx, Some(center), Button::Left, 1, &[], Duration::ZERO)?;
            "pointer"
        }
        Err(error) => return Err(error),
    };
    let came = cx.call.until_within(Duration::from_millis(500), "waiting for the keyboard focus", || {
        Ok(has(cx)?.then_some(()))
    })?;
    let acted = match came {
        Some(()) => Acted::confirmed("it has the keyboard now"),
        None => Acted::no_change("The application was asked to give it the keyboard and did not."),
    };
    Ok(Acted { target, via: Some(via), ..acted })
}

/// Whether a role takes typed text.
pub const fn takes_text(role: Role) -> bool {
    matches!(
        role,
        Role::TextField
            | Role::TextArea
            | Role::PasswordField
            | Role::SpinButton
            | Role::Terminal
            | Role::Document
    )
}

/// Scrolls until an element shows: by its application's own means, by the wheel where it has none.
fn bring_into_view(cx: &Context, element: &Element) -> Result<Option<Element>> {
    match cx.desktop.elements.scroll_into_view(&cx.call, &element.id) {
        Err(error) if error.code == Code::Unsupported => scroll::wheel_to(cx, element, error),
        Err(error) => Err(error),
        Ok(()) => {
            cx.call.until_within(Duration::from_millis(1000), "waiting for the element to show", || {
                let now = cx.desktop.elements.element(&cx.call, &element.id)?;
                Ok(in_view(cx, &now)?.then_some(now))
            })
        }
    }
}

/// Scrolls an element into view and says what came of it.
fn scroll_to(cx: &Context, found: &Found) -> Result<Acted> {
    let target = Some(found.line());
    if in_view(cx, &found.element)? {
        return Ok(Acted { target, ..Acted::confirmed("it showed already") });
    }
    let came = bring_into_view(cx, &found.element)?;
    Ok(match came {
        Some(now) => Acted {
            target,
            ..Acted::confirmed(match now.bounds {
                Some(bounds) => format!("it shows now, {bounds}"),
                None => "it shows now".to_owned(),
            })
        },
        None => Acted {
            target,
            ..Acted::no_change("The application was asked to scroll to it and it does not show.")
        },
    })
}

/// Whether an element's middle lies in its window and it says that it shows.
pub fn in_view(cx: &Context, element: &Element) -> Result<bool> {
    let Some(bounds) = element.bounds else { return Ok(false) };
    let window = find::window_of(cx, element)?;
    Ok(find::shows(element) && window.is_none_or(|window| window.bounds.contains(bounds.center())))
}

/// The middle of an element, scrolled into view if need be; refused when it does not show or another
/// window covers it.
pub fn place_of(cx: &Context, found: &Found) -> Result<Point> {
    let mut element = found.element.clone();
    if !in_view(cx, &element)? {
        find::window_of(cx, &element)?.map(super::target::shown).transpose()?;
        let away = |error: Error| {
            Error::new(Code::ElementNotActionable, format!("{} does not show on the screen.", found.line()))
                .os(error.message)
                .remedy("Scroll to it, open what it is in, or restore its window.")
        };
        let came = bring_into_view(cx, &element).map_err(away)?;
        element = came.ok_or_else(|| away(Error::backend("Its application did not scroll to it.")))?;
    }
    // What moves meanwhile is looked at again where it is then.
    for _ in 0..3 {
        let error = match clear_middle(cx, found, &element) {
            Ok(point) => return Ok(point),
            Err(error) => error,
        };
        match cx.desktop.elements.element(&cx.call, &element.id) {
            Ok(now) if now.bounds != element.bounds => element = now,
            _ => return Err(error),
        }
    }
    clear_middle(cx, found, &element)
}

/// The middle of an element, refused when something else lies on it.
fn clear_middle(cx: &Context, found: &Found, element: &Element) -> Result<Point> {
    let bounds = element.bounds.filter(|bounds| !bounds.is_empty()).ok_or_else(|| {
        Error::new(
            Code::ElementNotActionable,
            format!("The application does not say where {} is.", found.line()),
        )
        .remedy("Take a screenshot and click by coordinates.")
    })?;
    let center = bounds.center();
    let own = find::window_of(cx, element)?.map(super::target::shown).transpose()?;
    let top = cx.desktop.windows.at(&cx.call, center)?;
    let mut lies_in = own.as_ref().map(|own| own.id);
    if let (Some(own), Some(top)) = (&own, &top)
        && own.id != top.id
    {
        // Menus and lists of its own application open in windows that are in no list, and what stands in them
        // belongs to the window that they opened from.
        let pops_up = own.pid == top.pid
            && !cx.desktop.windows.list(&cx.call)?.iter().any(|window| window.id == top.id);
        if !pops_up {
            return Err(Error::new(
                Code::ElementNotActionable,
                format!("{} is covered by the window {:?}.", found.line(), top.title),
            )
            .remedy("Bring its window to the front with focus_window first."));
        }
        lies_in = Some(top.id);
    }
    if let Some(window) = lies_in
        && let Ok(Some(there)) = cx.desktop.elements.at(&cx.call, window, center)
        && there.id != element.id
        && !related(cx, element, &there)
    {
        return Err(Error::new(
            Code::ElementNotActionable,
            format!("{} is covered at its middle by {} {}.", found.line(), there.role, short(&there.name)),
        )
        .remedy("Close or move what covers it, or use click_ui_element, which uses its own action."));
    }
    Ok(center)
}

/// What has the keyboard after a click at a place of an element that could have had it itself. Toolkits that
/// do not tell what lies on top (what their applications paint themselves) show only so that something else took
/// the click.
pub fn taken_by(cx: &Context, element: &Element, place: Point) -> Option<Element> {
    let now = cx.desktop.elements.element(&cx.call, &element.id).ok()?;
    if !now.states.has(State::Focusable) || now.states.has(State::Focused) {
        return None;
    }
    let focused = cx.desktop.elements.focused(&cx.call).ok().flatten()?;
    let lies_there = focused.bounds.is_some_and(|bounds| bounds.contains(place));
    let other = focused.id != now.id && focused.window == now.window && focused.role.is_interactive();
    (other && lies_there && !related(cx, &now, &focused)).then_some(focused)
}

/// Whether one element lies inside the other in its application's tree.
///
/// Chromium finds the texts of buttons at their places and leaves them out of their children now and then;
/// they declare that a click on them is their ancestor's.
fn related(cx: &Context, element: &Element, there: &Element) -> bool {
    let holds = |outer: &Element, inner: &Element| {
        let query = TreeQuery {
            bounds: Bounds::No,
            values: false,
            ..TreeQuery::new(Root::Element(outer.id.clone()))
        };
        cx.desktop
            .elements
            .tree(&cx.call, &query)
            .is_ok_and(|tree| tree.nodes.iter().any(|node| node.element.id == inner.id))
    };
    let is_its_text = || {
        let is_ancestors = there.actions.iter().any(|action| action == "clickAncestor");
        let inside = there.bounds.zip(element.bounds);
        is_ancestors && inside.is_some_and(|(inner, outer)| outer.intersection(&inner) == Some(inner))
    };
    holds(element, there) || holds(there, element) || is_its_text()
}

/// Names of actions that are what a click does, in the order of preference.
const CLICKS: &[&str] = &["click", "press", "activate", "jump", "dodefault", "do default", "toggle", "open"];

/// Click an element by its own action, whether covered or not; by the pointer when it declares none. The
/// reply says which (`via`) and what changed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClickUiElement {
    /// A ref (e12), an identifier or a selector.
    pub element: String,
    /// Only in this window.
    #[serde(default)]
    pub window: Option<String>,
    /// Only in this application.
    #[serde(default)]
    pub application: Option<String>,
    /// Other than left: by the pointer.
    #[serde(default)]
    pub button: Button,
    /// More than 1: by the pointer.
    #[serde(default)]
    pub click_count: Option<Ranged<1, 3>>,
    /// Keys held meanwhile: by the pointer.
    #[serde(default)]
    pub modifiers: Vec<Modifier>,
    /// Look this long for a consequence; 100 by default.
    #[serde(default)]
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for ClickUiElement {
    const NAME: &'static str = "click_ui_element";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = CLICK_ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] = &[("selector", "element")];
    const GROUP: Group = Group::Elements;
    type Output = Data<Acted>;

    fn patience(&self) -> Duration {
        self.settle_ms.map_or(Duration::ZERO, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let found = find::act(
            cx,
            Which {
                element: Some(&self.element),
                window: self.window.as_deref(),
                application: self.application.as_deref(),
            },
        )?;
        find::require_enabled(&found)?;
        let settle = self.settle_ms.map_or(cx.server.config.settle, Ranged::milliseconds);
        let count = self.click_count.map_or(1, |count| count.get() as u32);
        let plain = self.button == Button::Left && count == 1 && self.modifiers.is_empty();
        let action = click_action(&found.element).filter(|_| plain);
        let Some(action) = action else {
            return click_element(cx, &found, self.button, count, &self.modifiers, settle).map(Data);
        };
        perform(cx, &found, action, settle).map(Data)
    }
}

/// The action that is what a click does, if the element declares one. A text field's `activate` is what
/// Enter does, so a text field has none.
pub fn click_action(element: &Element) -> Option<&str> {
    if takes_text(element.role) {
        return None;
    }
    CLICKS.iter().find_map(|wanted| {
        element.actions.iter().map(String::as_str).find(|action| action.eq_ignore_ascii_case(wanted))
    })
}

/// Clicks an element with the pointer; refused when it is disabled, does not show or is covered.
pub fn click_element(
    cx: &Context,
    found: &Found,
    button: Button,
    count: u32,
    modifiers: &[Modifier],
    settle: Duration,
) -> Result<Acted> {
    find::require_enabled(found)?;
    let center = place_of(cx, found)?;
    let before = found.element.clone();
    let acted = pointer::click_watched(cx, Some(center), button, count, modifiers, settle, Some(&before))?;
    Ok(with_note(Acted { via: Some("pointer"), target: Some(found.line()), ..acted }, found))
}

fn with_note(mut acted: Acted, found: &Found) -> Acted {
    if let Some(note) = &found.note {
        acted.reason = Some(match acted.reason.take() {
            Some(reason) => format!("{reason} ({note})"),
            None => note.clone(),
        });
    }
    acted
}

/// Performs an action and reports what came of it.
fn perform(cx: &Context, found: &Found, action: &str, settle: Duration) -> Result<Acted> {
    let window = find::window_of(cx, &found.element)?;
    let area = found.element.bounds.unwrap_or_default();
    let witness = (!settle.is_zero()).then(|| Witness::begin(cx, window.as_ref(), area));
    cx.desktop.elements.perform(&cx.call, &found.element.id, action)?;
    let acted = match witness {
        Some(witness) => witness.conclude(cx, settle, Some(&found.element))?,
        None => Acted::unverified("settle_ms is 0, so nothing was looked for."),
    };
    let acted = Acted {
        via: Some("action"),
        target: Some(found.line()),
        window_title: window.map(|window| window.title),
        ..acted
    };
    Ok(with_note(acted, found))
}

/// Perform one of the actions that an element declares.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerformElementAction {
    /// A ref (e12), an identifier or a selector.
    pub element: String,
    /// The action's name; get_element lists them.
    pub action: String,
    /// Only in this window.
    #[serde(default)]
    pub window: Option<String>,
    /// Only in this application.
    #[serde(default)]
    pub application: Option<String>,
    /// Look this long for a consequence; 100 by default.
    #[serde(default)]
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for PerformElementAction {
    const NAME: &'static str = "perform_element_action";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = ACT_ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] = &[("selector", "element")];
    const GROUP: Group = Group::Elements;
    type Output = Data<Acted>;

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let found = find::act(
            cx,
            Which {
                element: Some(&self.element),
                window: self.window.as_deref(),
                application: self.application.as_deref(),
            },
        )?;
        find::require_enabled(&found)?;
        let settle = self.settle_ms.map_or(cx.server.config.settle, Ranged::milliseconds);
        perform(cx, &found, &self.action, settle).map(Data)
    }
}

/// Set what an element holds: replaces a text, sets a number, chooses an option, checks or unchecks
/// (true, false). Read back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetUiElementValue {
    /// A ref (e12), an identifier or a selector.
    pub element: String,
    /// The new value.
    pub value: String,
    /// Only in this window.
    #[serde(default)]
    pub window: Option<String>,
    /// Only in this application.
    #[serde(default)]
    pub application: Option<String>,
}

impl Tool for SetUiElementValue {
    const NAME: &'static str = "set_ui_element_value";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = CLICK_ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] = &[("selector", "element"), ("text", "value")];
    const SECRET: &'static [&'static str] = &["value"];
    const GROUP: Group = Group::Elements;
    type Output = Data<Acted>;

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let found = find::act(
            cx,
            Which {
                element: Some(&self.element),
                window: self.window.as_deref(),
                application: self.application.as_deref(),
            },
        )?;
        find::require_enabled(&found)?;
        if let Some(checked) = as_check(&found.element, &self.value)? {
            return check(cx, &found, checked).map(Data);
        }
        let before = found.element.clone();
        // Qt 5 would set it all the same.
        require_editable(cx, &before, "it was not changed")?;
        cx.desktop.elements.set_value(&cx.call, &before.id, &self.value)?;
        let secret = before.role == Role::PasswordField;
        let now =
            cx.call.until_within(Duration::from_millis(500), "waiting for the value to be taken", || {
                Ok(read_back(cx, &before, &self.value)?.then_some(()))
            })?;
        let acted = match now {
            Some(()) if secret => {
                Acted::confirmed(format!("it holds {} characters now", self.value.chars().count()))
            }
            Some(()) => Acted::confirmed(format!(
                "value {} → {}",
                before.value.as_deref().map_or("nothing".to_owned(), short),
                short(&self.value)
            )),
            None => match changed(cx, &before) {
                Some(difference) => Acted {
                    evidence: Some(difference),
                    ..Acted::unverified(
                        "It changed, but does not read back as what was set: its application corrected it.",
                    )
                },
                None => {
                    Acted::no_change("It holds what it held before: its application did not take the value.")
                }
            },
        };
        Ok(Data(Acted { via: Some("action"), target: Some(found.line()), ..acted }))
    }
}

/// Refuses a text that its application does not let a person edit.
pub fn require_editable(cx: &Context, field: &Element, undone: &str) -> Result<()> {
    let text = matches!(field.role, Role::TextField | Role::TextArea | Role::PasswordField);
    let read_only = field.states.has(State::ReadOnly) && !field.states.has(State::Editable);
    if !text || (!read_only && field.states.has(State::Enabled)) {
        return Ok(());
    }
    let name = cx.server.refs.show(field);
    let why = if read_only { "read-only" } else { "disabled" };
    Err(Error::new(Code::ElementNotActionable, format!("{} is {why}; {undone}.", find::line(&name, field)))
        .remedy("Choose a field that can be edited."))
}

/// Whether an element holds a value now. Numbers are compared as numbers, passwords by their length.
fn read_back(cx: &Context, before: &Element, wanted: &str) -> Result<bool> {
    let text = cx.desktop.elements.text(&cx.call, &before.id, 1_000_000)?;
    if before.role == Role::PasswordField {
        return Ok(text.is_some_and(|text| text.characters as usize == wanted.chars().count()));
    }
    if text.is_some_and(|text| text.text == wanted || text.text.trim_end_matches('\n') == wanted) {
        return Ok(true);
    }
    let now = cx.desktop.elements.element(&cx.call, &before.id)?;
    let Some(value) = now.value else { return Ok(false) };
    let numbers = (value.trim().parse::<f64>(), wanted.trim().parse::<f64>());
    Ok(value == wanted || matches!(numbers, (Ok(value), Ok(wanted)) if (value - wanted).abs() < 1e-9))
}

/// The check that a value asks for, of an element that can be checked.
fn as_check(element: &Element, value: &str) -> Result<Option<bool>> {
    match element.role {
        Role::CheckBox
        | Role::RadioButton
        | Role::Switch
        | Role::ToggleButton
        | Role::CheckMenuItem
        | Role::RadioMenuItem => {}
        _ => return Ok(None),
    }
    match value.trim().to_lowercase().as_str() {
        "true" | "1" | "on" | "yes" | "checked" => Ok(Some(true)),
        "false" | "0" | "off" | "no" | "unchecked" => Ok(Some(false)),
        other => Err(Error::argument(format!("A {} is true or false, not {other:?}.", element.role))),
    }
}

fn check(cx: &Context, found: &Found, wanted: bool) -> Result<Acted> {
    let words = |checked: bool| if checked { "checked" } else { "not checked" };
    let target = Some(found.line());
    if found.element.states.has(State::Checked) == wanted {
        return Ok(Acted { target, ..Acted::confirmed(format!("it was {} already", words(wanted))) });
    }
    let settle = Duration::from_millis(500);
    let acted = match click_action(&found.element) {
        Some(action) => perform(cx, found, action, settle)?,
        None => click_element(cx, found, Button::Left, 1, &[], settle)?,
    };
    let now = cx.desktop.elements.element(&cx.call, &found.element.id)?;
    if now.states.has(State::Checked) == wanted {
        let evidence = difference(&found.element, &now).unwrap_or_else(|| format!("it is {}", words(wanted)));
        return Ok(Acted {
            effect: super::evidence::Seen::Confirmed,
            evidence: Some(evidence),
            reason: None,
            ..acted
        });
    }
    Ok(Acted {
        effect: super::evidence::Seen::NoChangeSeen,
        reason: Some(format!("It is {} still.", words(!wanted))),
        ..acted
    })
}

/// A reading as a reply, for tools that are built on [`GetUiElements`].
pub fn reading(text: String) -> Reply {
    Reply::Reading(text).reply()
}
