//! The keyboard's map: which key makes which symbol, and the spare keycodes that are given the symbols
//! which no key makes.
//!
//! Everything here is read from and written to the server's own keyboard, nothing is sent as an event:
//! [`super::input`] does that.

use super::link::{X, failed};
use deskhand_core::key::{Key, NamedKey};
use deskhand_core::{Error, Result};
use std::collections::HashMap;
use x11rb::protocol::xkb::{ConnectionExt as _, GetStateReply, KeySymMap, KeyType, MapPart};
use x11rb::protocol::xproto::ConnectionExt as _;
use xkeysym::key as sym;

/// The modifier masks that have a fixed meaning in X.
pub const SHIFT: u8 = 1;
/// Caps Lock.
pub const LOCK: u8 = 2;
/// Control.
pub const CONTROL: u8 = 4;
/// What Alt sets on every common layout.
pub const ALT: u8 = 8;
/// What the Super key sets on every common layout.
pub const META: u8 = 64;

/// The keyboard that the core protocol means, as an XKB device.
pub const CORE: u16 = 0x100;

/// What the server says of its keys, with the questions that typing asks of it.
pub struct Keymap {
    first: u8,
    keys: Vec<KeySymMap>,
    types: Vec<KeyType>,
    /// The modifiers that each keycode sets.
    modifiers: [u8; 256],
    symbols: HashMap<u32, Vec<Place>>,
    chars: HashMap<char, Vec<Place>>,
    /// The keys that choose a level: Shift, then AltGr and its like.
    level_keys: Vec<(u8, u8)>,
    num_lock: u8,
}

/// Where a symbol lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    keycode: u8,
    group: u8,
    level: u8,
}

/// What has to be pressed for a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// The key itself.
    pub keycode: u8,
    /// Keys that choose its level.
    pub with: Vec<u8>,
    /// The group that has to be locked for it, when it is not the active one.
    pub group: Option<u8>,
    /// Num Lock has to be on for it.
    pub num_lock: bool,
}

impl Keymap {
    /// Reads the map. `apart` are keycodes whose symbols come and go: they are no layout's own.
    pub fn read(x: &X, apart: &[u8]) -> Result<Keymap> {
        let reading = "reading the keyboard map";
        let parts = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP;
        let reply = x
            .xkb_get_map(CORE, parts, 0u16.into(), 0, 0, 0, 0, 0, 0, 0, 0, 0u16.into(), 0, 0, 0, 0, 0, 0)
            .map_err(failed(reading))?
            .reply()
            .map_err(failed(reading))?;
        let mut modifiers = [0; 256];
        for entry in reply.map.modmap_rtrn.unwrap_or_default() {
            modifiers[usize::from(entry.keycode)] = u16::from(entry.mods) as u8;
        }
        let keys = reply.map.syms_rtrn.unwrap_or_default();
        let types = reply.map.types_rtrn.unwrap_or_default();
        Ok(Keymap::new(reply.first_key_sym, keys, types, modifiers, apart))
    }

    fn new(
        first: u8,
        keys: Vec<KeySymMap>,
        types: Vec<KeyType>,
        modifiers: [u8; 256],
        apart: &[u8],
    ) -> Keymap {
        let mut map = Keymap {
            first,
            keys,
            types,
            modifiers,
            symbols: HashMap::new(),
            chars: HashMap::new(),
            level_keys: Vec::new(),
            num_lock: 0,
        };
        for keycode in map.keycodes().filter(|keycode| !apart.contains(keycode)) {
            for group in 0..map.groups(keycode) {
                for level in 0..map.key(keycode).map_or(0, |key| key.width) {
                    let symbol = map.symbol(keycode, group, level);
                    if symbol == 0 {
                        continue;
                    }
                    let place = Place { keycode, group, level };
                    map.symbols.entry(symbol).or_default().push(place);
                    if let Some(c) = types_as(symbol) {
                        map.chars.entry(c).or_default().push(place);
                    }
                }
            }
        }
        map.find_modifiers();
        map
    }

