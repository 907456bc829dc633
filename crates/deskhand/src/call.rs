//! The one path that every request takes: name and JSON in, a reply and one log line out.

use crate::arguments;
use crate::consent::{self, Ask};
use crate::encode;
use crate::images::Images;
use crate::log;
use crate::macros::Macros;
use crate::metrics::Metrics;
use crate::notices::Notices;
use crate::observations::Observations;
use crate::policy::Policy;
use crate::refs::Refs;
use crate::sessions::{Session, Sessions};
use crate::snapshot::Snapshots;
use crate::tool::{Bound, Effect, Group, Reply, Row, Tool};
use crate::tools;
use deskhand_core::call::Cancellation;
use deskhand_core::lane::{ClientId, Ticket};
use deskhand_core::{Call, Code, Desktop, Error, Guards, Result};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How Deskhand was started.
#[derive(Clone, Debug)]
pub struct Config {
    /// What may be listed and called.
    pub policy: Policy,
    /// The time limit of a call that names none.
    pub timeout: Duration,
    /// The time limit of pointer and keyboard calls that name none.
    pub input_timeout: Duration,
    /// Folders that files may be written to.
    pub write_folders: Vec<PathBuf>,
    /// How long a change waits for its consequence to show.
    pub settle: Duration,
    /// How long a window manager gets to do what it was asked.
    pub window_patience: Duration,
    /// What stands between calls and the person's desktop.
    pub guards: Guards,
    /// How long the person gets to answer when they are asked for their consent.
    pub consent_patience: Duration,
    /// Tools beside those of the table, for programs that have Deskhand as a library.
    pub tools: &'static [Row],
}

impl Default for Config {
    fn default() -> Config {
        Config {
            policy: Policy::default(),
            timeout: Duration::from_secs(10),
            input_timeout: Duration::from_secs(5),
            write_folders: std::env::current_dir().ok().into_iter().chain([std::env::temp_dir()]).collect(),
            settle: Duration::from_millis(100),
            window_patience: Duration::from_millis(2000),
            guards: Guards::default(),
            consent_patience: consent::PATIENCE,
            tools: &[],
        }
    }
}

/// Everything that calls share.
pub struct Server {
    /// The desktop that is seen and worked.
    pub desktop: Arc<Desktop>,
    /// How Deskhand was started.
    pub config: Config,
    /// The numbers that elements were shown under.
    pub refs: Arc<Refs>,
    /// The pictures that were returned, for coordinates taken from them.
    pub images: Images,
    /// The readings of elements that were returned.
    pub snapshots: Snapshots,
    /// The sessions of all clients.
    pub sessions: Arc<Sessions>,
    /// The macros that are known.
    pub macros: Macros,
    /// The notifications that are known.
    pub notices: Notices,
    /// What is observed, for whom.
    pub observations: Arc<Observations>,
    /// What was called how often.
    pub metrics: Metrics,
    clients: AtomicUsize,
    next_client: AtomicU64,
    next_call: AtomicU64,
    places: Semaphore,
}

/// How many calls run at once. Each holds a thread while it runs or waits for its turn; the rest wait in
/// the order of their arrival, so that a call can never wait for one that is behind it.
pub const MOST_AT_ONCE: usize = 64;

/// Somebody who calls: a connection, or the command line. When it goes, what it holds is let go of.
pub struct Client {
    /// Its number, for the order of its own calls.
    pub id: ClientId,
    /// What it calls itself.
    pub name: Mutex<String>,
    /// The session that it has anyway.
    pub session: Arc<Session>,
    /// How the person behind it is asked, if they can be; a call may know a nearer way.
    pub asker: Mutex<Option<Arc<dyn Ask>>>,
    server: Arc<Server>,
    outbox: Mutex<Option<Arc<dyn Outbox>>>,
    /// The groups that are listed for it besides its profile.
    more: Mutex<BTreeSet<Group>>,
}

/// The way to a client for what it has not asked for. A transport that has one gives it to its clients.
pub trait Outbox: Send + Sync {
    /// Sends a notification; where nobody reads, it may be left out.
    fn notify(&self, method: &str, params: Value);
}

impl Client {
    /// From now on it can be told something.
    pub fn reach(&self, outbox: Arc<dyn Outbox>) {
        *self.outbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(outbox);
    }

