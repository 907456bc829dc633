//! Where elements lie: from what toolkits say to global pixels.
//!
//! GTK 3, Qt and Chromium give global pixels. GTK 4 counts from the corner of its own content even when
//! asked for the screen, and its X window is larger than that content by an invisible border on all sides.

use super::bus::Toolkit;
use super::surfaces::Surface;
use deskhand_core::geometry::{Rect, Size};
use deskhand_core::window::{Window, WindowState};

/// The extents as the application sends them.
pub type Extents = (i32, i32, i32, i32);

/// The rectangle, when it is one: toolkits send -1, 0 or the smallest number for what is not laid out.
pub fn rect((x, y, width, height): Extents) -> Option<Rect> {
    // Nothing real lies this far out; GTK 3 says i32::MIN, LibreOffice numbers near it.
    let far = 1 << 24;
    let near = -far < x && x < far && -far < y && y < far && width < far && height < far;
    let width = u32::try_from(width).ok()?;
    let height = u32::try_from(height).ok()?;
    let rect = Rect::new(x, y, width, height);
    (near && !rect.is_empty()).then_some(rect)
}

/// What is on the display besides elements.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The windows.
    pub windows: Vec<Window>,
    /// Everything that is mapped, also what is in no list of windows.
    pub surfaces: Vec<Surface>,
}

impl Scene {
    /// Whether something is mapped about where this top-level element says it is.
    pub fn shows(&self, frame: Rect) -> bool {
        self.surfaces.iter().any(|surface| {
            let common = surface.bounds.intersection(&frame).map_or(0, |common| common.area());
            let larger = surface.bounds.area().max(frame.area());
            larger < common.saturating_mul(2)
        })
    }

    /// The pop-over of a process that has this size.
    pub fn popover(&self, pid: u32, size: Size) -> Option<Rect> {
        let own = self.surfaces.iter().filter(|surface| surface.pid == Some(pid));
        own.map(|surface| surface.bounds).find(|bounds| bounds.size() == size)
    }
}

/// How an application's coordinates become global ones, in one of its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// To be added to x.
    pub dx: i32,
    /// To be added to y.
    pub dy: i32,
}

impl Shift {
    /// For a top-level element with these bounds, shown in this window.
    pub fn of(toolkit: Toolkit, frame: Option<Rect>, window: Option<&Window>) -> Shift {
        let (Toolkit::Gtk4, Some(frame), Some(window)) = (toolkit, frame, window) else {
            return Shift::default();
        };
        let border = |outer: u32, inner: u32| (i64::from(outer) - i64::from(inner)).max(0) / 2;
        let content = window.content;
        let left = border(content.width, frame.width) as i32;
        let top = border(content.height, frame.height) as i32;
        Shift { dx: content.x + left - frame.x, dy: content.y + top - frame.y }
    }

    /// The rectangle in global pixels.
    pub fn apply(self, rect: Rect) -> Rect {
        rect.translated(self.dx, self.dy)
    }
}

/// How well a top-level element fits a window of its own process: smaller is better.
fn distance(toolkit: Toolkit, title: &str, frame: Option<Rect>, window: &Window) -> u64 {
    let apart = |a: &Rect, b: &Rect| {
        let size = u64::from(a.width.abs_diff(b.width)) + u64::from(a.height.abs_diff(b.height));
        let place = match toolkit {
            Toolkit::Gtk4 => 0,
            Toolkit::Qt | Toolkit::Chromium | Toolkit::Other => {
                u64::from(a.x.abs_diff(b.x)) + u64::from(a.y.abs_diff(b.y))
            }
        };
        size + place
    };
    let place = frame.map_or(500, |frame| apart(&frame, &window.content).min(apart(&frame, &window.bounds)));
    // The title decides between windows of a size; many toolkits give the frame no name at all.
    let named = if title == window.title {
        0
    } else if title.is_empty() || window.title.is_empty() {
        200
    } else {
        1000
    };
    named + place
}

