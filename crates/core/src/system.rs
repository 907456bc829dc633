//! The machine and its system: what it is, and what power it has left.

use crate::call::Call;
use crate::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the machine and its system are. What cannot be found out is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemInfo {
    /// The operating system as it calls itself, with its version.
    pub os: String,
    /// Its version alone.
    pub os_version: Option<String>,
    /// The kernel and its release.
    pub kernel: Option<String>,
    /// The kind of processor: `x86_64`, `aarch64`.
    pub architecture: String,
    /// The machine's name in the network.
    pub hostname: Option<String>,
    /// The model of the machine, with its maker.
    pub model: Option<String>,
    /// The model of the processor.
    pub processor: Option<String>,
    /// Cores, where they are told from threads.
    pub cores: Option<u32>,
    /// What can run at the same time.
    pub threads: Option<u32>,
    /// All memory.
    pub memory_bytes: Option<u64>,
    /// What of it is free for use.
    pub memory_available_bytes: Option<u64>,
    /// Since when the machine has been running.
    pub uptime: Option<Duration>,
    /// The kind of session: `x11`, `wayland`, `tty`.
    pub session_type: Option<String>,
    /// The desktop environment: `GNOME`, `XFCE`.
    pub desktop: Option<String>,
    /// Whether the desktop is a private one of Deskhand's own.
    pub private_desktop: bool,
}

/// What power there is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Power {
    /// The batteries that run the machine: none in most desktop machines. Those of mice are left out.
    pub batteries: Vec<Battery>,
    /// Whether the batteries are what it runs on now, where that is known.
    pub on_battery: Option<bool>,
    /// Who says so.
    pub source: &'static str,
}

/// A battery.
#[derive(Clone, Debug, PartialEq)]
pub struct Battery {
    /// Its model or its name.
    pub name: String,
    /// How full it is.
    pub percentage: f64,
    /// What it does.
    pub state: BatteryState,
    /// How much it holds when it is full, in a unit that is the same for all batteries of a machine.
    pub capacity: Option<f64>,
    /// How long until it is empty.
    pub time_to_empty: Option<Duration>,
    /// How long until it is full.
    pub time_to_full: Option<Duration>,
}

/// What a battery does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatteryState {
    /// It gets fuller.
    Charging,
    /// It is used up.
    Discharging,
    /// It is plugged in and neither charged nor used.
    NotCharging,
    /// It is full.
    Full,
    /// It is empty.
    Empty,
    /// It does not say.
    Unknown,
}

/// Tells about the machine.
pub trait System: Send + Sync {
    /// What the machine and its system are.
    fn info(&self, call: &Call) -> Result<SystemInfo>;

    /// What power there is. A machine without a battery has none, which is no error.
    fn power(&self, call: &Call) -> Result<Power>;
}

/// The stand-in where nothing is known of the system.
pub struct NoSystem(pub crate::desktop::Missing);

impl System for NoSystem {
    fn info(&self, _: &Call) -> Result<SystemInfo> {
        Err(self.0.error())
    }
    fn power(&self, _: &Call) -> Result<Power> {
        Err(self.0.error())
    }
}
