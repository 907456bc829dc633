//! Keys and modifiers, and the one table of key names.

use crate::error::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

// `option` is `alt`; `command`, `win` and `super` are `meta`.
/// A modifier key; `primary` is the one of shortcuts: Command on macOS, Ctrl elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Modifier {
    /// Control.
    #[serde(alias = "control")]
    Ctrl,
    /// Shift.
    Shift,
    /// Alt, on a Mac Option.
    #[serde(alias = "option")]
    Alt,
    /// The Windows, Super or Command key.
    #[serde(alias = "command", alias = "cmd", alias = "win", alias = "windows", alias = "super")]
    Meta,
    /// The modifier of shortcuts: Command on macOS, Ctrl elsewhere.
    Primary,
}

impl Modifier {
    /// Every modifier.
    pub const ALL: [Modifier; 5] =
        [Modifier::Ctrl, Modifier::Shift, Modifier::Alt, Modifier::Meta, Modifier::Primary];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Modifier::Ctrl => "ctrl",
            Modifier::Shift => "shift",
            Modifier::Alt => "alt",
            Modifier::Meta => "meta",
            Modifier::Primary => "primary",
        }
    }

    /// The key that is pressed for it.
    pub const fn key(self) -> NamedKey {
        match self {
            Modifier::Ctrl => NamedKey::Ctrl,
            Modifier::Shift => NamedKey::Shift,
            Modifier::Alt => NamedKey::Alt,
            Modifier::Meta => NamedKey::Meta,
            Modifier::Primary => {
                if cfg!(target_os = "macos") {
                    NamedKey::Meta
                } else {
                    NamedKey::Ctrl
                }
            }
        }
    }
}

/// A key: one with a name, or the one that makes a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A key that is known by its name.
    Named(NamedKey),
    /// The key that makes this character, with whatever modifier the layout needs for it.
    Char(char),
}

macro_rules! keys {
    ($($variant:ident $name:literal $(, $alias:literal)*;)*) => {
        /// The keys that have a name. The first name is shown, the others are understood too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each variant is its own name in the table")]
        pub enum NamedKey { $($variant,)* }

        impl NamedKey {
            /// Every named key.
            pub const ALL: &'static [NamedKey] = &[$(NamedKey::$variant,)*];

            /// The name that is shown.
            pub const fn name(self) -> &'static str {
                match self { $(NamedKey::$variant => $name,)* }
            }

            /// Other names that are understood.
            pub const fn aliases(self) -> &'static [&'static str] {
                match self { $(NamedKey::$variant => &[$($alias),*],)* }
            }
        }
    };
}

