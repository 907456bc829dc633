//! The file manager: asked to show files over D-Bus (org.freedesktop.FileManager1, which all of them have agreed
//! on), and read through its elements, since that agreement has no question for what is shown or selected.
//!
//! The folder stands in the location entry. A selected element is a file when its name, that of something in
//! it, or its text is the name of a file in that folder: each file manager builds its items differently, and
//! what does not exist there is a size, a date or a place in the sidebar.

use crate::atspi::bus::{process, session_bus, wait};
use crate::atspi::{Atspi, Session, WindowList};
use deskhand_core::element::{Bounds, Element, Elements, Node, Role, Root, State, Tree, TreeQuery};
use deskhand_core::files::{FileView, Files, Revealer};
use deskhand_core::script::{Run, Scripts};
use deskhand_core::window::{Window, WindowState};
use deskhand_core::{Call, Code, Error, Result};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file managers of one session.
pub struct FileManagers {
    session: Session,
    windows: WindowList,
    elements: Atspi,
    programs: crate::script::Programs,
}

const SERVICE: &str = "org.freedesktop.FileManager1";
const SERVICE_PATH: &str = "/org/freedesktop/FileManager1";

/// Window classes of file managers, in lower case.
const CLASSES: [&str; 8] =
    ["org.gnome.nautilus", "nautilus", "thunar", "pcmanfm", "pcmanfm-qt", "nemo", "caja", "org.kde.dolphin"];

/// How long PCManFM gets to start and to show a folder.
const STARTING: Duration = Duration::from_secs(6);

/// How many selected items are looked up.
const MOST: usize = 1000;

impl FileManagers {
    /// Those of this session. Nothing is connected yet.
    pub fn new(
        session: Session,
        windows: WindowList,
        elements: Atspi,
        programs: crate::script::Programs,
    ) -> FileManagers {
        FileManagers { session, windows, elements, programs }
    }

    /// Who answers for the service; nobody where nobody does, and nobody is started when it is asked.
    fn service(&self, call: &Call) -> Result<Option<Revealer>> {
        wait(call, "asking the session bus for a file manager", async {
            let bus = session_bus(&self.session).await?;
            let failed = |error: zbus::Error| {
                Error::backend("The session bus did not say who shows files.").because(error)
            };
            let daemon = "org.freedesktop.DBus";
            let ask = async |method: &str| {
                let path = "/org/freedesktop/DBus";
                let reply = bus.call_method(Some(daemon), path, Some(daemon), method, &()).await;
                let names: Vec<String> = reply.map_err(failed)?.body().deserialize().map_err(failed)?;
                Ok::<bool, Error>(names.iter().any(|name| name == SERVICE))
            };
            if ask("ListNames").await? {
                let gone = |_| Error::backend("The file manager has just quit.").remedy("Try again.");
                return process(&bus, SERVICE).await.map(|pid| Some(Revealer::Running(pid))).map_err(gone);
            }
            Ok(ask("ListActivatableNames").await?.then(|| Revealer::Starts(service_programs())))
        })
    }

    fn show_items(&self, call: &Call, path: &Path) -> Result<()> {
        let shown = wait(call, "the file manager was showing a file", async {
            let bus = session_bus(&self.session).await?;
            let body = (vec![uri(path)], "");
            let shown = bus.call_method(Some(SERVICE), SERVICE_PATH, Some(SERVICE), "ShowItems", &body).await;
            shown.map(drop).map_err(|error| {
                Error::backend("The file manager refused to show the file.")
                    .because(error)
                    .remedy("Start the file manager by itself to see why (launch_app).")
            })
        });
        shown.map_err(|error| match error.code {
            Code::Timeout => Error::new(
                Code::Timeout,
                "The file manager did not answer in time when it was asked to show the file.",
            )
            .remedy("It hangs or takes long to start: try again, or quit it by force (quit_app)."),
            _ => error,
        })
    }

    /// Thunar puts what is selected into its status bar: `'name' | 3 bytes | text`.
    fn of_status_bar(tree: &Tree, folder: &Path) -> Option<PathBuf> {
        let bars =
            tree.nodes.iter().map(|node| &node.element).filter(|element| element.role == Role::StatusBar);
        bars.filter_map(|bar| {
            let text = if bar.name.is_empty() { bar.value.as_deref()? } else { &bar.name };
            let first = text.split(" | ").next()?.trim();
            let name =
                first.strip_prefix(['\'', '"', '“', '‘', '„'])?.strip_suffix(['\'', '"', '”', '’', '“'])?;
            existing(folder, name)
        })
        .next()
    }

