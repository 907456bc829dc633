//! An Xorg server with a screen that nobody sees and input devices that a test has in hand: through the
//! inputtest driver, so that to everybody on the display a person is at work.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use deskhand_core::Call;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The size of the screen, which is its first mode.
pub const SIZE: (i32, i32) = (1280, 1024);

/// The driver's axes go from 0 to here.
pub const LAST: f64 = 65_535.0;

/// The server. It ends with this.
pub struct Xorg {
    server: Child,
    folder: PathBuf,
    pub display: String,
}

/// A device as the driver makes it.
pub enum Kind {
    Pointer,
    Keyboard,
    Touch,
}

impl Xorg {
    /// Starts one with these devices; `None`, said aloud, where that cannot be.
    pub fn start(test: &str, devices: &[(&str, Kind)]) -> Option<Xorg> {
        Xorg::with_room(test, SIZE, devices)
    }

    /// The same with room for more monitors to be plugged in.
    pub fn with_room(test: &str, room: (i32, i32), devices: &[(&str, Kind)]) -> Option<Xorg> {
        let program = Path::new("/usr/lib/xorg/Xorg");
        if !program.exists() || !rustix::process::geteuid().is_root() {
            let missing = !program.exists() && std::env::var_os("REQUIRE_DESKTOP").is_some();
            assert!(!missing, "Xorg is missing");
            eprintln!("SKIPPED: needs Xorg, and root to start it without a console.");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("deskhand-xorg-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("xorg.conf"), configuration(&folder, room, devices)).unwrap();
        let mut server = Command::new(program)
            .args(["-displayfd", "1", "-noreset", "-nolisten", "tcp", "-config"])
            .arg(folder.join("xorg.conf"))
            .arg("-logfile")
            .arg(folder.join("log"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let xorg = Xorg { server, folder, display: format!(":{}", number.trim()) };
        let log = || std::fs::read_to_string(xorg.folder.join("log")).unwrap_or_default();
        assert!(!number.is_empty(), "Xorg starts: {}", log());
        Some(xorg)
    }

    /// Where a device takes its events.
    pub fn socket(&self, device: &str) -> PathBuf {
        self.folder.join(device)
    }

    /// The process of the server.
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_raw(self.server.id().cast_signed()).unwrap()
    }
}

impl Drop for Xorg {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.pid(), rustix::process::Signal::CONT);
        let _ = rustix::process::kill_process(self.pid(), rustix::process::Signal::TERM);
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn configuration(folder: &Path, room: (i32, i32), devices: &[(&str, Kind)]) -> String {
    let ((width, height), (across, down)) = (SIZE, room);
    let mut text = format!(
        r#"
Section "ServerFlags"
  Option "AutoAddDevices" "false"
  Option "AutoAddGPU" "false"
EndSection
Section "Device"
  Identifier "dummy"
  Driver "dummy"
  VideoRam 65536
EndSection
Section "Monitor"
  Identifier "monitor"
  HorizSync 5.0-1000.0
  VertRefresh 5.0-200.0
EndSection
Section "Screen"
  Identifier "screen"
  Device "dummy"
  Monitor "monitor"
  DefaultDepth 24
  SubSection "Display"
    Depth 24
    Modes "{width}x{height}" "1024x768"
    Virtual {across} {down}
  EndSubSection
EndSection
"#
    );
    let mut layout = String::new();
    for (name, kind) in devices {
        let kind = match kind {
            Kind::Pointer => "Option \"DeviceType\" \"PointerAbsolute\"",
            Kind::Keyboard => "Option \"DeviceType\" \"Keyboard\"",
            Kind::Touch => "Option \"DeviceType\" \"Touch\"\n  Option \"TouchCount\" \"10\"",
        };
        let socket = folder.join(name);
        text.push_str(&format!(
            "Section \"InputDevice\"\n  Identifier \"{name}\"\n  Driver \"inputtest\"\n  Option \"SocketPath\" \
             \"{}\"\n  {kind}\nEndSection\n",
            socket.display()
        ));
        layout.push_str(&format!("  InputDevice \"{name}\"\n"));
    }
    text.push_str(&format!(
        "Section \"ServerLayout\"\n  Identifier \"layout\"\n  Screen \"screen\"\n{layout}EndSection\n"
    ));
    text
}

/// A device in the test's hand.
pub struct Device(UnixStream);

impl Device {
    /// Takes it in hand.
    pub fn take(socket: &Path) -> Device {
        let call = Call::with_timeout(Duration::from_secs(10));
        let stream = call.until("connecting to the driver", || Ok(UnixStream::connect(socket).ok()));
        let mut device = Device(stream.unwrap());
        device.send(&[12, 0], &[1_u16.to_ne_bytes(), 0_u16.to_ne_bytes()].concat());
        device.0.read_exact(&mut [0; 12]).unwrap();
        device
    }

    /// Writes one event: words, then bytes.
    pub fn send(&mut self, words: &[u32], rest: &[u8]) {
        let mut event: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        event.extend(rest);
        self.0.write_all(&event).unwrap();
    }

    /// Waits until the server has taken all that was sent.
    pub fn sync(&mut self) {
        self.send(&[8, 1], &[]);
        self.0.read_exact(&mut [0; 8]).unwrap();
    }
}

/// The axes of a device, as the driver wants them: which are set, and 64 of them twice.
pub fn axes(set: &[f64]) -> Vec<u8> {
    let mut bytes = vec![0_u8; 1040];
    bytes[4] = (1 << set.len()) - 1;
    for (place, value) in set.iter().enumerate() {
        bytes[16 + 8 * place..24 + 8 * place].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

/// A person with a mouse and a keyboard.
pub struct Hand {
    mouse: Device,
    keyboard: Device,
}

/// What [`Hand::at`] needs to be there.
pub fn mouse_and_keyboard() -> [(&'static str, Kind); 2] {
    [("mouse", Kind::Pointer), ("keyboard", Kind::Keyboard)]
}

/// The keys of a US keyboard in their rows; each row with the code of its first.
const ROWS: [(u32, &str, &str); 5] = [
    (10, "1234567890-=", "!@#$%^&*()_+"),
    (24, "qwertyuiop[]", "QWERTYUIOP{}"),
    (38, "asdfghjkl;'`", "ASDFGHJKL:\"~"),
    (51, "\\zxcvbnm,./", "|ZXCVBNM<>?"),
    (65, " ", " "),
];

pub const ESCAPE: u32 = 9;
pub const BACKSPACE: u32 = 22;
pub const TAB: u32 = 23;
pub const ENTER: u32 = 36;
pub const CTRL: u32 = 37;
pub const SHIFT: u32 = 50;

impl Hand {
    pub fn at(xorg: &Xorg) -> Hand {
        Hand { mouse: Device::take(&xorg.socket("mouse")), keyboard: Device::take(&xorg.socket("keyboard")) }
    }

    pub fn point(&mut self, x: i32, y: i32) {
        let middle = |pixel: i32, size: i32| (f64::from(pixel) + 0.5) * (LAST + 1.0) / f64::from(size);
        let axes = axes(&[middle(x, SIZE.0), middle(y, SIZE.1)]);
        self.mouse.send(&[1056, 2, 1, 0], &axes);
        self.mouse.sync();
    }

    /// Buttons as the server numbers them: 1 is the left one, 4 to 7 are the wheel.
    pub fn button(&mut self, number: u32, down: bool) {
        self.mouse.send(&[1064, 4, 0, number, u32::from(down), 0], &axes(&[]));
        self.mouse.sync();
    }

    pub fn press(&mut self, number: u32) {
        self.button(number, true);
        self.button(number, false);
    }

    pub fn click(&mut self, x: i32, y: i32) {
        self.point(x, y);
        self.press(1);
    }

    pub fn key(&mut self, code: u32, down: bool) {
        self.keyboard.send(&[16, 5, code, u32::from(down)], &[]);
        self.keyboard.sync();
    }

    pub fn tap(&mut self, code: u32) {
        self.key(code, true);
        self.key(code, false);
    }

    /// Types on a US keyboard.
    pub fn types(&mut self, text: &str) {
        for c in text.chars() {
            let (code, shift) = key_of(c);
            if shift {
                self.key(SHIFT, true);
            }
            self.tap(code);
            if shift {
                self.key(SHIFT, false);
            }
        }
    }
}

pub fn key_of(c: char) -> (u32, bool) {
    let place = |row: &str| row.chars().position(|other| other == c);
    for (first, plain, shifted) in ROWS {
        if let Some(place) = place(plain) {
            return (first + u32::try_from(place).unwrap(), false);
        }
        if let Some(place) = place(shifted) {
            return (first + u32::try_from(place).unwrap(), true);
        }
    }
    panic!("a US keyboard has no key for {c:?}")
}
