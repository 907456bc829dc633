//! A file manager and files to show in it.

use super::PrivateDesktop;
use super::client::Client;
use super::session::have;
use deskhand_core::Call;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A desktop with a home folder of its own and some files of odd names.
pub struct Office {
    pub desktop: PrivateDesktop,
    pub home: PathBuf,
    pub folder: PathBuf,
    pub service: Option<Child>,
    /// A session bus of its own, and its address.
    bus: Option<(Child, String)>,
}

impl Office {
    /// Opens it, where the file manager is installed.
    pub fn open(program: &str) -> Option<Office> {
        if !have(&["Xvfb", program]) {
            return None;
        }
        let home = std::env::temp_dir().join(format!("deskhand-{program}-{}", std::process::id()));
        std::fs::remove_dir_all(&home).ok();
        let folder = home.join("Ünï cödé 100% & more");
        std::fs::create_dir_all(folder.join("a folder")).unwrap();
        for name in ["50%25 #ü.txt", "plain.txt", "third one.md"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        Some(Office {
            desktop: PrivateDesktop::start(&["--size", "1100x800"]),
            home,
            folder,
            service: None,
            bus: None,
        })
    }

    /// Starts the one file manager that is to answer, so that the bus starts no other.
    pub fn serve(&mut self, program: &str, arguments: &[&str]) {
        let mut command = self.desktop.command(program);
        command
            .args(arguments)
            .env("HOME", &self.home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.service = Some(command.spawn().unwrap());
        let asks = || {
            let mut command = self.desktop.command("gdbus");
            command.args(["call", "--session", "-d", "org.freedesktop.DBus", "-o", "/org/freedesktop/DBus"]);
            command.args(["-m", "org.freedesktop.DBus.NameHasOwner", "org.freedesktop.FileManager1"]);
            String::from_utf8_lossy(&command.output().unwrap().stdout).contains("true")
        };
        let call = Call::with_timeout(Duration::from_secs(20));
        call.until("waiting for the file manager", || Ok(asks().then_some(()))).unwrap();
    }

    /// Gives the servers a session bus on which nobody shows files and nobody is started for it: the one of the
    /// desktop starts whatever file manager the machine has.
    pub fn without_service(&mut self) {
        let (config, services) = (self.home.join("bus.conf"), self.home.join("services"));
        std::fs::create_dir_all(&services).unwrap();
        let accessibility = "org.a11y.Bus.service";
        let installed = Path::new("/usr/share/dbus-1/services").join(accessibility);
        std::fs::copy(installed, services.join(accessibility)).unwrap();
        let rules = format!(
            "<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><servicedir>{}</servicedir>\
             <policy context=\"default\"><allow send_destination=\"*\"/><allow receive_sender=\"*\"/>\
             <allow own=\"*\"/></policy></busconfig>",
            services.display()
        );
        std::fs::write(&config, rules).unwrap();
        let mut command = self.desktop.command("dbus-daemon");
        command.arg("--config-file").arg(config).args(["--nofork", "--print-address=1"]);
        let mut daemon = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let mut command = self.desktop.command("gdbus");
        command.env("DBUS_SESSION_BUS_ADDRESS", &address);
        command.args(["call", "--session", "-d", "org.a11y.Bus", "-o", "/org/a11y/bus"]);
        command.args(["-m", "org.freedesktop.DBus.Properties.Set", "org.a11y.Status", "IsEnabled", "<true>"]);
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
        self.bus = Some((daemon, address));
    }

    /// A client of a server with these options.
    pub fn client(&self, options: &[&str]) -> Client {
        let command = |program: &str| {
            let mut command = self.desktop.command(program);
            command.env("HOME", &self.home);
            if let Some((_, address)) = &self.bus {
                command.env("DBUS_SESSION_BUS_ADDRESS", address);
            }
            command
        };
        Client::with_options(command, options)
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let bus = self.bus.take().map(|(daemon, _)| daemon);
        for mut child in self.service.take().into_iter().chain(bus) {
            child.kill().ok();
            child.wait().ok();
        }
        std::fs::remove_dir_all(&self.home).ok();
    }
}

/// What the files of an answer are called.
pub fn names(answer: &Value) -> Vec<&str> {
    answer["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect()
}
