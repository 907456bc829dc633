//! The tool catalogue through MCP under its profile, a test for each tool, named after it: its own names, its
//! own parameters, and what the applications, the X server and the services say of the effect.

#![cfg(target_os = "linux")]

mod stage;

use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use stage::picture::picture;
use stage::scene::{Scene, near};
use stage::session::{self, output, pointer, wait};
use std::time::Duration;

const CATALOGUE: &[&str] = &["--profile", "catalogue"];

/// The stage with a client of the catalogue.
fn scene(toolkit: &str) -> Option<Scene> {
    Scene::under(CATALOGUE, toolkit)
}

/// A desktop without a window, with a client of the catalogue.
fn bare(needed: &[&str]) -> Option<(Client, PrivateDesktop)> {
    session::bare(CATALOGUE, needed, &[])
}

/// A client of the catalogue on no desktop: scripts need none.
fn nowhere(rules: &[&str]) -> Client {
    Client::nowhere(&[CATALOGUE, rules].concat())
}

/// The application of the stage, as a parent.
fn application(scene: &mut Scene) -> String {
    let window = scene.client.call("get_window", json!({ "name": scene.window.to_string() }));
    format!("applications/{}", window["pid"])
}

// ---- Screenshots -------------------------------------------------------------------------------------------

/// The whole screen in its own size; smaller when that is asked for; and with the text that is seen in it.
#[test]
fn tc_capture_screenshot_shows_the_screen_or_a_window() {
    let Some(mut scene) = scene("gtk3") else { return };
    let whole = picture(&mut scene.client, "capture_screenshot", json!({ "format": "png" }));
    assert_eq!((whole.mime.as_str(), whole.width, whole.height), ("image/png", 1280, 800));
    let small = json!({ "max_width": 640, "max_height": 640, "display_id": 0 });
    let small = picture(&mut scene.client, "capture_screenshot", small);
    assert_eq!((small.width, small.height), (640, 400));
    let bounds =
        scene.client.call("get_window", json!({ "name": scene.window.to_string() }))["bounds"].clone();
    let seen = json!({ "window_id": scene.window, "include_ocr": true, "format": "jpeg" });
    let seen = picture(&mut scene.client, "capture_screenshot", seen);
    assert_eq!(json!([seen.width, seen.height]), json!([bounds["width"], bounds["height"]]));
    assert_eq!(seen.mime, "image/jpeg");
    assert!(seen.text.contains("Remember"), "{}", seen.text);
}

/// Just the region, in pixels of the display.
#[test]
fn tc_capture_region_screenshot_shows_the_region() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let region = json!({ "x": 100, "y": 50, "width": 320, "height": 201, "display_id": 0, "format": "png" });
    let region = picture(&mut client, "capture_region_screenshot", region);
    assert_eq!((region.width, region.height), (320, 201));
    let beside = json!({ "x": 1270, "y": 0, "width": 100, "height": 100, "format": "png" });
    client.refused("coordinates_out_of_bounds", "capture_region_screenshot", beside);
}

/// A window by its resource name; what has no effect is said.
#[test]
fn tc_capture_window_screenshot_shows_the_window() {
    let Some(mut scene) = scene("gtk3") else { return };
    let window = scene.client.call("get_window", json!({ "name": scene.window.to_string() }));
    let asked = json!({
        "window": window["name"], "format": "jpeg", "quality": 60, "include_shadow": true, "include_ocr": false,
    });
    let shown = picture(&mut scene.client, "capture_window_screenshot", asked);
    let bounds = &window["bounds"];
    assert_eq!(json!([shown.width, shown.height]), json!([bounds["width"], bounds["height"]]));
    assert!(shown.text.contains("include_shadow"), "{}", shown.text);
    scene.client.refused("window_not_found", "capture_window_screenshot", json!({ "window": "Nowhere" }));
}

/// A part of the screen around a point, larger.
#[test]
fn tc_zoom_shows_a_part_in_full_detail() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let near = picture(&mut client, "zoom", json!({ "coordinate": [640, 400], "scale": 4.0 }));
    assert_eq!((near.width, near.height), (320, 200), "{}", near.text);
    assert!(near.text.contains("320x200 at (480, 300)"), "{}", near.text);
}

// ---- Input -------------------------------------------------------------------------------------------------

/// The button and the count that were asked for arrive at the point.
#[test]
fn tc_click_clicks_at_the_point() {
    let Some(mut scene) = scene("gtk3") else { return };
    let there = json!({ "button": "right", "click_count": 2, "show_animation": true });
    let there = scene.on_canvas(50, 60, there);
    let answer = scene.client.call("click", there);
    assert_eq!(answer["ignored"], json!(["show_animation"]), "{answer}");
    let click = scene.stage.wait_for("two clicks", |event| event["event"] == "click" && event["count"] == 2);
    assert!(click["button"] == 3 && near(&click, (50, 60), 1), "{click}");
}

