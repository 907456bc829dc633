//! The fake applications as accessibility sees them.

use super::Provider;
use super::world::{Act, Item, World};
use crate::call::Call;
use crate::element::{
    AccessibleApp, Bounds, Element, ElementId, Elements, Node, Role, Root, Silent, State, TextContent, Told,
    Tree, TreeQuery,
};
use crate::error::{Code, Error, Result};
use crate::geometry::Point;
use crate::watch::{Bell, Change, Watch};
use crate::window::WindowId;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The element behind an id, unless it is gone or its application does not answer.
fn find<'w>(world: &'w World, id: &ElementId) -> Result<&'w Item> {
    let item = world.items.get(id).ok_or_else(|| {
        Error::new(Code::ElementStale, "The element is gone.").remedy("Read the elements again.")
    })?;
    let silent = world.temper.silent.contains(&item.pid).then(|| world.app(item.pid)).flatten();
    match silent {
        Some(app) => Err(Error::new(Code::Timeout, format!("{} did not answer.", app.name))
            .remedy("The application hangs or is stopped: wait, or quit it by force.")),
        None => Ok(item),
    }
}

fn not_actionable(item: &Item, why: &str) -> Error {
    Error::new(Code::ElementNotActionable, format!("The {} {:?} {why}.", item.role, item.name))
}

fn number(text: &str) -> Result<f64> {
    text.trim().parse().map_err(|_| Error::argument(format!("{text:?} is no number.")))
}

impl Elements for Provider {
    fn applications(&self, call: &Call) -> Result<Vec<AccessibleApp>> {
        let world = self.enter(call, "elements.applications")?;
        let apps = world.apps.iter().map(|app| AccessibleApp {
            id: app.root.clone(),
            name: app.name.clone(),
            pid: Some(app.pid),
            toolkit: app.toolkit.clone(),
        });
        Ok(apps.collect())
    }

    fn tree(&self, call: &Call, query: &TreeQuery) -> Result<Tree> {
        let world = self.enter(call, "elements.tree")?;
        let roots: Vec<ElementId> = match &query.root {
            Root::Desktop => world.apps.iter().map(|app| app.root.clone()).collect(),
            Root::Process(pid) => {
                world.apps.iter().filter(|app| app.pid == *pid).map(|app| app.root.clone()).collect()
            }
            Root::Window(id) => vec![super::windows::find(&world, *id)?.root.clone()],
            Root::Element(id) => vec![find(&world, id)?.id.clone()],
        };
        if let (Root::Process(pid), true) = (&query.root, roots.is_empty()) {
            return Err(Error::new(Code::ApplicationNotFound, format!("There is no process {pid}.")));
        }
        let mut tree = Tree::default();
        for root in &roots {
            let Some(item) = world.items.get(root) else { continue };
            if world.temper.silent.contains(&item.pid) {
                let application = world.app(item.pid).map(|app| app.name.clone()).unwrap_or_default();
                tree.silent.push(Silent { application, reason: "It did not answer.".to_owned() });
            } else {
                read(&world, query, item, None, 0, &mut tree);
            }
        }
        Ok(tree)
    }

    fn element(&self, call: &Call, id: &ElementId) -> Result<Element> {
        let world = self.enter(call, "elements.element")?;
        Ok(world.element(find(&world, id)?))
    }

    fn at(&self, call: &Call, window: WindowId, point: Point) -> Result<Option<Element>> {
        let world = self.enter(call, "elements.at")?;
        let window = super::windows::find(&world, window)?;
        match world.item_at(window, point) {
            Some(item) => Ok(Some(world.element(find(&world, &item.id)?))),
            None => Ok(None),
        }
    }

    fn focused(&self, call: &Call) -> Result<Option<Element>> {
        let world = self.enter(call, "elements.focused")?;
        match world.focused() {
            Some(id) => Ok(Some(world.element(find(&world, &id)?))),
            None => Ok(None),
        }
    }

