//! Sound: volume, mute, and which output is the default one.

use super::evidence::Acted;
use super::page::page;
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::audio::{AudioOutput, no_such_output};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<GetVolume>(),
    Row::of::<SetVolume>(),
    Row::of::<GetMuteStatus>(),
    Row::of::<SetMute>(),
    Row::of::<ListAudioOutputs>(),
    Row::of::<SetAudioOutput>(),
];

/// How long a server gets to do what it has acknowledged.
const PATIENCE: Duration = Duration::from_secs(1);

/// Other names of the output.
const OUTPUT: [(&str, &str); 3] = [("sink", "output"), ("device", "output"), ("name", "output")];

/// An output as it is shown to callers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OutputInfo {
    /// Its volume in percent; above 100 where it is amplified.
    pub volume: u32,
    /// Whether it is muted.
    pub muted: bool,
    /// The output's name.
    pub output: String,
    /// Its name for people.
    pub description: String,
    /// Whether it is the default output.
    pub default: bool,
}

impl From<AudioOutput> for OutputInfo {
    fn from(output: AudioOutput) -> OutputInfo {
        OutputInfo {
            volume: output.volume,
            muted: output.muted,
            output: output.name,
            description: output.description,
            default: output.default,
        }
    }
}

/// The output that a caller means.
fn find(cx: &Context, name: Option<&str>) -> Result<AudioOutput> {
    let Some(name) = name else { return cx.desktop.audio.default_output(&cx.call) };
    let all = cx.desktop.audio.outputs(&cx.call)?;
    if let Some(output) = all.iter().find(|output| output.name == name) {
        return Ok(output.clone());
    }
    let lower = name.to_lowercase();
    let like: Vec<&AudioOutput> = all
        .iter()
        .filter(|output| {
            [&output.name, &output.description].iter().any(|text| text.to_lowercase().contains(&lower))
        })
        .collect();
    match &like[..] {
        [only] if !lower.is_empty() => Ok((*only).clone()),
        [] | [_] => Err(no_such_output(name, &all)),
        several => Err(Error::new(Code::AmbiguousTarget, format!("Several audio outputs fit {name:?}."))
            .found(several.iter().map(|output| format!("{} ({})", output.name, output.description)))
            .remedy("Pass the whole name of one.")),
    }
}

/// Reads an output until it is as wished or the patience is at its end; says how it is.
fn read_back(cx: &Context, name: &str, wished: impl Fn(&AudioOutput) -> bool) -> Result<(AudioOutput, bool)> {
    let mut last = None;
    let came = cx.call.until_within(PATIENCE, "reading the audio output back", || {
        let all = cx.desktop.audio.outputs(&cx.call)?;
        let output = all.iter().find(|output| output.name == name);
        let output = output.cloned().ok_or_else(|| no_such_output(name, &all))?;
        let fits = wished(&output);
        last = Some(output);
        Ok(fits.then_some(()))
    })?;
    let last = last.ok_or_else(|| Error::new(Code::Internal, "Nothing was read back."))?;
    Ok((last, came.is_some()))
}

/// What was done to an output.
#[derive(Serialize, JsonSchema)]
pub struct OutputActed {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// The output as it is now.
    #[serde(flatten)]
    pub now: OutputInfo,
}

/// Tell how loud the default audio output, or another one, is.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetVolume {
    /// Another output than the default one: its name, or a unique part of its description.
    pub output: Option<String>,
}

impl Tool for GetVolume {
    const NAME: &'static str = "get_volume";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::AmbiguousTarget, Code::PermissionDenied];
    const ALIASES: &'static [(&'static str, &'static str)] = &OUTPUT;
    const GROUP: Group = Group::Audio;
    type Output = Data<OutputInfo>;

    fn call(self, cx: &Context) -> Result<Data<OutputInfo>> {
        Ok(Data(find(cx, self.output.as_deref())?.into()))
    }
}

/// Set how loud the default audio output, or another one, is. What is muted stays muted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetVolume {
    /// In percent.
    pub volume: Ranged<0, 100>,
    /// Another output than the default one: its name, or a unique part of its description.
    #[serde(default)]
    pub output: Option<String>,
}

impl Tool for SetVolume {
    const NAME: &'static str = "set_volume";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] =
        &[Code::AmbiguousTarget, Code::PermissionDenied, Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        OUTPUT[0],
        OUTPUT[1],
        OUTPUT[2],
        ("level", "volume"),
        ("percent", "volume"),
        ("percentage", "volume"),
        ("value", "volume"),
    ];
    const GROUP: Group = Group::Audio;
    type Output = Data<OutputActed>;

