//! The seven tools that clients of plain JSON-RPC know (docs/http.md): adapters, which find what is meant and
//! call the canonical tools. Their names, parameters and answers are those of these clients.
//!
//! What an `elementId` or `targetId` names is looked for in this order: an element's ref, a window's handle, a
//! process, a window's title, an element's identifier or selector.

use super::apps::LaunchApp;
use super::elements::{
    self, ClickUiElement, Format, GetElement, GetUiElementValue, GetUiElements, SetUiElementValue,
};
use super::evidence::{Acted, Seen};
use super::find::{self, Which};
use super::keyboard::{self, PressKey, TypeText};
use super::send_keys::{self, Stroke};
use super::target;
use super::windows::{FocusWindow, ListWindows};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Output, Ranged, Reply, Row, Tool};
use deskhand_core::element::{Bounds, Element, Role, Root, State, TreeQuery};
use deskhand_core::key::{Key, Modifier};
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The table of these clients.
pub static TOOLS: &[Row] = &[
    Row::of::<LaunchProcess>(),
    Row::of::<ListOpenWindows>(),
    Row::of::<QueryTree>(),
    Row::of::<SetProperty>(),
    Row::of::<ReadProperty>(),
    Row::of::<ClickElement>(),
    Row::of::<GetProviders>(),
];

/// The system's own provider of elements.
const OWN: &str = if cfg!(target_os = "windows") {
    "windows-forms"
} else if cfg!(target_os = "macos") {
    "ax"
} else {
    "at-spi"
};

/// What these clients call the provider of whatever system it is.
const ANY: &str = "windows-forms";

/// What finding an element can fail with.
const FIND_ERRORS: &[Code] = &[
    Code::WindowNotFound,
    Code::ElementNotFound,
    Code::ElementStale,
    Code::AmbiguousTarget,
    Code::PermissionDenied,
];

/// Start an application. Nothing is interpreted by a shell.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchProcess {
    /// A name, a desktop entry's id, or an executable.
    pub executable: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
}

/// What was started.
#[derive(Serialize, JsonSchema)]
pub struct Launched {
    success: bool,
    executable: String,
    pid: u32,
    message: String,
    #[serde(flatten)]
    seen: Evidence,
}

/// What was seen of it, besides what these clients ask for.
#[derive(Serialize, JsonSchema)]
pub struct Evidence {
    effect: Seen,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<Acted> for Evidence {
    fn from(acted: Acted) -> Evidence {
        Evidence { effect: acted.effect, evidence: acted.evidence, reason: acted.reason }
    }
}

impl Tool for LaunchProcess {
    const NAME: &'static str = "launchProcess";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = LaunchApp::ERRORS;
    const GROUP: Group = Group::Applications;
    type Output = Data<Launched>;

    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn call(self, cx: &Context) -> Result<Data<Launched>> {
        let Data(launched) = cx.call(LaunchApp {
            application: self.executable.clone(),
            arguments: self.args,
            working_directory: None,
            environment: Default::default(),
            wait_ms: None,
        })?;
        Ok(Data(Launched {
            success: true,
            message: format!("Launched {}", self.executable),
            executable: self.executable,
            pid: launched.pid,
            seen: launched.acted.into(),
        }))
    }
}

/// List the open windows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListOpenWindows {}

/// A window as these clients know it.
#[derive(Serialize, JsonSchema)]
pub struct Open {
    handle: u64,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
}

/// The windows.
#[derive(Serialize, JsonSchema)]
pub struct OpenWindows {
    success: bool,
    windows: Vec<Open>,
}

impl Tool for ListOpenWindows {
    const NAME: &'static str = "listWindows";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Windows;
    type Output = Data<OpenWindows>;

    fn call(self, cx: &Context) -> Result<Data<OpenWindows>> {
        let Data(list) = cx.call(ListWindows::default())?;
        let windows = list.windows.into_iter();
        let windows = windows.map(|window| Open { handle: window.id, title: window.title, pid: window.pid });
        Ok(Data(OpenWindows { success: true, windows: windows.collect() }))
    }
}

/// Read the elements of a window or below an element as a tree.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct QueryTree {
    /// One of getProviders.
    pub provider_name: String,
    /// A process, a window's title or handle, or an element's id.
    pub target_id: String,
    /// How to read it.
    #[serde(default)]
    pub options: TreeOptions,
}

