//! Several monitors: which is which, and that points and pictures find theirs, proven by what the window
//! there wrote down.

#![cfg(target_os = "linux")]

mod stage;
#[path = "../../linux/tests/xorg/mod.rs"]
mod xorg;

use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::scene::{Scene, near};
use std::process::Command;
use xorg::{Xorg, mouse_and_keyboard};

/// The bounds of each display, in the order of their index.
fn displays(scene: &mut Scene) -> Vec<[i64; 4]> {
    let answer = scene.client.call("list_displays", json!({}));
    let displays = answer["displays"].as_array().unwrap();
    assert_eq!(displays[0]["primary"], true, "{answer}");
    let bounds = |(index, display): (usize, &Value)| {
        assert_eq!(display["index"], index, "{answer}");
        ["x", "y", "width", "height"].map(|side| display["bounds"][side].as_i64().unwrap())
    };
    displays.iter().enumerate().map(bounds).collect()
}

/// Moves the window to a display and clicks its canvas by each way there is to name a point.
fn click_on(scene: &mut Scene, display: usize, [left, top, width, height]: [i64; 4]) {
    let window = scene.window.clone();
    let place = |scene: &mut Scene| {
        let bounds = scene.client.call("get_window", json!({ "window": window }))["bounds"].clone();
        (bounds["x"].as_i64().unwrap(), bounds["y"].as_i64().unwrap())
    };
    let before = place(scene);
    scene.client.confirmed("set_window", json!({ "window": window, "x": left + 20, "y": top + 20 }));
    let after = place(scene);
    scene.moved(after.0 - before.0, after.1 - before.1);
    let now = scene.client.call("get_window", json!({ "window": window }));
    assert_eq!(now["display"], display, "{now}");

    let (x, y) = scene.point("canvas", 20, 20);
    let picture =
        scene.client.call("take_screenshot", json!({ "display": display.to_string(), "max_width": 512 }));
    let picture = picture.as_str().unwrap();
    let image = picture.split_once("image=").unwrap().1.split([' ', ',', '.']).next().unwrap();
    let scale = (512.0 / width as f64).min(1.0);
    let ways = [
        json!({ "x": x, "y": y }),
        json!({ "x": x - left, "y": y - top, "display": display.to_string() }),
        json!({ "x": x - after.0, "y": y - after.1, "window": window }),
        json!({
            "x": ((x - left) as f64 * scale).round(), "y": ((y - top) as f64 * scale).round(), "image": image,
        }),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mark = scene.stage.mark();
        // Another button each time, so that no two are a double click.
        let buttons = ["left", "middle", "right", "back"];
        let mut way = way;
        way["button"] = json!(buttons[number]);
        let answer = scene.client.call("click", way.clone());
        assert_eq!(answer["pointer"]["display"], display, "{way}: {answer}");
        scene.stage.wait_since(mark, "click on the canvas", |event| {
            event["event"] == "click" && event["widget"] == "canvas" && near(event, (20, 20), 3)
        });
    }
    let outside = json!({ "x": width, "y": height / 2, "display": display.to_string() });
    let refused = scene.client.refused("coordinates_out_of_bounds", "click", outside);
    assert!(
        refused["detail"]["expected"].as_str().unwrap().contains(&format!("0 <= x < {width}")),
        "{refused}"
    );
    let file = std::env::temp_dir().join(format!("deskhand-display-{}-{display}.png", std::process::id()));
    let whole = json!({
        "display": display.to_string(), "file_path": file, "max_width": 0, "max_height": 0, "max_bytes": 0,
    });
    let shot = scene.client.call("take_screenshot", whole);
    assert_eq!((&shot["width"], &shot["height"]), (&json!(width), &json!(height)), "{shot}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn two_monitors() {
    let Some(mut scene) = Scene::open_on(&["--size", "1280x800,1024x768"], "gtk3") else { return };
    let all = displays(&mut scene);
    assert_eq!(all, [[0, 0, 1280, 800], [1280, 0, 1024, 768]]);
    for (index, bounds) in all.into_iter().enumerate() {
        click_on(&mut scene, index, bounds);
    }
    // Beside the second, which is lower than the first, there is nothing.
    let refused =
        scene.client.refused("coordinates_out_of_bounds", "move_mouse", json!({ "x": 1400, "y": 790 }));
    assert!(refused["detail"]["found"].as_array().is_some_and(|all| all.len() == 2), "{refused}");
    scene.client.refused("display_not_found", "click", json!({ "x": 1, "y": 1, "display": "7" }));
    let to = json!({ "window": scene.window, "display": "0" });
    scene.client.confirmed("set_window", to);
    let now = scene.client.call("get_window", json!({ "window": scene.window }));
    assert_eq!(now["display"], 0, "{now}");
}

/// Works the monitors of an Xorg server, which can be plugged in; those of Xvfb cannot.
fn xrandr(xorg: &Xorg, arguments: &str) -> bool {
    let arguments = arguments.split(' ');
    Command::new("xrandr").args(["-d", &xorg.display]).args(arguments).output().unwrap().status.success()
}

#[test]
fn a_monitor_left_of_the_primary_and_one_that_comes_and_goes() {
    let Some(xorg) = Xorg::with_room("monitors", (4096, 2048), &mouse_and_keyboard()) else { return };
    assert!(xrandr(&xorg, "--addmode DUMMY1 1024x768"));
    let left_of_primary = "--output DUMMY1 --mode 1024x768 --pos 0x0 --output DUMMY0 --primary --pos 1024x0";
    assert!(xrandr(&xorg, left_of_primary));
    // The bus and the settings of a private desktop, with the windows on this server.
    let mut desktop = PrivateDesktop::start(&[]);
    for (name, value) in &mut desktop.environment {
        match &**name {
            "DISPLAY" => *value = xorg.display.clone(),
            "XAUTHORITY" => value.clear(),
            _ => {}
        }
    }
    let mut manager = desktop.command("openbox").arg("--sm-disable").spawn().unwrap();
    let mut scene = Scene::of(desktop, "gtk3");
    assert_eq!(displays(&mut scene), [[1024, 0, 1280, 1024], [0, 0, 1024, 768]]);
    click_on(&mut scene, 0, [1024, 0, 1280, 1024]);
    click_on(&mut scene, 1, [0, 0, 1024, 768]);

    // The next call knows of a monitor that has come or gone.
    assert!(xrandr(&xorg, "--addmode DUMMY2 1024x768"));
    assert!(xrandr(&xorg, "--output DUMMY2 --mode 1024x768 --pos 2304x0"));
    assert_eq!(displays(&mut scene).len(), 3);
    click_on(&mut scene, 2, [2304, 0, 1024, 768]);
    scene.client.confirmed("set_window", json!({ "window": scene.window, "display": "0" }));
    assert!(xrandr(&xorg, "--output DUMMY2 --off"));
    assert_eq!(displays(&mut scene).len(), 2);
    scene.client.refused("coordinates_out_of_bounds", "click", json!({ "x": 2400, "y": 10 }));
    drop(scene);
    manager.kill().unwrap();
    manager.wait().unwrap();
}
