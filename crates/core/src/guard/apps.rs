//! Applications behind the rules: hidden ones do not run, denied ones are neither started nor ended.

use super::Guard;
use crate::app::{Apps, Installed, Launch, Launched, Running};
use crate::call::Call;
use crate::error::Result;
use crate::watch::Bell;
use std::sync::Arc;

pub(super) struct Guarded {
    pub(super) inner: Arc<dyn Apps>,
    pub(super) guard: Arc<Guard>,
}

impl Apps for Guarded {
    fn installed(&self, call: &Call) -> Result<Vec<Installed>> {
        self.inner.installed(call)
    }

    fn running(&self, call: &Call) -> Result<Vec<Running>> {
        let mut running = self.inner.running(call)?;
        running.retain(|app| {
            let names = [Some(&app.name), app.id.as_ref(), Some(&app.process)];
            !names.into_iter().flatten().any(|name| self.guard.hides_name(name))
        });
        Ok(running)
    }

    fn launch(&self, call: &Call, launch: &Launch) -> Result<Launched> {
        self.guard.require_start(call, &launch.application)?;
        self.inner.launch(call, launch)
    }

    fn alive(&self, pid: u32) -> bool {
        self.inner.alive(pid)
    }

    fn family(&self, call: &Call, pid: u32) -> Result<Vec<u32>> {
        self.inner.family(call, pid)
    }

    fn terminate(&self, call: &Call, pid: u32, force: bool) -> Result<()> {
        self.guard.require_process(call, Some(pid), &[])?;
        self.inner.terminate(call, pid, force)
    }

    fn watch_end(&self, pid: u32, bell: &Bell) -> Result<Box<dyn Send>> {
        self.inner.watch_end(pid, bell)
    }
}
