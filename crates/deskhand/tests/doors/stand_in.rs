//! A small desktop for protocol tests: applications called `slow` and `panic` start slowly and panic, and
//! everything that is pressed is counted.

use deskhand_core::app::{Apps, Installed, Launch, Launched, Running};
use deskhand_core::desktop::Services;
use deskhand_core::element::NoElements;
use deskhand_core::geometry::Orientation;
use deskhand_core::input::{Button, Input, InputState, Press};
use deskhand_core::key::Key;
use deskhand_core::screen::{Bitmap, PointerImage, Screen, Source};
use deskhand_core::watch::Bell;
use deskhand_core::window::{Window, WindowId, WindowState, WindowWatch, Windows};
use deskhand_core::{Call, Code, Desktop, Display, Error, Missing, Point, Rect, Result, Size};
use std::any::Any;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What reached the desktop.
#[derive(Default)]
pub struct Reached {
    /// Buttons that are down, less those that went up.
    pub down: AtomicI32,
    /// The applications that were started, in order.
    pub started: Mutex<Vec<String>>,
    /// Slow starts that are running.
    pub waiting: AtomicU32,
    /// Slow starts that were called off.
    pub called_off: AtomicU32,
}

pub fn desktop() -> (Arc<Desktop>, Arc<Reached>) {
    let reached = Arc::new(Reached::default());
    let missing =
        Missing { code: Code::Unsupported, reason: "No elements here.".into(), remedy: "None.".into() };
    let stand_in = || Box::new(StandIn(reached.clone()));
    let services = Services::none(&missing);
    let elements = Box::new(NoElements(missing));
    let desktop = Desktop::new(stand_in(), stand_in(), elements, stand_in(), stand_in(), services, vec![]);
    (desktop, reached)
}

struct StandIn(Arc<Reached>);

fn none<T>() -> Result<T> {
    Err(Error::unsupported("Not here."))
}

impl Screen for StandIn {
    fn displays(&self, _: &Call) -> Result<Vec<Display>> {
        let bounds = Rect::new(0, 0, 1280, 800);
        let (id, name) = ("DUMMY-1".to_owned(), "A display".to_owned());
        Ok(vec![Display {
            index: 0,
            id,
            name,
            bounds,
            work_area: bounds,
            scale: 1.0,
            refresh_hz: None,
            primary: true,
            orientation: Orientation::Landscape,
        }])
    }
    fn capture(&self, _: &Call, _: Source) -> Result<Arc<Bitmap>> {
        none()
    }
    fn pointer_image(&self, _: &Call) -> Result<Option<PointerImage>> {
        none()
    }
    fn mark(&self, _: &Call) -> Result<u64> {
        none()
    }
    fn changed_since(&self, _: &Call, _: u64, _: Rect) -> Result<bool> {
        none()
    }
    fn pixel(&self, _: &Call, _: Point) -> Result<[u8; 3]> {
        none()
    }
}

impl Input for StandIn {
    fn lock(&self, _: &Call) -> Result<Box<dyn Any + Send>> {
        Ok(Box::new(()))
    }
    fn state(&self, _: &Call) -> Result<InputState> {
        Ok(InputState { position: Point::new(3, 4), ..InputState::default() })
    }
    fn move_to(&self, _: &Call, _: Point) -> Result<Point> {
        Ok(Point::new(3, 4))
    }
    fn button(&self, _: &Call, _: Button, press: Press) -> Result<()> {
        self.0.down.fetch_add(if press == Press::Down { 1 } else { -1 }, Ordering::SeqCst);
        Ok(())
    }
    fn click(&self, call: &Call, button: Button) -> Result<()> {
        self.button(call, button, Press::Down)?;
        self.button(call, button, Press::Up)
    }
    fn wheel(&self, _: &Call, _: i32, _: i32) -> Result<()> {
        Ok(())
    }
    fn key(&self, _: &Call, _: Key, _: Press) -> Result<()> {
        Ok(())
    }
    fn check_text(&self, _: &Call, _: &str) -> Result<()> {
        Ok(())
    }
    fn type_text(
        &self,
        _: &Call,
        _: &str,
        _: Duration,
        _: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        Ok(())
    }
    fn double_click_time(&self, _: &Call) -> Result<Duration> {
        Ok(Duration::from_millis(400))
    }
    fn press_time(&self, _: u32) -> Duration {
        Duration::ZERO
    }
}

impl Windows for StandIn {
    fn list(&self, _: &Call) -> Result<Vec<Window>> {
        Ok(vec![])
    }
    fn layers(&self, _: &Call) -> Result<Vec<deskhand_core::window::Layer>> {
        Ok(Vec::new())
    }
    fn at(&self, _: &Call, _: Point) -> Result<Option<Window>> {
        Ok(None)
    }
    fn focus(&self, _: &Call, _: WindowId) -> Result<()> {
        none()
    }
    fn place(&self, _: &Call, _: WindowId, _: Option<Point>, _: Option<Size>) -> Result<()> {
        none()
    }
    fn set_state(&self, _: &Call, _: WindowId, _: WindowState) -> Result<()> {
        none()
    }
    fn close(&self, _: &Call, _: WindowId) -> Result<()> {
        none()
    }
    fn settle(&self, _: &Call, _: WindowId, _: Duration) -> Result<bool> {
        none()
    }
    fn watch(&self, _: &Call, _: &Bell) -> Result<Box<dyn WindowWatch>> {
        none()
    }
}

impl Apps for StandIn {
    fn installed(&self, _: &Call) -> Result<Vec<Installed>> {
        Ok(vec![])
    }
    fn running(&self, _: &Call) -> Result<Vec<Running>> {
        Ok(vec![])
    }
    fn launch(&self, call: &Call, launch: &Launch) -> Result<Launched> {
        let name = launch.application.clone();
        self.0.started.lock().unwrap().push(name.clone());
        match name.as_str() {
            "panic" => panic!("as asked"),
            "slow" => {
                self.0.waiting.fetch_add(1, Ordering::SeqCst);
                call.pause(Duration::from_secs(30), "starting slowly").inspect_err(|_| {
                    self.0.called_off.fetch_add(1, Ordering::SeqCst);
                })?;
                none()
            }
            // Heeds nothing: neither its deadline nor that it was called off.
            "deaf" => {
                let own = Call::with_timeout(Duration::from_secs(6));
                self.0.waiting.fetch_add(1, Ordering::SeqCst);
                own.pause(Duration::from_secs(5), "sleeping").and(none())
            }
            _ => Err(Error::argument(format!("{name} is no application."))),
        }
    }
    fn alive(&self, _: u32) -> bool {
        false
    }
    fn family(&self, _: &Call, _: u32) -> Result<Vec<u32>> {
        none()
    }
    fn terminate(&self, _: &Call, _: u32, _: bool) -> Result<()> {
        none()
    }
    fn watch_end(&self, _: u32, _: &Bell) -> Result<Box<dyn Send>> {
        none()
    }
}