    /// The frontmost window of a file manager, and what is in it.
    fn frontmost(&self, call: &Call) -> Result<(Window, Tree)> {
        let windows = (self.windows)(call)?;
        let window = windows.iter().find(|window| is_file_manager(window)).cloned().ok_or_else(|| {
            Error::new(Code::WindowNotFound, "No file manager has a window.")
                .expected("a window of Files (Nautilus), Thunar, PCManFM, Nemo, Caja or Dolphin that is not minimized")
                .found(windows.iter().map(|window| format!("{:?} of {}", window.title, window.application)))
                .remedy("Open one with reveal_in_finder or launch_app.")
        })?;
        let query = TreeQuery { bounds: Bounds::No, ..TreeQuery::new(Root::Window(window.id)) };
        let tree = self.elements.tree(call, &query)?;
        if let (true, Some(silent)) = (tree.nodes.is_empty(), tree.silent.first()) {
            return Err(Error::new(Code::Timeout, format!("{} did not answer.", silent.application))
                .os(&silent.reason)
                .remedy("It hangs or is stopped: wait, or quit it by force (quit_app)."));
        }
        Ok((window, tree))
    }

    /// Selects a file in the frontmost window, when that shows its folder.
    fn pick(&self, call: &Call, path: &Path) -> Result<()> {
        let missing = || Error::new(Code::ElementNotFound, "The file does not show.");
        let (window, tree) = self.frontmost(call)?;
        let shown = folder(&tree, &window).ok_or_else(missing)?;
        if path.parent() != Some(shown.as_path()) {
            return Err(missing());
        }
        for node in tree.nodes.iter().filter(|node| node.element.role == Role::Icon).take(MOST) {
            let text = self.elements.text(call, &node.element.id, 4096)?;
            if text.is_some_and(|text| existing(&shown, &text.text).as_deref() == Some(path)) {
                return self.elements.select(call, &node.element.id);
            }
        }
        Err(missing())
    }

    /// The selected files in the tree of a window that shows `folder`, and how many could not be named.
    fn selected(&self, call: &Call, tree: &Tree, folder: &Path) -> Result<(Vec<PathBuf>, usize)> {
        let mut selected: Vec<PathBuf> = Vec::new();
        let mut nameless = 0;
        let items = (0..tree.nodes.len()).filter(|index| is_item(&tree.nodes[*index].element));
        for index in items.take(MOST) {
            call.check("looking at the selected files")?;
            let element = &tree.nodes[index].element;
            let below = descendants(tree, index).map(|node| node.element.name.as_str());
            let names = std::iter::once(element.name.as_str()).chain(below);
            let mut found = names.filter_map(|name| existing(folder, name)).next();
            if found.is_none() && element.role == Role::Icon {
                // The icons of PCManFM have no name, but a text.
                let text = self.elements.text(call, &element.id, 4096)?;
                found = text.and_then(|text| existing(folder, &text.text));
                nameless += usize::from(found.is_none());
            }
            match found {
                Some(path) if !selected.contains(&path) => selected.push(path),
                Some(_) | None => {}
            }
        }
        Ok((selected, nameless))
    }
}

impl Files for FileManagers {
    fn revealer(&self, call: &Call) -> Result<Revealer> {
        match self.service(call)? {
            Some(revealer) => Ok(revealer),
            None if self.programs.has("pcmanfm") => Ok(Revealer::Starts(vec!["pcmanfm".to_owned()])),
            None => Err(nobody()),
        }
    }

    fn reveal(&self, call: &Call, path: &Path) -> Result<String> {
        if self.service(call)?.is_some() {
            self.show_items(call, path)?;
            return Ok(SERVICE.to_owned());
        }
        // PCManFM is the one that does not have the service.
        if self.programs.has("pcmanfm") {
            let folder = path.parent().unwrap_or(path).display().to_string();
            let arguments =
                vec!["-c".to_owned(), "pcmanfm \"$1\" >/dev/null 2>&1 &".to_owned(), "sh".to_owned(), folder];
            self.programs.run(
                call,
                &Run { program: "sh".to_owned(), arguments, most_output: 1000, ..Run::default() },
            )?;
            // It is told the folder only. Whether it selects the file then is for the witness to see.
            let picked = || Ok(self.pick(call, path).ok());
            call.until_within(STARTING.min(call.remaining() / 2), "waiting for PCManFM", picked)?;
            return Ok("pcmanfm".to_owned());
        }
        Err(nobody())
    }

    fn front(&self, call: &Call) -> Result<FileView> {
        let (window, tree) = self.frontmost(call)?;
        let mut view = FileView {
            application: window.application.clone(),
            window: window.id,
            title: window.title.clone(),
            folder: folder(&tree, &window),
            selected: Vec::new(),
            unknown: None,
        };
        let Some(folder) = &view.folder else {
            view.unknown = Some("It does not say which folder it shows.".to_owned());
            return Ok(view);
        };
        let (selected, nameless) = self.selected(call, &tree, folder)?;
        view.selected = selected;
        if 0 < nameless {
            view.unknown =
                Some(format!("{nameless} selected items have no name that its accessibility tells."));
        } else if view.selected.is_empty() && has_mute_view(&tree) {
            view.selected.extend(FileManagers::of_status_bar(&tree, folder));
            if view.selected.is_empty() {
                view.unknown = Some(
                    "Its icon view tells one selected file, and neither several nor none: switch it to its list view \
                     (press_key ctrl+2) to be sure."
                        .to_owned(),
                );
            }
        }
        Ok(view)
    }
}

fn nobody() -> Error {
    Error::backend("No file manager is there to show files.")
        .expected(format!("one that answers for {SERVICE}, or pcmanfm"))
        .remedy("Install one: apt install thunar")
}

