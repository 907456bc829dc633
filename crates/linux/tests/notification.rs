//! Notifications on a bus of the test's own, which starts nobody, with daemons that python-dbusmock makes up.

#![cfg(target_os = "linux")]

use deskhand_core::notification::{
    CloseReason, Notification, NotificationEvent, NotificationWatch, Notifications, Shown, Urgency,
};
use deskhand_core::{Call, Code};
use deskhand_linux::notification::Daemon;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn call() -> Call {
    Call::with_timeout(Duration::from_secs(10))
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let call = Call::with_timeout(Duration::from_secs(20));
    call.until(what, || Ok(done().then_some(()))).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// A bus, and whoever shows notifications on it.
struct Session {
    folder: PathBuf,
    bus: Option<Child>,
    daemon: Option<Child>,
}

impl Session {
    /// Starts a bus that starts no services; `policy` is added to what it allows.
    fn start(policy: &str) -> Option<Session> {
        let mocks =
            Command::new("/usr/bin/python3").args(["-c", "import dbusmock"]).stderr(Stdio::null()).status();
        if !Path::new("/usr/bin/dbus-daemon").exists() || !mocks.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "python3-dbusmock is not installed");
            eprintln!("skipped: dbus-daemon or python3-dbusmock is not installed");
            return None;
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("deskhand-notices-{}-{made}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = format!(
            r#"<busconfig><type>session</type><listen>unix:path={}</listen><policy context="default">
               <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>{policy}
               </policy></busconfig>"#,
            folder.join("bus").display()
        );
        std::fs::write(folder.join("bus.conf"), config).unwrap();
        let mut session = Session { folder, bus: None, daemon: None };
        session.start_bus();
        Some(session)
    }

    fn start_bus(&mut self) {
        let config = format!("--config-file={}", self.folder.join("bus.conf").display());
        let mut bus = Command::new("dbus-daemon");
        bus.args(["--nofork", &config]).stdin(Stdio::null()).stderr(Stdio::null());
        self.bus = Some(bus.spawn().unwrap());
        until("the bus", || std::os::unix::net::UnixStream::connect(self.folder.join("bus")).is_ok());
    }

    fn address(&self) -> String {
        format!("unix:path={}", self.folder.join("bus").display())
    }

    fn daemon(&self) -> Daemon {
        Daemon::new(Some(self.address()))
    }

    /// Makes up a daemon with these capabilities.
    fn mock(&mut self, capabilities: &str) {
        let mut mock = Command::new("/usr/bin/python3");
        mock.args(["-m", "dbusmock", "--session", "--template", "notification_daemon", "--parameters"]);
        mock.arg(format!(r#"{{"capabilities": "{capabilities}"}}"#));
        mock.env("DBUS_SESSION_BUS_ADDRESS", self.address());
        let log = std::fs::File::create(self.folder.join("log")).unwrap();
        self.daemon = Some(mock.stdin(Stdio::null()).stdout(log).stderr(Stdio::null()).spawn().unwrap());
        until("the mock", || self.daemon().shower(&call()).is_ok());
    }

    /// What the daemon was asked, as it wrote it down.
    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap()
    }

    fn gdbus(&self, arguments: &[&str]) {
        let mut gdbus = Command::new("gdbus");
        gdbus.args(arguments).env("DBUS_SESSION_BUS_ADDRESS", self.address()).stdout(Stdio::null());
        assert!(gdbus.status().unwrap().success(), "{arguments:?}");
    }

    /// Another program shows a notification.
    fn notify(&self, title: &str, text: &str, actions: &str, hints: &str) {
        let object = ["call", "--session", "--dest", "org.freedesktop.Notifications", "--object-path"];
        let method = ["/org/freedesktop/Notifications", "--method", "org.freedesktop.Notifications.Notify"];
        let arguments = ["Mail", "0", "", title, text, actions, hints, "--", "-1"];
        self.gdbus(&[&object[..], &method[..], &arguments[..]].concat());
    }

    fn pid(&self) -> Pid {
        Pid::from_child(self.daemon.as_ref().unwrap())
    }

    fn end_daemon(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill().ok();
            daemon.wait().ok();
        }
    }

    fn end_bus(&mut self) {
        if let Some(mut bus) = self.bus.take() {
            bus.kill().ok();
            bus.wait().ok();
        }
        std::fs::remove_file(self.folder.join("bus")).ok();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end_daemon();
        self.end_bus();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn tea() -> Notification {
    Notification { title: "Tea".to_owned(), message: "a < b & c".to_owned(), ..Notification::default() }
}

fn next(watch: &mut dyn NotificationWatch) -> Option<NotificationEvent> {
    watch.next(&call(), Instant::now() + Duration::from_secs(5)).unwrap()
}

#[test]
fn what_is_sent_arrives_as_it_was_meant() {
    let Some(mut session) = Session::start("") else { return };
    let daemon = session.daemon();
    session.mock("body");
    let first = daemon.send(&call(), &tea()).unwrap();
    assert_eq!((first.id, &*first.by.name, &first.ignored[..]), (1, "mock-notify 1.0", &[][..]));
    let whole = Notification {
        subtitle: Some("Kitchen".to_owned()),
        sound: Some("bell".to_owned()),
        actions: vec!["Drink".to_owned()],
        urgency: Urgency::Critical,
        expires: Some(Duration::from_secs(3)),
        ..tea()
    };
    assert_eq!(daemon.send(&call(), &whole).unwrap().ignored, ["sound", "actions"]);
    let log = session.log();
    assert!(log.contains("a < b & c") && log.contains("Kitchen\na < b & c") && log.contains("3000"), "{log}");
    assert!(!log.contains("bell") && !log.contains("Drink"), "{log}");

    session.end_daemon();
    session.mock("body body-markup sound actions");
    assert_eq!(daemon.send(&call(), &whole).unwrap().ignored, Vec::<&str>::new());
    daemon.send(&call(), &Notification { sound: Some("/a/b.ogg".to_owned()), ..tea() }).unwrap();
    let log = session.log();
    for part in [
        "a &lt; b &amp; c",
        "\"sound-name\": \"bell\"",
        "\"sound-file\": \"/a/b.ogg\"",
        "Drink",
        "\"urgency\": 2",
    ] {
        assert!(log.contains(part) || log.contains(&part.replace('"', "'")), "{part} in {log}");
    }
}

#[test]
fn notifications_of_others_are_seen_while_somebody_watches() {
    let Some(mut session) = Session::start("") else { return };
    session.mock("body actions");
    let daemon = session.daemon();
    session.notify("Unseen", "before", "[]", "{}");
    let mut watch = daemon.watch(&call()).unwrap();
    session.notify("New message", "From Ann", "['open', 'Open it', 'default', '']", "{'urgency': <byte 2>}");
    let Some(NotificationEvent::Shown(shown)) = next(watch.as_mut()) else { panic!("nothing was seen") };
    let actions: Vec<_> = shown.actions.iter().map(|action| (&*action.key, &*action.label)).collect();
    assert_eq!(actions, [("open", "Open it"), ("default", "")]);
    let told = (shown.id, &*shown.application, &*shown.title, &*shown.message, shown.urgency);
    assert_eq!(told, (2, "Mail", "New message", "From Ann", Urgency::Critical));

    daemon.close(&call(), 2).unwrap();
    let closed = NotificationEvent::Closed { id: 2, reason: CloseReason::Expired };
    assert_eq!(next(watch.as_mut()), Some(closed));
    let emit = ["emit", "--session", "--object-path", "/org/freedesktop/Notifications", "--signal"];
    session
        .gdbus(&[&emit[..], &["org.freedesktop.Notifications.ActionInvoked", "uint32 2", "open"]].concat());
    assert_eq!(next(watch.as_mut()), Some(NotificationEvent::Acted { id: 2, key: "open".to_owned() }));

    // Long texts are cut, and what is no notification is passed over.
    let emit_nonsense = ["org.freedesktop.Notifications.NotificationClosed", "'nonsense'"];
    session.gdbus(&[&emit[..], &emit_nonsense[..]].concat());
    session.notify(&"t".repeat(5000), &"世".repeat(9000), "['odd']", "{}");
    let Some(NotificationEvent::Shown(long)) = next(watch.as_mut()) else { panic!("nothing was seen") };
    assert_eq!((long.title.chars().count(), long.message.chars().count()), (201, 2001));
    assert!(long.title.ends_with('…') && long.actions.is_empty());
    let none = watch.next(&call(), Instant::now() + Duration::from_millis(50)).unwrap();
    assert_eq!(none, None);
}

#[test]
fn nobody_who_shows_them_is_told_with_the_remedy() {
    let Some(mut session) = Session::start("") else { return };
    let daemon = session.daemon();
    let unseen = Shown::default();
    for error in [
        daemon.send(&call(), &tea()).map(drop).unwrap_err(),
        daemon.shower(&call()).map(drop).unwrap_err(),
        daemon.close(&call(), 1).unwrap_err(),
        daemon.invoke(&call(), &unseen, "default", &[]).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.code, Code::Backend, "{error:?}");
        assert!(error.message.contains("No notification daemon runs"), "{error:?}");
        assert!(error.detail.remedy.as_ref().unwrap().contains("dunst"), "{error:?}");
    }
    // It may be watched before anybody shows anything.
    let mut watch = daemon.watch(&call()).unwrap();
    session.mock("body");
    assert_eq!(daemon.send(&call(), &tea()).unwrap().id, 1);
    let Some(NotificationEvent::Shown(shown)) = next(watch.as_mut()) else { panic!("nothing was seen") };
    assert_eq!((shown.id, &*shown.title), (1, "Tea"));

    for nowhere in [Daemon::new(None), Daemon::new(Some("unix:path=/nowhere".to_owned()))] {
        let error = nowhere.send(&call(), &tea()).unwrap_err();
        assert_eq!(error.code, Code::Backend, "{error:?}");
        assert!(error.message.contains("session bus") && error.detail.remedy.is_some(), "{error:?}");
    }
}

#[test]
fn a_daemon_that_hangs_dies_and_comes_back() {
    let Some(mut session) = Session::start("") else { return };
    session.mock("body");
    let daemon = session.daemon();
    daemon.send(&call(), &tea()).unwrap();
    let short = || Call::with_timeout(Duration::from_millis(300));
    kill_process(session.pid(), Signal::STOP).unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        let error = daemon.send(&short(), &tea()).unwrap_err();
        assert_eq!(error.code, Code::Timeout, "{error:?}");
        assert!(error.message.contains("notification daemon") && error.detail.remedy.is_some(), "{error:?}");
        assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    }
    let begun = Instant::now();
    assert_eq!(daemon.close(&short(), 1).unwrap_err().code, Code::Timeout);
    // The bus answers for itself: it is watched all the same.
    daemon.watch(&short()).unwrap();
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    kill_process(session.pid(), Signal::CONT).unwrap();
    daemon.send(&call(), &tea()).unwrap();

    // It dies while it is asked.
    kill_process(session.pid(), Signal::STOP).unwrap();
    let error = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| daemon.send(&call(), &tea()));
        let begins = Call::with_timeout(Duration::from_secs(1));
        begins.pause(Duration::from_millis(200), "letting the call begin").unwrap();
        session.end_daemon();
        waiting.join().unwrap().unwrap_err()
    });
    assert_eq!(error.code, Code::Backend, "{error:?}");
    assert_eq!(daemon.send(&call(), &tea()).unwrap_err().code, Code::Backend);
    session.mock("body");
    assert_eq!(daemon.send(&call(), &tea()).unwrap().id, 1);
}

