//! The pointer: clicking, moving, dragging, scrolling.

use super::elements::{click_element, taken_by};
use super::evidence::{Acted, Pointer, Witness, pointer, short};
use super::find::{self, Which};
use super::ocr;
use super::target::{self, At};
use super::{Alias, same, with};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool, both};
use deskhand_core::element::{Element, Role};
use deskhand_core::geometry::require_on_screen;
use deskhand_core::input::{Button, Hands, Held};
use deskhand_core::key::Modifier;
use deskhand_core::window::Window;
use deskhand_core::{Code, Error, Point, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<Click>(),
    Row::of::<DoubleClick>(),
    Row::of::<MoveMouse>(),
    Row::of::<LeftMouseDown>(),
    Row::of::<LeftMouseUp>(),
    Row::of::<CursorPosition>(),
];

/// Other names.
pub static ALIASES: &[Alias] = &[
    same("mouse_move", "move_mouse"),
    Alias { name: "hover", tool: "move_mouse", adapt: |arguments| with(arguments, "hover", json!(true)) },
];

/// What a point can fail with.
pub const POINT_ERRORS: &[Code] = &[
    Code::CoordinatesOutOfBounds,
    Code::InvalidCoordinates,
    Code::DisplayNotFound,
    Code::WindowNotFound,
    Code::AmbiguousTarget,
    Code::TargetChanged,
    Code::WindowMinimized,
    Code::SecureDesktopActive,
    Code::Busy,
];

/// The same, and that what lies there is not to be touched.
pub const TOUCH_ERRORS: &[Code] = &both::<10>(POINT_ERRORS, &[Code::ElevatedProcessTarget]);

/// The same of what is left with a session.
const PRESS_ERRORS: &[Code] = &both::<11>(TOUCH_ERRORS, &[Code::SessionNotFound]);

/// What an element can fail with besides.
const IN_ELEMENT: &[Code] = &[
    Code::ElementNotFound,
    Code::ElementStale,
    Code::ElementNotActionable,
    Code::InvalidSelector,
    Code::PermissionDenied,
];
/// What a click can fail with, at a point or in an element.
pub const CLICK_ERRORS: &[Code] = &both::<15>(TOUCH_ERRORS, IN_ELEMENT);

/// How long a client may hold a button or a key.
pub const LONGEST_HOLD: Duration = Duration::from_secs(60);

/// Click at a point, or where the pointer is. Confirmed only by a consequence: an event, a changed state
/// or changed pixels at the target.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Click {
    /// Across, global or in the frame below.
    pub x: Option<f64>,
    /// Down.
    pub y: Option<f64>,
    /// x and y are relative to this display (index or name).
    pub display: Option<String>,
    /// x and y are relative to this window (id or title).
    pub window: Option<String>,
    /// x and y are pixels of this screenshot (its image id).
    pub image: Option<String>,
    /// Click this element instead (ref or selector); refused when covered or disabled.
    pub element: Option<String>,
    /// Click this text where it is seen (OCR), in `window` if given.
    pub text: Option<String>,
    /// Which button.
    pub button: Button,
    /// 2 is a double click, 3 a triple click.
    pub click_count: Option<Ranged<1, 3>>,
    /// Keys held meanwhile; primary is Command on macOS, Ctrl elsewhere.
    pub modifiers: Vec<Modifier>,
    /// Look this long for a consequence; 100 by default.
    pub settle_ms: Option<Ranged<0, 10_000>>,
    /// No effect here.
    #[schemars(skip)]
    pub show_animation: Option<bool>,
}

impl Tool for Click {
    const NAME: &'static str = "click";
    const HIDDEN: &'static [&'static str] = &["show_animation"];
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = CLICK_ERRORS;
    const GROUP: Group = Group::Pointer;
    type Output = Data<Acted>;

    fn patience(&self) -> Duration {
        let reading = if self.text.is_some() { ocr::PATIENCE } else { Duration::ZERO };
        self.settle_ms.map_or(reading, |settle| reading + settle.milliseconds())
    }

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let settle = self.settle_ms.map_or(cx.server.config.settle, Ranged::milliseconds);
        let count = self.click_count.map_or(1, |count| count.get() as u32);
        let is_point = self.x.is_some() || self.y.is_some();
        if 1 < [self.element.is_some(), self.text.is_some(), is_point]
            .into_iter()
            .filter(|given| *given)
            .count()
        {
            return Err(Error::argument("Pass one of element, text, or x and y."));
        }
        let mut acted = if let Some(text) = &self.text {
            if self.display.is_some() || self.image.is_some() {
                return Err(Error::argument("A text is looked for on the whole desktop or in window."));
            }
            ocr::click(cx, text, self.window.as_deref(), self.button, count, &self.modifiers, settle)?
        } else if let Some(element) = &self.element {
            let which = Which { element: Some(element), window: self.window.as_deref(), application: None };
            click_element(cx, &find::act(cx, which)?, self.button, count, &self.modifiers, settle)?
        } else {
            let at = At {
                x: self.x,
                y: self.y,
                display: self.display.as_deref(),
                window: self.window.as_deref(),
                image: self.image.as_deref(),
            };
            let point = at.resolve(cx)?;
            let window = window_under(cx, point)?;
            target::require_not_elevated(window.as_ref())?;
            let press = Press { button: self.button, count, modifiers: &self.modifiers, settle };
            click_in(cx, window, point, press, None)?
        };
        if self.show_animation.is_some() {
            acted.ignored.push("show_animation");
        }
        Ok(Data(acted))
    }
}