    fn perform(&self, call: &Call, id: &ElementId, action: &str) -> Result<()> {
        let mut world = self.enter(call, "elements.perform")?;
        let item = find(&world, id)?;
        if !item.actions.iter().any(|declared| declared == action) {
            return Err(not_actionable(item, &format!("declares no action {action:?}"))
                .found(item.actions.iter().cloned()));
        }
        world.log.push(format!("perform {} {action}", id.0));
        // A disabled element does nothing, and like real toolkits does not say so.
        world.work(id);
        Ok(())
    }

    fn set_value(&self, call: &Call, id: &ElementId, value: &str) -> Result<()> {
        let mut world = self.enter(call, "elements.set_value")?;
        let item = find(&world, id)?;
        if !item.states.has(State::Enabled) {
            return Err(not_actionable(item, "is disabled"));
        }
        match item.act {
            Act::Edit if item.states.has(State::ReadOnly) => {
                return Err(not_actionable(item, "is read-only"));
            }
            Act::Edit => {
                let shown = if item.role == Role::PasswordField { "…" } else { value };
                let (line, all) = (format!("set {} {shown:?}", id.0), item.text.chars().count());
                world.log.push(line);
                world.replace(id, 0, all, value);
            }
            Act::Slide { least, most, .. } => {
                let to = number(value)
                    .map_err(|error| error.expected(format!("a number from {least} to {most}")))?;
                world.log.push(format!("set {} {value:?}", id.0));
                world.slide(id, to);
            }
            Act::Bar => {
                let pane = item.parent.clone().and_then(|pane| world.items.get(&pane));
                let Some((pane, now)) = pane.map(|pane| (pane.id.clone(), pane.scrolled)) else {
                    return Err(not_actionable(item, "has nothing to scroll"));
                };
                let to = number(value)?;
                world.log.push(format!("set {} {value:?}", id.0));
                world.scroll_by(&pane, (to - f64::from(now)).round() as i32);
            }
            _ => return Err(not_actionable(item, "takes no value")),
        }
        Ok(())
    }

    fn focus(&self, call: &Call, id: &ElementId) -> Result<()> {
        let mut world = self.enter(call, "elements.focus")?;
        let item = find(&world, id)?;
        if !item.states.has(State::Focusable) || !item.states.has(State::Enabled) {
            return Err(not_actionable(item, "cannot have the keyboard"));
        }
        world.log.push(format!("focus {}", id.0));
        world.focus_item(id);
        Ok(())
    }

    fn scroll_into_view(&self, call: &Call, id: &ElementId) -> Result<()> {
        let mut world = self.enter(call, "elements.scroll_into_view")?;
        find(&world, id)?;
        world.log.push(format!("reveal {}", id.0));
        world.reveal(id);
        Ok(())
    }

    fn place_caret(&self, call: &Call, id: &ElementId, at: u32) -> Result<()> {
        let mut world = self.enter(call, "elements.place_caret")?;
        let at = (at as usize).min(find(&world, id)?.text.chars().count());
        world.select_text(id, at, at, at);
        Ok(())
    }

    fn text(&self, call: &Call, id: &ElementId, limit: u32) -> Result<Option<TextContent>> {
        let world = self.enter(call, "elements.text")?;
        let item = find(&world, id)?;
        let readable = item.act == Act::Edit || item.states.has(State::ReadOnly) && item.has_value;
        if !readable {
            return Ok(None);
        }
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let hidden = item.role == Role::PasswordField;
        let shown = if hidden { 0 } else { limit as usize };
        Ok(Some(TextContent {
            text: item.text.chars().take(shown).collect(),
            characters: small(item.text.chars().count()),
            caret: Some(small(item.caret)),
            selection: item.selection.map(|(start, end)| (small(start), small(end))),
        }))
    }

