//! The capability itself: trees of many applications, and acting on single elements.

use super::bus::{
    self, ACCESSIBLE, ACTION, App, COMPONENT, EDITABLE_TEXT, Fault, Question, SCREEN, SELECTION, TEXT, VALUE,
};
use super::bus::{Toolkit, number, text, wait, within};
use super::extents::Scene;
use super::roles::{self, Offers};
use super::tree::{self, AppTree, Raw, Start};
use super::watch::AtspiWatch;
use super::{Atspi, Live, failed, parts, stale};
use atspi_common::State as SpiState;
use deskhand_core::element::{
    AccessibleApp, Bounds, Element, ElementId, Elements, Node, Role, Root, Silent, State, TextContent, Told,
    Tree, TreeQuery,
};
use deskhand_core::geometry::Point;
use deskhand_core::watch::Watch;
use deskhand_core::window::WindowId;
use deskhand_core::{Call, Code, Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use zbus::zvariant::Value;

/// How long one application may hold up a reading of all.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How long a window and its element may differ in what they are called.
const AGREEMENT: Duration = Duration::from_millis(250);

/// `GetText` to the end.
const TO_THE_END: i32 = -1;

/// `ScrollTo`: wherever it shows.
const ANYWHERE: u32 = 6;

impl Elements for Atspi {
    fn applications(&self, call: &Call) -> Result<Vec<AccessibleApp>> {
        let live = self.live(call)?;
        wait(call, "listing accessible applications", async {
            let names = bus::registered(&live.bus).await?;
            let apps = names.iter().map(|name| within(share(call), live.app(name)));
            let apps = futures_util::future::join_all(apps).await;
            let mut list = Vec::with_capacity(apps.len());
            for (name, app) in names.iter().zip(apps) {
                match app {
                    Some(Ok(app)) => list.push(accessible(&app)),
                    // It left while it was asked.
                    Some(Err(_)) => {}
                    None => list.extend(frozen(&live, name).await),
                }
            }
            Ok(list)
        })
    }

    fn tree(&self, call: &Call, query: &TreeQuery) -> Result<Tree> {
        let scene = self.scene(call)?;
        let live = self.live(call)?;
        let nothing = match wait(call, "reading elements", read(&live, call, &scene, query)) {
            Err(error) if error.code == Code::PermissionDenied => error,
            result => return result,
        };
        // While a window changes its title, it has another one for accessibility than on the screen, and nobody
        // can tell whose elements they are. Who has no elements at all is not asked again.
        let Root::Window(id) = query.root else { return Err(nothing) };
        let pid = scene.windows.iter().find(|window| window.id == id).and_then(|window| window.pid);
        if !self.applications(call)?.iter().any(|app| app.pid.is_some() && app.pid == pid) {
            return Err(nothing);
        }
        let again = call.until_within(AGREEMENT, "reading elements again", || {
            let scene = self.scene(call)?;
            match wait(call, "reading elements", read(&live, call, &scene, query)) {
                Ok(tree) => Ok(Some(tree)),
                Err(error) if error.code == Code::PermissionDenied => Ok(None),
                Err(error) => Err(error),
            }
        })?;
        again.ok_or(nothing)
    }

    fn element(&self, call: &Call, id: &ElementId) -> Result<Element> {
        let scene = self.scene(call)?;
        let live = self.live(call)?;
        self.with(call, &live, id, "reading an element", async |app, path| {
            tree::one(app, &scene, path).await.map_err(|fault| failed(fault, id))
        })
    }

    fn at(&self, call: &Call, window: WindowId, point: Point) -> Result<Option<Element>> {
        let scene = self.scene(call)?;
        let live = self.live(call)?;
        let Some(target) = scene.windows.iter().find(|candidate| candidate.id == window) else {
            return self.at_popup(call, &live, &scene, point);
        };
        wait(call, "looking what lies at a point", async {
            for name in named(&live, target.pid).await? {
                let Ok(app) = live.app(&name).await else { continue };
                let frames = tree::frames(&app, &scene).await.map_err(|fault| silent(&app, &fault))?;
                let frame = frames
                    .iter()
                    .find(|frame| frame.sight.window.is_some_and(|shown| scene.windows[shown].id == window));
                let Some(frame) = frame else { continue };
                let path = match app.toolkit {
                    // GTK 4 answers for another place: what lies there is told by the bounds.
                    Toolkit::Gtk4 => None,
                    Toolkit::Chromium => {
                        innermost(&app, &frame.path, point).await.map_err(|fault| silent(&app, &fault))?
                    }
                    Toolkit::Qt | Toolkit::Other => {
                        topmost(&app, &frame.path, point).await.map_err(|fault| silent(&app, &fault))?
                    }
                };
                return match path {
                    Some(path) => {
                        let element = tree::one(&app, &scene, &path).await;
                        element.map(Some).map_err(|fault| failed(fault, &tree::id(&app, &path)))
                    }
                    None => hit(&live, call, &scene, Root::Window(window), point, false).await,
                };
            }
            Ok(None)
        })
    }

    fn focused(&self, call: &Call) -> Result<Option<Element>> {
        let scene = self.scene(call)?;
        let live = self.live(call)?;
        let active = scene.windows.iter().find(|window| window.focused);
        wait(call, "looking for the focus", async {
            if let Some((name, path)) = live.events.focus()
                && let Ok(app) = live.app(&name).await
                && active.and_then(|window| window.pid).is_none_or(|pid| pid == app.pid)
                && let Ok(element) = tree::one(&app, &scene, &path).await
                && element.states.has(State::Focused)
            {
                return Ok(Some(element));
            }
            let Some(active) = active else { return Ok(None) };
            let query =
                TreeQuery { bounds: Bounds::No, values: false, ..TreeQuery::new(Root::Window(active.id)) };
            let tree = match read(&live, call, &scene, &query).await {
                Ok(tree) => tree,
                // A window without a tree has no focus that could be told.
                Err(error) if error.code == Code::PermissionDenied => return Ok(None),
                Err(error) => return Err(error),
            };
            // Containers say focused as well: the innermost is the one.
            let focused = tree.nodes.iter().filter(|node| node.element.states.has(State::Focused));
            let Some(focused) = focused.max_by_key(|node| node.depth) else { return Ok(None) };
            let id = &focused.element.id;
            let (app, path) = live.find(id).await?;
            tree::one(&app, &scene, &path).await.map(Some).map_err(|fault| failed(fault, id))
        })
    }

    fn perform(&self, call: &Call, id: &ElementId, action: &str) -> Result<()> {
        let live = self.live(call)?;
        self.with(call, &live, id, "performing an action", async |app, path| {
            let mut raw = about(app, path, id).await?;
            let Some(index) =
                action_index(app, path, &mut raw, action).await.map_err(|fault| failed(fault, id))?
            else {
                return Err(no_such_action(action, &raw));
            };
            let reply = app.ask(path, ACTION, "DoAction", &(index as i32)).await;
            agreed(reply, id, || {
                let refusal = format!("The application did not perform {action:?} on this element.");
                Error::new(Code::ElementNotActionable, refusal)
                    .remedy("Is it enabled? Click its place instead.")
            })
        })
    }

    fn set_value(&self, call: &Call, id: &ElementId, value: &str) -> Result<()> {
        let live = self.live(call)?;
        self.with(call, &live, id, "setting a value", async |app, path| {
            let raw = about(app, path, id).await?;
            if !raw.bits.has(SpiState::Sensitive) && !raw.bits.has(SpiState::Enabled) && raw.bits.0 != 0 {
                return Err(Error::new(Code::ElementNotActionable, "The element is disabled.")
                    .remedy("Enable it first, or choose another."));
            }
            set(app, path, id, &raw, value).await
        })
    }

    fn focus(&self, call: &Call, id: &ElementId) -> Result<()> {
        let live = self.live(call)?;
        self.with(call, &live, id, "giving the keyboard to an element", async |app, path| {
            about(app, path, id).await?;
            let reply = app.ask(path, COMPONENT, "GrabFocus", &()).await;
            agreed(reply, id, || {
                Error::new(
                    Code::ElementNotActionable,
                    "The application did not give the element the keyboard.",
                )
                .remedy("Focus its window, then click the element.")
            })
        })
    }

    fn scroll_into_view(&self, call: &Call, id: &ElementId) -> Result<()> {
        let live = self.live(call)?;
        self.with(call, &live, id, "scrolling to an element", async |app, path| {
            about(app, path, id).await?;
            let reason = || {
                Error::unsupported(format!(
                    "{} ({}) cannot scroll to an element on request.",
                    app.name, app.toolkit_text
                ))
                .remedy("Scroll the area with the wheel until the element is not offscreen any more.")
            };
            match app.ask(path, COMPONENT, "ScrollTo", &ANYWHERE).await {
                Err(Fault::Absent(said)) => Err(reason().os(said)),
                // Qt says of a method that it lacks that the object is unknown.
                Err(Fault::Gone(said)) if app.toolkit == Toolkit::Qt => Err(reason().os(said)),
                reply => agreed(reply, id, reason),
            }
        })
    }

    fn place_caret(&self, call: &Call, id: &ElementId, at: u32) -> Result<()> {
        let live = self.live(call)?;
        self.with(call, &live, id, "placing the caret", async |app, path| {
            let refusal = || {
                Error::new(Code::ElementNotActionable, "The application did not place the caret.")
                    .remedy("Click where the caret should be, or press end.")
            };
            // By the interface this also takes the selection away, and not every toolkit does it.
            let selections = app.ask(path, TEXT, "GetNSelections", &()).await;
            for _ in 0..selections.ok().and_then(|reply| reply.body().deserialize().ok()).unwrap_or(0_i32) {
                app.ask(path, TEXT, "RemoveSelection", &0_i32).await.map_err(|fault| failed(fault, id))?;
            }
            agreed(app.ask(path, TEXT, "SetCaretOffset", &at.cast_signed()).await, id, refusal)
        })
    }

    fn text(&self, call: &Call, id: &ElementId, limit: u32) -> Result<Option<TextContent>> {
        let live = self.live(call)?;
        self.with(call, &live, id, "reading a text", async |app, path| {
            let raw = about(app, path, id).await?;
            if !raw.offers.has(Offers::TEXT) {
                return Ok(None);
            }
            content(app, path, &raw, limit).await.map(Some).map_err(|fault| failed(fault, id))
        })
    }

    fn watch(&self, call: &Call) -> Result<Box<dyn Watch>> {
        let live = self.live(call)?;
        Ok(Box::new(AtspiWatch::open(call, &live)?))
    }

    fn tells(&self, call: &Call, pids: &[u32]) -> Result<Told> {
        let live = self.live(call)?;
        wait(call, "asking for the toolkits of applications", async {
            let mut told = Told { bounds: true, structure: true, numbers: true };
            for pid in pids {
                for name in named(&live, Some(*pid)).await? {
                    // One that has just gone tells nothing anyway.
                    let Ok(app) = live.app(&name).await else { continue };
                    // Found by adding and moving elements of each. GTK 3 is silent about some that it adds,
                    // and tells then that others made room.
                    match app.toolkit {
                        Toolkit::Gtk4 => told = Told { bounds: false, structure: false, numbers: false },
                        Toolkit::Qt | Toolkit::Chromium => told.bounds = false,
                        Toolkit::Other => {}
                    }
                }
            }
            Ok(told)
        })
    }
}

impl Atspi {
    /// Runs `body` for the element behind an id. An application that does not answer in time loses its line.
    pub(super) fn with<T>(
        &self,
        call: &Call,
        live: &Arc<Live>,
        id: &ElementId,
        doing: &str,
        body: impl AsyncFnOnce(&App, &Arc<str>) -> Result<T>,
    ) -> Result<T> {
        let mut asked = None;
        let result = wait(call, doing, async {
            let (app, path) = live.find(id).await?;
            asked = Some(app.clone());
            body(&app, &path).await
        });
        if let (Err(error), Some(app)) = (&result, &asked)
            && error.code == Code::Timeout
        {
            app.hang_up();
        }
        result.map_err(|error| {
            if error.code != Code::Timeout {
                return error;
            }
            let name = match (&asked, parts(id)) {
                (Some(app), _) => app.name.clone(),
                (None, Ok((pid, ..))) => bus::command(pid),
                (None, Err(_)) => return error,
            };
            Error { message: format!("{name} does not answer. {}", error.message), ..error }
        })
    }

    /// What lies at a point of a window that is in no list: a menu, the list of a combo box.
    fn at_popup(
        &self,
        call: &Call,
        live: &Arc<Live>,
        scene: &Scene,
        point: Point,
    ) -> Result<Option<Element>> {
        let Some(active) = scene.windows.iter().find(|window| window.focused).or(scene.windows.first())
        else {
            return Ok(None);
        };
        let root = match active.pid {
            Some(pid) => Root::Process(pid),
            None => Root::Desktop,
        };
        wait(call, "looking what lies at a point", hit(live, call, scene, root, point, true))
    }
}

/// The smallest element whose bounds hold the point, of what shows below `root` and takes a click there. In a
/// `popup` what menus and lists consist of lies above all else, and the tree does not tell.
async fn hit(
    live: &Arc<Live>,
    call: &Call,
    scene: &Scene,
    root: Root,
    point: Point,
    popup: bool,
) -> Result<Option<Element>> {
    let query = TreeQuery { values: false, ..TreeQuery::new(root) };
    let tree = read(live, call, scene, &query).await?;
    let there: Vec<usize> = (0..tree.nodes.len())
        .filter(|index| {
            let element = &tree.nodes[*index].element;
            let holds = element.bounds.is_some_and(|bounds| bounds.contains(point));
            holds && !element.states.has(State::Offscreen)
        })
        .collect();
    // What comes later is painted later. Of what takes no clicks that would say nothing: a box that lets them
    // through may lie over everything.
    let top = there.iter().copied().rfind(|index| !popup && tree.nodes[*index].element.role.is_interactive());
    let found = there.into_iter().filter(|index| top.is_none_or(|top| is_within(&tree, *index, top)));
    let Some(found) = found.min_by_key(|index| {
        let node = &tree.nodes[*index];
        let below = popup && !pops_up(node.element.role);
        (below, node.element.bounds.map_or(u64::MAX, |bounds| bounds.area()), std::cmp::Reverse(node.depth))
    }) else {
        return Ok(None);
    };
    let id = &tree.nodes[found].element.id;
    let (app, path) = live.find(id).await?;
    tree::one(&app, scene, &path).await.map(Some).map_err(|fault| failed(fault, id))
}

/// Whether a node is the other or stands below it.
fn is_within(tree: &Tree, mut index: usize, outer: usize) -> bool {
    // Parents stand before their children.
    while outer < index {
        match tree.nodes[index].parent {
            Some(parent) => index = parent,
            None => return false,
        }
    }
    index == outer
}

/// Whether such an element stands in a menu or a list that opens, mostly.
const fn pops_up(role: Role) -> bool {
    matches!(
        role,
        Role::CheckMenuItem
            | Role::ListItem
            | Role::Menu
            | Role::MenuItem
            | Role::Option
            | Role::RadioMenuItem
            | Role::Separator
            | Role::ToolTip
    )
}

/// Walks down from an element to the innermost one at a point. Nothing where the toolkit cannot say.
async fn innermost(app: &App, top: &Arc<str>, point: Point) -> Result<Option<Arc<str>>, Fault> {
    let mut here = top.clone();
    for _ in 0..64 {
        let body = (point.x, point.y, SCREEN);
        let below = match app.ask(&here, COMPONENT, "GetAccessibleAtPoint", &body).await {
            Ok(reply) => tree::own_path(app, &reply),
            Err(Fault::Lost(error)) => return Err(Fault::Lost(error)),
            Err(Fault::Gone(_) | Fault::Absent(_) | Fault::Refused(_)) => None,
        };
        match below {
            Some(below) if below != here => here = below,
            Some(_) | None => break,
        }
    }
    Ok((here != *top).then_some(here))
}

/// The same of toolkits that find the first child at a place, and not the one that is painted last: GTK 3 and
/// Qt 5. What takes clicks and lies over the first is the answer.
async fn topmost(app: &App, top: &Arc<str>, point: Point) -> Result<Option<Arc<str>>, Fault> {
    let mut found = innermost(app, top, point).await?;
    // What lies over something may be lain over itself.
    for _ in 0..8 {
        let Some(path) = &found else { break };
        let mut over = None;
        for pair in tree::lineage(app, path).await?.windows(2).rev() {
            over = laid_over(app, &pair[1], &pair[0], point).await?;
            if over.is_some() {
                break;
            }
        }
        match over {
            Some(over) => found = Some(over),
            None => break,
        }
    }
    Ok(found)
}

/// Lists have more children than this, which do not lie over each other.
const MOST_LATER: usize = 100;

/// What takes clicks at a point among the children of `parent` that are painted after `child`.
async fn laid_over(
    app: &App,
    parent: &Arc<str>,
    child: &Arc<str>,
    point: Point,
) -> Result<Option<Arc<str>>, Fault> {
    let children = tree::children(app, parent).await?;
    let Some(place) = children.iter().position(|other| other == child) else { return Ok(None) };
    let mut later: Vec<Raw> = children[place + 1..].iter().cloned().map(Raw::at).collect();
    if MOST_LATER < later.len() {
        return Ok(None);
    }
    learn(app, &mut later).await?;
    let there = later.iter().rev().filter(|raw| {
        raw.bits.has(SpiState::Showing) && raw.extents.is_some_and(|extents| extents.contains(point))
    });
    for raw in there {
        let path = innermost(app, &raw.path, point).await?.unwrap_or_else(|| raw.path.clone());
        let mut ends = [raw.clone(), Raw::at(path)];
        learn(app, &mut ends[1..]).await?;
        if ends.iter().any(|end| roles::role(end.role, end.bits).is_interactive()) {
            let [_, end] = ends;
            return Ok(Some(end.path));
        }
    }
    Ok(None)
}

/// Asks elements what they are, whether they show and where.
async fn learn(app: &App, elements: &mut [Raw]) -> Result<(), Fault> {
    let mut work = VecDeque::new();
    for (index, raw) in elements.iter().enumerate() {
        let questions = [Question::Role, Question::State, Question::Extents];
        work.extend(questions.map(|question| (index, raw.path.clone(), question)));
    }
    app.pump(&mut work, |index, question, reply, _| elements[index].learn(question, reply)).await
}

fn share(call: &Call) -> Duration {
    PATIENCE.min(call.remaining().mul_f32(0.6))
}

fn accessible(app: &App) -> AccessibleApp {
    AccessibleApp {
        id: tree::id(app, bus::ROOT),
        name: app.name.clone(),
        pid: Some(app.pid),
        toolkit: app.toolkit_text.clone(),
    }
}

/// An application that does not answer, as far as the bus and the kernel know it.
async fn frozen(live: &Live, name: &Arc<str>) -> Option<AccessibleApp> {
    let pid = live.pid(name).await.ok()?;
    Some(AccessibleApp {
        id: ElementId(format!("{pid} {name} {}", bus::ROOT).into()),
        name: bus::command(pid),
        pid: Some(pid),
        toolkit: String::new(),
    })
}

/// The bus names of a process, or of all when there is no telling.
pub(super) async fn named(live: &Live, pid: Option<u32>) -> Result<Vec<Arc<str>>> {
    let names = bus::registered(&live.bus).await?;
    let Some(pid) = pid else { return Ok(names) };
    let pids = futures_util::future::join_all(names.iter().map(|name| live.pid(name))).await;
    let of_pid = names.into_iter().zip(pids).filter(|(_, owner)| owner.as_ref().is_ok_and(|own| *own == pid));
    let names: Vec<Arc<str>> = of_pid.map(|(name, _)| name).collect();
    if names.is_empty() && pid != std::process::id() {
        return bus::unregistered(&live.bus, pid).await;
    }
    Ok(names)
}

/// Reads what a query asks for, of every application that it concerns, all at the same time.
async fn read(live: &Arc<Live>, call: &Call, scene: &Scene, query: &TreeQuery) -> Result<Tree> {
    let (names, start, patience) = match &query.root {
        Root::Desktop => (named(live, None).await?, Start::Application, share(call)),
        Root::Process(pid) => {
            (named(live, Some(*pid)).await?, Start::Application, call.remaining().mul_f32(0.9))
        }
        Root::Window(id) => {
            let window =
                scene.windows.iter().find(|window| window.id == *id).ok_or_else(|| no_window(*id, scene))?;
            (named(live, window.pid).await?, Start::Window(*id), call.remaining().mul_f32(0.9))
        }
        Root::Element(id) => {
            let (_, name, path) = parts(id)?;
            // Finds out that the application has gone before anything is read.
            live.find(id).await?;
            (vec![name], Start::Element(path), call.remaining().mul_f32(0.9))
        }
    };
    let readings = names.iter().map(|name| read_one(live, scene, query, &start, name, patience));
    let readings = futures_util::future::join_all(readings).await;
    let mut tree = Tree::default();
    for reading in readings {
        match reading {
            Ok(part) => append(&mut tree, part, query.max_nodes),
            Err((_, Fault::Gone(said))) if matches!(query.root, Root::Element(_)) => {
                return Err(match &query.root {
                    Root::Element(id) => failed(Fault::Gone(said), id),
                    Root::Desktop | Root::Process(_) | Root::Window(_) => Error::backend(said),
                });
            }
            Err((application, fault)) => {
                tree.silent.push(Silent { application, reason: reason(&fault) });
            }
        }
    }
    require_something(query, scene, &tree)?;
    Ok(tree)
}

async fn read_one(
    live: &Arc<Live>,
    scene: &Scene,
    query: &TreeQuery,
    start: &Start,
    name: &Arc<str>,
    patience: Duration,
) -> std::result::Result<AppTree, (String, Fault)> {
    let mut asked = None;
    let reading = within(patience, async {
        let app = live.app(name).await?;
        asked = Some(app.clone());
        tree::read(&app, scene, query, start, patience.mul_f32(0.7)).await
    });
    match reading.await {
        Some(Ok(part)) => Ok(part),
        Some(Err(fault)) => Err((called(live, name, asked.as_deref()).await, fault)),
        None => {
            if let Some(app) = &asked {
                app.hang_up();
            }
            let late = Fault::Refused(format!("It did not answer within {} ms.", patience.as_millis()));
            Err((called(live, name, asked.as_deref()).await, late))
        }
    }
}

async fn called(live: &Live, name: &Arc<str>, app: Option<&App>) -> String {
    match app {
        Some(app) => app.name.clone(),
        None => live.pid(name).await.map_or_else(|_| name.to_string(), bus::command),
    }
}

fn reason(fault: &Fault) -> String {
    match fault {
        Fault::Gone(_) | Fault::Lost(_) => "It ended while it was read.".to_owned(),
        Fault::Absent(said) | Fault::Refused(said) => said.clone(),
    }
}

fn append(tree: &mut Tree, part: AppTree, most: usize) {
    let base = tree.nodes.len();
    let room = most.saturating_sub(base);
    tree.cut |= part.cut || room < part.nodes.len();
    let moved = part.nodes.into_iter().take(room);
    tree.nodes.extend(moved.map(|node| Node { parent: node.parent.map(|parent| parent + base), ..node }));
}

fn no_window(id: WindowId, scene: &Scene) -> Error {
    Error::new(Code::WindowNotFound, format!("There is no window {id}."))
        .found(scene.windows.iter().map(|window| format!("{} {:?}", window.id, window.title)))
        .remedy("List the windows again: it may have been closed.")
}

/// Nothing read is not the same as nothing there: says which.
fn require_something(query: &TreeQuery, scene: &Scene, tree: &Tree) -> Result<()> {
    if !tree.nodes.is_empty() {
        return Ok(());
    }
    let whose = match &query.root {
        Root::Desktop | Root::Element(_) => return Ok(()),
        Root::Process(pid) => bus::command(*pid),
        Root::Window(id) => {
            let window = scene.windows.iter().find(|window| window.id == *id);
            window.map_or_else(String::new, |window| window.application.clone())
        }
    };
    if let Some(silent) = tree.silent.first() {
        return Err(Error::new(Code::Timeout, format!("{} does not answer.", silent.application))
            .os(&silent.reason)
            .remedy("It may be busy or hang: look at a screenshot, try again later, or end it."));
    }
    Err(Error::new(Code::PermissionDenied, format!("{whose:?} shows no accessibility tree."))
        .remedy(
            "Start it again now that accessibility is on (Chromium and Electron need --force-renderer-accessibility), \
             or work by screenshot and coordinates.",
        ))
}

fn silent(app: &App, fault: &Fault) -> Error {
    Error::backend(format!("{} cannot be asked.", app.name)).os(fault)
}

/// What has to be known of an element before it is acted on; fails when it is gone.
async fn about(app: &App, path: &Arc<str>, id: &ElementId) -> Result<Raw> {
    let mut raw = Raw::at(path.clone());
    let (role, state, interfaces) = futures_util::future::join3(
        app.put(path, Question::Role),
        app.put(path, Question::State),
        app.put(path, Question::Interfaces),
    )
    .await;
    if let Err(fault) = role {
        return Err(failed(fault, id));
    }
    raw.learn(Question::Role, role);
    raw.learn(Question::State, state);
    raw.learn(Question::Interfaces, interfaces);
    if raw.bits.has(SpiState::Defunct) {
        return Err(stale(id, "its application has closed it"));
    }
    Ok(raw)
}

/// Which of an element's actions has this name, translated or not.
async fn action_index(
    app: &App,
    path: &Arc<str>,
    raw: &mut Raw,
    action: &str,
) -> std::result::Result<Option<usize>, Fault> {
    if !raw.offers.has(Offers::ACTION) {
        return Ok(None);
    }
    raw.learn(Question::Actions, app.put(path, Question::Actions).await);
    let place = |names: &[String]| names.iter().position(|name| name.to_lowercase() == action.to_lowercase());
    let unnamed: Vec<Question> = raw.unnamed_actions().collect();
    for question in unnamed {
        raw.learn(question, app.put(path, question).await);
    }
    if let Some(index) = place(&raw.actions) {
        return Ok(Some(index));
    }
    let translated = raw.actions.clone();
    for index in 0..translated.len() {
        let question = Question::ActionName(index as i32);
        raw.learn(question, app.put(path, question).await);
    }
    let index = place(&raw.actions);
    raw.actions = translated;
    Ok(index)
}

fn no_such_action(action: &str, raw: &Raw) -> Error {
    let declared = match raw.actions.as_slice() {
        [] => "It declares no action at all.".to_owned(),
        actions => format!("It declares {}.", actions.join(", ")),
    };
    Error::new(Code::InvalidArgument, format!("This {} has no action {action:?}. {declared}", raw.role()))
        .expected("one of the actions that the element declares")
        .found(raw.actions.iter().cloned())
        .remedy("Use one of those, or click the element's place.")
}

/// The answer of a method that says yes or no.
fn agreed(reply: bus::Reply, id: &ElementId, refusal: impl FnOnce() -> Error) -> Result<()> {
    let reply = reply.map_err(|fault| failed(fault, id))?;
    match reply.body().deserialize::<bool>() {
        Ok(false) => Err(refusal()),
        // Some methods answer nothing.
        Ok(true) | Err(_) => Ok(()),
    }
}

impl Atspi {
    /// Selects an element among the children of what it lies in, and nothing else there.
    pub fn select(&self, call: &Call, id: &ElementId) -> Result<()> {
        let live = self.live(call)?;
        self.with(call, &live, id, "selecting an element", async |app, path| {
            let fault = |fault| failed(fault, id);
            let refused = || {
                Error::new(Code::ElementNotActionable, "The application did not select the element.")
                    .remedy("Click it.")
            };
            about(app, path, id).await?;
            let line = tree::lineage(app, path).await.map_err(fault)?;
            let parent = line.get(1).ok_or_else(refused)?;
            let index = app.ask(path, ACCESSIBLE, "GetIndexInParent", &()).await.map_err(fault)?;
            let index: i32 = index.body().deserialize().map_err(|_| refused())?;
            agreed(app.ask(parent, SELECTION, "ClearSelection", &()).await, id, refused)?;
            agreed(app.ask(parent, SELECTION, "SelectChild", &index).await, id, refused)
        })
    }
}

async fn set(app: &App, path: &Arc<str>, id: &ElementId, raw: &Raw, value: &str) -> Result<()> {
    let role = raw.role();
    let wants_number = raw.offers.has(Offers::VALUE) && !matches!(role, Role::TextField | Role::TextArea);
    let parsed = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    if wants_number && let Some(parsed) = parsed {
        return set_number(app, path, id, parsed).await;
    }
    if raw.offers.has(Offers::EDITABLE_TEXT) {
        let reply = app.ask(path, EDITABLE_TEXT, "SetTextContents", &value).await;
        return agreed(reply, id, || read_only(role));
    }
    if wants_number {
        return Err(Error::argument(format!("This {role} takes a number, not {value:?}.")));
    }
    if matches!(role, Role::ComboBox | Role::ListBox | Role::List | Role::TabList) {
        return choose(app, path, id, raw, value).await;
    }
    Err(read_only(role))
}

fn read_only(role: Role) -> Error {
    Error::new(Code::ElementNotActionable, format!("This {role} does not take a value."))
        .remedy("Click it and type, or perform one of its actions.")
}

async fn set_number(app: &App, path: &Arc<str>, id: &ElementId, wanted: f64) -> Result<()> {
    let (least, most) = futures_util::future::join(
        app.property(path, VALUE, "MinimumValue"),
        app.property(path, VALUE, "MaximumValue"),
    )
    .await;
    let least = least.ok().and_then(|reply| number(&reply));
    let most = most.ok().and_then(|reply| number(&reply));
    if let (Some(least), Some(most)) = (least, most)
        && least < most
        && (wanted < least || most < wanted)
    {
        return Err(Error::argument(format!("{wanted} is outside what the element takes."))
            .expected(format!("{least} to {most}")));
    }
    let reply = app.set_property(path, VALUE, "CurrentValue", Value::F64(wanted)).await;
    match reply {
        Ok(_) => Ok(()),
        Err(Fault::Refused(said)) => {
            Err(Error::new(Code::ElementNotActionable, "The application does not let this number be set.")
                .os(said))
        }
        Err(fault) => Err(failed(fault, id)),
    }
}

/// Selects the option with this name: a child, or a child of the list that is the only child.
async fn choose(app: &App, path: &Arc<str>, id: &ElementId, raw: &Raw, value: &str) -> Result<()> {
    let fault = |fault| failed(fault, id);
    let options = tree::options(app, path).await.map_err(fault)?;
    let names = names_of(app, &options).await.map_err(fault)?;
    let Some(index) = names.iter().position(|name| name == value) else {
        return Err(Error::argument(format!("This {} has no option {value:?}.", raw.role()))
            .expected("the name of one of its options")
            .found(names));
    };
    if !raw.offers.has(Offers::SELECTION) {
        // Chromium lets the options be chosen themselves.
        let option = about(app, &options[index], id).await?;
        if !option.offers.has(Offers::ACTION) {
            let refusal = format!("This {} does not let its option be set directly.", raw.role());
            return Err(
                Error::new(Code::ElementNotActionable, refusal).remedy("Open it, then click the option.")
            );
        }
        let reply = app.ask(&options[index], ACTION, "DoAction", &0i32).await;
        return agreed(reply, id, || read_only(raw.role()));
    }
    let reply = app.ask(path, SELECTION, "SelectChild", &(index as i32)).await;
    agreed(reply, id, || {
        Error::new(Code::ElementNotActionable, format!("The application did not select {value:?}."))
            .remedy("Open it, then click the option.")
    })
}

async fn names_of(app: &App, paths: &[Arc<str>]) -> std::result::Result<Vec<String>, Fault> {
    let mut names = vec![String::new(); paths.len()];
    let mut work = paths.iter().enumerate().map(|(at, path)| (at, path.clone(), Question::Name)).collect();
    app.pump(&mut work, |at: usize, _, reply, _| {
        names[at] = reply.map(|reply| text(&reply)).unwrap_or_default();
    })
    .await?;
    Ok(names)
}

async fn content(
    app: &App,
    path: &Arc<str>,
    raw: &Raw,
    limit: u32,
) -> std::result::Result<TextContent, Fault> {
    if raw.role() == Role::PasswordField {
        // How long it is tells whether what was typed arrived; what it is nobody is told.
        let count = app.property(path, TEXT, "CharacterCount").await.ok().and_then(|reply| number(&reply));
        let characters = count.filter(|count| 0.0 <= *count).map_or(0, |count| count as u32);
        return Ok(TextContent { text: String::new(), characters, caret: None, selection: None });
    }
    let (count, caret, selections) = futures_util::future::join3(
        app.property(path, TEXT, "CharacterCount"),
        app.property(path, TEXT, "CaretOffset"),
        app.ask(path, TEXT, "GetNSelections", &()),
    )
    .await;
    let count =
        count.ok().and_then(|reply| number(&reply)).filter(|count| 0.0 <= *count).map(|count| count as u32);
    let end = match count {
        Some(count) => count.min(limit) as i32,
        None => TO_THE_END,
    };
    let reply = app.ask(path, TEXT, "GetText", &(0i32, end)).await?;
    let whole: String = reply.body().deserialize().unwrap_or_default();
    let selected = selections.ok().and_then(|reply| reply.body().deserialize::<i32>().ok()).unwrap_or(0);
    let selection = if 0 < selected {
        let reply = app.ask(path, TEXT, "GetSelection", &0i32).await?;
        let ends: Option<(i32, i32)> = reply.body().deserialize().ok();
        ends.and_then(|(start, end)| Some((u32::try_from(start).ok()?, u32::try_from(end).ok()?)))
            .filter(|(start, end)| start < end)
    } else {
        None
    };
    let characters = count.unwrap_or_else(|| whole.chars().count() as u32);
    Ok(TextContent {
        text: whole.chars().take(limit as usize).collect(),
        characters,
        caret: caret.ok().and_then(|reply| number(&reply)).and_then(|caret| u32::try_from(caret as i64).ok()),
        selection,
    })
}
