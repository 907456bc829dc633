//! The pictures that were returned lately, so that coordinates taken from them find their screen pixels.

use deskhand_core::window::WindowId;
use deskhand_core::{Code, Error, Frame, Result};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

/// How many pictures are remembered.
const MOST: usize = 64;

/// The pictures of one server.
#[derive(Default)]
pub struct Images(Mutex<Store>);

#[derive(Default)]
struct Store {
    next: u64,
    kept: VecDeque<Image>,
}

/// A picture that was returned.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its number: `i7` on the wire.
    pub number: u64,
    /// How its pixels map to the screen.
    pub frame: Frame,
    /// The serial of the pixels that it was made from.
    pub serial: u64,
    /// The windows that showed in it, topmost first, with the places they had.
    pub windows: Vec<(WindowId, deskhand_core::Rect)>,
}

impl Images {
    /// Remembers a picture and names it. The name is put into `frame` too.
    pub fn add(
        &self,
        mut frame: Frame,
        serial: u64,
        windows: Vec<(WindowId, deskhand_core::Rect)>,
    ) -> String {
        let mut store = self.store();
        store.next += 1;
        let name = format!("i{}", store.next);
        frame.name = format!("image {name}");
        let number = store.next;
        store.kept.push_back(Image { number, frame, serial, windows });
        if store.kept.len() > MOST {
            store.kept.pop_front();
        }
        name
    }

    /// The picture of this name.
    pub fn get(&self, name: &str) -> Result<Image> {
        let store = self.store();
        let number =
            name.trim().trim_start_matches("image ").strip_prefix('i').and_then(|n| n.parse::<u64>().ok());
        number.and_then(|number| store.kept.iter().find(|image| image.number == number)).cloned().ok_or_else(
            || {
                Error::new(Code::InvalidCoordinates, format!("No picture called {name:?} is remembered."))
                    .expected("the image id of one of the last screenshots")
                    .found(store.kept.iter().rev().map(|image| format!("i{}", image.number)))
                    .remedy("Take a new screenshot and use its image id.")
            },
        )
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
