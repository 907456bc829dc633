//! A touchscreen made through the kernel's uinput
//! (<https://docs.kernel.org/input/uinput.html>).

use super::stream::{
    ABS_MT_POSITION_X, ABS_MT_POSITION_Y, ABS_MT_SLOT, ABS_MT_TRACKING_ID, ABS_X, ABS_Y, BTN_TOUCH, EV_ABS,
    EV_KEY, EV_SYN, LAST_TRACKING_ID,
};
use deskhand_core::touch::MOST_FINGERS;
use deskhand_core::{Code, Error, Result};
use rustix::ioctl::{IntegerSetter, NoArg, Opcode, Setter, ioctl, opcode};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const UI_DEV_CREATE: Opcode = opcode::none(b'U', 1);
const UI_DEV_SETUP: Opcode = opcode::write::<Setup>(b'U', 3);
const UI_ABS_SETUP: Opcode = opcode::write::<AxisSetup>(b'U', 4);
const UI_SET_EVBIT: Opcode = opcode::write::<i32>(b'U', 100);
const UI_SET_KEYBIT: Opcode = opcode::write::<i32>(b'U', 101);
const UI_SET_ABSBIT: Opcode = opcode::write::<i32>(b'U', 103);
const UI_SET_PROPBIT: Opcode = opcode::write::<i32>(b'U', 110);
/// The screen itself is touched, not a pad beside it.
const INPUT_PROP_DIRECT: u16 = 1;
const BUS_VIRTUAL: u16 = 6;

/// `struct uinput_setup`.
#[repr(C)]
struct Setup {
    bus: u16,
    vendor: u16,
    product: u16,
    version: u16,
    name: [u8; 80],
    force_feedback_effects: u32,
}

/// `struct uinput_abs_setup`.
#[repr(C)]
struct AxisSetup {
    code: u16,
    padding: u16,
    value: i32,
    minimum: i32,
    maximum: i32,
    fuzz: i32,
    flat: i32,
    resolution: i32,
}

/// Opens the door to uinput, through which nothing has gone yet.
pub fn open(path: &Path) -> Result<File> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().write(true).custom_flags(nonblocking).open(path).map_err(|error| {
        let (why, remedy) = match error.kind() {
            ErrorKind::NotFound => (
                "there is none",
                "Load the kernel's module (sudo modprobe uinput). A container has no such device unless it is \
                 given one, and a virtual display (Xvfb, VNC) no input devices at all: use click, drag and scroll.",
            ),
            ErrorKind::PermissionDenied => (
                "this user may not",
                "Let a group of yours write it: KERNEL==\"uinput\", GROUP=\"input\", MODE=\"0660\", \
                 OPTIONS+=\"static_node=uinput\" in /etc/udev/rules.d/60-uinput.rules, then sudo usermod -aG input \
                 $USER, and log in again. Programs of that group can type and read what is typed.",
            ),
            _ => ("it fails", "Use the pointer instead: click, drag and scroll."),
        };
        Error::new(
            Code::Unsupported,
            format!("Touching needs a touchscreen made through {}, and {why}.", path.display()),
        )
        .os(error)
        .remedy(remedy)
    })
}

/// Makes a touchscreen with axes from 0 to `width` and `height`, less one. It goes when the file is closed.
pub fn make(file: File, name: &str, width: i32, height: i32) -> Result<File> {
    set_up(&file, name, width, height).map_err(|error| {
        Error::new(Code::Unsupported, "The kernel did not make a touchscreen.")
            .os(std::io::Error::from(error))
            .remedy("Use the pointer instead: click, drag and scroll.")
    })?;
    Ok(file)
}

fn set_up(file: &File, name: &str, width: i32, height: i32) -> rustix::io::Result<()> {
    set::<UI_SET_EVBIT>(file, EV_SYN)?;
    set::<UI_SET_EVBIT>(file, EV_KEY)?;
    set::<UI_SET_EVBIT>(file, EV_ABS)?;
    set::<UI_SET_KEYBIT>(file, BTN_TOUCH)?;
    set::<UI_SET_PROPBIT>(file, INPUT_PROP_DIRECT)?;
    let last_slot = MOST_FINGERS as i32 - 1;
    for (code, maximum) in [
        (ABS_X, width - 1),
        (ABS_Y, height - 1),
        (ABS_MT_SLOT, last_slot),
        (ABS_MT_TRACKING_ID, LAST_TRACKING_ID),
        (ABS_MT_POSITION_X, width - 1),
        (ABS_MT_POSITION_Y, height - 1),
    ] {
        set::<UI_SET_ABSBIT>(file, code)?;
        let axis =
            AxisSetup { code, padding: 0, value: 0, minimum: 0, maximum, fuzz: 0, flat: 0, resolution: 0 };
        // SAFETY: UI_ABS_SETUP takes a `struct uinput_abs_setup`, which this is.
        unsafe { ioctl(file, Setter::<UI_ABS_SETUP, AxisSetup>::new(axis))? };
    }
    let mut setup = Setup {
        bus: BUS_VIRTUAL,
        vendor: 0,
        product: 0,
        version: 1,
        name: [0; 80],
        force_feedback_effects: 0,
    };
    // The last byte stays zero.
    setup.name.iter_mut().take(79).zip(name.bytes()).for_each(|(to, from)| *to = from);
    // SAFETY: UI_DEV_SETUP takes a `struct uinput_setup`, which this is; UI_DEV_CREATE takes nothing.
    unsafe {
        ioctl(file, Setter::<UI_DEV_SETUP, Setup>::new(setup))?;
        ioctl(file, NoArg::<UI_DEV_CREATE>::new())
    }
}

fn set<const OPCODE: Opcode>(file: &File, value: u16) -> rustix::io::Result<()> {
    // SAFETY: these take a number.
    unsafe { ioctl(file, IntegerSetter::<OPCODE>::new_usize(usize::from(value))) }
}

const _: () = assert!(size_of::<Setup>() == 92 && size_of::<AxisSetup>() == 28);
