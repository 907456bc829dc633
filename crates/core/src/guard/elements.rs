//! Elements behind the rules: the trees of hidden applications are withheld, denied ones are read and not worked.

use super::Guard;
use crate::call::Call;
use crate::element::{
    AccessibleApp, Element, ElementId, Elements, Node, Root, TextContent, Told, Tree, TreeQuery,
};
use crate::error::{Code, Error, Result};
use crate::geometry::Point;
use crate::watch::{Bell, Change, Watch};
use crate::window::WindowId;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Guarded {
    pub(super) inner: Arc<dyn Elements>,
    pub(super) guard: Arc<Guard>,
}

impl Guarded {
    fn hides(&self, call: &Call, element: &Element) -> Result<bool> {
        if self.guard.hides_process(call, element.pid)? {
            return Ok(true);
        }
        match element.window {
            Some(window) => self.hides_window(call, window),
            None => Ok(false),
        }
    }

    fn hides_window(&self, call: &Call, id: WindowId) -> Result<bool> {
        if !self.guard.roster.rules.hides_any() {
            return Ok(false);
        }
        match self.guard.windows.list(call)?.iter().find(|window| window.id == id) {
            Some(window) => self.guard.hides(call, window),
            None => Ok(false),
        }
    }

    /// Refuses an element of an application that may not be worked.
    fn require(&self, call: &Call, id: &ElementId) -> Result<()> {
        let element = self.inner.element(call, id)?;
        if self.hides(call, &element)? {
            return Err(stale());
        }
        let window = match element.window {
            Some(id) => self.guard.windows.list(call)?.into_iter().find(|window| window.id == id),
            None => None,
        };
        match window {
            Some(window) => self.guard.require_window(call, &window),
            None => self.guard.require_process(call, element.pid, &[]),
        }
    }

    /// The tree without what may not be seen.
    fn withhold(&self, call: &Call, tree: Tree) -> Result<Tree> {
        let mut place: Vec<Option<usize>> = Vec::with_capacity(tree.nodes.len());
        let mut nodes: Vec<Node> = Vec::with_capacity(tree.nodes.len());
        let windows = self.guard.windows.list(call)?;
        let mut hidden = Vec::new();
        for window in &windows {
            if self.guard.hides(call, window)? {
                hidden.push(window.id);
            }
        }
        for mut node in tree.nodes {
            let parent = node.parent.map(|parent| place.get(parent).copied().flatten());
            let in_hidden = node.element.window.is_some_and(|window| hidden.contains(&window));
            if parent == Some(None) || in_hidden || self.guard.hides_process(call, node.element.pid)? {
                place.push(None);
                continue;
            }
            node.parent = parent.flatten();
            place.push(Some(nodes.len()));
            nodes.push(node);
        }
        let silent = tree.silent.into_iter().filter(|silent| !self.guard.hides_name(&silent.application));
        Ok(Tree { nodes, cut: tree.cut, silent: silent.collect() })
    }
}

fn stale() -> Error {
    Error::new(Code::ElementStale, "The element is gone.").remedy("Look at the elements again.")
}

impl Elements for Guarded {
    fn applications(&self, call: &Call) -> Result<Vec<AccessibleApp>> {
        let mut shown = Vec::new();
        for app in self.inner.applications(call)? {
            if !self.guard.hides_name(&app.name) && !self.guard.hides_process(call, app.pid)? {
                shown.push(app);
            }
        }
        Ok(shown)
    }

