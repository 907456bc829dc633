//! What was seen after a change: the difference between "sent" and "it worked".

use crate::call::Context;
use deskhand_core::element::Element;
use deskhand_core::geometry::display_at;
use deskhand_core::screen::{Bitmap, Source};
use deskhand_core::watch::{Change, Kind, Watch};
use deskhand_core::window::Window;
use deskhand_core::{Point, Rect, Result};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whether a change was seen to have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Read back.
    Confirmed,
    /// It cannot be known from here; `reason` says why.
    #[default]
    Unverified,
    /// Looked for, and nothing changed.
    NoChangeSeen,
}

/// What was done and what was seen of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Acted {
    /// Whether it was seen to have happened.
    pub effect: Seen,
    /// What was read back: before → after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Why it cannot be known, or what may be the matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How it was done where there are several ways: `pointer`, `action`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<&'static str>,
    /// The element that it was done to: ref, role and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Where the pointer is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<Pointer>,
    /// The title of the window that it happened in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_title: Option<String>,
    /// Parameters that have no effect on this system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<&'static str>,
}

/// Where the pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pointer {
    /// Global pixels.
    pub x: i32,
    /// Global pixels.
    pub y: i32,
    /// The index of the display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<u32>,
}

impl Acted {
    /// Seen to have happened.
    pub fn confirmed(evidence: impl Into<String>) -> Acted {
        Acted { effect: Seen::Confirmed, evidence: Some(evidence.into()), ..Acted::default() }
    }

    /// It cannot be known.
    pub fn unverified(reason: impl Into<String>) -> Acted {
        Acted { effect: Seen::Unverified, reason: Some(reason.into()), ..Acted::default() }
    }

    /// Nothing changed.
    pub fn no_change(reason: impl Into<String>) -> Acted {
        Acted { effect: Seen::NoChangeSeen, reason: Some(reason.into()), ..Acted::default() }
    }

    /// Adds where the pointer is and the window's title.
    pub fn at(mut self, cx: &Context, point: Point, window: Option<&Window>) -> Acted {
        self.pointer = Some(pointer(cx, point));
        self.window_title = window.map(|window| window.title.clone());
        self
    }
}

/// A point with its display.
pub fn pointer(cx: &Context, point: Point) -> Pointer {
    let display = cx.desktop.screen.displays(&cx.call).ok();
    let display =
        display.as_deref().and_then(|displays| display_at(displays, point)).map(|display| display.index);
    Pointer { x: point.x, y: point.y, display }
}

/// Watches a place from just before a change, to tell afterwards what came of it.
pub struct Witness {
    watch: Option<Box<dyn Watch>>,
    mark: Option<u64>,
    area: Rect,
    /// What the area looked like, where only another look counts.
    look: Option<Arc<Bitmap>>,
    pid: Option<u32>,
    /// Only what the content says of itself is evidence.
    content: bool,
}

impl Witness {
    /// Begins to watch: everything that the application of `window` says, and the pixels of `area`.
    pub fn begin(cx: &Context, window: Option<&Window>, area: Rect) -> Witness {
        Witness {
            // Without accessibility the pixels still tell.
            watch: cx.desktop.elements.watch(&cx.call).ok(),
            mark: cx.desktop.screen.mark(&cx.call).ok(),
            area,
            look: None,
            pid: window.and_then(|window| window.pid),
            content: false,
        }
    }

    /// Begins to watch what an application says that may have no window.
    pub fn of_process(cx: &Context, pid: Option<u32>) -> Witness {
        Witness { pid, ..Witness::begin(cx, None, Rect::default()) }
    }

    /// Takes only what the content says of itself: pressing a button moves the focus and the caret, and what
    /// is dragged has a window of its own, which comes and goes whoever takes it.
    pub fn of_content(self) -> Witness {
        Witness { content: true, ..self }
    }

