//! Audio outputs: how loud they are, and which one is the usual one.

use crate::call::Call;
use crate::error::{Error, Result};

/// Something that sound comes out of: loudspeakers, headphones, a virtual sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioOutput {
    /// The system's own name for it, by which it is meant.
    pub name: String,
    /// A name for people.
    pub description: String,
    /// How loud it is in percent: its loudest channel. Above 100 where it is amplified.
    pub volume: u32,
    /// Whether it is muted, whatever its volume.
    pub muted: bool,
    /// Whether applications that choose none play on it.
    pub default: bool,
}

/// Hears nothing, but knows how loud it would be.
pub trait Audio: Send + Sync {
    /// Every output.
    fn outputs(&self, call: &Call) -> Result<Vec<AudioOutput>>;

    /// The default output. Fails with `backend` where there is no output at all.
    fn default_output(&self, call: &Call) -> Result<AudioOutput>;

    /// Sets how loud the output of this name is, in percent; the balance of its channels is kept.
    fn set_volume(&self, call: &Call, output: &str, percent: u32) -> Result<()>;

    /// Mutes the output of this name, or lets it sound again.
    fn set_muted(&self, call: &Call, output: &str, muted: bool) -> Result<()>;

    /// Makes the output of this name the default.
    fn set_default(&self, call: &Call, output: &str) -> Result<()>;
}

/// No output has this name.
pub fn no_such_output(name: &str, all: &[AudioOutput]) -> Error {
    Error::argument(format!("No audio output is called {name:?}."))
        .expected("an output's name, or a unique part of its description")
        .found(all.iter().map(|output| format!("{} ({})", output.name, output.description)))
        .remedy("List them with list_audio_outputs, or leave the output out for the default one.")
}

/// The stand-in where there is no way to the sound of the system.
pub struct NoAudio(pub crate::desktop::Missing);

impl Audio for NoAudio {
    fn outputs(&self, _: &Call) -> Result<Vec<AudioOutput>> {
        Err(self.0.error())
    }
    fn default_output(&self, _: &Call) -> Result<AudioOutput> {
        Err(self.0.error())
    }
    fn set_volume(&self, _: &Call, _: &str, _: u32) -> Result<()> {
        Err(self.0.error())
    }
    fn set_muted(&self, _: &Call, _: &str, _: bool) -> Result<()> {
        Err(self.0.error())
    }
    fn set_default(&self, _: &Call, _: &str) -> Result<()> {
        Err(self.0.error())
    }
}
