//! A file manager and files to show in it.

use super::PrivateDesktop;
use super::client::Client;
use super::session::have;
use deskhand_core::Call;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A desktop with a home folder of its own and some files of odd names.
pub struct Office {
    pub desktop: PrivateDesktop,
    pub home: PathBuf,
    pub folder: PathBuf,
    pub service: Option<Child>,
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
        Some(Office { desktop: PrivateDesktop::start(&["--size", "1100x800"]), home, folder, service: None })
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

    /// A client of a server with these options.
    pub fn client(&self, options: &[&str]) -> Client {
        let command = |program: &str| {
            let mut command = self.desktop.command(program);
            // GTK 2 needs a module for accessibility, which sessions load.
            command.env("HOME", &self.home).env("GTK_MODULES", "gail:atk-bridge");
            command
        };
        Client::with_options(command, options)
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        if let Some(service) = &mut self.service {
            service.kill().ok();
            service.wait().ok();
        }
        std::fs::remove_dir_all(&self.home).ok();
    }
}

/// What the files of an answer are called.
pub fn names(answer: &Value) -> Vec<&str> {
    answer["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect()
}
