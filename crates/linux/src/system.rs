//! The machine: what `/proc`, `/sys` and `/etc/os-release` say of it, and its batteries.
//!
//! UPower is asked for the batteries where it runs; it knows what wears and estimates times. It is not
//! started for that: where it does not run, `/sys/class/power_supply` says the same, and the answer says
//! who told it.

use crate::atspi::bus::wait;
use deskhand_core::system::{Battery, BatteryState, Power, System, SystemInfo};
use deskhand_core::{Call, Code, Error, Result};
use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zbus::Connection;
use zbus::zvariant::{DynamicDeserialize, DynamicType, OwnedObjectPath, OwnedValue};

/// This machine.
pub struct Machine {
    /// Where the file system begins: `/`, elsewhere in tests.
    pub root: PathBuf,
    /// The address of the bus that UPower is on.
    pub bus: Option<String>,
    /// What is known of the session.
    pub session: SessionFacts,
}

/// What is known of a session without asking.
#[derive(Clone, Debug, Default)]
pub struct SessionFacts {
    /// `x11`, `wayland`, `tty`.
    pub kind: Option<String>,
    /// The desktop environment.
    pub desktop: Option<String>,
    /// Whether it is a private desktop.
    pub private: bool,
}

impl System for Machine {
    fn info(&self, call: &Call) -> Result<SystemInfo> {
        call.check("reading what the machine is")?;
        let os = self.text("etc/os-release").or_else(|| self.text("usr/lib/os-release")).unwrap_or_default();
        let kernel = |name: &str| self.line(&format!("proc/sys/kernel/{name}"));
        let cpu = self.text("proc/cpuinfo").unwrap_or_default();
        let memory = self.text("proc/meminfo").unwrap_or_default();
        let uptime = self.line("proc/uptime");
        let uptime = uptime.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
        Ok(SystemInfo {
            os: assigned(&os, "PRETTY_NAME")
                .or_else(|| assigned(&os, "NAME"))
                .or_else(|| kernel("ostype"))
                .unwrap_or_else(|| "Linux".to_owned()),
            os_version: assigned(&os, "VERSION_ID"),
            kernel: kernel("osrelease").map(|release| {
                format!("{} {release}", kernel("ostype").unwrap_or_else(|| "Linux".to_owned()))
            }),
            architecture: std::env::consts::ARCH.to_owned(),
            hostname: kernel("hostname"),
            model: self.model(),
            processor: processor(&cpu),
            cores: cores(&cpu),
            threads: threads(&cpu),
            memory_bytes: kilobytes(&memory, "MemTotal"),
            memory_available_bytes: kilobytes(&memory, "MemAvailable"),
            uptime: uptime.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            session_type: self.session.kind.clone(),
            desktop: self.session.desktop.clone(),
            private_desktop: self.session.private,
        })
    }

    fn power(&self, call: &Call) -> Result<Power> {
        let asked = wait(call, "asking UPower for the batteries", async {
            let Some(bus) = self.upower().await else { return Ok(None) };
            ask_upower(&bus).await.map(Some).map_err(|error| {
                Error::backend("UPower failed while it was asked for the batteries.")
                    .because(error)
                    .remedy("The next call asks again, or reads /sys where UPower no longer runs.")
            })
        });
        match asked {
            Ok(Some(power)) => Ok(power),
            Ok(None) => Ok(self.sysfs()),
            Err(error) if error.code == Code::Timeout => Err(Error::new(
                Code::Timeout,
                "UPower did not answer in time when it was asked for the batteries.",
            )
            .remedy("Restart it: `systemctl restart upower`. The next call finds the new one.")),
            Err(error) => Err(error),
        }
    }
}

impl Machine {
    /// The start of a file, as long as these files ever are.
    fn text(&self, path: &str) -> Option<String> {
        read(&self.root.join(path))
    }

    /// A file of one line.
    fn line(&self, path: &str) -> Option<String> {
        line(&self.root.join(path))
    }