/// How a tree is read.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct TreeOptions {
    /// How deep; 3 by default.
    pub depth: Option<Ranged<0, 200>>,
    /// Also what does not show.
    pub include_hidden: bool,
}

/// The most bytes of a tree.
const LARGEST_TREE: i64 = 1_000_000;

impl Tool for QueryTree {
    const NAME: &'static str = "queryTree";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = FIND_ERRORS;
    const GROUP: Group = Group::Elements;
    type Output = Bare;

    fn call(self, cx: &Context) -> Result<Bare> {
        require_provider(&self.provider_name)?;
        let (window, element) = match meant(cx, &self.target_id)? {
            Meant::Window(window) => (Some(window.id.to_string()), None),
            Meant::Element(name) => (None, Some(name)),
        };
        let read = cx.call(GetUiElements {
            window,
            element,
            max_depth: Ranged::new(self.options.depth.map_or(3, Ranged::get)),
            include_hidden: self.options.include_hidden,
            include_containers: true,
            include_bounds: true,
            include_actions: true,
            max_bytes: Ranged::new(LARGEST_TREE),
            format: Format::Json,
            ..GetUiElements::default()
        })?;
        let read: Value = match &read {
            Reply::Reading(text) => serde_json::from_str(text).unwrap_or_default(),
            Reply::Data(_) | Reply::Picture(_) => Value::Null,
        };
        let Some(root) = read["elements"].get(0) else {
            return Err(Error::new(
                Code::ElementNotFound,
                format!("{:?} shows no elements.", self.target_id),
            )
            .remedy("Its application may hang, or have accessibility off: see `deskhand doctor`."));
        };
        let mut tree = node(root);
        if read["truncated"] == true {
            tree["truncated"] = json!(true);
        }
        Ok(Bare(tree))
    }
}

