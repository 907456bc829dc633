//! Waiting for something to come true.

use super::clipboard::{CopiedInfo, Copies};
use super::elements::{ElementInfo, Wanted};
use super::find::{self, Which};
use super::notifications::NotificationInfo;
use super::ocr::{self, Seen};
use super::target;
use super::windows::WindowInfo;
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::element::Bounds;
use deskhand_core::notification::{NotificationEvent, NotificationWatch, Shown};
use deskhand_core::watch::Watch;
use deskhand_core::{Code, Error, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<WaitFor>()];

/// Wait until one of these holds, for timeout_ms at the most (10 s by default). The reply says which.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct WaitFor {
    /// An element that fits, with a state perhaps: `button[name="OK"]:enabled`.
    pub selector: Option<String>,
    /// An element of this role.
    pub role: Option<String>,
    /// An element of this name (a part is enough).
    pub title: Option<String>,
    /// An element with this identifier.
    pub identifier: Option<String>,
    /// A text that some element shows.
    pub text: Option<String>,
    /// A text seen on the screen or in `window` (OCR).
    pub seen_text: Option<String>,
    /// A window whose title holds this.
    pub window_title: Option<String>,
    /// Wait until it is gone instead.
    pub gone: bool,
    /// No pixel changed for this long.
    pub still_ms: Option<Ranged<50, 10_000>>,
    /// A notification arrives that says this.
    pub notification: Option<String>,
    /// The clipboard holds this text; "" for whatever is copied next.
    pub clipboard: Option<String>,
    /// This process has ended.
    pub process_ended: Option<Ranged<1, 4_194_304>>,
    /// Look only in this window.
    pub window: Option<String>,
    /// Look only in this application.
    pub application: Option<String>,
}

/// What came true.
#[derive(Serialize, JsonSchema)]
pub struct Came {
    /// Which condition.
    pub condition: &'static str,
    /// The element that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementInfo>,
    /// How many elements fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<usize>,
    /// The window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowInfo>,
    /// The notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notification: Option<NotificationInfo>,
    /// Where the text is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// What is on the clipboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipboard: Option<CopiedInfo>,
    /// How long it took.
    pub waited_ms: u64,
}

impl Tool for WaitFor {
    const NAME: &'static str = "wait_for";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[
        Code::InvalidSelector,
        Code::WindowNotFound,
        Code::AmbiguousTarget,
        Code::PermissionDenied,
        Code::WindowMinimized,
    ];
    const SECRET: &'static [&'static str] = &["clipboard"];
    const GROUP: Group = Group::Elements;
    type Output = Data<Came>;

    fn call(self, cx: &Context) -> Result<Data<Came>> {
        let started = Instant::now();
        let elements = [&self.selector, &self.role, &self.title, &self.identifier, &self.text];
        let wanted = match elements.iter().any(|given| given.is_some()) {
            true => Some(Wanted::new(
                self.selector.as_deref(),
                self.role.as_deref(),
                self.title.as_deref(),
                self.identifier.as_deref(),
                self.text.as_deref(),
            )?),
            false => None,
        };
        if wanted.is_none()
            && self.window_title.is_none()
            && self.seen_text.is_none()
            && self.still_ms.is_none()
            && self.process_ended.is_none()
            && self.notification.is_none()
            && self.clipboard.is_none()
        {
            return Err(Error::new(Code::MissingRequiredParameter, "Nothing says what to wait for.").expected(
                "at least one of selector, role, title, identifier, text, seen_text, window_title, still_ms, process_ended, notification, clipboard",
            ));
        }
        let came = cx.aside(|| self.wait(cx, wanted.as_ref()))?;
        let waited_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Data(Came { waited_ms, ..came }))
    }
}

impl Came {
    fn of(condition: &'static str) -> Came {
        Came {
            condition,
            element: None,
            matches: None,
            window: None,
            notification: None,
            seen: None,
            clipboard: None,
            waited_ms: 0,
        }
    }
}