    fn find_modifiers(&mut self) {
        let keys_of = |wanted: &[u32]| -> Option<(u8, u8)> {
            let mut places: Vec<&Place> =
                wanted.iter().filter_map(|symbol| self.symbols.get(symbol)).flatten().collect();
            // A key that means the same in every group serves in every group.
            places.sort_by_key(|place| (place.level, self.groups(place.keycode)));
            let key = places.iter().find(|place| self.modifiers[usize::from(place.keycode)] != 0)?;
            Some((self.modifiers[usize::from(key.keycode)], key.keycode))
        };
        let shift = keys_of(&[sym::Shift_L, sym::Shift_R]);
        let third = keys_of(&[sym::ISO_Level3_Shift]).or_else(|| keys_of(&[sym::Mode_switch]));
        let fifth = keys_of(&[sym::ISO_Level5_Shift]);
        let num_lock = keys_of(&[sym::Num_Lock]).map_or(0, |(mask, _)| mask);
        self.level_keys = [shift, third, fifth].into_iter().flatten().collect();
        self.num_lock = num_lock;
    }

    /// The modifier that Num Lock sets.
    pub fn num_lock(&self) -> u8 {
        self.num_lock
    }

    /// Every keycode.
    pub fn keycodes(&self) -> impl Iterator<Item = u8> + use<> {
        let first = self.first;
        (0..self.keys.len()).map(move |index| first + index as u8)
    }

    /// The modifiers that a keycode sets.
    pub fn sets(&self, keycode: u8) -> u8 {
        self.modifiers[usize::from(keycode)]
    }

    /// The two symbols of the first group, as a spare keycode has them.
    pub fn pair(&self, keycode: u8) -> [u32; 2] {
        [self.symbol(keycode, 0, 0), self.symbol(keycode, 0, 1)]
    }

    /// Whether a spare keycode still means what it was given.
    pub fn still_has(&self, keycode: u8, symbols: [u32; 2]) -> bool {
        self.pair(keycode) == both_levels(symbols)
    }

    /// Whether no key of the layout has this keycode.
    pub fn is_free(&self, keycode: u8) -> bool {
        self.sets(keycode) == 0
            && self.key(keycode).is_some_and(|key| key.syms.iter().all(|symbol| *symbol == 0))
    }

    /// The modifier key that a keycode is, if it is one.
    pub fn modifier_key(&self, keycode: u8) -> Option<NamedKey> {
        (0..self.groups(keycode)).find_map(|group| match self.symbol(keycode, group, 0) {
            sym::Shift_L => Some(NamedKey::Shift),
            sym::Shift_R => Some(NamedKey::ShiftRight),
            sym::Control_L => Some(NamedKey::Ctrl),
            sym::Control_R => Some(NamedKey::CtrlRight),
            sym::Alt_L | sym::Meta_L => Some(NamedKey::Alt),
            sym::Alt_R | sym::Meta_R => Some(NamedKey::AltRight),
            sym::Super_L => Some(NamedKey::Meta),
            sym::Super_R => Some(NamedKey::MetaRight),
            sym::ISO_Level3_Shift | sym::Mode_switch => Some(NamedKey::AltGr),
            _ => None,
        })
    }

    /// What a key means: by itself, as a combination names it, and the character that pressing it types in
    /// this state.
    pub fn meaning(&self, keycode: u8, state: State) -> (Option<Key>, Option<char>) {
        let Some(key) = self.key(keycode) else { return (None, None) };
        let Some(group) = effective_group(key.group_info, state.group) else { return (None, None) };
        let kind = key.kt_index.get(usize::from(group)).and_then(|index| self.types.get(usize::from(*index)));
        let symbol = self.symbol(keycode, group, kind.map_or(0, |kind| level_of(kind, state.modifiers)));
        let plain = self.symbol(keycode, group, 0);
        // A key of the keypad is another key with Num Lock; of all others the modifiers change the character only.
        let names = if is_keypad(plain) { [symbol, plain] } else { [plain, symbol] };
        let named = self.modifier_key(keycode).or_else(|| names.into_iter().find_map(named));
        let by_itself = named.map(Key::Named).or_else(|| types_as(plain).map(Key::Char));
        let shortcut = state.modifiers & (CONTROL | ALT | META) != 0;
        let text = if is_keypad(symbol) { xkeysym::Keysym::new(symbol).key_char() } else { types_as(symbol) };
        (by_itself, text.filter(|c| !shortcut && !c.is_control()))
    }

