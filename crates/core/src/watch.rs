//! Changes as they happen: what an application said of its elements.

use crate::call::Call;
use crate::element::ElementId;
use crate::error::Result;
use std::time::Instant;

/// What kind of change it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A state went on or off.
    State,
    /// The keyboard focus moved to the element.
    Focused,
    /// A text changed.
    Text,
    /// The caret or the selection moved.
    Caret,
    /// A value changed.
    Value,
    /// A name, description or another property changed.
    Property,
    /// Elements came or went.
    Children,
    /// The selected items changed.
    Selection,
    /// A window opened, closed, was activated or moved.
    Window,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What kind.
    pub kind: Kind,
    /// Where.
    pub element: ElementId,
    /// The process that it happened in, where known.
    pub pid: Option<u32>,
    /// The particular of the kind: the state's name, `insert`, `delete`, the property's name.
    pub detail: String,
    /// The state is on, the child was added.
    pub on: bool,
    /// What was inserted, deleted or set, where the application tells.
    pub text: Option<String>,
}

/// A place in the stream of changes. Bounded: when the reader is slow the oldest are dropped and counted.
pub trait Watch: Send {
    /// The next change, or nothing by `until`.
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<Change>>;

    /// How many changes were dropped since the watch began.
    fn dropped(&self) -> u64;
}
