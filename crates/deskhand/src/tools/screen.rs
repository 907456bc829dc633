//! Displays and screenshots.

use super::evidence::short;
use super::find::{self, Which};
use super::marks::Marks;
use super::ocr;
use super::page::page;
use super::target;
use super::{Alias, same, with};
use crate::call::Context;
use crate::files;
use crate::tool::{Data, Effect, Group, Picture, Ranged, Reply, Row, Tool};
use deskhand_core::screen::{Bitmap, Source};
use deskhand_core::window::Window;
use deskhand_core::{Code, Display, Error, Frame, Rect, Result, Size};
use deskhand_picture::{self as picture, Format};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] =
    &[Row::of::<TakeScreenshot>(), Row::of::<Zoom>(), Row::of::<ListDisplays>(), Row::of::<GetDisplay>()];

/// Other names.
pub static ALIASES: &[Alias] = &[
    Alias { name: "capture_screenshot", tool: "take_screenshot", adapt: native },
    Alias { name: "capture_region_screenshot", tool: "take_screenshot", adapt: native },
    Alias { name: "capture_window_screenshot", tool: "take_screenshot", adapt: native },
    Alias { name: "screenshot", tool: "take_screenshot", adapt: std::convert::identity },
    same("get_display_info", "list_displays"),
];

/// What promises the native size.
pub fn native(arguments: Value) -> Value {
    let arguments = with(arguments, "max_width", json!(0));
    let arguments = with(arguments, "max_height", json!(0));
    with(arguments, "max_bytes", json!(0))
}

/// The longest edge of a picture that models take without harm, in pixels.
const LONG_EDGE: u32 = 1568;
/// What a picture may weigh by default, in bytes of base64.
const WEIGHT: usize = 700_000;

/// See the screen: a display (the primary one by default), a window (also when others cover it), a region
/// or an element. Pass the image id with coordinates taken from the picture.
#[derive(Clone, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct TakeScreenshot {
    /// This display (index or name).
    pub display: Option<String>,
    /// This window (id or title).
    pub window: Option<String>,
    /// This element (ref or selector).
    pub element: Option<String>,
    /// Left edge of a region, global or relative to `display`.
    pub x: Option<f64>,
    /// Top edge.
    pub y: Option<f64>,
    /// Its width.
    pub width: Option<Ranged<1, 65535>>,
    /// Its height.
    pub height: Option<Ranged<1, 65535>>,
    /// auto (default): PNG where it fits, else JPEG.
    pub format: Format,
    /// Of JPEG; 80 by default.
    pub quality: Option<Ranged<1, 100>>,
    /// At most this wide; 0: native. 1568 on the long edge by default.
    pub max_width: Option<Ranged<0, 65535>>,
    /// At most this high.
    pub max_height: Option<Ranged<0, 65535>>,
    /// At most this much base64; 700000 by default.
    pub max_bytes: Option<Ranged<0, 50_000_000>>,
    /// With the pointer in it.
    pub pointer: bool,
    /// Save it here instead of returning it.
    pub file_path: Option<String>,
    /// Replace a file that is there.
    pub overwrite: bool,
    /// If nothing changed since this image id, say only that.
    pub unchanged_since: Option<String>,
    /// Mark what can be worked by the numbers of its refs (12 is e12).
    pub annotate: bool,
    /// With the text seen in it (OCR).
    pub include_ocr: bool,
    /// Languages of that text; eng by default.
    #[schemars(skip)]
    pub languages: Vec<String>,
    #[schemars(skip)]
    #[doc(hidden)]
    pub include_shadow: Option<bool>,
    #[schemars(skip)]
    #[doc(hidden)]
    pub include_cursor: Option<bool>,
}

