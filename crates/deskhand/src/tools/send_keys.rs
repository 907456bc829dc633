//! The notation of keystrokes that scripts for Windows use (`SendKeys`): text stands for itself, `^` is Ctrl,
//! `%` Alt and `+` Shift before a key or a group in parentheses, `~` is Enter, and names stand in braces,
//! `{TAB 3}` with how often.
//!
//! One thing is read otherwise than Windows reads it, because the documents that ask for the notation type
//! sums with it: a `+` is a plus sign where Shift would mean nothing (`25+17=`), which is before a digit, a
//! sign, a space or the end. Before a letter, a brace, a parenthesis or another modifier it is Shift.
//! Likewise parentheses that no modifier precedes are themselves.

use deskhand_core::key::{Key, Modifier, NamedKey};
use deskhand_core::near::near;
use deskhand_core::{Code, Error, Result};
use std::iter::Peekable;
use std::str::Chars;

/// One step of typing.
#[derive(Clone, Debug, PartialEq)]
pub enum Stroke {
    /// Characters, as they are.
    Text(String),
    /// A key, so many times, with modifiers held.
    Press {
        /// What is held.
        modifiers: Vec<Modifier>,
        /// The key.
        key: Key,
        /// How often.
        times: u16,
    },
}

/// The most that a number in braces may be.
const MOST: u16 = 1000;

/// The names in braces, besides F1 to F24 and single characters.
const NAMES: &[(&str, NamedKey)] = &[
    ("ADD", NamedKey::NumpadAdd),
    ("APPS", NamedKey::Menu),
    ("BACKSPACE", NamedKey::Backspace),
    ("BKSP", NamedKey::Backspace),
    ("BREAK", NamedKey::Pause),
    ("BS", NamedKey::Backspace),
    ("CAPSLOCK", NamedKey::CapsLock),
    ("CLEAR", NamedKey::Clear),
    ("DEL", NamedKey::Delete),
    ("DELETE", NamedKey::Delete),
    ("DIVIDE", NamedKey::NumpadDivide),
    ("DOWN", NamedKey::Down),
    ("END", NamedKey::End),
    ("ENTER", NamedKey::Enter),
    ("ESC", NamedKey::Escape),
    ("ESCAPE", NamedKey::Escape),
    ("HELP", NamedKey::Help),
    ("HOME", NamedKey::Home),
    ("INS", NamedKey::Insert),
    ("INSERT", NamedKey::Insert),
    ("LEFT", NamedKey::Left),
    ("LWIN", NamedKey::Meta),
    ("MULTIPLY", NamedKey::NumpadMultiply),
    ("NUMLOCK", NamedKey::NumLock),
    ("PGDN", NamedKey::PageDown),
    ("PGUP", NamedKey::PageUp),
    ("PRTSC", NamedKey::PrintScreen),
    ("RETURN", NamedKey::Enter),
    ("RIGHT", NamedKey::Right),
    ("RWIN", NamedKey::MetaRight),
    ("SCROLLLOCK", NamedKey::ScrollLock),
    ("SPACE", NamedKey::Space),
    ("SUBTRACT", NamedKey::NumpadSubtract),
    ("TAB", NamedKey::Tab),
    ("UP", NamedKey::Up),
];

/// Reads the notation. Nothing is guessed: what is not understood is an error that says where.
pub fn parse(text: &str) -> Result<Vec<Stroke>> {
    let mut strokes = Strokes::default();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '~' => strokes.key(&[], Key::Named(NamedKey::Enter), 1),
            '{' => {
                let (key, times) = braces(&mut rest)?;
                strokes.key(&[], key, times);
            }
            '^' | '%' | '+' => match modifiers(c, &mut rest) {
                Some(held) => held_keys(&held, &mut rest, &mut strokes)?,
                // A plus sign.
                None => strokes.char(c),
            },
            '}' => return Err(wrong("A } stands alone.", "{}} for the brace itself")),
            c => strokes.char(c),
        }
    }
    Ok(strokes.0)
}

