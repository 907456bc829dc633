//! The menus of the fake applications: those that are elements.

use super::Provider;
use crate::call::Call;
use crate::element::{Bounds, Elements, Role, Root, TreeQuery};
use crate::error::Result;
use crate::menu::{MenuBar, MenuItemId, Menus, Via, element_of, items_below};
use crate::window::Window;

impl Menus for Provider {
    fn read(&self, call: &Call, window: &Window) -> Result<MenuBar> {
        drop(self.enter(call, "menus.read")?);
        let query = TreeQuery { bounds: Bounds::No, ..TreeQuery::new(Root::Window(window.id)) };
        let tree = self.tree(call, &query)?;
        let bar = tree.nodes.iter().position(|node| node.element.role == Role::MenuBar);
        Ok(match bar {
            Some(bar) => MenuBar { via: Via::Elements, menus: items_below(&tree, bar, &|_| None) },
            None => MenuBar { via: Via::Nothing, menus: Vec::new() },
        })
    }

    fn activate(&self, call: &Call, _: &Window, item: &MenuItemId) -> Result<()> {
        drop(self.enter(call, "menus.activate")?);
        self.perform(call, &element_of(item), "click")
    }
}
