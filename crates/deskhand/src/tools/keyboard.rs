//! The keyboard: typing text and pressing keys, into what the caller names or what has the keyboard.

use super::evidence::{Acted, Seen, short};
use super::find::{self, Found, Which};
use super::pointer::{Holding, held_by};
use super::{Alias, elements, target, windows};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool, both};
use deskhand_core::clipboard::{GivenBack, Loan, Part};
use deskhand_core::element::{Element, ElementId, Role, State, TextContent};
use deskhand_core::input::Held;
use deskhand_core::key::{Key, Modifier, NamedKey, parse_combination};
use deskhand_core::watch::{Change, Watch};
use deskhand_core::window::Window;
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<TypeText>(), Row::of::<PressKey>(), Row::of::<HoldKey>()];

/// Other names.
pub static ALIASES: &[Alias] = &[
    Alias { name: "key_combination", tool: "press_key", adapt: combination },
    Alias { name: "hotkey", tool: "press_key", adapt: combination },
];

/// `keys: ["ctrl", "c"]` and `keys: "ctrl+c"` are a key with modifiers.
fn combination(mut arguments: Value) -> Value {
    if let Some(object) = arguments.as_object_mut()
        && !object.contains_key("key")
        && let Some(keys) = object.remove("keys").or_else(|| object.remove("combination"))
    {
        let text = match keys {
            Value::Array(keys) => {
                keys.iter().map(|key| key.as_str().unwrap_or_default()).collect::<Vec<_>>().join("+")
            }
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        object.insert("key".into(), json!(text));
    }
    arguments
}

const KEY_ERRORS: &[Code] = &[
    Code::UnknownKey,
    Code::TargetChanged,
    Code::ElementNotFound,
    Code::ElementStale,
    Code::ElementNotActionable,
    Code::AmbiguousTarget,
    Code::InvalidSelector,
    Code::WindowNotFound,
    Code::ApplicationNotFound,
    Code::PermissionDenied,
    Code::ElevatedProcessTarget,
    Code::SecureDesktopActive,
    Code::Busy,
];

/// The same of a text, which may not be typeable.
const TEXT_ERRORS: &[Code] = &both::<14>(KEY_ERRORS, &[Code::TextNotTypeable]);

/// The same of what is left with a session.
const HOLD_ERRORS: &[Code] = &both::<14>(KEY_ERRORS, &[Code::SessionNotFound]);

/// What is going to get the keys.
struct Aim {
    window: Option<Window>,
    element: Option<Found>,
}

/// Activates what the caller names and confirms it; without a name nothing is activated. An element that
/// does not suit is refused before anything is.
fn aim(
    cx: &Context,
    element: Option<&str>,
    window: Option<&str>,
    application: Option<&str>,
    suits: fn(&Context, Option<&Element>) -> Result<()>,
) -> Result<Aim> {
    let which = Which { element, window, application };
    if element.is_some() {
        let found = find::act(cx, which)?;
        suits(cx, Some(&found.element))?;
        let acted = elements::focus(cx, &found)?;
        if acted.effect != Seen::Confirmed {
            return Err(Error::new(
                Code::ElementNotActionable,
                format!("{} does not take the keyboard; nothing was typed.", found.line()),
            )
            .os(acted.reason.unwrap_or_default())
            .remedy("Click it first, or use set_ui_element_value."));
        }
        let window = find::window_of(cx, &found.element)?;
        return Ok(Aim { window, element: Some(found) });
    }
    let wanted = match (window, application) {
        (Some(name), _) => Some(target::window(cx, name)?),
        (None, Some(name)) => Some(window_of_application(cx, name)?),
        (None, None) => None,
    };
    let Some(wanted) = wanted else {
        let window = focused(cx)?;
        target::require_not_elevated(window.as_ref())?;
        return Ok(Aim { window, element: None });
    };
    target::require_not_elevated(Some(&wanted))?;
    let acted = windows::focus(cx, &wanted)?;
    if acted.effect != Seen::Confirmed {
        return Err(Error::new(
            Code::TargetChanged,
            format!("{:?} did not get the keyboard; nothing was typed.", wanted.title),
        )
        .os(acted.reason.unwrap_or_default())
        .remedy("Look at what has the keyboard (list_windows), a dialog perhaps."));
    }
    Ok(Aim { window: Some(wanted), element: None })
}

/// Keys go to anything that takes the keyboard: one copies from a read-only field, say.
fn anything(_: &Context, _: Option<&Element>) -> Result<()> {
    Ok(())
}

/// The window of an application that its keys go to: its focused one, else its topmost.
pub fn window_of_application(cx: &Context, name: &str) -> Result<Window> {
    let all = cx.desktop.windows.list(&cx.call)?;
    let own = windows::of_application(cx, &all, name)?;
    let mut own = all.into_iter().filter(|window| own.contains(&window.id)).collect::<Vec<_>>();
    own.sort_by_key(|window| !window.focused);
    own.into_iter()
        .next()
        .ok_or_else(|| Error::new(Code::WindowNotFound, format!("The application {name:?} has no window.")))
}

fn focused(cx: &Context) -> Result<Option<Window>> {
    match cx.desktop.windows.list(&cx.call) {
        Ok(windows) => Ok(windows.into_iter().find(|window| window.focused)),
        // Typing works without a window list; then nothing can be checked.
        Err(error) if error.code == Code::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

/// Type text into an element, window or application, or into what has the keyboard. All of it or none is
/// typed, any Unicode; newline and tab are keys. Read back where the application lets it be read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeText {
    /// The text.
    pub text: String,
    /// Type into this element (ref or selector); into a line at its end.
    #[serde(default)]
    pub element: Option<String>,
    /// Activate this window first.
    #[serde(default)]
    pub window: Option<String>,
    /// Activate this application first.
    #[serde(default)]
    pub application: Option<String>,
    /// Between keystrokes.
    #[serde(default)]
    pub delay_ms: Option<Ranged<0, 5000>>,
    /// Held meanwhile (each character is pressed as a key then).
    #[serde(default)]
    pub modifiers: Vec<Modifier>,
    /// paste borrows the clipboard.
    #[serde(default)]
    pub method: Method,
    /// Not ctrl+v.
    #[serde(default)]
    pub paste_keys: Option<String>,
}

/// How text gets into an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Key by key.
    #[default]
    Keys,
    /// Over the clipboard.
    Paste,
}

/// What was typed, and what was seen of it.
#[derive(Serialize, JsonSchema)]
pub struct Typed {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// How many characters were typed.
    pub characters: usize,
    /// What became of the clipboard, where it was borrowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipboard: Option<String>,
}

impl Tool for TypeText {
    const NAME: &'static str = "type_text";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = TEXT_ERRORS;
    const SECRET: &'static [&'static str] = &["text"];
    const GROUP: Group = Group::Keyboard;
    type Output = Data<Typed>;

    fn patience(&self) -> Duration {
        let keys = u32::try_from(self.text.chars().count()).unwrap_or(u32::MAX);
        match self.method {
            Method::Keys => {
                self.delay_ms.map_or(Duration::ZERO, Ranged::milliseconds).saturating_mul(keys)
                    + Duration::from_millis(10).saturating_mul(keys)
            }
            Method::Paste => PASTED_BY_THEN,
        }
    }

    fn call(self, cx: &Context) -> Result<Data<Typed>> {
        self.check(cx)?;
        let characters = self.text.chars().count();
        let aim = aim(
            cx,
            self.element.as_deref(),
            self.window.as_deref(),
            self.application.as_deref(),
            refuse_read_only,
        )?;
        if let Some(found) = &aim.element {
            caret_to_end(cx, &found.element);
        }
        // Who has the keyboard is asked of the application: without a tree typing works and is unverified.
        let field = match &aim.element {
            Some(found) => Some(found.element.clone()),
            None => cx.desktop.elements.focused(&cx.call).ok().flatten(),
        };
        refuse_read_only(cx, field.as_ref())?;
        let before = field.as_ref().and_then(|field| read(cx, &field.id));
        let window_title = aim.window.as_ref().map(|window| window.title.clone());
        let pasted = match self.method {
            Method::Keys => {
                type_into(cx, &self, &aim)?;
                None
            }
            Method::Paste => Some(paste_into(cx, &self, &aim, field.as_ref())?),
        };
        let target = match (&aim.element, &field) {
            (Some(found), _) => Some(found.line()),
            (None, Some(field)) => Some(find::line(&cx.server.refs.show(field), field)),
            (None, None) => None,
        };
        let acted = match (&field, before) {
            (Some(field), Some(before)) if self.modifiers.is_empty() => {
                read_back(cx, field, &before, &self.text, aim.window.as_ref())?
            }
            (Some(_), _) => Acted::unverified("What has the keyboard holds no text that can be read."),
            (None, _) => Acted::unverified("The application does not say what has the keyboard."),
        };
        let acted = Acted { target, window_title, ..acted };
        Ok(Data(match pasted {
            None => Typed { acted, characters, clipboard: None },
            // Only now: an application may look at the clipboard more than once for a paste.
            Some(pasted) => pasted.conclude(cx, acted, characters)?,
        }))
    }
}