    fn tree(&self, call: &Call, query: &TreeQuery) -> Result<Tree> {
        if !self.guard.roster.rules.hides_any() {
            return self.inner.tree(call, query);
        }
        match &query.root {
            Root::Window(id) if self.hides_window(call, *id)? => return Err(super::windows::gone(*id)),
            Root::Process(pid) if self.guard.hides_process(call, Some(*pid))? => return Ok(Tree::default()),
            Root::Desktop | Root::Process(_) | Root::Window(_) | Root::Element(_) => {}
        }
        let tree = self.inner.tree(call, query)?;
        let some = !tree.nodes.is_empty();
        let tree = self.withhold(call, tree)?;
        match &query.root {
            Root::Element(_) if some && tree.nodes.is_empty() => Err(stale()),
            Root::Desktop | Root::Process(_) | Root::Window(_) | Root::Element(_) => Ok(tree),
        }
    }

    fn element(&self, call: &Call, id: &ElementId) -> Result<Element> {
        let element = self.inner.element(call, id)?;
        if self.hides(call, &element)? { Err(stale()) } else { Ok(element) }
    }

    fn at(&self, call: &Call, window: WindowId, point: Point) -> Result<Option<Element>> {
        match self.inner.at(call, window, point)? {
            Some(element) if self.hides(call, &element)? => Ok(None),
            other => Ok(other),
        }
    }

    fn focused(&self, call: &Call) -> Result<Option<Element>> {
        match self.inner.focused(call)? {
            Some(element) if self.hides(call, &element)? => Ok(None),
            other => Ok(other),
        }
    }

    fn perform(&self, call: &Call, id: &ElementId, action: &str) -> Result<()> {
        self.require(call, id)?;
        self.inner.perform(call, id, action)
    }

    fn set_value(&self, call: &Call, id: &ElementId, value: &str) -> Result<()> {
        self.require(call, id)?;
        self.inner.set_value(call, id, value)
    }

    fn focus(&self, call: &Call, id: &ElementId) -> Result<()> {
        self.require(call, id)?;
        self.inner.focus(call, id)
    }

    fn scroll_into_view(&self, call: &Call, id: &ElementId) -> Result<()> {
        self.require(call, id)?;
        self.inner.scroll_into_view(call, id)
    }

    fn text(&self, call: &Call, id: &ElementId, limit: u32) -> Result<Option<TextContent>> {
        if self.guard.roster.rules.hides_any() {
            self.element(call, id)?;
        }
        self.inner.text(call, id, limit)
    }

    fn place_caret(&self, call: &Call, id: &ElementId, at: u32) -> Result<()> {
        self.require(call, id)?;
        self.inner.place_caret(call, id, at)
    }

    fn watch(&self, call: &Call) -> Result<Box<dyn Watch>> {
        let inner = self.inner.watch(call)?;
        if !self.guard.roster.rules.hides_any() {
            return Ok(inner);
        }
        Ok(Box::new(Withholding { inner, guard: self.guard.clone() }))
    }

    fn tells(&self, call: &Call, pids: &[u32]) -> Result<Told> {
        self.inner.tells(call, pids)
    }
}

/// How long finding out whose a change is may take where nobody waits for it.
const WHOSE: Duration = Duration::from_millis(500);

/// The changes of applications that may be seen. What nobody can be named for is withheld, too.
struct Withholding {
    inner: Box<dyn Watch>,
    guard: Arc<Guard>,
}

impl Withholding {
    fn tells(&self, call: &Call, change: &Change) -> Result<bool> {
        Ok(change.pid.is_some() && !self.guard.hides_process(call, change.pid)?)
    }
}

impl Watch for Withholding {
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<Change>> {
        while let Some(change) = self.inner.next(call, until)? {
            if self.tells(call, &change)? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    fn listen(&mut self, bell: &Bell, pids: &[u32]) {
        self.inner.listen(bell, pids);
    }

    fn drain(&mut self) -> Result<Vec<Change>> {
        // Whose a process is has to be known, and is most of the time.
        let call = Call::with_timeout(WHOSE);
        let mut told = Vec::new();
        for change in self.inner.drain()? {
            if self.tells(&call, &change)? {
                told.push(change);
            }
        }
        Ok(told)
    }

    fn dropped(&self) -> u64 {
        self.inner.dropped()
    }
}
