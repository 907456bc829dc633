//! `mouse_control`: the whole pointer in one tool, as clients of mcp-windows know it.
//!
//! An adapter: it builds the canonical tools' arguments and calls them. What is its own are coordinates that
//! count from a monitor, flat answers, and codes that those clients tell apart.

use super::evidence::Acted;
use super::pointer::{Click, CursorPosition, MoveMouse};
use super::scroll::{Direction, Drag, Scroll};
use crate::call::Context;
use crate::encode;
use crate::tool::{Data, Effect, Group, Output, Ranged, Reply, Row, Tool};
use deskhand_core::geometry::display_at;
use deskhand_core::input::Button;
use deskhand_core::key::Modifier;
use deskhand_core::{Code, Display, Error, Point, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<MouseControl>()];

/// The codes that these clients know by another name. All others keep theirs.
pub const CODES: &[(Code, &str)] = &[
    (Code::Timeout, "operation_timeout"),
    // Somebody else had the pointer until the time was up.
    (Code::Busy, "operation_timeout"),
    (Code::Backend, "send_input_failed"),
    // The input was made and did not have its effect: something confines the pointer.
    (Code::TargetChanged, "send_input_failed"),
    (Code::DisplayNotFound, "invalid_coordinates"),
];

/// The code of a success that is none in full.
const WINDOW_LOST: &str = "window_lost_during_drag";

/// What the pointer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Goes somewhere.
    Move,
    /// The left button, or the one given.
    Click,
    /// The same twice.
    DoubleClick,
    /// The right button.
    RightClick,
    /// The middle button.
    MiddleClick,
    /// Down at the start, up at the end.
    Drag,
    /// Turns the wheel.
    Scroll,
    /// Only tells where it is.
    GetPosition,
}

impl Action {
    const ALL: [Action; 8] = [
        Action::Move,
        Action::Click,
        Action::DoubleClick,
        Action::RightClick,
        Action::MiddleClick,
        Action::Drag,
        Action::Scroll,
        Action::GetPosition,
    ];

    const fn name(self) -> &'static str {
        match self {
            Action::Move => "move",
            Action::Click => "click",
            Action::DoubleClick => "double_click",
            Action::RightClick => "right_click",
            Action::MiddleClick => "middle_click",
            Action::Drag => "drag",
            Action::Scroll => "scroll",
            Action::GetPosition => "get_position",
        }
    }
}

const DIRECTIONS: [&str; 4] = ["up", "down", "left", "right"];

/// The pointer in one tool. Coordinates are pixels of the monitor `monitorIndex`, which is required with
/// them: those of its native-size screenshot (take_screenshot with display = monitorIndex). Without
/// coordinates it acts where the pointer is. Answers `success` with where the pointer ended and what was
/// seen of it, or `success: false` with `error_code`, `error` and `error_details`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MouseControl {
    /// What to do. move needs x and y, drag its start and end, scroll a direction.
    pub action: Action,
    /// Across, from the monitor's left edge.
    #[serde(default)]
    pub x: Option<f64>,
    /// Down, from its top edge.
    #[serde(default)]
    pub y: Option<f64>,
    /// Which monitor the coordinates belong to; 0 is the primary one.
    #[serde(default, rename = "monitorIndex")]
    pub monitor_index: Option<i64>,
    /// Start of a drag, across.
    #[serde(default, rename = "startX")]
    pub start_x: Option<f64>,
    /// Start of a drag, down.
    #[serde(default, rename = "startY")]
    pub start_y: Option<f64>,
    /// End of a drag, across.
    #[serde(default, rename = "endX")]
    pub end_x: Option<f64>,
    /// End of a drag, down.
    #[serde(default, rename = "endY")]
    pub end_y: Option<f64>,
    /// The button that drags, or that click and double_click use; left by default.
    #[serde(default)]
    pub button: Option<Button>,
    /// Which way to scroll.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// How many clicks of the wheel; 1 by default.
    #[serde(default)]
    pub amount: Option<Ranged<1, 1000>>,
    /// Keys held meanwhile, such as ctrl, shift, alt.
    #[serde(default)]
    pub modifiers: Vec<Modifier>,
    // The caption of every screenshot offers it.
    /// The coordinates are pixels of this screenshot instead.
    #[schemars(skip)]
    #[serde(default)]
    pub image: Option<String>,
}

