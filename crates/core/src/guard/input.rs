//! Pointer, keyboard and touchscreen behind the guards. To let go of something is never refused.

use super::{Guard, Way};
use crate::call::Call;
use crate::error::Result;
use crate::geometry::Point;
use crate::input::{Button, Held, Input, InputState, Press};
use crate::key::Key;
use crate::touch::{Fingers, Touch};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What was refused before it was pressed. Whoever wanted it lets go of it all the same, which must not reach
/// anybody: a person may be holding that very button.
#[derive(Default)]
struct Refused(Mutex<Vec<Held>>);

impl Refused {
    fn note<T>(&self, held: Held, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.list().push(held);
        }
        result
    }

    /// Whether this letting go belongs to a press that never was.
    fn swallows(&self, held: Held) -> bool {
        let mut list = self.list();
        let place = list.iter().position(|other| *other == held);
        place.map(|place| list.remove(place)).is_some()
    }

    fn list(&self) -> MutexGuard<'_, Vec<Held>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Input to the applications that may be worked.
pub(super) struct Within {
    inner: Arc<dyn Input>,
    guard: Arc<Guard>,
    refused: Refused,
}

impl Within {
    pub(super) fn new(inner: Arc<dyn Input>, guard: Arc<Guard>) -> Within {
        Within { inner, guard, refused: Refused::default() }
    }

    /// Looks at what the pointer is over.
    fn require_here(&self, call: &Call) -> Result<()> {
        self.guard.require_point(call, self.inner.state(call)?.position)
    }
}

impl Input for Within {
    fn lock(&self, call: &Call) -> Result<Box<dyn Any + Send>> {
        self.inner.lock(call)
    }

    fn state(&self, call: &Call) -> Result<InputState> {
        self.inner.state(call)
    }

    /// The pointer may go anywhere, but nothing may be dragged to where nothing may be dropped.
    fn move_to(&self, call: &Call, to: Point) -> Result<Point> {
        if !self.inner.state(call)?.buttons.is_empty() {
            self.guard.require_point(call, to)?;
        }
        self.inner.move_to(call, to)
    }

    fn button(&self, call: &Call, button: Button, press: Press) -> Result<()> {
        match press {
            Press::Down => self.refused.note(Held::Button(button), self.require_here(call))?,
            Press::Up if self.refused.swallows(Held::Button(button)) => return Ok(()),
            Press::Up => {}
        }
        self.inner.button(call, button, press)
    }

    fn click(&self, call: &Call, button: Button) -> Result<()> {
        self.refused.note(Held::Button(button), self.require_here(call))?;
        self.inner.click(call, button)
    }

    fn wheel(&self, call: &Call, across: i32, down: i32) -> Result<()> {
        self.require_here(call)?;
        self.inner.wheel(call, across, down)
    }

    /// Modifiers type nothing by themselves, and are held for clicks elsewhere than where the keyboard is.
    fn key(&self, call: &Call, key: Key, press: Press) -> Result<()> {
        let modifies = matches!(key, Key::Named(key) if key.is_modifier());
        match press {
            Press::Down if modifies => {}
            Press::Down => self.refused.note(Held::Key(key), self.guard.require_keyboard(call))?,
            Press::Up if self.refused.swallows(Held::Key(key)) => return Ok(()),
            Press::Up => {}
        }
        self.inner.key(call, key, press)
    }

    fn check_text(&self, call: &Call, text: &str) -> Result<()> {
        self.inner.check_text(call, text)
    }

    fn type_text(
        &self,
        call: &Call,
        text: &str,
        delay: Duration,
        proceed: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        self.guard.require_keyboard(call)?;
        self.inner.type_text(call, text, delay, &mut |typed| {
            proceed(typed)?;
            if typed == 0 { Ok(()) } else { self.guard.require_keyboard(call) }
        })
    }

    fn double_click_time(&self, call: &Call) -> Result<Duration> {
        self.inner.double_click_time(call)
    }

    fn press_time(&self, pid: u32) -> Duration {
        self.inner.press_time(pid)
    }
}

/// Input that makes way for the person, and ends when they stop it.
pub(super) struct MakingWay {
    inner: Arc<dyn Input>,
    way: Arc<Way>,
    /// What Deskhand holds down now.
    held: Mutex<Vec<Held>>,
    refused: Refused,
}

impl MakingWay {
    pub(super) fn new(inner: Arc<dyn Input>, way: Arc<Way>) -> MakingWay {
        MakingWay { inner, way, held: Mutex::default(), refused: Refused::default() }
    }

