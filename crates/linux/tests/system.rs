//! The machine: this one, made-up ones, and batteries as UPower tells of them, mocked on a bus of the test's own.

#![cfg(target_os = "linux")]

use deskhand_core::system::{BatteryState, System};
use deskhand_core::{Call, Code};
use deskhand_linux::system::{Machine, SessionFacts};
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

/// A folder that ends with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("deskhand-system-{}-{made}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn supply(&self, name: &str, values: &[(&str, &str)]) {
        for (file, value) in values {
            self.write(&format!("sys/class/power_supply/{name}/{file}"), &format!("{value}\n"));
        }
    }

    fn machine(&self, bus: Option<String>) -> Machine {
        Machine { root: self.0.clone(), bus, session: SessionFacts::default() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn this_machine_is_what_other_programs_say() {
    let facts = SessionFacts { kind: Some("x11".into()), desktop: Some("XFCE".into()), private: false };
    let machine = Machine { root: "/".into(), bus: None, session: facts };
    let info = machine.info(&call()).unwrap();
    let say = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(info.kernel.unwrap(), say("uname", &["-sr"]));
    assert_eq!(info.architecture, say("uname", &["-m"]));
    assert_eq!(info.hostname.unwrap(), say("uname", &["-n"]));
    assert_eq!(info.threads.unwrap().to_string(), say("getconf", &["_NPROCESSORS_ONLN"]));
    let pages: u64 = say("getconf", &["_PHYS_PAGES"]).parse().unwrap();
    let page: u64 = say("getconf", &["PAGE_SIZE"]).parse().unwrap();
    assert_eq!(info.memory_bytes.unwrap(), pages * page);
    assert!(info.memory_available_bytes.unwrap() <= info.memory_bytes.unwrap());
    assert!(info.uptime.unwrap() > Duration::ZERO);
    let release = std::fs::read_to_string("/etc/os-release").unwrap();
    assert!(release.contains(&format!("\"{}\"", info.os)), "{} in {release}", info.os);
    assert_eq!((info.session_type.as_deref(), info.desktop.as_deref()), (Some("x11"), Some("XFCE")));
}

#[test]
fn made_up_machines() {
    let laptop = Folder::new();
    laptop.write("etc/os-release", "NAME=Linux\nPRETTY_NAME=\"Some \\\"OS\\\" 3\"\nVERSION_ID='3.1'\n");
    laptop.write("sys/class/dmi/id/sys_vendor", "LENOVO\n");
    laptop.write("sys/class/dmi/id/product_name", "20XW\n");
    laptop.write("sys/class/dmi/id/product_version", "ThinkPad X1 Carbon\n");
    let two_cores = "processor : 0\nmodel name\t: Some   CPU @ 2 GHz\nphysical id : 0\ncore id : 0\n\n\
                     processor : 1\nphysical id : 0\ncore id : 1\n\nprocessor : 2\nphysical id : 0\ncore id : 0\n";
    laptop.write("proc/cpuinfo", two_cores);
    laptop.write("proc/meminfo", "MemTotal:       16000 kB\nMemAvailable: nonsense\n");
    let info = laptop.machine(None).info(&call()).unwrap();
    assert_eq!((&*info.os, info.os_version.as_deref()), ("Some \"OS\" 3", Some("3.1")));
    assert_eq!(info.model.as_deref(), Some("LENOVO ThinkPad X1 Carbon (20XW)"));
    assert_eq!(info.processor.as_deref(), Some("Some CPU @ 2 GHz"));
    assert_eq!((info.cores, info.threads), (Some(2), Some(3)));
    assert_eq!((info.memory_bytes, info.memory_available_bytes), (Some(16_384_000), None));

    let homemade = Folder::new();
    homemade.write("usr/lib/os-release", "NAME=Homemade\n");
    for (name, value) in [
        ("sys_vendor", "To Be Filled By O.E.M."),
        ("product_name", "Default string"),
        ("board_vendor", "ASRock"),
        ("board_name", "B450M"),
    ] {
        homemade.write(&format!("sys/class/dmi/id/{name}"), value);
    }
    let info = homemade.machine(None).info(&call()).unwrap();
    assert_eq!((&*info.os, info.model.as_deref()), ("Homemade", Some("ASRock B450M")));

    let board = Folder::new();
    board.write("proc/device-tree/model", "Raspberry Pi 4 Model B\0");
    board.write("proc/cpuinfo", "processor\t: 0\nBogoMIPS : 1\n\nprocessor\t: 1\n\nHardware\t: BCM2711\n");
    let info = board.machine(None).info(&call()).unwrap();
    assert_eq!(info.model.as_deref(), Some("Raspberry Pi 4 Model B"));
    assert_eq!((info.processor.as_deref(), info.cores, info.threads), (Some("BCM2711"), None, Some(2)));

    let nothing = Folder::new().machine(None).info(&call()).unwrap();
    assert_eq!((&*nothing.os, nothing.model, nothing.memory_bytes), ("Linux", None, None));
}

#[test]
fn batteries_as_the_kernel_shows_them() {
    let none = Folder::new();
    none.supply("AC", &[("type", "Mains"), ("online", "1")]);
    none.supply(
        "mouse",
        &[("type", "Battery"), ("scope", "Device"), ("capacity", "50"), ("status", "Discharging")],
    );
    none.supply("BAT9", &[("type", "Battery"), ("present", "0")]);
    let power = none.machine(None).power(&call()).unwrap();
    assert_eq!((power.batteries.len(), power.on_battery, power.source), (0, None, "sysfs"));

    let laptop = Folder::new();
    laptop.supply("AC", &[("type", "Mains"), ("online", "0")]);
    let energy = [
        ("type", "Battery"),
        ("present", "1"),
        ("status", "Discharging"),
        ("capacity", "75"),
        ("energy_now", "30000000"),
        ("energy_full", "40000000"),
        ("power_now", "-10000000"),
        ("model_name", "LNV-1"),
    ];
    laptop.supply("BAT0", &energy);
    let charge = [
        ("type", "Battery"),
        ("status", "Charging"),
        ("charge_now", "1000"),
        ("charge_full", "4000"),
        ("current_now", "6000"),
    ];
    laptop.supply("BAT1", &charge);
    let power = laptop.machine(None).power(&call()).unwrap();
    let [first, second] = &power.batteries[..] else { panic!("{power:?}") };
    assert_eq!((&*first.name, first.percentage, first.state), ("LNV-1", 75.0, BatteryState::Discharging));
    assert_eq!((first.time_to_empty, first.time_to_full), (Some(Duration::from_secs(3 * 3600)), None));
    assert_eq!((&*second.name, second.percentage, second.state), ("BAT1", 25.0, BatteryState::Charging));
    assert_eq!(second.time_to_full, Some(Duration::from_secs(1800)));
    assert_eq!(power.on_battery, Some(true));

    for (status, state) in [
        ("Full", BatteryState::Full),
        ("Not charging", BatteryState::NotCharging),
        ("?", BatteryState::Unknown),
    ] {
        let one = Folder::new();
        one.supply("BAT0", &[("type", "Battery"), ("capacity", "100"), ("status", status)]);
        let power = one.machine(None).power(&call()).unwrap();
        assert_eq!((power.batteries[0].state, power.on_battery), (state, None));
    }
}

/// A bus, and UPower on it as python-dbusmock makes it up.
struct Mocked {
    folder: Folder,
    bus: Child,
    upower: Option<Child>,
}

impl Mocked {
    fn start() -> Option<Mocked> {
        let has_mock =
            Command::new("/usr/bin/python3").args(["-c", "import dbusmock"]).stderr(Stdio::null()).status();
        if !Path::new("/usr/bin/dbus-daemon").exists() || !has_mock.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "python3-dbusmock is not installed");
            eprintln!("skipped: dbus-daemon or python3-dbusmock is not installed");
            return None;
        }
        let folder = Folder::new();
        let bus = Command::new("dbus-daemon")
            .args([
                "--session",
                "--nofork",
                &format!("--address=unix:path={}", folder.0.join("bus").display()),
            ])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the bus", || folder.0.join("bus").exists());
        Some(Mocked { folder, bus, upower: None })
    }

    fn address(&self) -> String {
        format!("unix:path={}", self.folder.0.join("bus").display())
    }

    fn machine(&self) -> Machine {
        self.folder.machine(Some(self.address()))
    }

    fn upower(&mut self) {
        let mut mock = Command::new("/usr/bin/python3");
        mock.args(["-m", "dbusmock", "--system", "--template", "upower", "--parameters"]);
        mock.arg(r#"{"OnBattery": true}"#).env("DBUS_SYSTEM_BUS_ADDRESS", self.address());
        mock.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.upower = Some(mock.spawn().unwrap());
        until("the mock", || self.machine().power(&call()).is_ok_and(|power| power.source == "upower"));
    }

    fn pid(&self) -> Pid {
        Pid::from_child(self.upower.as_ref().unwrap())
    }

    fn tell(&self, method: &str, arguments: &[&str]) {
        let method = format!("org.freedesktop.DBus.Mock.{method}");
        let mut gdbus = Command::new("gdbus");
        gdbus.args(["call", "--address", &self.address(), "--dest", "org.freedesktop.UPower"]);
        gdbus.args(["--object-path", "/org/freedesktop/UPower", "--method", &method]).args(arguments);
        assert!(gdbus.stdout(Stdio::null()).status().unwrap().success(), "{method}");
    }

    fn end(&mut self) {
        if let Some(mut upower) = self.upower.take() {
            upower.kill().ok();
            upower.wait().ok();
        }
    }
}

impl Drop for Mocked {
    fn drop(&mut self) {
        self.end();
        self.bus.kill().ok();
        self.bus.wait().ok();
    }
}

#[test]
fn batteries_as_upower_tells_of_them() {
    let Some(mut mocked) = Mocked::start() else { return };
    mocked.folder.supply("BAT0", &[("type", "Battery"), ("capacity", "11"), ("status", "Full")]);
    let machine = mocked.machine();
    // Where UPower does not run, the kernel is asked.
    let power = machine.power(&call()).unwrap();
    assert_eq!((power.source, power.batteries[0].percentage), ("sysfs", 11.0));

    mocked.upower();
    let power = machine.power(&call()).unwrap();
    assert_eq!((power.source, power.batteries.len()), ("upower", 0), "a machine without a battery");
    mocked.tell("AddAC", &["mock_ac", "Mock AC"]);
    mocked.tell("AddDischargingBattery", &["mock_BAT", "Mock Battery", "30.5", "1200"]);
    mocked.tell("AddChargingBattery", &["mock_BAT2", "Second", "60", "1800"]);
    let mut power = machine.power(&call()).unwrap();
    power.batteries.sort_by(|a, b| a.name.cmp(&b.name));
    let [first, second] = &power.batteries[..] else { panic!("{power:?}") };
    assert_eq!(
        (&*first.name, first.percentage, first.state),
        ("Mock Battery", 30.5, BatteryState::Discharging)
    );
    assert_eq!((first.time_to_empty, first.time_to_full), (Some(Duration::from_secs(1200)), None));
    assert_eq!((second.percentage, second.state), (60.0, BatteryState::Charging));
    assert_eq!((second.time_to_full, second.capacity), (Some(Duration::from_secs(1800)), Some(100.0)));
    assert_eq!(power.on_battery, Some(true));
}

#[test]
fn an_upower_that_hangs_dies_and_comes_back() {
    let Some(mut mocked) = Mocked::start() else { return };
    let machine = mocked.machine();
    mocked.upower();
    kill_process(mocked.pid(), Signal::STOP).unwrap();
    let begun = Instant::now();
    let error = machine.power(&Call::with_timeout(Duration::from_millis(300))).unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error:?}");
    assert!(error.message.contains("UPower") && error.detail.remedy.is_some(), "{error:?}");
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    kill_process(mocked.pid(), Signal::CONT).unwrap();
    assert_eq!(machine.power(&call()).unwrap().source, "upower");

    // It dies while it is asked.
    kill_process(mocked.pid(), Signal::STOP).unwrap();
    let error = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| machine.power(&call()));
        let begins = Call::with_timeout(Duration::from_secs(1));
        begins.pause(Duration::from_millis(200), "letting the call begin").unwrap();
        mocked.end();
        waiting.join().unwrap()
    });
    let error = error.unwrap_err();
    assert_eq!(error.code, Code::Backend, "{error:?}");
    assert_eq!(machine.power(&call()).unwrap().source, "sysfs");
    mocked.upower();
    mocked.tell("AddChargingBattery", &["mock_BAT", "Back", "60", "1800"]);
    assert_eq!(machine.power(&call()).unwrap().batteries[0].name, "Back");
}

/// The bus itself hangs, or is not there at all.
#[test]
fn a_bus_that_hangs_costs_the_deadline() {
    let Some(mut mocked) = Mocked::start() else { return };
    let machine = mocked.machine();
    mocked.upower();
    kill_process(Pid::from_child(&mocked.bus), Signal::STOP).unwrap();
    let begun = Instant::now();
    let error = machine.power(&Call::with_timeout(Duration::from_millis(300))).unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error:?}");
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    kill_process(Pid::from_child(&mocked.bus), Signal::CONT).unwrap();
    assert_eq!(machine.power(&call()).unwrap().source, "upower");
    let nowhere = Folder::new().machine(Some("unix:path=/nowhere".into()));
    assert_eq!(nowhere.power(&call()).unwrap().source, "sysfs");
}