/// One element of a tree as these clients know it.
fn node(info: &Value) -> Value {
    let states: Vec<&str> =
        info["states"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let has = |state: State| states.contains(&state.name());
    let role = info["role"].as_str().and_then(Role::from_name).unwrap_or(Role::Unknown);
    let mut properties = Map::new();
    properties.insert("isEnabled".into(), json!(has(State::Enabled)));
    properties.insert("isOffscreen".into(), json!(has(State::Offscreen) || !has(State::Visible)));
    for (name, member) in [("value", "value"), ("identifier", "automationId"), ("description", "helpText")] {
        if let Some(value) = info.get(name) {
            properties.insert(member.into(), value.clone());
        }
    }
    let flags = [
        (State::Focused, "hasKeyboardFocus"),
        (State::Checked, "isChecked"),
        (State::Selected, "isSelected"),
    ];
    for (state, name) in flags {
        if has(state) {
            properties.insert(name.into(), json!(true));
        }
    }
    let position = info.get("bounds").cloned();
    // GTK calls it Click, and clients look for click.
    let actions: Vec<String> = info["actions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|action| Some(action.as_str()?.to_lowercase()))
        .collect();
    let nowhere = || json!({ "x": 0, "y": 0, "width": 0, "height": 0 });
    json!({
        "id": info["ref"],
        "type": format!("ControlType.{}", control_type(role)),
        "name": info["name"],
        "position": position.unwrap_or_else(nowhere),
        "properties": properties,
        "actions": actions,
        "children": info["children"].as_array().into_iter().flatten().map(node).collect::<Vec<_>>(),
    })
}

/// The nearest type of control of UI Automation.
const fn control_type(role: Role) -> &'static str {
    match role {
        Role::Window | Role::Dialog | Role::Alert | Role::FileChooser | Role::ColorChooser => "Window",
        Role::Button | Role::ToggleButton => "Button",
        Role::Calendar => "Calendar",
        Role::CheckBox | Role::Switch => "CheckBox",
        Role::ComboBox => "ComboBox",
        Role::PasswordField | Role::TextField | Role::TextArea => "Edit",
        Role::Link => "Hyperlink",
        Role::Canvas | Role::Figure | Role::Icon | Role::Image | Role::Math | Role::Video => "Image",
        Role::ListItem | Role::Option => "ListItem",
        Role::List | Role::ListBox => "List",
        Role::Menu => "Menu",
        Role::MenuBar => "MenuBar",
        Role::MenuItem | Role::CheckMenuItem | Role::RadioMenuItem => "MenuItem",
        Role::ProgressBar => "ProgressBar",
        Role::RadioButton => "RadioButton",
        Role::ScrollBar => "ScrollBar",
        Role::Slider => "Slider",
        Role::SpinButton => "Spinner",
        Role::StatusBar => "StatusBar",
        Role::Tab => "TabItem",
        Role::TabList => "Tab",
        Role::Caption | Role::Heading | Role::Label | Role::Paragraph | Role::Static | Role::Timer => "Text",
        Role::ToolBar => "ToolBar",
        Role::ToolTip => "ToolTip",
        Role::Tree => "Tree",
        Role::TreeItem => "TreeItem",
        Role::BlockQuote | Role::Form | Role::Group | Role::Region | Role::Section => "Group",
        Role::Cell | Role::Row => "DataItem",
        Role::Grid => "DataGrid",
        Role::Article | Role::Document | Role::Log | Role::Terminal => "Document",
        Role::ColumnHeader | Role::RowHeader => "HeaderItem",
        Role::Table => "Table",
        Role::TitleBar => "TitleBar",
        Role::Separator => "Separator",
        Role::Application
        | Role::Filler
        | Role::Notification
        | Role::Panel
        | Role::ScrollPane
        | Role::SplitPane
        | Role::Viewport => "Pane",
        Role::Unknown => "Custom",
    }
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settable {
    /// Keystrokes.
    Keys,
    /// The whole text.
    Text,
    /// What it holds.
    Value,
}

/// Send keys to a window or an element (`keys`), or set what an element holds (`text`, `value`). Keys are in
/// the notation of SendKeys: ^ Ctrl, % Alt, + Shift before a letter, a brace or a parenthesis (a plus sign
/// elsewhere), ~ Enter, {ENTER}, {TAB 3}, {F5}. The text of a process or window is that of its text element
/// that has the keyboard, else of its first that shows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SetProperty {
    /// One of getProviders.
    pub provider_name: String,
    /// A process, a window's title or handle, or an element's id.
    pub element_id: String,
    /// What to set.
    pub property_name: Settable,
    /// The keys, the text or the value: a text, a number or a boolean.
    #[schemars(with = "String")]
    pub value: Value,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
pub struct Done {
    success: bool,
    #[serde(flatten)]
    seen: Evidence,
}

impl From<Acted> for Done {
    fn from(acted: Acted) -> Done {
        Done { success: true, seen: acted.into() }
    }
}

impl Tool for SetProperty {
    const NAME: &'static str = "setProperty";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = &[
        Code::WindowNotFound,
        Code::ElementNotFound,
        Code::ElementStale,
        Code::ElementNotActionable,
        Code::WindowMinimized,
        Code::AmbiguousTarget,
        Code::TargetChanged,
        Code::UnknownKey,
        Code::TextNotTypeable,
        Code::PermissionDenied,
        Code::ElevatedProcessTarget,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const SECRET: &'static [&'static str] = &["value"];
    const GROUP: Group = Group::Elements;
    type Output = Data<Done>;

    fn patience(&self) -> Duration {
        let keys = self.value.as_str().map_or(0, str::len);
        (Duration::from_millis(10) + SAME_KEY).saturating_mul(u32::try_from(keys).unwrap_or(u32::MAX))
    }

    fn call(self, cx: &Context) -> Result<Data<Done>> {
        require_provider(&self.provider_name)?;
        let value = match &self.value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => self.value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(Error::argument("The value has to be a text, a number or a boolean."));
            }
        };
        let acted = match self.property_name {
            Settable::Keys => {
                // All of it is understood before the first key.
                let strokes = send_keys::parse(&value)?;
                let aim = Aim::of(meant(cx, &self.element_id)?);
                send(cx, &strokes, &aim)?
            }
            Settable::Text | Settable::Value => {
                let element = element_meant(cx, &self.element_id)?;
                cx.call(SetUiElementValue { element, value, window: None, application: None })?.0
            }
        };
        Ok(Data(acted.into()))
    }
}

