//! Sessions: who owns what outlives a call.

use super::page::page;
use crate::call::Context;
use crate::observations::Owner;
use crate::recording::{Progress, Recording};
use crate::sessions::{Session, name_of};
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<CreateSession>(),
    Row::of::<GetSession>(),
    Row::of::<ListSessions>(),
    Row::of::<DeleteSession>(),
];

/// How long an unused session lasts when nobody says.
const USUAL: Duration = Duration::from_secs(15 * 60);

/// Make a session: it owns held keys and buttons, opened applications, observations and variables of the calls
/// that name it. It ends when deleted, when unused for ttl_ms, or with its client; what is held is let go of then.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct CreateSession {
    /// What it is for.
    pub description: Option<String>,
    /// Ends when unused for this long; 15 minutes by default.
    pub ttl_ms: Option<Ranged<100, 86_400_000>>,
    /// Variables to begin with: steps refer to them as `vars.name`.
    pub variables: Map<String, Value>,
}

/// A session as it is shown to callers.
#[derive(Serialize, JsonSchema)]
pub struct SessionInfo {
    /// Pass it as `session`.
    pub session: String,
    /// Its resource name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it holds down.
    pub held: Vec<String>,
    /// Applications that were opened in it, by resource name.
    pub applications: Vec<String>,
    /// Its observations, by resource name.
    pub observations: Vec<String>,
    /// Its variables; only their names in lists.
    pub variables: Value,
    /// How the recording of a person is doing, while there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<Progress>,
    /// Ends when unused for this long. Absent for the client's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long until then, while no call uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
}

impl SessionInfo {
    fn of(cx: &Context, session: &Session, values: bool) -> SessionInfo {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let expires = session.expires().map(|time| time.saturating_duration_since(Instant::now()));
        let observations = cx.server.observations.of(Owner::Client(session.owner));
        let mut state = session.state();
        state.applications.retain(|pid| cx.desktop.apps.alive(*pid));
        let names = || Value::from(state.variables.keys().cloned().collect::<Vec<_>>());
        SessionInfo {
            session: session.name.clone(),
            name: format!("sessions/{}", session.name),
            description: session.description.clone(),
            held: cx.desktop.holds().of(session.owner).into_iter().map(name_of).collect(),
            applications: state.applications.iter().map(|pid| format!("applications/{pid}")).collect(),
            observations: observations.iter().map(|one| one.name()).collect(),
            variables: if values { Value::Object(state.variables.clone()) } else { names() },
            recording: state.recording.as_ref().map(Recording::progress),
            ttl_ms: session.ttl.map(milliseconds),
            expires_in_ms: expires.map(milliseconds),
        }
    }
}

impl Tool for CreateSession {
    const NAME: &'static str = "create_session";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("name", "description"), ("vars", "variables")];
    const SECRET: &'static [&'static str] = &["variables"];
    const GROUP: Group = Group::Sessions;
    type Output = Data<SessionInfo>;

    fn call(self, cx: &Context) -> Result<Data<SessionInfo>> {
        let session = cx.server.sessions.create(
            cx.client.id,
            cx.server.new_owner(),
            self.ttl_ms.map_or(USUAL, Ranged::milliseconds),
            self.description.unwrap_or_default(),
            self.variables,
        )?;
        Ok(Data(SessionInfo::of(cx, &session, true)))
    }
}

/// Show a session: what it holds, its applications and variables. Without a name, the client's own.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetSession {
    /// s1, or sessions/s1.
    pub session: Option<String>,
}

/// Other names of the parameter that says which session.
const NAMES: &[(&str, &str)] = &[("name", "session"), ("session_id", "session"), ("id", "session")];

impl Tool for GetSession {
    const NAME: &'static str = "get_session";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::SessionNotFound];
    const ALIASES: &'static [(&'static str, &'static str)] = NAMES;
    const GROUP: Group = Group::Sessions;
    type Output = Data<SessionInfo>;

    fn call(self, cx: &Context) -> Result<Data<SessionInfo>> {
        let session = cx.server.sessions.enter(&cx.client.session, self.session.as_deref())?;
        Ok(Data(SessionInfo::of(cx, &session, true)))
    }
}

/// List this client's sessions, its own first.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListSessions {
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// Sessions.
#[derive(Serialize, JsonSchema)]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl Tool for ListSessions {
    const NAME: &'static str = "list_sessions";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Sessions;
    type Output = Data<SessionList>;

    fn call(self, cx: &Context) -> Result<Data<SessionList>> {
        let mut all: Vec<Arc<Session>> = vec![cx.client.session.clone()];
        all.extend(cx.server.sessions.of(cx.client.id));
        let size = self.page_size.map_or(100, Ranged::get);
        let (sessions, next_page_token) = page(all, Some(size), self.page_token.as_deref())?;
        let sessions = sessions.iter().map(|session| SessionInfo::of(cx, session, false)).collect();
        Ok(Data(SessionList { sessions, next_page_token }))
    }
}

/// End a session: what it holds is let go of, its variables are forgotten, its recording is discarded. Its
/// applications go on running.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSession {
    /// s1, or sessions/s1.
    pub session: String,
}

/// What ended with a session.
#[derive(Serialize, JsonSchema)]
pub struct Ended {
    /// The session.
    pub session: String,
    /// What it held and was let go of.
    pub released: Vec<String>,
    /// How many variables are forgotten.
    pub variables: usize,
    /// How many observations were cancelled.
    pub observations: usize,
    /// How many applications are no longer tracked.
    pub applications: usize,
    /// Whether a recording was discarded.
    pub recording: bool,
}

impl Tool for DeleteSession {
    const NAME: &'static str = "delete_session";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[Code::SessionNotFound, Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] = NAMES;
    const GROUP: Group = Group::Sessions;
    type Output = Data<Ended>;

    fn call(self, cx: &Context) -> Result<Data<Ended>> {
        let session = cx.server.sessions.enter(&cx.client.session, Some(&self.session))?;
        if session.ttl.is_none() {
            return Err(Error::argument(
                "A client's own session cannot be deleted: it ends with the client.",
            )
            .remedy(
                "Let go with left_mouse_up or hold_key with release; delete_application stops tracking.",
            ));
        }
        let mut released = Vec::new();
        let held = cx.desktop.holds().of(session.owner);
        if !held.is_empty() {
            let mut hands = cx.desktop.input(&cx.call)?;
            for held in held.into_iter().rev() {
                if hands.take_back(held)? {
                    released.push(name_of(held));
                }
            }
        }
        let observations = cx.server.observations.of(Owner::Client(session.owner)).len();
        let state = session.state();
        let ended = Ended {
            session: session.name.clone(),
            released,
            variables: state.variables.len(),
            observations,
            applications: state.applications.len(),
            recording: state.recording.is_some(),
        };
        drop(state);
        cx.server.sessions.remove(&session);
        Ok(Data(ended))
    }
}
