//! Reading the tree of one application: from its cache where it declares one, else walked.
//!
//! A cache says everything but extents, values and actions in one answer. It may be silent about some
//! children (rows of large tables, items whose order it does not know): those parents are asked. An
//! application without a cache is the same case with nothing known at the start.

use super::bus::{App, Fault, Question, ROOT, Ref, Reply, Toolkit, number, text};
use super::cache::cached;
use super::extents::{self, Extents, Scene, Shift};
use super::roles::{self, Bits, Offers};
use atspi_common::State as SpiState;
use deskhand_core::element::{Bounds, Element, ElementId, Node, Role, State, TreeQuery};
use deskhand_core::geometry::Rect;
use deskhand_core::window::{Window, WindowId};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use zbus::zvariant::{ObjectPath, Value};

/// How many children of one parent are read. A spreadsheet declares two thousand million.
const MOST_CHILDREN: i32 = 500;

/// How many characters of a text are read for a tree.
pub const MOST_TEXT: i32 = 2000;

/// Where in an application to begin.
#[derive(Clone, Debug)]
pub enum Start {
    /// At its root.
    Application,
    /// At what is shown in a window.
    Window(WindowId),
    /// At one element.
    Element(Arc<str>),
}

/// An element while it is being put together.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// Its path.
    pub path: Arc<str>,
    /// Its name, as told.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The application's identifier for it.
    pub identifier: String,
    /// Its role's number.
    pub role: u32,
    /// Its states.
    pub bits: Bits,
    /// Its interfaces.
    pub offers: Offers,
    /// How many children it declares; negative when it does not say.
    pub declared: i32,
    /// Where it says it lies.
    pub extents: Option<Rect>,
    /// Its value.
    pub value: Option<String>,
    /// Its actions.
    pub actions: Vec<String>,
    /// The keys of its first action, as its toolkit writes them.
    pub keys: String,
    pub(super) characters: i32,
    pub(super) parent: Option<usize>,
    pub(super) index: i32,
    pub(super) kids: Vec<usize>,
    pub(super) reached: bool,
    pub(super) gone: bool,
    pub(super) pending: u8,
    pub(super) depth: u32,
}

impl Raw {
    /// An element of which nothing but the path is known.
    pub fn at(path: impl Into<Arc<str>>) -> Raw {
        Raw { path: path.into(), declared: -1, pending: DETAILS.len() as u8, ..Raw::default() }
    }

    /// Takes in the answer to a question.
    pub fn learn(&mut self, question: Question, reply: Reply) {
        let reply = match reply {
            Ok(reply) => reply,
            // The role is what every object that lives can tell.
            Err(_) => {
                self.gone |= question == Question::Role;
                return;
            }
        };
        match question {
            Question::Role => self.role = reply.body().deserialize().unwrap_or_default(),
            Question::State => self.bits = reply.body().deserialize().unwrap_or_default(),
            Question::Interfaces => self.offers = reply.body().deserialize().unwrap_or_default(),
            Question::Name => self.name = text(&reply),
            Question::Description => self.description = text(&reply),
            Question::Identifier => self.identifier = text(&reply),
            Question::ChildCount => self.declared = number(&reply).map_or(-1, |count| count as i32),
            Question::Extents => {
                let answer = reply.body().deserialize::<(Extents,)>().map(|(extents,)| extents);
                self.extents = answer.or_else(|_| reply.body().deserialize()).ok().and_then(extents::rect);
            }
            Question::Text(_) => {
                self.value = reply.body().deserialize::<String>().ok().map(|text| plain(&text));
            }
            Question::Characters => self.characters = number(&reply).map_or(0, |count| count as i32),
            Question::Number => self.value = number(&reply).map(|number| number.to_string()),
            Question::Actions => {
                let answer = reply.body();
                let actions: Vec<(&str, &str, &str)> = answer.deserialize().unwrap_or_default();
                self.actions = actions.iter().map(|(name, ..)| (*name).to_owned()).collect();
                if let Some((.., keys)) = actions.first().filter(|(.., keys)| !keys.is_empty()) {
                    self.keys = (*keys).to_owned();
                }
            }
            Question::ActionName(index) => {
                let name = reply.body().deserialize::<String>().unwrap_or_default();
                if let Some(action) = self.actions.get_mut(index as usize) {
                    *action = name;
                }
            }
            Question::Keys => self.keys = reply.body().deserialize().unwrap_or_default(),
            Question::Parent | Question::Children | Question::Child(_) | Question::Chosen => {}
        }
    }