    /// Tells it something, where there is a way to.
    pub fn tell(&self, method: &str, params: Value) {
        let outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(outbox) = outbox {
            outbox.notify(method, params);
        }
    }

    /// Lists these groups as well from now on. Whether that changes anything.
    pub fn list_more(&self, groups: &[Group]) -> bool {
        let mut more = self.more.lock().unwrap_or_else(PoisonError::into_inner);
        let before = more.len();
        more.extend(groups);
        before < more.len()
    }

    /// The groups that are listed for it besides its profile.
    pub fn listed_more(&self) -> BTreeSet<Group> {
        self.more.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets go of what it holds and ends what was begun for it: it has gone.
    pub fn leave(&self) {
        self.server.sessions.leave(&self.session);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.clients.fetch_sub(1, Ordering::Relaxed);
        self.leave();
    }
}

/// Tells a client how far one of its calls has come: it asked for that with a token.
#[derive(Clone)]
pub struct Progress {
    /// What it knows the call by.
    pub token: Value,
    /// The way to it.
    pub outbox: Arc<dyn Outbox>,
    /// How much was reported last.
    pub last: Arc<AtomicU64>,
}

impl Progress {
    /// So much of the total is done. What is reported grows also where several parts of a call report.
    pub fn report(&self, done: u64, total: u64, message: &str) {
        let done = done.max(self.last.load(Ordering::Relaxed) + 1);
        self.last.store(done, Ordering::Relaxed);
        let total = total.max(done);
        let params =
            json!({ "progressToken": self.token, "progress": done, "total": total, "message": message });
        self.outbox.notify("notifications/progress", params);
    }
}

/// A call whose place in the order is fixed, ready to run.
pub struct Prepared {
    row: &'static Row,
    bound: Result<Bound>,
    /// As the log shows them.
    arguments: Value,
    /// As the person sees them who is asked for consent.
    asked: Value,
    call: Call,
    client: Arc<Client>,
    correlation: String,
    /// The client's own earlier change that a read has to follow.
    follow: Option<u64>,
    progress: Option<Progress>,
    asker: Option<Arc<dyn Ask>>,
}

impl Prepared {
    /// The person is asked in the course of this call, and not in the way that the client has in general.
    pub fn with_asker(self, asker: Arc<dyn Ask>) -> Prepared {
        Prepared { asker: Some(asker), ..self }
    }

    /// The client wants to know how far it has come.
    pub fn with_progress(self, progress: Progress) -> Prepared {
        Prepared { progress: Some(progress), ..self }
    }

    /// Whether its arguments are those that the tool takes.
    pub fn fits(&self) -> bool {
        self.bound.is_ok()
    }

    /// Calls it off.
    pub fn cancellation(&self) -> Cancellation {
        self.call.cancellation().clone()
    }
}

/// What a tool sees of its call.
pub struct Context<'a> {
    /// What calls share.
    pub server: &'a Server,
    /// The desktop.
    pub desktop: &'a Arc<Desktop>,
    /// Deadline, cancellation and place in the lane.
    pub call: Call,
    /// Who calls.
    pub client: &'a Arc<Client>,
    /// What owns what this call leaves behind.
    pub session: &'a Arc<Session>,
    /// Identifies the call in the log.
    pub correlation: String,
    /// How to tell the client how far it has come, if it wants to know.
    pub progress: Option<Progress>,
    /// How the person is asked in the course of this call.
    asker: Option<Arc<dyn Ask>>,
    /// The arguments, where the person may be asked about them.
    asked: Value,
    /// The rules by which the person was asked about this call, and agreed.
    agreed: Mutex<Vec<String>>,
}

impl Server {
    /// A server for a desktop.
    pub fn new(desktop: Arc<Desktop>, config: Config) -> Arc<Server> {
        let desktop = desktop.guarded(&config.guards);
        let observations = Arc::new(Observations::default());
        Arc::new(Server {
            sessions: Sessions::new(desktop.clone(), observations.clone()),
            macros: Macros::default(),
            desktop,
            config,
            refs: Arc::default(),
            images: Images::default(),
            snapshots: Snapshots::default(),
            notices: Notices::default(),
            observations,
            metrics: Metrics::default(),
            clients: AtomicUsize::new(0),
            next_client: AtomicU64::new(1),
            next_call: AtomicU64::new(1),
            places: Semaphore::new(MOST_AT_ONCE),
        })
    }

