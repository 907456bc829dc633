//! Scrolling, and dragging.

use super::elements::{in_view, place_of};
use super::evidence::{Acted, Seen, Witness};
use super::find::{self, Which};
use super::target::{At, require_not_elevated};
use super::{Alias, pointer, with};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool, both};
use deskhand_core::element::{Bounds, Element, Node, Role, Root, State, Tree, TreeQuery};
use deskhand_core::geometry::display_at;
use deskhand_core::input::Button;
use deskhand_core::key::Modifier;
use deskhand_core::screen::{Bitmap, Source};
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Code, Error, Point, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::{Duration, Instant};

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
    /// Start, across; where the pointer is by default.
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
    const ERRORS: &'static [Code] = pointer::CLICK_ERRORS;
    const GROUP: Group = Group::Pointer;
    type Output = Data<Dragged>;

    fn patience(&self) -> Duration {
        self.duration_ms.map_or(Duration::ZERO, Ranged::milliseconds)
            + self.settle_ms.map_or(Duration::ZERO, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Dragged>> {
        let start = self.end_of_way(cx, self.from_element.as_deref(), self.start_x, self.start_y)?;
        let (end, target) =
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
        // Asked before anything hangs on the pointer: what is dragged has a window of its own there.
        let at = |point| cx.desktop.windows.at(&cx.call, point).ok().flatten();
        let (source, there) = (at(start.map_or(hands.before().position, |(start, _)| start)), at(end));
        for window in [&source, &there] {
            require_not_elevated(window.as_ref())?;
        }
        if let Some((start, _)) = start {
            hands.move_to(start)?;
        }
        let from = hands.position()?;
        let known = window_ids(cx);
        let area = target.filter(|bounds| bounds.contains(end));
        let area = area.unwrap_or(Rect::new(end.x, end.y, 1, 1).grown(8));
        let picture = Picture::of(cx, area);
        hands.hold(&self.modifiers)?;
        let words = Witness::begin(cx, None, Rect::default()).of_content();
        hands.press(self.button)?;
        let legs = u32::try_from(way.len()).unwrap_or(1).max(1);
        for point in &way {
            hands.glide_to(*point, time / legs)?;
        }
        for window in [&source, &there].into_iter().flatten() {
            // The drop is agreed on by messages between the two: let both have seen the last move.
            cx.desktop.windows.settle(&cx.call, window.id, Duration::from_millis(200)).ok();
        }
        hands.release(self.button)?;
        let place = hands.position()?;
        drop(hands);
        let left = window_ids(cx);
        // What cannot be told is not missed.
        let has =
            |ids: &Option<Vec<WindowId>>, window: &Window| ids.as_ref().map(|ids| ids.contains(&window.id));
        let gone = |window: &Window| has(&known, window) == Some(true) && has(&left, window) == Some(false);
        let window_lost = [&source, &there].into_iter().flatten().find(|window| gone(window));
        let window_lost = window_lost.map(|window| window.title.clone());
        let mut acted = words.conclude(cx, settle, None)?;
        if acted.effect == Seen::NoChangeSeen
            && let Some(picture) = picture
            && picture.became_another(cx)?
        {
            acted = Acted::confirmed(format!("pixels changed within {area}"));
        }
        if place != end {
            acted.reason =
                Some(format!("The pointer ended at {place} and not at {end}: something moved it."));
        }
        let evidence = acted.evidence.take();
        acted.evidence = evidence.map(|evidence| format!("dragged {from} → {place}; {evidence}"));
        if let Some(lost) = &window_lost {
            // What changed there then is that it is gone.
            acted = Acted::unverified(format!("The window {lost:?} went away during the drag."));
        }
        Ok(Data(Dragged { acted: acted.at(cx, place, there.as_ref()), window_lost }))
    }
}

/// What was dragged.
#[derive(Serialize, JsonSchema)]
pub struct Dragged {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// The title of the window at the start or the end that went away meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_lost: Option<String>,
}

/// The windows that there are, where that can be told.
fn window_ids(cx: &Context) -> Option<Vec<WindowId>> {
    let windows = cx.desktop.windows.list(&cx.call).ok()?;
    Some(windows.into_iter().map(|window| window.id).collect())
}

/// A part of the screen before a drag. That something was drawn there says nothing: what hangs on the
/// pointer is drawn and goes again, also when nobody took it.
struct Picture(Rect, std::sync::Arc<Bitmap>);

impl Picture {
    fn of(cx: &Context, area: Rect) -> Option<Picture> {
        let displays = cx.desktop.screen.displays(&cx.call).ok()?;
        let area = display_at(&displays, area.center())?.bounds.intersection(&area)?;
        let bitmap = cx.desktop.screen.capture(&cx.call, Source::Screen(area)).ok()?;
        Some(Picture(area, bitmap))
    }

    /// Whether it looks different for good: things that fly back take their time.
    fn became_another(&self, cx: &Context) -> Result<bool> {
        let mut last = None;
        let same =
            cx.call.until_within(Duration::from_millis(1500), "waiting for the pixels to rest", || {
                let now = cx.desktop.screen.capture(&cx.call, Source::Screen(self.0))?;
                if now.pixels == self.1.pixels {
                    return Ok(Some(true));
                }
                match &last {
                    Some((since, pixels)) if *pixels == now.pixels => {
                        Ok((Duration::from_millis(250) <= Instant::elapsed(since)).then_some(false))
                    }
                    _ => {
                        last = Some((Instant::now(), now.pixels.clone()));
                        Ok(None)
                    }
                }
            })?;
        Ok(same == Some(false))
    }
}

/// Waits a little until an area looks the same for some frames: what the pointer has come over may light up
/// and fade, which is not the wheel's doing.
fn await_rest(cx: &Context, area: Rect) -> Result<()> {
    let Some(Picture(area, first)) = Picture::of(cx, area) else { return Ok(()) };
    let mut last = (Instant::now(), first);
    cx.call.until_within(Duration::from_millis(400), "waiting for the pixels to rest", || {
        let now = cx.desktop.screen.capture(&cx.call, Source::Screen(area))?;
        if now.pixels == last.1.pixels {
            return Ok((Duration::from_millis(50) <= last.0.elapsed()).then_some(()));
        }
        last = (Instant::now(), now);
        Ok(None)
    })?;
    Ok(())
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

    /// A point of the way, and what lies there where it is an element.
    fn end_of_way(
        &self,
        cx: &Context,
        element: Option<&str>,
        x: Option<f64>,
        y: Option<f64>,
    ) -> Result<Option<(Point, Option<Rect>)>> {
        match element {
            Some(_) if x.is_some() || y.is_some() => {
                Err(Error::argument("Each end of a drag is either an element or a point, not both."))
            }
            Some(element) => {
                let found = find::act(
                    cx,
                    Which { element: Some(element), window: self.window.as_deref(), application: None },
                )?;
                Ok(Some((place_of(cx, &found)?, found.element.bounds)))
            }
            None => Ok(self.at(x, y).resolve(cx)?.map(|point| (point, None))),
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

/// Scroll at a point, in an element, or where the pointer is: a direction with notches of the wheel (3 by
/// default) or an amount of pixels, or delta_x and delta_y.
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
    const ERRORS: &'static [Code] = &both::<16>(pointer::CLICK_ERRORS, &[Code::NotScrollable]);
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
        let target = point.unwrap_or(hands.before().position);
        let window = cx.desktop.windows.at(&cx.call, target).ok().flatten();
        require_not_elevated(window.as_ref())?;
        if let Some(point) = point {
            hands.move_to(point)?;
        }
        let place = hands.position()?;
        let area = element
            .as_ref()
            .and_then(|element| element.bounds)
            .or_else(|| window.as_ref().map(|window| around(place, window)))
            .unwrap_or(Rect::new(place.x, place.y, 1, 1).grown(40));

        if let Distance::Pixels(across, down) = distance
            && let Some(window) = &window
            && self.modifiers.is_empty()
            && let Some((bar, pixels)) = scroll_bar(cx, window, place, across, down)?
            && let Some(scrolled) = by_bar(cx, &bar, pixels, place, window)?
        {
            return Ok(Data(scrolled));
        }
        let (across, down) = match distance {
            Distance::Notches(across, down) => (across, down),
            Distance::Pixels(across, down) => (nearest(across), nearest(down)),
        };
        if let Some(window) = &window {
            cx.desktop.windows.settle(&cx.call, window.id, Duration::from_millis(100)).ok();
        }
        let content = within_bars(area);
        if place != hands.before().position {
            await_rest(cx, content)?;
        }
        let picture = Picture::of(cx, content);
        let witness = (!settle.is_zero()).then(|| {
            Witness::begin(cx, window.as_ref(), behind(content, across, down)).of_content().comparing(cx)
        });
        hands.hold(&self.modifiers)?;
        hands.wheel(across, down)?;
        drop(hands);
        let mut acted = match (witness, picture) {
            (None, _) => Acted::unverified("settle_ms is 0, so nothing was looked for."),
            (Some(witness), picture) => {
                let acted = witness.conclude(cx, settle, None)?;
                match picture {
                    Some(picture) if acted.effect == Seen::NoChangeSeen && picture.became_another(cx)? => {
                        Acted::confirmed(format!("pixels changed within {content}"))
                    }
                    _ => acted,
                }
            }
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

/// An area without its edges, where scroll bars come and go.
fn within_bars(area: Rect) -> Rect {
    const BAR: u32 = 24;
    if area.width <= 4 * BAR || area.height <= 4 * BAR {
        return area;
    }
    Rect::new(area.x + BAR as i32, area.y + BAR as i32, area.width - 2 * BAR, area.height - 2 * BAR)
}

/// The half of an area that lies behind when scrolling on: at the end of a view some toolkits let the other
/// half glow.
fn behind(area: Rect, across: i32, down: i32) -> Rect {
    let (width, height) =
        if down == 0 { (area.width / 2, area.height) } else { (area.width, area.height / 2) };
    let x = if across < 0 && down == 0 { area.x + (area.width - width) as i32 } else { area.x };
    let y = if down < 0 { area.y + (area.height - height) as i32 } else { area.y };
    Rect::new(x, y, width, height)
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

/// Turns the wheel over the view that an element was scrolled out of, until it shows. `unable` is why there
/// is no other way; it is the answer where there is no such view.
pub fn wheel_to(cx: &Context, element: &Element, unable: Error) -> Result<Option<Element>> {
    let window = find::window_of(cx, element)?.map(super::target::shown).transpose()?;
    let Some(window) = window else { return Err(unable) };
    let mut now = cx.desktop.elements.element(&cx.call, &element.id)?;
    let Some((view, point)) = view_around(cx, &window, &now)? else { return Err(unable) };
    let mut notch = PIXELS_A_NOTCH;
    for _ in 0..MOST_TURNS {
        let Some((across, down)) = way_to(cx, &window, view, &now)? else {
            return Ok(in_view(cx, &now)?.then_some(now));
        };
        let turns = |pixels: f64| (pixels.signum() * (pixels.abs() / notch).round().clamp(1.0, 100.0)) as i32;
        // One axis at a time: a view that scrolls in one of them takes every wheel for that one.
        let (across, down) = if down == 0.0 { (turns(across), 0) } else { (0, turns(down)) };
        let mut hands = cx.desktop.input(&cx.call)?;
        hands.move_to(point)?;
        hands.wheel(across, down)?;
        drop(hands);
        let Some(before) = now.bounds.map(|bounds| bounds.center()) else {
            cx.desktop.windows.settle(&cx.call, window.id, Duration::from_millis(300)).ok();
            now = cx.desktop.elements.element(&cx.call, &element.id)?;
            continue;
        };
        let Some(moved) = come_to_rest(cx, &now)? else { return Ok(None) };
        let after = moved.bounds.map_or(before, |bounds| bounds.center());
        let pixels = if down == 0 { after.x - before.x } else { after.y - before.y };
        notch = (f64::from(pixels.abs()) / f64::from((across + down).abs())).max(1.0);
        now = moved;
    }
    Ok(None)
}

/// A turn that overshoots is mended by the next, which knows how far a notch goes; where the way is unknown
/// each turn is most of a page.
const MOST_TURNS: u32 = 60;

/// How far it is from the middle of a view to an element in pixels, across and down; nothing where the view
/// shows it or where that cannot be known.
fn way_to(cx: &Context, window: &Window, view: Rect, element: &Element) -> Result<Option<(f64, f64)>> {
    if let Some(bounds) = element.bounds {
        let (place, middle) = (bounds.center(), view.center());
        let outside = |place: i32, middle: i32, size: u32| {
            let away = place - middle;
            if away.unsigned_abs() * 2 < size { 0.0 } else { f64::from(away) }
        };
        let way = (outside(place.x, middle.x, view.width), outside(place.y, middle.y, view.height));
        return Ok((way != (0.0, 0.0)).then_some(way));
    }
    // GTK 3 has no place for what is scrolled away; its order among what shows tells the direction.
    let tree = elements_of(cx, window)?;
    let place = |wanted: &Element| tree.nodes.iter().position(|node| node.element.id == wanted.id);
    let shown = tree.nodes.iter().enumerate().filter(|(_, node)| {
        let bounds = node.element.bounds;
        let small =
            bounds.is_some_and(|bounds| view.contains(bounds.center()) && bounds.height < view.height);
        small && node.element.role == element.role && find::shows(&node.element)
    });
    let shown: Vec<usize> = shown.map(|(index, _)| index).collect();
    let page = f64::from(view.height) * 0.8;
    Ok(match (place(element), shown.first(), shown.last()) {
        (Some(place), _, Some(last)) if *last < place => Some((0.0, page)),
        (Some(place), Some(first), _) if place < *first => Some((0.0, -page)),
        _ => None,
    })
}

/// The nearest view that does not show where an element is, and a point in it for the wheel.
fn view_around(cx: &Context, window: &Window, element: &Element) -> Result<Option<(Rect, Point)>> {
    let query = TreeQuery { bounds: Bounds::All, values: false, ..TreeQuery::new(Root::Window(window.id)) };
    let tree = cx.desktop.elements.tree(&cx.call, &query)?;
    let mut next = tree.nodes.iter().find(|node| node.element.id == element.id).and_then(|node| node.parent);
    let mut around = std::iter::from_fn(|| {
        let node = &tree.nodes[next?];
        next = node.parent;
        Some(&node.element)
    });
    let view = around.find(|outer| match (element.bounds, outer.bounds) {
        (_, None) => false,
        // What holds the element's place is the content that moves in the view.
        (Some(bounds), Some(outer)) => !outer.contains(bounds.center()),
        (None, Some(_)) => matches!(outer.role, Role::ScrollPane | Role::Viewport),
    });
    let view = view.and_then(|view| view.bounds?.intersection(&window.bounds));
    let Some(view) = view.filter(|view| !view.is_empty()) else { return Ok(None) };
    let middle = view.center();
    let (right, bottom) = (view.x + view.width as i32, view.y + view.height as i32);
    let points = [
        middle,
        Point::new(view.x + 6, middle.y),
        Point::new(middle.x, view.y + 6),
        Point::new(middle.x, bottom - 6),
        Point::new(right - 24, middle.y),
    ];
    // Over these the wheel changes a value instead.
    let takes = |element: &Element| {
        matches!(element.role, Role::SpinButton | Role::Slider | Role::ComboBox | Role::ScrollBar)
    };
    let point = points.into_iter().find(|point| {
        let top = cx.desktop.windows.at(&cx.call, *point).ok().flatten();
        let own = top.is_some_and(|top| top.id == window.id);
        own && !matches!(cx.desktop.elements.at(&cx.call, window.id, *point), Ok(Some(there)) if takes(&there))
    });
    Ok(point.map(|point| (view, point)))
}

/// The element after it has moved, as soon as it stays where it is; nothing when it does not move.
fn come_to_rest(cx: &Context, before: &Element) -> Result<Option<Element>> {
    let mut last: Option<Element> = None;
    cx.call.until_within(Duration::from_millis(500), "waiting for the view to move", || {
        let now = cx.desktop.elements.element(&cx.call, &before.id)?;
        let still = last.as_ref().is_some_and(|last| last.bounds == now.bounds);
        let rests = still && now.bounds != before.bounds;
        last = Some(now.clone());
        Ok(rests.then_some(now))
    })
}

fn elements_of(cx: &Context, window: &Window) -> Result<Tree> {
    cx.desktop
        .elements
        .tree(&cx.call, &TreeQuery { bounds: Bounds::Showing, ..TreeQuery::new(Root::Window(window.id)) })
}

/// Nothing where the bar does not go so far: the wheel goes to the end then.
fn by_bar(
    cx: &Context,
    bar: &Element,
    pixels: f64,
    place: Point,
    window: &Window,
) -> Result<Option<Scrolled>> {
    let number =
        |element: &Element| element.value.as_ref().and_then(|value| value.parse::<f64>().ok()).unwrap_or(0.0);
    let before = number(bar);
    match cx.desktop.elements.set_value(&cx.call, &bar.id, &format!("{}", (before + pixels).max(0.0))) {
        Err(error) if error.code == Code::InvalidArgument => return Ok(None),
        set => set?,
    }
    let after = number(&cx.desktop.elements.element(&cx.call, &bar.id)?);
    let acted = if after == before {
        Acted::no_change("The view is at its end in this direction already.")
    } else {
        Acted::confirmed(format!("scroll bar {before} → {after}"))
    };
    let delivered = format!("{} pixels", (after - before).abs());
    let acted = Acted { via: Some("action"), ..acted }.at(cx, place, Some(window));
    Ok(Some(Scrolled { acted, delivered }))
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
    // Qt's views have no role of their own, and scroll bars.
    let barred = |node: &Node| {
        // It lies in a container of its own there, which has no role either.
        let parent = node.parent;
        let plain =
            parent.filter(|parent| matches!(tree.nodes[*parent].element.role, Role::Filler | Role::Panel));
        let above = plain.and_then(|parent| tree.nodes[parent].parent);
        let mut views = [parent, above].into_iter().flatten().filter_map(|at| tree.nodes[at].element.bounds);
        node.element.role == Role::ScrollBar
            && node.element.states.has(State::Visible)
            && views.any(|view| view.contains(place) && view.height < window.bounds.height)
    };
    if tree.nodes.iter().any(|node| scrolls(&node.element) || barred(node)) {
        return Ok("Nothing moved: what can scroll there is at its end in this direction, or has no more to show than it does.".to_owned());
    }
    Err(Error::new(Code::NotScrollable, format!("Nothing at {place} scrolls.")).remedy(
        "Scroll in an element that does: find_elements with the role scroll_pane, list, tree, table or document.",
    ))
}
