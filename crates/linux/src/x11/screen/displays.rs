//! Displays: RandR monitors, what panels leave free of them, and the scale that toolkits are told.
//!
//! The answer is kept until an event says that it may have changed. Bounds stay physical pixels whatever
//! the scale: X11 has no other. The scale is one for the whole screen: `Gdk/WindowScalingFactor` where a
//! settings daemon gives it, else `Xft.dpi` / 96 from the resources of the root window, else 1.

use super::Eyes;
use crate::x11::link::{X, failed};
use deskhand_core::geometry::{Orientation, number_displays};
use deskhand_core::{Display, Rect, Result};
use std::collections::HashMap;
use x11rb::protocol::Event;
use x11rb::protocol::randr::{self, ConnectionExt as _, ModeFlag, NotifyMask};
use x11rb::protocol::xproto::{
    self, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, GetPropertyReply,
};

x11rb::atom_manager! {
    pub(super) Atoms: AtomsCookie {
        _NET_WORKAREA,
        _NET_CURRENT_DESKTOP,
        _NET_CLIENT_LIST,
        _NET_WM_STRUT_PARTIAL,
        _NET_WM_STRUT,
        _NET_WM_PING,
        WM_PROTOCOLS,
        _GTK_FRAME_EXTENTS,
        _XSETTINGS_SETTINGS,
        EDID,
    }
}

/// The displays as last asked for, and what is needed to know when to ask again.
pub(super) struct Known {
    pub(super) atoms: Atoms,
    displays: Option<Vec<Display>>,
    settings: xproto::Atom,
    settings_owner: xproto::Window,
}

/// Longest property that is read: a resource database, a list of windows (in units of four bytes).
const LONGEST: u32 = 64 * 1024;

impl Known {
    pub(super) fn open(x: &X, root: xproto::Window, screen: usize, has_randr: bool) -> Result<Known> {
        let doing = "asking to be told of changes of the displays";
        let atoms = Atoms::new(x).map_err(failed(doing))?;
        let settings =
            x.intern_atom(false, format!("_XSETTINGS_S{screen}").as_bytes()).map_err(failed(doing))?;
        let mask = ChangeWindowAttributesAux::new()
            .event_mask(EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY);
        x.change_window_attributes(root, &mask).map_err(failed(doing))?.ignore_error();
        if has_randr {
            randr::query_version(x, 1, 5).map_err(failed(doing))?.reply().map_err(failed(doing))?;
            let mask = NotifyMask::SCREEN_CHANGE
                | NotifyMask::CRTC_CHANGE
                | NotifyMask::OUTPUT_CHANGE
                | NotifyMask::RESOURCE_CHANGE;
            x.randr_select_input(root, mask).map_err(failed(doing))?.ignore_error();
        }
        Ok(Known {
            atoms: atoms.reply().map_err(failed(doing))?,
            displays: None,
            settings: settings.reply().map_err(failed(doing))?.atom,
            settings_owner: x11rb::NONE,
        })
    }

    /// What was known may be wrong.
    pub(super) fn forget(&mut self) {
        self.displays = None;
    }

    /// Forgets the displays when an event says that they may have changed.
    pub(super) fn note(&mut self, event: &Event) {
        let stale = match event {
            Event::RandrNotify(_) | Event::RandrScreenChangeNotify(_) | Event::ConfigureNotify(_) => true,
            Event::PropertyNotify(event) => {
                event.window == self.settings_owner
                    || event.atom == u32::from(AtomEnum::RESOURCE_MANAGER)
                    || [
                        self.atoms._NET_WORKAREA,
                        self.atoms._NET_CURRENT_DESKTOP,
                        self.atoms._NET_CLIENT_LIST,
                    ]
                    .contains(&event.atom)
            }
            Event::DestroyNotify(event) => event.window == self.settings_owner,
            _ => false,
        };
        if stale {
            self.displays = None;
        }
    }
}

