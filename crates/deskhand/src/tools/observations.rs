//! Observations: being told what changes, instead of looking again and again.

use super::find::{self, Which};
use super::page::page;
use super::target;
use super::windows::of_application;
use crate::call::Context;
use crate::observations::{
    Applications, Attributes, Elements, Event, MOST_EVENTS, Observation, Owner, Plan, Scope, Source, Subject,
    Via, WindowAspect, Windows, Within,
};
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::element::{Role, Root, State};
use deskhand_core::watch::Bell;
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<CreateObservation>(),
    Row::of::<StreamObservations>(),
    Row::of::<GetObservation>(),
    Row::of::<ListObservations>(),
    Row::of::<CancelObservation>(),
];

/// How often a source is looked at that does not tell its changes, unless the caller says.
const POLL: Duration = Duration::from_secs(1);

/// How many events are answered at once, unless the caller says.
const USUAL: usize = 100;

/// How long a stream lasts, unless the caller says.
const STREAM: Duration = Duration::from_secs(10);

/// How long a client that follows the progress of a stream hears nothing at the most.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// What beginning an observation can fail with.
const BEGIN_ERRORS: &[Code] = &[
    Code::ElementNotFound,
    Code::ElementStale,
    Code::AmbiguousTarget,
    Code::InvalidSelector,
    Code::WindowNotFound,
    Code::ApplicationNotFound,
    Code::PermissionDenied,
    Code::Busy,
    Code::SessionNotFound,
];

/// The same, of one that may be named instead.
const STREAM_ERRORS: &[Code] = &[
    Code::ElementNotFound,
    Code::ElementStale,
    Code::AmbiguousTarget,
    Code::InvalidSelector,
    Code::WindowNotFound,
    Code::ApplicationNotFound,
    Code::PermissionDenied,
    Code::Busy,
    Code::ObservationNotFound,
    Code::SessionNotFound,
];

/// Whose the observations of a call are: its session's.
fn owner(cx: &Context) -> Owner {
    Owner::Client(cx.session.owner)
}

/// Observe an element, a window, an application, or everything, and keep what changes until it is read with
/// get_observation. It looks and never activates anything; it ends with the connection.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateObservation {
    /// element: elements that come, go and change. attribute: names, values and states of elements, of one
    /// when `element` is given. tree: elements that come and go. window, application: what these do; of all,
    /// unless one is named.
    #[serde(rename = "type")]
    pub subject: Subject,
    /// The element (ref, identifier or selector).
    #[serde(default)]
    pub element: Option<String>,
    /// The window (id, title or resource name).
    #[serde(default)]
    pub window: Option<String>,
    /// The application (name, id, pid or resource name).
    #[serde(default)]
    pub application: Option<String>,
    /// Only elements of these roles.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Only these: name, value, description, states, bounds or a state (checked) of elements; title,
    /// position, size, state, focused of windows.
    #[serde(default)]
    pub attributes: Vec<String>,
    /// Only elements that show: one that begins to show is added, one that is hidden is removed.
    #[serde(default)]
    pub visible_only: bool,
    /// How often to look where changes are not told; 1000 by default.
    #[serde(default)]
    pub poll_interval_ms: Option<Ranged<50, 600_000>>,
}

/// An observation as it is shown to callers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ObservationInfo {
    /// Pass this as `name`.
    pub name: String,
    /// What it observes.
    #[serde(rename = "type")]
    pub subject: Subject,
    /// Of what.
    pub target: String,
    /// active, or ended.
    pub state: ObservationState,
    /// Why it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether changes are told by their source, or it is looked at now and then.
    pub via: Via,
    /// What its source does not tell: bounds, structure (elements that come and go), or numbers (values of
    /// sliders and the like).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub polled: Vec<&'static str>,
    /// How often that is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// How many elements, windows or applications it compares.
    pub watched: usize,
    /// Not all that there is: there are more than can be compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// An application does not answer at present.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_responding: bool,
    /// How many events are kept.
    pub events: usize,
    /// The number of the newest.
    pub last_sequence: u64,
    /// How many were dropped because nobody read them.
    pub dropped: u64,
    /// Only these roles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Only these attributes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<&'static str>,
    /// Only what shows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub visible_only: bool,
    /// When it began, as RFC 3339.
    pub created: String,
    /// The resource to subscribe to.
    pub uri: String,
    /// Parameters that have no effect on this type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<&'static str>,
}