impl Tool for MouseControl {
    const NAME: &'static str = "mouse_control";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = &[
        Code::CoordinatesOutOfBounds,
        Code::InvalidCoordinates,
        Code::TargetChanged,
        Code::NotScrollable,
        Code::ElevatedProcessTarget,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("monitor_index", "monitorIndex"),
        ("monitor", "monitorIndex"),
        ("display", "monitorIndex"),
        ("start_x", "startX"),
        ("start_y", "startY"),
        ("end_x", "endX"),
        ("end_y", "endY"),
    ];
    const HIDDEN: &'static [&'static str] = &["image"];
    const FAILURE: Option<fn(&Value, &Error) -> Value> = Some(failure);
    const GROUP: Group = Group::Pointer;
    type Output = Done;

    fn effect(&self) -> Effect {
        if self.action == Action::GetPosition { Effect::Read } else { Effect::Input }
    }

    fn call(mut self, cx: &Context) -> Result<Done> {
        let ignored = self.ignored();
        let modifiers = std::mem::take(&mut self.modifiers);
        let (mut delivered, mut lost) = (None, None);
        let acted = match self.action {
            Action::Move => {
                let Spot { x, y, display, image } = self.spot(cx, XY, [self.x, self.y], true)?;
                Some(cx.call(MoveMouse { x, y, display, image, modifiers, ..MoveMouse::default() })?.0)
            }
            Action::Click | Action::DoubleClick | Action::RightClick | Action::MiddleClick => {
                let Spot { x, y, display, image } = self.spot(cx, XY, [self.x, self.y], false)?;
                let button = self.clicked()?;
                let click_count = Ranged::new(if self.action == Action::DoubleClick { 2 } else { 1 });
                let click =
                    Click { x, y, display, image, button, click_count, modifiers, ..Click::default() };
                Some(cx.call(click)?.0)
            }
            Action::Drag => {
                let ends = [self.start_x, self.start_y, self.end_x, self.end_y];
                let [start_x, start_y, end_x, end_y] = self.on_monitor(cx, DRAG, ends, true)?;
                let button = self.button.unwrap_or_default();
                let (display, image) = self.frame();
                let way = Drag { start_x, start_y, end_x, end_y, display, image, ..Drag::default() };
                let dragged = cx.call(Drag { button, modifiers, ..way })?.0;
                lost = dragged.window_lost;
                Some(dragged.acted)
            }
            Action::Scroll => {
                let direction = Some(self.direction.ok_or_else(no_direction)?);
                let Spot { x, y, display, image } = self.spot(cx, XY, [self.x, self.y], false)?;
                let notches = Some(self.amount.map_or(1, Ranged::get)).and_then(Ranged::new);
                let scroll = Scroll { x, y, display, image, direction, notches, ..Scroll::default() };
                let scrolled = cx.call(Scroll { modifiers, ..scroll })?.0;
                delivered = Some(scrolled.delivered);
                Some(scrolled.acted)
            }
            Action::GetPosition => None,
        };
        let ended = Ended::read(cx, acted.as_ref())?;
        Ok(Done { ended, acted, delivered, lost, ignored })
    }
}

/// The names of a point's parts.
const XY: [&str; 2] = ["x", "y"];
/// The names of a drag's parts.
const DRAG: [&str; 4] = ["startX", "startY", "endX", "endY"];

/// A point for a canonical tool, or none for where the pointer is.
struct Spot {
    x: Option<f64>,
    y: Option<f64>,
    display: Option<String>,
    image: Option<String>,
}