impl Eyes {
    /// The displays, in the order in which they are counted.
    pub(super) fn displays(&mut self, x: &X) -> Result<Vec<Display>> {
        if let Some(displays) = &self.displays.displays {
            return Ok(displays.clone());
        }
        let doing = "asking for the displays";
        let atoms = &self.displays.atoms;
        let long = |atom, kind: AtomEnum| property(x, self.root, atom, kind);
        let work_areas = long(atoms._NET_WORKAREA, AtomEnum::CARDINAL)?;
        let desktop = long(atoms._NET_CURRENT_DESKTOP, AtomEnum::CARDINAL)?;
        let clients = long(atoms._NET_CLIENT_LIST, AtomEnum::WINDOW)?;
        let resources = long(AtomEnum::RESOURCE_MANAGER.into(), AtomEnum::STRING)?;
        let owner = x.get_selection_owner(self.displays.settings).map_err(failed(doing))?;
        let geometry = x.get_geometry(self.root).map_err(failed(doing))?;

        let geometry = geometry.reply().map_err(failed(doing))?;
        let screen = Rect::new(0, 0, geometry.width.into(), geometry.height.into());
        let mut displays = if self.has_randr { monitors(x, self.root)? } else { Vec::new() };
        if displays.is_empty() {
            displays.push(whole_screen(screen, self.screen));
        }

        let struts = struts(x, atoms, &values(clients.reply().ok()))?;
        let desktop = values(desktop.reply().ok()).first().map_or(0, |&desktop| desktop as usize);
        let work_areas = values(work_areas.reply().ok());
        let only = displays.len() == 1;
        let scale =
            self.scale(x, owner.reply().map_or(x11rb::NONE, |owner| owner.owner), resources.reply().ok())?;
        for display in &mut displays {
            display.scale = scale;
            display.work_area = struts.iter().fold(display.bounds, |free, strut| strut.cut(&screen, free));
            // With several displays this is the box around all of them, which says nothing of one.
            if only && let Some(&[left, top, width, height]) = work_areas.chunks_exact(4).nth(desktop) {
                let area = Rect::new(left as i32, top as i32, width, height);
                display.work_area = display.work_area.intersection(&area).unwrap_or(display.work_area);
            }
        }
        if !displays.iter().any(|display| display.primary)
            && let Some(first) =
                displays.iter_mut().min_by_key(|display| (display.bounds.x, display.bounds.y))
        {
            // Somebody has to be number 0.
            first.primary = true;
        }
        number_displays(&mut displays);
        self.displays.displays = Some(displays.clone());
        Ok(displays)
    }

    fn scale(&mut self, x: &X, owner: xproto::Window, resources: Option<GetPropertyReply>) -> Result<f64> {
        let doing = "asking for the scale of the displays";
        self.displays.settings_owner = owner;
        if owner != x11rb::NONE {
            let mask = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY;
            x.change_window_attributes(owner, &ChangeWindowAttributesAux::new().event_mask(mask))
                .map_err(failed(doing))?
                .ignore_error();
            let atom = self.displays.atoms._XSETTINGS_SETTINGS;
            let settings = property(x, owner, atom, AtomEnum::ANY)?.reply().ok();
            if let Some(factor) =
                settings.and_then(|settings| integer_setting(&settings.value, b"Gdk/WindowScalingFactor"))
                && 0 < factor
            {
                return Ok(f64::from(factor));
            }
        }
        let dpi = resources.and_then(|resources| dpi_of(&resources.value));
        Ok(dpi.map_or(1.0, |dpi| dpi / 96.0))
    }
}

fn property(
    x: &X,
    window: xproto::Window,
    atom: xproto::Atom,
    kind: AtomEnum,
) -> Result<x11rb::cookie::Cookie<'_, X, GetPropertyReply>> {
    x.get_property(false, window, atom, kind, 0, LONGEST).map_err(failed("reading a property"))
}

/// The 32-bit values of a property; none when it is absent or of another format.
fn values(reply: Option<GetPropertyReply>) -> Vec<u32> {
    reply.as_ref().and_then(|reply| Some(reply.value32()?.collect())).unwrap_or_default()
}

