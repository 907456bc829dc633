//! Applications started, listed and ended for real. `ps` and `/proc` say what became of them.

mod own_desktop;

use deskhand_core::app::{Apps, Launch, Launched};
use deskhand_core::watch::Bell;
use deskhand_core::window::{Window, Windows};
use deskhand_core::{Call, Code, Error};
use deskhand_linux::app::LinuxApps;
use deskhand_linux::x11::window::XWindows;
use own_desktop::{OwnDesktop, call, until};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// A desktop with applications.
struct Stage {
    apps: LinuxApps,
    windows: Arc<XWindows>,
    desktop: OwnDesktop,
}

impl Stage {
    fn new() -> Option<Stage> {
        let desktop = OwnDesktop::start(&["openbox"])?;
        let windows = Arc::new(XWindows::new(&desktop.display));
        let list = windows.clone();
        let apps = LinuxApps::new(desktop.environment.clone(), Box::new(move |call| list.list(call)));
        Some(Stage { apps, windows, desktop })
    }

    fn launch(&self, application: &str, arguments: &[&str]) -> Result<Launched, Error> {
        self.apps.launch(&call(), &wish(application, arguments))
    }

    /// The window of a family of processes.
    fn window_of(&self, pid: u32) -> Window {
        let mut found = None;
        until("the first window", || {
            let family = self.apps.family(&call(), pid).unwrap();
            let windows = self.windows.list(&call()).unwrap();
            found = windows.into_iter().find(|window| window.pid.is_some_and(|pid| family.contains(&pid)));
            found.is_some()
        });
        found.unwrap()
    }

    /// Ends a program and waits until nothing is left of it, not even a zombie.
    fn end(&self, pid: u32, force: bool) {
        self.apps.terminate(&call(), pid, force).unwrap();
        until("the process to end", || !self.apps.alive(pid));
        until("the zombie to be reaped", || !Path::new(&format!("/proc/{pid}")).exists());
    }
}

/// Applications without a desktop: their own folders for programs and entries.
struct Sandbox {
    apps: LinuxApps,
    folder: PathBuf,
}