impl MouseControl {
    fn spot(
        &self,
        cx: &Context,
        names: [&'static str; 2],
        given: [Option<f64>; 2],
        needed: bool,
    ) -> Result<Spot> {
        let [x, y] = self.on_monitor(cx, names, given, needed)?;
        let (display, image) = if x.is_some() { self.frame() } else { (None, None) };
        Ok(Spot { x, y, display, image })
    }

    /// What the coordinates belong to.
    fn frame(&self) -> (Option<String>, Option<String>) {
        match &self.image {
            Some(image) => (None, Some(image.clone())),
            None => (self.monitor_index.map(|index| index.to_string()), None),
        }
    }

    /// Coordinates, with everything that is missing named at once, in whole pixels and within their monitor.
    /// None where none are given and none are needed.
    fn on_monitor<const N: usize>(
        &self,
        cx: &Context,
        names: [&'static str; N],
        given: [Option<f64>; N],
        needed: bool,
    ) -> Result<[Option<f64>; N]> {
        if !needed && given.iter().all(Option::is_none) {
            return Ok(given);
        }
        let mut missing: Vec<&str> =
            names.iter().zip(given).filter(|(_, given)| given.is_none()).map(|(name, _)| *name).collect();
        if self.monitor_index.is_none() && self.image.is_none() {
            missing.push("monitorIndex");
        }
        if !missing.is_empty() {
            return Err(self.incomplete(cx, &names, &missing)?);
        }
        let Some(index) = self.monitor_index.filter(|_| self.image.is_none()) else { return Ok(given) };
        let displays = cx.desktop.screen.displays(&cx.call)?;
        let Some(monitor) = displays.iter().find(|display| i64::from(display.index) == index) else {
            return Err(refusal(
                Code::InvalidCoordinates,
                format!("Invalid monitorIndex: {index}"),
                json!({ "valid_indices": indices(&displays), "remedy": REMEDY_INDEX }),
            ));
        };
        let whole = given.map(|number| number.map(f64::trunc));
        for pair in whole.chunks_exact(2) {
            if let [Some(x), Some(y)] = pair {
                within(monitor, *x, *y)?;
            }
        }
        Ok(whole)
    }

    fn incomplete(&self, cx: &Context, names: &[&str], missing: &[&str]) -> Result<Error> {
        let verb = if missing.len() == 1 { "is" } else { "are" };
        let message = match (missing, self.action) {
            (["monitorIndex"], _) => "monitorIndex is required when using x/y coordinates".to_owned(),
            (_, Action::Move | Action::Drag) => {
                format!("{} {verb} required for {}", listed(missing), self.action.name())
            }
            _ => format!("{} {verb} required when using x/y coordinates", listed(missing)),
        };
        let all: Vec<&str> = names.iter().copied().chain(["monitorIndex"]).collect();
        let remedy = match self.action {
            Action::Move | Action::Drag => format!("Pass {} together.", listed(&all)),
            _ => format!("Pass {} together, or none of them to act where the pointer is.", listed(&all)),
        };
        let displays = cx.desktop.screen.displays(&cx.call)?;
        let details = json!({ "missing": missing, "valid_indices": indices(&displays), "remedy": remedy });
        Ok(refusal(Code::MissingRequiredParameter, message, details))
    }

    /// Which button a click uses. Another one than the action's name says would do what nobody asked for.
    fn clicked(&self) -> Result<Button> {
        let own = match self.action {
            Action::RightClick => Button::Right,
            Action::MiddleClick => Button::Middle,
            _ => return Ok(self.button.unwrap_or_default()),
        };
        if self.button.is_some_and(|button| button != own) {
            return Err(Error::argument(format!(
                "{} uses its own button; button says another one.",
                self.action.name()
            ))
            .remedy("Leave button out, or use click or drag with it."));
        }
        Ok(own)
    }

    /// What was given and means nothing for this action.
    fn ignored(&self) -> Vec<&'static str> {
        let action = self.action;
        let points = !matches!(action, Action::Drag | Action::GetPosition);
        let placed = action == Action::Drag || (points && self.x.or(self.y).is_some());
        let given = [
            ("x", self.x.is_some(), points),
            ("y", self.y.is_some(), points),
            ("monitorIndex", self.monitor_index.is_some(), placed && self.image.is_none()),
            ("startX", self.start_x.is_some(), action == Action::Drag),
            ("startY", self.start_y.is_some(), action == Action::Drag),
            ("endX", self.end_x.is_some(), action == Action::Drag),
            ("endY", self.end_y.is_some(), action == Action::Drag),
            (
                "button",
                self.button.is_some(),
                !matches!(action, Action::Move | Action::Scroll | Action::GetPosition),
            ),
            ("direction", self.direction.is_some(), action == Action::Scroll),
            ("amount", self.amount.is_some(), action == Action::Scroll),
            ("modifiers", !self.modifiers.is_empty(), action != Action::GetPosition),
            ("image", self.image.is_some(), placed),
        ];
        given.into_iter().filter(|(_, given, means)| *given && !means).map(|(name, ..)| name).collect()
    }
}

const REMEDY_INDEX: &str =
    "Use one of valid_indices; 0 is the primary monitor. list_displays shows them all.";

fn indices(displays: &[Display]) -> Vec<u32> {
    displays.iter().map(|display| display.index).collect()
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn within(monitor: &Display, x: f64, y: f64) -> Result<()> {
    let bounds = monitor.bounds;
    if 0.0 <= x && x < f64::from(bounds.width) && 0.0 <= y && y < f64::from(bounds.height) {
        return Ok(());
    }
    let (width, height) = (bounds.width, bounds.height);
    let remedy = format!(
        "Coordinates count from the top left corner of the monitor: x from 0 to {}, y from 0 to {}. They are \
         those of its screenshot in native size.",
        width.saturating_sub(1),
        height.saturating_sub(1)
    );
    Err(refusal(
        Code::CoordinatesOutOfBounds,
        // Without the sign of a zero.
        format!("Coordinates ({}, {}) out of bounds for monitor {}", x + 0.0, y + 0.0, monitor.index),
        json!({
            "valid_bounds": { "left": bounds.x, "top": bounds.y, "width": width, "height": height },
            "remedy": remedy,
        }),
    ))
}

fn no_direction() -> Error {
    refusal(
        Code::MissingRequiredParameter,
        "direction is required for scroll".to_owned(),
        json!({ "missing": ["direction"], "valid_directions": DIRECTIONS }),
    )
}

/// A refusal with details of its own.
fn refusal(code: Code, message: String, details: Value) -> Error {
    let mut error = Error::new(code, &*message);
    error.detail.remedy = details.get("remedy").and_then(Value::as_str).map(str::to_owned);
    encode::show_as(error, flat(name_of(code), &message, details))
}

fn flat(code: &str, message: &str, details: Value) -> Value {
    json!({ "success": false, "error_code": code, "error": message, "error_details": details })
}

fn name_of(code: Code) -> &'static str {
    CODES.iter().find(|(ours, _)| *ours == code).map_or(code.name(), |(_, theirs)| theirs)
}

/// A failure as these clients know it.
fn failure(arguments: &Value, error: &Error) -> Value {
    let mut details = serde_json::to_value(&error.detail).unwrap_or_default();
    if error.code == Code::InvalidArgument {
        let unknown = |name: &str, known: &[&str]| {
            let given = arguments.get(name)?;
            (!given.as_str().is_some_and(|given| known.contains(&given))).then(|| given.to_string())
        };
        let actions = Action::ALL.map(Action::name);
        if let Some(given) = unknown("action", &actions) {
            return flat(
                "invalid_action",
                &format!("Invalid action: {given}"),
                json!({ "valid_actions": actions }),
            );
        }
        if let Some(given) = unknown("direction", &DIRECTIONS) {
            return flat(
                "invalid_scroll_direction",
                &format!("Invalid scroll direction: {given}"),
                json!({ "valid_directions": DIRECTIONS }),
            );
        }
        // Monitors are counted in whole numbers; everything else may have fractions.
        let fits = |name: &str, number: f64| name != "monitorIndex" || number.fract() == 0.0;
        let wrong = |name: &&str| {
            let given = arguments.get(*name)?;
            Some(!given.as_f64().is_some_and(|number| fits(name, number)))
        };
        if XY.iter().chain(&DRAG).chain(&["monitorIndex"]).filter_map(wrong).any(|wrong| wrong) {
            return flat("invalid_coordinates", &error.message, details);
        }
    }
    if error.code.retry() {
        details["retry"] = json!(true);
    }
    flat(name_of(error.code), &error.message, details)
}

/// Where the pointer ended.
struct Ended {
    monitor: Display,
    /// From the monitor's top left corner.
    place: Point,
    /// Of the window under it; empty where there is none.
    title: String,
}

impl Ended {
    /// Reads it back; where there is no time left for that, what the action saw itself counts.
    fn read(cx: &Context, acted: Option<&Acted>) -> Result<Ended> {
        let (pointer, title) = match (cx.call(CursorPosition {}), acted) {
            (Ok(Data(now)), _) => (now.pointer, now.window_title),
            (Err(_), Some(Acted { pointer: Some(pointer), window_title, .. })) => {
                (*pointer, window_title.clone())
            }
            (Err(error), _) => return Err(error),
        };
        let point = Point::new(pointer.x, pointer.y);
        let displays = cx.desktop.screen.displays(&cx.call)?;
        // Between monitors of different sizes there are places that none of them shows.
        let monitor = display_at(&displays, point).or(displays.first()).cloned();
        let monitor = monitor.ok_or_else(|| {
            Error::backend("There is no monitor.").remedy("Plug one in, or start Deskhand with --virtual.")
        })?;
        let place = Point::new(point.x - monitor.bounds.x, point.y - monitor.bounds.y);
        Ok(Ended { monitor, place, title: title.unwrap_or_default() })
    }
}

/// What was done, and where the pointer is now.
pub struct Done {
    ended: Ended,
    /// What was seen of it; nothing where nothing was done.
    acted: Option<Acted>,
    /// How far was scrolled.
    delivered: Option<String>,
    /// The title of a window that went away during a drag.
    lost: Option<String>,
    /// Parameters that mean nothing for the action.
    ignored: Vec<&'static str>,
}

/// The answer as clients see it; the names are theirs.
#[derive(Serialize)]
struct Answer<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    final_position: Point,
    #[serde(rename = "monitorIndex")]
    monitor_index: u32,
    #[serde(rename = "monitorWidth")]
    monitor_width: u32,
    #[serde(rename = "monitorHeight")]
    monitor_height: u32,
    window_title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<super::evidence::Seen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ignored: &'a [&'static str],
}