impl Tool for TakeScreenshot {
    const NAME: &'static str = "take_screenshot";
    const HIDDEN: &'static [&'static str] = &["include_shadow", "include_cursor", "languages"];
    const EFFECT: Effect = Effect::File;
    const ERRORS: &'static [Code] = &[
        Code::DisplayNotFound,
        Code::WindowNotFound,
        Code::WindowMinimized,
        Code::ElementNotFound,
        Code::ElementStale,
        Code::InvalidSelector,
        Code::AmbiguousTarget,
        Code::CoordinatesOutOfBounds,
        Code::InvalidCoordinates,
        Code::PathExists,
        Code::PathNotFound,
        Code::PermissionDenied,
    ];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("path", "file_path"), ("region_x", "x"), ("region_y", "y")];
    const GROUP: Group = Group::Screen;
    type Output = Reply;

    fn effect(&self) -> Effect {
        if self.file_path.is_some() { Effect::File } else { Effect::Read }
    }

    fn patience(&self) -> Duration {
        if self.include_ocr { ocr::PATIENCE } else { Duration::ZERO }
    }

    fn call(self, cx: &Context) -> Result<Reply> {
        let path =
            self.file_path.as_ref().map(|path| files::writable(cx, path, self.overwrite)).transpose()?;
        let shot = self.capture(cx)?;
        if let Some(since) = &self.unchanged_since {
            let old = cx.server.images.get(since)?;
            if old.serial == shot.bitmap.serial && old.frame.shows == shot.bitmap.shows {
                return Ok(Reply::Reading(format!(
                    "Unchanged since {since}: use that picture and its image id."
                )));
            }
        }
        let options = self.options(path.as_ref())?;
        let marks = match self.annotate {
            true => Some(Marks::of(cx, &shot.bitmap, shot.source, &shot.windows)?),
            false => None,
        };
        let pixels = match &marks {
            Some(marks) => {
                let bitmap = picture::scaled_down(&shot.bitmap, options.max_width, options.max_height)?;
                let size = Size { width: bitmap.width, height: bitmap.height };
                let frame = Frame { name: String::new(), shows: bitmap.shows, size };
                Arc::new(picture::marked(&bitmap, &marks.places(&frame)))
            }
            None => shot.bitmap.clone(),
        };
        let encoded = picture::encode(&pixels, &options)?;
        let frame = Frame {
            name: String::new(),
            shows: shot.bitmap.shows,
            size: Size { width: encoded.width, height: encoded.height },
        };
        let text = match self.include_ocr {
            true => Some(ocr::of_picture(cx, &shot.bitmap, &frame, &self.languages)?),
            false => None,
        };
        let windows = shot.windows.iter().map(|window| (window.id, window.bounds)).collect();
        let image = cx.server.images.add(frame, shot.bitmap.serial, windows);
        let mut data = json!({
            "image": image,
            "shows": shot.what,
            "bounds": shot.bitmap.shows,
            "width": encoded.width,
            "height": encoded.height,
            "scale": (encoded.scale * 10_000.0).round() / 10_000.0,
            "format": encoded.mime.trim_start_matches("image/"),
        });
        if let Some(marks) = &marks {
            data["marks"] = json!(marks.marked);
        }
        if let Some((_, lines)) = &text {
            data["text_seen"] = json!(lines);
        }
        if self.include_shadow.is_some() {
            data["ignored"] = json!(["include_shadow"]);
        }
        if let Some(path) = path {
            files::write(&path, &encoded.bytes(), self.overwrite)?;
            data["file_path"] = json!(path);
            data["bytes"] = json!(encoded.length());
            return Ok(Reply::Data(data));
        }
        let mut told = caption(&image, &shot, &encoded, options.format);
        if self.include_shadow.is_some() {
            told.push_str(" include_shadow has no effect here.");
        }
        if let Some(marks) = marks {
            told.push_str(&format!("\n{}", marks.told()));
        }
        if let Some((lines, _)) = text {
            told.push_str(&format!("\n{lines}"));
        }
        Ok(Reply::Picture(Picture { base64: encoded.base64(), mime: encoded.mime, text: told, data }))
    }
}

/// What was captured.
pub(super) struct Shot {
    pub(super) bitmap: Arc<Bitmap>,
    what: String,
    source: Source,
    windows: Vec<Window>,
}

/// One short text: how to use the picture first.
fn caption(image: &str, shot: &Shot, encoded: &picture::Encoded, asked: Format) -> String {
    let bounds = shot.bitmap.shows;
    let use_it = if (encoded.scale - 1.0).abs() < f64::EPSILON {
        format!("Pass image={image} with coordinates from this picture.")
    } else {
        format!("Scaled {:.2}: pass image={image} with coordinates from this picture.", encoded.scale)
    };
    let jpeg = if asked == Format::Auto && encoded.mime == "image/jpeg" {
        ", JPEG because PNG would be too large"
    } else {
        ""
    };
    format!("{use_it} {}x{} of {}, {bounds}{jpeg}.", encoded.width, encoded.height, shot.what)
}

