//! Elements of real applications, on a desktop of the test's own.

mod own_desktop;
#[path = "stand_in/windows.rs"]
mod windows;

use deskhand_core::element::{Element, Elements, Role, Root, State, Tree, TreeQuery};
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Call, Code};
use deskhand_linux::atspi::{Atspi, Session};
use own_desktop::{OwnDesktop, call, until};
use std::time::{Duration, Instant};

struct Stage {
    atspi: Atspi,
    list: Box<dyn Fn(&Call) -> deskhand_core::Result<Vec<Window>>>,
    desktop: OwnDesktop,
}

/// A desktop where accessibility is still off.
fn plain() -> Option<Stage> {
    let mut desktop = OwnDesktop::start(&["openbox"])?;
    desktop.environment.retain(|(name, _)| name != "NO_AT_BRIDGE" && name != "GTK_A11Y");
    for name in ["QT_LINUX_ACCESSIBILITY_ALWAYS_ON", "QT_ACCESSIBILITY", "GNOME_ACCESSIBILITY"] {
        desktop.environment.push((name.into(), "1".into()));
    }
    desktop.environment.push(("SAL_USE_VCLPLUGIN".into(), "gtk3".into()));
    let bus = desktop.environment.iter().find(|(name, _)| name == "DBUS_SESSION_BUS_ADDRESS");
    let bus = bus.map(|(_, address)| address.clone());
    let session = Session { display: desktop.display.clone(), bus };
    let atspi = Atspi::new(session, Box::new(windows::list(&desktop.display)));
    let list = Box::new(windows::list(&desktop.display));
    Some(Stage { atspi, list, desktop })
}

fn stage() -> Option<Stage> {
    let stage = plain()?;
    stage.atspi.enable(&call()).unwrap();
    Some(stage)
}

impl Stage {
    /// Starts a program and waits for its window and its tree.
    fn start(&mut self, program: &str, arguments: &[&str]) -> (u32, WindowId) {
        assert!(own_desktop::installed(program), "{program} is not installed");
        let child = self.desktop.spawn(program, arguments);
        let before: Vec<WindowId> = (self.list)(&call()).unwrap().iter().map(|window| window.id).collect();
        let mut found = None;
        until(program, || {
            let now = (self.list)(&call()).unwrap();
            found = now.into_iter().find(|window| !before.contains(&window.id));
            let Some(window) = &found else { return false };
            let tree = self.atspi.tree(&call(), &TreeQuery::new(Root::Window(window.id)));
            tree.is_ok_and(|tree| 2 < tree.nodes.len())
        });
        (child, found.unwrap().id)
    }

    fn tree(&self, window: WindowId) -> Tree {
        let query = TreeQuery { actions: true, ..TreeQuery::new(Root::Window(window)) };
        self.atspi.tree(&call(), &query).unwrap()
    }

    fn find(&self, window: WindowId, role: Role, name: &str) -> Element {
        let tree = self.tree(window);
        let found = tree.nodes.iter().find(|node| node.element.role == role && node.element.name == name);
        found.unwrap_or_else(|| panic!("no {role} {name:?} in\n{}", shown(&tree))).element.clone()
    }

    fn first(&self, window: WindowId, role: Role) -> Element {
        let tree = self.tree(window);
        let found = tree.nodes.iter().find(|node| node.element.role == role);
        found.unwrap_or_else(|| panic!("no {role} in\n{}", shown(&tree))).element.clone()
    }

    fn fresh(&self, element: &Element) -> Element {
        self.atspi.element(&call(), &element.id).unwrap()
    }

    /// A real click in the middle of what the element says of its place.
    fn click(&self, element: &Element) {
        let center = element.bounds.expect("bounds to click").center();
        let (x, y) = (center.x.to_string(), center.y.to_string());
        self.desktop.run("xdotool", &["mousemove", &x, &y, "click", "1"]);
    }

    fn until_value(&self, element: &Element, wanted: &str) {
        until(wanted, || self.fresh(element).value.as_deref() == Some(wanted));
    }
}

fn shown(tree: &Tree) -> String {
    let line = |node: &deskhand_core::element::Node| {
        let Element { role, name, value, bounds, states, .. } = &node.element;
        format!("{}{role} {name:?} {value:?} {bounds:?} {states:?}\n", "  ".repeat(node.depth as usize))
    };
    tree.nodes.iter().map(line).collect()
}