impl Output for Done {
    /// A failure keeps to it as well: some clients check the one against the other.
    fn schema() -> Option<Value> {
        Some(json!({
            "type": "object",
            "properties": {
                "success": { "type": "boolean" },
                "final_position": { "type": "object" },
                "monitorIndex": { "type": "integer" },
                "monitorWidth": { "type": "integer" },
                "monitorHeight": { "type": "integer" },
                "window_title": { "type": "string" },
                "error_code": { "type": "string" },
                "error": { "type": "string" },
                "error_details": { "type": "object" },
            },
            "required": ["success"],
        }))
    }

    fn reply(self) -> Reply {
        let Done { ended, acted, delivered, lost, ignored } = self;
        let is_lost = lost.is_some();
        let bounds = ended.monitor.bounds;
        let answer = Answer {
            success: true,
            partial: is_lost.then_some(true),
            error_code: is_lost.then_some(WINDOW_LOST),
            error: lost.map(|title| format!("The window {title:?} was lost during the drag")),
            final_position: ended.place,
            monitor_index: ended.monitor.index,
            monitor_width: bounds.width,
            monitor_height: bounds.height,
            window_title: &ended.title,
            effect: acted.as_ref().map(|acted| acted.effect),
            evidence: acted.as_ref().and_then(|acted| acted.evidence.as_deref()),
            reason: acted.as_ref().and_then(|acted| acted.reason.as_deref()),
            delivered: delivered.as_deref(),
            ignored: &ignored,
        };
        Reply::Data(
            serde_json::to_value(answer).unwrap_or_else(|error| json!({ "error": error.to_string() })),
        )
    }
}