impl TakeScreenshot {
    /// The pixels, with the pointer if it is asked for.
    pub(super) fn capture(&self, cx: &Context) -> Result<Shot> {
        let region = self.region()?;
        let named = [self.window.is_some(), self.element.is_some(), region.is_some()];
        if 1 < named.iter().filter(|named| **named).count() {
            return Err(Error::argument(
                "A screenshot is of a window, of an element or of a region: pass one of them.",
            ));
        }
        let windows = cx.desktop.windows.list(&cx.call).unwrap_or_default();
        let (source, what) = if let Some(name) = &self.window {
            let window = target::shown(target::one_window(&windows, name)?)?;
            (Source::Window(window.id), format!("window {} {}", window.id, short(&window.title)))
        } else if let Some(name) = &self.element {
            self.element(cx, name)?
        } else {
            self.screen(cx, region)?
        };
        let bitmap = cx.desktop.screen.capture(&cx.call, source)?;
        let windows = match source {
            // Others may cover it on the screen: then coordinates of this picture must be refused there.
            Source::Window(id) => windows.into_iter().filter(|window| window.id == id).collect(),
            Source::Screen(_) => windows.into_iter().filter(is_shown).collect(),
        };
        let bitmap = match self.pointer || self.include_cursor == Some(true) {
            true => match cx.desktop.screen.pointer_image(&cx.call)? {
                Some(pointer) => Arc::new(picture::with_pointer(&bitmap, &pointer)),
                None => bitmap,
            },
            false => bitmap,
        };
        Ok(Shot { bitmap, what, source, windows })
    }

    fn region(&self) -> Result<Option<(f64, f64, u32, u32)>> {
        match (self.x, self.y, self.width, self.height) {
            (None, None, None, None) => Ok(None),
            (Some(x), Some(y), Some(width), Some(height)) => {
                if !(x.is_finite() && y.is_finite()) {
                    return Err(Error::new(Code::InvalidCoordinates, format!("({x}, {y}) is no point.")));
                }
                Ok(Some((x, y, width.get() as u32, height.get() as u32)))
            }
            _ => Err(Error::new(
                Code::MissingRequiredParameter,
                "A region needs all of x, y, width and height.",
            )),
        }
    }

    fn element(&self, cx: &Context, name: &str) -> Result<(Source, String)> {
        let found = find::read(cx, Which { element: Some(name), window: None, application: None })?;
        let all = deskhand_core::geometry::desktop_bounds(&cx.desktop.screen.displays(&cx.call)?);
        let bounds = found.element.bounds.and_then(|bounds| bounds.intersection(&all)).ok_or_else(|| {
            Error::new(
                Code::CoordinatesOutOfBounds,
                format!("{} has no place on the screen now.", found.line()),
            )
            .remedy("Scroll to it first (scroll_to_element).")
        })?;
        Ok((Source::Screen(bounds), found.line()))
    }

    fn screen(&self, cx: &Context, region: Option<(f64, f64, u32, u32)>) -> Result<(Source, String)> {
        let displays = cx.desktop.screen.displays(&cx.call)?;
        let display: Option<Display> = match &self.display {
            Some(name) => Some(target::display(cx, name)?),
            None => None,
        };
        let Some((x, y, width, height)) = region else {
            let display = match display {
                Some(display) => display,
                None => displays
                    .into_iter()
                    .next()
                    .ok_or_else(|| Error::new(Code::DisplayNotFound, "This desktop has no display."))?,
            };
            return Ok((Source::Screen(display.bounds), format!("display {}", display.index)));
        };
        let origin = display.as_ref().map_or((0, 0), |display| (display.bounds.x, display.bounds.y));
        let wanted = Rect::new(
            origin.0.saturating_add(x.trunc() as i32),
            origin.1.saturating_add(y.trunc() as i32),
            width,
            height,
        );
        let limit = match &display {
            Some(display) => display.bounds,
            None => deskhand_core::geometry::desktop_bounds(&displays),
        };
        match wanted.intersection(&limit) {
            Some(inside) if inside == wanted => Ok((Source::Screen(wanted), "a region".to_owned())),
            _ => Err(Error::new(
                Code::CoordinatesOutOfBounds,
                format!("The region {wanted} is not all on the screen."),
            )
            .expected(format!("a region within {limit}"))
            .found(displays.iter().map(|display| format!("display {}: {}", display.index, display.bounds)))),
        }
    }

    fn options(&self, path: Option<&PathBuf>) -> Result<picture::Options> {
        // A file is not bound by what a model can take.
        let (edge, weight) = if path.is_some() { (0, 0) } else { (LONG_EDGE, WEIGHT) };
        let format = match (self.format, path) {
            (Format::Auto, Some(path)) => Format::of_path(path).unwrap_or(Format::Png),
            (format, _) => format,
        };
        let bytes = self.max_bytes.map_or(weight, |bytes| bytes.get() as usize);
        Ok(picture::Options {
            format,
            quality: self.quality.map_or(80, |quality| quality.get() as u8),
            max_width: self.max_width.map_or(edge, |width| width.get() as u32),
            max_height: self.max_height.map_or(edge, |height| height.get() as u32),
            max_bytes: (0 < bytes).then_some(bytes),
            ..picture::Options::default()
        })
    }
}