    /// A new client.
    pub fn client(self: &Arc<Server>, name: impl Into<String>) -> Arc<Client> {
        let id = self.new_owner();
        self.clients.fetch_add(1, Ordering::Relaxed);
        Arc::new(Client {
            id,
            session: Session::own(id),
            name: Mutex::new(name.into()),
            asker: Mutex::new(None),
            server: self.clone(),
            outbox: Mutex::default(),
            more: Mutex::default(),
        })
    }

    /// A number for somebody who owns something: no client and no session has it.
    pub fn new_owner(&self) -> ClientId {
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Fixes a call's place in the order: called in the order in which requests arrive. `None` when no
    /// tool has this name. Wrong arguments are found here and told when the call runs.
    pub fn prepare(
        &self,
        client: &Arc<Client>,
        name: &str,
        arguments: Value,
        correlation: Option<String>,
    ) -> Option<Prepared> {
        let (row, arguments) = self.find(name, arguments)?;
        let number = self.next_call.fetch_add(1, Ordering::Relaxed);
        let correlation = correlation.unwrap_or_else(|| format!("c{}-{number}", client.id));
        let (bound, arguments, asked) = self.bind(row, arguments);
        let (effect, patience) =
            bound.as_ref().map_or((Effect::Read, Duration::ZERO), |bound| (bound.effect, bound.patience));
        let timeout = match bound.as_ref().ok().and_then(|bound| bound.timeout) {
            Some(timeout) => timeout,
            None if effect == Effect::Input => self.config.input_timeout + patience,
            None => self.config.timeout + patience,
        };
        let mut call = Call::with_timeout(timeout);
        let mut follow = None;
        if effect.takes_lane() {
            call = call.with_ticket(self.desktop.lane.draw(client.id));
        } else {
            follow = self.desktop.lane.last_of(client.id);
        }
        Some(Prepared {
            row,
            bound,
            arguments,
            asked,
            call,
            client: client.clone(),
            correlation,
            follow,
            progress: None,
            asker: None,
        })
    }

    /// Whether a tool has this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name, Value::Null).is_some()
    }

    /// The tool that a name stands for, with its arguments as the tool takes them.
    fn find(&self, name: &str, arguments: Value) -> Option<(&'static Row, Value)> {
        match self.config.tools.iter().find(|row| row.name == name) {
            Some(row) => Some((row, arguments)),
            None => tools::find(name, arguments),
        }
    }

    /// Runs a call on a thread that may block. Has to be polled first in the order of [`Server::prepare`].
    pub async fn answer(self: &Arc<Server>, prepared: Prepared) -> Result<Reply> {
        self.answer_as(prepared, std::convert::identity).await
    }