impl WaitFor {
    fn wait(&self, cx: &Context, wanted: Option<&Wanted>) -> Result<Came> {
        // Changes wake the next look at once; without them it looks every now and then.
        let mut watch = match wanted {
            Some(_) => cx.desktop.elements.watch(&cx.call).ok(),
            None => None,
        };
        let mut rest =
            self.still_ms.map(|_| Rest { since: Instant::now(), mark: cx.desktop.screen.mark(&cx.call) });
        let mut notices = match &self.notification {
            Some(text) => {
                Some(Arrivals { watch: cx.desktop.notifications.watch(&cx.call)?, text: text.to_lowercase() })
            }
            None => None,
        };
        let mut copies =
            self.clipboard.as_ref().map(|text| Copies::begin(cx, text, self.gone)).transpose()?;
        let mut seen = String::new();
        let mut reading = Reading::default();
        loop {
            match self.look(cx, wanted, rest.as_mut(), copies.as_mut(), &mut reading, &mut seen) {
                Ok(Some(came)) => return Ok(came),
                Ok(None) => {}
                // The time may be up in the middle of a look.
                Err(error) if error.code == Code::Timeout && cx.call.remaining().is_zero() => {}
                Err(error) => return Err(error),
            }
            cx.call.check("waiting").map_err(|error| match error.code {
                Code::Timeout => self.late(&seen),
                _ => error,
            })?;
            let pause = if rest.is_some() { Duration::from_millis(20) } else { Duration::from_millis(200) };
            let until = (Instant::now() + pause).min(cx.call.deadline());
            if let Some(notices) = &mut notices {
                // The others are looked at between two of these short waits.
                let until = until.min(Instant::now() + Duration::from_millis(50));
                match notices.next(cx, until) {
                    Ok(Some(shown)) => {
                        let notification = Some(NotificationInfo::of(shown));
                        return Ok(Came { notification, ..Came::of("notification") });
                    }
                    Ok(None) => continue,
                    // The check above tells it better.
                    Err(error) if error.code == Code::Timeout => continue,
                    Err(error) => return Err(error),
                }
            }
            if let Some(copies) = &mut copies {
                // The others are looked at in between, as above.
                let alone = wanted.is_none() && self.window_title.is_none() && rest.is_none();
                let short = Duration::from_millis(if alone { 200 } else { 50 });
                match copies.wait(cx, until.min(Instant::now() + short)) {
                    Err(error) if error.code != Code::Timeout => return Err(error),
                    Ok(()) | Err(_) => continue,
                }
            }
            match &mut watch {
                Some(watch) if rest.is_none() => {
                    next_burst(watch.as_mut(), cx, until)
                        .or_else(|error| if error.code == Code::Timeout { Ok(()) } else { Err(error) })?;
                }
                _ => {
                    let left = until.saturating_duration_since(Instant::now());
                    cx.call.until_within(left, "waiting", || Ok(None::<()>)).map(drop).or_else(|error| {
                        // The check above tells it better.
                        if error.code == Code::Timeout { Ok(()) } else { Err(error) }
                    })?;
                }
            }
        }
    }

    fn late(&self, seen: &str) -> Error {
        Error::new(Code::Timeout, format!("This did not come true in time: {}.", self.words()))
            .found((!seen.is_empty()).then(|| seen.to_owned()))
            .remedy("Look at the screen; pass a larger timeout_ms if it only needs longer.")
    }