keys! {
    Enter "enter", "return", "ret";
    Escape "escape", "esc";
    Tab "tab";
    Space "space", "spacebar";
    Backspace "backspace", "back_space", "bksp";
    Delete "delete", "del", "forward_delete";
    Insert "insert", "ins";
    Home "home";
    End "end";
    PageUp "page_up", "pageup", "pgup", "prior";
    PageDown "page_down", "pagedown", "pgdn", "next";
    Left "left", "arrow_left", "left_arrow";
    Right "right", "arrow_right", "right_arrow";
    Up "up", "arrow_up", "up_arrow";
    Down "down", "arrow_down", "down_arrow";
    F1 "f1"; F2 "f2"; F3 "f3"; F4 "f4"; F5 "f5"; F6 "f6"; F7 "f7"; F8 "f8";
    F9 "f9"; F10 "f10"; F11 "f11"; F12 "f12"; F13 "f13"; F14 "f14"; F15 "f15"; F16 "f16";
    F17 "f17"; F18 "f18"; F19 "f19"; F20 "f20"; F21 "f21"; F22 "f22"; F23 "f23"; F24 "f24";
    Ctrl "ctrl", "control", "ctrl_left", "control_l", "left_ctrl";
    CtrlRight "ctrl_right", "control_r", "right_ctrl";
    Shift "shift", "shift_left", "shift_l", "left_shift";
    ShiftRight "shift_right", "shift_r", "right_shift";
    Alt "alt", "option", "alt_left", "alt_l", "left_alt";
    AltRight "alt_right", "alt_r", "right_alt", "right_option";
    AltGr "alt_gr", "altgr", "iso_level3_shift";
    Meta "meta", "super", "win", "windows", "command", "cmd", "meta_left", "super_l", "left_win";
    MetaRight "meta_right", "super_r", "right_win", "right_command";
    CapsLock "caps_lock", "capslock";
    NumLock "num_lock", "numlock";
    ScrollLock "scroll_lock", "scrolllock";
    PrintScreen "print_screen", "printscreen", "print", "prtsc", "snapshot";
    Pause "pause", "break";
    Menu "menu", "context_menu", "apps";
    Help "help";
    Clear "clear";
    Numpad0 "numpad_0", "numpad0", "kp_0"; Numpad1 "numpad_1", "numpad1", "kp_1";
    Numpad2 "numpad_2", "numpad2", "kp_2"; Numpad3 "numpad_3", "numpad3", "kp_3";
    Numpad4 "numpad_4", "numpad4", "kp_4"; Numpad5 "numpad_5", "numpad5", "kp_5";
    Numpad6 "numpad_6", "numpad6", "kp_6"; Numpad7 "numpad_7", "numpad7", "kp_7";
    Numpad8 "numpad_8", "numpad8", "kp_8"; Numpad9 "numpad_9", "numpad9", "kp_9";
    NumpadAdd "numpad_add", "kp_add", "add";
    NumpadSubtract "numpad_subtract", "kp_subtract", "subtract";
    NumpadMultiply "numpad_multiply", "kp_multiply", "multiply";
    NumpadDivide "numpad_divide", "kp_divide", "divide";
    NumpadDecimal "numpad_decimal", "kp_decimal", "decimal";
    NumpadEnter "numpad_enter", "kp_enter";
    NumpadEqual "numpad_equal", "kp_equal";
    VolumeUp "volume_up", "audio_volume_up";
    VolumeDown "volume_down", "audio_volume_down";
    VolumeMute "volume_mute", "audio_volume_mute", "mute";
    MediaPlayPause "media_play_pause", "play_pause", "media_play";
    MediaStop "media_stop";
    MediaNext "media_next", "media_next_track", "next_track";
    MediaPrevious "media_previous", "media_prev_track", "previous_track";
    BrowserBack "browser_back";
    BrowserForward "browser_forward";
    BrowserRefresh "browser_refresh";
    BrowserStop "browser_stop";
    BrowserSearch "browser_search";
    BrowserFavorites "browser_favorites";
    BrowserHome "browser_home";
    BrightnessUp "brightness_up";
    BrightnessDown "brightness_down";
}

impl NamedKey {
    /// The key of this name in any case, with `_`, `-` and spaces alike.
    pub fn from_name(name: &str) -> Option<NamedKey> {
        let plain = |text: &str| {
            text.chars()
                .filter(|c| !matches!(c, '_' | '-' | ' '))
                .flat_map(char::to_lowercase)
                .collect::<String>()
        };
        let wanted = plain(name);
        NamedKey::ALL.iter().copied().find(|key| {
            plain(key.name()) == wanted || key.aliases().iter().any(|alias| plain(alias) == wanted)
        })
    }

    /// Whether it is one of the keys that modify others.
    pub const fn is_modifier(self) -> bool {
        matches!(
            self,
            NamedKey::Ctrl
                | NamedKey::CtrlRight
                | NamedKey::Shift
                | NamedKey::ShiftRight
                | NamedKey::Alt
                | NamedKey::AltRight
                | NamedKey::AltGr
                | NamedKey::Meta
                | NamedKey::MetaRight
        )
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(name: &str) -> Result<Key> {
        let mut chars = name.chars();
        match (chars.next(), chars.next()) {
            (Some(' '), None) => return Ok(Key::Named(NamedKey::Space)),
            (Some('\n' | '\r'), None) => return Ok(Key::Named(NamedKey::Enter)),
            (Some('\t'), None) => return Ok(Key::Named(NamedKey::Tab)),
            (Some(only), None) if !only.is_control() => return Ok(Key::Char(only)),
            _ => {}
        }
        if name.eq_ignore_ascii_case("primary") {
            return Ok(Key::Named(Modifier::Primary.key()));
        }
        if let Some(key) = NamedKey::from_name(name) {
            return Ok(Key::Named(key));
        }
        let near = crate::near::near(name, NamedKey::ALL.iter().map(|key| key.name()));
        Err(Error::new(Code::UnknownKey, format!("No key is called {name:?}."))
            .expected("one character, or a name such as enter, escape, tab, page_down, f5, numpad_7")
            .found(near))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Named(named) => f.write_str(named.name()),
            Key::Char(c) => write!(f, "{c}"),
        }
    }
}