    fn call(self, cx: &Context) -> Result<Data<OutputActed>> {
        let before = find(cx, self.output.as_deref())?;
        let wanted = self.volume.get() as u32;
        cx.desktop.audio.set_volume(&cx.call, &before.name, wanted)?;
        let (now, fits) = read_back(cx, &before.name, |output| output.volume == wanted)?;
        let mut acted = if fits {
            Acted::confirmed(format!("volume {} → {}", before.volume, now.volume))
        } else {
            Acted::no_change(format!("The audio server took the order, and the volume reads {}.", now.volume))
        };
        if now.muted && acted.reason.is_none() {
            acted.reason = Some("It is muted, so nothing is heard: set_mute with false changes that.".into());
        }
        Ok(Data(OutputActed { acted, now: now.into() }))
    }
}

/// Tell whether the default audio output, or another one, is muted.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetMuteStatus {
    /// Another output than the default one: its name, or a unique part of its description.
    pub output: Option<String>,
}

impl Tool for GetMuteStatus {
    const NAME: &'static str = "get_mute_status";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::AmbiguousTarget, Code::PermissionDenied];
    const ALIASES: &'static [(&'static str, &'static str)] = &OUTPUT;
    const GROUP: Group = Group::Audio;
    type Output = Data<OutputInfo>;

    fn call(self, cx: &Context) -> Result<Data<OutputInfo>> {
        Ok(Data(find(cx, self.output.as_deref())?.into()))
    }
}

/// Mute the default audio output, or another one, or let it sound again. The volume stays what it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetMute {
    /// true mutes, false lets it sound.
    pub muted: bool,
    /// Another output than the default one: its name, or a unique part of its description.
    #[serde(default)]
    pub output: Option<String>,
}

impl Tool for SetMute {
    const NAME: &'static str = "set_mute";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] =
        &[Code::AmbiguousTarget, Code::PermissionDenied, Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[OUTPUT[0], OUTPUT[1], OUTPUT[2], ("mute", "muted"), ("enabled", "muted"), ("value", "muted")];
    const GROUP: Group = Group::Audio;
    type Output = Data<OutputActed>;

    fn call(self, cx: &Context) -> Result<Data<OutputActed>> {
        let before = find(cx, self.output.as_deref())?;
        cx.desktop.audio.set_muted(&cx.call, &before.name, self.muted)?;
        let (now, fits) = read_back(cx, &before.name, |output| output.muted == self.muted)?;
        let acted = if fits {
            Acted::confirmed(format!("muted {} → {}", before.muted, now.muted))
        } else {
            Acted::no_change(format!("The audio server took the order, and muted reads {}.", now.muted))
        };
        Ok(Data(OutputActed { acted, now: now.into() }))
    }
}

/// List the audio outputs, with their volumes and which one is the default.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListAudioOutputs {
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// Audio outputs.
#[derive(Serialize, JsonSchema)]
pub struct OutputList {
    /// The outputs.
    pub outputs: Vec<OutputInfo>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl Tool for ListAudioOutputs {
    const NAME: &'static str = "list_audio_outputs";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::PermissionDenied];
    const GROUP: Group = Group::Audio;
    type Output = Data<OutputList>;

    fn call(self, cx: &Context) -> Result<Data<OutputList>> {
        let outputs = cx.desktop.audio.outputs(&cx.call)?;
        let (outputs, next_page_token) =
            page(outputs, self.page_size.map(Ranged::get), self.page_token.as_deref())?;
        Ok(Data(OutputList { outputs: outputs.into_iter().map(Into::into).collect(), next_page_token }))
    }
}

/// Make an audio output the default one: applications that choose none play on it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAudioOutput {
    /// Its name, or a unique part of its description.
    pub output: String,
}

impl Tool for SetAudioOutput {
    const NAME: &'static str = "set_audio_output";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] =
        &[Code::AmbiguousTarget, Code::PermissionDenied, Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] = &OUTPUT;
    const GROUP: Group = Group::Audio;
    type Output = Data<OutputActed>;

    fn call(self, cx: &Context) -> Result<Data<OutputActed>> {
        let wanted = find(cx, Some(&self.output))?;
        cx.desktop.audio.set_default(&cx.call, &wanted.name)?;
        let (now, fits) = read_back(cx, &wanted.name, |output| output.default)?;
        let acted = if fits {
            Acted::confirmed(format!("{} is the default output", now.name))
        } else {
            Acted::no_change("The audio server took the order, and another output is still the default one.")
        };
        Ok(Data(OutputActed { acted, now: now.into() }))
    }
}