/// How something is clicked.
#[derive(Clone, Copy)]
struct Press<'a> {
    button: Button,
    count: u32,
    modifiers: &'a [Modifier],
    settle: Duration,
}

/// Clicks at a point, or where the pointer is, and reports the consequence.
pub fn click_at(
    cx: &Context,
    point: Option<Point>,
    button: Button,
    count: u32,
    modifiers: &[Modifier],
    settle: Duration,
) -> Result<Acted> {
    click_watched(cx, point, button, count, modifiers, settle, None)
}

/// The same, watching an element that lies there.
pub fn click_watched(
    cx: &Context,
    point: Option<Point>,
    button: Button,
    count: u32,
    modifiers: &[Modifier],
    settle: Duration,
    element: Option<&Element>,
) -> Result<Acted> {
    let window = window_under(cx, point)?;
    click_in(cx, window, point, Press { button, count, modifiers, settle }, element)
}

/// The window at a point, or under the pointer, as it is before anything moves.
fn window_under(cx: &Context, point: Option<Point>) -> Result<Option<Window>> {
    let place = match point {
        Some(point) => point,
        None => cx.desktop.input_state(&cx.call)?.position,
    };
    // A desktop that cannot tell its windows can still be clicked.
    Ok(cx.desktop.windows.at(&cx.call, place).ok().flatten())
}

fn click_in(
    cx: &Context,
    window: Option<Window>,
    point: Option<Point>,
    press: Press<'_>,
    element: Option<&Element>,
) -> Result<Acted> {
    let Press { button, count, modifiers, settle } = press;
    let mut hands = cx.desktop.input(&cx.call)?;
    let place = match point {
        Some(point) => hands.move_to(point)?,
        None => hands.before().position,
    };
    arrived(point, place)?;
    let looks = !settle.is_zero();
    hands.click_for(window.as_ref().and_then(|window| window.pid));
    if looks && let (Some(window), Some(_)) = (&window, point) {
        // What merely passing over it does (a highlight, a tool tip) is no consequence of the click.
        cx.desktop.windows.settle(&cx.call, window.id, settle.min(Duration::from_millis(100))).ok();
    }
    let area =
        element.and_then(|element| element.bounds).unwrap_or(Rect::new(place.x, place.y, 1, 1).grown(8));
    let witness = looks.then(|| Witness::begin(cx, window.as_ref(), area));
    hands.hold(modifiers)?;
    if element.is_some_and(|element| knows_no_double_click(element.role)) {
        hands.click_at_once();
    }
    hands.click(button, count)?;
    // The server answers only when it has dealt with what the applications do now.
    let place = if looks { hands.position()? } else { place };
    drop(hands);
    let mut acted = match witness {
        Some(witness) => witness.conclude(cx, settle, element)?,
        None => Acted::unverified("settle_ms is 0, so nothing was looked for."),
    };
    if let Some(element) = element
        && looks
        && let Some(other) = taken_by(cx, element, place)
    {
        acted = Acted::unverified(format!(
            "The keyboard went to the {} {} instead, which lies there too: it may cover the target and have \
             taken the click.",
            other.role,
            short(&other.name)
        ));
    }
    Ok(acted.at(cx, place, window.as_ref()))
}

/// Whether two clicks on it are two clicks, however fast they come.
const fn knows_no_double_click(role: Role) -> bool {
    matches!(
        role,
        Role::Button
            | Role::ToggleButton
            | Role::CheckBox
            | Role::RadioButton
            | Role::Switch
            | Role::SpinButton
            | Role::Link
            | Role::MenuItem
            | Role::Tab
    )
}

/// Fails when the pointer is not where it was put: an application may confine it.
fn arrived(wanted: Option<Point>, place: Point) -> Result<()> {
    match wanted {
        Some(wanted) if wanted != place => Err(Error::new(
            Code::TargetChanged,
            format!("The pointer was put to {wanted} but is at {place}: something confines or moves it."),
        )
        .expected(wanted.to_string())
        .found([place.to_string()])
        .remedy("Look at the screen; the application that has the pointer may have to let go of it first.")),
        _ => Ok(()),
    }
}