    /// What has to be asked next, now that `question` is answered.
    fn next(&self, question: Question) -> Vec<Question> {
        match question {
            Question::Actions => self.unnamed_actions().collect(),
            // LibreOffice answers with nothing when more is asked for than there is.
            Question::Text(MOST_TEXT) if self.value.as_ref().is_some_and(String::is_empty) => {
                vec![Question::Characters]
            }
            Question::Characters if 0 < self.characters => {
                vec![Question::Text(self.characters.min(MOST_TEXT - 1))]
            }
            _ => Vec::new(),
        }
    }

    /// What has to be asked after the actions: Chromium gives no translation of their names, and so none.
    pub fn unnamed_actions(&self) -> impl Iterator<Item = Question> + '_ {
        let unnamed = self.actions.iter().enumerate().filter(|(_, name)| name.is_empty());
        unnamed.map(|(index, _)| Question::ActionName(index as i32))
    }

    /// Whether its role could not be read: it is not there any more.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Its role in our words. GTK 4 calls a password field a text field and gives its text to anybody: there
    /// the name has to tell, and a field too many that is kept secret does less harm than one too few.
    pub fn role(&self) -> Role {
        match roles::role(self.role, self.bits) {
            Role::TextField if roles::sounds_secret(&self.name) => Role::PasswordField,
            role => role,
        }
    }

    /// Whether its application says that it shows.
    pub fn shows(&self, toolkit: Toolkit) -> bool {
        // GTK 4 keeps `showing` for windows.
        self.bits.has(SpiState::Visible) && (toolkit == Toolkit::Gtk4 || self.bits.has(SpiState::Showing))
    }

    /// What to ask for its value, if it has one that may be read.
    pub fn value_question(&self, childless: bool) -> Option<Question> {
        let text = self.offers.has(Offers::TEXT).then_some(Question::Text(MOST_TEXT));
        match self.role() {
            Role::PasswordField => None,
            Role::Slider | Role::ProgressBar | Role::ScrollBar if self.offers.has(Offers::VALUE) => {
                Some(Question::Number)
            }
            // What is typed into it is its text; the number may lag behind.
            Role::SpinButton if self.offers.has(Offers::VALUE) && text.is_none() => Some(Question::Number),
            Role::TextField | Role::TextArea | Role::Terminal | Role::SpinButton => text,
            Role::ComboBox if self.offers.has(Offers::EDITABLE_TEXT) => text,
            Role::ComboBox if self.offers.has(Offers::SELECTION) => Some(Question::Chosen),
            Role::ComboBox if self.offers.has(Offers::VALUE) => Some(Question::Number),
            Role::ComboBox => text,
            Role::Label | Role::Static if self.name.is_empty() => text,
            Role::Paragraph | Role::Heading if childless => text,
            _ if self.bits.has(SpiState::Editable) => text,
            _ => None,
        }
    }

    /// The finished element. `asked` says that it was asked for its place, `frames` which are top-level.
    fn element(&self, app: &App, sight: Sight, scene: &Scene, asked: bool, frames: &[Frame]) -> Element {
        let role = match self.role() {
            // Qt calls every framed widget what other toolkits call a window.
            Role::Window
                if app.toolkit == Toolkit::Qt && !frames.iter().any(|frame| frame.path == self.path) =>
            {
                Role::Panel
            }
            role => role,
        };
        let window = sight.window.map(|w| &scene.windows[w]);
        let told = self.shows(app.toolkit) && !sight.hidden;
        let bounds = self.extents.filter(|_| !sight.hidden).map(|rect| sight.shift.apply(rect));
        let mut states = roles::states(role, self.bits, told);
        let seen = match bounds {
            Some(bounds) => told && extents::on_screen(bounds, window),
            // What was asked for its place and has none is not laid out.
            None => told && !(asked && self.offers.has(Offers::COMPONENT)),
        };
        if !seen && role != Role::Application {
            states = states.with(State::Offscreen);
        }
        // The name of Qt's combo boxes is their current text.
        let chosen = app.toolkit == Toolkit::Qt && role == Role::ComboBox;
        let value = self.value.clone().or_else(|| chosen.then(|| self.name.clone()));
        Element {
            id: id(app, &self.path),
            role,
            name: name(app.toolkit, role, &self.name),
            value,
            description: description(app.toolkit, &self.description),
            identifier: (!self.identifier.is_empty()).then(|| self.identifier.clone()),
            states,
            bounds,
            actions: self.actions.clone(),
            window: window.map(|window| window.id),
            pid: Some(app.pid),
            children: u32::try_from(self.declared).unwrap_or(self.kids.len() as u32),
        }
    }
}

