//! A stage on a private desktop of its own, and a client that acts on it.

use super::client::Client;
use super::{PrivateDesktop, Stage};
use deskhand_core::Call;
use serde_json::{Value, json};
use std::time::Duration;

/// The fields are dropped in this order: the client lets go, the window closes, the desktop ends.
pub struct Scene {
    pub client: Client,
    pub stage: Stage,
    pub desktop: PrivateDesktop,
    /// The window's id.
    pub window: Value,
    /// What has to be added to a place in the window's content to get one on the screen.
    offset: (i64, i64),
}

impl Scene {
    /// Opens the stage of a toolkit; nothing where there is no Xvfb.
    pub fn open(toolkit: &str) -> Option<Scene> {
        Scene::open_on(&[], toolkit)
    }

    /// The same with a client of a server with these options.
    pub fn under(options: &[&str], toolkit: &str) -> Option<Scene> {
        let mut scene = Scene::open(toolkit)?;
        scene.client = Client::with_options(|program| scene.desktop.command(program), options);
        Some(scene)
    }

    /// The same on a desktop with these options of `deskhand desktop`.
    pub fn open_on(options: &[&str], toolkit: &str) -> Option<Scene> {
        if !std::path::Path::new("/usr/bin/Xvfb").exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "Xvfb is missing");
            eprintln!("SKIPPED: Xvfb is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return None;
        }
        Some(Scene::of(PrivateDesktop::start(options), toolkit))
    }

    /// Opens the stage of a toolkit on a desktop that there is.
    pub fn of(desktop: PrivateDesktop, toolkit: &str) -> Scene {
        let stage = Stage::start(toolkit, |program| desktop.command(program));
        let mut client = Client::start(&desktop);
        let window = json!({ "window_title": stage.title, "timeout_ms": 20_000 });
        let window = client.call("wait_for", window)["window"]["id"].clone();
        client.confirmed("focus_window", json!({ "window": window }));
        let ok = json!({ "selector": "button[name=\"OK\"]", "window": window, "timeout_ms": 20_000 });
        let bounds = client.call("wait_for", ok)["element"]["bounds"].clone();
        // Its place on the screen is known from the element, that in the window from the stage itself.
        let middle = |start: &str, size: &str| {
            (bounds[start].as_f64().unwrap() + bounds[size].as_f64().unwrap() / 2.0).floor() as i64
        };
        let (x, y) = stage.middle("ok");
        let offset = (middle("x", "width") - x, middle("y", "height") - y);
        Scene { client, stage, desktop, window, offset }
    }

    /// The place on the screen of a point of a widget, from its top left corner.
    pub fn point(&self, widget: &str, x: i64, y: i64) -> (i64, i64) {
        let place = self.stage.place(widget);
        (place.0 + x + self.offset.0, place.1 + y + self.offset.1)
    }

    /// The window was moved by this much.
    pub fn moved(&mut self, x: i64, y: i64) {
        self.offset = (self.offset.0 + x, self.offset.1 + y);
    }

    /// Adds a point of the canvas to the arguments of a call.
    pub fn on_canvas(&self, x: i64, y: i64, mut arguments: Value) -> Value {
        let (x, y) = self.point("canvas", x, y);
        arguments["x"] = json!(x);
        arguments["y"] = json!(y);
        arguments
    }

    /// The first element of this name.
    #[track_caller]
    pub fn named(&mut self, name: &str) -> Value {
        let selector = json!({ "selector": format!("[name=\"{name}\"]"), "window": self.window });
        let found = self.client.call("find_elements", selector);
        assert!(found["elements"][0]["ref"].is_string(), "nothing is called {name}: {found}");
        found["elements"][0].clone()
    }

    /// The events since a mark that fit, as soon as there are as many as wanted. That no more come is seen
    /// by a motion that is made after them: the application gets its events in order.
    #[track_caller]
    pub fn exactly(
        &mut self,
        wanted: usize,
        what: &str,
        since: usize,
        fits: impl Fn(&Value) -> bool,
    ) -> Vec<Value> {
        let came =
            self.awaken(|stage| wanted <= stage.events().into_iter().skip(since).filter(&fits).count());
        assert!(came, "{wanted} {what} were wanted: {:#?}", &self.stage.events()[since..]);
        self.settle();
        let all = self.stage.events().into_iter().skip(since).filter(fits).collect::<Vec<_>>();
        assert_eq!(all.len(), wanted, "{what}: {:#?}", &self.stage.events()[since..]);
        all
    }

    /// Waits until the application has seen all that was sent to it so far.
    #[track_caller]
    pub fn settle(&mut self) {
        // Where the pointer enters, a toolkit may tell of the entering only.
        let mark = self.stage.mark();
        for x in [3, 7] {
            let there = self.on_canvas(x, 3, json!({}));
            self.client.confirmed("move_mouse", there);
        }
        let motion = |event: &Value| event["event"] == "motion" && near(event, (7, 3), 1);
        let came = self.awaken(|stage| stage.events().iter().skip(mark).any(motion));
        assert!(came, "no motion reached {}: {:#?}", self.stage.title, &self.stage.events()[mark..]);
    }

    /// Waits for something to reach the stage. Qt 5 takes a key when the accessibility bus has heard of it,
    /// and in one run of twenty it sleeps over the bus's answer until something else comes from there: its
    /// elements are read now and then, as anybody would who wonders where the key went.
    fn awaken(&mut self, come: impl Fn(&Stage) -> bool) -> bool {
        for _ in 0..12 {
            let call = Call::with_timeout(Duration::from_millis(2500));
            if call.until("waiting for events", || Ok(come(&self.stage).then_some(()))).is_ok() {
                return true;
            }
            if self.stage.title.contains("qt5") {
                self.client.call("get_ui_elements", json!({ "window": self.window, "max_depth": 1 }));
            }
        }
        false
    }
}

/// Whether an event is at a place of the canvas, give or take.
pub fn near(event: &Value, (x, y): (i64, i64), give: i64) -> bool {
    let number = |name: &str| event[name].as_i64().unwrap_or(i64::MIN / 2);
    (number("x") - x).abs() <= give && (number("y") - y).abs() <= give
}