    /// What the firmware says of the machine, unless it is what makers leave in when they say nothing.
    fn model(&self) -> Option<String> {
        let dmi = |name: &str| {
            let text = self.line(&format!("sys/class/dmi/id/{name}"))?;
            let lower = text.to_lowercase();
            let empty =
                ["to be filled", "default string", "not specified", "system product", "system manufacturer"];
            let says = !empty.iter().any(|empty| lower.contains(empty))
                && !matches!(&*lower, "none" | "n/a" | "unknown" | "system version" | "0");
            says.then_some(text)
        };
        let product = match (dmi("product_name"), dmi("product_version")) {
            // Lenovo writes a number for the name and the name for the version.
            (Some(name), Some(version)) if version.starts_with("ThinkPad") || version.starts_with("Yoga") => {
                Some(format!("{version} ({name})"))
            }
            (name, _) => name,
        };
        let (maker, product) = match product {
            Some(product) => (dmi("sys_vendor"), Some(product)),
            None => (dmi("board_vendor"), dmi("board_name")),
        };
        let of_tree = || {
            self.line("proc/device-tree/model").or_else(|| self.line("sys/firmware/devicetree/base/model"))
        };
        match (maker, product) {
            (Some(maker), Some(product)) if product.starts_with(&maker) => Some(product),
            (Some(maker), Some(product)) => Some(format!("{maker} {product}")),
            (maker, None) => of_tree().or(maker),
            (None, product) => product,
        }
    }

    /// The bus with UPower on it, where it runs.
    async fn upower(&self) -> Option<Connection> {
        let bus = zbus::connection::Builder::address(self.bus.as_deref()?).ok()?.build().await.ok()?;
        let daemon = "org.freedesktop.DBus";
        let asked =
            bus.call_method(Some(daemon), "/org/freedesktop/DBus", Some(daemon), "NameHasOwner", &UPOWER);
        asked.await.ok()?.body().deserialize::<bool>().ok()?.then_some(bus)
    }

    /// What the kernel says of the power supplies.
    fn sysfs(&self) -> Power {
        let folder = self.root.join("sys/class/power_supply");
        let supplies = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut supplies: Vec<PathBuf> = supplies.map(|entry| entry.path()).collect();
        supplies.sort();
        let mut power = Power { source: "sysfs", ..Power::default() };
        let mut online = Vec::new();
        for supply in supplies {
            let text = |name: &str| line(&supply.join(name));
            // What a mouse or a headset runs on is none of the machine's.
            if text("scope").as_deref() == Some("Device") {
                continue;
            }
            match text("type").as_deref() {
                Some("Battery") if text("present").as_deref() != Some("0") => {
                    power.batteries.extend(battery(&supply));
                }
                Some("Mains" | "USB" | "Wireless") => {
                    online.extend(text("online").map(|online| online != "0"))
                }
                _ => {}
            }
        }
        if !online.is_empty() && !power.batteries.is_empty() {
            power.on_battery = Some(!online.contains(&true));
        }
        power
    }
}

/// The longest of these files that is read: the list of a hundred processors.
const LONGEST: u64 = 1 << 20;

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn line(path: &Path) -> Option<String> {
    let text = read(path)?;
    // What device trees hold ends with a zero.
    let line = text.lines().next()?.trim_matches(['\0', ' ', '\t']);
    (!line.is_empty()).then(|| line.to_owned())
}

/// A value of os-release, where values may stand in quotes.
fn assigned(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?.trim();
    let value = value.trim_matches(['"', '\'']).replace("\\\"", "\"");
    (!value.is_empty()).then_some(value)
}

/// The values of a name in `/proc/cpuinfo`, one for each processor.
fn values<'t>(cpu: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    cpu.lines().filter_map(move |line| {
        let (known, value) = line.split_once(':')?;
        (known.trim() == name).then(|| value.trim())
    })
}