#[test]
fn a_bus_that_hangs_dies_and_comes_back() {
    let Some(mut session) = Session::start("") else { return };
    session.mock("body");
    let daemon = session.daemon();
    daemon.send(&call(), &tea()).unwrap();
    let mut watch = daemon.watch(&call()).unwrap();
    let bus = Pid::from_child(session.bus.as_ref().unwrap());
    kill_process(bus, Signal::STOP).unwrap();
    let begun = Instant::now();
    let short = || Call::with_timeout(Duration::from_millis(300));
    assert_eq!(daemon.send(&short(), &tea()).unwrap_err().code, Code::Timeout);
    assert_eq!(daemon.watch(&short()).map(drop).unwrap_err().code, Code::Timeout);
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    kill_process(bus, Signal::CONT).unwrap();
    daemon.send(&call(), &tea()).unwrap();
    assert!(matches!(next(watch.as_mut()), Some(NotificationEvent::Shown(_))));

    session.end_bus();
    session.end_daemon();
    let lost = loop {
        match watch.next(&call(), Instant::now() + Duration::from_secs(5)) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the end of the bus was not seen"),
            Err(error) => break error,
        }
    };
    assert_eq!(lost.code, Code::Backend, "{lost:?}");
    assert_eq!(daemon.send(&call(), &tea()).unwrap_err().code, Code::Backend);
    session.start_bus();
    session.mock("body");
    assert_eq!(daemon.send(&call(), &tea()).unwrap().id, 1);
}

#[test]
fn a_bus_that_does_not_let_itself_be_watched_says_so() {
    let Some(mut session) = Session::start(r#"<deny send_interface="org.freedesktop.DBus.Monitoring"/>"#)
    else {
        return;
    };
    session.mock("body");
    let daemon = session.daemon();
    let error = daemon.watch(&call()).map(drop).unwrap_err();
    assert_eq!(error.code, Code::PermissionDenied, "{error:?}");
    assert!(error.detail.remedy.is_some(), "{error:?}");
    daemon.send(&call(), &tea()).unwrap();
}