/// Whether an observation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObservationState {
    /// It goes on.
    Active,
    /// It has ended; its events can still be read.
    Ended,
}

impl ObservationInfo {
    /// What callers are shown of one.
    pub fn of(observation: &Observation) -> ObservationInfo {
        let (plan, now) = (&observation.plan, observation.standing());
        ObservationInfo {
            name: observation.name(),
            subject: plan.subject,
            target: plan.target.clone(),
            state: if now.ended.is_some() { ObservationState::Ended } else { ObservationState::Active },
            reason: now.ended,
            via: observation.via(),
            polled: plan.polled.clone(),
            poll_interval_ms: plan.poll.map(milliseconds),
            watched: now.size.watched,
            cut: now.size.cut,
            not_responding: now.size.silent,
            events: now.kept,
            last_sequence: now.last,
            dropped: now.dropped,
            roles: plan.roles.clone(),
            attributes: plan.attributes.clone(),
            visible_only: plan.visible_only,
            created: crate::log::rfc3339(observation.created),
            uri: observation.uri(),
            ignored: plan.ignored.clone(),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Tool for CreateObservation {
    const NAME: &'static str = "create_observation";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = BEGIN_ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("observation_type", "type"), ("poll_interval", "poll_interval_ms")];
    const SESSION: bool = true;
    const GROUP: Group = Group::Observations;
    type Output = Data<ObservationInfo>;

    fn call(self, cx: &Context) -> Result<Data<ObservationInfo>> {
        let wish = Wish {
            element: self.element.as_deref(),
            window: self.window.as_deref(),
            application: self.application.as_deref(),
            roles: &self.roles,
            attributes: &self.attributes,
            visible_only: self.visible_only,
            poll: self.poll_interval_ms.map(Ranged::milliseconds),
        };
        Ok(Data(ObservationInfo::of(&*wish.begin(cx, self.subject)?)))
    }
}

/// What a caller wants observed.
struct Wish<'a> {
    element: Option<&'a str>,
    window: Option<&'a str>,
    application: Option<&'a str>,
    roles: &'a [String],
    attributes: &'a [String],
    visible_only: bool,
    poll: Option<Duration>,
}

/// What a caller named, found.
struct Target {
    words: String,
    parents: Vec<String>,
    roots: Vec<Root>,
    pids: Vec<u32>,
    /// Of an element.
    role: Option<Role>,
}

impl Wish<'_> {
    fn begin(&self, cx: &Context, subject: Subject) -> Result<Arc<Observation>> {
        let observations = &cx.server.observations;
        observations.make_room(owner(cx))?;
        let roles = self.roles.iter().map(|name| role(name)).collect::<Result<Vec<_>>>()?;
        let mut ignored = Vec::new();
        let about_elements = matches!(subject, Subject::Element | Subject::Attribute | Subject::Tree);
        let mut note = |given: bool, name: &'static str| {
            if given {
                ignored.push(name);
            }
        };
        note(!about_elements && !roles.is_empty(), "roles");
        note(!about_elements && self.visible_only, "visible_only");
        let attributeless = matches!(subject, Subject::Tree | Subject::Application);
        note(attributeless && !self.attributes.is_empty(), "attributes");
        let mut plan = Plan {
            subject,
            target: String::new(),
            parents: Vec::new(),
            roles: if about_elements { roles } else { Vec::new() },
            attributes: Vec::new(),
            visible_only: about_elements && self.visible_only,
            polled: Vec::new(),
            poll: None,
            ignored,
        };
        let bell = Bell::default();
        let source: Box<dyn Source> = match subject {
            Subject::Element | Subject::Attribute | Subject::Tree => {
                Box::new(self.elements(cx, &bell, &mut plan)?)
            }
            Subject::Window => Box::new(self.windows(cx, &bell, &mut plan)?),
            Subject::Application => Box::new(self.applications(cx, &bell, &mut plan)?),
        };
        if self.poll.is_some() && plan.poll.is_none() {
            plan.ignored.push("poll_interval_ms");
        }
        observations.begin(cx.client, owner(cx), plan, bell, source)
    }