/// How an element is found again.
pub fn id(app: &App, path: &str) -> ElementId {
    ElementId(format!("{} {} {path}", app.pid, app.bus).into())
}

/// The name without what GTK 4.8 invents: the class of a widget that has no name, and the label twice for
/// a button that holds its label.
fn name(toolkit: Toolkit, role: Role, told: &str) -> String {
    if toolkit != Toolkit::Gtk4 {
        return told.to_owned();
    }
    let class = ["Gtk", "Adw", "Gdk"].iter().any(|prefix| {
        told.strip_prefix(prefix).is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_uppercase())
                && rest.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    });
    if class {
        return String::new();
    }
    let half = told.len() / 2;
    let doubled = told.len() % 2 == 1
        && told.is_char_boundary(half)
        && told[half..].starts_with(' ')
        && told[..half] == told[half + 1..];
    let labelled = matches!(role, Role::Button | Role::ToggleButton | Role::CheckBox | Role::RadioButton);
    if doubled && labelled { told[..half].to_owned() } else { told.to_owned() }
}

fn description(toolkit: Toolkit, told: &str) -> String {
    if toolkit == Toolkit::Gtk4 { name(toolkit, Role::Label, told) } else { told.to_owned() }
}

/// A text without the placeholders of what is embedded in it.
pub fn plain(text: &str) -> String {
    if text.contains('\u{fffc}') { text.replace('\u{fffc}', "") } else { text.to_owned() }
}

/// A top-level element, and the window it is shown in.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its path.
    pub path: Arc<str>,
    /// What it says of itself.
    pub raw: Raw,
    /// How its coordinates are to be taken.
    pub sight: Sight,
}

/// How the coordinates of an element are to be taken: handed down from parent to child.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sight {
    /// The index of its window in the list.
    pub window: Option<usize>,
    /// What makes its coordinates global.
    pub shift: Shift,
    /// Nothing of it is mapped, whatever the application says.
    pub hidden: bool,
}

impl Sight {
    /// The same for an element inside, which may be a pop-over with a surface of its own.
    fn inside(self, app: &App, scene: &Scene, role: Role, extents: Option<Rect>) -> Sight {
        let (Toolkit::Gtk4, Some(own)) = (app.toolkit, extents) else { return self };
        match scene.popover(app.pid, own.size()) {
            Some(surface) => {
                let shift = Shift { dx: surface.x - own.x, dy: surface.y - own.y };
                Sight { shift, hidden: false, ..self }
            }
            None => Sight { hidden: self.hidden || role == Role::Menu, ..self },
        }
    }
}

