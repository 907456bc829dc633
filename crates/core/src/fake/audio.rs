//! The audio outputs of the fake desktop.

use super::{Provider, World};
use crate::audio::{Audio, AudioOutput, no_such_output};
use crate::call::Call;
use crate::error::{Error, Result};

/// The outputs of the usual desktop.
pub(super) fn outputs() -> Vec<AudioOutput> {
    let output = |name: &str, description: &str, volume, muted, default| AudioOutput {
        name: name.to_owned(),
        description: description.to_owned(),
        volume,
        muted,
        default,
    };
    vec![
        output("speakers", "Built-in speakers", 60, false, true),
        output("headset", "USB headset", 100, true, false),
    ]
}

impl Audio for Provider {
    fn outputs(&self, call: &Call) -> Result<Vec<AudioOutput>> {
        Ok(self.enter(call, "audio.outputs")?.outputs.clone())
    }

    fn default_output(&self, call: &Call) -> Result<AudioOutput> {
        let world = self.enter(call, "audio.default_output")?;
        let default = world.outputs.iter().find(|output| output.default);
        default.cloned().ok_or_else(|| Error::backend("There is no audio output.").remedy("Plug one in."))
    }

    fn set_volume(&self, call: &Call, name: &str, percent: u32) -> Result<()> {
        let mut world = self.enter(call, "audio.set_volume")?;
        change(&mut world, name, format!("volume {name} {percent}"), |output| output.volume = percent)
    }

    fn set_muted(&self, call: &Call, name: &str, muted: bool) -> Result<()> {
        let mut world = self.enter(call, "audio.set_muted")?;
        change(&mut world, name, format!("mute {name} {muted}"), |output| output.muted = muted)
    }

    fn set_default(&self, call: &Call, name: &str) -> Result<()> {
        let mut world = self.enter(call, "audio.set_default")?;
        change(&mut world, name, format!("default {name}"), |output| output.default = true)?;
        if !world.temper.ignores_audio {
            world.outputs.iter_mut().for_each(|output| output.default = output.name == name);
        }
        Ok(())
    }
}

fn change(world: &mut World, name: &str, log: String, change: impl FnOnce(&mut AudioOutput)) -> Result<()> {
    let Some(place) = world.outputs.iter().position(|output| output.name == name) else {
        return Err(no_such_output(name, &world.outputs));
    };
    world.log.push(log);
    if !world.temper.ignores_audio {
        change(&mut world.outputs[place]);
    }
    Ok(())
}