/// What gets the keys.
struct Aim {
    window: Option<String>,
    element: Option<String>,
}

impl Aim {
    fn of(meant: Meant) -> Aim {
        match meant {
            Meant::Window(window) => Aim { window: Some(window.id.to_string()), element: None },
            Meant::Element(name) => Aim { window: None, element: Some(name) },
        }
    }
}

/// A button of GTK 3 that a key has activated ignores that key for 250 ms: of `11+1=`, typed faster, a calculator
/// would see `1+`.
const SAME_KEY: Duration = Duration::from_millis(260);

/// How long a window that has the keyboard may take to say which of its elements has it: one that was just opened
/// has not heard of it yet.
const FOCUS: Duration = Duration::from_millis(300);

/// Types, and tells what was seen of the last stroke that was not confirmed, or of the last one.
fn send(cx: &Context, strokes: &[Stroke], aim: &Aim) -> Result<Acted> {
    let mut whole: Option<Acted> = None;
    let shows_only = shows_only(cx, aim)?;
    let mut pressed: BTreeMap<char, Instant> = BTreeMap::new();
    for stroke in strokes {
        let acted = match stroke {
            Stroke::Text(text) if shows_only => {
                cx.desktop.check_text(&cx.call, text)?;
                let mut last = None;
                let mut rest = text.chars().peekable();
                while let Some(c) = rest.next() {
                    let since = pressed.get(&c).map(Instant::elapsed).filter(|since| *since < SAME_KEY);
                    if let Some(since) = since {
                        cx.call.pause(SAME_KEY - since, "pressing the same key again")?;
                    }
                    // What comes of them is looked for after the last one.
                    let settle = if rest.peek().is_some() { Ranged::new(0) } else { None };
                    last = Some(press(cx, aim, send_keys::character(c), &[], 1, settle)?);
                    pressed.insert(c, Instant::now());
                }
                last.unwrap_or_default()
            }
            Stroke::Text(text) => {
                let typed = TypeText {
                    text: text.clone(),
                    element: aim.element.clone(),
                    window: aim.window.clone(),
                    application: None,
                    delay_ms: None,
                    modifiers: Vec::new(),
                    method: keyboard::Method::Keys,
                    paste_keys: None,
                };
                cx.call(typed)?.0.acted
            }
            Stroke::Press { modifiers, key, times } => press(cx, aim, *key, modifiers, *times, None)?,
        };
        // Keys have consequences other than that they read back: each only counts when all do.
        let keep = whole.as_ref().is_some_and(|before| before.effect != Seen::Confirmed);
        if !(keep && acted.effect == Seen::Confirmed) {
            whole = Some(acted);
        }
    }
    Ok(whole.unwrap_or_else(|| Acted::no_change("There was no key to send.")))
}

fn press(
    cx: &Context,
    aim: &Aim,
    key: Key,
    modifiers: &[Modifier],
    times: u16,
    settle_ms: Option<Ranged<0, 10_000>>,
) -> Result<Acted> {
    let pressed = PressKey {
        key: key.to_string(),
        modifiers: modifiers.to_vec(),
        repeat: Ranged::new(i64::from(times)),
        delay_ms: None,
        element: aim.element.clone(),
        window: aim.window.clone(),
        application: None,
        settle_ms,
    };
    Ok(cx.call(pressed)?.0)
}

/// Whether what gets the keys is a text that only shows, as a calculator's display is: its window takes them as
/// keys, and there is no text to type into.
fn shows_only(cx: &Context, aim: &Aim) -> Result<bool> {
    let element = match aim {
        Aim { element: Some(name), .. } => {
            Some(find::read(cx, Which { element: Some(name), ..Which::default() })?.element)
        }
        Aim { window: Some(window), .. } => {
            cx.call(FocusWindow { window: window.clone() })?;
            let focused = || Ok(cx.desktop.elements.focused(&cx.call).ok().flatten());
            cx.call.until_within(FOCUS, "looking for what has the keyboard", focused)?
        }
        Aim { window: None, element: None } => None,
    };
    Ok(element.is_some_and(|it| it.states.has(State::ReadOnly) && !it.states.has(State::Editable)))
}