fn is_shown(window: &Window) -> bool {
    use deskhand_core::window::WindowState;
    match window.state {
        WindowState::Normal | WindowState::Maximized | WindowState::Fullscreen => true,
        WindowState::Minimized | WindowState::Hidden => false,
    }
}

/// See a part of the screen around a point, at native size or larger than it would be in a whole picture.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zoom {
    /// The middle of what to see, across.
    #[serde(default)]
    pub x: Option<f64>,
    /// The middle of what to see, down.
    #[serde(default)]
    pub y: Option<f64>,
    /// The same as a pair.
    #[serde(default)]
    pub coordinate: Vec<f64>,
    /// 2 shows half the width and height of the display.
    #[serde(default)]
    pub scale: Option<f64>,
    /// Relative to this display.
    #[serde(default)]
    pub display: Option<String>,
    /// Pixels of this screenshot.
    #[serde(default)]
    pub image: Option<String>,
    /// auto, png, jpeg or webp.
    #[serde(default)]
    pub format: Format,
}

impl Tool for Zoom {
    const NAME: &'static str = "zoom";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] =
        &[Code::CoordinatesOutOfBounds, Code::InvalidCoordinates, Code::DisplayNotFound, Code::TargetChanged];
    const GROUP: Group = Group::Screen;
    type Output = Reply;

    fn call(self, cx: &Context) -> Result<Reply> {
        let (x, y) = match (&self.coordinate[..], self.x, self.y) {
            ([], x, y) => (x, y),
            ([x, y], None, None) => (Some(*x), Some(*y)),
            _ => {
                return Err(Error::argument(
                    "The middle is one point: pass x and y, or coordinate as a pair.",
                ));
            }
        };
        let at =
            target::At { x, y, display: self.display.as_deref(), window: None, image: self.image.as_deref() };
        let middle = at.resolve(cx)?.ok_or_else(|| {
            Error::new(Code::MissingRequiredParameter, "The middle is missing.")
                .expected("x and y, or coordinate: [x, y]")
        })?;
        let scale = self.scale.unwrap_or(2.0);
        if !(1.0..=64.0).contains(&scale) {
            return Err(Error::argument(format!("scale has to be from 1 to 64, not {scale}.")));
        }
        let displays = cx.desktop.screen.displays(&cx.call)?;
        let display = deskhand_core::geometry::require_on_screen(&displays, middle)?.bounds;
        let along = |size: u32| ((f64::from(size) / scale).round() as u32).max(1);
        let (width, height) = (along(display.width), along(display.height));
        // The part is moved rather than cut where the point lies near an edge.
        let start = |middle: i32, size: u32, low: i32, room: u32| {
            (middle - (size / 2) as i32).clamp(low, low + (room - size.min(room)) as i32)
        };
        cx.call(TakeScreenshot {
            x: Some(f64::from(start(middle.x, width, display.x, display.width))),
            y: Some(f64::from(start(middle.y, height, display.y, display.height))),
            width: Ranged::new(i64::from(width)),
            height: Ranged::new(i64::from(height)),
            format: self.format,
            ..TakeScreenshot::default()
        })
    }
}

/// List the displays: bounds in global pixels, scale, work area. Index 0 is the primary one.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListDisplays {
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// A display with its resource name.
#[derive(Serialize, JsonSchema)]
pub struct DisplayInfo {
    /// The display.
    #[serde(flatten)]
    pub display: Display,
    /// Its resource name.
    pub resource: String,
}

impl From<Display> for DisplayInfo {
    fn from(display: Display) -> DisplayInfo {
        DisplayInfo { resource: format!("displays/{}", display.index), display }
    }
}

/// Displays.
#[derive(Serialize, JsonSchema)]
pub struct DisplayList {
    /// The displays, the primary one first, then from left to right.
    pub displays: Vec<DisplayInfo>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl Tool for ListDisplays {
    const NAME: &'static str = "list_displays";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Screen;
    type Output = Data<DisplayList>;

    fn call(self, cx: &Context) -> Result<Data<DisplayList>> {
        let displays = cx.desktop.screen.displays(&cx.call)?;
        let (displays, next_page_token) =
            page(displays, self.page_size.map(Ranged::get), self.page_token.as_deref())?;
        Ok(Data(DisplayList { displays: displays.into_iter().map(Into::into).collect(), next_page_token }))
    }
}

/// Show one display.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetDisplay {
    /// Its index, name or resource name.
    pub display: String,
}

impl Tool for GetDisplay {
    const NAME: &'static str = "get_display";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::DisplayNotFound];
    const GROUP: Group = Group::Screen;
    type Output = Data<DisplayInfo>;

    fn call(self, cx: &Context) -> Result<Data<DisplayInfo>> {
        Ok(Data(target::display(cx, &self.display)?.into()))
    }
}