    /// Takes pixels for changed only where they are others than now: toolkits draw anew what stays the same.
    pub fn comparing(self, cx: &Context) -> Witness {
        let look = cx.desktop.screen.capture(&cx.call, Source::Screen(self.area)).ok();
        Witness { look, ..self }
    }

    /// Whether something was drawn in the area since the mark, and differs where that is asked for.
    fn sees(&mut self, cx: &Context) -> bool {
        let Some(mark) = self.mark else { return false };
        if !cx.desktop.screen.changed_since(&cx.call, mark, self.area).unwrap_or(false) {
            return false;
        }
        let Some(look) = &self.look else { return true };
        // Marked before looking, so that nothing is missed in between.
        let mark = cx.desktop.screen.mark(&cx.call).ok();
        let now = cx.desktop.screen.capture(&cx.call, Source::Screen(self.area));
        let same = now.is_ok_and(|now| now.pixels == look.pixels);
        if same {
            self.mark = mark;
        }
        !same
    }

    /// Waits at most `settle` for a consequence and says what it was; returns as soon as one is seen.
    /// `before` is the element that it was done to, as it was.
    pub fn conclude(mut self, cx: &Context, settle: Duration, before: Option<&Element>) -> Result<Acted> {
        if settle.is_zero() {
            return Ok(Acted::unverified("settle_ms is 0, so nothing was looked for."));
        }
        let until = Instant::now() + settle;
        loop {
            if let Some(seen) = self.heard(cx)? {
                let evidence = match before.and_then(|before| changed(cx, before)) {
                    Some(difference) => difference,
                    None => seen,
                };
                return Ok(Acted::confirmed(evidence));
            }
            if let Some(difference) = before.and_then(|before| changed(cx, before)) {
                return Ok(Acted::confirmed(difference));
            }
            if self.sees(cx) {
                // What the application says of it is worth a moment more than that something was drawn.
                let word = self.heard_until(cx, until.min(Instant::now() + Duration::from_millis(15)))?;
                let difference = before.and_then(|before| changed(cx, before));
                let evidence =
                    difference.or(word).unwrap_or_else(|| format!("pixels changed within {}", self.area));
                return Ok(Acted::confirmed(evidence));
            }
            if until <= Instant::now() {
                let heard = if self.watch.is_some() {
                    "no event, no changed state and no changed pixels"
                } else {
                    "no changed pixels"
                };
                return Ok(Acted::no_change(format!(
                    "There was {heard} at the target within {} ms. It may react later, or not at all.",
                    settle.as_millis()
                )));
            }
            if let Some(word) = self.heard_until(cx, until.min(Instant::now() + Duration::from_millis(3)))? {
                let difference = before.and_then(|before| changed(cx, before));
                return Ok(Acted::confirmed(difference.unwrap_or(word)));
            }
        }
    }

    /// What the application says until then, as soon as it says anything, and whether that is of its content.
    pub fn hear(&mut self, cx: &Context, until: Instant) -> Result<Option<(String, bool)>> {
        let Some(change) = self.change_until(cx, until)? else { return Ok(None) };
        let content = matches!(change.kind, Kind::Text | Kind::Value | Kind::Property | Kind::Bounds);
        Ok(Some((describe(&change), content)))
    }

    fn heard(&mut self, cx: &Context) -> Result<Option<String>> {
        self.heard_until(cx, Instant::now())
    }

    fn heard_until(&mut self, cx: &Context, until: Instant) -> Result<Option<String>> {
        Ok(self.change_until(cx, until)?.as_ref().map(describe))
    }

    fn change_until(&mut self, cx: &Context, until: Instant) -> Result<Option<Change>> {
        let Some(watch) = &mut self.watch else {
            cx.call.until_within(
                until.saturating_duration_since(Instant::now()),
                "looking for a change",
                || Ok(None::<()>),
            )?;
            return Ok(None);
        };
        let pid = self.pid;
        let mut best: Option<Change> = None;
        // After the first one only what is there already: the last of the most telling is the evidence.
        for _ in 0..MOST_OF_A_BURST {
            let end = if best.is_some() { Instant::now() } else { until };
            let Some(change) = watch.next(&cx.call, end)? else { break };
            let own = pid.is_none() || change.pid.is_none() || change.pid == pid;
            let counts = counts(&change)
                && (!self.content || matches!(change.kind, Kind::Text | Kind::Value | Kind::Selection));
            if own && counts && best.as_ref().is_none_or(|best| tells(best) <= tells(&change)) {
                best = Some(change);
            }
        }
        Ok(best)
    }
}