/// The top-level elements of an application, each with its window.
pub async fn frames(app: &App, scene: &Scene) -> Result<Vec<Frame>, Fault> {
    let mut tops: Vec<Raw> = children(app, ROOT).await?.into_iter().map(Raw::at).collect();
    let questions = [Question::Name, Question::Role, Question::State, Question::Extents];
    let mut work = VecDeque::new();
    for (top, raw) in tops.iter().enumerate() {
        work.extend(questions.map(|question| (top, raw.path.clone(), question)));
    }
    app.pump(&mut work, |top, question, reply, _| tops[top].learn(question, reply)).await?;
    tops.retain(|raw| !raw.gone);
    let own: Vec<usize> =
        (0..scene.windows.len()).filter(|w| scene.windows[*w].pid.is_none_or(|pid| pid == app.pid)).collect();
    let candidates: Vec<&Window> = own.iter().map(|w| &scene.windows[*w]).collect();
    let titles: Vec<(String, Option<Rect>)> =
        tops.iter().map(|raw| (raw.name.clone(), raw.extents)).collect();
    let pairs = extents::pair(app.toolkit, &titles, &candidates);
    let frames = tops.into_iter().zip(pairs).map(|(raw, pair)| {
        let window = pair.map(|w| own[w]);
        let shift = Shift::of(app.toolkit, raw.extents, window.map(|w| &scene.windows[w]));
        // Chromium keeps lists at hand that say they show, and are not mapped.
        let hidden = window.is_none() && raw.extents.is_some_and(|extents| !scene.shows(extents));
        Frame { path: raw.path.clone(), raw, sight: Sight { window, shift, hidden } }
    });
    Ok(frames.collect())
}

/// The paths of an element's children, as far as they are of the same application.
pub async fn children(app: &App, path: &str) -> Result<Vec<Arc<str>>, Fault> {
    let reply = app.put(path, Question::Children).await?;
    let body = reply.body();
    let refs: Vec<Ref<'_>> = body.deserialize().unwrap_or_default();
    Ok(refs.iter().filter(|child| is_own(app, child)).map(|(_, path)| path.as_str().into()).collect())
}

/// Whether a reference names an element of this application.
pub fn is_own(app: &App, (bus, path): &Ref<'_>) -> bool {
    (bus.is_empty() || **bus == *app.bus) && path.as_str() != "/org/a11y/atspi/null"
}

/// An element and all above it, up to its top-level element; empty when that cannot be reached.
pub async fn lineage(app: &App, path: &Arc<str>) -> Result<Vec<Arc<str>>, Fault> {
    let mut line = vec![path.clone()];
    for _ in 0..200 {
        let reply = app.put(&line[line.len() - 1], Question::Parent).await?;
        let body = reply.body();
        let Ok(Value::Structure(parts)) = body.deserialize::<Value<'_>>() else { break };
        let [Value::Str(bus), Value::ObjectPath(parent)] = parts.fields() else { break };
        if !is_own(app, &(bus.as_str(), parent.clone())) {
            break;
        }
        if parent.as_str() == ROOT {
            return Ok(line);
        }
        line.push(parent.as_str().into());
    }
    Ok(Vec::new())
}

/// How the coordinates of one element are to be taken.
pub async fn sight_of(app: &App, scene: &Scene, frames: &[Frame], path: &Arc<str>) -> Result<Sight, Fault> {
    // With one top-level element there is nothing to climb for; but GTK 4 may have pop-overs on the way.
    if let ([only], true) = (frames, app.toolkit != Toolkit::Gtk4) {
        return Ok(only.sight);
    }
    let line = lineage(app, path).await?;
    let Some(frame) = line.last().and_then(|top| frames.iter().find(|frame| frame.path == *top)) else {
        return Ok(Sight::default());
    };
    if app.toolkit != Toolkit::Gtk4 {
        return Ok(frame.sight);
    }
    let mut inner: Vec<Raw> = line[..line.len() - 1].iter().rev().cloned().map(Raw::at).collect();
    let mut work = Work::new();
    for (at, raw) in inner.iter().enumerate() {
        work.push_back((at, raw.path.clone(), Question::Role));
        work.push_back((at, raw.path.clone(), Question::Extents));
    }
    app.pump(&mut work, |at, question, reply, _| inner[at].learn(question, reply)).await?;
    let down = inner.iter();
    Ok(down.fold(frame.sight, |sight, raw| sight.inside(app, scene, raw.role(), raw.extents)))
}