/// What is typed arrives; with shift held it arrives as shifted.
#[test]
fn tc_type_text_types_with_modifiers_too() {
    let Some(mut scene) = scene("gtk3") else { return };
    let entry = scene.named("Name")["ref"].clone();
    scene.client.call("click_element", json!({ "element_id": entry }));
    scene.stage.wait_for("focus", |event| event["event"] == "focus" && event["widget"] == "entry");
    scene.client.call("type_text", json!({ "text": "naïve " }));
    scene.client.call("type_text", json!({ "text": "ab", "modifiers": ["shift"] }));
    scene.stage.wait_for("the text", |event| event["widget"] == "entry" && event["text"] == "naïve AB");
}

/// A key arrives with its modifiers.
#[test]
fn tc_press_key_presses_a_combination() {
    let Some(mut scene) = scene("gtk3") else { return };
    let there = scene.on_canvas(20, 20, json!({}));
    scene.client.call("click", there);
    scene.client.call("press_key", json!({ "key": "F5", "modifiers": ["ctrl", "shift"] }));
    let key = scene.stage.wait_for("the key", |event| event["event"] == "key" && event["key"] == "f5");
    assert_eq!(key["modifiers"], json!(["ctrl", "shift"]), "{key}");
}

/// The pointer goes there on a way of many steps, in about the time that was asked for.
#[test]
fn tc_mouse_move_moves_smoothly() {
    let Some(mut scene) = scene("gtk3") else { return };
    let start = scene.on_canvas(5, 5, json!({}));
    scene.client.confirmed("mouse_move", start);
    let mark = scene.stage.mark();
    let there = scene.on_canvas(90, 70, json!({ "smooth": true, "duration_ms": 200 }));
    let wanted = (there["x"].as_i64().unwrap(), there["y"].as_i64().unwrap());
    let began = std::time::Instant::now();
    scene.client.confirmed("mouse_move", there);
    let took = began.elapsed();
    assert!(Duration::from_millis(200) <= took && took < Duration::from_secs(2), "{took:?}");
    scene.stage.wait_since(mark, "the end", |event| event["event"] == "motion" && near(event, (90, 70), 0));
    assert_eq!(pointer(&scene.desktop), wanted);
    let events = scene.stage.events();
    let steps = events.iter().skip(mark).filter(|event| event["event"] == "motion").count();
    assert!(4 < steps, "{steps} steps: {:#?}", &events[mark..]);
}

/// Pixels to scroll move what lies under the point.
#[test]
fn tc_scroll_scrolls_at_the_point() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (x, y) = scene.point("rows", 30, 30);
    let scrolled = scene.client.call("scroll", json!({ "x": x, "y": y, "delta_x": 0, "delta_y": 120 }));
    assert!(scrolled["delivered"].is_string(), "{scrolled}");
    let moved = |event: &Value| event["event"] == "scroll" && 0 < event["y"].as_i64().unwrap();
    scene.stage.wait_for("the rows moving", moved);
}

/// What is dragged is dropped where it was to go.
#[test]
fn tc_drag_drops_what_it_took() {
    let Some(mut scene) = scene("gtk3") else { return };
    let place = |widget: &str| {
        let (_, _, width, height) = scene.stage.place(widget);
        scene.point(widget, width / 2, height / 2)
    };
    let (start, end) = (place("source"), place("target"));
    let way = json!({
        "start_x": start.0, "start_y": start.1, "end_x": end.0, "end_y": end.1, "duration_ms": 400,
    });
    scene.client.call("drag", way);
    scene.stage.wait_for("the drop", |event| event["event"] == "drop" && event["text"] == "cargo");
}

/// The pointer stays there for the time, in seconds.
#[test]
fn tc_hover_stays_over_the_point() {
    let Some(mut scene) = scene("gtk3") else { return };
    let there = scene.on_canvas(40, 40, json!({ "duration": 0.3 }));
    let wanted = (there["x"].as_i64().unwrap(), there["y"].as_i64().unwrap());
    let began = std::time::Instant::now();
    scene.client.confirmed("hover", there);
    assert!(Duration::from_millis(300) <= began.elapsed(), "{:?}", began.elapsed());
    assert_eq!(pointer(&scene.desktop), wanted);
}

/// Where there is no touch device, the reason and the remedy; fingers are tested beside the providers.
#[test]
fn tc_gesture_says_what_it_needs() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let pinch = json!({
        "center_x": 300, "center_y": 300, "gesture_type": "pinch", "scale": 2.0, "rotation": 0,
        "finger_count": 2,
    });
    let (fine, answer) = client.try_call("gesture", pinch);
    let told = answer["code"] == "unsupported" || answer["code"] == "permission_denied";
    let refused = !fine && told && answer["detail"]["remedy"].is_string();
    assert!(refused || (fine && answer["touches"] == 2), "{answer}");
    client.refused("missing_required_parameter", "gesture", json!({ "center_x": 1, "center_y": 1 }));
}

