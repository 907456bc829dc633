//! Scrolling, and dragging.

use super::elements::place_of;
use super::evidence::{Acted, Seen, Witness};
use super::find::{self, Which};
use super::target::At;
use super::{Alias, with};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::element::{Bounds, Element, Role, Root, State, Tree, TreeQuery};
use deskhand_core::input::Button;
use deskhand_core::key::Modifier;
use deskhand_core::window::Window;
use deskhand_core::{Code, Error, Point, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<Drag>(), Row::of::<Scroll>()];

/// Other names.
pub static ALIASES: &[Alias] = &[Alias {
    name: "left_click_drag",
    tool: "drag",
    adapt: |arguments| with(arguments, "button", json!("left")),
}];

/// A point of a way, in the frame of the call.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waypoint {
    /// Across.
    pub x: f64,
    /// Down.
    pub y: f64,
}

/// Press at a start, move (along a path if given) and let go at an end. Start and end are points or
/// elements.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Drag {
    /// Start, across; the pointer's place if nothing says otherwise.
    pub start_x: Option<f64>,
    /// Start, down.
    pub start_y: Option<f64>,
    /// End, across.
    pub end_x: Option<f64>,
    /// End, down.
    pub end_y: Option<f64>,
    /// Start in the middle of this element (ref or selector).
    pub from_element: Option<String>,
    /// End in the middle of this element.
    pub to_element: Option<String>,
    /// Points to pass between start and end.
    pub path: Vec<Waypoint>,
    /// Points are relative to this display.
    pub display: Option<String>,
    /// Points are relative to this window.
    pub window: Option<String>,
    /// Points are pixels of this screenshot.
    pub image: Option<String>,
    /// How long the way takes; 300 by default.
    pub duration_ms: Option<Ranged<0, 60_000>>,
    /// Which button.
    pub button: Button,
    /// Keys held meanwhile.
    pub modifiers: Vec<Modifier>,
    /// Look this long for a consequence; 100 by default.
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for Drag {
    const NAME: &'static str = "drag";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = &[
        Code::CoordinatesOutOfBounds,
        Code::InvalidCoordinates,
        Code::DisplayNotFound,
        Code::WindowNotFound,
        Code::WindowMinimized,
        Code::ElementNotFound,
        Code::ElementStale,
        Code::ElementNotActionable,
        Code::InvalidSelector,
        Code::PermissionDenied,
        Code::AmbiguousTarget,
        Code::TargetChanged,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const GROUP: Group = Group::Pointer;
    type Output = Data<Acted>;

    fn patience(&self) -> Duration {
        self.duration_ms.map_or(Duration::ZERO, Ranged::milliseconds)
            + self.settle_ms.map_or(Duration::ZERO, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let start = self.end_of_way(cx, self.from_element.as_deref(), self.start_x, self.start_y)?;
        let end =
            self.end_of_way(cx, self.to_element.as_deref(), self.end_x, self.end_y)?.ok_or_else(|| {
                Error::new(Code::MissingRequiredParameter, "The end of the drag is missing.")
                    .expected("end_x and end_y, or to_element")
            })?;
        let mut way = Vec::new();
        for point in &self.path {
            way.extend(self.at(Some(point.x), Some(point.y)).resolve(cx)?);
        }
        way.push(end);
        let time = self.duration_ms.map_or(Duration::from_millis(300), Ranged::milliseconds);
        let settle = self.settle_ms.map_or(cx.server.config.settle, Ranged::milliseconds);

        let mut hands = cx.desktop.input(&cx.call)?;
        if let Some(start) = start {
            hands.move_to(start)?;
        }
        let from = hands.position()?;
        let source = cx.desktop.windows.at(&cx.call, from).ok().flatten();
        hands.hold(&self.modifiers)?;
        let words = Witness::begin(cx, None, Rect::default());
        hands.press(self.button)?;
        let legs = u32::try_from(way.len()).unwrap_or(1).max(1);
        for point in &way {
            hands.glide_to(*point, time / legs)?;
        }
        let there = cx.desktop.windows.at(&cx.call, end).ok().flatten();
        for window in [&source, &there].into_iter().flatten() {
            // The drop is agreed on by messages between the two: let both have seen the last move.
            cx.desktop.windows.settle(&cx.call, window.id, Duration::from_millis(200)).ok();
        }
        let drop_witness = Witness::begin(cx, None, Rect::new(end.x, end.y, 1, 1).grown(8));
        hands.release(self.button)?;
        let place = hands.position()?;
        drop(hands);
        let mut acted = drop_witness.conclude(cx, settle, None)?;
        if acted.effect == Seen::NoChangeSeen {
            // Sliders and selections follow the pointer: the consequence came before the release.
            let on_the_way = words.conclude(cx, Duration::from_millis(1), None)?;
            acted = if on_the_way.effect == Seen::Confirmed { on_the_way } else { acted };
        }
        if place != end {
            acted.reason =
                Some(format!("The pointer ended at {place} and not at {end}: something moved it."));
        }
        let evidence = acted.evidence.take();
        acted.evidence = evidence.map(|evidence| format!("dragged {from} → {place}; {evidence}"));
        Ok(Data(acted.at(cx, place, there.as_ref())))
    }
}

impl Drag {
    fn at(&self, x: Option<f64>, y: Option<f64>) -> At<'_> {
        if x.is_none() && y.is_none() {
            // The frame is that of the other end: this one is the pointer's place.
            return At::default();
        }
        At {
            x,
            y,
            display: self.display.as_deref(),
            window: self.window.as_deref(),
            image: self.image.as_deref(),
        }
    }

    fn end_of_way(
        &self,
        cx: &Context,
        element: Option<&str>,
        x: Option<f64>,
        y: Option<f64>,
    ) -> Result<Option<Point>> {
        match element {
            Some(_) if x.is_some() || y.is_some() => {
                Err(Error::argument("Each end of a drag is either an element or a point, not both."))
            }
            Some(element) => {
                let found = find::act(cx, Which { element: Some(element), window: None, application: None })?;
                Ok(Some(place_of(cx, &found)?))
            }
            None => self.at(x, y).resolve(cx),
        }
    }
}

