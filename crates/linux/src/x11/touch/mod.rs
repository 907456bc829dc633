//! Touching an X server: XTEST has no fingers, so a touchscreen is made in the kernel for the time of a gesture.
//!
//! The kernel gives such a device to whoever reads input devices, which need not be the display that is worked
//! on: nothing is touched before that display itself shows the device among its own. And it is the display that
//! tells which touches it has seen.

pub mod stream;
mod uinput;

use crate::x11::link::{X, connect, failed};
use deskhand_core::touch::{Fingers, Touch};
use deskhand_core::{Call, Code, Error, Point, Result};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;
use stream::Contacts;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xinput::{self, ConnectionExt as _, DeviceClassData, XIChangePropertyAux, XIEventMask};
use x11rb::protocol::xproto::{ConnectionExt as _, PropMode};

/// Where a device's events go.
pub type Sink = Box<dyn Write + Send>;
/// Makes a touchscreen of a name, with axes from 0 to a width and a height, less one.
pub type Maker = Box<dyn Fn(&str, i32, i32) -> Result<Sink> + Send + Sync>;

/// A touchscreen over the whole of an X screen, there while a gesture lasts.
pub struct Touchscreen {
    display: String,
    name: String,
    path: Option<PathBuf>,
    make: Maker,
}

/// A display takes a new device within milliseconds; a desktop may look at it first.
const TAKEN_BY: Duration = Duration::from_secs(3);
/// Touches that were made are told of within milliseconds.
const SEEN_BY: Duration = Duration::from_millis(500);
/// The device is finer than the screen, so that whoever rounds still hits the pixel.
const FINE: i32 = 8;
/// What the device calls itself, before a number.
pub const NAME: &str = "Deskhand touchscreen";
const TOUCHING: &str = "touching the screen";

impl Touchscreen {
    /// On `display` (the value of DISPLAY), through /dev/uinput.
    pub fn new(display: &str) -> Touchscreen {
        let path = PathBuf::from("/dev/uinput");
        let opened = path.clone();
        Touchscreen {
            display: display.to_owned(),
            name: format!("{NAME} {}", std::process::id()),
            path: Some(path),
            make: Box::new(move |name, width, height| {
                Ok(Box::new(uinput::make(uinput::open(&opened)?, name, width, height)?))
            }),
        }
    }

    /// The same with devices of this name that come from elsewhere.
    pub fn with(display: &str, name: &str, make: Maker) -> Touchscreen {
        Touchscreen { display: display.to_owned(), name: name.to_owned(), path: None, make }
    }

    /// The device as the display numbers it, once it shows it.
    fn taken(&self, call: &Call, x: &X) -> Result<u16> {
        let shown = call.until_within(TAKEN_BY, "waiting for the display to take the touchscreen", || {
            let all = x.xinput_xi_query_device(xinput::Device::ALL).map_err(failed(TOUCHING))?;
            let all = all.reply().map_err(failed(TOUCHING))?.infos;
            let touches = |info: &&xinput::XIDeviceInfo| {
                info.enabled
                    && info.name == self.name.as_bytes()
                    && info.classes.iter().any(|class| matches!(class.data, DeviceClassData::Touch(_)))
            };
            Ok(all.iter().find(touches).map(|info| info.deviceid))
        })?;
        shown.ok_or_else(|| {
            Error::new(
                Code::Unsupported,
                format!(
                    "A touchscreen was made, and the display {} did not take it: nothing was touched.",
                    self.display
                ),
            )
            .remedy(
                "Virtual displays (Xvfb, VNC) have no input devices, and a display takes none while another \
                 session is shown. Use the pointer instead: click, drag and scroll.",
            )
        })
    }
}

impl Touch for Touchscreen {
    fn surface(&self, _: &Call) -> Result<String> {
        if let Some(path) = &self.path {
            uinput::open(path)?;
            return Ok(format!(
                "{} may be opened; whether the display takes a touchscreen shows then",
                path.display()
            ));
        }
        Ok(self.name.clone())
    }