/// Where the pointer is, as the X server says it.
#[test]
fn tc_cursor_position_is_the_pointers() {
    let Some((mut client, desktop)) = bare(&["xdotool"]) else { return };
    assert!(desktop.command("xdotool").args(["mousemove", "321", "123"]).status().unwrap().success());
    let told = client.call("cursor_position", json!({}));
    assert_eq!(json!([told["x"], told["y"]]), json!([321, 123]), "{told}");
}

/// A button goes down and stays down until it is told to go up.
#[test]
fn tc_left_mouse_down_holds_the_button() {
    let Some(mut scene) = scene("gtk3") else { return };
    let there = scene.on_canvas(30, 30, json!({}));
    scene.client.call("left_mouse_down", there);
    let press = scene.stage.wait_for("the press", |event| event["event"] == "press");
    assert!(press["button"] == 1 && near(&press, (30, 30), 1), "{press}");
    scene.settle();
    let events = scene.stage.events();
    assert!(!events.iter().any(|event| event["event"] == "release"), "{events:#?}");
    let motion = events.iter().rev().find(|event| event["event"] == "motion").unwrap();
    assert_eq!(motion["buttons"], json!([1]), "{motion}");
}

/// What was held is let go of.
#[test]
fn tc_left_mouse_up_lets_go() {
    let Some(mut scene) = scene("gtk3") else { return };
    let there = scene.on_canvas(30, 30, json!({}));
    scene.client.call("left_mouse_down", there);
    let there = scene.on_canvas(60, 40, json!({}));
    scene.client.call("left_mouse_up", there);
    let release = scene.stage.wait_for("the release", |event| event["event"] == "release");
    assert!(release["button"] == 1 && near(&release, (60, 40), 1), "{release}");
}

/// A key is held for its time, in seconds, and then let go of.
#[test]
fn tc_hold_key_holds_for_its_time() {
    let Some(mut scene) = scene("gtk3") else { return };
    let there = scene.on_canvas(20, 20, json!({}));
    scene.client.call("click", there);
    let began = std::time::Instant::now();
    let held = scene.client.call("hold_key", json!({ "key": "shift", "duration": 0.4 }));
    assert!(held.to_string().contains("shift"), "{held}");
    for down in [true, false] {
        scene.stage.wait_for("shift", |event| {
            event["event"] == "key" && event["key"] == "shift" && event["down"] == down
        });
    }
    assert!(Duration::from_millis(400) <= began.elapsed(), "{:?}", began.elapsed());
}

// ---- Elements ----------------------------------------------------------------------------------------------

/// By role, title and identifier, below a parent, in pages.
#[test]
fn tc_find_elements_finds_by_role_and_title() {
    let Some(mut scene) = scene("gtk3") else { return };
    let parent = application(&mut scene);
    let found = json!({ "parent": parent, "role": "button", "title": "OK" });
    let found = scene.client.call("find_elements", found);
    assert_eq!(found["elements"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["elements"][0]["name"], "OK");
    let page = json!({ "parent": parent, "role": "label", "page_size": 3 });
    let first = scene.client.call("find_elements", page.clone());
    assert_eq!(
        (first["elements"].as_array().unwrap().len(), &first["truncated"]),
        (3, &json!(true)),
        "{first}"
    );
    let mut next = page;
    next["page_token"] = first["next_page_token"].clone();
    let second = scene.client.call("find_elements", next);
    assert_ne!(first["elements"][0]["ref"], second["elements"][0]["ref"]);
}

/// One element with all that is known of it.
#[test]
fn tc_get_element_tells_of_one() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (parent, check) = (application(&mut scene), scene.named("Remember")["ref"].clone());
    let told = scene.client.call("get_element", json!({ "parent": parent, "element_id": check }));
    assert_eq!((&told["role"], &told["name"]), (&json!("check_box"), &json!("Remember")), "{told}");
    assert!(told["bounds"]["width"].is_number() && told["states"].is_array(), "{told}");
}

/// The actions that it declares.
#[test]
fn tc_get_element_actions_lists_them() {
    let Some(mut scene) = scene("gtk3") else { return };
    let ok = scene.named("OK")["ref"].clone();
    let told = scene.client.call("get_element_actions", json!({ "element_id": ok }));
    assert_eq!(told["actions"], json!(["Click"]), "{told}");
}

/// The application sees the click.
#[test]
fn tc_click_element_clicks_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (parent, ok) = (application(&mut scene), scene.named("OK")["ref"].clone());
    scene.client.call("click_element", json!({ "parent": parent, "element_id": ok }));
    scene.stage.wait_for("the click", |event| event["event"] == "click" && event["widget"] == "ok");
}