/// One display over the whole screen, for servers without RandR.
fn whole_screen(bounds: Rect, screen: usize) -> Display {
    let name = format!("screen {screen}");
    Display {
        index: 0,
        id: name.clone(),
        name,
        bounds,
        work_area: bounds,
        scale: 1.0,
        refresh_hz: None,
        primary: true,
        orientation: Orientation::of(bounds, false),
    }
}

/// RandR's monitors. Names come from their atoms, names for people from the EDID where there is one.
fn monitors(x: &X, root: xproto::Window) -> Result<Vec<Display>> {
    let doing = "asking for the monitors";
    let monitors = x.randr_get_monitors(root, true).map_err(failed(doing))?;
    let resources = x.randr_get_screen_resources_current(root).map_err(failed(doing))?;
    let edid = x.intern_atom(false, b"EDID").map_err(failed(doing))?;
    let monitors = monitors.reply().map_err(failed(doing))?.monitors;
    let resources = resources.reply().map_err(failed(doing))?;
    let edid = edid.reply().map_err(failed(doing))?.atom;

    let mut asked = Vec::new();
    for monitor in &monitors {
        let name = x.get_atom_name(monitor.name).map_err(failed(doing))?;
        let output = match monitor.outputs.first() {
            Some(&output) => Some((
                x.randr_get_output_info(output, resources.config_timestamp).map_err(failed(doing))?,
                x.randr_get_output_property(output, edid, AtomEnum::ANY, 0, 64, false, false)
                    .map_err(failed(doing))?,
            )),
            None => None,
        };
        asked.push((name, output));
    }
    let mut outputs = Vec::new();
    for (name, output) in asked {
        let name = name.reply().map_err(failed(doing))?.name;
        let name = String::from_utf8_lossy(&name).into_owned();
        // An output that was unplugged in between answers an error, and has neither name nor mode.
        let (info, model) = match output {
            Some((info, edid)) => {
                (info.reply().ok(), edid.reply().ok().and_then(|edid| model_of(&edid.data)))
            }
            None => (None, None),
        };
        let crtc = match info.filter(|info| info.crtc != x11rb::NONE) {
            Some(info) => {
                Some(x.randr_get_crtc_info(info.crtc, resources.config_timestamp).map_err(failed(doing))?)
            }
            None => None,
        };
        outputs.push((name, model, crtc));
    }
    let rates: HashMap<_, _> = resources.modes.iter().map(|mode| (mode.id, refresh(mode))).collect();
    let mut displays = Vec::new();
    for (monitor, (id, model, crtc)) in monitors.iter().zip(outputs) {
        let bounds =
            Rect::new(monitor.x.into(), monitor.y.into(), monitor.width.into(), monitor.height.into());
        let crtc = crtc.and_then(|crtc| crtc.reply().ok());
        let mode = crtc.as_ref().map(|crtc| crtc.mode);
        displays.push(Display {
            index: 0,
            name: model.unwrap_or_else(|| id.clone()),
            id,
            bounds,
            work_area: bounds,
            scale: 1.0,
            refresh_hz: mode.and_then(|mode| rates.get(&mode).copied().flatten()),
            primary: monitor.primary,
            orientation: Orientation::of(bounds, crtc.is_some_and(|crtc| stands_on_its_head(crtc.rotation))),
        });
    }
    Ok(displays)
}

/// Whether an output is turned by half a turn, or to the right: RandR counts to the left.
fn stands_on_its_head(rotation: randr::Rotation) -> bool {
    rotation.contains(randr::Rotation::ROTATE180) || rotation.contains(randr::Rotation::ROTATE270)
}

/// Frames a second. Virtual screens have modes without a clock: nothing is refreshed there.
fn refresh(mode: &randr::ModeInfo) -> Option<f64> {
    let mut lines = f64::from(mode.vtotal);
    if mode.mode_flags.contains(ModeFlag::DOUBLE_SCAN) {
        lines *= 2.0;
    }
    if mode.mode_flags.contains(ModeFlag::INTERLACE) {
        lines /= 2.0;
    }
    let pixels = f64::from(mode.htotal) * lines;
    if mode.dot_clock == 0 || pixels == 0.0 {
        return None;
    }
    Some((f64::from(mode.dot_clock) / pixels * 1000.0).round() / 1000.0)
}

