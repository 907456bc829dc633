//! Volume, mute and the default output.

use crate::desk::{Desk, check, plain};
use deskhand_core::Code;
use expect_test::expect;
use serde_json::json;

#[test]
fn looking() {
    check(
        plain,
        "get_volume",
        json!({}),
        expect![[r#"
        volume: 60
        muted: false
        output: speakers
        description: "Built-in speakers"
        default: true
    "#]],
    );
    check(
        plain,
        "get_volume",
        json!({ "output": "usb" }),
        expect![[r#"
        volume: 100
        muted: true
        output: headset
        description: "USB headset"
        default: false
    "#]],
    );
    check(
        plain,
        "get_mute_status",
        json!({ "sink": "headset" }),
        expect![[r#"
        volume: 100
        muted: true
        output: headset
        description: "USB headset"
        default: false
    "#]],
    );
    check(
        plain,
        "list_audio_outputs",
        json!({}),
        expect![[r#"
        outputs:
          - volume 60  muted false  output speakers  description "Built-in speakers"  default true
          - volume 100  muted true  output headset  description "USB headset"  default false
    "#]],
    );
}

#[test]
fn changing() {
    check(
        plain,
        "set_volume",
        json!({ "volume": 40 }),
        expect![[r#"
        effect: confirmed
        evidence: "volume 60 → 40"
        volume: 40
        muted: false
        output: speakers
        description: "Built-in speakers"
        default: true
        > volume speakers 40
    "#]],
    );
    check(
        plain,
        "set_volume",
        json!({ "level": 0, "output": "USB headset" }),
        expect![[r#"
        effect: confirmed
        evidence: "volume 100 → 0"
        reason: "It is muted, so nothing is heard: set_mute with false changes that."
        volume: 0
        muted: true
        output: headset
        description: "USB headset"
        default: false
        > volume headset 0
    "#]],
    );
    check(
        plain,
        "set_mute",
        json!({ "mute": true }),
        expect![[r#"
        effect: confirmed
        evidence: "muted false → true"
        volume: 60
        muted: true
        output: speakers
        description: "Built-in speakers"
        default: true
        > mute speakers true
    "#]],
    );
    check(
        plain,
        "set_audio_output",
        json!({ "name": "usb" }),
        expect![[r#"
        effect: confirmed
        evidence: "headset is the default output"
        volume: 100
        muted: true
        output: headset
        description: "USB headset"
        default: true
        > default headset
    "#]],
    );
}

#[test]
fn what_is_out_of_range_is_refused_before_anything_happens() {
    for wrong in [json!(-1), json!(101), json!(1e9), json!(50.5), json!("loud")] {
        let desk = Desk::new();
        let error = desk.error("set_volume", json!({ "volume": wrong }));
        assert_eq!(error.code, Code::InvalidArgument, "{wrong}: {error:?}");
        assert!(error.message.contains("from 0 to 100"), "{error:?}");
        assert_eq!(desk.control.log(), Vec::<String>::new());
    }
    check(
        plain,
        "set_volume",
        json!({ "volume": 101 }),
        expect![[r#"
        invalid_argument: The arguments do not fit: volume has to be an integer from 0 to 100, not the integer 101.
          expected: volume: an integer from 0 to 100, output?: a string
    "#]],
    );
    check(
        plain,
        "set_volume",
        json!({}),
        expect![[r#"
        missing_required_parameter: The arguments do not fit: volume (an integer from 0 to 100) is required.
          expected: volume: an integer from 0 to 100, output?: a string
    "#]],
    );
    check(
        plain,
        "get_volume",
        json!({ "output": "radio" }),
        expect![[r#"
        invalid_argument: No audio output is called "radio".
          expected: an output's name, or a unique part of its description
          found: speakers (Built-in speakers); headset (USB headset)
          remedy: List them with list_audio_outputs, or leave the output out for the default one.
    "#]],
    );
    check(
        plain,
        "get_volume",
        json!({ "output": "s" }),
        expect![[r#"
        ambiguous_target: Several audio outputs fit "s".
          found: speakers (Built-in speakers); headset (USB headset)
          remedy: Pass the whole name of one.
    "#]],
    );
}

#[test]
fn an_order_without_effect_is_told() {
    let ignoring = |desk: &Desk| desk.control.change(|world| world.ignore_audio(true));
    check(
        ignoring,
        "set_volume",
        json!({ "volume": 40 }),
        expect![[r#"
        effect: no_change_seen
        reason: "The audio server took the order, and the volume reads 60."
        volume: 60
        muted: false
        output: speakers
        description: "Built-in speakers"
        default: true
        > volume speakers 40
    "#]],
    );
    check(
        ignoring,
        "set_mute",
        json!({ "muted": true }),
        expect![[r#"
        effect: no_change_seen
        reason: "The audio server took the order, and muted reads false."
        volume: 60
        muted: false
        output: speakers
        description: "Built-in speakers"
        default: true
        > mute speakers true
    "#]],
    );
    check(
        ignoring,
        "set_audio_output",
        json!({ "output": "headset" }),
        expect![[r#"
        effect: no_change_seen
        reason: "The audio server took the order, and another output is still the default one."
        volume: 100
        muted: true
        output: headset
        description: "USB headset"
        default: false
        > default headset
    "#]],
    );
}

#[test]
fn nothing_to_hear() {
    let silent = |desk: &Desk| desk.control.change(|world| world.set_audio_outputs(Vec::new()));
    check(
        silent,
        "get_volume",
        json!({}),
        expect![[r#"
        backend: There is no audio output.
          remedy: Plug one in.
    "#]],
    );
    check(
        silent,
        "list_audio_outputs",
        json!({}),
        expect![[r#"
        outputs:
    "#]],
    );
}
