//! Applications that start, quit and become active.
//!
//! An application has started when it shows its first window, and has quit when its process has ended: one
//! that runs on without a window has not.

use super::{Event, EventKind, SPACING, Size, Source};
use deskhand_core::call::Call;
use deskhand_core::watch::Bell;
use deskhand_core::window::{Window, WindowWatch};
use deskhand_core::{Code, Desktop, Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// How many applications are watched at a time.
const MOST: usize = 500;

/// Compares who has windows and who is alive.
pub struct Applications {
    desktop: Arc<Desktop>,
    bell: Bell,
    watch: Box<dyn WindowWatch>,
    /// Only these processes, or all.
    only: Vec<u32>,
    known: BTreeMap<u32, Known>,
    active: Option<u32>,
    pending: bool,
    rested: Instant,
}

struct Known {
    name: String,
    _end: Box<dyn Send>,
}

impl Applications {
    /// Begins with the applications that run; with `only`, these alone.
    pub fn begin(desktop: &Arc<Desktop>, call: &Call, bell: &Bell, only: Vec<u32>) -> Result<Applications> {
        let watch = desktop.windows.watch(call, bell)?;
        let running = desktop.apps.running(call)?;
        let mut applications = Applications {
            desktop: desktop.clone(),
            bell: bell.clone(),
            watch,
            only,
            known: BTreeMap::new(),
            active: running.iter().find(|app| app.active).map(|app| app.pid),
            pending: false,
            rested: Instant::now(),
        };
        for app in running {
            if applications.wants(app.pid) {
                applications.know(app.pid, app.name)?;
            }
        }
        for pid in applications.only.clone() {
            if !applications.known.contains_key(&pid) {
                applications.know(pid, format!("process {pid}"))?;
            }
        }
        Ok(applications)
    }

    fn wants(&self, pid: u32) -> bool {
        self.only.is_empty() || self.only.contains(&pid)
    }

    fn know(&mut self, pid: u32, name: String) -> Result<()> {
        let end = self.desktop.apps.watch_end(pid, &self.bell)?;
        self.known.insert(pid, Known { name, _end: end });
        Ok(())
    }

    fn quit(&mut self, found: &mut Vec<Event>) {
        let gone: Vec<u32> =
            self.known.keys().copied().filter(|pid| !self.desktop.apps.alive(*pid)).collect();
        for pid in gone {
            let Some(known) = self.known.remove(&pid) else { continue };
            found.push(event(EventKind::ApplicationQuit, pid, &known.name));
        }
    }

    fn compare(&mut self, call: &Call, windows: &[Window], found: &mut Vec<Event>) -> Result<()> {
        let shown = windows.iter().filter_map(|window| Some((window.pid?, window)));
        let mut new: Vec<(u32, &Window)> = shown
            .filter(|(pid, _)| {
                self.wants(*pid) && !self.known.contains_key(pid) && self.desktop.apps.alive(*pid)
            })
            .collect();
        new.dedup_by_key(|(pid, _)| *pid);
        new.truncate(MOST.saturating_sub(self.known.len()));
        if !new.is_empty() {
            // The names of desktop entries; where they cannot be had, the class of the window does.
            let running = self.desktop.apps.running(call).unwrap_or_default();
            for (pid, window) in new {
                if self.known.contains_key(&pid) {
                    continue;
                }
                let named = running.iter().find(|app| app.pid == pid).map(|app| app.name.clone());
                let name = named.unwrap_or_else(|| window.application.clone());
                found.push(event(EventKind::ApplicationStarted, pid, &name));
                self.know(pid, name)?;
            }
        }
        let active = windows.iter().find(|window| window.focused).and_then(|window| window.pid);
        if active != self.active && active.is_some() {
            let name = |pid: Option<u32>| Some(self.known.get(&pid?)?.name.clone());
            let (was, is) = (name(self.active), name(active));
            if let (Some(pid), Some(is)) = (active, &is) {
                let activated = event(EventKind::ApplicationActivated, pid, is);
                found.push(activated.with_values(was.as_deref(), Some(is)));
            }
            self.active = active;
        }
        Ok(())
    }
}

impl Source for Applications {
    fn look(&mut self, call: &Call, found: &mut Vec<Event>) -> Result<Option<Instant>> {
        self.pending |= self.watch.changed(call)?;
        if self.pending && self.rested <= Instant::now() {
            match self.desktop.windows.list(call) {
                Ok(windows) => {
                    self.pending = false;
                    self.compare(call, &windows, found)?;
                }
                // The X server is busy: the next look may do.
                Err(error) if error.code == Code::Timeout => {}
                Err(error) => return Err(error),
            }
            self.rested = Instant::now() + SPACING;
        }
        self.quit(found);
        if !self.only.is_empty() && self.known.is_empty() {
            return Err(Error::new(Code::ApplicationNotFound, "The application has quit."));
        }
        Ok(self.pending.then_some(self.rested))
    }

    fn size(&self) -> Size {
        Size { watched: self.known.len(), cut: MOST <= self.known.len(), silent: false }
    }
}

fn event(kind: EventKind, pid: u32, name: &str) -> Event {
    Event { pid: Some(pid), ..Event::new(kind, format!("{name} ({pid})")) }
}
