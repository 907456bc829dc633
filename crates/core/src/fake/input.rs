//! Pointer and keyboard of the fake desktop.

use super::Provider;
use super::world::DOUBLE_CLICK;
use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::geometry::Point;
use crate::input::{Button, Held, Input, InputState, Press, not_typeable};
use crate::key::{Key, NamedKey};
use crate::person::{Keystroke, What};
use std::any::Any;
use std::time::Duration;

/// How many characters are typed between two questions whether to go on.
const RUN: usize = 4;

impl Input for Provider {
    fn lock(&self, call: &Call) -> Result<Box<dyn Any + Send>> {
        let mut world = self.enter(call, "input.lock")?;
        world.clicks = None;
        if world.temper.locked {
            return Err(Error::new(Code::SecureDesktopActive, "The session is locked.")
                .remedy("Unlock the session, then try again."));
        }
        Ok(Box::new(()))
    }

    fn state(&self, call: &Call) -> Result<InputState> {
        let world = self.enter(call, "input.state")?;
        let mut state = InputState { position: world.pointer, ..InputState::default() };
        for held in &world.held {
            match held {
                Held::Button(button) => state.buttons.push(*button),
                Held::Key(Key::Named(named)) if named.is_modifier() => state.modifiers.push(*named),
                Held::Key(_) => {}
            }
        }
        Ok(state)
    }

    fn move_to(&self, call: &Call, to: Point) -> Result<Point> {
        let mut world = self.enter(call, "input.move_to")?;
        world.log.push(format!("move {},{}", to.x, to.y));
        world.move_pointer(to);
        let there = world.pointer;
        drop(world);
        self.tell(false, What::Moved);
        Ok(there)
    }

    fn button(&self, call: &Call, button: Button, press: Press) -> Result<()> {
        drop(self.enter(call, "input.button")?);
        self.tell(false, What::Button(button, press));
        let mut world = self.world();
        let name = match button {
            Button::Left => "left",
            Button::Middle => "middle",
            Button::Right => "right",
            Button::Back => "back",
            Button::Forward => "forward",
        };
        let held = Held::Button(button);
        match press {
            Press::Down => {
                world.log.push(format!("down {name}"));
                world.hold(held, true);
                world.press(button);
            }
            Press::Up => {
                world.log.push(format!("up {name}"));
                world.hold(held, false);
                world.release(button);
            }
        }
        Ok(())
    }

    fn click(&self, call: &Call, button: Button) -> Result<()> {
        self.button(call, button, Press::Down)?;
        self.button(call, button, Press::Up)
    }

    fn wheel(&self, call: &Call, across: i32, down: i32) -> Result<()> {
        drop(self.enter(call, "input.wheel")?);
        self.tell(false, What::Wheel { across, down });
        let mut world = self.world();
        world.log.push(format!("wheel {across},{down}"));
        world.wheel(across, down);
        Ok(())
    }

    fn key(&self, call: &Call, key: Key, press: Press) -> Result<()> {
        let world = self.enter(call, "input.key")?;
        if let Key::Named(NamedKey::BrightnessUp | NamedKey::BrightnessDown) = key {
            return Err(Error::new(Code::UnknownKey, format!("This keyboard has no key {key}.")));
        }
        drop(world);
        self.tell(false, What::Key(Keystroke { key: Some(key), text: None }, press));
        let mut world = self.world();
        match press {
            Press::Down => {
                world.log.push(format!("key {key} down"));
                world.hold(Held::Key(key), true);
                world.key_down(key);
            }
            Press::Up => {
                world.log.push(format!("key {key} up"));
                world.hold(Held::Key(key), false);
            }
        }
        Ok(())
    }

    fn check_text(&self, call: &Call, text: &str) -> Result<()> {
        let world = self.enter(call, "input.check_text")?;
        let mut bad: Vec<char> = text
            .chars()
            .filter(|c| world.temper.untypeable.contains(c) || c.is_control() && !matches!(c, '\n' | '\t'))
            .collect();
        bad.sort_unstable();
        bad.dedup();
        if bad.is_empty() { Ok(()) } else { Err(not_typeable(&bad)) }
    }

    fn type_text(
        &self,
        call: &Call,
        text: &str,
        delay: Duration,
        proceed: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        drop(self.enter(call, "input.type_text")?);
        let mut typed = String::new();
        let done = text.chars().enumerate().try_for_each(|(number, c)| {
            if number % RUN == 0 {
                proceed(number)?;
            }
            call.check("typing")?;
            let stroke = Keystroke { key: Some(Key::Char(c)), text: Some(c) };
            self.tell(false, What::Key(stroke, Press::Down));
            self.world().typed(c);
            typed.push(c);
            if delay.is_zero() { Ok(()) } else { call.pause(delay, "typing") }
        });
        self.world().log.push(format!("type \"{}\"", typed.escape_debug()));
        done
    }

    fn double_click_time(&self, call: &Call) -> Result<Duration> {
        self.enter(call, "input.double_click_time").map(|_| DOUBLE_CLICK)
    }

    fn press_time(&self, _: u32) -> Duration {
        Duration::ZERO
    }
}