/// A value is set and read back.
#[test]
fn tc_write_element_value_sets_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let slider = scene.named("Volume")["ref"].clone();
    scene.client.confirmed("write_element_value", json!({ "element_id": slider, "value": "73" }));
    scene.stage.wait_for("the value", |event| event["event"] == "value" && event["value"] == 73.0);
    let entry = scene.named("Name")["ref"].clone();
    scene.client.confirmed("write_element_value", json!({ "element_id": entry, "value": "Жук" }));
    scene.stage.wait_for("the text", |event| event["widget"] == "entry" && event["text"] == "Жук");
}

/// An action by its name.
#[test]
fn tc_perform_element_action_performs_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let ok = scene.named("OK")["ref"].clone();
    scene.client.call("perform_element_action", json!({ "element_id": ok, "action": "click" }));
    scene.stage.wait_for("the click", |event| event["event"] == "click" && event["widget"] == "ok");
    let wrong = json!({ "element_id": ok, "action": "explode" });
    let refused = scene.client.try_call("perform_element_action", wrong).1;
    assert_eq!(refused["detail"]["found"], json!(["Click"]), "{refused}");
}

// ---- Windows -----------------------------------------------------------------------------------------------

/// All windows, those of an application, and in pages.
#[test]
fn tc_list_windows_lists_them() {
    let Some(mut scene) = scene("gtk3") else { return };
    let parent = application(&mut scene);
    let second = stage::Stage::start("qt5", |program| scene.desktop.command(program));
    let titles = |listed: &Value| -> Vec<String> {
        let windows = listed["windows"].as_array().unwrap().iter();
        windows.map(|window| window["title"].as_str().unwrap().to_owned()).collect()
    };
    let both = [second.title.clone(), "Stage (gtk3)".to_owned()];
    wait("both windows", || (titles(&scene.client.call("list_windows", json!({}))) == both).then_some(()));
    let own = scene.client.call("list_windows", json!({ "parent": parent }));
    assert_eq!(titles(&own), both[1..], "{own}");
    let mut paged = Vec::new();
    let mut page = json!({ "page_size": 1 });
    while !page.is_null() {
        let listed = scene.client.call("list_windows", page);
        assert_eq!(titles(&listed).len(), 1, "{listed}");
        paged.extend(titles(&listed));
        let token = &listed["next_page_token"];
        page = if token.is_null() { Value::Null } else { json!({ "page_size": 1, "page_token": token }) };
    }
    assert_eq!(paged, both);
    let beyond = json!({ "parent": parent, "page_token": "made-up" });
    scene.client.refused("invalid_argument", "list_windows", beyond);
}

/// By its resource name, as listed.
#[test]
fn tc_get_window_tells_of_one() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = scene.client.call("list_windows", json!({}))["windows"][0]["name"].clone();
    assert!(name.as_str().unwrap().starts_with("applications/"), "{name}");
    let told = scene.client.call("get_window", json!({ "name": name }));
    assert_eq!(told["id"], scene.window);
    scene.client.refused("window_not_found", "get_window", json!({ "name": "applications/1/windows/1" }));
}

/// The X server says which window is active.
#[test]
fn tc_focus_window_activates_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let second = stage::Stage::start("qt5", |program| scene.desktop.command(program));
    let active = |scene: &Scene| output(&scene.desktop, "xdotool", &["getactivewindow", "getwindowname"]);
    wait("the second window", || active(&scene).contains(&second.title).then_some(()));
    scene.client.confirmed("focus_window", json!({ "name": scene.window.to_string() }));
    assert_eq!(active(&scene).trim(), scene.stage.title);
}

/// What the window manager made of it, as the X server has it.
#[test]
fn tc_move_window_moves_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let moved = json!({ "name": scene.window.to_string(), "x": 140, "y": 90 });
    scene.client.confirmed("move_window", moved);
    assert_eq!(session::frame(&scene.desktop, &scene.window)[..2], [140, 90]);
}

/// The window has the size.
#[test]
fn tc_resize_window_resizes_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let sized = json!({ "name": scene.window.to_string(), "width": 1000, "height": 700 });
    scene.client.confirmed("resize_window", sized);
    assert_eq!(session::frame(&scene.desktop, &scene.window)[2..], [1000, 700]);
}

/// The window manager has it minimized.
#[test]
fn tc_minimize_window_minimizes_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    scene.client.confirmed("minimize_window", json!({ "name": scene.window.to_string() }));
    let state = output(&scene.desktop, "xprop", &["-id", &scene.window.to_string(), "WM_STATE"]);
    assert!(state.contains("Iconic"), "{state}");
}