/// What holds for every tree, whoever made it.
fn check_shape(tree: &Tree) {
    for (place, node) in tree.nodes.iter().enumerate() {
        match node.parent {
            Some(parent) => {
                assert!(parent < place, "a parent after its child");
                assert_eq!(node.depth, tree.nodes[parent].depth + 1);
            }
            None => assert_eq!(node.depth, 0),
        }
        assert!(node.element.bounds.is_none_or(|bounds| !bounds.is_empty()));
        assert!(node.element.role != Role::PasswordField || node.element.value.is_none());
    }
    let mut ids: Vec<_> = tree.nodes.iter().map(|node| &node.element.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), tree.nodes.len(), "an element twice");
}

#[test]
fn galculator_adds_by_its_buttons_and_each_lies_where_it_says() {
    let Some(mut stage) = stage() else { return };
    let (_, window) = stage.start("galculator", &[]);
    let tree = stage.tree(window);
    check_shape(&tree);
    assert_eq!(tree.nodes[0].element.role, Role::Window);
    assert_eq!(tree.nodes[0].element.window, Some(window));
    let button = |name: &str| {
        let node = tree.nodes.iter().find(|node| {
            node.element.name == name && matches!(node.element.role, Role::Button | Role::ToggleButton)
        });
        node.unwrap_or_else(|| panic!("no {name} in\n{}", shown(&tree))).element.clone()
    };
    for key in ["5", "+", "3", "="] {
        let button = button(key);
        assert!(button.states.has(State::Enabled) && !button.states.has(State::Offscreen), "{key}");
        stage.atspi.perform(&call(), &button.id, "CLICK").unwrap();
    }
    let display = stage.first(window, Role::TextArea);
    until("8", || stage.fresh(&display).value.is_some_and(|value| value.contains('8')));
    let text = stage.atspi.text(&call(), &display.id, 100).unwrap().expect("a text");
    assert!(text.text.contains('8'), "{text:?}");

    let five = button("5");
    // The first click on galculator only gives it the focus.
    stage.click(&display);
    let there = stage.atspi.at(&call(), window, five.bounds.unwrap().center()).unwrap();
    assert_eq!(there.map(|element| element.id), Some(five.id.clone()));
    stage.click(&five);
    until("a 5 by a real click", || stage.fresh(&display).value.is_some_and(|value| value.contains('5')));

    let error = stage.atspi.perform(&call(), &five.id, "explode").unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert!(error.message.contains("explode") && !error.detail.found.is_empty(), "{error:?}");
    let closed = stage.find(window, Role::MenuItem, "Quit");
    assert_eq!(closed.bounds, None, "a closed menu lies nowhere");
    assert!(closed.states.has(State::Offscreen));
}

#[test]
fn mousepad_takes_a_text_and_tells_its_changes_and_its_focus() {
    let Some(mut stage) = stage() else { return };
    let (_, window) = stage.start("mousepad", &[]);
    let area = stage.first(window, Role::TextArea);
    assert!(area.states.has(State::Editable) && area.states.has(State::Multiline), "{area:?}");
    let mut watch = stage.atspi.watch(&call()).unwrap();
    let text = "Grüße, 世界 🙂\nzweite Zeile";
    stage.atspi.set_value(&call(), &area.id, text).unwrap();
    stage.until_value(&area, text);
    let read = stage.atspi.text(&call(), &area.id, 5).unwrap().unwrap();
    assert_eq!((read.text.as_str(), read.characters), ("Grüße", 24));
    let until = Instant::now() + Duration::from_secs(5);
    let mut seen = Vec::new();
    while let Some(change) = watch.next(&call(), until).unwrap() {
        let here = change.element == area.id;
        seen.push(change);
        if here {
            break;
        }
    }
    assert!(seen.iter().any(|change| change.element == area.id && change.pid.is_some()), "{seen:?}");
    assert_eq!(watch.dropped(), 0);
    stage.atspi.focus(&call(), &area.id).unwrap();
    own_desktop::until("the focus", || {
        stage.atspi.focused(&call()).unwrap().is_some_and(|element| element.id == area.id)
    });
}