/// A line that gets the keyboard is written on at its end. Toolkits select all of it (so that typing would
/// replace it) or leave the caret wherever it was made. Where that cannot be changed the field is typed into
/// as it is, and reading back tells what came of it.
fn caret_to_end(cx: &Context, field: &Element) {
    if matches!(field.role, Role::TextField | Role::PasswordField | Role::ComboBox)
        && !field.states.has(State::Focused)
        && let Ok(Some(text)) = cx.desktop.elements.text(&cx.call, &field.id, 0)
    {
        let _ = cx.desktop.elements.place_caret(&cx.call, &field.id, text.characters);
    }
}

fn refuse_read_only(cx: &Context, field: Option<&Element>) -> Result<()> {
    field.map_or(Ok(()), |field| elements::require_editable(cx, field, "nothing was typed"))
}

impl TypeText {
    /// Refuses what cannot be typed, before anything moves.
    fn check(&self, cx: &Context) -> Result<()> {
        match self.method {
            Method::Keys if self.paste_keys.is_some() => {
                Err(Error::argument("paste_keys is for method: paste.").remedy("Pass method: paste, too."))
            }
            Method::Keys => cx.desktop.check_text(&cx.call, &self.text),
            Method::Paste if !self.modifiers.is_empty() || self.delay_ms.is_some() => Err(Error::argument(
                "What is pasted comes at once: modifiers and delay_ms are for method: keys.",
            )
            .remedy("Leave them out, or leave method out.")),
            Method::Paste => {
                self.paste_keys.as_deref().map_or(Ok(()), |keys| parse_combination(keys).map(drop))
            }
        }
    }
}