/// Double-click at a point, or where the pointer is.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct DoubleClick {
    /// Across, global or in the frame below.
    pub x: Option<f64>,
    /// Down.
    pub y: Option<f64>,
    /// x and y are relative to this display.
    pub display: Option<String>,
    /// x and y are relative to this window.
    pub window: Option<String>,
    /// x and y are pixels of this screenshot.
    pub image: Option<String>,
    /// The middle of this element instead.
    pub element: Option<String>,
    /// Which button.
    pub button: Button,
    /// Keys held meanwhile.
    pub modifiers: Vec<Modifier>,
    /// How long to look for a consequence.
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for DoubleClick {
    const NAME: &'static str = "double_click";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = CLICK_ERRORS;
    const GROUP: Group = Group::Pointer;
    type Output = Data<Acted>;

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        cx.call(Click {
            x: self.x,
            y: self.y,
            display: self.display,
            window: self.window,
            image: self.image,
            element: self.element,
            text: None,
            button: self.button,
            click_count: Ranged::new(2),
            modifiers: self.modifiers,
            settle_ms: self.settle_ms,
            show_animation: None,
        })
    }
}

/// Move the pointer without clicking; confirmed by where it is afterwards.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct MoveMouse {
    /// Across, global or in the frame below.
    pub x: Option<f64>,
    /// Down.
    pub y: Option<f64>,
    /// x and y are relative to this display.
    pub display: Option<String>,
    /// x and y are relative to this window.
    pub window: Option<String>,
    /// x and y are pixels of this screenshot.
    pub image: Option<String>,
    /// How long the way takes; 0 jumps.
    pub duration_ms: Option<Ranged<0, 60_000>>,
    /// Move in small steps (in 300 ms unless duration_ms says otherwise).
    pub smooth: bool,
    /// Stay there for duration_ms (1 s by default), so that tool tips appear.
    pub hover: bool,
    /// Keys held meanwhile.
    pub modifiers: Vec<Modifier>,
}

impl Tool for MoveMouse {
    const NAME: &'static str = "move_mouse";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = POINT_ERRORS;
    const GROUP: Group = Group::Pointer;
    type Output = Data<Acted>;

    fn patience(&self) -> Duration {
        self.duration_ms.map_or(Duration::from_secs(1), Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let at = At {
            x: self.x,
            y: self.y,
            display: self.display.as_deref(),
            window: self.window.as_deref(),
            image: self.image.as_deref(),
        };
        let point = at.resolve(cx)?;
        if point.is_none() && !self.hover {
            return Err(Error::new(Code::MissingRequiredParameter, "x and y are missing: where to?"));
        }
        let mut hands = cx.desktop.input(&cx.call)?;
        hands.hold(&self.modifiers)?;
        let before = hands.before().position;
        let mut place = before;
        let given = self.duration_ms.map(Ranged::milliseconds);
        if let Some(point) = point {
            let time = match (self.hover, self.smooth, given) {
                (true, ..) => Duration::ZERO,
                (false, true, None) => Duration::from_millis(300),
                (false, _, given) => given.unwrap_or_default(),
            };
            place = hands.glide_to(point, time)?;
        }
        if self.hover {
            cx.call.pause(given.unwrap_or(Duration::from_secs(1)), "hovering")?;
            place = hands.position()?;
        }
        drop(hands);
        arrived(point, place)?;
        let window = cx.desktop.windows.at(&cx.call, place).ok().flatten();
        Ok(Data(Acted::confirmed(format!("pointer {before} → {place}")).at(cx, place, window.as_ref())))
    }
}

/// Press a button and keep it down: until left_mouse_up, until duration_ms has passed (at most 60 s), or
/// until the client goes.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct LeftMouseDown {
    /// Where; the pointer's place if absent.
    pub x: Option<f64>,
    /// Down.
    pub y: Option<f64>,
    /// x and y are relative to this display.
    pub display: Option<String>,
    /// x and y are relative to this window.
    pub window: Option<String>,
    /// x and y are pixels of this screenshot.
    pub image: Option<String>,
    /// Which button.
    pub button: Button,
    /// How long at the most.
    pub duration_ms: Option<Ranged<1, 60_000>>,
}

/// What is held, and until when.
#[derive(Serialize, JsonSchema)]
pub struct Holding {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// What the session holds now.
    pub held: Vec<String>,
}

impl Tool for LeftMouseDown {
    const NAME: &'static str = "left_mouse_down";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = PRESS_ERRORS;
    const SESSION: bool = true;
    const GROUP: Group = Group::Pointer;
    type Output = Data<Holding>;

