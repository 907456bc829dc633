//! The notification area of the fake desktop.

use super::{Provider, World};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::geometry::{Point, Rect};
use crate::input::Button;
use crate::menu::{MenuItem, MenuItemId};
use crate::status_item::{StatusArea, StatusItem, StatusItemId, StatusItems, Way, no_such_item};

/// The items of the usual desktop.
pub(super) fn items() -> Vec<StatusItem> {
    let item = |name: &str, description: &str, pid, process: &str, way, place| StatusItem {
        id: StatusItemId(format!("fake/{name}").into()),
        name: name.to_owned(),
        description: description.to_owned(),
        pid: Some(pid),
        process: process.to_owned(),
        status: "active".to_owned(),
        way,
        place,
        problem: None,
    };
    let unseen = || Err("Nobody draws it.".to_owned());
    vec![
        item("mixer", "Volume 60 %", 301, "mixer", Way::Called { menu: true, only_menu: true }, unseen()),
        item("clips", "Clipboard", 302, "clips", Way::Called { menu: false, only_menu: false }, unseen()),
        item("old", "Old icon", 303, "old", Way::Pointed, Ok(Rect::new(1240, 4, 24, 24))),
    ]
}

/// The menu of the mixer.
pub(super) fn mixer_menu(muted: bool) -> Vec<MenuItem> {
    let item = |name: &str, enabled, checked, items: Vec<MenuItem>| MenuItem {
        id: MenuItemId(format!("mixer/{name}").into()),
        name: name.to_owned(),
        shortcut: None,
        enabled,
        checked,
        submenu: !items.is_empty(),
        items,
    };
    let outputs =
        vec![item("Speakers", true, Some(true), Vec::new()), item("Headset", false, Some(false), Vec::new())];
    vec![item("Mute", true, Some(muted), Vec::new()), item("Outputs", true, None, outputs)]
}

fn known(world: &World, id: &StatusItemId) -> Result<StatusItem> {
    let found = world.status_items.iter().find(|item| item.id == *id);
    found.cloned().ok_or_else(|| no_such_item(&id.0, &world.status_items))
}

impl StatusItems for Provider {
    fn list(&self, call: &Call) -> Result<StatusArea> {
        let world = self.enter(call, "status_items.list")?;
        Ok(StatusArea { keepers: vec!["fake".to_owned()], items: world.status_items.clone() })
    }

    fn activate(&self, call: &Call, id: &StatusItemId, button: Button, at: Point) -> Result<()> {
        let mut world = self.enter(call, "status_items.activate")?;
        let item = known(&world, id)?;
        let button = format!("{button:?}").to_lowercase();
        world.log.push(format!("activate {} {button} {},{}", item.name, at.x, at.y));
        Ok(())
    }

    fn menu(&self, call: &Call, id: &StatusItemId) -> Result<Vec<MenuItem>> {
        let world = self.enter(call, "status_items.menu")?;
        match known(&world, id)?.way {
            Way::Called { menu: true, .. } => Ok(mixer_menu(world.mixer_muted)),
            Way::Called { menu: false, .. } | Way::Pointed => Err(Error::unsupported("It has no menu.")),
        }
    }

    fn click(&self, call: &Call, id: &StatusItemId, entry: &MenuItemId) -> Result<()> {
        let mut world = self.enter(call, "status_items.click")?;
        known(&world, id)?;
        world.log.push(format!("menu {}", entry.0));
        if &*entry.0 == "mixer/Mute" && !world.temper.ignores_clicks {
            world.mixer_muted = !world.mixer_muted;
        }
        Ok(())
    }
}