    fn tells(&self, call: &Call, pids: &[u32]) -> Result<Told> {
        let world = self.enter(call, "elements.tells")?;
        let mut own = world.apps.iter().filter(|app| pids.contains(&app.pid));
        let all = own.all(|app| !app.toolkit.starts_with("gtk 4"));
        Ok(Told { bounds: false, structure: all, numbers: all })
    }

    fn watch(&self, call: &Call) -> Result<Box<dyn Watch>> {
        let world = self.enter(call, "elements.watch")?;
        let next = world.first_change + world.changes.len() as u64;
        Ok(Box::new(Listener { provider: self.clone(), next, dropped: 0, pids: Vec::new(), kept: None }))
    }
}

fn read(world: &World, query: &TreeQuery, item: &Item, parent: Option<usize>, depth: u32, tree: &mut Tree) {
    if query.max_nodes <= tree.nodes.len() {
        tree.cut = true;
        return;
    }
    let mut element = world.element(item);
    let shows = world.shows(item);
    match query.bounds {
        Bounds::All => {}
        Bounds::Showing if shows => {}
        Bounds::Showing | Bounds::No => element.bounds = None,
    }
    if !query.values || !shows {
        element.value = None;
    }
    if !query.actions || !item.role.is_interactive() {
        element.actions.clear();
    }
    let own = tree.nodes.len();
    tree.nodes.push(Node { element, parent, depth });
    if depth < query.max_depth {
        for child in item.children.iter().filter_map(|child| world.items.get(child)) {
            read(world, query, child, Some(own), depth + 1, tree);
        }
    }
}

/// A reader of the stream of changes.
struct Listener {
    provider: Provider,
    /// The number of the next change to read.
    next: u64,
    dropped: u64,
    /// Only changes in these processes, or all when there are none.
    pids: Vec<u32>,
    kept: Option<Arc<()>>,
}

impl Listener {
    fn wants(&self, change: &Change) -> bool {
        self.pids.is_empty() || change.pid.is_some_and(|pid| self.pids.contains(&pid))
    }

    /// Skips what is forgotten already, and counts it.
    fn keep_up(&mut self, first: u64) {
        if self.next < first {
            self.dropped += first - self.next;
            self.next = first;
        }
    }
}

impl Watch for Listener {
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<Change>> {
        loop {
            self.provider.suffer(call, "watch.next")?;
            let provider = self.provider.clone();
            let shared = &provider.0;
            let mut world = shared.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            world.catch_up();
            self.keep_up(world.first_change);
            let place = usize::try_from(self.next - world.first_change).unwrap_or(usize::MAX);
            if let Some(change) = world.changes.get(place) {
                self.next += 1;
                if !self.wants(change) {
                    continue;
                }
                return Ok(Some(change.clone()));
            }
            let now = Instant::now();
            if until <= now {
                return Ok(None);
            }
            call.check("waiting for a change")?;
            // A cancellation does not signal this condition, so look at it now and then.
            let mut nap = (until - now).min(call.remaining()).min(Duration::from_millis(10));
            if let Some(due) = world.next_due() {
                nap = nap.min(due.saturating_duration_since(now));
            }
            drop(shared.moved.wait_timeout(world, nap));
        }
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn listen(&mut self, bell: &Bell, pids: &[u32]) {
        self.kept = Some(self.provider.world().hang(bell));
        self.pids = pids.to_vec();
    }

    fn drain(&mut self) -> Result<Vec<Change>> {
        self.provider.suffer(&Call::with_timeout(Duration::from_secs(1)), "watch.drain")?;
        let provider = self.provider.clone();
        let mut world = provider.0.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        world.catch_up();
        self.keep_up(world.first_change);
        let new = usize::try_from(self.next - world.first_change).unwrap_or(usize::MAX);
        let changes = world.changes.iter().skip(new).filter(|change| self.wants(change));
        let changes = changes.map(|change| Change { text: None, ..change.clone() }).collect();
        self.next = world.first_change + world.changes.len() as u64;
        Ok(changes)
    }
}