    /// How to make a character, when a key of the layout does.
    pub fn char(&self, c: char, state: State) -> Option<Stroke> {
        // Caps Lock is off while a character is made: toolkits differ in what it does to which letters.
        let state = State { modifiers: state.modifiers & !LOCK, ..state };
        self.best(self.chars.get(&c)?, state)
    }

    /// How to make a symbol, when a key of the layout does.
    pub fn symbol_stroke(&self, symbol: u32, state: State) -> Option<Stroke> {
        self.best(self.symbols.get(&symbol)?, state)
    }

    fn best(&self, places: &[Place], state: State) -> Option<Stroke> {
        let strokes = places.iter().filter_map(|place| self.stroke(*place, state));
        strokes.min_by_key(|stroke| (stroke.group.is_some(), stroke.num_lock, stroke.with.len()))
    }

    fn stroke(&self, place: Place, state: State) -> Option<Stroke> {
        let Place { keycode, group, level } = place;
        let key = self.key(keycode)?;
        let group_of = |active: u8| effective_group(key.group_info, active);
        let kind = self.types.get(usize::from(*key.kt_index.get(usize::from(group))?))?;
        let choosing = self.level_keys.iter().fold(0, |mask, (bit, _)| mask | bit);
        let base = state.modifiers & !choosing;
        let (with, num_lock) = [base, base | self.num_lock].into_iter().find_map(|base| {
            (0..1u8 << self.level_keys.len())
                .map(|subset| {
                    self.level_keys.iter().enumerate().filter(move |(index, _)| subset & (1 << index) != 0)
                })
                .find(|keys| {
                    let mask = keys.clone().fold(base, |mask, (_, (bit, _))| mask | bit);
                    level_of(kind, mask) == level
                })
                .map(|keys| {
                    let with = keys.map(|(_, (_, keycode))| *keycode).collect();
                    (with, base & !state.modifiers & self.num_lock != 0)
                })
        })?;
        let switch = (group_of(state.group) != Some(group)).then_some(group);
        Some(Stroke { keycode, with, group: switch, num_lock })
    }

    fn key(&self, keycode: u8) -> Option<&KeySymMap> {
        self.keys.get(usize::from(keycode.checked_sub(self.first)?))
    }

    fn groups(&self, keycode: u8) -> u8 {
        self.key(keycode).map_or(0, |key| key.group_info & 0x0f)
    }

    fn symbol(&self, keycode: u8, group: u8, level: u8) -> u32 {
        self.key(keycode)
            .filter(|key| level < key.width && group < key.group_info & 0x0f)
            .and_then(|key| key.syms.get(usize::from(group) * usize::from(key.width) + usize::from(level)))
            .copied()
            .unwrap_or(0)
    }
}

/// What is active on the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The modifiers in effect, held, latched or locked.
    pub modifiers: u8,
    /// The group in effect.
    pub group: u8,
}

impl From<&GetStateReply> for State {
    fn from(reply: &GetStateReply) -> State {
        State { modifiers: u16::from(reply.mods) as u8, group: u8::from(reply.group) }
    }
}

/// The group of a key that takes effect when `active` is the keyboard's; XKB lets each key choose what
/// happens when it has fewer.
fn effective_group(group_info: u8, active: u8) -> Option<u8> {
    let groups = group_info & 0x0f;
    match groups {
        0 => None,
        _ if active < groups => Some(active),
        _ => Some(match group_info & 0xc0 {
            0x40 => groups - 1,
            0x80 => Some((group_info >> 4) & 3).filter(|group| *group < groups).unwrap_or(0),
            _ => active % groups,
        }),
    }
}

/// The level that modifiers choose on a key of this type.
fn level_of(kind: &KeyType, modifiers: u8) -> u8 {
    let counting = modifiers & u16::from(kind.mods_mask) as u8;
    kind.map
        .iter()
        .find(|entry| entry.active && u16::from(entry.mods_mask) as u8 == counting)
        .map_or(0, |entry| entry.level)
}

/// The character that a symbol types. The keypad's do not count: they depend on Num Lock.
fn types_as(symbol: u32) -> Option<char> {
    xkeysym::Keysym::new(symbol).key_char().filter(|c| !is_keypad(symbol) && !c.is_control())
}