/// What was read of an application.
#[derive(Debug, Default)]
pub struct AppTree {
    /// Its elements, parents first.
    pub nodes: Vec<Node>,
    /// The keys of each one's first action, where actions were asked for.
    pub keys: Vec<String>,
    /// Whether a bound cut it.
    pub cut: bool,
}

/// Reads an application's tree. `patience` bounds the wait for a page that is still being built.
pub async fn read(
    app: &App,
    scene: &Scene,
    query: &TreeQuery,
    start: &Start,
    patience: Duration,
) -> Result<AppTree, Fault> {
    let (known, frames) = futures_util::future::join(cached(app, patience), frames(app, scene)).await;
    let mut walk = Walk::new(app, query, known?);
    let frames = frames?;
    let starts: Vec<Arc<str>> = match start {
        Start::Application => vec![ROOT.into()],
        Start::Window(id) => shown_in(app, &frames, scene, *id),
        Start::Element(path) => vec![path.clone()],
    };
    let roots: Vec<usize> = starts.into_iter().map(|path| walk.index_of(path)).collect();
    walk.run(&roots).await?;
    let order = walk.order(&roots);
    walk.enrich(&order).await?;
    let base = match start {
        Start::Element(path) => sight_of(app, scene, &frames, path).await?,
        Start::Application | Start::Window(_) => Sight::default(),
    };
    Ok(walk.finish(order, base, &frames, scene))
}

/// The top-level elements that belong to a window: its own, and the menus and lists that are open and have
/// no window in the list.
fn shown_in(app: &App, frames: &[Frame], scene: &Scene, id: WindowId) -> Vec<Arc<str>> {
    let own = frames.iter().filter(|frame| frame.sight.window.is_some_and(|w| scene.windows[w].id == id));
    let open = frames.iter().filter(|frame| {
        frame.sight.window.is_none()
            && !frame.sight.hidden
            && frame.raw.shows(app.toolkit)
            && matches!(frame.raw.role(), Role::Window | Role::Menu | Role::ToolTip | Role::Panel)
            && frame.raw.extents.is_some()
    });
    let mut paths: Vec<Arc<str>> = own.map(|frame| frame.path.clone()).collect();
    if !paths.is_empty() {
        paths.extend(open.map(|frame| frame.path.clone()));
    }
    paths
}

/// What is asked of an element that no cache knows.
const DETAILS: [Question; 5] =
    [Question::Role, Question::State, Question::Interfaces, Question::Name, Question::ChildCount];

type Work = VecDeque<(usize, Arc<str>, Question)>;

struct Walk<'a> {
    app: &'a App,
    query: &'a TreeQuery,
    nodes: Vec<Raw>,
    places: HashMap<Arc<str>, usize>,
    reached: usize,
    cut: bool,
}

