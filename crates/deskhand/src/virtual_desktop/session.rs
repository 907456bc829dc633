//! The folder of a private desktop, and the environment of the programs on it.

use super::processes;
use deskhand_core::{Call, Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Variables that lead back into the person's session, or that make toolkits behave unlike elsewhere.
pub const REMOVED: &[&str] = &[
    "AT_SPI_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "DBUS_STARTER_BUS_TYPE",
    "DESKTOP_AUTOSTART_ID",
    "DESKTOP_SESSION",
    "DESKTOP_STARTUP_ID",
    "GDK_DPI_SCALE",
    "GDK_SCALE",
    "GIO_LAUNCHED_DESKTOP_FILE",
    "GIO_LAUNCHED_DESKTOP_FILE_PID",
    "GNOME_DESKTOP_SESSION_ID",
    "GTK_IM_MODULE",
    "KDE_FULL_SESSION",
    "NO_AT_BRIDGE",
    "PIPEWIRE_REMOTE",
    "PIPEWIRE_RUNTIME_DIR",
    "PULSE_RUNTIME_PATH",
    "PULSE_SERVER",
    "QT_AUTO_SCREEN_SCALE_FACTOR",
    "QT_IM_MODULE",
    "QT_QPA_PLATFORMTHEME",
    "QT_SCALE_FACTOR",
    "QT_SCREEN_SCALE_FACTORS",
    "SESSION_MANAGER",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "WINDOWID",
    "XDG_ACTIVATION_TOKEN",
    "XDG_CURRENT_DESKTOP",
    "XDG_SEAT",
    "XDG_SESSION_ID",
    "XDG_VTNR",
    "XMODIFIERS",
];

/// The same for every private desktop. X11 is chosen where a toolkit would try Wayland first, accessibility
/// is on where a toolkit asks the environment, drawing needs no graphics card, and settings are kept in
/// memory, which needs no daemon.
const FIXED: &[(&str, &str)] = &[
    ("ACCESSIBILITY_ENABLED", "1"),
    // Who looks for the session of a person passes by.
    ("DESKHAND_PRIVATE_DESKTOP", "1"),
    ("GDK_BACKEND", "x11"),
    ("GNOME_ACCESSIBILITY", "1"),
    // Without a graphics card GTK 4 spends seconds on shaders before its first frame.
    ("GSK_RENDERER", "cairo"),
    ("GTK_A11Y", "atspi"),
    // Without these GTK 2 shows nobody its elements. GTK 3 has the one in itself and passes by the other.
    ("GTK_MODULES", "gail:atk-bridge"),
    ("GTK_USE_PORTAL", "0"),
    ("LIBGL_ALWAYS_SOFTWARE", "1"),
    ("MOZ_ENABLE_WAYLAND", "0"),
    ("QT_ACCESSIBILITY", "1"),
    ("QT_LINUX_ACCESSIBILITY_ALWAYS_ON", "1"),
    ("QT_QPA_PLATFORM", "xcb"),
    // On a desktop that it does not know, LibreOffice draws everything itself and has no accessible tree.
    ("SAL_USE_VCLPLUGIN", "gtk3"),
    ("SDL_VIDEODRIVER", "x11"),
    ("XDG_SESSION_TYPE", "x11"),
];

const PREFIX: &str = "deskhand-desktop-";

/// The folder of a desktop, and what follows from it. While any copy lives, nobody takes the folder for
/// the remains of a desktop whose owner was killed.
#[derive(Clone, Debug)]
pub struct Session {
    folder: PathBuf,
    display: String,
    share_settings: bool,
    _lock: Arc<File>,
}

impl Session {
    /// Makes the folder with everything that has to be there before the first program starts.
    pub fn create(share_settings: bool) -> Result<Session> {
        let folder = std::env::temp_dir().join(format!("{PREFIX}{}", hex(&random::<4>()?)));
        let cannot = |error: std::io::Error| {
            Error::backend(format!("The private desktop's folder {} cannot be made.", folder.display()))
                .because(error)
        };
        private_folder(&folder).map_err(cannot)?;
        for inner in ["run", "config", "cache", "data", "state"] {
            private_folder(&folder.join(inner)).map_err(cannot)?;
        }
        let mut cookie = private_file(&folder.join("cookie")).map_err(cannot)?;
        cookie.write_all(&cookie_entry(&random::<16>()?)).map_err(cannot)?;
        for (name, content) in [("openbox.xml", OPENBOX), ("i3.conf", I3)] {
            fs::write(folder.join(name), content).map_err(cannot)?;
        }
        // The lock comes into being already locked: without the renaming, another start could take this
        // folder for remains between the two steps.
        let lock = private_file(&folder.join("lock.new")).map_err(cannot)?;
        flock(&lock, FlockOperation::NonBlockingLockShared).map_err(|error| cannot(error.into()))?;
        fs::rename(folder.join("lock.new"), folder.join("lock")).map_err(cannot)?;
        Ok(Session { folder, display: String::new(), share_settings, _lock: Arc::new(lock) })
    }

    /// Joins the desktop in a folder that its owner has made.
    pub fn join(folder: PathBuf, share_settings: bool) -> Result<Session> {
        let cannot = |error: std::io::Error| {
            Error::backend(format!("There is no private desktop in {}.", folder.display())).because(error)
        };
        let lock = File::open(folder.join("lock")).map_err(cannot)?;
        flock(&lock, FlockOperation::NonBlockingLockShared).map_err(|error| cannot(error.into()))?;
        Ok(Session { folder, display: String::new(), share_settings, _lock: Arc::new(lock) })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the X server's cookie.
    pub fn cookie_file(&self) -> PathBuf {
        self.folder.join("cookie")
    }

    /// The name of the X display; empty until it is known.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Keeps the name of the X display.
    pub fn set_display(&mut self, display: &str) {
        display.clone_into(&mut self.display);
    }

    /// The address of the session bus.
    pub fn bus_address(&self) -> String {
        format!("unix:path={}", self.inner("bus"))
    }

    /// The variable that every program of this desktop carries, by which it is recognized.
    pub fn mark(&self) -> String {
        format!("XDG_RUNTIME_DIR={}", self.inner("run"))
    }

    /// What a program needs in its environment to belong to this desktop.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut set = |name: &str, value: String| all.push((name.to_owned(), value));
        set("DISPLAY", self.display.clone());
        set("XAUTHORITY", self.inner("cookie"));
        set("DBUS_SESSION_BUS_ADDRESS", self.bus_address());
        set("XDG_RUNTIME_DIR", self.inner("run"));
        if !self.share_settings {
            set("GSETTINGS_BACKEND", "memory".to_owned());
            set("XDG_CONFIG_HOME", self.inner("config"));
            set("XDG_CACHE_HOME", self.inner("cache"));
            set("XDG_DATA_HOME", self.inner("data"));
            set("XDG_STATE_HOME", self.inner("state"));
            set("XDG_DATA_DIRS", data_folders());
        }
        all
    }

    /// Gives a command the environment of this desktop.
    pub fn apply(&self, command: &mut Command) {
        for name in REMOVED {
            command.env_remove(name);
        }
        command.envs(self.environment());
    }

    /// Ends whatever still runs here and removes the folder, if it is still there.
    pub fn clear(&self) {
        clear(&self.folder, &self.mark());
    }

    fn inner(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }
}

/// Clears what desktops left behind whose owner and keeper were both killed.
pub fn clear_remains() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let (name, folder) = (entry.file_name(), entry.path());
        let ours = entry
            .metadata()
            .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw());
        if !ours || !name.to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(lock) = File::open(folder.join("lock")) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            clear(&folder, &format!("XDG_RUNTIME_DIR={}", folder.join("run").display()));
        }
    }
}

