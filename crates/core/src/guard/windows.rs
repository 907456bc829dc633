//! Windows behind the rules: hidden ones are not there, denied ones stay as they are.

use super::{Guard, Verdict};
use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::geometry::{Point, Size};
use crate::watch::Bell;
use crate::window::{Layer, Window, WindowId, WindowState, WindowWatch, Windows};
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Guarded {
    pub(super) inner: Arc<dyn Windows>,
    pub(super) guard: Arc<Guard>,
}

impl Guarded {
    /// Refuses a window that may not be worked. One that is not listed is looked for among all that show.
    fn require(&self, call: &Call, id: WindowId) -> Result<()> {
        let listed = self.inner.list(call)?.into_iter().find(|window| window.id == id);
        let window = match listed {
            Some(window) => Some(window),
            None => {
                self.inner.layers(call)?.into_iter().map(|layer| layer.window).find(|window| window.id == id)
            }
        };
        match window {
            Some(window) => match self.guard.verdict(call, &window)? {
                Verdict::Hidden(_) => Err(gone(id)),
                verdict @ (Verdict::Free | Verdict::Denied(_)) => {
                    verdict.require(&format!("the window {:?} of {}", window.title, window.application))
                }
            },
            None => self.guard.roster.rules.require_nobody(&format!("window {id}")),
        }
    }
}

/// As for a window that is not there.
pub(super) fn gone(id: WindowId) -> Error {
    Error::new(Code::WindowNotFound, format!("There is no window {id}.")).remedy("List the windows again.")
}

impl Windows for Guarded {
    fn list(&self, call: &Call) -> Result<Vec<Window>> {
        let mut shown = Vec::new();
        for window in self.inner.list(call)? {
            if !self.guard.hides(call, &window)? {
                shown.push(window);
            }
        }
        Ok(shown)
    }

    fn layers(&self, call: &Call) -> Result<Vec<Layer>> {
        let mut shown = Vec::new();
        for layer in self.inner.layers(call)? {
            if !self.guard.hides(call, &layer.window)? {
                shown.push(layer);
            }
        }
        Ok(shown)
    }

    fn at(&self, call: &Call, point: Point) -> Result<Option<Window>> {
        match self.inner.at(call, point)? {
            Some(window) if self.guard.hides(call, &window)? => Ok(None),
            other => Ok(other),
        }
    }

    fn focus(&self, call: &Call, id: WindowId) -> Result<()> {
        self.require(call, id)?;
        self.inner.focus(call, id)
    }

    fn place(&self, call: &Call, id: WindowId, origin: Option<Point>, size: Option<Size>) -> Result<()> {
        self.require(call, id)?;
        self.inner.place(call, id, origin, size)
    }

    fn set_state(&self, call: &Call, id: WindowId, state: WindowState) -> Result<()> {
        self.require(call, id)?;
        self.inner.set_state(call, id, state)
    }

    fn close(&self, call: &Call, id: WindowId) -> Result<()> {
        self.require(call, id)?;
        self.inner.close(call, id)
    }

    fn settle(&self, call: &Call, id: WindowId, patience: Duration) -> Result<bool> {
        self.inner.settle(call, id, patience)
    }

    fn watch(&self, call: &Call, bell: &Bell) -> Result<Box<dyn WindowWatch>> {
        self.inner.watch(call, bell)
    }
}
