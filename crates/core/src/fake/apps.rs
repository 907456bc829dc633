//! Starting, listing and ending the fake applications.

use super::Provider;
use super::scene::{self, Program};
use crate::app::{Apps, Installed, Launch, Launched, Running};
use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::watch::Bell;

impl Apps for Provider {
    fn installed(&self, call: &Call) -> Result<Vec<Installed>> {
        let _world = self.enter(call, "apps.installed")?;
        let entry = |program: &Program| {
            let (name, id) = program.entry()?;
            Some(Installed {
                id: id.to_owned(),
                name: name.to_owned(),
                executable: Some(program.executable().to_owned()),
                window_class: Some(name.to_owned()),
            })
        };
        Ok(Program::ALL.iter().filter_map(entry).collect())
    }

    fn running(&self, call: &Call) -> Result<Vec<Running>> {
        let world = self.enter(call, "apps.running")?;
        let active = world.active.and_then(|active| world.win(active)).map(|place| world.windows[place].pid);
        let running = world.apps.iter().map(|app| {
            let own = world.windows.iter().filter(|window| window.pid == app.pid && !window.popup);
            Running {
                name: app.name.clone(),
                id: app.id.clone(),
                pid: app.pid,
                process: app.process.clone(),
                windows: u32::try_from(own.count()).unwrap_or(u32::MAX),
                active: active == Some(app.pid),
            }
        });
        Ok(running.filter(|app| app.windows > 0 || app.id.is_some()).collect())
    }

    fn launch(&self, call: &Call, launch: &Launch) -> Result<Launched> {
        let mut world = self.enter(call, "apps.launch")?;
        let wanted = launch.application.trim();
        let program = Program::ALL.into_iter().find(|program| {
            let entry = program.entry().is_some_and(|(name, id)| {
                name.eq_ignore_ascii_case(wanted) || id == wanted.trim_end_matches(".desktop")
            });
            entry || program.executable() == wanted.rsplit('/').next().unwrap_or(wanted)
        });
        let Some(program) = program else {
            let near = Program::ALL
                .iter()
                .filter_map(|program| program.entry())
                .map(|(name, id)| format!("{name} ({id})"));
            return Err(Error::new(
                Code::ApplicationNotFound,
                format!("No application is called {wanted:?}."),
            )
            .expected("a desktop entry's id or name, or an executable")
            .found(near));
        };
        if program == Program::Shell && !launch.allow_interpreters {
            return Err(Error::new(Code::DeniedByPolicy, format!("{wanted} is an interpreter."))
                .remedy("Start Deskhand with --allow shell to start interpreters."));
        }
        let line = [&["launch".to_owned(), wanted.to_owned()], &launch.arguments[..]].concat().join(" ");
        world.log.push(line);
        let pid = scene::start(&mut world, program, None, None);
        // One process for all windows of the editor: the second one hands over and ends.
        let first =
            world.apps.iter().find(|app| app.process == "editor" && app.pid != pid).map(|app| app.pid);
        let delay = world.temper.launch_delay;
        world.soon(delay, move |world| match (program, first) {
            (Program::Editor, Some(first)) => {
                scene::open(world, program, first);
                world.end_process(pid);
            }
            (Program::Ghost, _) => world.end_process(pid),
            (Program::Editor | Program::Calculator | Program::Viewer | Program::Shell, _) => {
                scene::open(world, program, pid);
            }
        });
        let entry = program.entry();
        let name = entry.map_or(program.executable(), |(name, _)| name).to_owned();
        Ok(Launched { pid, name, id: entry.map(|(_, id)| id.to_owned()) })
    }

    fn alive(&self, pid: u32) -> bool {
        self.world().app(pid).is_some()
    }

    fn family(&self, call: &Call, pid: u32) -> Result<Vec<u32>> {
        let world = self.enter(call, "apps.family")?;
        let mut family = vec![pid];
        let mut next = 0;
        while next < family.len() {
            let parent = family[next];
            family.extend(world.apps.iter().filter(|app| app.parent == Some(parent)).map(|app| app.pid));
            next += 1;
        }
        Ok(family)
    }

    fn terminate(&self, call: &Call, pid: u32, force: bool) -> Result<()> {
        let mut world = self.enter(call, "apps.terminate")?;
        if world.app(pid).is_none() {
            return Err(Error::new(Code::ApplicationNotFound, format!("There is no process {pid}."))
                .found(world.apps.iter().map(|app| format!("{} {}", app.pid, app.name))));
        }
        world.log.push(format!("{} {pid}", if force { "kill" } else { "terminate" }));
        let deaf = world.temper.stubborn.contains(&pid) || world.temper.silent.contains(&pid);
        if force || !deaf {
            let delay = world.temper.window_delay;
            world.soon(delay, move |world| world.end_process(pid));
        }
        Ok(())
    }

    fn watch_end(&self, pid: u32, bell: &Bell) -> Result<Box<dyn Send>> {
        let mut world = self.world();
        let kept = world.hang(bell);
        if world.app(pid).is_none() {
            bell.ring();
        }
        drop(world);
        Ok(Box::new(kept))
    }
}
