//! Gestures of fingers on a touchscreen.

use super::evidence::{Acted, Witness};
use super::scroll::Direction;
use super::target::{At, require_not_elevated};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::geometry::require_on_screen;
use deskhand_core::{Code, Error, Point, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<Gesture>()];

/// What fingers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GestureKind {
    /// Together or apart.
    Pinch,
    /// In a circle.
    Rotate,
    /// Along a line.
    Swipe,
    /// Down and up.
    Tap,
    /// Down and up, twice.
    DoubleTap,
    /// Down for a while.
    LongPress,
}

/// A gesture of fingers on a touchscreen: pinch, rotate, swipe, tap, double_tap or long_press. Where no
/// touchscreen can be had it is unsupported, with the reason; nothing else stands in for it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gesture {
    /// Which one.
    pub gesture_type: GestureKind,
    /// The middle of it, across, in pixels of the screen or of the frame named below.
    pub center_x: f64,
    /// Down.
    pub center_y: f64,
    /// center_x and center_y are relative to this display (index or name).
    #[serde(default)]
    pub display: Option<String>,
    /// They are relative to this window (id or title).
    #[serde(default)]
    pub window: Option<String>,
    /// They are pixels of this screenshot (its image id).
    #[serde(default)]
    pub image: Option<String>,
    /// How many times as far apart the fingers of a pinch end as they began: 2 spreads, 0.5 closes; 0.1 to 10.
    #[serde(default)]
    pub scale: Option<f64>,
    /// By how many degrees the fingers turn, clockwise; -360 to 360. For rotate, and with pinch.
    #[serde(default)]
    pub rotation: Option<f64>,
    /// How many fingers; 2 by default for pinch and rotate, which need as many, else 1.
    #[serde(default)]
    pub finger_count: Option<Ranged<1, 10>>,
    /// Which way the fingers of a swipe move.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// How far a swipe goes (300 by default), or how far from the middle the fingers of a pinch or rotate get
    /// (100), in pixels.
    #[serde(default)]
    pub distance: Option<Ranged<1, 10_000>>,
    /// How long it takes; 50 for taps, 1000 for long_press, else 400.
    #[serde(default)]
    pub duration_ms: Option<Ranged<10, 30_000>>,
    /// Look this long for a consequence; 100 by default, 0 not at all.
    #[serde(default)]
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

/// What was done, and what was seen of it.
#[derive(Serialize, JsonSchema)]
pub struct Gestured {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// How many touches the display has seen begin and end.
    pub touches: usize,
}

impl Tool for Gesture {
    const NAME: &'static str = "gesture";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = super::pointer::TOUCH_ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("type", "gesture_type"), ("x", "center_x"), ("y", "center_y"), ("fingers", "finger_count")];
    const GROUP: Group = Group::Pointer;
    type Output = Data<Gestured>;