fn clear(folder: &Path, mark: &str) {
    if folder.exists() {
        let call = Call::with_timeout(Duration::from_secs(2));
        processes::end(&call, Duration::from_millis(200), || processes::marked(mark));
        let _ = fs::remove_dir_all(folder);
    }
}

/// Where applications find desktop entries: the person's own come first, though the folder in which they
/// may be changed is another one here.
fn data_folders() -> String {
    let present = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let own = present("XDG_DATA_HOME").or_else(|| Some(format!("{}/.local/share", present("HOME")?)));
    let shared = present("XDG_DATA_DIRS").unwrap_or_else(|| "/usr/local/share:/usr/share".to_owned());
    own.map_or_else(|| shared.clone(), |own| format!("{own}:{shared}"))
}

/// One entry of an Xauthority file, good for any display: the number is not known yet when the server
/// reads the file.
fn cookie_entry(cookie: &[u8; 16]) -> Vec<u8> {
    const ANY_FAMILY: u16 = 0xffff;
    let name = b"MIT-MAGIC-COOKIE-1";
    let mut entry = ANY_FAMILY.to_be_bytes().to_vec();
    for field in [&b""[..], b"", name, cookie] {
        // Every field is far shorter than 2^16.
        entry.extend((field.len() as u16).to_be_bytes());
        entry.extend(field);
    }
    entry
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| Error::backend("There is no randomness for a cookie.").because(error))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn private_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Openbox without its own shortcuts on modifiers and clicks: an Alt+click belongs to the application.
/// One desktop, windows in view, and only the two key combinations that every desktop has.
const OPENBOX: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <focus><focusNew>yes</focusNew><followMouse>no</followMouse><raiseOnFocus>no</raiseOnFocus></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <theme><name>Clearlooks</name><titleLayout>NLIMC</titleLayout><animateIconify>no</animateIconify></theme>
  <desktops><number>1</number><popupTime>0</popupTime></desktops>
  <resize><popupShow>Never</popupShow></resize>
  <keyboard>
    <keybind key="A-F4"><action name="Close"/></keybind>
    <keybind key="A-Tab"><action name="NextWindow"><dialog>none</dialog><finalactions>
      <action name="Focus"/><action name="Raise"/><action name="Unshade"/></finalactions></action></keybind>
  </keyboard>
  <mouse>
    <dragThreshold>1</dragThreshold><doubleClickTime>400</doubleClickTime>
    <context name="Titlebar">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
      <mousebind button="Left" action="DoubleClick"><action name="ToggleMaximize"/></mousebind>
    </context>
    <context name="Client">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Middle" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Right" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
    <context name="Top"><mousebind button="Left" action="Drag">
      <action name="Resize"><edge>top</edge></action></mousebind></context>
    <context name="Left"><mousebind button="Left" action="Drag">
      <action name="Resize"><edge>left</edge></action></mousebind></context>
    <context name="Right"><mousebind button="Left" action="Drag">
      <action name="Resize"><edge>right</edge></action></mousebind></context>
    <context name="Bottom"><mousebind button="Left" action="Drag">
      <action name="Resize"><edge>bottom</edge></action></mousebind></context>
    <context name="TLCorner TRCorner BLCorner BRCorner">
      <mousebind button="Left" action="Drag"><action name="Resize"/></mousebind></context>
    <context name="Iconify"><mousebind button="Left" action="Click"><action name="Iconify"/></mousebind></context>
    <context name="Maximize"><mousebind button="Left" action="Click">
      <action name="ToggleMaximize"/></mousebind></context>
    <context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
  </mouse>
