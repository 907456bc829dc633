//! The machine and its system.

use crate::call::Context;
use crate::tool::{Data, Effect, Group, Row, Tool};
use deskhand_core::system::{Battery, BatteryState, Power, SystemInfo};
use deskhand_core::{Code, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<GetSystemInfo>(), Row::of::<GetBatteryStatus>()];

/// Tell what machine and system this is: operating system, hardware model, processor, memory, kind of session
/// and desktop.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetSystemInfo {}

/// The machine as it is shown to callers.
#[derive(Serialize, JsonSchema)]
pub struct SystemReport {
    /// The operating system, with its version.
    pub os: String,
    /// Its version alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
    /// The kernel and its release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The kind of processor.
    pub architecture: String,
    /// The machine's name in the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The model of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_reason: Option<&'static str>,
    /// The model of the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Its cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// What can run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// All memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What of it is free for use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available_bytes: Option<u64>,
    /// How long it has been running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_s: Option<u64>,
    /// x11, wayland or tty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_type: Option<String>,
    /// The desktop environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desktop: Option<String>,
    /// Whether the desktop is a private one of Deskhand's own.
    pub private_desktop: bool,
}

impl From<SystemInfo> for SystemReport {
    fn from(info: SystemInfo) -> SystemReport {
        SystemReport {
            os: info.os,
            os_version: info.os_version,
            kernel: info.kernel,
            architecture: info.architecture,
            hostname: info.hostname,
            model_reason: info
                .model
                .is_none()
                .then_some("The firmware names no model, as in many virtual machines and containers."),
            model: info.model,
            processor: info.processor,
            cores: info.cores,
            threads: info.threads,
            memory_bytes: info.memory_bytes,
            memory_available_bytes: info.memory_available_bytes,
            uptime_s: info.uptime.map(|uptime| uptime.as_secs()),
            session_type: info.session_type,
            desktop: info.desktop,
            private_desktop: info.private_desktop,
        }
    }
}

impl Tool for GetSystemInfo {
    const NAME: &'static str = "get_system_info";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::System;
    type Output = Data<SystemReport>;

    fn call(self, cx: &Context) -> Result<Data<SystemReport>> {
        Ok(Data(cx.desktop.system.info(&cx.call)?.into()))
    }
}

/// Tell how full the battery is and whether it is charging. A machine without one says so.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetBatteryStatus {}

/// What power there is.
#[derive(Serialize, JsonSchema)]
pub struct PowerReport {
    /// Whether the machine has a battery.
    pub present: bool,
    /// How full all batteries together are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<f64>,
    /// What they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<BatteryState>,
    /// Whether any of them is being charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charging: Option<bool>,
    /// Whether the machine runs on them now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_battery: Option<bool>,
    /// How long until they are empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_empty_s: Option<u64>,
    /// How long until they are full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_full_s: Option<u64>,
    /// Each of them, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub batteries: Vec<BatteryInfo>,
    /// Why there is nothing to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Who says so: upower or sysfs.
    pub source: &'static str,
}

/// One battery of several.
#[derive(Serialize, JsonSchema)]
pub struct BatteryInfo {
    /// Its model or its name.
    pub name: String,
    /// How full it is.
    pub percentage: f64,
    /// What it does.
    pub state: BatteryState,
}

/// More batteries than any machine has.
const MOST: usize = 16;

impl From<Power> for PowerReport {
    fn from(power: Power) -> PowerReport {
        let all = &power.batteries;
        let only = match &all[..] {
            [only] => Some(only),
            _ => None,
        };
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
        let state = together(all);
        PowerReport {
            present: !all.is_empty(),
            percentage: percentage(all),
            state,
            charging: state.map(|state| state == BatteryState::Charging),
            on_battery: power.on_battery.filter(|_| !all.is_empty()),
            time_to_empty_s: only.and_then(|battery| seconds(battery.time_to_empty)),
            time_to_full_s: only.and_then(|battery| seconds(battery.time_to_full)),
            reason: all
                .is_empty()
                .then_some("This is a desktop machine, or a virtual one: it has no battery."),
            batteries: match only {
                Some(_) => Vec::new(),
                None => all.iter().take(MOST).map(Into::into).collect(),
            },
            source: power.source,
        }
    }
}

impl From<&Battery> for BatteryInfo {
    fn from(battery: &Battery) -> BatteryInfo {
        BatteryInfo {
            name: battery.name.clone(),
            percentage: rounded(battery.percentage),
            state: battery.state,
        }
    }
}

fn rounded(percentage: f64) -> f64 {
    (percentage * 10.0).round() / 10.0
}

/// How full they are together: each counts as much as it holds, or all alike where one does not say.
fn percentage(all: &[Battery]) -> Option<f64> {
    let told = all.iter().all(|battery| battery.capacity.is_some());
    let weight = |battery: &Battery| if told { battery.capacity.unwrap_or(1.0) } else { 1.0 };
    let whole: f64 = all.iter().map(weight).sum();
    let held: f64 = all.iter().map(|battery| battery.percentage * weight(battery)).sum();
    (0.0 < whole).then(|| rounded(held / whole))
}

/// What they do together. One that is used or charged says it for all; the others wait for their turn.
fn together(all: &[Battery]) -> Option<BatteryState> {
    let first = all.first()?.state;
    let any = |state| all.iter().any(|battery| battery.state == state);
    if any(BatteryState::Discharging) {
        Some(BatteryState::Discharging)
    } else if any(BatteryState::Charging) {
        Some(BatteryState::Charging)
    } else if all.iter().all(|battery| battery.state == first) {
        Some(first)
    } else if any(BatteryState::Unknown) {
        Some(BatteryState::Unknown)
    } else {
        Some(BatteryState::NotCharging)
    }
}

impl Tool for GetBatteryStatus {
    const NAME: &'static str = "get_battery_status";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::System;
    type Output = Data<PowerReport>;

    fn call(self, cx: &Context) -> Result<Data<PowerReport>> {
        Ok(Data(cx.desktop.system.power(&cx.call)?.into()))
    }
}