impl<'a> Walk<'a> {
    fn new(app: &'a App, query: &'a TreeQuery, nodes: Vec<Raw>) -> Walk<'a> {
        let places = nodes.iter().enumerate().map(|(place, raw)| (raw.path.clone(), place)).collect();
        Walk { app, query, nodes, places, reached: 0, cut: false }
    }

    fn index_of(&mut self, path: Arc<str>) -> usize {
        if let Some(place) = self.places.get(&path) {
            return *place;
        }
        let place = self.nodes.len();
        self.nodes.push(Raw::at(path.clone()));
        self.places.insert(path, place);
        place
    }

    /// Reaches everything below the roots, asking what is not known.
    async fn run(&mut self, roots: &[usize]) -> Result<(), Fault> {
        let app = self.app;
        let mut work = Work::new();
        for root in roots {
            self.reach(*root, 0, &mut work);
        }
        app.pump(&mut work, |node, question, reply, work| self.take(node, question, reply, work)).await
    }

    /// Takes an element into the tree, and below it all that is known already.
    fn reach(&mut self, first: usize, depth: u32, work: &mut Work) {
        let mut stack = vec![(first, depth)];
        while let Some((node, depth)) = stack.pop() {
            if self.nodes[node].reached {
                continue;
            }
            if self.query.max_nodes <= self.reached {
                self.cut = true;
                return;
            }
            self.reached += 1;
            let raw = &mut self.nodes[node];
            raw.reached = true;
            raw.depth = depth;
            if raw.pending > 0 {
                work.extend(DETAILS.map(|question| (node, raw.path.clone(), question)));
                continue;
            }
            if self.expand(node, work) {
                stack.extend(self.nodes[node].kids.iter().rev().map(|kid| (*kid, depth + 1)));
            }
        }
    }

    /// Whether an element's children are known and wanted; asks for them when they are only wanted.
    fn expand(&mut self, node: usize, work: &mut Work) -> bool {
        let raw = &self.nodes[node];
        if self.query.max_depth <= raw.depth || raw.declared == 0 && raw.kids.is_empty() {
            return false;
        }
        let complete = 0 <= raw.declared && raw.declared as usize <= raw.kids.len();
        if complete && self.in_order(&raw.kids) {
            return true;
        }
        let path = raw.path.clone();
        match raw.declared {
            ..0 => work.push_back((node, path, Question::ChildCount)),
            0..=MOST_CHILDREN => work.push_back((node, path, Question::Children)),
            _ => {
                self.cut = true;
                work.extend((0..MOST_CHILDREN).map(|index| (node, path.clone(), Question::Child(index))));
            }
        }
        false
    }

    /// Whether every child has an index of its own: some caches give none.
    fn in_order(&self, kids: &[usize]) -> bool {
        let mut last = -1;
        kids.len() < 2
            || kids.iter().all(|kid| {
                let index = self.nodes[*kid].index;
                let rises = last < index;
                last = index;
                rises
            })
    }

    fn take(&mut self, node: usize, question: Question, reply: Reply, work: &mut Work) {
        match question {
            Question::Children => {
                let Ok(reply) = reply else { return };
                let body = reply.body();
                let refs: Vec<Ref<'_>> = body.deserialize().unwrap_or_default();
                self.nodes[node].kids.clear();
                for child in refs.iter().take(MOST_CHILDREN as usize) {
                    self.adopt(node, child, work);
                }
                self.cut |= refs.len() > MOST_CHILDREN as usize;
            }
            Question::Child(index) => {
                let Ok(reply) = reply else { return };
                let body = reply.body();
                if let Ok(child) = body.deserialize::<Ref<'_>>() {
                    if index == 0 {
                        self.nodes[node].kids.clear();
                    }
                    self.adopt(node, &child, work);
                }
            }
            question => {
                let raw = &mut self.nodes[node];
                let detail = 0 < raw.pending;
                raw.learn(question, reply);
                raw.pending = raw.pending.saturating_sub(1);
                let depth = raw.depth;
                if raw.gone || raw.pending > 0 || !detail && raw.declared < 0 {
                    return;
                }
                if self.expand(node, work) {
                    for kid in self.nodes[node].kids.clone() {
                        self.reach(kid, depth + 1, work);
                    }
                }
            }
        }
    }

    fn adopt(&mut self, parent: usize, child: &Ref<'_>, work: &mut Work) {
        if !is_own(self.app, child) {
            return;
        }
        let place = self.index_of(child.1.as_str().into());
        if self.nodes[place].reached || place == parent {
            return;
        }
        self.nodes[place].parent = Some(parent);
        self.nodes[parent].kids.push(place);
        let depth = self.nodes[parent].depth + 1;
        self.reach(place, depth, work);
    }

    /// What was reached, in the order of the document, with depths.
    fn order(&self, roots: &[usize]) -> Vec<Step> {
        let mut order = Vec::with_capacity(self.reached);
        let mut seen = vec![false; self.nodes.len()];
        let mut stack: Vec<(usize, Option<usize>, u32)> =
            roots.iter().rev().map(|root| (*root, None, 0)).collect();
        while let Some((node, parent, depth)) = stack.pop() {
            let raw = &self.nodes[node];
            if seen[node] || !raw.reached || raw.gone {
                continue;
            }
            seen[node] = true;
            let place = order.len();
            order.push(Step { node, parent, depth });
            stack.extend(raw.kids.iter().rev().map(|kid| (*kid, Some(place), depth + 1)));
        }
        order
    }

    /// Asks for places, values and actions, as far as they are wanted.
    async fn enrich(&mut self, order: &[Step]) -> Result<(), Fault> {
        let (app, query) = (self.app, self.query);
        let mut work = Work::new();
        for step in order {
            let raw = &self.nodes[step.node];
            let shows = raw.shows(app.toolkit);
            let place = match query.bounds {
                Bounds::No => false,
                Bounds::Showing => shows,
                Bounds::All => true,
            };
            if place && raw.offers.has(Offers::COMPONENT) {
                work.push_back((step.node, raw.path.clone(), Question::Extents));
            }
            if query.values
                && shows
                && let Some(question) = raw.value_question(raw.kids.is_empty())
            {
                work.push_back((step.node, raw.path.clone(), question));
            }
            if query.actions && raw.offers.has(Offers::ACTION) && raw.role().is_interactive() {
                // The list of actions of Qt has names only.
                let keys = app.toolkit == Toolkit::Qt && raw.role() == Role::MenuItem;
                work.extend(keys.then(|| (step.node, raw.path.clone(), Question::Keys)));
                work.push_back((step.node, raw.path.clone(), Question::Actions));
            }
        }
        let mut chosen: HashMap<usize, usize> = HashMap::new();
        let nodes = &mut self.nodes;
        let places = &self.places;
        app.pump(&mut work, |node, question, reply, work| match question {
            Question::Chosen => {
                if let Some(path) = reply.ok().and_then(|reply| own_path(app, &reply)) {
                    match places.get(&path) {
                        Some(place) if !nodes[*place].name.is_empty() => {
                            chosen.insert(node, *place);
                        }
                        _ => work.push_back((node, path, Question::Name)),
                    }
                }
            }
            Question::Name => nodes[node].value = reply.ok().map(|reply| text(&reply)),
            question => {
                nodes[node].learn(question, reply);
                let next = nodes[node].next(question);
                let path = nodes[node].path.clone();
                work.extend(next.into_iter().map(|question| (node, path.clone(), question)));
            }
        })
        .await?;
        for (node, choice) in chosen {
            self.nodes[node].value = Some(self.nodes[choice].name.clone());
        }
        Ok(())
    }

    fn finish(self, order: Vec<Step>, base: Sight, frames: &[Frame], scene: &Scene) -> AppTree {
        let asked = self.query.bounds != Bounds::No;
        let mut sights: Vec<Sight> = Vec::with_capacity(order.len());
        let mut nodes = Vec::with_capacity(order.len());
        let mut keys = Vec::with_capacity(order.len());
        for step in &order {
            let raw = &self.nodes[step.node];
            let sight = match (frames.iter().find(|frame| frame.path == raw.path), step.parent) {
                (Some(frame), _) => frame.sight,
                (None, Some(parent)) => sights[parent].inside(self.app, scene, raw.role(), raw.extents),
                (None, None) => base,
            };
            sights.push(sight);
            let mut element = raw.element(self.app, sight, scene, asked, frames);
            element.children = element.children.max(raw.kids.len() as u32);
            if element.role == Role::ComboBox && element.value.as_ref().is_none_or(String::is_empty) {
                element.value = self.selected_below(step.node);
            }
            nodes.push(Node { element, parent: step.parent, depth: step.depth });
            keys.push(raw.keys.clone());
        }
        AppTree { nodes, keys, cut: self.cut }
    }

    /// The name of the option that is selected, of a combo box that does not say it itself.
    fn selected_below(&self, combo: usize) -> Option<String> {
        let lists = &self.nodes[combo].kids;
        let options = lists.iter().flat_map(|list| std::iter::once(list).chain(&self.nodes[*list].kids));
        let mut selected = options.filter(|option| self.nodes[**option].bits.has(SpiState::Selected));
        selected.next().map(|option| self.nodes[*option].name.clone())
    }
}