/// How long an application may take to fetch what it pastes.
const PASTED_BY_THEN: Duration = Duration::from_secs(2);

/// A text that was pasted, with the clipboard still lent for it.
struct Pasted {
    loan: Box<dyn Loan>,
    /// Whether its application has fetched it.
    fetched: bool,
    keys: String,
}

/// Lends the clipboard to the text and sends the keys that paste it. When this fails, the clipboard is given
/// back with the loan.
fn paste_into(cx: &Context, tool: &TypeText, aim: &Aim, field: Option<&Element>) -> Result<Pasted> {
    let terminal = field.is_some_and(|field| field.role == Role::Terminal);
    let usual = if terminal { "ctrl+shift+v" } else { "ctrl+v" };
    let keys = tool.paste_keys.clone().unwrap_or_else(|| usual.to_owned());
    let (held, key) = parse_combination(&keys)?;
    let mut loan = cx.desktop.clipboard.lend(&cx.call, vec![Part::Text(tool.text.clone())])?;
    if let Some(window) = &aim.window
        && let Some(now) = focused(cx)?
        && now.id != window.id
    {
        return Err(Error::new(
            Code::TargetChanged,
            "The keyboard focus went elsewhere; nothing was pasted.",
        )
        .expected(target::line(window))
        .found([target::line(&now)])
        .remedy("Look at what came up, then try again."));
    }
    let mut hands = cx.desktop.input(&cx.call)?;
    for modifier in held {
        if !hands.before().modifiers.contains(&modifier) {
            hands.down(Held::Key(Key::Named(modifier)))?;
        }
    }
    hands.tap(plain(key))?;
    drop(hands);
    let reader = aim.window.as_ref().and_then(|window| window.pid);
    let fetched = loan.fetched(&cx.call, reader, Instant::now() + PASTED_BY_THEN)?;
    Ok(Pasted { loan, fetched, keys })
}