fn is_keypad(symbol: u32) -> bool {
    (0xff80..=0xffbd).contains(&symbol)
}

/// The key that has this symbol, by its name. The keypad's keys without Num Lock are those that they stand for.
fn named(symbol: u32) -> Option<NamedKey> {
    let stands_for = match symbol {
        sym::KP_Home => NamedKey::Home,
        sym::KP_End => NamedKey::End,
        sym::KP_Page_Up => NamedKey::PageUp,
        sym::KP_Page_Down => NamedKey::PageDown,
        sym::KP_Left => NamedKey::Left,
        sym::KP_Right => NamedKey::Right,
        sym::KP_Up => NamedKey::Up,
        sym::KP_Down => NamedKey::Down,
        sym::KP_Insert => NamedKey::Insert,
        sym::KP_Delete => NamedKey::Delete,
        _ => return NamedKey::ALL.iter().copied().find(|key| symbols_of(*key).contains(&symbol)),
    };
    Some(stands_for)
}

/// The symbol that stands for a character.
pub fn symbol_of(c: char) -> u32 {
    xkeysym::Keysym::from_char(c).raw()
}

/// Whether any toolkit takes this character from a key. Line breaks and tabs are keys of their own.
pub fn is_typeable(c: char) -> bool {
    let code = u32::from(c);
    let noncharacter = code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code);
    matches!(c, '\n' | '\r' | '\t')
        || !(c.is_control() || noncharacter || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// The symbols that a named key may have, the best first.
pub fn symbols_of(key: NamedKey) -> &'static [u32] {
    match key {
        NamedKey::Enter => &[sym::Return],
        NamedKey::Escape => &[sym::Escape],
        NamedKey::Tab => &[sym::Tab],
        NamedKey::Space => &[sym::space],
        NamedKey::Backspace => &[sym::BackSpace],
        NamedKey::Delete => &[sym::Delete],
        NamedKey::Insert => &[sym::Insert],
        NamedKey::Home => &[sym::Home],
        NamedKey::End => &[sym::End],
        NamedKey::PageUp => &[sym::Page_Up],
        NamedKey::PageDown => &[sym::Page_Down],
        NamedKey::Left => &[sym::Left],
        NamedKey::Right => &[sym::Right],
        NamedKey::Up => &[sym::Up],
        NamedKey::Down => &[sym::Down],
        NamedKey::F1 => &[sym::F1],
        NamedKey::F2 => &[sym::F2],
        NamedKey::F3 => &[sym::F3],
        NamedKey::F4 => &[sym::F4],
        NamedKey::F5 => &[sym::F5],
        NamedKey::F6 => &[sym::F6],
        NamedKey::F7 => &[sym::F7],
        NamedKey::F8 => &[sym::F8],
        NamedKey::F9 => &[sym::F9],
        NamedKey::F10 => &[sym::F10],
        NamedKey::F11 => &[sym::F11],
        NamedKey::F12 => &[sym::F12],
        NamedKey::F13 => &[sym::F13],
        NamedKey::F14 => &[sym::F14],
        NamedKey::F15 => &[sym::F15],
        NamedKey::F16 => &[sym::F16],
        NamedKey::F17 => &[sym::F17],
        NamedKey::F18 => &[sym::F18],
        NamedKey::F19 => &[sym::F19],
        NamedKey::F20 => &[sym::F20],
        NamedKey::F21 => &[sym::F21],
        NamedKey::F22 => &[sym::F22],
        NamedKey::F23 => &[sym::F23],
        NamedKey::F24 => &[sym::F24],
        NamedKey::Ctrl => &[sym::Control_L],
        NamedKey::CtrlRight => &[sym::Control_R],
        NamedKey::Shift => &[sym::Shift_L],
        NamedKey::ShiftRight => &[sym::Shift_R],
        NamedKey::Alt => &[sym::Alt_L],
        // On layouts with a third level the right Alt key is AltGr.
        NamedKey::AltRight => &[sym::Alt_R, sym::ISO_Level3_Shift],
        NamedKey::AltGr => &[sym::ISO_Level3_Shift, sym::Mode_switch],
        NamedKey::Meta => &[sym::Super_L],
        NamedKey::MetaRight => &[sym::Super_R],
        NamedKey::CapsLock => &[sym::Caps_Lock],
        NamedKey::NumLock => &[sym::Num_Lock],
        NamedKey::ScrollLock => &[sym::Scroll_Lock],
        NamedKey::PrintScreen => &[sym::Print],
        NamedKey::Pause => &[sym::Pause],
        NamedKey::Menu => &[sym::Menu],
        NamedKey::Help => &[sym::Help],
        NamedKey::Clear => &[sym::Clear],
        NamedKey::Numpad0 => &[sym::KP_0],
        NamedKey::Numpad1 => &[sym::KP_1],
        NamedKey::Numpad2 => &[sym::KP_2],
        NamedKey::Numpad3 => &[sym::KP_3],
        NamedKey::Numpad4 => &[sym::KP_4],
        NamedKey::Numpad5 => &[sym::KP_5],
        NamedKey::Numpad6 => &[sym::KP_6],
        NamedKey::Numpad7 => &[sym::KP_7],
        NamedKey::Numpad8 => &[sym::KP_8],
        NamedKey::Numpad9 => &[sym::KP_9],
        NamedKey::NumpadAdd => &[sym::KP_Add],
        NamedKey::NumpadSubtract => &[sym::KP_Subtract],
        NamedKey::NumpadMultiply => &[sym::KP_Multiply],
        NamedKey::NumpadDivide => &[sym::KP_Divide],
        // The comma of some layouts.
        NamedKey::NumpadDecimal => &[sym::KP_Decimal, sym::KP_Separator],
        NamedKey::NumpadEnter => &[sym::KP_Enter],
        NamedKey::NumpadEqual => &[sym::KP_Equal],
        NamedKey::VolumeUp => &[sym::XF86_AudioRaiseVolume],
        NamedKey::VolumeDown => &[sym::XF86_AudioLowerVolume],
        NamedKey::VolumeMute => &[sym::XF86_AudioMute],
        NamedKey::MediaPlayPause => &[sym::XF86_AudioPlay],
        NamedKey::MediaStop => &[sym::XF86_AudioStop],
        NamedKey::MediaNext => &[sym::XF86_AudioNext],
        NamedKey::MediaPrevious => &[sym::XF86_AudioPrev],
        NamedKey::BrowserBack => &[sym::XF86_Back],
        NamedKey::BrowserForward => &[sym::XF86_Forward],
        NamedKey::BrowserRefresh => &[sym::XF86_Refresh, sym::XF86_Reload],
        NamedKey::BrowserStop => &[sym::XF86_Stop],
        NamedKey::BrowserSearch => &[sym::XF86_Search],
        NamedKey::BrowserFavorites => &[sym::XF86_Favorites],
        NamedKey::BrowserHome => &[sym::XF86_HomePage],
        NamedKey::BrightnessUp => &[sym::XF86_MonBrightnessUp],
        NamedKey::BrightnessDown => &[sym::XF86_MonBrightnessDown],
    }
}