/// What was minimized shows again.
#[test]
fn tc_restore_window_shows_it_again() {
    let Some(mut scene) = scene("gtk3") else { return };
    scene.client.confirmed("minimize_window", json!({ "name": scene.window.to_string() }));
    scene.client.confirmed("restore_window", json!({ "name": scene.window.to_string() }));
    let state = output(&scene.desktop, "xprop", &["-id", &scene.window.to_string(), "WM_STATE"]);
    assert!(state.contains("Normal"), "{state}");
}

/// The application is asked to close it, and does.
#[test]
fn tc_close_window_closes_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    scene.client.confirmed("close_window", json!({ "name": scene.window.to_string() }));
    scene.stage.wait_for("the end", |event| event["event"] == "close");
}

// ---- Displays ----------------------------------------------------------------------------------------------

/// Every display, with a name, a place and a size.
#[test]
fn tc_list_displays_lists_them() {
    let Some(desktop) = bare(&[]).map(|_| PrivateDesktop::start(&["--size", "1280x800,1024x768"])) else {
        return;
    };
    let mut client = Client::with_options(|program| desktop.command(program), CATALOGUE);
    let first = client.call("list_displays", json!({ "page_size": 1 }));
    assert_eq!(first["displays"].as_array().unwrap().len(), 1, "{first}");
    let rest = client.call("list_displays", json!({ "page_token": first["next_page_token"] }));
    let bounds = &rest["displays"][0]["bounds"];
    assert_eq!(json!([bounds["x"], bounds["width"], bounds["height"]]), json!([1280, 1024, 768]), "{rest}");
}

/// One display by its resource name.
#[test]
fn tc_get_display_tells_of_one() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let told = client.call("get_display", json!({ "name": "displays/0" }));
    assert_eq!(json!([told["bounds"]["width"], told["primary"]]), json!([1280, true]), "{told}");
    client.refused("display_not_found", "get_display", json!({ "name": "displays/7" }));
}

// ---- Clipboard ---------------------------------------------------------------------------------------------

/// What another program copied.
#[test]
fn tc_get_clipboard_reads_it() {
    let Some((mut client, desktop)) = bare(&["xclip"]) else { return };
    let copied = "printf 'naïve' | xclip -selection clipboard -in";
    assert!(desktop.command("sh").args(["-c", copied]).status().unwrap().success());
    // xclip goes on in the background, and takes the clipboard there.
    wait("the copy", || (client.call("get_clipboard", json!({}))["text"] == "naïve").then_some(()));
}

/// What another program pastes.
#[test]
fn tc_write_clipboard_sets_it() {
    let Some((mut client, desktop)) = bare(&["xclip"]) else { return };
    client.confirmed("write_clipboard", json!({ "text": "<b>Жук</b>", "type": "text" }));
    assert_eq!(output(&desktop, "xclip", &["-selection", "clipboard", "-o"]), "<b>Жук</b>");
    client.confirmed("write_clipboard", json!({ "text": "<b>Жук</b>", "type": "html" }));
    let html = output(&desktop, "xclip", &["-selection", "clipboard", "-o", "-t", "text/html"]);
    assert!(html.ends_with("<b>Жук</b>"), "{html}");
}

/// Nothing is left on it.
#[test]
fn tc_clear_clipboard_empties_it() {
    let Some((mut client, desktop)) = bare(&["xclip"]) else { return };
    client.confirmed("write_clipboard", json!({ "text": "gone soon" }));
    client.confirmed("clear_clipboard", json!({}));
    assert_eq!(output(&desktop, "xclip", &["-selection", "clipboard", "-o"]), "");
}

/// What was copied while it was asked to watch, newest first, by limit and offset.
#[test]
fn tc_get_clipboard_history_remembers_while_asked() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    client.call("get_clipboard_history", json!({ "watch": true }));
    for text in ["one", "two", "three"] {
        client.confirmed("write_clipboard", json!({ "text": text }));
        wait("the history", || {
            let history = client.call("get_clipboard_history", json!({ "limit": 1 }));
            history.to_string().contains(text).then_some(())
        });
    }
    let second = client.call("get_clipboard_history", json!({ "limit": 1, "offset": 1 }));
    assert!(second.to_string().contains("two") && !second.to_string().contains("three"), "{second}");
}

// ---- Applications ------------------------------------------------------------------------------------------

/// An application that does not run is started, and is one that is kept track of from then on.
#[test]
fn tc_open_application_starts_it() {
    let Some((mut client, desktop)) = bare(&["galculator"]) else { return };
    let opened = client.call("open_application", json!({ "application_id": "galculator", "timeout": 30 }));
    assert!(opened["pid"].is_u64(), "{opened}");
    assert!(output(&desktop, "wmctrl", &["-lp"]).contains(&opened["pid"].to_string()));
    let again = client.call("open_application", json!({ "application_id": "galculator" }));
    assert_eq!(again["pid"], opened["pid"], "it was started twice");
}