/// Whether a change can be a consequence: a caret that blinks or a pointer that passes is none.
fn counts(change: &Change) -> bool {
    match change.kind {
        Kind::State
        | Kind::Focused
        | Kind::Text
        | Kind::Caret
        | Kind::Value
        | Kind::Property
        | Kind::Children
        | Kind::Bounds
        | Kind::Selection
        | Kind::Window => true,
    }
}

/// A page may say thousands of things at once; its first ones will do.
const MOST_OF_A_BURST: usize = 100;

/// How much a change tells of what was done: that the focus moved is the least.
fn tells(change: &Change) -> u32 {
    match change.kind {
        Kind::State if change.detail == "focused" => 0,
        Kind::Focused => 1,
        Kind::Caret => 2,
        Kind::Window => 3,
        Kind::Children => 4,
        Kind::Selection => 5,
        Kind::State => 6,
        Kind::Property | Kind::Bounds => 7,
        Kind::Text => 8,
        Kind::Value => 9,
    }
}

/// A change in words.
pub fn describe(change: &Change) -> String {
    let detail = &change.detail;
    match change.kind {
        Kind::State => format!("an element became {}{detail}", if change.on { "" } else { "not " }),
        Kind::Focused => "the keyboard focus moved".to_owned(),
        Kind::Text => format!("a text changed ({detail})"),
        Kind::Caret => "the caret moved".to_owned(),
        Kind::Value => format!("a value changed{}", to(change)),
        Kind::Property => format!("a property changed ({detail}){}", to(change)),
        Kind::Bounds => "an element moved or changed its size".to_owned(),
        Kind::Children => format!("elements were {}", if change.on { "added" } else { "removed" }),
        Kind::Selection => "the selection changed".to_owned(),
        Kind::Window => format!("a window changed ({detail})"),
    }
}

/// What something became, where its application says it.
fn to(change: &Change) -> String {
    change.text.as_deref().map_or(String::new(), |text| format!(" to {}", short(text)))
}

/// What is different about an element now, in words. Nothing when it is the same or cannot be read.
pub fn changed(cx: &Context, before: &Element) -> Option<String> {
    let after = match cx.desktop.elements.element(&cx.call, &before.id) {
        Ok(after) => after,
        Err(error) if error.code == deskhand_core::Code::ElementStale => {
            return Some("the element is gone".to_owned());
        }
        Err(_) => return None,
    };
    difference(before, &after)
}

/// What differs between two readings of an element.
pub fn difference(before: &Element, after: &Element) -> Option<String> {
    let mut differences = Vec::new();
    if before.value != after.value {
        let show = |value: &Option<String>| value.as_deref().map_or("nothing".to_owned(), short);
        differences.push(format!("value {} → {}", show(&before.value), show(&after.value)));
    }
    if before.name != after.name {
        differences.push(format!("name {} → {}", short(&before.name), short(&after.name)));
    }
    for state in after.states.iter().filter(|state| !before.states.has(*state)) {
        differences.push(format!("became {state}"));
    }
    for state in before.states.iter().filter(|state| !after.states.has(*state)) {
        differences.push(format!("no longer {state}"));
    }
    (!differences.is_empty()).then(|| differences.join(", "))
}

/// A text for a message: quoted and cut.
pub fn short(text: &str) -> String {
    if text.chars().count() <= 80 {
        return format!("{text:?}");
    }
    format!("{:?}… ({} characters)", text.chars().take(60).collect::<String>(), text.chars().count())
}