impl Sandbox {
    fn new(name: &str) -> Sandbox {
        let folder = std::env::temp_dir().join(format!("deskhand-apps-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::create_dir_all(folder.join("share/applications")).unwrap();
        let set = |name: &str, value: String| (name.to_owned(), value);
        let environment = vec![
            set("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display())),
            set("HOME", folder.display().to_string()),
            set("XDG_DATA_HOME", folder.join("share").display().to_string()),
            set("XDG_DATA_DIRS", folder.join("none").display().to_string()),
            set("LC_ALL", "de_DE.UTF-8".to_owned()),
        ];
        let apps = LinuxApps::new(environment, Box::new(|_: &Call| Ok(Vec::new())));
        Sandbox { apps, folder }
    }

    /// A script that writes its arguments into the file `out`, one a line, and stays or ends.
    fn program(&self, path: &str, then: &str) -> PathBuf {
        let program = self.folder.join(path);
        let out = self.folder.join("out");
        let text = format!(
            "#!/bin/sh\nfor a in \"$@\"; do printf '<%s>\\n' \"$a\"; done > {0}.part\n\
             pwd >> {0}.part\necho \"$EXTRA\" >> {0}.part\nmv {0}.part {0}\n{then}\n",
            out.display()
        );
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    fn entry(&self, id: &str, keys: &str) {
        let file = self.folder.join("share/applications").join(format!("{id}.desktop"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("[Desktop Entry]\nType=Application\n{keys}\n")).unwrap();
    }

    fn launch(&self, application: &str, arguments: &[&str]) -> Result<Launched, Error> {
        self.apps.launch(&call(), &wish(application, arguments))
    }

    fn denied(&self, launch: &Launch) {
        let error = self.apps.launch(&call(), launch).unwrap_err();
        assert_eq!(error.code, Code::DeniedByPolicy, "{launch:?} {error}");
        assert!(error.detail.remedy.unwrap().contains("--allow shell"));
    }

    /// What the script wrote.
    fn output(&self) -> String {
        let out = self.folder.join("out");
        until("the script to write", || out.exists());
        let text = std::fs::read_to_string(&out).unwrap();
        std::fs::remove_file(out).unwrap();
        text
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn wish(application: &str, arguments: &[&str]) -> Launch {
    Launch {
        application: application.to_owned(),
        arguments: arguments.iter().map(ToString::to_string).collect(),
        ..Launch::default()
    }
}

#[test]
fn applications_start_by_every_name_that_people_use() {
    let Some(stage) = Stage::new() else { return };
    for (application, id, name, class) in [
        ("org.xfce.mousepad", Some("org.xfce.mousepad"), "Mousepad", "Mousepad"),
        ("org.xfce.mousepad.desktop", Some("org.xfce.mousepad"), "Mousepad", "Mousepad"),
        ("mousepad", Some("org.xfce.mousepad"), "Mousepad", "Mousepad"),
        ("MousePAD", Some("org.xfce.mousepad"), "Mousepad", "Mousepad"),
        ("galculator", Some("galculator"), "Galculator", "Galculator"),
        ("Calculator", Some("org.gnome.Calculator"), "Calculator", "gnome-calculator"),
        ("gnome-calculator", Some("org.gnome.Calculator"), "Calculator", "gnome-calculator"),
        ("xterm", Some("debian-xterm"), "XTerm", "XTerm"),
        ("/usr/bin/xterm", None, "xterm", "XTerm"),
    ] {
        let launched = stage.launch(application, &[]).unwrap();
        assert_eq!((launched.name.as_str(), launched.id.as_deref()), (name, id), "{application}");
        until("the window to get the focus", || stage.window_of(launched.pid).focused);
        let window = stage.window_of(launched.pid);
        assert_eq!(window.application, class, "{application}");

        let running = stage.apps.running(&call()).unwrap();
        let known = running.iter().find(|known| Some(known.pid) == window.pid).unwrap();
        let expected = if application.starts_with('/') { "XTerm" } else { name };
        assert_eq!((known.name.as_str(), known.windows), (expected, 1), "{known:?}");
        assert!(known.active);

        let session = stage.desktop.run("ps", &["-o", "sid=", "-p", &launched.pid.to_string()]);
        assert_eq!(session.trim(), launched.pid.to_string(), "it leads a session of its own");
        for stream in 0..3 {
            let file = std::fs::read_link(format!("/proc/{}/fd/{stream}", launched.pid)).unwrap();
            // xterm puts its own terminal there only for the shell in it.
            assert_eq!(file, Path::new("/dev/null"), "stream {stream}");
        }
        stage.end(launched.pid, false);
    }
}

#[test]
fn arguments_reach_the_application_unchanged() {
    let Some(stage) = Stage::new() else { return };
    let file = stage.desktop.home.join("100 % Grüße $HOME 日本.txt");
    std::fs::write(&file, "text").unwrap();
    let launched = stage.launch("Mousepad", &["--disable-server", &file.display().to_string()]).unwrap();
    let mut title = String::new();
    until("the file in the title", || {
        title = stage.window_of(launched.pid).title;
        title.contains("100 % Grüße $HOME 日本.txt")
    });
    stage.end(launched.pid, true);
}

#[test]
fn what_runs_is_listed_once_with_its_windows() {
    let Some(stage) = Stage::new() else { return };
    let launched = stage.launch("org.xfce.mousepad", &["--disable-server"]).unwrap();
    stage.window_of(launched.pid);
    let data = format!("--user-data-dir={}", stage.desktop.home.join("chromium").display());
    let chromium = stage.launch("chromium", &["--no-sandbox", "--disable-gpu", "--no-first-run", &data]);
    let chromium = chromium.unwrap();
    until("the browser to get the focus", || stage.window_of(chromium.pid).focused);
    let window = stage.window_of(chromium.pid);
    until("the browser's children", || 4 < stage.apps.family(&call(), chromium.pid).unwrap().len());
    assert_eq!(stage.apps.family(&call(), chromium.pid).unwrap()[0], chromium.pid);

    let running = stage.apps.running(&call()).unwrap();
    let of = |id: &str| running.iter().filter(|known| known.id.as_deref() == Some(id)).collect::<Vec<_>>();
    let [browser] = of("chromium")[..] else { panic!("{running:?}") };
    assert_eq!((Some(browser.pid), browser.windows), (window.pid, 1));
    let [editor] = of("org.xfce.mousepad")[..] else { panic!("{running:?}") };
    assert_eq!((editor.process.as_str(), editor.windows, editor.pid), ("mousepad", 1, launched.pid));
    assert_eq!(running.iter().filter(|known| known.active).count(), 1);
    // Those with a window here are of this desktop. (Chromium writes its title over its environment.)
    for known in running.iter().filter(|known| known.windows == 0) {
        let environment = std::fs::read(format!("/proc/{}/environ", known.pid)).unwrap();
        let display = format!("DISPLAY={}", stage.desktop.display);
        let text = String::from_utf8_lossy(&environment).into_owned();
        assert!(text.split('\0').any(|pair| pair == display), "{known:?} is of another desktop");
    }
    stage.end(launched.pid, false);
    stage.end(chromium.pid, false);
    until("the window to go", || stage.windows.list(&call()).unwrap().is_empty());
}

#[test]
fn what_is_installed_is_listed_in_the_session_language_and_kept_up_to_date() {
    let sandbox = Sandbox::new("installed");
    let names = || -> Vec<(String, String)> {
        let installed = sandbox.apps.installed(&call()).unwrap();
        installed.into_iter().map(|entry| (entry.id, entry.name)).collect()
    };
    assert!(names().is_empty());
    sandbox.entry("org.x.Paper", "Name=Paper\nName[de]=Papier\nExec=paper %U\nStartupWMClass=paper-win");
    until("the new entry to be seen", || !names().is_empty());
    assert_eq!(names(), [("org.x.Paper".to_owned(), "Papier".to_owned())]);
    let paper = &sandbox.apps.installed(&call()).unwrap()[0];
    assert_eq!(paper.executable.as_deref(), Some("paper"));
    assert_eq!(paper.window_class.as_deref(), Some("paper-win"));
    sandbox.entry("a.Hidden", "Name=A\nExec=a\nHidden=true");
    sandbox.entry("b.NoDisplay", "Name=B\nExec=b\nNoDisplay=true");
    sandbox.entry("c.Absent", "Name=C\nExec=c\nTryExec=no-such-program");
    sandbox.entry("kde/tool", "Name=Tool\nExec=/bin/true");
    until("the entry in the folder to be seen", || names().len() == 2);
    assert_eq!(names()[1], ("kde-tool".to_owned(), "Tool".to_owned()));
    std::fs::remove_file(sandbox.folder.join("share/applications/org.x.Paper.desktop")).unwrap();
    until("the entry to be gone", || names().len() == 1);
}

#[test]
fn entries_give_their_arguments_and_folder() {
    let sandbox = Sandbox::new("entries");
    sandbox.program("bin/paper", "exec sleep 60");
    let home = sandbox.folder.display().to_string();
    let place = sandbox.folder.join("share").display().to_string();
    sandbox.entry(
        "org.x.Paper",
        &format!(
            "Name=Paper\nName[de]=Papier\nIcon=pen\nPath={place}\nExec=paper --first %i --name=%c %U --last"
        ),
    );
    sandbox.entry("unlisted", "Name=Quiet\nNoDisplay=true\nExec=paper");
    let run = |application: &str, arguments: &[&str], expected: &str| {
        let launched = sandbox.launch(application, arguments).unwrap();
        assert_eq!(sandbox.output(), expected, "{application}");
        assert!(sandbox.apps.alive(launched.pid));
        sandbox.apps.terminate(&call(), launched.pid, false).unwrap();
        until("the end", || !Path::new(&format!("/proc/{}", launched.pid)).exists());
        assert!(!sandbox.apps.alive(launched.pid));
        launched
    };
    let all = "<--first>\n<--icon>\n<pen>\n<--name=Papier>\n<a b>\n<%u ü $X \"q\">\n<--last>\n";
    let arguments = ["a b", "%u ü $X \"q\""];
    for name in ["org.x.Paper", "org.x.paper.desktop", "Papier", "PAPER", "pap"] {
        let launched = run(name, &arguments, &format!("{all}{place}\n\n"));
        assert_eq!((launched.name.as_str(), launched.id.as_deref()), ("Papier", Some("org.x.Paper")));
    }
    assert_eq!(run("unlisted", &["x"], &format!("<x>\n{home}\n\n")).id.as_deref(), Some("unlisted"));

    let launch = Launch {
        working_directory: Some(PathBuf::from("/usr")),
        environment: vec![("EXTRA".to_owned(), "more".to_owned())],
        ..wish("unlisted", &[])
    };
    let launched = sandbox.apps.launch(&call(), &launch).unwrap();
    assert_eq!(sandbox.output(), "/usr\nmore\n");
    sandbox.apps.terminate(&call(), launched.pid, true).unwrap();
    let nowhere = Launch { working_directory: Some(PathBuf::from("/no/such")), ..wish("unlisted", &[]) };
    assert_eq!(sandbox.apps.launch(&call(), &nowhere).unwrap_err().code, Code::PathNotFound);
}

#[test]
fn ambiguous_and_unknown_names_are_answered_with_candidates() {
    let sandbox = Sandbox::new("names");
    sandbox.program("bin/paper", "exec sleep 60");
    sandbox.entry("a.One", "Name=Notes\nExec=paper");
    sandbox.entry("b.Two", "Name=notes\nExec=paper");
    sandbox.entry("c.Three", "Name=Notebook\nExec=paper");
    sandbox.entry("d.Gone", "Name=Departed\nExec=no-such-program");
    sandbox.entry("e.Bus", "Name=Omnibus\nDBusActivatable=true");
    for name in ["Notes", "note"] {
        let error = sandbox.launch(name, &[]).unwrap_err();
        assert_eq!(error.code, Code::AmbiguousTarget);
        assert!(error.detail.found.contains(&"Notes (a.One)".to_owned()), "{error:?}");
        assert!(error.detail.found.contains(&"notes (b.Two)".to_owned()), "{error:?}");
    }
    let error = sandbox.launch("Notebok", &[]).unwrap_err();
    assert_eq!(error.code, Code::ApplicationNotFound);
    assert_eq!(error.detail.found[0], "Notebook (c.Three)");
    for (name, code) in [
        ("zzqqxx", Code::ApplicationNotFound),
        ("/no/such/file", Code::ApplicationNotFound),
        ("./paper", Code::ApplicationNotFound),
        ("/etc/passwd", Code::ApplicationNotFound),
        ("..", Code::ApplicationNotFound),
        ("d.Gone", Code::ApplicationNotFound),
        ("e.Bus", Code::Unsupported),
        (" ", Code::InvalidArgument),
    ] {
        let error = sandbox.launch(name, &[]).unwrap_err();
        assert_eq!(error.code, code, "{name}: {error}");
    }
}

#[test]
fn shells_and_interpreters_need_the_permission() {
    let sandbox = Sandbox::new("policy");
    let script = sandbox.program("loose-script", "exec sleep 60");
    let link = sandbox.folder.join("bin/innocent");
    symlink("/bin/sh", &link).unwrap();
    for (name, arguments) in [
        ("sh", &["-c", "true"][..]),
        ("bash", &[]),
        ("python3", &["-c", "1"]),
        ("perl", &[]),
        ("env", &["true"]),
        ("/bin/sh", &[]),
        ("/usr/bin/../bin/bash", &[]),
        ("innocent", &[]),
        ("xterm", &["-e", "true"]),
        ("/usr/bin/xterm", &["-e", "true"]),
        (script.to_str().unwrap(), &[]),
    ] {
        sandbox.denied(&wish(name, arguments));
    }
    // A desktop entry may name what it likes, until the caller's arguments make a command of it.
    sandbox.entry("shell", "Name=Shell\nExec=sh -c \"exec sleep 60\"");
    sandbox.entry("wrapped", "Name=Wrapped\nExec=env A=b sh %U");
    let launched = sandbox.launch("shell", &[]).unwrap();
    assert_eq!(launched.id.as_deref(), Some("shell"));
    sandbox.apps.terminate(&call(), launched.pid, true).unwrap();
    sandbox.denied(&wish("shell", &["-c", "true"]));
    sandbox.denied(&wish("wrapped", &["x"]));
    sandbox.program("bin/paper", "exec sleep 60");
    let loaded = ("LD_PRELOAD".to_owned(), "/tmp/x.so".to_owned());
    sandbox.denied(&Launch { environment: vec![loaded], ..wish("paper", &[]) });

    // A script among the programs is a program, and with the permission everything is.
    let launched = sandbox.launch("paper", &["x"]).unwrap();
    assert!(sandbox.output().starts_with("<x>"));
    sandbox.apps.terminate(&call(), launched.pid, true).unwrap();
    for name in ["sh", script.to_str().unwrap()] {
        let arguments: &[&str] = if name == "sh" { &["-c", "exec sleep 60"] } else { &[] };
        let launch = Launch { allow_interpreters: true, ..wish(name, arguments) };
        let launched = sandbox.apps.launch(&call(), &launch).unwrap();
        sandbox.apps.terminate(&call(), launched.pid, true).unwrap();
    }
}

#[test]
fn the_end_of_a_process_rings_also_when_it_is_over() {
    let sandbox = Sandbox::new("ending");
    let mut process = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let soon = || Some(std::time::Instant::now() + Duration::from_secs(20));
    let bell = Bell::default();
    let watching = sandbox.apps.watch_end(process.id(), &bell).unwrap();
    assert!(!bell.wait(Some(std::time::Instant::now() + Duration::from_millis(100))), "it is running");
    drop(process.stdin.take());
    assert!(bell.wait(soon()));
    assert!(!sandbox.apps.alive(process.id()), "what is not reaped has ended, too");
    // One that has ended already, unreaped and then gone.
    let again = sandbox.apps.watch_end(process.id(), &bell).unwrap();
    assert!(bell.wait(soon()));
    process.wait().unwrap();
    drop((watching, again));
    let _gone = sandbox.apps.watch_end(process.id(), &bell).unwrap();
    assert!(bell.wait(soon()));
}

#[test]
fn a_program_that_fails_at_once_is_no_success() {
    let sandbox = Sandbox::new("failing");
    sandbox.program("bin/broken", "exit 3");
    sandbox.program("bin/killed", "kill -9 $$");
    sandbox.program("bin/launcher", "exit 0");
    let bad = sandbox.folder.join("bin/bad-script");
    std::fs::write(&bad, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&bad, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (name, says) in
        [("broken", "exit status 3"), ("killed", "signal 9"), ("bad-script", "could not be started")]
    {
        let error = sandbox.launch(name, &[]).unwrap_err();
        assert_eq!(error.code, Code::Backend);
        assert!(error.message.contains(says), "{}", error.message);
    }
    let launched = sandbox.launch("launcher", &[]).unwrap();
    until("the launcher to be reaped", || !Path::new(&format!("/proc/{}", launched.pid)).exists());
    let ours = std::process::id().to_string();
    let zombies = Command::new("ps").args(["--ppid", &ours, "-o", "stat="]).output().unwrap();
    assert!(!String::from_utf8_lossy(&zombies.stdout).contains('Z'), "no zombie is left");
}

#[test]
fn a_family_outlives_its_launcher_and_strangers_are_not_ended() {
    let sandbox = Sandbox::new("family");
    sandbox.program("bin/parent", "sleep 61 & exit 0");
    let launched = sandbox.launch("parent", &[]).unwrap();
    until("the launcher to end", || !sandbox.apps.alive(launched.pid));
    let family = sandbox.apps.family(&call(), launched.pid).unwrap();
    let [child] = family[..] else { panic!("{family:?}") };
    until("the child to become another program", || {
        std::fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name == "sleep\n")
    });
    sandbox.apps.terminate(&call(), child, false).unwrap();
    until("the child to end", || !sandbox.apps.alive(child));
    let error = sandbox.apps.terminate(&call(), child, false).unwrap_err();
    assert_eq!(error.code, Code::ApplicationNotFound);
    for pid in [0, 1, std::process::id()] {
        let error = sandbox.apps.terminate(&call(), pid, true).unwrap_err();
        assert_eq!(error.code, Code::PermissionDenied, "{pid}");
    }
    // Another user's process, where we are allowed to make one.
    if rustix::process::geteuid().is_root() {
        let mut nobody = Command::new("setpriv");
        let mut nobody = nobody.args(["--reuid=65534", "--clear-groups", "sleep", "60"]).spawn().unwrap();
        until("the process to change its user", || {
            std::fs::read_to_string(format!("/proc/{}/comm", nobody.id())).is_ok_and(|name| name == "sleep\n")
        });
        let error = sandbox.apps.terminate(&call(), nobody.id(), true).unwrap_err();
        assert_eq!(error.code, Code::PermissionDenied);
        assert!(error.message.contains("another user"), "{}", error.message);
        nobody.kill().unwrap();
        nobody.wait().unwrap();
    }
    let late = Call::with_timeout(Duration::ZERO);
    assert_eq!(sandbox.apps.launch(&late, &wish("parent", &[])).unwrap_err().code, Code::Timeout);
}