/// Those that were opened here, and no others.
#[test]
fn tc_list_applications_lists_what_was_opened() {
    let Some((mut client, _desktop)) = bare(&["galculator"]) else { return };
    assert_eq!(client.call("list_applications", json!({}))["applications"], json!([]));
    let opened = client.call("open_application", json!({ "application_id": "galculator", "timeout": 30 }));
    let listed = client.call("list_applications", json!({ "page_size": 5 }));
    assert_eq!(listed["applications"][0]["pid"], opened["pid"], "{listed}");
}

/// By its resource name.
#[test]
fn tc_get_application_tells_of_one() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = application(&mut scene);
    let told = scene.client.call("get_application", json!({ "name": name }));
    assert_eq!(format!("applications/{}", told["pid"]), name, "{told}");
    scene.client.refused("application_not_found", "get_application", json!({ "name": "applications/1" }));
}

/// It is no longer kept track of, and runs on.
#[test]
fn tc_delete_application_stops_tracking_only() {
    let Some((mut client, desktop)) = bare(&["galculator"]) else { return };
    let opened = client.call("open_application", json!({ "application_id": "galculator", "timeout": 30 }));
    let name = format!("applications/{}", opened["pid"]);
    client.call("delete_application", json!({ "name": name }));
    assert_eq!(client.call("list_applications", json!({}))["applications"], json!([]));
    assert!(output(&desktop, "wmctrl", &["-lp"]).contains(&opened["pid"].to_string()), "it was ended");
}

// ---- Scripts -----------------------------------------------------------------------------------------------

/// There is no AppleScript but on macOS: the reason, and what to use instead.
#[test]
fn tc_execute_apple_script_says_where_it_works() {
    let mut client = nowhere(&[]);
    let script = json!({ "script": "beep", "timeout": 5, "compile_only": true });
    let refused = client.refused("unsupported", "execute_apple_script", script);
    assert!(refused["message"].as_str().unwrap().contains("macOS"), "{refused}");
}

/// JavaScript runs where it is allowed; elsewhere the switch is named.
#[test]
fn tc_execute_javascript_runs_where_allowed() {
    let script = json!({ "script": "6 * 7", "timeout": 20 });
    let refused = nowhere(&[]).refused("denied_by_policy", "execute_javascript", script.clone());
    assert!(refused["detail"]["remedy"].as_str().unwrap().contains("--allow"), "{refused}");
    if bare(&["gjs"]).is_none() {
        return;
    }
    let ran = nowhere(&["--allow", "execute_javascript"]).call("execute_javascript", script);
    assert_eq!((&ran["stdout"], &ran["exit_code"]), (&json!("42\n"), &json!(0)), "{ran}");
}

/// A command with all that can be said of it, where it is allowed.
#[test]
fn tc_execute_shell_command_runs_where_allowed() {
    let command = json!({
        "command": "sh", "args": ["-c", "cat; echo \"$A in $(pwd)\""], "working_directory": "/usr",
        "environment": { "A": "b" }, "timeout": 10, "stdin": "in, ", "shell": false,
    });
    nowhere(&[]).refused("denied_by_policy", "execute_shell_command", command.clone());
    let ran = nowhere(&["--allow", "shell"]).call("execute_shell_command", command);
    assert_eq!(ran["stdout"], "in, b in /usr\n", "{ran}");
}

/// Wrong is told from right, and nothing is run.
#[test]
fn tc_validate_script_checks_without_running() {
    let mut client = nowhere(&[]);
    let wrong = json!({ "script": "if true; then", "type": "shell", "compile_only": true });
    assert_eq!(client.call("validate_script", wrong)["valid"], false);
    assert_eq!(client.call("validate_script", json!({ "script": "true", "type": "shell" }))["valid"], true);
}

// ---- Sessions ----------------------------------------------------------------------------------------------

/// A session begins with its variables, and its own time.
#[test]
fn tc_create_session_begins_one() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let about = json!({ "description": "a form", "ttl_ms": 60_000, "variables": { "who": "Ada" } });
    let made = client.call("create_session", about);
    assert_eq!(
        (&made["description"], &made["variables"]["who"]),
        (&json!("a form"), &json!("Ada")),
        "{made}"
    );
    assert!(made["name"].as_str().unwrap().starts_with("sessions/"), "{made}");
}

/// The keycodes that the X server has down; 50 is the left shift key.
fn keys_down(desktop: &PrivateDesktop) -> Vec<String> {
    let ask = "from Xlib.display import Display\nmap = Display().query_keymap()\n\
               print(*[8 * at + bit for at, byte in enumerate(map) for bit in range(8) if byte >> bit & 1])";
    let told = output(desktop, "/usr/bin/python3", &["-c", ask]);
    told.split_whitespace().map(str::to_owned).collect()
}