    fn look(
        &self,
        cx: &Context,
        wanted: Option<&Wanted>,
        rest: Option<&mut Rest>,
        copies: Option<&mut Copies>,
        reading: &mut Reading,
        seen: &mut String,
    ) -> Result<Option<Came>> {
        if let Some(pid) = self.process_ended
            && !cx.desktop.apps.alive(pid.get() as u32)
        {
            return Ok(Some(Came::of("process_ended")));
        }
        if let Some(title) = &self.window_title {
            let windows = cx.desktop.windows.list(&cx.call)?;
            let lower = title.to_lowercase();
            let window = windows.iter().find(|window| window.title.to_lowercase().contains(&lower));
            *seen = format!("windows: {}", windows.iter().map(target::line).collect::<Vec<_>>().join(", "));
            if window.is_none() == self.gone {
                let window = window.map(|window| WindowInfo::of(cx, window));
                return Ok(Some(Came { window, ..Came::of("window_title") }));
            }
        }
        if let Some(wanted) = wanted
            && let Some(came) = self.look_for_elements(cx, wanted, seen)?
        {
            return Ok(Some(came));
        }
        if let Some(text) = &self.seen_text
            && let Some(came) = self.look_for_text(cx, text, reading, seen)?
        {
            return Ok(Some(came));
        }
        if let Some(copies) = copies
            && let Some(copied) = copies.look(cx, seen)?
        {
            return Ok(Some(Came { clipboard: Some(copied), ..Came::of("clipboard") }));
        }
        match (rest, self.still_ms) {
            (Some(rest), Some(still)) => self.look_for_rest(cx, rest, still.milliseconds()),
            _ => Ok(None),
        }
    }