/// The keycodes that no key of the layout has, and what they stand for now.
#[derive(Default)]
pub struct Spares {
    slots: Vec<Slot>,
    clock: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    keycode: u8,
    symbols: [u32; 2],
    /// When each symbol was last needed.
    used: [u64; 2],
    /// Another process gave it these symbols. It may be taken, but its symbols are not to be relied on.
    foreign: bool,
}

/// Keycodes that get other symbols.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The keycodes, what they mean now, and what they will mean.
    pub keycodes: Vec<(u8, [u32; 2], [u32; 2])>,
    /// A symbol that may have been typed a moment ago goes.
    pub replaces: bool,
}

impl Spares {
    /// How many symbols there is room for.
    pub fn room(&self) -> usize {
        self.slots.len() * 2
    }

    /// The keycodes that mean something now, and what.
    pub fn in_use(&self) -> Vec<(u8, [u32; 2])> {
        let used = self.slots.iter().filter(|slot| !slot.foreign && slot.symbols != [0, 0]);
        used.map(|slot| (slot.keycode, slot.symbols)).collect()
    }

    /// Looks at a map that was just read: what is no longer ours is forgotten, what is free is taken in.
    pub fn look_at(&mut self, map: &Keymap) {
        self.slots.retain(|slot| {
            !slot.foreign && slot.symbols != [0, 0] && map.still_has(slot.keycode, slot.symbols)
        });
        for keycode in map.keycodes().filter(|keycode| map.is_free(*keycode)) {
            self.slots.push(Slot { keycode, symbols: [0, 0], used: [0, 0], foreign: false });
        }
        self.slots.sort_by_key(|slot| slot.keycode);
    }