/// What a session holds down is told, and the X server has it down.
#[test]
fn tc_get_session_tells_what_it_owns() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let name = client.call("create_session", json!({}))["name"].clone();
    client.call("hold_key", json!({ "key": "shift", "session": name, "duration_ms": 30_000 }));
    let told = client.call("get_session", json!({ "name": name }));
    assert!(told["held"].to_string().contains("shift"), "{told}");
    assert_eq!(keys_down(&desktop), ["50"]);
}

/// The client's own first, then those that it made; no others.
#[test]
fn tc_list_sessions_lists_the_clients() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let made = client.call("create_session", json!({}))["name"].clone();
    let listed = client.call("list_sessions", json!({ "page_size": 10 }))["sessions"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[1]["name"]), (2, &made), "{listed}");
    let mut other = Client::with_options(|program| desktop.command(program), CATALOGUE);
    let others = other.call("list_sessions", json!({}))["sessions"].clone();
    assert_eq!(others.as_array().unwrap().len(), 1, "{others}");
}

/// What it held is let go of, as the X server has it.
#[test]
fn tc_delete_session_lets_go() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let name = client.call("create_session", json!({}))["name"].clone();
    client.call("hold_key", json!({ "key": "shift", "session": name, "duration_ms": 30_000 }));
    let ended = client.call("delete_session", json!({ "name": name }));
    assert!(ended["released"].to_string().contains("shift"), "{ended}");
    assert_eq!(keys_down(&desktop), [""; 0]);
    client.refused("session_not_found", "get_session", json!({ "name": name }));
}

// ---- Macros ------------------------------------------------------------------------------------------------

/// Steps that put a name into the stage's line of text.
fn greeting() -> Value {
    json!({
        "name": "greet",
        "description": "Writes a name.",
        "parameters": [{ "name": "who", "default": "World" }],
        "steps": [{
            "tool": "write_element_value",
            "arguments": { "element_id": "text_field[name=\"Name\"]", "value": { "$from": "params.who" } },
        }],
    })
}

/// A macro is checked as a whole when it is made.
#[test]
fn tc_create_macro_checks_and_keeps_it() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let made = client.call("create_macro", greeting());
    assert_eq!((&made["name"], &made["step_count"]), (&json!("greet"), &json!(1)), "{made}");
    let mut wrong = greeting();
    wrong["name"] = json!("wrong");
    wrong["steps"][0]["tool"] = json!("no_such_tool");
    client.refused("invalid_argument", "create_macro", wrong);
}

/// With its steps, as they were written.
#[test]
fn tc_get_macro_shows_its_steps() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    client.call("create_macro", greeting());
    let told = client.call("get_macro", json!({ "name": "greet" }));
    assert_eq!(told["steps"], greeting()["steps"], "{told}");
    client.refused("macro_not_found", "get_macro", json!({ "name": "gone" }));
}

/// By name, without their steps.
#[test]
fn tc_list_macros_lists_them() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    assert_eq!(client.call("list_macros", json!({}))["macros"], json!([]));
    client.call("create_macro", greeting());
    let listed = client.call("list_macros", json!({ "page_size": 5 }))["macros"].clone();
    assert_eq!((&listed[0]["name"], &listed[0]["steps"]), (&json!("greet"), &Value::Null), "{listed}");
}

/// The application gets what the parameter says, or its default.
#[test]
fn tc_execute_macro_runs_it_with_parameters() {
    let Some(mut scene) = scene("gtk3") else { return };
    scene.client.call("create_macro", greeting());
    for (parameters, text) in [(json!({ "who": "Ada" }), "Ada"), (json!({}), "World")] {
        let ran = scene.client.call("execute_macro", json!({ "name": "greet", "parameters": parameters }));
        assert_eq!(ran["succeeded"], 1, "{ran}");
        scene.stage.wait_for("the text", |event| event["widget"] == "entry" && event["text"] == text);
    }
}

// ---- The server --------------------------------------------------------------------------------------------

/// Says hello in so many words, and gives the whole answer.
fn hello(client: &mut Client) -> Value {
    let about = json!({ "name": "catalogue", "version": "1" });
    client.request(
        "initialize",
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": about }),
    )
}

/// The handshake agrees on the version and tells of the screens.
#[test]
fn tc_life_initialize_agrees_and_grounds() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let told = hello(&mut client);
    assert_eq!(told["protocolVersion"], "2024-11-05", "{told}");
    assert!(told["capabilities"]["tools"].is_object() && told["serverInfo"]["name"].is_string(), "{told}");
    assert_eq!(told["screens"].as_array().unwrap().len(), 1, "{told}");
}

/// The notification is taken in silence: the next answer is that to the next request.
#[test]
fn tc_life_initialized_is_taken() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(client.request("ping", json!({})), json!({}));
}

/// A request to shut down is answered.
#[test]
fn tc_life_shutdown_is_answered() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    assert_eq!(client.request("shutdown", json!({})), json!({}));
}