    fn look_for_elements(&self, cx: &Context, wanted: &Wanted, seen: &mut String) -> Result<Option<Came>> {
        let which =
            Which { element: None, window: self.window.as_deref(), application: self.application.as_deref() };
        let tree = match find::tree(cx, which, Bounds::Showing) {
            Ok(tree) => tree,
            // A window or an application that is not there yet may come, and its elements are gone.
            Err(error) if matches!(error.code, Code::WindowNotFound | Code::ApplicationNotFound) => {
                *seen = error.message;
                return Ok(self.gone.then(|| Came::of("element")));
            }
            // One that is busy with starting, or with something else, may answer yet.
            Err(error) if error.code == Code::Timeout && !cx.call.remaining().is_zero() => {
                *seen = error.message;
                return Ok(None);
            }
            // It has no tree yet, or never will; where nobody may see any there is nothing to wait for.
            Err(error)
                if error.code == Code::PermissionDenied
                    && !cx.call.remaining().is_zero()
                    && cx.desktop.elements.applications(&cx.call).is_ok() =>
            {
                *seen = error.message;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let matches: Vec<usize> = wanted
            .select(&tree)
            .into_iter()
            .filter(|index| find::shows(&tree.nodes[*index].element))
            .collect();
        *seen = format!("{} elements, {} of them fit", tree.nodes.len(), matches.len());
        if matches.is_empty() != self.gone {
            return Ok(None);
        }
        let element = matches.first().map(|index| {
            let element = &tree.nodes[*index].element;
            ElementInfo::of(cx.server.refs.show(element), element)
        });
        Ok(Some(Came { element, matches: Some(matches.len()), ..Came::of("element") }))
    }

    /// Reads only after pixels changed: reading is what takes long.
    fn look_for_text(
        &self,
        cx: &Context,
        text: &str,
        reading: &mut Reading,
        seen: &mut String,
    ) -> Result<Option<Came>> {
        let window = match self.window.as_ref().or(self.application.as_ref()) {
            Some(name) => match target::window(cx, name) {
                Ok(window) => Some(window),
                // One that is not there yet may come, and its text is gone.
                Err(error) if error.code == Code::WindowNotFound => {
                    *seen = error.message;
                    return Ok(self.gone.then(|| Came::of("seen_text")));
                }
                Err(error) => return Err(error),
            },
            None => None,
        };
        let area = match &window {
            Some(window) => window.bounds,
            None => deskhand_core::geometry::desktop_bounds(&cx.desktop.screen.displays(&cx.call)?),
        };
        let mark = cx.desktop.screen.mark(&cx.call)?;
        if let Some((last, of)) = &reading.last
            && *of == area
            && !cx.desktop.screen.changed_since(&cx.call, *last, area)?
        {
            return Ok(None);
        }
        let places = ocr::look_for(cx, text, window.as_ref())?;
        reading.last = Some((mark, area));
        *seen = format!("the text is seen at {} places", places.len());
        if places.is_empty() != self.gone {
            return Ok(None);
        }
        Ok(Some(Came {
            matches: Some(places.len()),
            seen: places.into_iter().next(),
            ..Came::of("seen_text")
        }))
    }

    fn look_for_rest(&self, cx: &Context, rest: &mut Rest, still: Duration) -> Result<Option<Came>> {
        let area = match &self.window {
            Some(name) => target::window(cx, name)?.bounds,
            None => deskhand_core::geometry::desktop_bounds(&cx.desktop.screen.displays(&cx.call)?),
        };
        let mark = match &rest.mark {
            Ok(mark) => *mark,
            Err(error) => return Err(Error::new(error.code, error.message.clone())),
        };
        if cx.desktop.screen.changed_since(&cx.call, mark, area)? {
            *rest = Rest { since: Instant::now(), mark: cx.desktop.screen.mark(&cx.call) };
            return Ok(None);
        }
        Ok((still <= rest.since.elapsed()).then(|| Came::of("still")))
    }

    fn words(&self) -> String {
        let mut words = Vec::new();
        let not = if self.gone { " to be gone" } else { "" };
        for (what, text) in [
            ("the selector", &self.selector),
            ("the role", &self.role),
            ("the name", &self.title),
            ("the identifier", &self.identifier),
            ("the text", &self.text),
            ("the seen text", &self.seen_text),
            ("the window title", &self.window_title),
        ] {
            if let Some(text) = text {
                words.push(format!("{what} {text:?}{not}"));
            }
        }
        if self.still_ms.is_some() {
            words.push("a still screen".to_owned());
        }
        if let Some(text) = &self.notification {
            words.push(if text.is_empty() {
                "a notification".to_owned()
            } else {
                format!("a notification with {text:?}")
            });
        }
        if let Some(text) = &self.clipboard {
            words.push(match text.chars().count() {
                0 if self.gone => "an empty clipboard".to_owned(),
                0 => "something new on the clipboard".to_owned(),
                // Texts of the clipboard stand in no log.
                characters => format!("the given text ({characters} characters) on the clipboard{not}"),
            });
        }
        if let Some(pid) = self.process_ended {
            words.push(format!("the end of process {}", pid.get()));
        }
        words.join(" or ")
    }
}

/// Waits for a change, and lets a burst of more pass before the next look.
fn next_burst(watch: &mut dyn Watch, cx: &Context, until: Instant) -> Result<()> {
    if watch.next(&cx.call, until)?.is_some() {
        let burst = Instant::now() + Duration::from_millis(10);
        while watch.next(&cx.call, burst)?.is_some() {}
    }
    Ok(())
}

/// Notifications as they arrive.
struct Arrivals {
    watch: Box<dyn NotificationWatch>,
    /// In small letters.
    text: String,
}

impl Arrivals {
    /// The next one that holds the text, by `until`.
    fn next(&mut self, cx: &Context, until: Instant) -> Result<Option<Shown>> {
        while let Some(event) = self.watch.next(&cx.call, until)? {
            match event {
                NotificationEvent::Shown(shown)
                    if [&shown.title, &shown.message]
                        .iter()
                        .any(|said| said.to_lowercase().contains(&self.text)) =>
                {
                    return Ok(Some(shown));
                }
                NotificationEvent::Shown(_)
                | NotificationEvent::Closed { .. }
                | NotificationEvent::Acted { .. } => {}
            }
        }
        Ok(None)
    }
}

/// What was read of the screen last, and where.
#[derive(Default)]
struct Reading {
    last: Option<(u64, Rect)>,
}

/// Since when nothing was drawn.
struct Rest {
    since: Instant,
    mark: Result<u64>,
}