/// What can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Readable {
    /// The text in it, else its value, else its name.
    Text,
    /// What it holds.
    Value,
    /// What it is called.
    Name,
    /// Its type of control.
    Type,
    /// Where it lies.
    Position,
    /// Whether it reacts.
    IsEnabled,
    /// Whether it does not show.
    IsOffscreen,
}

/// Read a property of an element. The text of a process or window is that of its text element that has the
/// keyboard, else of its first that shows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReadProperty {
    /// One of getProviders.
    pub provider_name: String,
    /// A process, a window's title or handle, or an element's id.
    pub element_id: String,
    /// What to read.
    pub property_name: Readable,
}

/// What was read.
#[derive(Serialize, JsonSchema)]
pub struct Property {
    success: bool,
    /// Nothing where there is nothing to be read.
    value: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Tool for ReadProperty {
    const NAME: &'static str = "readProperty";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = FIND_ERRORS;
    const GROUP: Group = Group::Elements;
    type Output = Bare;

    fn call(self, cx: &Context) -> Result<Bare> {
        require_provider(&self.provider_name)?;
        let mut reason = None;
        let held = |cx: &Context, element: String| {
            cx.call(GetUiElementValue { element, window: None, application: None }).map(|read| read.0)
        };
        let value = match self.property_name {
            Readable::Text => {
                let read = held(cx, element_meant(cx, &self.element_id)?)?;
                reason = read.reason;
                let secret = read.role == Role::PasswordField;
                json!(
                    read.value.or_else(|| (!secret && !elements::takes_text(read.role)).then_some(read.name))
                )
            }
            Readable::Value => {
                let read = held(cx, element_meant(cx, &self.element_id)?)?;
                reason = read.reason;
                read.checked.map_or_else(|| json!(read.value), |checked| json!(checked))
            }
            property @ (Readable::Name
            | Readable::Type
            | Readable::Position
            | Readable::IsEnabled
            | Readable::IsOffscreen) => match meant(cx, &self.element_id)? {
                Meant::Window(window) => of_window(&window, property),
                Meant::Element(element) => {
                    let Data(info) = cx.call(GetElement { element, window: None, application: None })?;
                    let shown = node(&serde_json::to_value(info).unwrap_or_default());
                    match property {
                        Readable::Name => shown["name"].clone(),
                        Readable::Type => shown["type"].clone(),
                        Readable::Position => shown["position"].clone(),
                        Readable::IsEnabled => shown["properties"]["isEnabled"].clone(),
                        Readable::IsOffscreen => shown["properties"]["isOffscreen"].clone(),
                        Readable::Text | Readable::Value => Value::Null,
                    }
                }
            },
        };
        let read = Property { success: true, value, reason };
        Ok(Bare(serde_json::to_value(read).unwrap_or_default()))
    }
}

fn of_window(window: &Window, property: Readable) -> Value {
    use deskhand_core::window::WindowState;
    match property {
        Readable::Name | Readable::Text | Readable::Value => json!(window.title),
        Readable::Type => json!("ControlType.Window"),
        Readable::Position => json!(window.bounds),
        Readable::IsEnabled => json!(true),
        Readable::IsOffscreen => json!(matches!(window.state, WindowState::Minimized | WindowState::Hidden)),
    }
}

/// Click an element: by its own action where it declares one, else where it shows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClickElement {
    /// One of getProviders.
    pub provider_name: String,
    /// An element's id, identifier or selector.
    pub element_id: String,
}

impl Tool for ClickElement {
    const NAME: &'static str = "clickElement";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = ClickUiElement::ERRORS;
    const GROUP: Group = Group::Elements;
    type Output = Data<Done>;

    fn call(self, cx: &Context) -> Result<Data<Done>> {
        require_provider(&self.provider_name)?;
        let plain =
            self.element_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        let clicked = cx.call(ClickUiElement {
            element: self.element_id.clone(),
            window: None,
            application: None,
            button: Default::default(),
            click_count: None,
            modifiers: Vec::new(),
            settle_ms: None,
        });
        match clicked {
            Ok(Data(acted)) => Ok(Data(acted.into())),
            // An id that nothing has reads like a selector that is none.
            Err(error) if error.code == Code::InvalidSelector && plain => Err(Error::new(
                Code::ElementNotFound,
                format!("No element has the id {:?}.", self.element_id),
            )
            .remedy("Read the elements with queryTree, and use an id of that reading.")),
            Err(error) => Err(error),
        }
    }
}