    fn patience(&self) -> Duration {
        self.time() * 3 + self.settle_ms.map_or(Duration::ZERO, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Gestured>> {
        let settle = self.settle_ms.map_or(cx.server.config.settle, Ranged::milliseconds);
        let at = At {
            x: Some(self.center_x),
            y: Some(self.center_y),
            display: self.display.as_deref(),
            window: self.window.as_deref(),
            image: self.image.as_deref(),
        };
        let Some(center) = at.resolve(cx)? else {
            return Err(Error::new(Code::MissingRequiredParameter, "center_x and center_y are missing."));
        };
        let way = self.way(center)?;
        let displays = cx.desktop.screen.displays(&cx.call)?;
        for part in 0..=STEPS {
            for point in way.at(f64::from(part) / f64::from(STEPS)) {
                require_on_screen(&displays, point)?;
            }
        }
        for point in [0.0, 1.0].into_iter().flat_map(|part| way.at(part)) {
            require_not_elevated(cx.desktop.windows.at(&cx.call, point).ok().flatten().as_ref())?;
        }
        let mut fingers = cx.desktop.fingers(&cx.call)?;
        let window = cx.desktop.windows.at(&cx.call, center).ok().flatten();
        let area = Rect::new(center.x, center.y, 1, 1).grown(50);
        let witness = Witness::begin(cx, window.as_ref(), area);
        let times = if self.gesture_type == GestureKind::DoubleTap { 2 } else { 1 };
        let mut touches = 0;
        for round in 0..times {
            if 0 < round {
                cx.call.pause(self.time(), TOUCHING)?;
            }
            let begun = Instant::now();
            loop {
                let part = (begun.elapsed().as_secs_f64() / self.time().as_secs_f64()).min(1.0);
                fingers.place(&cx.call, &way.at(part))?;
                if 1.0 <= part {
                    break;
                }
                cx.call.pause(Duration::from_millis(8).min(self.time()), TOUCHING)?;
            }
            touches = fingers.lift(&cx.call)?;
        }
        drop(fingers);
        let made = way.fingers * times;
        let mut acted = witness.conclude(cx, settle, None)?;
        if touches < made {
            acted = Acted::no_change(format!("The display has seen {touches} of {made} touches."));
        }
        // Fingers do not always take the pointer along, so nothing is said of it.
        acted.window_title = window.map(|window| window.title);
        Ok(Data(Gestured { acted, touches }))
    }
}

const TOUCHING: &str = "touching the screen";
/// At how many places of the way it is looked whether the fingers are on the screen.
const STEPS: u32 = 32;
/// How far apart fingers are that lie side by side.
const APART: f64 = 60.0;

impl Gesture {
    fn time(&self) -> Duration {
        self.duration_ms.map_or_else(
            || match self.gesture_type {
                GestureKind::Tap | GestureKind::DoubleTap => Duration::from_millis(50),
                GestureKind::LongPress => Duration::from_secs(1),
                GestureKind::Pinch | GestureKind::Rotate | GestureKind::Swipe => Duration::from_millis(400),
            },
            Ranged::milliseconds,
        )
    }

    /// Where the fingers go; refused where something for it is missing, or is there and means nothing.
    fn way(&self, center: Point) -> Result<Way> {
        let kind = self.gesture_type;
        let turns = matches!(kind, GestureKind::Pinch | GestureKind::Rotate);
        let fingers = self.finger_count.map_or(if turns { 2 } else { 1 }, |count| count.get() as usize);
        if turns && fingers < 2 {
            return Err(Error::argument("A pinch and a rotation need two fingers or more."));
        }
        for (name, given, fits) in [
            ("scale", self.scale.is_some(), kind == GestureKind::Pinch),
            ("rotation", self.rotation.is_some(), turns),
            ("direction", self.direction.is_some(), kind == GestureKind::Swipe),
            ("distance", self.distance.is_some(), turns || kind == GestureKind::Swipe),
        ] {
            if given && !fits {
                return Err(Error::argument(format!("{name} means nothing for this gesture_type.")));
            }
        }
        let missing = |what: &str| {
            Error::new(Code::MissingRequiredParameter, format!("{what} is missing for this gesture_type."))
        };
        let (scale, rotation) = match kind {
            GestureKind::Pinch => (self.scale.ok_or_else(|| missing("scale"))?, self.rotation.unwrap_or(0.0)),
            GestureKind::Rotate => (1.0, self.rotation.ok_or_else(|| missing("rotation"))?),
            GestureKind::Swipe | GestureKind::Tap | GestureKind::DoubleTap | GestureKind::LongPress => {
                (1.0, 0.0)
            }
        };
        if !(0.1..=10.0).contains(&scale) || !(-360.0..=360.0).contains(&rotation) {
            return Err(Error::argument("scale goes from 0.1 to 10, and rotation from -360 to 360."));
        }
        let distance = |usual: i64| self.distance.map_or(usual, Ranged::get) as f64;
        let shape = if turns {
            let widest = distance(100);
            let (from, to) = if 1.0 <= scale { (widest / scale, widest) } else { (widest, widest * scale) };
            Shape::Ring { from, to, turn: rotation / 360.0 * TAU }
        } else {
            let (across, down) = match (kind, self.direction) {
                (GestureKind::Swipe, None) => return Err(missing("direction")),
                (_, None) => (0.0, 0.0),
                (_, Some(Direction::Left)) => (-distance(300), 0.0),
                (_, Some(Direction::Right)) => (distance(300), 0.0),
                (_, Some(Direction::Up)) => (0.0, -distance(300)),
                (_, Some(Direction::Down)) => (0.0, distance(300)),
            };
            Shape::Row { across, down }
        };
        Ok(Way { center, fingers, shape })
    }
}

/// Where the fingers of a gesture go.
struct Way {
    center: Point,
    fingers: usize,
    shape: Shape,
}

enum Shape {
    /// Around the middle at this distance from it, turning by this angle.
    Ring { from: f64, to: f64, turn: f64 },
    /// Side by side, and together so far.
    Row { across: f64, down: f64 },
}

impl Way {
    /// Where each finger is when this part of the time has passed.
    fn at(&self, part: f64) -> Vec<Point> {
        let place = |finger: usize| {
            let (x, y) = match self.shape {
                Shape::Ring { from, to, turn } => {
                    let radius = from + (to - from) * part;
                    let angle = TAU * finger as f64 / self.fingers as f64 + turn * part;
                    (radius * angle.cos(), radius * angle.sin())
                }
                // The way lies around its middle.
                Shape::Row { across, down } => {
                    let beside = (finger as f64 - (self.fingers as f64 - 1.0) / 2.0) * APART;
                    (beside + across * (part - 0.5), down * (part - 0.5))
                }
            };
            Point::new(self.center.x + x.round() as i32, self.center.y + y.round() as i32)
        };
        (0..self.fingers).map(place).collect()
    }
}