/// Which way to scroll: the way in which the view moves over the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Towards the beginning.
    Up,
    /// Towards the end.
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
}

/// Scroll at a point, in an element, or where the pointer is: by direction with notches of the wheel (3
/// by default) or with an amount of pixels, or by delta_x and delta_y pixels (positive is right and down).
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Scroll {
    /// Which way.
    pub direction: Option<Direction>,
    /// How far, in pixels.
    pub amount: Option<Ranged<1, 100_000>>,
    /// How far, in notches of the wheel.
    pub notches: Option<Ranged<1, 1000>>,
    /// Pixels to the right.
    pub delta_x: Option<f64>,
    /// Pixels down.
    pub delta_y: Option<f64>,
    /// Where, across.
    pub x: Option<f64>,
    /// Where, down.
    pub y: Option<f64>,
    /// Scroll in this element (ref or selector).
    pub element: Option<String>,
    /// x and y are relative to this display.
    pub display: Option<String>,
    /// x and y are relative to this window.
    pub window: Option<String>,
    /// x and y are pixels of this screenshot.
    pub image: Option<String>,
    /// Keys held meanwhile.
    pub modifiers: Vec<Modifier>,
    /// How long to look for a consequence; 200 by default.
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

/// How far to scroll.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Distance {
    /// Pixels to the right and down.
    Pixels(f64, f64),
    /// Notches to the right and down.
    Notches(i32, i32),
}

/// What was scrolled.
#[derive(Serialize, JsonSchema)]
pub struct Scrolled {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// What was delivered: notches of the wheel, or pixels of a scroll bar.
    pub delivered: String,
}

/// What a notch of the wheel is taken for where pixels were asked for and only notches can be had.
/// GTK scrolls about this far in a view of usual height, Chromium 53 pixels.
const PIXELS_A_NOTCH: f64 = 53.0;

impl Tool for Scroll {
    const NAME: &'static str = "scroll";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = &[
        Code::NotScrollable,
        Code::CoordinatesOutOfBounds,
        Code::InvalidCoordinates,
        Code::DisplayNotFound,
        Code::WindowNotFound,
        Code::WindowMinimized,
        Code::ElementNotFound,
        Code::ElementStale,
        Code::ElementNotActionable,
        Code::InvalidSelector,
        Code::PermissionDenied,
        Code::AmbiguousTarget,
        Code::TargetChanged,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const GROUP: Group = Group::Pointer;
    type Output = Data<Scrolled>;

