//! Menu bars that are elements: those of GTK 3 and Qt can be read and worked while they are closed.

use super::bus::{ACTION, Toolkit, wait, within};
use super::elements::named;
use super::tree::{self, AppTree, Start};
use super::{Atspi, failed};
use deskhand_core::element::{Bounds, Node, Role, Root, Tree, TreeQuery};
use deskhand_core::menu::{MenuItem, MenuItemId, element_of, items_below};
use deskhand_core::window::Window;
use deskhand_core::{Call, Code, Error, Result};
use std::time::Duration;

/// How long the answer to a click on a menu item is waited for. A refusal comes at once; a dialog that the item
/// opens may hold up the answer until it is closed.
pub const UNANSWERED: Duration = Duration::from_millis(400);

impl Atspi {
    /// The menus in the menu bar of a window; nothing where it has none.
    pub fn menu_bar(&self, call: &Call, window: &Window) -> Result<Option<Vec<MenuItem>>> {
        let scene = self.scene(call)?;
        let live = self.live(call)?;
        let query = TreeQuery {
            bounds: Bounds::No,
            values: false,
            actions: true,
            ..TreeQuery::new(Root::Window(window.id))
        };
        let mut asked = None;
        let result = wait(call, "reading a menu bar", async {
            let start = Start::Window(window.id);
            for name in named(&live, window.pid).await? {
                let Ok(app) = live.app(&name).await else { continue };
                asked = Some(app.clone());
                let patience = call.remaining().mul_f32(0.7);
                let read = tree::read(&app, &scene, &query, &start, patience).await;
                let part = read.map_err(|fault| failed(fault, &tree::id(&app, super::bus::ROOT)))?;
                if let Some(menus) = menus_of(app.toolkit, part) {
                    return Ok(Some(menus));
                }
            }
            Ok(None)
        });
        if let (Err(error), Some(app)) = (&result, &asked)
            && error.code == Code::Timeout
        {
            app.hang_up();
            return result.map_err(|error| Error {
                message: format!("{} does not answer. {}", app.name, error.message),
                ..error
            });
        }
        result
    }

    /// Performs what an item of a menu declares, as a click on it does.
    pub fn activate_menu_item(&self, call: &Call, item: &MenuItemId) -> Result<()> {
        let live = self.live(call)?;
        let id = element_of(item);
        self.with(call, &live, &id, "working a menu item", async |app, path| {
            let asked = app.ask(path, ACTION, "DoAction", &0i32);
            // Qt answers when the dialog that the item opens is closed again: what came of it is looked for.
            let Some(reply) = within(UNANSWERED, asked).await else { return Ok(()) };
            let reply = reply.map_err(|fault| failed(fault, &id))?;
            match reply.body().deserialize::<bool>() {
                Ok(false) => {
                    Err(Error::new(Code::ElementNotActionable, "The application did not work the menu item.")
                        .remedy("Is it enabled? List the menu again."))
                }
                Ok(true) | Err(_) => Ok(()),
            }
        })
    }
}

fn menus_of(toolkit: Toolkit, part: AppTree) -> Option<Vec<MenuItem>> {
    let AppTree { nodes, keys, cut } = part;
    let bar = nodes
        .iter()
        .enumerate()
        .position(|(index, node)| node.element.role == Role::MenuBar && !in_document(&nodes, index))?;
    let tree = Tree { nodes, cut, ..Tree::default() };
    Some(items_below(&tree, bar, &|index| shortcut(toolkit, &keys[index])))
}

/// A page may have menu bars of its own; the window's is none of them.
fn in_document(nodes: &[Node], index: usize) -> bool {
    std::iter::successors(nodes[index].parent, |parent| nodes[*parent].parent)
        .any(|parent| nodes[parent].element.role == Role::Document)
}

/// The keys that do what an item does, from what its toolkit says of its action: the shortcut, the letter in
/// the open menu, or both.
fn shortcut(toolkit: Toolkit, keys: &str) -> Option<String> {
    match toolkit {
        // `s;<Alt>f:s;<Primary>s`: in the open menu; on the way from the bar; anywhere.
        Toolkit::Gtk4 | Toolkit::Other | Toolkit::Chromium => {
            keys.split(';').nth(2).and_then(crate::menu::accelerator)
        }
        // One of both, and nothing tells which: Alt with a letter is the letter in the open menu.
        Toolkit::Qt => {
            let letter = keys.strip_prefix("Alt+").is_some_and(|rest| rest.chars().count() == 1);
            (!keys.is_empty() && !letter).then(|| keys.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortcuts_are_told_from_letters() {
        let other = |keys| shortcut(Toolkit::Other, keys);
        assert_eq!(other("s;<Alt>f:s;<Primary><Shift>s").as_deref(), Some("Ctrl+Shift+S"));
        assert_eq!(other("l;<Alt>f:l;"), None);
        assert_eq!(other(""), None);
        assert_eq!(shortcut(Toolkit::Qt, "Ctrl+Shift+Z").as_deref(), Some("Ctrl+Shift+Z"));
        assert_eq!(shortcut(Toolkit::Qt, "Alt+B"), None);
    }
}
