//! The machine and its battery.

use crate::desk::{Desk, check, plain};
use deskhand_core::system::{Battery, BatteryState, Power};
use expect_test::expect;
use serde_json::json;

#[test]
fn the_machine() {
    check(
        plain,
        "get_system_info",
        json!({}),
        expect![[r#"
        os: "Fake OS 1.0"
        os_version: 1.0
        architecture: x86_64
        model: "Fake Laptop"
        processor: "Fake processor"
        cores: 2
        threads: 4
        memory_bytes: 8589934592
        session_type: fake
        desktop: Fake
        private_desktop: false
    "#]],
    );
}

fn with(batteries: &[(f64, BatteryState, Option<f64>)]) -> impl FnOnce(&Desk) {
    let battery = |&(percentage, state, capacity): &(f64, BatteryState, Option<f64>)| Battery {
        name: "B".to_owned(),
        percentage,
        state,
        capacity,
        time_to_empty: None,
        time_to_full: None,
    };
    let batteries = batteries.iter().map(battery).collect();
    move |desk| {
        desk.control.change(|world| world.set_power(Power { batteries, on_battery: None, source: "fake" }));
    }
}

#[test]
fn one_battery_none_and_several() {
    check(
        plain,
        "get_battery_status",
        json!({}),
        expect![[r#"
        present: true
        percentage: 80.0
        state: discharging
        charging: false
        on_battery: true
        time_to_empty_s: 7200
        source: fake
    "#]],
    );
    check(
        with(&[]),
        "get_battery_status",
        json!({}),
        expect![[r#"
        present: false
        reason: "This is a desktop machine, or a virtual one: it has no battery."
        source: fake
    "#]],
    );
    let two = [(100.0, BatteryState::NotCharging, Some(60.0)), (40.0, BatteryState::Discharging, Some(20.0))];
    check(
        with(&two),
        "get_battery_status",
        json!({}),
        expect![[r#"
        present: true
        percentage: 85.0
        state: discharging
        charging: false
        batteries:
          - name B  percentage 100.0  state not_charging
          - name B  percentage 40.0  state discharging
        source: fake
    "#]],
    );
    let unlike = [(100.0, BatteryState::Full, None), (41.0, BatteryState::Charging, Some(20.0))];
    check(
        with(&unlike),
        "get_battery_status",
        json!({}),
        expect![[r#"
        present: true
        percentage: 70.5
        state: charging
        charging: true
        batteries:
          - name B  percentage 100.0  state full
          - name B  percentage 41.0  state charging
        source: fake
    "#]],
    );
    let resting = [(100.0, BatteryState::Full, None), (41.0, BatteryState::NotCharging, None)];
    check(
        with(&resting),
        "get_battery_status",
        json!({}),
        expect![[r#"
        present: true
        percentage: 70.5
        state: not_charging
        charging: false
        batteries:
          - name B  percentage 100.0  state full
          - name B  percentage 41.0  state not_charging
        source: fake
    "#]],
    );
}