/// Which of its windows each top-level element is shown in. Every window is given away once, the best
/// pairs first; what fits nothing (a menu, a tool tip) gets none.
pub fn pair(toolkit: Toolkit, tops: &[(String, Option<Rect>)], windows: &[&Window]) -> Vec<Option<usize>> {
    let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
    for (t, (title, frame)) in tops.iter().enumerate() {
        for (w, window) in windows.iter().enumerate() {
            let far = distance(toolkit, title, *frame, window);
            let same_title = !title.is_empty() && *title == window.title;
            // Two rectangles that have nothing in common are no pair, unless the title is the same.
            if same_title || far < 700 {
                pairs.push((far, t, w));
            }
        }
    }
    pairs.sort_unstable();
    let mut of_top = vec![None; tops.len()];
    let mut taken = vec![false; windows.len()];
    for (_, t, w) in pairs {
        if of_top[t].is_none() && !taken[w] {
            of_top[t] = Some(w);
            taken[w] = true;
        }
    }
    of_top
}

/// Whether an element with these bounds can be seen in its window, other windows aside.
pub fn on_screen(bounds: Rect, window: Option<&Window>) -> bool {
    match window {
        None => true,
        Some(window) => match window.state {
            WindowState::Minimized | WindowState::Hidden => false,
            WindowState::Normal | WindowState::Maximized | WindowState::Fullscreen => {
                window.bounds.union(&window.content).intersection(&bounds).is_some()
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deskhand_core::window::WindowId;

    fn window(id: u64, title: &str, content: Rect) -> Window {
        Window {
            id: WindowId(id),
            title: title.into(),
            application: "x".into(),
            pid: Some(1),
            bounds: content.grown(1),
            content,
            state: WindowState::Normal,
            focused: false,
            transient: false,
            elevated: false,
        }
    }

    #[test]
    fn what_is_not_laid_out_has_no_bounds() {
        assert_eq!(rect((i32::MIN, i32::MIN, 1, 1)), None);
        assert_eq!(rect((0, 0, 0, 0)), None);
        assert_eq!(rect((-1, -1, -1, -1)), None);
        assert_eq!(rect((-5, 3, 10, 10)), Some(Rect::new(-5, 3, 10, 10)));
    }

    #[test]
    fn gtk4_is_moved_to_its_window_and_past_its_border() {
        let window = window(1, "Calculator", Rect::new(1235, 504, 365, 496));
        let shift = Shift::of(Toolkit::Gtk4, Some(Rect::new(0, 0, 355, 486)), Some(&window));
        assert_eq!(shift.apply(Rect::new(16, 336, 55, 40)), Rect::new(1256, 845, 55, 40));
        assert_eq!(Shift::of(Toolkit::Other, Some(Rect::new(0, 0, 3, 4)), Some(&window)), Shift::default());
    }

    #[test]
    fn two_windows_with_one_title_are_told_apart_by_place() {
        let left = window(1, "Untitled", Rect::new(0, 0, 640, 480));
        let right = window(2, "Untitled", Rect::new(700, 0, 640, 480));
        let tops = [
            ("Untitled".to_owned(), Some(Rect::new(700, 0, 640, 480))),
            ("Untitled".to_owned(), Some(Rect::new(0, 0, 640, 480))),
            (String::new(), Some(Rect::new(300, 300, 90, 200))),
        ];
        assert_eq!(pair(Toolkit::Other, &tops, &[&left, &right]), [Some(1), Some(0), None]);
    }

    #[test]
    fn a_frame_without_a_name_is_found_by_its_place() {
        let kcalc = window(1, "KCalc", Rect::new(190, 32, 253, 266));
        let tops = [(String::new(), Some(Rect::new(190, 32, 253, 266)))];
        assert_eq!(pair(Toolkit::Qt, &tops, &[&kcalc]), [Some(0)]);
    }
}