    fn target(&self, cx: &Context) -> Result<Option<Target>> {
        let which = Which { element: self.element, window: self.window, application: self.application };
        if self.element.is_some() {
            let found = find::read(cx, which)?;
            let mut parents = vec![found.name.clone()];
            parents.extend(found.element.pid.map(|pid| match found.element.window {
                Some(window) => format!("applications/{pid}/windows/{window}"),
                None => format!("applications/{pid}"),
            }));
            return Ok(Some(Target {
                words: found.line(),
                parents,
                pids: found.element.pid.into_iter().collect(),
                role: Some(found.element.role),
                roots: vec![Root::Element(found.element.id)],
            }));
        }
        if let Some(name) = self.window {
            let window = target::window(cx, name)?;
            let mut parents = vec![format!("windows/{}", window.id)];
            parents.extend(window.pid.map(|pid| format!("applications/{pid}/windows/{}", window.id)));
            return Ok(Some(Target {
                words: format!("window {}", target::line(&window)),
                parents,
                pids: window.pid.into_iter().collect(),
                roots: vec![Root::Window(window.id)],
                role: None,
            }));
        }
        let Some(name) = self.application else { return Ok(None) };
        let roots = find::roots(cx, which)?;
        let pid = |root: &Root| match root {
            Root::Process(pid) => Some(*pid),
            Root::Desktop | Root::Window(_) | Root::Element(_) => None,
        };
        let pids: Vec<u32> = roots.iter().filter_map(pid).collect();
        if let Some(gone) = pids.iter().find(|pid| !cx.desktop.apps.alive(**pid)) {
            return Err(Error::new(Code::ApplicationNotFound, format!("There is no process {gone}."))
                .remedy("Look at list_running_apps."));
        }
        Ok(Some(Target {
            words: format!("application {name}"),
            parents: pids.iter().map(|pid| format!("applications/{pid}")).collect(),
            roots,
            pids,
            role: None,
        }))
    }

    fn elements(&self, cx: &Context, bell: &Bell, plan: &mut Plan) -> Result<Elements> {
        let target = self.target(cx)?.ok_or_else(|| {
            Error::new(Code::MissingRequiredParameter, "Nothing says whose elements to observe.")
                .expected("one of element, window, application (or parent, a resource name)")
        })?;
        let (mut attributes, names) = element_attributes(self.attributes)?;
        if plan.subject == Subject::Tree {
            attributes = Attributes::default();
        } else {
            plan.attributes = names;
        }
        plan.target = target.words;
        plan.parents = target.parents;
        let single = plan.subject == Subject::Attribute && self.element.is_some();
        let told = cx.desktop.elements.tells(&cx.call, &target.pids)?;
        let number = target.role.is_none_or(|role| {
            matches!(role, Role::Slider | Role::ProgressBar | Role::ScrollBar | Role::SpinButton)
        });
        let untold = [
            ("bounds", attributes.bounds && !told.bounds),
            ("structure", !single && !told.structure),
            ("numbers", attributes.value && (number || !single) && !told.numbers),
        ];
        plan.polled = untold.into_iter().filter(|(_, untold)| *untold).map(|(name, _)| name).collect();
        if !plan.polled.is_empty() {
            plan.poll = Some(self.poll.unwrap_or(POLL));
        }
        let scope = Scope {
            single,
            roots: target.roots,
            pids: target.pids,
            structure: plan.subject != Subject::Attribute,
            attributes,
            roles: plan.roles.clone(),
            visible_only: plan.visible_only,
            poll: plan.poll,
        };
        Elements::begin(cx.desktop, &cx.server.refs, &cx.call, bell, scope)
    }