    fn give_way(&self, call: &Call, doing: &str) -> Result<()> {
        let holding = !self.held().is_empty();
        self.way.give(call, holding, doing)
    }

    fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Before something goes down, and after it came up.
    fn press(&self, call: &Call, held: Held, press: Press, make: impl FnOnce() -> Result<()>) -> Result<()> {
        match press {
            Press::Down => {
                self.refused.note(held, self.give_way(call, "pressing"))?;
                self.held().push(held);
                make()
            }
            Press::Up if self.refused.swallows(held) => Ok(()),
            Press::Up => {
                let made = make();
                self.held().retain(|other| *other != held);
                made
            }
        }
    }
}

impl Input for MakingWay {
    fn lock(&self, call: &Call) -> Result<Box<dyn Any + Send>> {
        self.inner.lock(call)
    }

    fn state(&self, call: &Call) -> Result<InputState> {
        self.inner.state(call)
    }

    fn move_to(&self, call: &Call, to: Point) -> Result<Point> {
        self.give_way(call, "moving the pointer")?;
        self.inner.move_to(call, to)
    }

    fn button(&self, call: &Call, button: Button, press: Press) -> Result<()> {
        self.press(call, Held::Button(button), press, || self.inner.button(call, button, press))
    }

    fn click(&self, call: &Call, button: Button) -> Result<()> {
        self.refused.note(Held::Button(button), self.give_way(call, "clicking"))?;
        self.inner.click(call, button)
    }

    fn wheel(&self, call: &Call, across: i32, down: i32) -> Result<()> {
        self.give_way(call, "scrolling")?;
        self.inner.wheel(call, across, down)
    }

    fn key(&self, call: &Call, key: Key, press: Press) -> Result<()> {
        self.press(call, Held::Key(key), press, || self.inner.key(call, key, press))
    }

    fn check_text(&self, call: &Call, text: &str) -> Result<()> {
        self.inner.check_text(call, text)
    }

    fn type_text(
        &self,
        call: &Call,
        text: &str,
        delay: Duration,
        proceed: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        self.give_way(call, "typing")?;
        let all = text.chars().count();
        self.inner.type_text(call, text, delay, &mut |typed| {
            let done = |mut error: crate::Error| {
                error.message.push_str(&format!(" {typed} of {all} characters were typed."));
                error
            };
            // Before the target is looked at: the person may have changed it.
            self.give_way(call, "typing").map_err(done)?;
            proceed(typed)
        })
    }

    fn double_click_time(&self, call: &Call) -> Result<Duration> {
        self.inner.double_click_time(call)
    }

    fn press_time(&self, pid: u32) -> Duration {
        self.inner.press_time(pid)
    }
}

/// What is asked before fingers touch anything.
pub(super) trait Leave: Send + Sync {
    /// Refuses fingers at these places; `down` says whether they touch already.
    fn touch(&self, call: &Call, at: &[Point], down: bool) -> Result<()>;
}

/// Fingers on the applications that may be worked.
impl Leave for Guard {
    fn touch(&self, call: &Call, at: &[Point], _: bool) -> Result<()> {
        at.iter().try_for_each(|point| self.require_point(call, *point))
    }
}

/// Fingers that make way for the person.
impl Leave for Way {
    fn touch(&self, call: &Call, _: &[Point], down: bool) -> Result<()> {
        self.give(call, down, "touching")
    }
}

/// A touchscreen that is touched with leave only.
pub(super) struct Touching<L> {
    pub(super) inner: Arc<dyn Touch>,
    pub(super) leave: Arc<L>,
}

impl<L: Leave + 'static> Touch for Touching<L> {
    fn surface(&self, call: &Call) -> Result<String> {
        self.inner.surface(call)
    }

    fn fingers(&self, call: &Call) -> Result<Box<dyn Fingers>> {
        let (inner, leave) = (self.inner.fingers(call)?, self.leave.clone());
        Ok(Box::new(WithLeave { inner, leave, down: false }))
    }
}

struct WithLeave<L> {
    inner: Box<dyn Fingers>,
    leave: Arc<L>,
    down: bool,
}

impl<L: Leave> Fingers for WithLeave<L> {
    fn place(&mut self, call: &Call, at: &[Point]) -> Result<()> {
        self.leave.touch(call, at, self.down)?;
        self.down = true;
        self.inner.place(call, at)
    }

    fn lift(&mut self, call: &Call) -> Result<usize> {
        self.down = false;
        self.inner.lift(call)
    }
}