/// List the providers of elements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetProviders {}

impl Tool for GetProviders {
    const NAME: &'static str = "getProviders";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Elements;
    type Output = Bare;

    fn call(self, cx: &Context) -> Result<Bare> {
        cx.call.check("listing the providers")?;
        let choices = cx.desktop.choices.iter();
        let missing =
            choices.filter(|choice| choice.capability == "elements").any(|choice| choice.provider.is_err());
        Ok(Bare(if missing { json!([]) } else { json!([OWN]) }))
    }
}

/// JSON in the shape that these clients know.
pub struct Bare(Value);

impl Output for Bare {
    fn schema() -> Option<Value> {
        None
    }

    fn reply(self) -> Reply {
        Reply::Data(self.0)
    }
}

fn require_provider(name: &str) -> Result<()> {
    if [OWN, ANY].iter().any(|known| known.eq_ignore_ascii_case(name.trim())) {
        return Ok(());
    }
    Err(Error::argument(format!("There is no provider {name:?} here."))
        .expected(format!("{OWN} (or {ANY}, which stands for the system's own)")))
}

/// What a name stands for.
enum Meant {
    Window(Window),
    /// Its ref, or what the canonical tools find it by.
    Element(String),
}

fn meant(cx: &Context, name: &str) -> Result<Meant> {
    let name = name.trim();
    if cx.server.refs.get(name).is_some() {
        return Ok(Meant::Element(name.to_owned()));
    }
    let windows = cx.desktop.windows.list(&cx.call)?;
    if let Ok(handle) = name.parse()
        && let Some(window) = windows.iter().find(|window| window.id == WindowId(handle))
    {
        return Ok(Meant::Window(window.clone()));
    }
    if !name.is_empty() {
        match keyboard::window_of_application(cx, name) {
            Ok(window) => return Ok(Meant::Window(window)),
            Err(error) if matches!(error.code, Code::ApplicationNotFound | Code::WindowNotFound) => {}
            Err(error) => return Err(error),
        }
    }
    let no_window = match target::one_window(&windows, name) {
        Ok(window) => return Ok(Meant::Window(window)),
        Err(error) if error.code == Code::WindowNotFound => error,
        Err(error) => return Err(error),
    };
    match find::read(cx, Which { element: Some(name), ..Which::default() }) {
        Ok(found) => Ok(Meant::Element(found.name)),
        // What is neither: the windows are what a name most likely meant.
        Err(error)
            if matches!(
                error.code,
                Code::ElementNotFound | Code::InvalidSelector | Code::MissingRequiredParameter
            ) =>
        {
            let mut none = Error::new(
                Code::WindowNotFound,
                format!("No process, window or element is called {name:?}."),
            )
            .expected("a process, a window's title or handle, or an element's id");
            none.detail.found = no_window.detail.found;
            Err(none.remedy("See listWindows for the windows and queryTree for the elements."))
        }
        Err(error) => Err(error),
    }
}

/// The element whose text is meant: the named one, or of a window its text element that has the keyboard,
/// else its first that shows.
fn element_meant(cx: &Context, name: &str) -> Result<String> {
    let window = match meant(cx, name)? {
        Meant::Element(name) => return Ok(name),
        Meant::Window(window) => window,
    };
    let query = TreeQuery { bounds: Bounds::No, ..TreeQuery::new(Root::Window(window.id)) };
    let tree = cx.desktop.elements.tree(&cx.call, &query)?;
    let texts: Vec<&Element> =
        tree.nodes.iter().map(|node| &node.element).filter(|it| elements::takes_text(it.role)).collect();
    let focused = texts.iter().find(|it| it.states.has(State::Focused));
    let chosen = focused.or_else(|| texts.iter().find(|it| find::shows(it)));
    chosen.map(|element| cx.server.refs.show(element)).ok_or_else(|| {
        Error::new(Code::ElementNotFound, format!("The window {:?} shows no text element.", window.title))
            .remedy("Read its elements with queryTree and name the one you mean.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_a_type_of_control() {
        for role in Role::ALL {
            assert!(control_type(*role).starts_with(|c: char| c.is_ascii_uppercase()), "{role}");
        }
    }
}