    fn windows(&self, cx: &Context, bell: &Bell, plan: &mut Plan) -> Result<Windows> {
        let aspects = match self.attributes {
            [] => WindowAspect::ALL.to_vec(),
            given => window_aspects(given)?,
        };
        if !self.attributes.is_empty() {
            plan.attributes = aspects.iter().map(|aspect| aspect.name()).collect();
        }
        if self.element.is_some() {
            return Err(Error::argument(
                "A window observation is of a window, an application or all windows.",
            )
            .remedy("Pass window or application instead of element."));
        }
        let within = match (self.window, self.application) {
            (None, None) => {
                plan.target = "all windows".to_owned();
                Within::All
            }
            (None, Some(name)) => {
                let windows = cx.desktop.windows.list(&cx.call)?;
                let of = of_application(cx, &windows, name)?;
                let own = || windows.iter().filter(|window| of.contains(&window.id));
                let pids: BTreeSet<u32> = own().filter_map(|window| window.pid).collect();
                let class = name.trim().to_lowercase();
                let by_class = own().any(|window| window.application.to_lowercase() == class);
                plan.target = format!("windows of {name}");
                plan.parents = pids.iter().map(|pid| format!("applications/{pid}")).collect();
                Within::Application {
                    name: name.to_owned(),
                    pids: pids.into_iter().collect(),
                    class: by_class.then_some(class),
                }
            }
            (Some(_), _) => {
                let target = self.target(cx)?;
                let target = target.ok_or_else(|| Error::new(Code::Internal, "A window was given."))?;
                (plan.target, plan.parents) = (target.words, target.parents);
                match target.roots[..] {
                    [Root::Window(id)] => Within::One(id),
                    _ => return Err(Error::new(Code::Internal, "A window is one root.")),
                }
            }
        };
        Windows::begin(cx.desktop, &cx.call, bell, within, aspects)
    }

    fn applications(&self, cx: &Context, bell: &Bell, plan: &mut Plan) -> Result<Applications> {
        let mut pids = Vec::new();
        plan.target = "all applications".to_owned();
        if let Some(name) = self.application.filter(|_| self.window.is_none() && self.element.is_none()) {
            // One without a window and without elements is one, too.
            pids = target::applications(cx, name)?.into_iter().map(|app| app.pid).collect();
            plan.target = format!("application {name}");
            plan.parents = pids.iter().map(|pid| format!("applications/{pid}")).collect();
        } else if let Some(target) = self.target(cx)? {
            if target.pids.is_empty() {
                return Err(Error::new(
                    Code::ApplicationNotFound,
                    format!("The process of {} is not known.", target.words),
                ));
            }
            (plan.target, plan.parents, pids) = (target.words, target.parents, target.pids);
        }
        Applications::begin(cx.desktop, &cx.call, bell, pids)
    }
}

fn role(name: &str) -> Result<Role> {
    Role::from_name(name).ok_or_else(|| {
        Error::argument(format!("No role is called {name:?}."))
            .found(deskhand_core::near::near(name, Role::ALL.iter().map(|role| role.name())))
            .expected("roles as get_ui_elements shows them: button, text_field, check_box …")
    })
}

/// A name without what other tool sets put before it.
fn bare(name: &str) -> String {
    let name = name.trim();
    name.strip_prefix("AX").unwrap_or(name).to_lowercase()
}

fn element_attributes(names: &[String]) -> Result<(Attributes, Vec<&'static str>)> {
    if names.is_empty() {
        return Ok((Attributes::usual(), Vec::new()));
    }
    let (mut attributes, mut shown) = (Attributes::default(), Vec::new());
    for name in names {
        shown.push(match &*bare(name) {
            "name" | "title" | "label" => {
                attributes.name = true;
                "name"
            }
            "value" | "text" => {
                attributes.value = true;
                "value"
            }
            "description" | "help" => {
                attributes.description = true;
                "description"
            }
            "bounds" | "position" | "size" | "frame" => {
                attributes.bounds = true;
                "bounds"
            }
            "states" | "state" => {
                attributes.states = Attributes::usual().states;
                "states"
            }
            other => match State::from_name(other) {
                Some(state) if state != State::Offscreen => {
                    attributes.states = attributes.states.with(state);
                    state.name()
                }
                Some(_) | None => return Err(no_attribute(name, ELEMENT_ATTRIBUTES)),
            },
        });
    }
    shown.dedup();
    Ok((attributes, shown))
}