    /// Runs a call on a thread that may block, and encodes what came of it there too: the encoding of a
    /// big picture holds up nobody.
    pub async fn answer_as<T: Send + 'static>(
        self: &Arc<Server>,
        prepared: Prepared,
        encode: impl Fn(Result<Reply>) -> T + Clone + Send + 'static,
    ) -> T {
        let deadline = tokio::time::Instant::from_std(prepared.call.deadline());
        let place = tokio::time::timeout_at(deadline, self.places.acquire()).await;
        let too_many = || {
            Error::new(Code::Busy, format!("{MOST_AT_ONCE} other calls were running all the while."))
                .remedy("Wait for their replies, or pass a larger timeout_ms.")
        };
        let (server, encode_there) = (self.clone(), encode.clone());
        let refusal = place.is_err().then(too_many);
        tokio::task::spawn_blocking(move || encode_there(server.run_unless(refusal, prepared)))
            .await
            .unwrap_or_else(|error| {
                // A tool's own panic is caught where it runs: only encoding can end up here.
                let message = "A defect in Deskhand lost the reply to this call.";
                encode(Err(Error::new(Code::Internal, message).os(error)))
            })
    }

    /// Runs a call to its end on this thread, and logs it. A panic becomes one failed call.
    pub fn run(&self, prepared: Prepared) -> Result<Reply> {
        self.run_unless(None, prepared)
    }

    fn run_unless(&self, refusal: Option<Error>, prepared: Prepared) -> Result<Reply> {
        let Prepared { row, bound, arguments, asked, call, client, correlation, follow, progress, asker } =
            prepared;
        let started = Instant::now();
        let effect = bound.as_ref().map_or(row.effect, |bound| bound.effect);
        let session = bound.as_ref().ok().and_then(|bound| bound.session.as_deref());
        let (refusal, in_use) = match self.sessions.enter(&client.session, session) {
            Ok(in_use) => (refusal, in_use),
            Err(error) => (Some(error), self.sessions.used(&client.session)),
        };
        let cx = Context {
            server: self,
            desktop: &self.desktop,
            call,
            client: &client,
            session: &in_use,
            correlation,
            progress,
            asker,
            asked,
            agreed: Mutex::default(),
        };
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
            if let Some(refusal) = refusal {
                return Err(refusal);
            }
            let bound = bound?;
            if let Some(number) = follow {
                self.desktop.lane.follow(&cx.call, client.id, number)?;
            }
            cx.enter(row, bound)
        }))
        .unwrap_or_else(|panic| Err(panicked(row, &*panic)))
        .map_err(|error| row.shape(&arguments, cx.told_apart(error)));
        self.log(&cx, row, effect, &arguments, started, &result);
        drop(cx);
        if result.as_ref().is_err_and(|error| error.code == Code::PausedByUser) {
            // The person has the desktop now: nothing that was held across calls stays in their way.
            self.desktop.release_client(in_use.owner);
        }
        result
    }

    /// Binds arguments, and says how the log shows them, and the person who is asked: under our names, so that
    /// secrets are known by theirs.
    fn bind(&self, row: &Row, arguments: Value) -> (Result<Bound>, Value, Value) {
        match arguments::rewrite(row, arguments) {
            Ok(arguments) => {
                let mut secret = row.secret.to_vec();
                let known = &row.input_schema()["properties"];
                let names = arguments.as_object().into_iter().flat_map(|object| object.keys());
                // What a tool with secrets does not know may be a secret under a misspelled name.
                secret.extend(
                    names
                        .map(String::as_str)
                        .filter(|name| !row.secret.is_empty() && known.get(name).is_none()),
                );
                let shown = log::redact(&arguments, &secret);
                // Who is to agree has to see all of it.
                let asks = !self.config.policy.confirm.is_empty();
                let asked = if asks { arguments.clone() } else { Value::Null };
                (row.bind_rewritten(arguments), shown, asked)
            }
            Err(error) => (Err(error), Value::Null, Value::Null),
        }
    }

    fn log(
        &self,
        cx: &Context,
        row: &Row,
        effect: Effect,
        arguments: &Value,
        started: Instant,
        result: &Result<Reply>,
    ) {
        let error = result.as_ref().err();
        self.metrics.record(row.name, error.map_or("ok", |error| error.code.name()), started.elapsed());
        let said = |names: &[&str]| match result {
            Ok(Reply::Data(data)) => names.iter().find_map(|name| data.get(name)).cloned(),
            _ => None,
        };
        let internal = error.filter(|error| matches!(error.code, Code::Internal | Code::Backend));
        // What is wrong with a value is told to the caller, perhaps with the value: a secret stays out of the log.
        let told = error.filter(|error| row.secret.is_empty() || error.code != Code::InvalidArgument);
        log::line(
            if internal.is_some() { "error" } else { "info" },
            "call",
            json!({
                "correlation": cx.correlation,
                "client": cx.client.id,
                "tool": row.name,
                // For tools that do several things.
                "action": arguments.get("action"),
                "effect": effect,
                "arguments": arguments,
                "outcome": if error.is_none() { "ok" } else { "error" },
                "evidence": said(&["effect"]),
                // Where the pointer was left, on the desktop or on the monitor.
                "pointer": said(&["pointer", "final_position"]),
                "monitor": said(&["monitorIndex"]),
                "code": error.map(|error| error.code),
                "error_code": error.and_then(encode::shown).map(|shown| &shown["error_code"]),
                "message": told.map(|error| &error.message),
                "os": internal.and_then(|error| error.detail.os.as_ref()),
                "duration_ms": (started.elapsed().as_secs_f64() * 100_000.0).round() / 100.0,
            }),
        );
    }
}