impl Pasted {
    fn conclude(self, cx: &Context, acted: Acted, characters: usize) -> Result<Typed> {
        let clipboard = match self.loan.give_back(&cx.call.grace())? {
            GivenBack::Restored(formats) => format!("restored in {} formats", formats.len()),
            GivenBack::Empty => "empty, as before".to_owned(),
            GivenBack::Superseded => "left to what was copied meanwhile".to_owned(),
        };
        let acted = match (acted.effect, self.fetched) {
            (Seen::Confirmed | Seen::NoChangeSeen, true) | (Seen::Confirmed, false) => acted,
            (Seen::Unverified, true) => Acted {
                evidence: acted.evidence.or_else(|| Some("its application fetched the text".into())),
                ..acted
            },
            (Seen::Unverified | Seen::NoChangeSeen, false) => Acted {
                target: acted.target,
                window_title: acted.window_title,
                ..Acted::no_change(format!(
                    "The application did not fetch the text: it does not paste on {}, or not here.",
                    self.keys
                ))
            },
        };
        Ok(Typed { acted: Acted { via: Some("paste"), ..acted }, characters, clipboard: Some(clipboard) })
    }
}

fn type_into(cx: &Context, tool: &TypeText, aim: &Aim) -> Result<()> {
    let delay = tool.delay_ms.map_or(Duration::ZERO, Ranged::milliseconds);
    let mut hands = cx.desktop.input(&cx.call)?;
    if !tool.modifiers.is_empty() {
        hands.hold(&tool.modifiers)?;
        for c in tool.text.chars() {
            hands.tap(c.to_string().parse::<Key>()?)?;
            if !delay.is_zero() {
                cx.call.pause(delay, "typing")?;
            }
        }
        return Ok(());
    }
    let window = aim.window.as_ref().map(|window| window.id);
    hands.type_text(&tool.text, delay, &mut |typed| {
        let Some(window) = window else { return Ok(()) };
        let now = focused(cx)?;
        match now {
            Some(now) if now.id == window => Ok(()),
            // A dialog of the same application may come up and take the rest: that is no other target's.
            other => Err(Error::new(
                Code::TargetChanged,
                format!(
                    "The keyboard focus went elsewhere while typing: {typed} characters were typed, the last of them perhaps there; the rest was not."
                ),
            )
            .expected(aim.window.as_ref().map(target::line).unwrap_or_default())
            .found(other.iter().map(target::line))
            .remedy("Look at what came up, then type the rest.")),
        }
    })
}

/// The text of a field, where it can be read whole.
fn read(cx: &Context, id: &ElementId) -> Option<TextContent> {
    cx.desktop
        .elements
        .text(&cx.call, id, LONGEST_READ)
        .ok()
        .flatten()
        .filter(|text| text.characters <= LONGEST_READ)
}

/// Texts longer than this are not read back.
const LONGEST_READ: u32 = 200_000;