/// The model's name in an EDID: the descriptor with the tag 0xfc.
fn model_of(edid: &[u8]) -> Option<String> {
    let descriptors = edid.get(54..126)?.chunks_exact(18);
    let name = descriptors.into_iter().find(|descriptor| descriptor[..4] == [0, 0, 0, 0xfc])?;
    let name = String::from_utf8_lossy(&name[5..]);
    let name = name.split('\n').next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// What a panel reserves at an edge of the whole screen.
struct Strut {
    edge: Edge,
    depth: u32,
    /// First and last pixel along the edge.
    from: u32,
    to: u32,
}

#[derive(Clone, Copy)]
enum Edge {
    Left,
    Right,
    Top,
    Bottom,
}

impl Strut {
    /// What is left of `free` when this is reserved. The depth counts from the edge of the whole screen,
    /// not of the display; a strut that would leave nothing of a display belongs to another one.
    fn cut(&self, screen: &Rect, free: Rect) -> Rect {
        let along = |start: i32, length: u32| {
            i64::from(self.from) < i64::from(start) + i64::from(length)
                && i64::from(start) <= i64::from(self.to)
        };
        let depth = i64::from(self.depth);
        let (mut left, mut top, mut right, mut bottom) =
            (i64::from(free.x), i64::from(free.y), free.right(), free.bottom());
        match self.edge {
            Edge::Left if along(free.y, free.height) => left = left.max(depth),
            Edge::Right if along(free.y, free.height) => right = right.min(screen.right() - depth),
            Edge::Top if along(free.x, free.width) => top = top.max(depth),
            Edge::Bottom if along(free.x, free.width) => bottom = bottom.min(screen.bottom() - depth),
            Edge::Left | Edge::Right | Edge::Top | Edge::Bottom => {}
        }
        match (u32::try_from(right - left), u32::try_from(bottom - top)) {
            (Ok(width @ 1..), Ok(height @ 1..)) => Rect::new(left as i32, top as i32, width, height),
            _ => free,
        }
    }
}

fn struts(x: &X, atoms: &Atoms, windows: &[xproto::Window]) -> Result<Vec<Strut>> {
    let mut asked = Vec::new();
    for &window in windows {
        asked.push((
            property(x, window, atoms._NET_WM_STRUT_PARTIAL, AtomEnum::CARDINAL)?,
            property(x, window, atoms._NET_WM_STRUT, AtomEnum::CARDINAL)?,
        ));
    }
    let mut struts = Vec::new();
    for (partial, whole) in asked {
        let (partial, whole) = (values(partial.reply().ok()), values(whole.reply().ok()));
        let depths = if partial.len() < 12 { &whole } else { &partial };
        for (index, edge) in [Edge::Left, Edge::Right, Edge::Top, Edge::Bottom].into_iter().enumerate() {
            let Some(&depth) = depths.get(index).filter(|&&depth| depth != 0) else { continue };
            let ends = partial.get(4 + 2 * index).zip(partial.get(5 + 2 * index));
            let (from, to) = ends.map_or((0, u32::MAX), |(&from, &to)| (from, to));
            struts.push(Strut { edge, depth, from, to });
        }
    }
    Ok(struts)
}

/// An integer out of `_XSETTINGS_SETTINGS`: byte order, serial, count, then entries of type, name and
/// value, each padded to four bytes.
fn integer_setting(bytes: &[u8], wanted: &[u8]) -> Option<i32> {
    let big = *bytes.first()? == 1;
    let u32_at = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    };
    let u16_at = |at: usize| {
        let two: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(usize::from(if big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }))
    };
    let mut at = 12;
    for _ in 0..u32_at(8)? {
        let kind = *bytes.get(at)?;
        let length = u16_at(at + 2)?;
        let name = bytes.get(at + 4..at + 4 + length)?;
        // The name is followed by the serial of its last change.
        let value = at + 4 + length.next_multiple_of(4) + 4;
        if kind == 0 && name == wanted {
            return Some(u32_at(value)? as i32);
        }
        at = value
            + match kind {
                0 => 4,
                1 => 4 + (u32_at(value)? as usize).next_multiple_of(4),
                2 => 8,
                _ => return None,
            };
    }
    None
}