#[test]
fn gtk3_fields_say_their_values_except_secrets() {
    let Some(mut stage) = stage() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elements/form3.py");
    let (_, window) = stage.start("/usr/bin/python3", &[script]);
    let tree = stage.tree(window);
    check_shape(&tree);
    assert_eq!(stage.first(window, Role::TextField).value.as_deref(), Some("Ada"));
    assert_eq!(stage.first(window, Role::ComboBox).value.as_deref(), Some("Two"));
    let spin = stage.first(window, Role::SpinButton);
    assert_eq!(spin.value.as_deref(), Some("4"));
    stage.atspi.set_value(&call(), &spin.id, "7").unwrap();
    stage.until_value(&spin, "7");
    let error = stage.atspi.set_value(&call(), &spin.id, "70").unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument, "{error:?}");
    let combo = stage.first(window, Role::ComboBox);
    stage.atspi.set_value(&call(), &combo.id, "Three").unwrap();
    stage.until_value(&combo, "Three");
    assert!(
        stage.atspi.set_value(&call(), &combo.id, "Four").unwrap_err().detail.found.contains(&"One".into())
    );

    let secret = stage.first(window, Role::PasswordField);
    let mut watch = stage.atspi.watch(&call()).unwrap();
    stage.atspi.set_value(&call(), &secret.id, "tr0ub4dor").unwrap();
    assert_eq!(stage.fresh(&secret).value, None);
    let text = stage.atspi.text(&call(), &secret.id, 100).unwrap().unwrap();
    assert!(text.text.is_empty());
    while let Some(change) = watch.next(&call(), Instant::now() + Duration::from_millis(300)).unwrap() {
        assert_eq!(change.text, None, "{change:?}");
    }
}

#[test]
fn a_frozen_application_costs_its_own_time_only_and_a_dead_one_is_stale() {
    let Some(mut stage) = stage() else { return };
    let (_, alive) = stage.start("mousepad", &[]);
    let (pid, frozen) = stage.start("galculator", &[]);
    let button = stage.find(frozen, Role::ToggleButton, "5");
    signal(pid, rustix::process::Signal::STOP);
    let began = Instant::now();
    let tree = stage.atspi.tree(&call(), &TreeQuery::new(Root::Desktop)).unwrap();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert!(tree.silent.iter().any(|silent| silent.application == "galculator"), "{:?}", tree.silent);
    assert!(tree.nodes.iter().any(|node| node.element.window == Some(alive)));
    let short = Call::with_timeout(Duration::from_millis(300));
    let error = stage.atspi.element(&short, &button.id).unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error:?}");
    assert!(error.message.contains("galculator"), "{error:?}");
    // Whoever meets it for the first time is held up no longer.
    let session = Session { display: stage.desktop.display.clone(), bus: stage.bus() };
    let newcomer = Atspi::new(session, Box::new(windows::list(&stage.desktop.display)));
    let tree = newcomer.tree(&call(), &TreeQuery::new(Root::Desktop)).unwrap();
    assert!(tree.silent.iter().any(|silent| silent.application == "galculator"), "{:?}", tree.silent);

    signal(pid, rustix::process::Signal::CONT);
    until("galculator to go on", || stage.atspi.element(&call(), &button.id).is_ok());
    stage.desktop.kill(pid);
    until("the end of galculator", || {
        stage.atspi.element(&call(), &button.id).is_err_and(|error| error.code == Code::ElementStale)
    });
    let error = stage.atspi.perform(&call(), &button.id, "Click").unwrap_err();
    assert_eq!(error.code, Code::ElementStale, "{error:?}");
}

#[test]
fn gtk4_lies_are_put_right() {
    let Some(mut stage) = stage() else { return };
    let (_, window) = stage.start("gnome-calculator", &[]);
    check_shape(&stage.tree(window));
    for key in ["5", "+", "3", "="] {
        let button = stage.find(window, Role::Button, key);
        assert!(button.states.has(State::Visible) && !button.states.has(State::Offscreen), "{button:?}");
        stage.click(&button);
        let shown = stage.atspi.at(&call(), window, button.bounds.unwrap().center()).unwrap();
        assert_eq!(shown.map(|element| element.name).as_deref(), Some(key));
    }
    let field = stage.first(window, Role::TextArea);
    stage.until_value(&field, "8");
    assert!(stage.tree(window).nodes.iter().all(|node| !node.element.name.starts_with("Gtk")));

    // A pop-over has a window of its own, and coordinates that fit neither it nor its parent.
    let basic = stage.find(window, Role::Button, "Basic");
    stage.click(&basic);
    until("the menu", || {
        stage.tree(window).nodes.iter().any(|node| {
            node.element.name == "Advanced"
                && node.element.bounds.is_some()
                && node.element.role == Role::RadioMenuItem
        })
    });
    let advanced = stage.find(window, Role::RadioMenuItem, "Advanced");
    assert_eq!(stage.fresh(&advanced).bounds, advanced.bounds);
    stage.click(&advanced);
    until("the advanced mode", || {
        stage.tree(window).nodes.iter().any(|node| {
            node.element.name == "sin" || node.element.name == "Advanced" && node.element.role == Role::Button
        })
    });
}