/// Waits until the field holds what typing should have made of it.
fn read_back(
    cx: &Context,
    field: &Element,
    before: &TextContent,
    typed: &str,
    window: Option<&Window>,
) -> Result<Acted> {
    let typed = typed.replace("\r\n", "\n");
    let count = typed.chars().count();
    if let Some(window) = window {
        // The application works through its keys in order: after this it has seen all of them.
        cx.desktop.windows.settle(&cx.call, window.id, Duration::from_secs(2)).ok();
    }
    let patience =
        Duration::from_millis(400) + Duration::from_millis(3) * u32::try_from(count).unwrap_or(u32::MAX);
    let password = field.role == Role::PasswordField;
    let wanted = expected(before, &typed);
    let (mut last, mut arrived) = (None, before.characters);
    let exact = loop {
        let exact = cx.call.until_within(patience, "reading back what was typed", || {
            let Some(now) = read(cx, &field.id) else { return Ok(None) };
            let holds = if password {
                usize::try_from(now.characters) == Ok(before.characters as usize + count)
            } else {
                now.text == wanted || typed.is_empty()
            };
            last = Some(now);
            Ok(holds.then_some(()))
        })?;
        // A busy application that has taken a part of it is taking the rest.
        match &last {
            Some(now) if exact.is_none() && arrived < now.characters => {
                arrived = now.characters;
                if before.characters as usize + count <= arrived as usize {
                    break exact;
                }
            }
            _ => break exact,
        }
    };
    Ok(match (exact, last) {
        (Some(()), Some(now)) if password => {
            Acted::confirmed(format!("it holds {} → {} characters", before.characters, now.characters))
        }
        (Some(()), _) => Acted::confirmed(format!("reads back exactly, {count} characters at the caret")),
        (None, Some(now)) if password && now.characters == before.characters => Acted::unverified(
            "Its application does not say how long the password is, and nobody may read it.",
        ),
        (None, Some(now)) if now.text == before.text && now.characters == before.characters => {
            Acted::no_change("The field holds what it held before: its application did not take the text.")
        }
        (None, Some(now)) if now.text.contains(&typed) => Acted {
            reason: Some(
                "The field was changed besides (completion, indentation, the caret elsewhere).".into(),
            ),
            ..Acted::confirmed("the typed text reads back in the field")
        },
        (None, Some(now)) => Acted {
            evidence: (!password).then(|| format!("it holds {} now", short(&now.text))),
            ..Acted::unverified("The field changed, but does not read back as what was typed.")
        },
        (None, None) => {
            Acted::unverified("The field could be read before typing and not after: it may have gone.")
        }
    })
}

/// What a field holds after typing at its caret, over its selection.
fn expected(before: &TextContent, typed: &str) -> String {
    let chars: Vec<char> = before.text.chars().collect();
    let end = u32::try_from(chars.len()).unwrap_or(u32::MAX);
    let caret = before.caret.unwrap_or(end).min(end);
    let (from, to) = before.selection.filter(|(from, to)| from < to).unwrap_or((caret, caret));
    let part =
        |from: u32, to: u32| chars[from.min(end) as usize..to.min(end) as usize].iter().collect::<String>();
    format!("{}{typed}{}", part(0, from), part(to, end))
}