const ELEMENT_ATTRIBUTES: &str =
    "name, value, description, states, bounds, or a state: checked, enabled, focused, selected, expanded …";

fn window_aspects(names: &[String]) -> Result<Vec<WindowAspect>> {
    let mut aspects = Vec::new();
    for name in names {
        let of = match &*bare(name) {
            "title" | "name" => vec![WindowAspect::Title],
            "bounds" | "frame" => vec![WindowAspect::Position, WindowAspect::Size],
            "focus" | "main" => vec![WindowAspect::Focused],
            "minimized" => vec![WindowAspect::State],
            other => WindowAspect::ALL.into_iter().filter(|aspect| aspect.name() == other).collect(),
        };
        if of.is_empty() {
            return Err(no_attribute(name, "title, position, size, bounds, state, focused"));
        }
        aspects.extend(of);
    }
    // In the order in which they are told, each once.
    Ok(WindowAspect::ALL.into_iter().filter(|aspect| aspects.contains(aspect)).collect())
}

fn no_attribute(name: &str, expected: &str) -> Error {
    Error::argument(format!("{name:?} is no attribute that can be observed here.")).expected(expected)
}

/// Read what an observation has seen: its events, each with its number, what it was and what it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetObservation {
    /// Its name: observations/o1.
    pub name: String,
    /// Only events after this number: last_sequence of the reply before.
    #[serde(default)]
    pub after: Option<Ranged<0, 9_007_199_254_740_991>>,
    /// How many at the most; 100 by default.
    #[serde(default)]
    pub max_events: Option<Ranged<1, 1000>>,
}

/// What an observation has seen.
#[derive(Serialize, JsonSchema)]
pub struct ObservationRead {
    /// It, as it is now.
    pub observation: ObservationInfo,
    /// The events, the oldest first.
    pub events: Vec<Event>,
    /// There are more after these: pass the last one's sequence as `after`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

impl ObservationRead {
    /// Events after a number.
    pub fn of(observation: &Observation, after: u64, most: usize) -> ObservationRead {
        let (events, more) = observation.events(after, most);
        ObservationRead { observation: ObservationInfo::of(observation), events, more }
    }
}

impl Tool for GetObservation {
    const NAME: &'static str = "get_observation";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::ObservationNotFound, Code::SessionNotFound];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("observation", "name"), ("observation_id", "name"), ("after_sequence", "after")];
    const SESSION: bool = true;
    const GROUP: Group = Group::Observations;
    type Output = Data<ObservationRead>;

    fn call(self, cx: &Context) -> Result<Data<ObservationRead>> {
        cx.call.check("reading an observation")?;
        let observation = cx.server.observations.get(owner(cx), &self.name)?;
        let most = self.max_events.map_or(USUAL, |most| most.unsigned() as usize);
        Ok(Data(ObservationRead::of(&observation, self.after.map_or(0, Ranged::unsigned), most)))
    }
}

/// List your observations, the oldest first.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListObservations {
    /// Only those of this application, window or element (resource name or ref).
    pub parent: Option<String>,
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// Observations.
#[derive(Serialize, JsonSchema)]
pub struct ObservationList {
    /// The observations.
    pub observations: Vec<ObservationInfo>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl Tool for ListObservations {
    const NAME: &'static str = "list_observations";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::SessionNotFound];
    const SESSION: bool = true;
    const GROUP: Group = Group::Observations;
    type Output = Data<ObservationList>;

    fn call(self, cx: &Context) -> Result<Data<ObservationList>> {
        cx.call.check("listing observations")?;
        let mut all = cx.server.observations.of(owner(cx));
        if let Some(parent) = self.parent.as_deref().map(str::trim) {
            all.retain(|observation| {
                let within = |own: &String| {
                    own.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                observation.plan.parents.iter().any(within)
            });
        }
        let (all, next_page_token) = page(all, self.page_size.map(Ranged::get), self.page_token.as_deref())?;
        let observations = all.iter().map(|observation| ObservationInfo::of(observation)).collect();
        Ok(Data(ObservationList { observations, next_page_token }))
    }
}

/// End an observation and forget its events.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelObservation {
    /// Its name: observations/o1.
    pub name: String,
}

impl Tool for CancelObservation {
    const NAME: &'static str = "cancel_observation";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::ObservationNotFound, Code::SessionNotFound];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("observation", "name"), ("observation_id", "name")];
    const SESSION: bool = true;
    const GROUP: Group = Group::Observations;
    type Output = Data<ObservationInfo>;

