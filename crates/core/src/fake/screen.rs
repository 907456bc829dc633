//! Displays and pixels of the fake desktop: windows and elements as flat rectangles whose colors follow
//! from what they show, so that every change that can be seen changes pixels.

use super::Provider;
use super::world::{TITLE_BAR, Win, World};
use crate::call::Call;
use crate::element::{Role, State};
use crate::error::{Code, Error, Result};
use crate::geometry::{Display, Point, Rect, desktop_bounds, require_on_screen};
use crate::screen::{Bitmap, PointerImage, Screen, Source};
use crate::window::WindowState;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Blue, green, red.
type Color = [u8; 3];

impl Screen for Provider {
    fn displays(&self, call: &Call) -> Result<Vec<Display>> {
        Ok(self.enter(call, "screen.displays")?.displays.clone())
    }

    fn capture(&self, call: &Call, source: Source) -> Result<Arc<Bitmap>> {
        let world = self.enter(call, "screen.capture")?;
        match source {
            Source::Screen(area) => {
                let all = desktop_bounds(&world.displays);
                let Some(shows) = area.intersection(&all) else {
                    return Err(Error::new(Code::CoordinatesOutOfBounds, format!("Nothing shows {area}."))
                        .expected(format!("an area within {all}")));
                };
                Ok(Arc::new(world.paint_screen(shows)))
            }
            Source::Window(id) => {
                let window = super::windows::find(&world, id)?;
                if window.state == WindowState::Minimized {
                    return Err(Error::new(
                        Code::WindowMinimized,
                        format!("The window {:?} is minimized and has no pixels.", window.title),
                    ));
                }
                let mut canvas = Canvas::new(window.bounds, world.serial_of(&(id.0, window.bounds)));
                world.paint_window(&mut canvas, window);
                Ok(Arc::new(canvas.finished()))
            }
        }
    }

    fn pointer_image(&self, call: &Call) -> Result<Option<PointerImage>> {
        let world = self.enter(call, "screen.pointer_image")?;
        let bounds = Rect::new(world.pointer.x, world.pointer.y, 8, 12);
        let pixels = [0, 0, 0, 255].repeat(8 * 12);
        Ok((!world.pointer_hidden).then_some(PointerImage { bounds, pixels }))
    }

    fn mark(&self, call: &Call) -> Result<u64> {
        Ok(self.enter(call, "screen.mark")?.serial)
    }

    fn changed_since(&self, call: &Call, mark: u64, area: Rect) -> Result<bool> {
        let world = self.enter(call, "screen.changed_since")?;
        // What was forgotten may have been in the area.
        let forgotten = match world.damage.front() {
            Some((first, _)) => mark + 1 < *first,
            None => mark < world.serial,
        };
        let mut later = world.damage.iter().filter(|(serial, _)| mark < *serial);
        Ok(forgotten || later.any(|(_, damaged)| damaged.intersection(&area).is_some()))
    }

    fn pixel(&self, call: &Call, at: Point) -> Result<[u8; 3]> {
        let world = self.enter(call, "screen.pixel")?;
        require_on_screen(&world.displays, at)?;
        let pixels = world.paint_screen(Rect::new(at.x, at.y, 1, 1)).pixels;
        Ok([pixels[2], pixels[1], pixels[0]])
    }
}

struct Canvas {
    pixels: Vec<u8>,
    shows: Rect,
    serial: u64,
}

impl Canvas {
    fn new(shows: Rect, serial: u64) -> Canvas {
        Canvas { pixels: vec![0; shows.area() as usize * 4], shows, serial }
    }

    fn finished(self) -> Bitmap {
        let Canvas { pixels, shows, serial } = self;
        let pixels = pixels.into();
        Bitmap { width: shows.width, height: shows.height, pixels, shows, serial, differs: None }
    }

    fn fill(&mut self, area: Rect, color: Color) {
        let Some(area) = area.intersection(&self.shows) else { return };
        let row = [color[0], color[1], color[2], 255].repeat(area.width as usize);
        let left = (area.x - self.shows.x) as usize * 4;
        let top = (area.y - self.shows.y) as usize;
        let stride = self.shows.width as usize * 4;
        for y in top..top + area.height as usize {
            self.pixels[y * stride + left..][..row.len()].copy_from_slice(&row);
        }
    }
}

impl World {
    /// The serial of a capture: another one for each desktop, state and source.
    fn serial_of(&self, source: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.number, self.serial).hash(&mut hasher);
        source.hash(&mut hasher);
        hasher.finish()
    }

    fn paint_screen(&self, shows: Rect) -> Bitmap {
        let mut canvas = Canvas::new(shows, self.serial_of(&shows));
        for display in &self.displays {
            canvas.fill(display.bounds, if display.primary { [96, 64, 32] } else { [64, 96, 32] });
        }
        for window in self.windows.iter().rev().filter(|window| window.shows()) {
            self.paint_window(&mut canvas, window);
        }
        canvas.finished()
    }

    fn paint_window(&self, canvas: &mut Canvas, window: &Win) {
        let bar = Rect { height: TITLE_BAR.min(window.bounds.height), ..window.bounds };
        canvas.fill(bar, if self.active == Some(window.id) { [200, 120, 40] } else { [150, 150, 150] });
        canvas.fill(window.content(), [240, 240, 240]);
        let mut below = vec![&window.root];
        while let Some(id) = below.pop() {
            let Some(item) = self.items.get(id) else { continue };
            if !self.shows(item) {
                continue;
            }
            below.extend(item.children.iter().rev());
            let contains =
                matches!(item.role, Role::Window | Role::Dialog | Role::ListBox | Role::ScrollPane);
            let bounds = self.bounds(item).and_then(|bounds| bounds.intersection(&window.content()));
            let Some(bounds) = bounds.filter(|_| !contains) else { continue };
            let pane = self.pane_of(item).and_then(|pane| self.bounds(pane));
            let Some(bounds) = pane.map_or(Some(bounds), |pane| bounds.intersection(&pane)) else { continue };
            // What the name and the text would look like.
            let mut color = 0xcbf2_9ce4_8422_2325_u64;
            let focused = self.states(item).has(State::Focused);
            let face =
                format!("{}|{}|{:?}|{:?}|{focused}", item.name, item.text, item.states, item.selection);
            for byte in item.role.name().bytes().chain(face.bytes()) {
                color = (color ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            let [blue, green, red, ..] = color.to_le_bytes();
            canvas.fill(bounds, [blue, green, red]);
        }
    }
}
