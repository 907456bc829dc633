//! The window tools under different window managers: what the reply says is held against what the X server
//! and the window itself say.

#![cfg(target_os = "linux")]

mod stage;

use serde_json::{Value, json};
use stage::Stage;
use stage::scene::Scene;

/// What a program of the X server's own tools says about the desktop.
fn ask(scene: &Scene, program: &str, arguments: &[&str]) -> String {
    let output = scene.desktop.command(program).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn state(scene: &Scene) -> String {
    ask(scene, "xprop", &["-id", &scene.window.to_string(), "_NET_WM_STATE", "WM_STATE"])
}

fn bounds(window: &Value) -> [i64; 4] {
    ["x", "y", "width", "height"].map(|side| window["bounds"][side].as_i64().unwrap())
}

fn work_windows(manager: &str) {
    if !std::path::Path::new("/usr/bin").join(manager).exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{manager} is missing");
        eprintln!("SKIPPED: {manager} is missing.");
        return;
    }
    let Some(mut scene) = Scene::open_on(&["--window-manager", manager], "gtk3") else { return };
    let window = scene.window.clone();
    let this = |more: Value| {
        let mut arguments = json!({ "window": window });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };

    scene.client.confirmed("set_window", this(json!({ "x": 60, "y": 50, "width": 900, "height": 640 })));
    let now = scene.client.call("get_window", this(json!({})));
    assert_eq!(bounds(&now), [60, 50, 900, 640], "{now}");
    scene.client.confirmed("move_window", this(json!({ "x": 100, "y": 80 })));
    scene.client.confirmed("resize_window", this(json!({ "width": 940, "height": 680 })));
    let geometry = ask(&scene, "wmctrl", &["-lG"]);
    let line = geometry.lines().find(|line| line.contains("Stage (gtk3)")).unwrap_or_default().to_owned();
    let shown = scene.client.call("get_window", this(json!({})));
    assert_eq!(bounds(&shown), [100, 80, 940, 680], "{shown} beside {line}");

    scene.client.confirmed("set_window", this(json!({ "state": "maximized" })));
    assert!(state(&scene).contains("_NET_WM_STATE_MAXIMIZED_VERT"), "{}", state(&scene));
    scene.client.confirmed("restore_window", this(json!({})));
    let now = scene.client.call("get_window", this(json!({})));
    assert_eq!(bounds(&now), [100, 80, 940, 680], "{now}");
    scene.client.confirmed("set_window", this(json!({ "state": "fullscreen" })));
    let now = scene.client.call("get_window", this(json!({})));
    assert_eq!((bounds(&now), &now["state"]), ([0, 0, 1280, 800], &json!("fullscreen")), "{now}");
    scene.client.confirmed("set_window", this(json!({ "state": "normal" })));

    // What was maximized before it was minimized comes back as that, unless its own size is asked for.
    for (tool, state, size) in [
        ("restore_window", json!({}), None),
        ("set_window", json!({ "state": "normal" }), Some([100, 80, 940, 680])),
    ] {
        scene.client.confirmed("set_window", this(json!({ "state": "maximized" })));
        scene.client.confirmed("minimize_window", this(json!({})));
        scene.client.confirmed(tool, this(state));
        let now = scene.client.call("get_window", this(json!({})));
        match size {
            None => assert_eq!(now["state"], "maximized", "{tool}: {now}"),
            Some(size) => assert_eq!(bounds(&now), size, "{tool}: {now}"),
        }
    }

    // What is minimized has no place to click at, and an element's own action needs none.
    scene.client.confirmed("minimize_window", this(json!({})));
    assert!(state(&scene).contains("window state: Iconic"), "{}", state(&scene));
    let ok = this(json!({ "element": "button[name=\"OK\"]" }));
    scene.client.refused("window_minimized", "click", ok.clone());
    scene.client.refused("window_minimized", "take_screenshot", this(json!({})));
    scene.client.confirmed("restore_window", this(json!({})));
    assert!(state(&scene).contains("window state: Normal"), "{}", state(&scene));
    let mark = scene.stage.mark();
    scene.client.call("click", ok);
    scene.stage.wait_since(mark, "click", |event| event["event"] == "click" && event["widget"] == "ok");

    // A second window: one name for both is ambiguous, and says which there are.
    let other = Stage::start("qt5", |program| scene.desktop.command(program));
    let appears = json!({ "window_title": other.title, "timeout_ms": 20_000 });
    let second = scene.client.call("wait_for", appears)["window"]["id"].clone();
    let ambiguous = scene.client.refused("ambiguous_target", "focus_window", json!({ "window": "Stage" }));
    assert!(ambiguous["detail"]["found"].as_array().is_some_and(|all| all.len() == 2), "{ambiguous}");
    for name in [
        json!("Stage (gtk3)"),
        json!("gtk3"),
        scene.client.call("get_window", this(json!({})))["name"].clone(),
    ] {
        scene.client.confirmed("focus_window", json!({ "window": second }));
        scene.client.confirmed("focus_window", json!({ "window": name }));
        let active = ask(&scene, "xprop", &["-root", "_NET_ACTIVE_WINDOW"]);
        let id = format!("{:#x}", window.as_u64().unwrap());
        assert!(active.contains(&id), "{name}: {active} is not {id}");
    }
    scene.client.refused("window_not_found", "focus_window", json!({ "window": "Nowhere" }));

    scene.client.confirmed("close_window", json!({ "window": second }));
    other.wait_for("close", |event| event["event"] == "close");
    let titles = scene.client.call("list_windows", json!({})).to_string();
    assert!(titles.contains("Stage (gtk3)") && !titles.contains("Stage (qt5)"), "{titles}");
    scene.client.confirmed("set_window", this(json!({ "state": "closed" })));
    scene.client.refused("window_not_found", "get_window", this(json!({})));
}

#[test]
fn openbox() {
    work_windows("openbox");
}

#[test]
fn xfwm4() {
    work_windows("xfwm4");
}