/// What is held for what follows, from the modifier that was read on. `None` when it is a plus sign.
fn modifiers(first: char, rest: &mut Peekable<Chars>) -> Option<Vec<Modifier>> {
    let mut ahead = rest.clone();
    let mut signs = vec![first];
    while let Some(sign) = ahead.next_if(|c| matches!(c, '^' | '%' | '+')) {
        signs.push(sign);
    }
    let before_key = ahead.peek().is_some_and(|c| c.is_alphabetic() || matches!(c, '{' | '(' | '~'));
    // Of `++a` the first is a plus sign; of `+5` too, while `^+5` holds both.
    if signs.iter().all(|sign| *sign == '+') && (!before_key || 1 < signs.len()) {
        return None;
    }
    let mut held = Vec::new();
    for sign in &signs {
        let modifier = match sign {
            '^' => Modifier::Ctrl,
            '%' => Modifier::Alt,
            _ => Modifier::Shift,
        };
        if !held.contains(&modifier) {
            held.push(modifier);
        }
    }
    *rest = ahead;
    Some(held)
}

/// The key or the group that modifiers are held for.
fn held_keys(held: &[Modifier], rest: &mut Peekable<Chars>, strokes: &mut Strokes) -> Result<()> {
    match rest.next() {
        None => Err(wrong(
            "Nothing follows the modifier at the end.",
            "a key after ^, % and +, or {^}, {%} and {+} for the signs",
        )),
        Some('{') => {
            let (key, times) = braces(rest)?;
            strokes.key(held, key, times);
            Ok(())
        }
        Some('(') => loop {
            match rest.next() {
                Some(')') => return Ok(()),
                Some('{') => {
                    let (key, times) = braces(rest)?;
                    strokes.key(held, key, times);
                }
                Some('~') => strokes.key(held, Key::Named(NamedKey::Enter), 1),
                Some('(') => return Err(wrong("Groups do not stand within each other.", "{(} for the sign")),
                Some(c) => strokes.key(held, character(c), 1),
                None => return Err(wrong("A group has no end.", ") at its end")),
            }
        },
        Some('~') => {
            strokes.key(held, Key::Named(NamedKey::Enter), 1);
            Ok(())
        }
        Some('}') => Err(wrong("A } stands alone.", "{}} for the brace itself")),
        Some(c) => {
            strokes.key(held, character(c), 1);
            Ok(())
        }
    }
}

/// What stands in braces after the opening one.
fn braces(rest: &mut Peekable<Chars>) -> Result<(Key, u16)> {
    let mut inside = String::new();
    loop {
        match rest.next() {
            // The first may be the brace itself.
            Some('}') if !inside.is_empty() => break,
            Some(c) => inside.push(c),
            None => return Err(wrong(&format!("{{{inside} has no end."), "} at its end")),
        }
    }
    let mut alone = inside.chars();
    if let (Some(c), None) = (alone.next(), alone.next()) {
        return Ok((character(c), 1));
    }
    let (name, times) = match inside.rsplit_once(' ') {
        Some((name, count)) => {
            let times = count.parse().ok().filter(|times| (1..=MOST).contains(times)).ok_or_else(|| {
                wrong(
                    &format!("{count:?} in {{{inside}}} says no number of times."),
                    &format!("a number from 1 to {MOST}, as in {{TAB 3}}"),
                )
            })?;
            (name.trim_end(), times)
        }
        None => (inside.as_str(), 1),
    };
    named(name).map(|key| (key, times))
}

fn named(name: &str) -> Result<Key> {
    let mut alone = name.chars();
    if let (Some(c), None) = (alone.next(), alone.next()) {
        return Ok(character(c));
    }
    let upper = name.to_ascii_uppercase();
    if let Some((_, key)) = NAMES.iter().find(|(name, _)| *name == upper) {
        return Ok(Key::Named(*key));
    }
    let number = upper.strip_prefix('F').filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    if number.is_some()
        && let Ok(key) = name.parse::<Key>()
    {
        return Ok(key);
    }
    Err(Error::new(Code::UnknownKey, format!("No key is called {{{name}}}."))
        .expected("a name such as {ENTER}, {TAB 3}, {F5} or one character in braces")
        .found(near(&upper, NAMES.iter().map(|(name, _)| *name))))
}

/// A character as a key, with those that are keys of their own as these.
pub fn character(c: char) -> Key {
    match c {
        '\n' | '\r' => Key::Named(NamedKey::Enter),
        '\t' => Key::Named(NamedKey::Tab),
        ' ' => Key::Named(NamedKey::Space),
        c => Key::Char(c),
    }
}

fn wrong(message: &str, expected: &str) -> Error {
    Error::argument(format!("The keys cannot be read. {message}")).expected(expected.to_owned())
}

#[derive(Default)]
struct Strokes(Vec<Stroke>);

impl Strokes {
    fn char(&mut self, c: char) {
        match self.0.last_mut() {
            Some(Stroke::Text(text)) => text.push(c),
            _ => self.0.push(Stroke::Text(c.to_string())),
        }
    }