/// A request to exit is answered, and is the end of the server, whose input is still open.
#[test]
fn tc_life_exit_is_answered_and_ends_the_server() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    assert_eq!(client.request("exit", json!({})), json!({}));
    let state = format!("/proc/{}/stat", client.pid());
    wait("the server's end", || {
        // Nobody has asked how it ended yet, so that it is there still, as one that has ended.
        let stat = std::fs::read_to_string(&state).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')).then_some(())
    });
}

/// The tables of the catalogue: a tool and its parameters a line. The `modifiers` of clicks are an addition.
const TABLE: &str = "\
capture_screenshot display_id window_id format include_ocr max_width max_height
capture_region_screenshot x y width height display_id format include_ocr
capture_window_screenshot window format quality include_shadow include_ocr
click x y button click_count show_animation modifiers
type_text text modifiers
press_key key modifiers
mouse_move x y smooth duration_ms
scroll x y delta_x delta_y
drag start_x start_y end_x end_y duration_ms
hover x y duration
gesture center_x center_y gesture_type scale rotation finger_count direction
find_elements parent role title identifier page_size page_token
get_element parent element_id
get_element_actions parent element_id
click_element parent element_id
write_element_value parent element_id value
perform_element_action parent element_id action
list_windows parent page_size page_token
get_window name
focus_window name
move_window name x y
resize_window name width height
minimize_window name
restore_window name
close_window name
list_displays page_size page_token
get_display name
get_clipboard
write_clipboard text type
clear_clipboard
get_clipboard_history limit offset
open_application application_id
list_applications page_size page_token
get_application name
delete_application name
execute_apple_script script timeout compile_only
execute_javascript script timeout compile_only
execute_shell_command command args working_directory environment timeout stdin shell
validate_script script type compile_only
create_observation parent type poll_interval_ms visible_only roles attributes
stream_observations parent types roles attributes poll_interval_ms
get_observation name
list_observations parent page_size page_token
cancel_observation name";

/// What it leaves for later, or says that its own interface could not do.
const BESIDES: &str = "create_session get_session list_sessions delete_session create_macro get_macro list_macros \
                       execute_macro cursor_position left_mouse_down left_mouse_up hold_key zoom";

/// Each name of the catalogue is listed, and those of its tables with their parameters and no others. Scripts are
/// listed where they are allowed.
#[test]
fn tc_life_tools_list_has_the_names_and_parameters() {
    let mut client = nowhere(&["--allow", "script"]);
    let listed = client.request("tools/list", json!({}))["tools"].clone();
    let tool = |name: &str| {
        let mut tools = listed.as_array().into_iter().flatten();
        tools.find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is not listed"))
    };
    assert_eq!(TABLE.lines().count(), 44);
    for line in TABLE.lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        let name = words.remove(0);
        let schema = &tool(name)["inputSchema"];
        let listed: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(listed, words, "{name}");
    }
    for name in BESIDES.split_whitespace() {
        tool(name);
    }
    assert_eq!(tool("click_element")["inputSchema"]["required"], json!(["element_id"]));
}

/// A call answers with a content array.
#[test]
fn tc_life_tools_call_answers_with_content() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let result = client.request("tools/call", json!({ "name": "list_displays", "arguments": {} }));
    assert_eq!(result["content"][0]["type"], "text", "{result}");
}

/// Coordinates are those of the whole desktop: a display's own plus its origin.
#[test]
fn tc_life_coordinates_are_native_and_global() {
    let Some(desktop) = bare(&["xdotool"]).map(|_| PrivateDesktop::start(&["--size", "1280x800,1024x768"]))
    else {
        return;
    };
    let mut client = Client::with_options(|program| desktop.command(program), CATALOGUE);
    let screens = hello(&mut client)["screens"].clone();
    let origin = screens[1]["origin_x"].as_i64().unwrap();
    client.confirmed("mouse_move", json!({ "x": origin + 10, "y": 20 }));
    assert_eq!(pointer(&desktop), (1290, 20));
}

/// A tool's failure is a result that says so, with a text that can be read.
#[test]
fn tc_life_soft_failures_are_results() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let call = json!({ "name": "get_element", "arguments": { "element_id": "button[name=\"Nowhere\"]" } });
    let result = client.request("tools/call", call);
    assert_eq!(result["isError"], true, "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("Nowhere"), "{result}");
}

/// The screens have the form that computer-use clients know.
#[test]
fn tc_life_screens_have_the_known_form() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let screen = hello(&mut client)["screens"][0].clone();
    assert!(screen["id"].is_string(), "{screen}");
    for (name, value) in [("width", 1280), ("height", 800), ("origin_x", 0), ("origin_y", 0)] {
        assert_eq!(screen[name], value, "{screen}");
    }
    assert_eq!(screen["pixel_density"].as_f64(), Some(1.0), "{screen}");
}