    fn call(self, cx: &Context) -> Result<Data<ObservationInfo>> {
        cx.call.check("ending an observation")?;
        let observation = cx.server.observations.get(owner(cx), &self.name)?;
        cx.server.observations.cancel(&observation);
        Ok(Data(ObservationInfo::of(&observation)))
    }
}

/// Follow what changes for a while: answers after duration_ms, or as soon as there are max_events. Meanwhile
/// a client that passed a progressToken is told of each. Follows the observations in `names`, or what the
/// other parameters say, as in create_observation.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct StreamObservations {
    /// Observations that run already; only what comes from now on is told, unless `after` is given.
    pub names: Vec<String>,
    /// With one name: also events that came after this number.
    pub after: Option<Ranged<0, 9_007_199_254_740_991>>,
    /// What to observe for the time of the call.
    pub types: Vec<Subject>,
    /// The element (ref, identifier or selector).
    pub element: Option<String>,
    /// The window (id, title or resource name).
    pub window: Option<String>,
    /// The application (name, id, pid or resource name).
    pub application: Option<String>,
    /// Only elements of these roles.
    pub roles: Vec<String>,
    /// Only these attributes.
    pub attributes: Vec<String>,
    /// Only elements that show.
    pub visible_only: bool,
    /// How often to look where changes are not told; 1000 by default.
    pub poll_interval_ms: Option<Ranged<50, 600_000>>,
    /// How long; 10000 by default.
    pub duration_ms: Option<Ranged<1, 50_000>>,
    /// Answer as soon as there are this many; 100 by default.
    pub max_events: Option<Ranged<1, 1000>>,
}

/// An event, and whose it is.
#[derive(Serialize, JsonSchema)]
pub struct StreamedEvent {
    /// The observation.
    pub observation: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What was seen for a while.
#[derive(Serialize, JsonSchema)]
pub struct Streamed {
    /// The events, in the order in which they came.
    pub events: Vec<StreamedEvent>,
    /// Why it is over: duration, max_events, ended (nothing more can come), or timeout.
    pub until: Until,
    /// How many events were dropped meanwhile.
    pub dropped: u64,
    /// The observations that were followed.
    pub observations: Vec<ObservationInfo>,
}

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// The time that was asked for has passed.
    Duration,
    /// There are as many events as were asked for.
    MaxEvents,
    /// Every observation has ended.
    Ended,
    /// `timeout_ms` was shorter than `duration_ms`.
    Timeout,
}

impl Tool for StreamObservations {
    const NAME: &'static str = "stream_observations";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = STREAM_ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("observations", "names"), ("type", "types"), ("poll_interval", "poll_interval_ms")];
    const SESSION: bool = true;
    const GROUP: Group = Group::Observations;
    type Output = Data<Streamed>;

