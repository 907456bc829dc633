//! The machine under the fake desktop: a laptop.

use super::Provider;
use crate::call::Call;
use crate::error::Result;
use crate::system::{Battery, BatteryState, Power, System, SystemInfo};
use std::time::Duration;

/// What the usual desktop runs on.
pub(super) fn power() -> Power {
    let battery = Battery {
        name: "Fake battery".to_owned(),
        percentage: 80.0,
        state: BatteryState::Discharging,
        capacity: Some(50.0),
        time_to_empty: Some(Duration::from_secs(7200)),
        time_to_full: None,
    };
    Power { batteries: vec![battery], on_battery: Some(true), source: "fake" }
}

impl System for Provider {
    fn info(&self, call: &Call) -> Result<SystemInfo> {
        drop(self.enter(call, "system.info")?);
        Ok(SystemInfo {
            os: "Fake OS 1.0".to_owned(),
            os_version: Some("1.0".to_owned()),
            architecture: "x86_64".to_owned(),
            model: Some("Fake Laptop".to_owned()),
            processor: Some("Fake processor".to_owned()),
            cores: Some(2),
            threads: Some(4),
            memory_bytes: Some(8 << 30),
            session_type: Some("fake".to_owned()),
            desktop: Some("Fake".to_owned()),
            ..SystemInfo::default()
        })
    }

    fn power(&self, call: &Call) -> Result<Power> {
        Ok(self.enter(call, "system.power")?.power.clone())
    }
}