    fn call(self, cx: &Context) -> Result<Data<Holding>> {
        let at = At {
            x: self.x,
            y: self.y,
            display: self.display.as_deref(),
            window: self.window.as_deref(),
            image: self.image.as_deref(),
        };
        let point = at.resolve(cx)?;
        target::require_not_elevated(window_under(cx, point)?.as_ref())?;
        let place = go(cx, point)?;
        let limit = self.duration_ms.map_or(LONGEST_HOLD, Ranged::milliseconds);
        cx.desktop.hand_over(&cx.call, cx.session.owner, Held::Button(self.button), limit)?;
        let down = cx.desktop.input_state(&cx.call)?.buttons.contains(&self.button);
        Ok(Data(Holding {
            acted: button_state(self.button, true, down).at(cx, place, None),
            held: held_by(cx),
        }))
    }
}

/// Let go of a button that left_mouse_down pressed.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct LeftMouseUp {
    /// Where; the pointer's place if absent.
    pub x: Option<f64>,
    /// Down.
    pub y: Option<f64>,
    /// x and y are relative to this display.
    pub display: Option<String>,
    /// x and y are relative to this window.
    pub window: Option<String>,
    /// x and y are pixels of this screenshot.
    pub image: Option<String>,
    /// Which button.
    pub button: Button,
}

impl Tool for LeftMouseUp {
    const NAME: &'static str = "left_mouse_up";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = POINT_ERRORS;
    const GROUP: Group = Group::Pointer;
    type Output = Data<Holding>;

    fn call(self, cx: &Context) -> Result<Data<Holding>> {
        let at = At {
            x: self.x,
            y: self.y,
            display: self.display.as_deref(),
            window: self.window.as_deref(),
            image: self.image.as_deref(),
        };
        let place = go(cx, at.resolve(cx)?)?;
        let was = cx.desktop.input(&cx.call)?.take_back(Held::Button(self.button))?;
        let down = cx.desktop.input_state(&cx.call)?.buttons.contains(&self.button);
        let acted = if was {
            button_state(self.button, false, down)
        } else {
            Acted::no_change(format!("No client held the {} button.", name_of(self.button)))
        };
        Ok(Data(Holding { acted: acted.at(cx, place, None), held: held_by(cx) }))
    }
}

/// Moves the pointer, if somewhere is given, and says where it is.
fn go(cx: &Context, point: Option<Point>) -> Result<Point> {
    let mut hands: Hands = cx.desktop.input(&cx.call)?;
    let Some(point) = point else { return Ok(hands.before().position) };
    let place = hands.move_to(point)?;
    arrived(Some(point), place)?;
    Ok(place)
}

fn button_state(button: Button, wanted: bool, down: bool) -> Acted {
    let words = |down: bool| if down { "down" } else { "up" };
    let evidence = format!("the {} button is {}", name_of(button), words(down));
    if wanted == down { Acted::confirmed(evidence) } else { Acted::no_change(evidence) }
}

/// A button's name on the wire.
pub const fn name_of(button: Button) -> &'static str {
    match button {
        Button::Left => "left",
        Button::Middle => "middle",
        Button::Right => "right",
        Button::Back => "back",
        Button::Forward => "forward",
    }
}

/// What the session of this call holds, by name.
pub fn held_by(cx: &Context) -> Vec<String> {
    cx.desktop.holds().of(cx.session.owner).into_iter().map(crate::sessions::name_of).collect()
}

/// Where the pointer is, and over which window.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct CursorPosition {}

/// Where the pointer is.
#[derive(Serialize, JsonSchema)]
pub struct Place {
    /// The place.
    #[serde(flatten)]
    pub pointer: Pointer,
    /// The title of the window under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_title: Option<String>,
    /// That window's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

impl Tool for CursorPosition {
    const NAME: &'static str = "cursor_position";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Pointer;
    type Output = Data<Place>;

    fn call(self, cx: &Context) -> Result<Data<Place>> {
        let point = cx.desktop.input_state(&cx.call)?.position;
        let window = cx.desktop.windows.at(&cx.call, point).ok().flatten();
        Ok(Data(Place {
            pointer: pointer(cx, point),
            window: window.as_ref().map(|window| window.id.0),
            window_title: window.map(|window| window.title),
        }))
    }
}

/// Refuses a point that no display shows.
pub fn on_screen(cx: &Context, point: Point) -> Result<()> {
    require_on_screen(&cx.desktop.screen.displays(&cx.call)?, point).map(drop)
}

/// A window by name, which has to be on the screen.
pub fn window_on_screen(cx: &Context, name: &str) -> Result<deskhand_core::window::Window> {
    target::shown(target::window(cx, name)?)
}