/// Each kind of processor has its own word for its name.
fn processor(cpu: &str) -> Option<String> {
    let names = ["model name", "Processor", "cpu model", "Hardware", "cpu", "uarch"];
    let name = names.iter().find_map(|name| values(cpu, name).find(|value| !value.is_empty()))?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn threads(cpu: &str) -> Option<u32> {
    u32::try_from(values(cpu, "processor").count()).ok().filter(|count| 0 < *count)
}

/// Cores are told from threads on x86 alone.
fn cores(cpu: &str) -> Option<u32> {
    let packages = values(cpu, "physical id");
    let cores: BTreeSet<(&str, &str)> = packages.zip(values(cpu, "core id")).collect();
    u32::try_from(cores.len()).ok().filter(|count| 0 < *count)
}

fn kilobytes(memory: &str, name: &str) -> Option<u64> {
    let line = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A battery as the kernel shows it: by energy, by charge, or by its percentage alone.
fn battery(folder: &Path) -> Option<Battery> {
    let text = |name: &str| line(&folder.join(name));
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let pair = |kind: &str| Some((number(&format!("{kind}_now"))?, number(&format!("{kind}_full"))?));
    let (held, rate) = match pair("energy") {
        Some(energy) => (Some(energy), number("power_now")),
        None => (pair("charge"), number("current_now")),
    };
    let percentage = match (number("capacity"), held) {
        (Some(percentage), _) => percentage,
        (None, Some((now, full))) if 0.0 < full => now / full * 100.0,
        (None, _) => return None,
    };
    let state = match text("status").as_deref() {
        Some("Charging") => BatteryState::Charging,
        Some("Discharging") if percentage <= 0.0 => BatteryState::Empty,
        Some("Discharging") => BatteryState::Discharging,
        Some("Not charging") => BatteryState::NotCharging,
        Some("Full") => BatteryState::Full,
        _ => BatteryState::Unknown,
    };
    // Some drivers give what flows out as a negative number.
    let rate = rate.map(f64::abs).filter(|rate| 0.0 < *rate);
    let time = |amount: f64| Duration::try_from_secs_f64((amount / rate? * 3600.0).round()).ok();
    let name = text("model_name").or_else(|| Some(folder.file_name()?.to_string_lossy().into_owned()))?;
    Some(Battery {
        name,
        percentage: percentage.clamp(0.0, 100.0),
        state,
        capacity: held.map(|(_, full)| full),
        time_to_empty: held.filter(|_| state == BatteryState::Discharging).and_then(|(now, _)| time(now)),
        time_to_full: held
            .filter(|_| state == BatteryState::Charging)
            .and_then(|(now, full)| time(full - now)),
    })
}

const UPOWER: &str = "org.freedesktop.UPower";

async fn ask_upower(bus: &Connection) -> zbus::Result<Power> {
    let manager = "/org/freedesktop/UPower";
    let devices: Vec<OwnedObjectPath> = ask(bus, manager, UPOWER, "EnumerateDevices", &()).await?;
    let on_battery: OwnedValue =
        ask(bus, manager, "org.freedesktop.DBus.Properties", "Get", &(UPOWER, "OnBattery")).await?;
    let mut power =
        Power { source: "upower", on_battery: bool::try_from(&on_battery).ok(), batteries: Vec::new() };
    for device in devices {
        let body = ("org.freedesktop.UPower.Device",);
        let properties = ask(bus, device.as_str(), "org.freedesktop.DBus.Properties", "GetAll", &body).await;
        match properties {
            Ok(properties) => power.batteries.extend(device_battery(&device, &properties)),
            // It was unplugged in between.
            Err(zbus::Error::MethodError(name, ..)) if name.ends_with("UnknownObject") => {}
            Err(error) => return Err(error),
        }
    }
    Ok(power)
}

/// One question, which never starts the service.
async fn ask<R>(
    bus: &Connection,
    path: &str,
    interface: &str,
    method: &str,
    body: &(impl serde::Serialize + DynamicType),
) -> zbus::Result<R>
where
    R: for<'d> DynamicDeserialize<'d>,
{
    bus.call_method(Some(UPOWER), path, Some(interface), method, body).await?.body().deserialize()
}

/// A device of UPower as a battery that runs the machine, if it is one.
fn device_battery(path: &str, properties: &HashMap<String, OwnedValue>) -> Option<Battery> {
    let value = |name: &str| properties.get(name);
    let flag = |name: &str| value(name).and_then(|value| bool::try_from(value).ok());
    let number = |name: &str| value(name).and_then(|value| f64::try_from(value).ok());
    let count = |name: &str| value(name).and_then(|value| u32::try_from(value).ok());
    let seconds = |name: &str| {
        let seconds = value(name).and_then(|value| i64::try_from(value).ok())?;
        // Nothing is how it says that it does not know.
        u64::try_from(seconds).ok().filter(|seconds| 0 < *seconds).map(Duration::from_secs)
    };
    const BATTERY: u32 = 2;
    const UPS: u32 = 3;
    if !matches!(count("Type"), Some(BATTERY | UPS)) || flag("PowerSupply") != Some(true) {
        return None;
    }
    if flag("IsPresent") == Some(false) {
        return None;
    }
    let model =
        value("Model").and_then(|value| <&str>::try_from(value).ok()).filter(|model| !model.is_empty());
    Some(Battery {
        name: model.unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path)).to_owned(),
        percentage: number("Percentage")?,
        state: match count("State") {
            Some(1) => BatteryState::Charging,
            Some(2) => BatteryState::Discharging,
            Some(3) => BatteryState::Empty,
            Some(4) => BatteryState::Full,
            // Waiting to be charged, or to be used.
            Some(5 | 6) => BatteryState::NotCharging,
            _ => BatteryState::Unknown,
        },
        capacity: number("EnergyFull").filter(|full| 0.0 < *full),
        time_to_empty: seconds("TimeToEmpty"),
        time_to_full: seconds("TimeToFull"),
    })
}