#[test]
fn qt_without_a_cache_is_walked_and_worked() {
    let Some(mut stage) = stage() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elements/form.py");
    let (_, window) = stage.start("/usr/bin/python3", &[script]);
    let tree = stage.tree(window);
    check_shape(&tree);
    let field = stage.find(window, Role::TextField, "Name");
    assert_eq!(field.value.as_deref(), Some("Ada"));
    stage.atspi.set_value(&call(), &field.id, "Grüße 世界").unwrap();
    stage.until_value(&field, "Grüße 世界");
    assert_eq!(stage.find(window, Role::PasswordField, "Secret").value, None);
    assert_eq!(stage.first(window, Role::SpinButton).value.as_deref(), Some("4"));
    assert_eq!(stage.first(window, Role::Slider).value.as_deref(), Some("30"));
    assert_eq!(stage.first(window, Role::ComboBox).value.as_deref(), Some("Two"));
    assert!(!stage.first(window, Role::SpinButton).states.has(State::ReadOnly));
    let slider = stage.first(window, Role::Slider);
    stage.atspi.set_value(&call(), &slider.id, "60").unwrap();
    stage.until_value(&slider, "60");
    let check = stage.find(window, Role::CheckBox, "Agree");
    assert!(check.states.has(State::Checked) && check.states.has(State::Checkable));
    let off = stage.find(window, Role::Button, "Off");
    assert!(!off.states.has(State::Enabled));
    let press = stage.find(window, Role::Button, "Press");
    assert_eq!(stage.atspi.scroll_into_view(&call(), &press.id).unwrap_err().code, Code::Unsupported);
    stage.click(&press);
    until("the button to say so", || stage.fresh(&press).name == "Pressed");
}

#[test]
fn kcalc_adds_and_its_framed_display_is_no_window() {
    let Some(mut stage) = stage() else { return };
    let (_, window) = stage.start("kcalc", &[]);
    until("the buttons", || {
        stage.tree(window).nodes.iter().any(|node| node.element.name == "=" && node.element.bounds.is_some())
    });
    let tree = stage.tree(window);
    check_shape(&tree);
    assert_eq!(tree.nodes.iter().filter(|node| node.element.role == Role::Window).count(), 1);
    for key in ["5", "+", "3", "="] {
        let button = tree
            .nodes
            .iter()
            .find(|node| node.element.name == key && !node.element.states.has(State::Offscreen));
        stage.atspi.perform(&call(), &button.unwrap().element.id, "press").unwrap();
    }
    until("8", || {
        stage
            .tree(window)
            .nodes
            .iter()
            .any(|node| node.element.name == "8" && node.element.role == Role::Panel)
    });
    let display = stage.find(window, Role::Panel, "8");
    assert!(display.bounds.is_some());
    assert_eq!(stage.fresh(&display).role, Role::Panel);
}

#[test]
fn libreoffice_takes_a_paragraph() {
    let Some(mut stage) = stage() else { return };
    let (_, window) =
        stage.start("libreoffice", &["--writer", "--norestore", "--nologo", "--nofirststartwizard"]);
    until("the document", || {
        stage.tree(window).nodes.iter().any(|node| node.element.role == Role::Paragraph)
    });
    let tree = stage.tree(window);
    check_shape(&tree);
    let paragraph = stage.first(window, Role::Paragraph);
    stage.atspi.set_value(&call(), &paragraph.id, "Grüße 世界").unwrap();
    stage.until_value(&paragraph, "Grüße 世界");
    let bounds = paragraph.bounds.unwrap();
    let there = stage.atspi.at(&call(), window, bounds.center()).unwrap();
    assert_eq!(there.map(|element| element.id), Some(paragraph.id));
}