    fn patience(&self) -> Duration {
        self.duration_ms.map_or(STREAM, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Streamed>> {
        let begun = Begun { cx, all: self.begin(cx)? };
        let named = self.names.iter().map(|name| cx.server.observations.get(owner(cx), name));
        let mut all = named.collect::<Result<Vec<_>>>()?;
        if 1 < all.len() && self.after.is_some() {
            return Err(Error::argument("after is a number of one observation, and several are named."));
        }
        let mut follow = Vec::new();
        for observation in &all {
            let after = self.after.map_or_else(|| observation.standing().last, Ranged::unsigned);
            follow.push((observation.clone(), after));
        }
        follow.extend(begun.all.iter().map(|observation| (observation.clone(), 0)));
        all.extend(begun.all.iter().cloned());
        let dropped = |all: &[Arc<Observation>]| -> u64 {
            all.iter().map(|observation| observation.standing().dropped).sum()
        };
        let before = dropped(&all);
        let (events, until) = cx.aside(|| self.follow(cx, follow))?;
        let observations = all.iter().map(|observation| ObservationInfo::of(observation)).collect();
        Ok(Data(Streamed { events, until, dropped: dropped(&all) - before, observations }))
    }
}

impl StreamObservations {
    fn begin(&self, cx: &Context) -> Result<Vec<Arc<Observation>>> {
        let place = [&self.element, &self.window, &self.application];
        let described = place.iter().any(|given| given.is_some());
        let types = match (&self.types[..], described, self.names.is_empty()) {
            ([], false, true) => {
                return Err(Error::new(Code::MissingRequiredParameter, "Nothing says what to follow.")
                    .expected(
                        "names of observations, or types (and of what: element, window, application)",
                    ));
            }
            ([], false, false) => return Ok(Vec::new()),
            ([], true, _) => vec![Subject::Element],
            (types, ..) => types.to_vec(),
        };
        let wish = Wish {
            element: self.element.as_deref(),
            window: self.window.as_deref(),
            application: self.application.as_deref(),
            roles: &self.roles,
            attributes: &self.attributes,
            visible_only: self.visible_only,
            poll: self.poll_interval_ms.map(Ranged::milliseconds),
        };
        let mut begun = Begun { cx, all: Vec::new() };
        for subject in types {
            begun.all.push(wish.begin(cx, subject)?);
        }
        Ok(std::mem::take(&mut begun.all))
    }

    fn follow(
        &self,
        cx: &Context,
        mut follow: Vec<(Arc<Observation>, u64)>,
    ) -> Result<(Vec<StreamedEvent>, Until)> {
        let most = self.max_events.map_or(USUAL, |most| most.unsigned() as usize).min(MOST_EVENTS);
        let (started, duration) = (Instant::now(), self.patience());
        // What was seen is worth more than an error that says that time is up.
        let margin = Duration::from_millis(50);
        let left = cx.call.remaining().saturating_sub(margin);
        let (end, late) = (started + duration.min(left), left < duration);
        let bell = Bell::default();
        let _listening: Vec<_> = follow.iter().map(|(observation, _)| observation.listen(&bell)).collect();
        let mut events: Vec<StreamedEvent> = Vec::new();
        let mut told = Instant::now();
        loop {
            // Asked before the events are: what ends has told its last one by then.
            let over = follow.iter().all(|(observation, _)| observation.standing().ended.is_some());
            let before = events.len();
            for (observation, after) in &mut follow {
                let (new, _) = observation.events(*after, most - events.len());
                *after = new.last().map_or(*after, |event| event.sequence);
                let name = observation.name();
                events
                    .extend(new.into_iter().map(|event| StreamedEvent { observation: name.clone(), event }));
            }
            let now = Instant::now();
            if let Some(progress) = &cx.progress
                && (before < events.len() || HEARTBEAT <= now - told)
            {
                told = now;
                progress.report(
                    milliseconds(now - started),
                    milliseconds(duration),
                    &message(&events, &events[before..]),
                );
            }
            let until = if most <= events.len() {
                Until::MaxEvents
            } else if over {
                Until::Ended
            } else if end <= now {
                if late { Until::Timeout } else { Until::Duration }
            } else {
                // A cancellation does not ring: it is looked at now and then.
                bell.wait(Some(end.min(now + Duration::from_millis(50))));
                cx.call.check("following observations").or_else(|error| match error.code {
                    Code::Timeout => Ok(()),
                    _ => Err(error),
                })?;
                continue;
            };
            return Ok((events, until));
        }
    }
}

/// How far a stream has come, in one short line.
fn message(all: &[StreamedEvent], new: &[StreamedEvent]) -> String {
    const MOST: usize = 5;
    let mut text = format!("{} so far", all.len());
    for streamed in new.iter().take(MOST) {
        text.push_str("; ");
        text.push_str(&streamed.event.line());
    }
    if MOST < new.len() {
        text.push_str(&format!("; {} more", new.len() - MOST));
    }
    text
}

/// Observations that last as long as a call.
struct Begun<'a> {
    cx: &'a Context<'a>,
    all: Vec<Arc<Observation>>,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.all.iter().for_each(|observation| self.cx.server.observations.cancel(observation));
    }
}