/// `Xft.dpi` of a resource database, where it makes sense.
fn dpi_of(resources: &[u8]) -> Option<f64> {
    let text = String::from_utf8_lossy(resources);
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("Xft.dpi:"))?;
    line.trim().parse::<f64>().ok().filter(|dpi| (48.0..=960.0).contains(dpi))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Rect = Rect::new(0, 0, 2560, 800);
    const LEFT: Rect = Rect::new(0, 0, 1280, 800);
    const RIGHT: Rect = Rect::new(1280, 0, 1280, 800);

    #[test]
    fn a_panel_takes_its_space_only_where_it_lies() {
        let panel = Strut { edge: Edge::Bottom, depth: 40, from: 1280, to: 2559 };
        assert_eq!(panel.cut(&SCREEN, LEFT), LEFT);
        assert_eq!(panel.cut(&SCREEN, RIGHT), Rect::new(1280, 0, 1280, 760));
        let dock = Strut { edge: Edge::Left, depth: 64, from: 0, to: 799 };
        assert_eq!(dock.cut(&SCREEN, LEFT), Rect::new(64, 0, 1216, 800));
        assert_eq!(dock.cut(&SCREEN, RIGHT), RIGHT);
    }

    #[test]
    fn a_strut_between_two_displays_leaves_the_other_alone() {
        // A panel at the left edge of the right display counts from the left edge of the screen.
        let inner = Strut { edge: Edge::Left, depth: 1330, from: 0, to: 799 };
        assert_eq!(inner.cut(&SCREEN, LEFT), LEFT);
        assert_eq!(inner.cut(&SCREEN, RIGHT), Rect::new(1330, 0, 1230, 800));
    }

    #[test]
    fn settings_are_found_behind_strings_and_colors() {
        let mut bytes = vec![0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0];
        let mut entry = |kind: u8, name: &[u8], value: &[u8]| {
            bytes.extend([kind, 0]);
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend([9, 0, 0, 0]);
            bytes.extend(value);
        };
        entry(1, b"Net/ThemeName", &[5, 0, 0, 0, b'R', b'a', b'l', b'e', b'i', 0, 0, 0]);
        entry(2, b"Some/Color", &[0; 8]);
        entry(0, b"Gdk/WindowScalingFactor", &[2, 0, 0, 0]);
        assert_eq!(integer_setting(&bytes, b"Gdk/WindowScalingFactor"), Some(2));
        assert_eq!(integer_setting(&bytes, b"Gdk/Missing"), None);
        for end in 0..bytes.len() {
            integer_setting(&bytes[..end], b"Gdk/WindowScalingFactor");
        }
    }

    #[test]
    fn half_a_turn_stands_on_its_head() {
        use randr::Rotation;
        for (rotation, flipped) in [
            (Rotation::ROTATE0, false),
            (Rotation::ROTATE90, false),
            (Rotation::ROTATE180, true),
            (Rotation::ROTATE270 | Rotation::REFLECT_X, true),
        ] {
            assert_eq!(stands_on_its_head(rotation), flipped, "{rotation:?}");
        }
    }

    #[test]
    fn the_dpi_is_read_from_the_resources() {
        assert_eq!(dpi_of(b"*foo: 1\nXft.dpi:\t144\nXft.hinting: 1\n"), Some(144.0));
        assert_eq!(dpi_of(b"Xft.dpi: 0\n"), None);
        assert_eq!(dpi_of(b""), None);
    }

    #[test]
    fn the_model_is_read_from_the_edid() {
        let mut edid = vec![0; 128];
        edid[72..90].copy_from_slice(b"\0\0\0\xfc\0DELL U2720Q\n ");
        assert_eq!(model_of(&edid).as_deref(), Some("DELL U2720Q"));
        assert_eq!(model_of(&[0; 128]), None);
        assert_eq!(model_of(&[]), None);
    }
}