/// A place in the order of a document.
#[derive(Clone, Copy, Debug)]
struct Step {
    node: usize,
    parent: Option<usize>,
    pub(super) depth: u32,
}

/// The path in an answer that is a reference to an element of the application.
pub fn own_path(app: &App, reply: &zbus::Message) -> Option<Arc<str>> {
    let body = reply.body();
    let child = body.deserialize::<(&str, ObjectPath<'_>)>().ok()?;
    is_own(app, &child).then(|| child.1.as_str().into())
}

/// Reads one element with everything, as [`super::Atspi`] shows it.
pub async fn one(app: &App, scene: &Scene, path: &Arc<str>) -> Result<Element, Fault> {
    let mut raw = Raw::at(path.clone());
    let first = DETAILS.into_iter().chain([Question::Description, Question::Identifier, Question::Extents]);
    let mut work: Work = first.map(|question| (0, path.clone(), question)).collect();
    let details = app.pump(&mut work, |_, question, reply, _| raw.learn(question, reply));
    let (details, frames) = futures_util::future::join(details, frames(app, scene)).await;
    details?;
    let frames = frames?;
    if raw.gone || raw.bits.has(SpiState::Defunct) {
        return Err(Fault::Gone("its application does not know it any more".to_owned()));
    }
    let mut second = Work::new();
    second.extend(raw.value_question(raw.declared <= 0).map(|question| (0, path.clone(), question)));
    if raw.offers.has(Offers::ACTION) {
        second.push_back((0, path.clone(), Question::Actions));
    }
    app.pump(&mut second, |_, question, reply, work| match question {
        Question::Chosen => {
            let path = reply.ok().and_then(|reply| own_path(app, &reply));
            work.extend(path.map(|path| (1, path, Question::Name)));
        }
        Question::Name => raw.value = reply.ok().map(|reply| text(&reply)),
        question => {
            raw.learn(question, reply);
            work.extend(raw.next(question).into_iter().map(|question| (0, path.clone(), question)));
        }
    })
    .await?;
    let sight = sight_of(app, scene, &frames, path).await?;
    let mut element = raw.element(app, sight, scene, true, &frames);
    if element.role == Role::ComboBox && element.value.as_ref().is_none_or(String::is_empty) {
        element.value = selected_option(app, path).await?;
    }
    Ok(element)
}

/// The options of a combo box or list: its children, or those of the list that is its only child.
pub async fn options(app: &App, path: &Arc<str>) -> Result<Vec<Arc<str>>, Fault> {
    let options = children(app, path).await?;
    match options.as_slice() {
        [only] => {
            let inner = children(app, only).await?;
            Ok(if inner.is_empty() { options } else { inner })
        }
        _ => Ok(options),
    }
}

async fn selected_option(app: &App, path: &Arc<str>) -> Result<Option<String>, Fault> {
    let mut raws: Vec<Raw> = options(app, path).await?.into_iter().map(Raw::at).collect();
    raws.truncate(MOST_CHILDREN as usize);
    let mut work = Work::new();
    for (at, raw) in raws.iter().enumerate() {
        work.extend([Question::State, Question::Name].map(|question| (at, raw.path.clone(), question)));
    }
    app.pump(&mut work, |at, question, reply, _| raws[at].learn(question, reply)).await?;
    Ok(raws.into_iter().find(|raw| raw.bits.has(SpiState::Selected)).map(|raw| raw.name))
}