    /// Takes over keycodes that another process gave a meaning to: there are no others left.
    pub fn take_over(&mut self, map: &Keymap, keycodes: impl Iterator<Item = u8>) {
        for keycode in keycodes {
            if !self.slots.iter().any(|slot| slot.keycode == keycode) {
                self.slots.push(Slot { keycode, symbols: map.pair(keycode), used: [0, 0], foreign: true });
            }
        }
    }

    /// Where a symbol is now: the keycode, and whether it needs Shift.
    pub fn place(&mut self, symbol: u32) -> Option<(u8, bool)> {
        self.clock += 1;
        let clock = self.clock;
        self.slots.iter_mut().filter(|slot| !slot.foreign).find_map(|slot| {
            let level = slot.symbols.iter().position(|own| *own == symbol)?;
            slot.used[level] = clock;
            Some((slot.keycode, level == 1))
        })
    }

    /// Finds room for symbols (at most [`Spares::room`]), those of longest disuse giving way. `plain`
    /// ones must not need Shift. `None` when there is too little room.
    pub fn plan(&self, symbols: &[u32], plain: bool) -> Option<Change> {
        let mut slots = self.slots.clone();
        let mut kept: Vec<(usize, usize)> = Vec::new();
        let mut missing = Vec::new();
        for symbol in symbols {
            let mut own = slots.iter().enumerate().filter(|(_, slot)| !slot.foreign);
            let at = own.find_map(|(index, slot)| {
                let level = slot.symbols.iter().position(|own| own == symbol)?;
                (!plain || level == 0).then_some((index, level))
            });
            match at {
                Some(at) => kept.push(at),
                None => missing.push(*symbol),
            }
        }
        let mut change = Change::default();
        for symbol in missing {
            let levels = if plain { 0..1 } else { 0..2 };
            let candidates = levels.flat_map(|level| (0..slots.len()).map(move |index| (index, level)));
            let (index, level) =
                candidates.filter(|at| !kept.contains(at)).min_by_key(|(index, level)| {
                    let slot = &slots[*index];
                    let empty = slot.symbols[*level] == 0;
                    (!empty, if empty { 0 } else { slot.used[*level] }, *level)
                })?;
            let slot = &mut slots[index];
            change.replaces |= slot.symbols[level] != 0;
            if std::mem::take(&mut slot.foreign) {
                slot.symbols = [0, 0];
            }
            slot.symbols[level] = symbol;
            kept.push((index, level));
        }
        change.keycodes = self
            .slots
            .iter()
            .zip(&slots)
            .filter(|(old, new)| old.symbols != new.symbols)
            .map(|(old, new)| (old.keycode, old.symbols, new.symbols))
            .collect();
        Some(change)
    }

    /// Remembers what was changed.
    pub fn changed(&mut self, change: &Change) {
        for (keycode, _, symbols) in &change.keycodes {
            if let Some(slot) = self.slots.iter_mut().find(|slot| slot.keycode == *keycode) {
                slot.symbols = *symbols;
                slot.foreign = false;
            }
        }
    }

    /// Forgets what is mapped.
    pub fn forget(&mut self) {
        self.slots.clear();
    }
}

/// Both levels of a spare keycode. Given one letter alone, the server would put its small form on the
/// first level and its capital on the second, so a single symbol stands on both.
fn both_levels([plain, shifted]: [u32; 2]) -> [u32; 2] {
    [plain, if shifted == 0 { plain } else { shifted }]
}