/// Press and release a key, alone or with modifiers: enter, escape, tab, page_down, f5, numpad_7, a, ctrl+s,
/// alt+f4, volume_up and the like.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PressKey {
    /// A key's name, a character, or a combination joined by +.
    pub key: String,
    /// Keys held meanwhile.
    #[serde(default)]
    pub modifiers: Vec<Modifier>,
    /// How often.
    #[serde(default)]
    pub repeat: Option<Ranged<1, 1000>>,
    /// Between presses.
    #[serde(default)]
    pub delay_ms: Option<Ranged<0, 5000>>,
    /// Give this element the keyboard first (ref or selector).
    #[serde(default)]
    pub element: Option<String>,
    /// Activate this window first.
    #[serde(default)]
    pub window: Option<String>,
    /// Activate this application first.
    #[serde(default)]
    pub application: Option<String>,
    /// Look this long for a consequence; 100 by default.
    #[serde(default)]
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for PressKey {
    const NAME: &'static str = "press_key";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = KEY_ERRORS;
    const GROUP: Group = Group::Keyboard;
    type Output = Data<Acted>;

    fn patience(&self) -> Duration {
        let presses = self.repeat.map_or(1, Ranged::unsigned) as u32;
        self.delay_ms.map_or(Duration::ZERO, Ranged::milliseconds).saturating_mul(presses)
            + self.settle_ms.map_or(Duration::ZERO, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let (held, key) = parse_combination(&self.key)?;
        let key = if held.is_empty() && self.modifiers.is_empty() { key } else { plain(key) };
        let aim =
            aim(cx, self.element.as_deref(), self.window.as_deref(), self.application.as_deref(), anything)?;
        let settle = self.settle_ms.map_or(cx.server.config.settle, Ranged::milliseconds);
        let delay = self.delay_ms.map_or(Duration::ZERO, Ranged::milliseconds);
        let witness = KeyWitness::begin(cx, aim.window.as_ref(), !settle.is_zero());
        let mut hands = cx.desktop.input(&cx.call)?;
        hands.hold(&self.modifiers)?;
        for modifier in held {
            if !hands.before().modifiers.contains(&modifier) {
                hands.down(Held::Key(Key::Named(modifier)))?;
            }
        }
        for press in 0..self.repeat.map_or(1, Ranged::get) {
            if 0 < press && !delay.is_zero() {
                cx.call.pause(delay, "pressing keys")?;
            }
            hands.tap(key)?;
        }
        drop(hands);
        let acted = witness.conclude(cx, settle)?;
        Ok(Data(Acted {
            target: aim.element.map(|found| found.line()),
            window_title: aim.window.map(|window| window.title),
            ..acted
        }))
    }
}

/// The key of a shortcut: people write Ctrl+S and mean the S key, not Shift as well.
fn plain(key: Key) -> Key {
    match key {
        Key::Char(c) => {
            Key::Char(c.to_lowercase().next().filter(|_| c.to_lowercase().count() == 1).unwrap_or(c))
        }
        Key::Named(_) => key,
    }
}

/// Watches what comes of keys. Pixels alone prove nothing here: a caret blinks by itself.
struct KeyWitness {
    watch: Option<Box<dyn Watch>>,
    mark: Option<u64>,
    window: Option<Window>,
    windows: Vec<u64>,
}

impl KeyWitness {
    fn begin(cx: &Context, window: Option<&Window>, looks: bool) -> KeyWitness {
        if !looks {
            return KeyWitness { watch: None, mark: None, window: None, windows: Vec::new() };
        }
        KeyWitness {
            watch: cx.desktop.elements.watch(&cx.call).ok(),
            mark: cx.desktop.screen.mark(&cx.call).ok(),
            window: window.cloned(),
            windows: KeyWitness::open(cx),
        }
    }

    fn open(cx: &Context) -> Vec<u64> {
        let windows = cx.desktop.windows.list(&cx.call).unwrap_or_default();
        windows.iter().map(|window| window.id.0).collect()
    }

    fn conclude(mut self, cx: &Context, settle: Duration) -> Result<Acted> {
        if settle.is_zero() {
            return Ok(Acted::unverified("settle_ms is 0, so nothing was looked for."));
        }
        let pid = self.window.as_ref().and_then(|window| window.pid);
        if let Some(watch) = &mut self.watch {
            if let Some(change) = change_in(cx, watch, pid, settle)? {
                return Ok(Acted::confirmed(super::evidence::describe(&change)));
            }
            // Qt 5 asks the accessibility bus about each key and now and then sleeps over the answer until
            // something else comes from there: so something is asked, before the key is called in vain.
            let asked = cx.call.within(WAKING);
            let _ = cx.desktop.elements.focused(&asked);
            if let Some(change) = change_in(cx, watch, pid, AWAKE)? {
                return Ok(Acted::confirmed(super::evidence::describe(&change)));
            }
        } else {
            cx.call.pause(settle, "looking for a consequence")?;
        }
        let now = KeyWitness::open(cx);
        if now != self.windows && !now.is_empty() {
            return Ok(Acted::confirmed(format!("{} → {} windows are open", self.windows.len(), now.len())));
        }
        let drawn = match (&self.window, self.mark) {
            (Some(window), Some(mark)) => {
                cx.desktop.screen.changed_since(&cx.call, mark, window.bounds).unwrap_or(false)
            }
            _ => false,
        };
        Ok(if drawn {
            Acted {
                evidence: Some("something was drawn in the window".into()),
                ..Acted::unverified(
                    "The application reported no change; what was drawn may be no more than a caret.",
                )
            }
        } else {
            Acted::no_change(format!(
                "Within {} ms the application reported no change and drew nothing.",
                settle.as_millis()
            ))
        })
    }
}

/// How long an application may take to say what has the keyboard, when it is asked only to wake it.
const WAKING: Duration = Duration::from_millis(300);
/// How long what it slept over may take then.
const AWAKE: Duration = Duration::from_millis(30);

/// The next change that the application of this process reports.
fn change_in(
    cx: &Context,
    watch: &mut Box<dyn Watch>,
    pid: Option<u32>,
    patience: Duration,
) -> Result<Option<Change>> {
    let until = Instant::now() + patience;
    while let Some(change) = watch.next(&cx.call, until)? {
        if pid.is_none() || change.pid.is_none() || change.pid == pid {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

/// Hold a key down: until the call with release, until duration_ms has passed (at most 60 s), or until
/// the client goes. Returns at once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldKey {
    /// A key's name or a character.
    pub key: String,
    /// How long at the most.
    #[serde(default)]
    pub duration_ms: Option<Ranged<1, 60_000>>,
    /// Let go of it instead.
    #[serde(default)]
    pub release: bool,
    /// Give this element the keyboard first (ref or selector).
    #[serde(default)]
    pub element: Option<String>,
    /// Activate this window first.
    #[serde(default)]
    pub window: Option<String>,
    /// Activate this application first.
    #[serde(default)]
    pub application: Option<String>,
}

impl Tool for HoldKey {
    const NAME: &'static str = "hold_key";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = HOLD_ERRORS;
    const SESSION: bool = true;
    const GROUP: Group = Group::Keyboard;
    type Output = Data<Holding>;

    fn call(self, cx: &Context) -> Result<Data<Holding>> {
        let key: Key = self.key.parse()?;
        let held = Held::Key(key);
        let acted = if self.release {
            let was = cx.desktop.input(&cx.call)?.take_back(held)?;
            if was { state_of(cx, key, false)? } else { Acted::no_change(format!("No client held {key}.")) }
        } else {
            let aim = aim(
                cx,
                self.element.as_deref(),
                self.window.as_deref(),
                self.application.as_deref(),
                anything,
            )?;
            let limit = self.duration_ms.map_or(super::pointer::LONGEST_HOLD, Ranged::milliseconds);
            cx.desktop.hand_over(&cx.call, cx.session.owner, held, limit)?;
            Acted { window_title: aim.window.map(|window| window.title), ..state_of(cx, key, true)? }
        };
        Ok(Data(Holding { acted, held: held_by(cx) }))
    }
}

/// Whether a key is down, as far as the system tells: of modifiers it does.
fn state_of(cx: &Context, key: Key, wanted: bool) -> Result<Acted> {
    let words = |down: bool| if down { "down" } else { "up" };
    match key {
        Key::Named(named) if named.is_modifier() && named != NamedKey::AltGr => {
            let down = cx.desktop.input_state(&cx.call)?.modifiers.contains(&named);
            let evidence = format!("{key} is {}", words(down));
            Ok(if down == wanted { Acted::confirmed(evidence) } else { Acted::no_change(evidence) })
        }
        Key::Named(_) | Key::Char(_) => Ok(Acted::unverified(format!(
            "{key} was sent {}; the system tells the state of modifiers only.",
            words(wanted)
        ))),
    }
}