impl Context<'_> {
    /// Calls another tool as a part of this call: the gate, the remaining time and the place in the lane
    /// are the same.
    pub fn call<T: Tool>(&self, tool: T) -> Result<T::Output> {
        let row = tools::row(T::NAME)
            .ok_or_else(|| Error::new(Code::Internal, "A tool is missing from the table."))?;
        self.gate(row, tool.effect())?;
        if tool.effect().takes_lane() {
            self.desktop.enter(&self.call)?;
        }
        tool.call(self)
    }

    /// Calls a tool by name as a part of this call, and logs it as a line of its own. `within` is its
    /// time limit, at most what is left.
    pub fn call_by_name(&self, name: &str, arguments: Value, place: usize) -> Result<Reply> {
        let started = Instant::now();
        let (row, arguments) = self.server.find(name, arguments).ok_or_else(|| unknown_tool(name))?;
        let (bound, arguments, asked) = self.server.bind(row, arguments);
        let effect = bound.as_ref().map_or(row.effect, |bound| bound.effect);
        let session = bound.as_ref().ok().and_then(|bound| bound.session.clone());
        let other = session.map(|name| self.server.sessions.enter(&self.client.session, Some(&name)));
        let (bound, other) = match other.transpose() {
            Ok(other) => (bound, other),
            Err(error) => (Err(error), None),
        };
        let mut call = self.call.clone();
        if let Some(timeout) = bound.as_ref().ok().and_then(|bound| bound.timeout) {
            call = call.within(timeout);
        }
        let cx = Context {
            server: self.server,
            desktop: self.desktop,
            call,
            client: self.client,
            session: other.as_deref().unwrap_or(self.session),
            correlation: format!("{}.{place}", self.correlation),
            progress: self.progress.clone(),
            asker: self.asker.clone(),
            asked,
            // A person who agreed to the whole has not seen what each part comes to.
            agreed: Mutex::default(),
        };
        let result = bound
            .and_then(|bound| cx.enter(row, bound))
            .map_err(|error| row.shape(&arguments, cx.told_apart(error)));
        self.server.log(&cx, row, effect, &arguments, started, &result);
        result
    }

    fn enter(&self, row: &Row, bound: Bound) -> Result<Reply> {
        self.gate(row, bound.effect)?;
        if bound.effect.takes_lane() {
            self.desktop.enter(&self.call)?;
        }
        (bound.run)(self)
    }

    /// The gate: whether the configuration allows it, and the person where they want to be asked. Others go on
    /// meanwhile.
    fn gate(&self, row: &Row, effect: Effect) -> Result<()> {
        let config = &self.server.config;
        config.policy.check(row, effect)?;
        let Some(rule) = config.policy.asks(row, effect) else { return Ok(()) };
        let agreed = || self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        if agreed().iter().any(|other| other == rule) {
            return Ok(());
        }
        let general = || self.client.asker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asker = self.asker.clone().or_else(general);
        self.aside(|| {
            let patience = config.consent_patience;
            consent::require(asker.as_deref(), &self.call, row, effect, rule, &self.asked, patience)
        })?;
        agreed().push(rule.to_owned());
        Ok(())
    }

    /// A call that the person has called off is told apart from one that its client has.
    fn told_apart(&self, error: Error) -> Error {
        if error.code == Code::Cancelled && self.call.cancellation().is_stopped() {
            return self.call.stopped("this call was being made");
        }
        error
    }

    /// Lets other calls act while this one merely waits.
    pub fn aside<T>(&self, wait: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(ticket) = self.call.ticket() {
            Ticket::step_aside(ticket);
        }
        wait()
    }
}

/// No tool has this name. Near names are offered.
pub fn unknown_tool(name: &str) -> Error {
    Error::argument(format!("There is no tool called {name:?}."))
        .found(deskhand_core::near::near(name, tools::names()))
        .remedy("List the tools for their names.")
}

fn panicked(row: &Row, panic: &(dyn std::any::Any + Send)) -> Error {
    Error::new(Code::Internal, format!("A defect in Deskhand ended this call of {}; others go on.", row.name))
        .os(log::panic_text(panic))
        .remedy("Please report it with the log line of this call.")
}