/// Gives keycodes their two symbols and reads back that they have them.
pub fn map_keycodes(x: &X, keycodes: &[(u8, [u32; 2])]) -> Result<()> {
    let (Some(first), Some(last)) =
        (keycodes.iter().map(|(code, _)| *code).min(), keycodes.iter().map(|(code, _)| *code).max())
    else {
        return Ok(());
    };
    let mapping = "giving spare keycodes a meaning";
    for (keycode, symbols) in keycodes {
        // With the core request a key has one group, which serves whatever group is active.
        x.change_keyboard_mapping(1, *keycode, 2, &both_levels(*symbols)).map_err(failed(mapping))?;
    }
    let reply = x
        .get_keyboard_mapping(first, last - first + 1)
        .map_err(failed(mapping))?
        .reply()
        .map_err(failed(mapping))?;
    let width = usize::from(reply.keysyms_per_keycode);
    let wrong: Vec<String> = keycodes
        .iter()
        .filter(|(keycode, symbols)| {
            let at = usize::from(keycode - first) * width;
            let now = |level: usize| {
                (level < width).then(|| reply.keysyms.get(at + level).copied()).flatten().unwrap_or(0)
            };
            both_levels(*symbols) != [now(0), now(1)]
        })
        .map(|(keycode, _)| format!("keycode {keycode}"))
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::backend(
        "The X server did not take the symbols of spare keycodes; nothing was typed with them.",
    )
    .found(wrong)
    .remedy("Something else is changing the keyboard map at the same time: try again."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spares(keycodes: &[u8]) -> Spares {
        let slots = keycodes.iter().map(|keycode| Slot {
            keycode: *keycode,
            symbols: [0, 0],
            used: [0, 0],
            foreign: false,
        });
        Spares { slots: slots.collect(), clock: 0 }
    }

    #[test]
    fn plain_levels_are_filled_first_and_the_longest_unused_gives_way() {
        let mut spares = spares(&[8, 93]);
        let change = spares.plan(&[1, 2, 3], false).unwrap();
        assert_eq!(change.keycodes, [(8, [0, 0], [1, 3]), (93, [0, 0], [2, 0])]);
        assert!(!change.replaces);
        spares.changed(&change);
        for symbol in [1, 3, 2] {
            spares.place(symbol).unwrap();
        }
        let change = spares.plan(&[4, 5], false).unwrap();
        assert_eq!(change.keycodes, [(8, [1, 3], [5, 3]), (93, [2, 0], [2, 4])]);
        assert!(change.replaces);
        assert_eq!(spares.plan(&[1, 2, 3, 4, 5], false), None);
    }

    #[test]
    fn what_is_needed_now_does_not_give_way() {
        let mut spares = spares(&[8]);
        spares.changed(&spares.plan(&[1, 2], false).unwrap());
        let change = spares.plan(&[1, 3], false).unwrap();
        assert_eq!(change.keycodes, [(8, [1, 2], [1, 3])]);
        assert_eq!(spares.plan(&[2], true).unwrap().keycodes, [(8, [1, 2], [2, 2])]);
    }

    #[test]
    fn groups_out_of_range_follow_the_key() {
        assert_eq!(effective_group(1, 3), Some(0));
        assert_eq!(effective_group(2, 3), Some(1));
        assert_eq!(effective_group(0x42, 3), Some(1));
        assert_eq!(effective_group(0x92, 3), Some(1));
        assert_eq!(effective_group(0, 0), None);
    }

    #[test]
    fn characters_have_the_symbols_that_toolkits_know() {
        assert_eq!(symbol_of('ä'), 0xe4);
        assert_eq!(symbol_of('ж'), sym::Cyrillic_zhe);
        assert_eq!(symbol_of('€'), sym::EuroSign);
        assert_eq!(symbol_of('漢'), 0x0100_6f22);
        assert_eq!(symbol_of('😀'), 0x0101_f600);
        assert_eq!(types_as(sym::KP_1), None);
        assert_eq!(types_as(sym::dead_acute), None);
        assert_eq!(types_as(sym::Return), None);
    }

    #[test]
    fn what_no_toolkit_takes_is_not_typeable() {
        for c in ['\u{7}', '\u{1b}', '\u{85}', '\u{fffe}', '\u{2028}'] {
            assert!(!is_typeable(c), "{c:?}");
        }
        for c in ['\n', '\r', '\t', 'a', '\u{200d}', '\u{fe0f}', '😀'] {
            assert!(is_typeable(c), "{c:?}");
        }
    }
}