    fn fingers(&self, call: &Call) -> Result<Box<dyn Fingers>> {
        if let Some(path) = &self.path {
            // Most machines end here: before anything is asked of anybody.
            uinput::open(path)?;
        }
        let (x, screen) = connect(call, &self.display)?;
        x.stream().bind(call);
        let version = x.xinput_xi_query_version(2, 2).map_err(failed(TOUCHING))?.reply();
        let version = version.map_err(failed(TOUCHING))?;
        if (version.major_version, version.minor_version) < (2, 2) {
            return Err(Error::unsupported("This X server is too old to know of touches.")
                .remedy("Use the pointer instead: click, drag and scroll."));
        }
        let root = x.setup().roots[screen].root;
        let size = x.get_geometry(root).map_err(failed(TOUCHING))?.reply().map_err(failed(TOUCHING))?;
        let sink = (self.make)(&self.name, i32::from(size.width) * FINE, i32::from(size.height) * FINE)?;
        let contacts = Contacts::new(sink);
        let device = self.taken(call, &x)?;
        spread(&x, device)?;
        let mask = XIEventMask::RAW_TOUCH_BEGIN | XIEventMask::RAW_TOUCH_END;
        x.xinput_xi_select_events(root, &[xinput::EventMask { deviceid: device, mask: vec![mask] }])
            .map_err(failed(TOUCHING))?
            .check()
            .map_err(failed(TOUCHING))?;
        Ok(Box::new(XFingers { contacts, x, made: 0, down: false, begun: 0, ended: 0 }))
    }
}

/// Lets the device reach over the whole screen: a desktop may have tied it to one monitor.
fn spread(x: &X, device: u16) -> Result<()> {
    let atom = |name: &str| -> Result<u32> {
        let cookie = x.intern_atom(false, name.as_bytes()).map_err(failed(TOUCHING))?;
        Ok(cookie.reply().map_err(failed(TOUCHING))?.atom)
    };
    let one_to_one = [1.0_f32, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].map(f32::to_bits);
    let (matrix, float) = (atom("Coordinate Transformation Matrix")?, atom("FLOAT")?);
    let values = XIChangePropertyAux::Data32(one_to_one.to_vec());
    x.xinput_xi_change_property(device, PropMode::REPLACE, matrix, float, 9, &values)
        .map_err(failed(TOUCHING))?
        .check()
        .map_err(failed(TOUCHING))
}

/// Fingers on a device that the display has taken. The device goes with them.
struct XFingers {
    contacts: Contacts<Sink>,
    x: X,
    made: usize,
    down: bool,
    begun: usize,
    ended: usize,
}

impl Fingers for XFingers {
    fn place(&mut self, call: &Call, at: &[Point]) -> Result<()> {
        call.check(TOUCHING)?;
        if !self.down {
            self.down = true;
            self.made += at.len();
        }
        let middle = |pixel: i32| pixel * FINE + FINE / 2;
        let at: Vec<(i32, i32)> = at.iter().map(|point| (middle(point.x), middle(point.y))).collect();
        self.contacts.place(&at).map_err(gone)
    }

    fn lift(&mut self, call: &Call) -> Result<usize> {
        self.contacts.lift().map_err(gone)?;
        self.down = false;
        self.x.stream().bind(call);
        let (x, begun, ended, made) = (&self.x, &mut self.begun, &mut self.ended, self.made);
        call.until_within(SEEN_BY, "waiting for the display to see the touches", || {
            while let Some(event) = x.poll_for_event().map_err(failed(TOUCHING))? {
                match event {
                    Event::XinputRawTouchBegin(_) => *begun += 1,
                    Event::XinputRawTouchEnd(_) => *ended += 1,
                    _ => {}
                }
            }
            Ok((made <= *ended).then_some(()))
        })?;
        Ok(self.begun.min(self.ended))
    }
}

fn gone(error: io::Error) -> Error {
    Error::backend("The touchscreen does not take what the fingers do.").os(error).remedy("Try again.")
}