/// The programs that the bus may start for the service. Several files may name it, and which one the bus takes
/// it does not tell.
fn service_programs() -> Vec<String> {
    let set = |name: &str, usual: &str| {
        std::env::var(name).ok().filter(|set| !set.is_empty()).unwrap_or_else(|| usual.to_owned())
    };
    let home = set("XDG_DATA_HOME", &format!("{}/.local/share", std::env::var("HOME").unwrap_or_default()));
    let all = format!("{home}:{}:/usr/share", set("XDG_DATA_DIRS", "/usr/local/share"));
    let mut programs: Vec<String> = Vec::new();
    for folder in all.split(':') {
        let Ok(entries) = std::fs::read_dir(Path::new(folder).join("dbus-1/services")) else { continue };
        for file in entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path()).ok()) {
            let value = |key: &str| {
                file.lines().find_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix('='))
            };
            let program = value("Exec").and_then(|line| line.split_whitespace().next());
            if value("Name").is_some_and(|name| name.trim() == SERVICE)
                && let Some(program) = program.map(str::to_owned)
                && !programs.contains(&program)
            {
                programs.push(program);
            }
        }
    }
    programs
}

fn is_file_manager(window: &Window) -> bool {
    let shown = match window.state {
        WindowState::Normal | WindowState::Maximized | WindowState::Fullscreen => true,
        WindowState::Minimized | WindowState::Hidden => false,
    };
    shown && CLASSES.contains(&window.application.to_lowercase().as_str())
}

/// What its location entry says; where it has buttons instead, what they say together; or its title.
fn folder(tree: &Tree, window: &Window) -> Option<PathBuf> {
    let elements = || tree.nodes.iter().map(|node| &node.element);
    let entries = elements()
        .filter(|element| element.role == Role::TextField)
        .filter_map(|element| element.value.as_deref());
    let title = window.title.rsplit_once(" - ").map_or(window.title.as_str(), |(title, _)| title);
    let mut named = entries.chain([title]).filter_map(location);
    named.next().or_else(|| {
        let buttons: Vec<&Element> = elements().filter(|element| element.role == Role::RadioButton).collect();
        let root = buttons.iter().position(|button| button.name == "/")?;
        let end = buttons.iter().skip(root).position(|button| button.states.has(State::Checked))?;
        let path: PathBuf = buttons[root..=root + end].iter().map(|button| button.name.as_str()).collect();
        path.is_dir().then_some(path)
    })
}

/// A path or an address as location entries show them.
fn location(text: &str) -> Option<PathBuf> {
    let path = match text.strip_prefix("file://") {
        Some(rest) => PathBuf::from(unescaped(rest)),
        None if text.starts_with('/') => PathBuf::from(text),
        None => return None,
    };
    // Thunar ends folders with a slash.
    path.is_dir().then(|| path.components().collect())
}

fn is_item(element: &Element) -> bool {
    let kind = matches!(
        element.role,
        Role::Cell | Role::Row | Role::ListItem | Role::Icon | Role::TreeItem | Role::Option
    );
    kind && element.states.has(State::Selected)
}

/// The elements below one. They come right after it in a walk.
fn descendants(tree: &Tree, index: usize) -> impl Iterator<Item = &Node> {
    let depth = tree.nodes[index].depth;
    tree.nodes[index + 1..].iter().take_while(move |node| depth < node.depth)
}

/// A file of this name in a folder, if it is there.
fn existing(folder: &Path, name: &str) -> Option<PathBuf> {
    let plain = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    let path = folder.join(name);
    (plain && path.symlink_metadata().is_ok()).then_some(path)
}

/// Thunar's icon view says what it is and shows none of its items.
fn has_mute_view(tree: &Tree) -> bool {
    (0..tree.nodes.len()).any(|index| {
        tree.nodes[index].element.role == Role::FileChooser
            && !descendants(tree, index)
                .any(|node| matches!(node.element.role, Role::Cell | Role::Icon | Role::Table))
    })
}

/// The address of a file: every byte escaped that is not plain.
fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

fn unescaped(text: &str) -> std::ffi::OsString {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    std::os::unix::ffi::OsStringExt::from_vec(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_odd_names_come_back() {
        let path = Path::new("/tmp/Ünï 100%/50%25 #?ü.txt");
        assert_eq!(uri(path), "file:///tmp/%C3%9Cn%C3%AF%20100%25/50%2525%20%23%3F%C3%BC.txt");
        assert_eq!(Path::new(&unescaped(&uri(path)[7..])), path);
        assert_eq!(unescaped("100%"), "100%");
    }

    #[test]
    fn only_folders_that_are_there_are_locations() {
        assert_eq!(location("/tmp/"), Some("/tmp".into()));
        assert_eq!(location("file:///tmp"), Some("/tmp".into()));
        assert_eq!(location("tmp"), None);
        assert_eq!(location("/no/such/folder"), None);
        assert_eq!(existing(Path::new("/"), "tmp"), Some("/tmp".into()));
        assert_eq!(existing(Path::new("/tmp"), "../etc"), None);
    }
}