</openbox_config>
"#;

/// i3 with nothing but tiling; without a file of its own it asks questions in a window.
const I3: &str = "# i3 config file (v4)\nfont pango:monospace 9\nfloating_modifier Mod4\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_to_its_folder_and_leaves_nothing_behind() {
        let mut session = Session::create(false).unwrap();
        session.set_display(":7");
        let folder = session.folder().to_owned();
        assert_eq!(fs::metadata(folder.join("run")).unwrap().mode() & 0o777, 0o700);
        let environment = session.environment();
        let value = |name: &str| environment.iter().find(|(key, _)| key == name).map(|(_, value)| &**value);
        assert_eq!(value("DISPLAY"), Some(":7"));
        assert_eq!(value("XDG_RUNTIME_DIR"), folder.join("run").to_str());
        assert!(environment.iter().all(|(name, _)| !REMOVED.contains(&&**name)), "set and removed at once");
        session.clear();
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_in_use_is_no_remains() {
        let session = Session::create(false).unwrap();
        clear_remains();
        assert!(session.folder().exists());
        let folder = session.folder().to_owned();
        drop(session);
        clear_remains();
        assert!(!folder.exists());
    }

    #[test]
    fn the_cookie_file_is_what_x_clients_read() {
        let entry = cookie_entry(&[7; 16]);
        assert_eq!(entry[..8], [0xff, 0xff, 0, 0, 0, 0, 0, 18]);
        assert_eq!(entry.len(), 2 + 4 * 2 + 18 + 16);
    }
}
