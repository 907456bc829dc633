//! Which elements a picture with marks shows, and under which numbers: those of their refs.

use super::evidence::short;
use super::find;
use crate::call::Context;
use deskhand_core::element::{Element, Role, Root, State, TreeQuery};
use deskhand_core::screen::{Bitmap, Source};
use deskhand_core::window::Window;
use deskhand_core::{Error, Frame, Rect, Result};
use deskhand_picture::Mark;
use schemars::JsonSchema;
use serde::Serialize;

/// How many elements are marked: more than that are not told apart anyway.
const MOST: usize = 200;

/// A mark as it is told.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Marked {
    /// The number in the picture.
    pub number: u64,
    /// Pass this as `element`.
    #[serde(rename = "ref")]
    pub name_ref: String,
    /// What it is.
    pub role: Role,
    /// What it is called.
    pub name: String,
    /// Where it lies, in global pixels.
    pub bounds: Rect,
    /// Whether it does not react now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// All marks of a picture.
pub struct Marks {
    /// What they mean.
    pub marked: Vec<Marked>,
    /// What is missing among them, and why.
    notes: Vec<String>,
}

impl Marks {
    /// The interactive elements that show in a bitmap of these windows, the topmost first.
    pub fn of(cx: &Context, bitmap: &Bitmap, source: Source, windows: &[Window]) -> Result<Marks> {
        let mut marks = Marks { marked: Vec::new(), notes: Vec::new() };
        let mut failure: Option<Error> = None;
        let mut read = false;
        let shown = windows
            .iter()
            .enumerate()
            .filter(|(_, window)| window.bounds.intersection(&bitmap.shows).is_some());
        for (place, window) in shown {
            let query = TreeQuery { values: false, ..TreeQuery::new(Root::Window(window.id)) };
            let tree = match cx.desktop.elements.tree(&cx.call, &query) {
                Ok(tree) => tree,
                Err(error) => {
                    marks.notes.push(format!("{:?} has no marks: {}", window.title, error.message));
                    failure = failure.or(Some(error));
                    continue;
                }
            };
            read = true;
            let silent = tree
                .silent
                .iter()
                .map(|silent| format!("{} does not answer: {}", silent.application, silent.reason));
            marks.notes.extend(silent);
            let above = match source {
                Source::Screen(_) => &windows[..place],
                // Nothing covers a window in its own picture.
                Source::Window(_) => &[],
            };
            let elements: Vec<(&Element, Rect)> = tree
                .nodes
                .iter()
                .filter_map(|node| Some((&node.element, seen(&node.element, bitmap, above)?)))
                .collect();
            let numbers = cx.server.refs.show_all(elements.iter().map(|(element, _)| *element));
            marks.marked.extend(elements.into_iter().zip(numbers).map(|((element, bounds), number)| {
                Marked {
                    number,
                    name_ref: format!("e{number}"),
                    role: element.role,
                    name: element.name.clone(),
                    bounds,
                    disabled: !element.states.has(State::Enabled),
                }
            }));
        }
        match failure {
            Some(failure) if !read => return Err(failure),
            _ => {}
        }
        if MOST < marks.marked.len() {
            marks
                .notes
                .push(format!("{} more are not marked: take a smaller part", marks.marked.len() - MOST));
            marks.marked.truncate(MOST);
        }
        Ok(marks)
    }

    /// The marks in pixels of the picture.
    pub fn places(&self, frame: &Frame) -> Vec<Mark> {
        let place = |marked: &Marked| {
            Some(Mark { number: marked.number, bounds: frame.rect_from_screen(marked.bounds)? })
        };
        self.marked.iter().filter_map(place).collect()
    }

    /// What the numbers mean, a line for each.
    pub fn told(&self) -> String {
        let mut told = match &self.marked[..] {
            [] => "Nothing in it is marked.".to_owned(),
            [first, ..] => {
                format!("Marks ({} is {}), with places in global pixels:", first.number, first.name_ref)
            }
        };
        for mark in &self.marked {
            let name = if mark.name.is_empty() { String::new() } else { format!(" {}", short(&mark.name)) };
            let disabled = if mark.disabled { " (disabled)" } else { "" };
            told.push_str(&format!("\n{} {}{name} {}{disabled}", mark.name_ref, mark.role, mark.bounds));
        }
        for note in &self.notes {
            told.push_str(&format!("\n! {note}."));
        }
        told
    }
}

/// The part of an element that the picture shows, if it is to be marked.
fn seen(element: &Element, bitmap: &Bitmap, above: &[Window]) -> Option<Rect> {
    if !element.role.is_interactive() || !find::shows(element) {
        return None;
    }
    let bounds = element.bounds?.intersection(&bitmap.shows)?;
    let covered = above.iter().any(|window| window.bounds.contains(bounds.center()));
    (!covered).then_some(bounds)
}