    fn patience(&self) -> Duration {
        self.settle_ms.map_or(Duration::ZERO, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Scrolled>> {
        let distance = self.distance()?;
        let settle = self.settle_ms.map_or(Duration::from_millis(200), Ranged::milliseconds);
        let (point, element) = self.place(cx)?;
        let mut hands = cx.desktop.input(&cx.call)?;
        if let Some(point) = point {
            hands.move_to(point)?;
        }
        let place = hands.position()?;
        let window = cx.desktop.windows.at(&cx.call, place).ok().flatten();
        let area = element
            .as_ref()
            .and_then(|element| element.bounds)
            .or_else(|| window.as_ref().map(|window| around(place, window)))
            .unwrap_or(Rect::new(place.x, place.y, 1, 1).grown(40));

        if let Distance::Pixels(across, down) = distance
            && let Some(window) = &window
            && self.modifiers.is_empty()
            && let Some((bar, pixels)) = scroll_bar(cx, window, place, across, down)?
        {
            drop(hands);
            return by_bar(cx, &bar, pixels, place, window);
        }
        let (across, down) = match distance {
            Distance::Notches(across, down) => (across, down),
            Distance::Pixels(across, down) => (nearest(across), nearest(down)),
        };
        if let Some(window) = &window {
            cx.desktop.windows.settle(&cx.call, window.id, Duration::from_millis(100)).ok();
        }
        let witness = (!settle.is_zero()).then(|| Witness::begin(cx, window.as_ref(), area));
        hands.hold(&self.modifiers)?;
        hands.wheel(across, down)?;
        drop(hands);
        let mut acted = match witness {
            Some(witness) => witness.conclude(cx, settle, None)?,
            None => Acted::unverified("settle_ms is 0, so nothing was looked for."),
        };
        if acted.effect == Seen::NoChangeSeen {
            acted.reason = Some(why_not(cx, window.as_ref(), place)?);
        }
        let delivered = match distance {
            Distance::Notches(..) => format!("{} notch(es)", across.abs() + down.abs()),
            Distance::Pixels(x, y) => format!(
                "{} notch(es), the nearest to {} pixels that the wheel can do",
                across.abs() + down.abs(),
                (x.abs() + y.abs()).trunc()
            ),
        };
        Ok(Data(Scrolled {
            acted: Acted { via: Some("pointer"), ..acted }.at(cx, place, window.as_ref()),
            delivered,
        }))
    }
}

impl Scroll {
    /// The one form of the three that was given.
    fn distance(&self) -> Result<Distance> {
        let deltas = self.delta_x.is_some() || self.delta_y.is_some();
        if deltas && (self.direction.is_some() || self.amount.is_some() || self.notches.is_some()) {
            return Err(Error::argument(
                "delta_x and delta_y are one way to say how far, direction another: pass one of them.",
            ));
        }
        if self.amount.is_some() && self.notches.is_some() {
            return Err(Error::argument("amount (pixels) and notches both say how far: pass one of them."));
        }
        if deltas {
            let (x, y) = (self.delta_x.unwrap_or(0.0), self.delta_y.unwrap_or(0.0));
            if !(x.is_finite() && y.is_finite()) || (x == 0.0 && y == 0.0) || 100_000.0 < x.abs().max(y.abs())
            {
                return Err(Error::argument(format!("({x}, {y}) is no distance to scroll.")));
            }
            return Ok(Distance::Pixels(x, y));
        }
        let direction = self.direction.ok_or_else(|| {
            Error::new(Code::MissingRequiredParameter, "Nothing says which way to scroll.")
                .expected("direction (up, down, left, right), or delta_x and delta_y")
        })?;
        let (across, down) = match direction {
            Direction::Up => (0, -1),
            Direction::Down => (0, 1),
            Direction::Left => (-1, 0),
            Direction::Right => (1, 0),
        };
        Ok(match self.amount {
            Some(amount) => {
                let pixels = amount.get() as f64;
                Distance::Pixels(f64::from(across) * pixels, f64::from(down) * pixels)
            }
            None => {
                let notches = self.notches.map_or(3, Ranged::get) as i32;
                Distance::Notches(across * notches, down * notches)
            }
        })
    }

    fn place(&self, cx: &Context) -> Result<(Option<Point>, Option<Element>)> {
        if let Some(element) = &self.element {
            if self.x.is_some() || self.y.is_some() {
                return Err(Error::argument("Pass either element or x and y, not both."));
            }
            let which = Which { element: Some(element), window: self.window.as_deref(), application: None };
            let found = find::act(cx, which)?;
            let bounds = visible_part(cx, &found)?;
            return Ok((Some(bounds.center()), Some(Element { bounds: Some(bounds), ..found.element })));
        }
        let at = At {
            x: self.x,
            y: self.y,
            display: self.display.as_deref(),
            window: self.window.as_deref(),
            image: self.image.as_deref(),
        };
        Ok((at.resolve(cx)?, None))
    }
}

/// The part of a tall or wide element that its window shows.
fn visible_part(cx: &Context, found: &find::Found) -> Result<Rect> {
    let window = find::window_of(cx, &found.element)?;
    let part = match (&window, found.element.bounds) {
        (Some(window), Some(bounds)) => bounds.intersection(&window.bounds),
        (None, bounds) => bounds,
        (Some(_), None) => None,
    };
    part.ok_or_else(|| {
        Error::new(Code::ElementNotActionable, format!("{} does not show on the screen.", found.line()))
            .remedy("Bring its window to the front, or open what it is in.")
    })
}

/// A generous area around a point within a window: scrolling moves what is around it.
fn around(place: Point, window: &Window) -> Rect {
    let area = Rect::new(place.x, place.y, 1, 1).grown(120);
    area.intersection(&window.bounds).unwrap_or(area)
}

fn nearest(pixels: f64) -> i32 {
    let notches = (pixels / PIXELS_A_NOTCH).round() as i32;
    if notches == 0 && pixels != 0.0 { pixels.signum() as i32 } else { notches }
}

/// The scroll bar whose value is pixels, of the view at a point: GTK's are, and they can be set.
fn scroll_bar(
    cx: &Context,
    window: &Window,
    place: Point,
    across: f64,
    down: f64,
) -> Result<Option<(Element, f64)>> {
    let pixels = if across == 0.0 { down } else { across };
    if across != 0.0 && down != 0.0 {
        return Ok(None);
    }
    let apps = cx.desktop.elements.applications(&cx.call).unwrap_or_default();
    let gtk = apps.iter().any(|app| app.pid == window.pid && app.toolkit.to_lowercase().starts_with("gtk"));
    if !gtk {
        return Ok(None);
    }
    let Ok(tree) = elements_of(cx, window) else { return Ok(None) };
    let upright = across == 0.0;
    let bar = (0..tree.nodes.len()).find(|index| {
        let node = &tree.nodes[*index];
        let element = &node.element;
        let (Some(bounds), Some(view)) =
            (element.bounds, node.parent.and_then(|parent| tree.nodes[parent].element.bounds))
        else {
            return false;
        };
        element.role == Role::ScrollBar
            && element.value.as_ref().is_some_and(|value| value.parse::<f64>().is_ok())
            && (bounds.width < bounds.height) == upright
            && view.contains(place)
    });
    Ok(bar.map(|index| (tree.nodes[index].element.clone(), pixels)))
}

fn elements_of(cx: &Context, window: &Window) -> Result<Tree> {
    cx.desktop
        .elements
        .tree(&cx.call, &TreeQuery { bounds: Bounds::Showing, ..TreeQuery::new(Root::Window(window.id)) })
}

fn by_bar(cx: &Context, bar: &Element, pixels: f64, place: Point, window: &Window) -> Result<Data<Scrolled>> {
    let number =
        |element: &Element| element.value.as_ref().and_then(|value| value.parse::<f64>().ok()).unwrap_or(0.0);
    let before = number(bar);
    cx.desktop.elements.set_value(&cx.call, &bar.id, &format!("{}", (before + pixels).max(0.0)))?;
    let after = number(&cx.desktop.elements.element(&cx.call, &bar.id)?);
    let acted = if after == before {
        Acted::no_change("The view is at its end in this direction already.")
    } else {
        Acted::confirmed(format!("scroll bar {before} → {after}"))
    };
    let delivered = format!("{} pixels", (after - before).abs());
    Ok(Data(Scrolled {
        acted: Acted { via: Some("action"), ..acted }.at(cx, place, Some(window)),
        delivered,
    }))
}

/// Why nothing moved: at its end, or nothing there that scrolls, which is an error.
fn why_not(cx: &Context, window: Option<&Window>, place: Point) -> Result<String> {
    let unknown = "Nothing moved: it may be at its end, or nothing there scrolls.".to_owned();
    let Some(window) = window else { return Ok(unknown) };
    let Ok(tree) = elements_of(cx, window) else { return Ok(unknown) };
    if tree.nodes.len() < 3 {
        return Ok(unknown);
    }
    let scrolls = |element: &Element| {
        matches!(
            element.role,
            Role::ScrollPane
                | Role::Viewport
                | Role::Document
                | Role::List
                | Role::ListBox
                | Role::Tree
                | Role::Table
                | Role::Grid
                | Role::TextArea
                | Role::Terminal
                | Role::Slider
                | Role::SpinButton
        ) && element.states.has(State::Visible)
            && element.bounds.is_some_and(|bounds| bounds.contains(place))
    };
    if tree.nodes.iter().any(|node| scrolls(&node.element)) {
        return Ok("Nothing moved: what scrolls there is at its end in this direction, or scrolls only in the other one.".to_owned());
    }
    Err(Error::new(Code::NotScrollable, format!("Nothing at {place} scrolls.")).remedy(
        "Scroll in an element that does: find_elements with the role scroll_pane, list, tree, table or document.",
    ))
}
