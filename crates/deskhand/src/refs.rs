//! The numbers that elements are shown under: `e12` stays `e12` as long as the element lives.

use deskhand_core::element::{Element, ElementId, Role};
use deskhand_core::window::WindowId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// How many refs are remembered; past that all are forgotten at once, and numbers go on.
const MOST: usize = 500_000;

/// The refs of one server.
#[derive(Default)]
pub struct Refs(Mutex<Store>);

#[derive(Default)]
struct Store {
    last: u64,
    numbers: HashMap<ElementId, u64>,
    shown: HashMap<u64, Shown>,
}

/// An element as it was shown: what has to be true still when it is acted on.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// How the backend finds it.
    pub id: ElementId,
    /// Its role.
    pub role: Role,
    /// Its name.
    pub name: String,
    /// The application's identifier for it.
    pub identifier: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
    /// Its window.
    pub window: Option<WindowId>,
}

impl Shown {
    /// What an element looks like now.
    pub fn of(element: &Element) -> Shown {
        Shown {
            id: element.id.clone(),
            role: element.role,
            name: element.name.clone(),
            identifier: element.identifier.clone(),
            pid: element.pid,
            window: element.window,
        }
    }

    /// Whether an element may be the same one under another id: after its application rebuilt it.
    pub fn resembles(&self, element: &Element) -> bool {
        self.role == element.role && self.name == element.name && self.identifier == element.identifier
    }
}

impl Refs {
    /// The ref of an element that is being shown.
    pub fn show(&self, element: &Element) -> String {
        format!("e{}", self.show_all([element])[0])
    }

    /// The numbers of elements that are being shown.
    pub fn show_all<'a>(&self, elements: impl IntoIterator<Item = &'a Element>) -> Vec<u64> {
        let mut store = self.store();
        if store.shown.len() > MOST {
            store.numbers.clear();
            store.shown.clear();
        }
        elements
            .into_iter()
            .map(|element| {
                let number = match store.numbers.get(&element.id) {
                    Some(number) => *number,
                    None => {
                        store.last += 1;
                        let number = store.last;
                        store.numbers.insert(element.id.clone(), number);
                        number
                    }
                };
                store.shown.insert(number, Shown::of(element));
                number
            })
            .collect()
    }

    /// The numbers of elements that are not being shown: what has been shown under them is still what has to
    /// be true when somebody acts on them.
    pub fn numbers_of<'a>(&self, elements: impl IntoIterator<Item = &'a Element>) -> Vec<u64> {
        let mut store = self.store();
        let number = |element: &Element| match store.numbers.get(&element.id) {
            Some(number) => *number,
            None => {
                store.last += 1;
                let number = store.last;
                store.numbers.insert(element.id.clone(), number);
                store.shown.insert(number, Shown::of(element));
                number
            }
        };
        elements.into_iter().map(number).collect()
    }

    /// What was shown under a ref. The outer `None` means that the text is no ref at all.
    pub fn get(&self, text: &str) -> Option<Option<Shown>> {
        let number: u64 = text.trim().strip_prefix('e')?.parse().ok()?;
        Some(self.store().shown.get(&number).cloned())
    }

    /// Lets a ref stand for an element that was found again under another id.
    pub fn rebind(&self, text: &str, element: &Element) {
        let Some(Ok(number)) = text.trim().strip_prefix('e').map(str::parse::<u64>) else { return };
        let mut store = self.store();
        if let Some(old) = store.shown.insert(number, Shown::of(element)) {
            store.numbers.remove(&old.id);
        }
        store.numbers.insert(element.id.clone(), number);
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