/// On the wire a key is its name.
impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Splits a combination such as `ctrl+shift+s` or `ctrl++` into its keys; the last one is the key, the
/// others are held. A lone `+` is the plus key.
pub fn parse_combination(text: &str) -> Result<(Vec<NamedKey>, Key)> {
    let trimmed = text.trim();
    let text = if trimmed.is_empty() { text } else { trimmed };
    if text.chars().count() == 1 {
        return Ok((Vec::new(), text.parse()?));
    }
    let (held, last): (&str, &str) = match text.strip_suffix("++") {
        Some(held) => (held, "+"),
        None => match text.rsplit_once('+') {
            Some((held, last)) => (held, last),
            None => ("", text),
        },
    };
    let mut modifiers = Vec::new();
    for part in held.split('+').map(str::trim).filter(|part| !part.is_empty()) {
        match part.parse::<Key>()? {
            Key::Named(named) if named.is_modifier() => modifiers.push(named),
            other => {
                return Err(Error::argument(format!("{other} cannot be held in the combination {text:?}."))
                    .expected("modifiers (ctrl, shift, alt, meta), then one key, joined by +"));
            }
        }
    }
    Ok((modifiers, last.trim().parse()?))
}

impl JsonSchema for Key {
    fn schema_name() -> Cow<'static, str> {
        "Key".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn no_name_means_two_keys() {
        let mut seen = HashMap::new();
        for key in NamedKey::ALL {
            for name in std::iter::once(&key.name()).chain(key.aliases()) {
                let plain = name.replace('_', "");
                if let Some(other) = seen.insert(plain, key) {
                    assert_eq!(other, key, "{name} stands for two keys");
                }
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for key in NamedKey::ALL {
            assert_eq!(key.name().parse::<Key>().unwrap(), Key::Named(*key));
        }
        assert_eq!("Page-Down".parse::<Key>().unwrap(), Key::Named(NamedKey::PageDown));
        assert_eq!("ß".parse::<Key>().unwrap(), Key::Char('ß'));
    }

    #[test]
    fn an_unknown_name_answers_with_near_ones() {
        let error = "page".parse::<Key>().unwrap_err();
        assert_eq!(error.code, Code::UnknownKey);
        assert_eq!(error.detail.found, ["page_up", "page_down"]);
        assert!("".parse::<Key>().is_err());
    }

    #[test]
    fn combinations() {
        let parse = |text: &str| {
            let (held, key) = parse_combination(text).unwrap();
            format!("{} {key}", held.iter().map(|key| key.name()).collect::<Vec<_>>().join(","))
        };
        assert_eq!(parse("ctrl+shift+s"), "ctrl,shift s");
        assert_eq!(parse("Ctrl + S"), "ctrl S");
        assert_eq!(parse("ctrl++"), "ctrl +");
        assert_eq!(parse("+"), " +");
        assert_eq!(parse("f5"), " f5");
        assert_eq!(parse("cmd+space"), "meta space");
        assert!(parse_combination("a+b").is_err());
        assert!(parse_combination("ctrl+").is_err());
    }
    proptest! {
        #[test]
        fn parsing_never_panics_and_what_is_shown_parses_to_the_same(
            text in "(ctrl|shift|Alt|numpad_|f|page|\\+|-|_| |[0-9]|\\PC){0,6}"
        ) {
            if let Ok((held, key)) = parse_combination(&text) {
                let mut shown: String = held.iter().map(|key| format!("{}+", key.name())).collect();
                shown.push_str(&key.to_string());
                prop_assert_eq!(parse_combination(&shown).unwrap(), (held, key), "{}", shown);
            }
        }
    }
}
