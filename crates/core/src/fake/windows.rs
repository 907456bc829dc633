//! The fake window manager.

use super::Provider;
use super::world::{Win, World};
use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::geometry::{Point, Rect, Size};
use crate::watch::Bell;
use crate::window::{Layer, Window, WindowId, WindowState, WindowWatch, Windows};
use std::sync::Arc;
use std::time::Duration;

/// The smallest size of a window.
const SMALLEST: Size = Size { width: 100, height: 60 };

pub(super) fn find(world: &World, id: WindowId) -> Result<&Win> {
    world.windows.iter().find(|window| window.id == id).ok_or_else(|| {
        Error::new(Code::WindowNotFound, format!("There is no window {id}."))
            .found(world.windows.iter().map(|window| format!("{} {:?}", window.id, window.title)))
            .remedy("List the windows again.")
    })
}

impl Provider {
    /// Logs a request and does it when the window manager gets round to it, if it does.
    fn request(
        &self,
        call: &Call,
        method: &str,
        id: WindowId,
        line: String,
        change: impl FnOnce(&mut World) + Send + 'static,
    ) -> Result<()> {
        let mut world = self.enter(call, method)?;
        find(&world, id)?;
        world.log.push(line);
        if !world.temper.refuses_windows {
            let delay = world.temper.window_delay;
            world.soon(delay, change);
        }
        Ok(())
    }
}

impl Windows for Provider {
    fn list(&self, call: &Call) -> Result<Vec<Window>> {
        let world = self.enter(call, "windows.list")?;
        let listed = world.windows.iter().filter(|window| !window.popup);
        Ok(listed.filter_map(|window| world.described(window.id)).collect())
    }

    fn layers(&self, call: &Call) -> Result<Vec<Layer>> {
        let world = self.enter(call, "windows.layers")?;
        let shown = world.windows.iter().filter(|window| window.shows());
        let layer = |window: Window| Layer { covers: vec![window.bounds], window };
        Ok(shown.filter_map(|window| world.described(window.id)).map(layer).collect())
    }

    fn at(&self, call: &Call, point: Point) -> Result<Option<Window>> {
        let world = self.enter(call, "windows.at")?;
        Ok(world.window_at(point).and_then(|window| world.described(window.id)))
    }

    fn focus(&self, call: &Call, id: WindowId) -> Result<()> {
        self.request(call, "windows.focus", id, format!("focus {id}"), move |world| world.activate(id))
    }

    fn place(&self, call: &Call, id: WindowId, origin: Option<Point>, size: Option<Size>) -> Result<()> {
        let origin_text = origin.map(|at| format!(" at {},{}", at.x, at.y)).unwrap_or_default();
        let size_text = size.map(|size| format!(" {}x{}", size.width, size.height)).unwrap_or_default();
        let line = format!("place {id}{size_text}{origin_text}");
        self.request(call, "windows.place", id, line, move |world| {
            let Some(place) = world.win(id) else { return };
            let now = world.windows[place].bounds;
            let (origin, size) = (origin.unwrap_or(now.origin()), size.unwrap_or(now.size()));
            let (width, height) = (size.width.max(SMALLEST.width), size.height.max(SMALLEST.height));
            if world.windows[place].state == WindowState::Maximized {
                world.windows[place].state = WindowState::Normal;
            }
            world.put(id, Rect::new(origin.x, origin.y, width, height));
        })
    }

    fn set_state(&self, call: &Call, id: WindowId, state: WindowState) -> Result<()> {
        let line = format!("state {id} {}", format!("{state:?}").to_lowercase());
        self.request(call, "windows.set_state", id, line, move |world| {
            let was = world.win(id).map(|place| world.windows[place].state);
            world.set_window_state(id, state);
            if was == Some(WindowState::Minimized) && state != WindowState::Minimized {
                world.activate(id);
            }
        })
    }

    fn close(&self, call: &Call, id: WindowId) -> Result<()> {
        self.request(call, "windows.close", id, format!("close {id}"), move |world| world.ask_to_close(id))
    }

    fn settle(&self, call: &Call, id: WindowId, patience: Duration) -> Result<bool> {
        let world = self.enter(call, "windows.settle")?;
        let window = find(&world, id)?;
        if world.temper.silent.contains(&window.pid) {
            return Err(Error::new(
                Code::Timeout,
                format!("The window {:?} did not answer within {} ms.", window.title, patience.as_millis()),
            )
            .remedy("The application hangs or is stopped: wait, or quit it by force."));
        }
        Ok(true)
    }

    fn watch(&self, call: &Call, bell: &Bell) -> Result<Box<dyn WindowWatch>> {
        let mut world = self.enter(call, "windows.watch")?;
        let (kept, look) = (world.hang(bell), world.windows_look());
        drop(world);
        Ok(Box::new(Onlooker { provider: self.clone(), look, _kept: kept }))
    }
}

/// Compares the windows with what they were.
struct Onlooker {
    provider: Provider,
    look: u64,
    _kept: Arc<()>,
}

impl WindowWatch for Onlooker {
    fn changed(&mut self, call: &Call) -> Result<bool> {
        let look = self.provider.enter(call, "window_watch.changed")?.windows_look();
        Ok(std::mem::replace(&mut self.look, look) != look)
    }
}