#[test]
fn chromium_is_read_whole_when_cold() {
    let Some(mut stage) = stage() else { return };
    let page = stage.desktop.home.join("page.html");
    let rows: String = (0..300)
        .map(|row| format!("<p>Row {row} <a href='#{row}'>link {row}</a> <button>Button {row}</button></p>"))
        .collect();
    let html = format!(
        "<!doctype html><title>Page</title><input aria-label=Name value=Ada>\
         <input type=password aria-label=Secret value=hunter2>\
         <select aria-label=Choice><option>One<option selected>Two</select>\
         <button onclick=\"this.textContent='Pressed'\">Press</button>{rows}"
    );
    std::fs::write(&page, html).unwrap();
    let data = format!("--user-data-dir={}", stage.desktop.home.join("chromium").display());
    let url = format!("file://{}", page.display());
    let program = "chromium";
    assert!(own_desktop::installed(program), "{program} is not installed");
    stage.desktop.spawn(
        program,
        &[
            "--no-sandbox",
            "--force-renderer-accessibility",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-quic",
            &data,
            &url,
        ],
    );
    let mut window = None;
    until("Chromium's window", || {
        let windows = (stage.list)(&call()).unwrap();
        window = windows.into_iter().find(|window| window.title.starts_with("Page"));
        window.as_ref().is_some_and(|window| {
            stage.atspi.applications(&call()).unwrap().iter().any(|app| app.pid == window.pid)
        })
    });
    let window = window.unwrap().id;
    // The first reading of all.
    let tree = stage.tree(window);
    check_shape(&tree);
    let has = |name: &str| tree.nodes.iter().any(|node| node.element.name == name);
    assert!(has("Button 0") && has("Button 299"), "{} elements", tree.nodes.len());
    assert_eq!(stage.find(window, Role::TextField, "Name").value.as_deref(), Some("Ada"));
    assert_eq!(stage.find(window, Role::PasswordField, "Secret").value, None);
    assert_eq!(stage.find(window, Role::ComboBox, "Choice").value.as_deref(), Some("Two"));
    let last = stage.find(window, Role::Button, "Button 299");
    assert!(last.states.has(State::Offscreen), "{last:?}");
    stage.atspi.scroll_into_view(&call(), &last.id).unwrap();
    until("the last button to show", || !stage.fresh(&last).states.has(State::Offscreen));
    let press = stage.find(window, Role::Button, "Press");
    stage.atspi.perform(&call(), &press.id, "press").unwrap();
    until("the press", || stage.fresh(&press).name == "Pressed");
}

#[test]
fn accessibility_that_is_off_or_absent_says_what_to_do() {
    let Some(stage) = plain() else { return };
    assert!(!stage.atspi.status(&call()).unwrap().enabled);
    let error = stage.atspi.applications(&call()).unwrap_err();
    assert_eq!(error.code, Code::PermissionDenied, "{error:?}");
    assert!(error.detail.remedy.unwrap().contains("deskhand doctor --fix"));
    stage.atspi.enable(&call()).unwrap();
    assert!(stage.atspi.status(&call()).unwrap().enabled);
    stage.atspi.applications(&call()).unwrap();

    let session =
        Session { display: stage.desktop.display.clone(), bus: Some("unix:path=/nowhere/bus".into()) };
    let lost = Atspi::new(session, Box::new(|_| Ok(Vec::new())));
    let error = lost.status(&call()).unwrap_err();
    assert_eq!(error.code, Code::Backend, "{error:?}");
    assert!(error.detail.remedy.unwrap().contains("DBUS_SESSION_BUS_ADDRESS"));
}

#[test]
fn a_lost_bus_is_said_and_found_again() {
    let Some(mut stage) = stage() else { return };
    stage.start("galculator", &[]);
    let mut watch = stage.atspi.watch(&call()).unwrap();
    // The daemon of this desktop alone: its address is in the home of the test.
    let address = format!("--address=unix:path={}", stage.desktop.home.join("run/at-spi").display());
    stage.desktop.run("pkill", &["-f", "--", &address]);
    until("the watch to end", || {
        let next = watch.next(&call(), Instant::now() + Duration::from_millis(100));
        next.is_err_and(|error| error.code == Code::Backend)
    });
    // A new launcher has accessibility on only if the settings outlived it.
    until("the bus to be back", || {
        stage.atspi.enable(&call()).is_ok() && stage.atspi.applications(&call()).is_ok()
    });
}

#[test]
fn a_window_without_a_tree_is_named_as_such() {
    let Some(mut stage) = stage() else { return };
    stage.desktop.spawn("xmessage", &["A window without a tree"]);
    let mut window = None;
    until("a window without a tree", || {
        window = (stage.list)(&call()).unwrap().into_iter().next();
        window.is_some()
    });
    let error = stage.atspi.tree(&call(), &TreeQuery::new(Root::Window(window.unwrap().id))).unwrap_err();
    assert_eq!(error.code, Code::PermissionDenied, "{error:?}");
    let error = stage.atspi.tree(&call(), &TreeQuery::new(Root::Window(WindowId(1)))).unwrap_err();
    assert_eq!(error.code, Code::WindowNotFound);
}

impl Stage {
    fn bus(&self) -> Option<String> {
        let bus = self.desktop.environment.iter().find(|(name, _)| name == "DBUS_SESSION_BUS_ADDRESS");
        bus.map(|(_, address)| address.clone())
    }
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