    fn key(&mut self, held: &[Modifier], key: Key, times: u16) {
        match key {
            // A character is text, so that what cannot be typed is refused before anything is.
            Key::Char(c) if held.is_empty() => (0..times).for_each(|_| self.char(c)),
            key => self.0.push(Stroke::Press { modifiers: held.to_vec(), key, times }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Strokes as text: what is typed in quotes, keys as they are called.
    fn shown(text: &str) -> String {
        let strokes = match parse(text) {
            Ok(strokes) => strokes,
            Err(error) => return error.code.to_string(),
        };
        let words = strokes.iter().map(|stroke| match stroke {
            Stroke::Text(text) => format!("{text:?}"),
            Stroke::Press { modifiers, key, times } => {
                let held: String =
                    modifiers.iter().map(|modifier| format!("{}+", modifier.key().name())).collect();
                let often = if *times == 1 { String::new() } else { format!("*{times}") };
                format!("{held}{key}{often}")
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_notation() {
        let cases: &[(&str, &str)] = &[
            // What the documents type.
            ("5+3=", "\"5+3=\""),
            ("25+17=", "\"25+17=\""),
            ("hello world", "\"hello world\""),
            ("{ENTER}", "enter"),
            ("{TAB 3}", "tab*3"),
            ("a{enter}b~", "\"a\" enter \"b\" enter"),
            ("^a", "ctrl+a"),
            ("^c^v", "ctrl+c ctrl+v"),
            ("%{F4}", "alt+f4"),
            ("^+s", "ctrl+shift+s"),
            ("+{TAB 2}", "shift+tab*2"),
            ("+(ab)c", "shift+a shift+b \"c\""),
            ("+ab", "shift+a \"b\""),
            ("^(ac{F5})", "ctrl+a ctrl+c ctrl+f5"),
            ("%5", "alt+5"),
            ("^+5", "ctrl+shift+5"),
            ("+^5", "shift+ctrl+5"),
            ("+~", "shift+enter"),
            // A plus sign where Shift would mean nothing.
            ("1 + 2", "\"1 + 2\""),
            ("1+", "\"1+\""),
            ("+", "\"+\""),
            ("i++;", "\"i++;\""),
            ("{+}a", "\"+a\""),
            // Signs as themselves.
            ("{^}{%}{~}{(}{)}{{}{}}", "\"^%~(){}\""),
            ("(2*3)", "\"(2*3)\""),
            ("[a]", "\"[a]\""),
            ("{a 3}", "\"aaa\""),
            ("{é}", "\"é\""),
            ("one\ntwo", "\"one\\ntwo\""),
            ("", ""),
            // What cannot be read.
            ("^", "invalid_argument"),
            ("{", "invalid_argument"),
            ("{}", "invalid_argument"),
            ("}", "invalid_argument"),
            ("{TAB", "invalid_argument"),
            ("{TAB 0}", "invalid_argument"),
            ("{TAB x}", "invalid_argument"),
            ("{TAB 99999}", "invalid_argument"),
            ("+(a", "invalid_argument"),
            ("+(a(b))", "invalid_argument"),
            ("{TABB}", "unknown_key"),
            ("{F99}", "unknown_key"),
        ];
        for (text, wanted) in cases {
            assert_eq!(shown(text), *wanted, "{text}");
        }
        assert!(parse("{ENTR}").unwrap_err().detail.found.iter().any(|name| name == "ENTER"));
    }

    proptest! {
        #[test]
        fn whatever_is_given_is_read_or_refused(text in "([+^%~(){}\\[\\] ]|[a-z0-9]|TAB|ENTER|\\PC){0,24}") {
            let _ = parse(&text);
        }

        #[test]
        fn text_without_signs_is_typed_as_it_is(text in "[^+^%~{}]{0,40}") {
            let wanted = if text.is_empty() { vec![] } else { vec![Stroke::Text(text.clone())] };
            prop_assert_eq!(parse(&text).unwrap(), wanted);
        }

        #[test]
        fn every_text_can_be_written(text in "\\PC{0,40}") {
            let written: String = text
                .chars()
                .map(|c| if "+^%~(){}[]".contains(c) { format!("{{{c}}}") } else { c.to_string() })
                .collect();
            let wanted = if text.is_empty() { vec![] } else { vec![Stroke::Text(text)] };
            prop_assert_eq!(parse(&written).unwrap(), wanted);
        }
    }
}
