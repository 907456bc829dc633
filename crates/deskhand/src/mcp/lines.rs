//! MCP messages as lines of JSON, over anything that reads and writes bytes.
//!
//! rmcp's own line reader is silent to garbage, answers batches without an id and stops at a notification
//! that comes early. This one answers everything that may expect an answer. It is also where a call gets
//! its place in the order, the moment its line is read, and where ids are kept: rmcp sees numbers of ours,
//! so that an id that is used twice, or is a fraction, is still answered once for each request.
//!
//! What a message means is [`Intake`]'s and where its answer goes is [`Wire`]'s: HTTP ([`super::posts`]) has both
//! and other ways in and out.
//!
//! It knows nothing of tools beyond `Server::prepare`, and nothing of files and pipes.

use super::Options;
use crate::call::{Client, Outbox, Prepared, Progress, Server, unknown_tool};
use crate::consent::{Answer, Ask};
use crate::encode;
use crate::line::Line;
use crate::log;
use crate::profiles::Profile;
use crate::tool::Reply;
use deskhand_core::call::Cancellation;
use deskhand_core::{Call, Error, Result};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetExtensions, GetMeta,
    InitializedNotification, JsonRpcMessage, MetaObject, ProtocolVersion, RequestId, RequestMetaObject,
    ServerJsonRpcMessage, ServerNotification, ServerResult, SubscriptionFilter,
};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

/// The longest line that is taken, unless the configuration says otherwise.
pub const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// How many requests may be unanswered before no more are read. The client feels it as a full pipe.
const MOST_UNANSWERED: usize = 1024;

/// How many bytes may wait to be written before no more requests are read.
const MOST_UNSENT: usize = 64 * 1024 * 1024;

/// How many bytes may wait to be written before notifications are left out.
const MOST_UNREAD: usize = 1024 * 1024;

/// How long calls may go on after the client has closed its end, and again after they were called off.
const GRACE: Duration = Duration::from_millis(800);
const LAST_GRACE: Duration = Duration::from_millis(300);

/// The reading end: a transport for rmcp.
pub struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    longest: usize,
    /// The rest of a line that was too long is dropped.
    skipping: bool,
    /// What is left of the batch that was read last.
    waiting: VecDeque<(Value, Place)>,
    /// When reading ended, and whether the calls were called off since.
    ended: Option<(Instant, bool)>,
    wire: Arc<Wire>,
    intake: Intake,
}

/// What makes messages of values, and gives calls their places in the order.
pub struct Intake {
    profile: Profile,
    /// Whether the handler has more tools than the table.
    around: bool,
    wire: Arc<Wire>,
    server: Arc<Server>,
    client: Arc<Client>,
}

/// The writing end, with everything that is still to be answered.
pub struct Wire {
    open: Mutex<Open>,
    out: Out,
    unsent: AtomicUsize,
    /// An answer went out, so there is room again, or nothing is left to wait for.
    moved: Notify,
    end: watch::Sender<End>,
    /// Nothing more is waited for, although something may hang.
    drained: watch::Sender<bool>,
}

/// Where what is sent goes.
pub enum Out {
    /// One line after the other.
    Lines(mpsc::UnboundedSender<Option<Line>>),
    /// To whatever the message came by.
    Exchanges(Arc<dyn Exchanges>),
}

/// The ways that messages came by, each of which takes the answers to its own.
pub trait Exchanges: Send + Sync {
    /// One of the messages that came by this way is done with, with this reply if it gets one.
    fn done(&self, exchange: u64, reply: Option<Line>);
    /// Something that the client is told: in the course of a call that came by this way, or of none (0).
    fn told(&self, exchange: u64, message: Line);
}

/// Why reading ends before the client has closed its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It does not.
    Not,
    /// The client said `exit`.
    Exit,
    /// The process was told to stop, or nobody reads what is written.
    Stop,
}

#[derive(Default)]
struct Open {
    last: i64,
    requests: HashMap<i64, Request>,
    batches: HashMap<u64, Gathering>,
    last_batch: u64,
    /// The negotiated version, or nothing before `initialize`.
    version: Option<&'static str>,
    /// The client names its version with each request: it is told of changes only where it listens.
    listens: bool,
    /// Whether the client can put a form before its user.
    forms: bool,
    /// What was asked of the client and is not answered yet.
    questions: HashMap<String, std::sync::mpsc::Sender<Value>>,
    last_question: u64,
}

/// A request that is not answered yet.
struct Request {
    /// Its id as JSON, as the client wrote it.
    id: String,
    place: Place,
    cancellation: Option<Cancellation>,
    /// What its client is told of as long as it is open, if it listens.
    listening: Option<SubscriptionFilter>,
}

/// Where a reply belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The batch whose answer it is a part of; replies outside any have lines of their own.
    batch: Option<u64>,
    /// The way that its request came by.
    pub exchange: u64,
}

impl Place {
    /// The way by which a message came.
    pub fn of(exchange: u64) -> Place {
        Place { batch: None, exchange }
    }
}

/// The way to a client in the course of one call.
#[derive(Clone)]
pub struct Course {
    wire: Arc<Wire>,
    exchange: u64,
}

impl Course {
    /// Asks the client something: what the question is called, and where its answer comes, with a `result` or an
    /// `error`.
    pub fn ask(&self, method: &str, params: &Value) -> (String, std::sync::mpsc::Receiver<Value>) {
        self.wire.ask(self.exchange, method, params)
    }
}

impl Outbox for Course {
    fn notify(&self, method: &str, params: Value) {
        self.wire.tell(self.exchange, method, &params);
    }
}

#[derive(Default)]
struct Gathering {
    left: usize,
    replies: Vec<Line>,
}

/// A prepared call on its way through rmcp, and where its reply goes.
#[derive(Clone)]
pub struct Slot(Arc<(i64, Mutex<Option<Prepared>>, Arc<Wire>)>);

impl Slot {
    /// The call, the first time.
    pub fn take(&self) -> Option<Prepared> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sends the reply. It does not pass through rmcp again: a picture would be copied several times.
    pub fn answer(&self, result: &Result<Reply>, typed: bool) {
        let (number, _, wire) = &*self.0;
        wire.answer(*number, "result", |line| encode::write_mcp(line, result, typed));
    }
}

/// Starts writing to `output` and makes the transport that reads `input`.
pub fn open<R, W>(
    server: Arc<Server>,
    client: Arc<Client>,
    input: R,
    output: W,
    options: &Options,
) -> (Lines<R>, Arc<Wire>, tokio::task::JoinHandle<()>)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (sender, receiver) = mpsc::unbounded_channel();
    let wire = Wire::new(Out::Lines(sender));
    let writing = tokio::spawn(write(output, receiver, wire.clone()));
    client.reach(wire.clone());
    let lines = Lines {
        input: BufReader::with_capacity(64 * 1024, input),
        line: Vec::new(),
        longest: options.longest_line,
        skipping: false,
        waiting: VecDeque::new(),
        ended: None,
        wire: wire.clone(),
        intake: Intake::new(options, wire.clone(), server, client),
    };
    (lines, wire, writing)
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for Lines<R> {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.wire.send(message);
        std::future::ready(Ok(()))
    }

    /// The next message. May be dropped at any await and called again: nothing is lost.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            while !self.wire.has_room() && self.ended.is_none() {
                let mut end = self.wire.end.subscribe();
                tokio::select! {
                    () = self.wire.moved.notified() => {}
                    _ = end.wait_for(|end| *end == End::Stop) => self.end(true),
                }
            }
            if let Some((value, place)) = self.waiting.pop_front() {
                if let Some(message) = self.intake.message(value, place) {
                    return Some(message);
                }
                continue;
            }
            if self.ended.is_some() {
                self.drain().await;
                self.wire.drained.send_replace(true);
                return None;
            }
            let mut end = self.wire.end.subscribe();
            tokio::select! {
                biased;
                Ok(end) = end.wait_for(|end| *end != End::Not) => {
                    let stop = *end == End::Stop;
                    self.end(stop);
                }
                read = self.read_line() => match read {
                    Read::Line => {
                        let line = std::mem::take(&mut self.line);
                        self.take_line(&line);
                        self.line = line;
                        self.line.clear();
                    }
                    Read::TooLong => self.too_long(),
                    Read::End => self.end(false),
                },
            }
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

enum Read {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads up to the next line's end into `self.line`.
    async fn read_line(&mut self) -> Read {
        loop {
            let chunk = match self.input.fill_buf().await {
                Ok(chunk) => chunk,
                Err(error) => {
                    log::line("warn", "input_failed", json!({ "os": error.to_string() }));
                    &[]
                }
            };
            if chunk.is_empty() {
                // The last line may lack its line end.
                return if self.line.is_empty() || self.skipping { Read::End } else { Read::Line };
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            let room = self.longest.saturating_sub(self.line.len());
            let too_long = !self.skipping && room < end.unwrap_or(chunk.len());
            if !self.skipping {
                self.line.extend_from_slice(&chunk[..taken.min(room + 1)]);
            }
            self.input.consume(taken);
            let was_skipping = self.skipping;
            self.skipping = (was_skipping || too_long) && end.is_none();
            if too_long {
                return Read::TooLong;
            }
            if end.is_some() && !was_skipping {
                return Read::Line;
            }
        }
    }

    fn end(&mut self, now: bool) {
        if now {
            self.wire.cancel_all();
            self.waiting.clear();
        }
        self.wire.end_listening();
        self.ended = Some((Instant::now(), now));
    }

    /// Waits until everything is answered, for a bounded time.
    async fn drain(&mut self) {
        while let Some((since, called_off)) = self.ended
            && !self.wire.is_idle()
        {
            let mut end = self.wire.end.subscribe();
            let grace = if called_off { LAST_GRACE } else { GRACE };
            tokio::select! {
                () = self.wire.moved.notified() => {}
                _ = end.wait_for(|end| *end == End::Stop), if !called_off => self.end(true),
                () = tokio::time::sleep_until(since + grace) => {
                    if called_off {
                        return;
                    }
                    self.end(true);
                }
            }
        }
    }

    fn too_long(&mut self) {
        let id = self::head_id(&self.line);
        self.line = Vec::new();
        let message =
            format!("The line is longer than {} bytes, which is the most that is taken.", self.longest);
        self.wire.refuse(id.as_ref(), Place::default(), ErrorCode::INVALID_REQUEST, &message, None);
    }

    fn take_line(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Array(items)) if items.is_empty() => {
                let none = Place::default();
                self.wire.refuse(None, none, ErrorCode::INVALID_REQUEST, "The batch is empty.", None);
            }
            Ok(Value::Array(items)) => {
                let place = Place { batch: self.wire.gather(items.len()), exchange: 0 };
                self.waiting.extend(items.into_iter().map(|item| (item, place)));
            }
            Ok(value) => self.waiting.push_back((value, Place::default())),
            Err(error) => {
                let reason = match std::str::from_utf8(line) {
                    Ok(_) => format!("The line is not JSON: {error}."),
                    Err(error) => format!("The line is not UTF-8: {error}."),
                };
                self.wire.refuse(None, Place::default(), ErrorCode::PARSE_ERROR, &reason, None);
            }
        }
    }
}

impl Intake {
    /// For one client.
    pub fn new(options: &Options, wire: Arc<Wire>, server: Arc<Server>, client: Arc<Client>) -> Intake {
        Intake { profile: options.profile, around: options.around.is_some(), wire, server, client }
    }

    /// One JSON-RPC message, as rmcp takes it; nothing when it is answered already or needs no answer.
    pub fn message(&self, value: Value, place: Place) -> Option<ClientJsonRpcMessage> {
        let invalid = |id: Option<&Value>, message: &str| {
            self.wire.refuse(id, place, ErrorCode::INVALID_REQUEST, message, None);
            None
        };
        let Value::Object(mut object) = value else {
            return invalid(None, "A message has to be a JSON object.");
        };
        let id = object.remove("id");
        let is_request = id.is_some();
        let id = id.filter(|id| id.is_string() || id.is_number());
        let usable = id.as_ref();
        let method = match object.remove("method") {
            Some(Value::String(method)) => method,
            Some(_) => return invalid(usable, "The method has to be a string."),
            None if object.contains_key("result") || object.contains_key("error") => {
                // An answer: to a question of ours, or to nothing that waits for it.
                if let Some(id) = id.as_ref().and_then(Value::as_str) {
                    self.wire.answered(id, object);
                }
                self.wire.unanswered(place);
                return None;
            }
            None => return invalid(usable, "The message has no method."),
        };
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return invalid(usable, "The member jsonrpc has to be \"2.0\".");
        }
        let params = match object.remove("params") {
            None | Some(Value::Null) => None,
            Some(Value::Object(params)) => Some(params),
            Some(_) if !is_request => {
                self.wire.unanswered(place);
                return None;
            }
            Some(_) => {
                let message = "The params have to be an object.";
                self.wire.refuse(usable, place, ErrorCode::INVALID_PARAMS, message, None);
                return None;
            }
        };
        match id {
            Some(id) => self.request(&id, place, method, params),
            None if is_request => invalid(None, "The id has to be a string or a number."),
            None => {
                self.wire.unanswered(place);
                self.notification(&method, params)
            }
        }
    }

    fn notification(&self, method: &str, params: Option<Map<String, Value>>) -> Option<ClientJsonRpcMessage> {
        let notification: ClientNotification = match method {
            "notifications/initialized" => InitializedNotification::default().into(),
            "notifications/cancelled" => {
                let number = self.wire.cancel(params?.get("requestId")?)?;
                let params = CancelledNotificationParam::new(Some(RequestId::Number(number)), None);
                CancelledNotification::new(params).into()
            }
            "exit" => {
                self.wire.finish(End::Exit);
                return None;
            }
            // What else a client tells is of no use here, and a notification is never answered.
            _ => return None,
        };
        Some(JsonRpcMessage::notification(notification))
    }

    /// Whether a call is of a tool that the table does not have: the handler may.
    fn foreign(&self, params: Option<&Map<String, Value>>) -> bool {
        let name = params.and_then(|params| params.get("name")?.as_str());
        self.around && name.is_some_and(|name| !self.server.has(name))
    }

    fn request(
        &self,
        id: &Value,
        place: Place,
        method: String,
        params: Option<Map<String, Value>>,
    ) -> Option<ClientJsonRpcMessage> {
        let refuse = |message: &str, data: Option<Value>| {
            self.wire.refuse(Some(id), place, ErrorCode::INVALID_PARAMS, message, data);
            None
        };
        if names_version(params.as_ref()) {
            self.wire.open().listens = true;
        }
        let course = Course { wire: self.wire.clone(), exchange: place.exchange };
        if method == "tools/call" && !self.foreign(params.as_ref()) {
            let mut params = params.unwrap_or_default();
            let Some(Value::String(name)) = params.remove("name") else {
                return refuse("The params have no name, a string: the tool to call.", None);
            };
            let arguments = params.remove("arguments").unwrap_or_default();
            if !arguments.is_null() && !arguments.is_object() {
                return refuse("The arguments have to be an object.", None);
            }
            let meta = match params.remove("_meta") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(meta)) => meta,
                Some(_) => return refuse("The member _meta has to be an object.", None),
            };
            let arguments = self.profile.adapt(&name, arguments);
            let Some(mut prepared) = self.server.prepare(&self.client, &name, arguments, None) else {
                let error = unknown_tool(&name);
                return refuse(&error.message, serde_json::to_value(&error.detail).ok());
            };
            if self.wire.open().forms {
                // Where the call came from, so that its client knows what the question is about.
                prepared = prepared.with_asker(Arc::new(Elicitation(course.clone())));
            }
            let token = meta.get("progressToken").filter(|token| token.is_string() || token.is_number());
            let prepared = match token.cloned() {
                Some(token) => {
                    prepared.with_progress(Progress { token, outbox: Arc::new(course), last: Arc::default() })
                }
                None => prepared,
            };
            let number = self.wire.await_answer(id, place, Some(prepared.cancellation()));
            let mut request = CallToolRequest::new(CallToolRequestParams::new(name));
            request.extensions.insert(Slot(Arc::new((
                number,
                Mutex::new(Some(prepared)),
                self.wire.clone(),
            ))));
            let mut request = ClientRequest::from(request);
            *request.get_meta_mut() = RequestMetaObject(MetaObject(meta));
            return Some(JsonRpcMessage::request(request, RequestId::Number(number)));
        }
        let cursor = params.as_ref().and_then(|params| params.get("cursor"));
        if cursor.is_some_and(|cursor| !cursor.is_string() && !cursor.is_null()) {
            // rmcp would list from the start, as if there were none.
            return refuse("The cursor has to be a string, as the page before returned it.", None);
        }
        let mut message = Map::new();
        message.insert("method".into(), Value::String(method.clone()));
        if method == "initialize" {
            let params = with_defaults(params.unwrap_or_default());
            self.wire.agree(&params);
            if let Some(name) = params["clientInfo"]["name"].as_str() {
                name.clone_into(&mut self.client.name.lock().unwrap_or_else(PoisonError::into_inner));
            }
            message.insert("params".into(), params);
        } else if let Some(params) = params {
            message.insert("params".into(), Value::Object(params));
        }
        if method == "exit" {
            self.wire.finish(End::Exit);
        }
        match serde_json::from_value::<ClientRequest>(Value::Object(message)) {
            Ok(mut request) => {
                // What lasts can be called off; the specification forbids it of `initialize`.
                let lasts = matches!(method.as_str(), "tools/call" | "subscriptions/listen");
                let number = self.wire.await_answer(id, place, lasts.then(Cancellation::default));
                request.extensions_mut().insert(course);
                Some(JsonRpcMessage::request(request, RequestId::Number(number)))
            }
            Err(error) => refuse(&format!("The params do not fit: {error}."), None),
        }
    }
}

/// An `initialize` with everything that clients leave out although the specification asks for it.
fn with_defaults(mut params: Map<String, Value>) -> Value {
    params.retain(|_, value| !value.is_null());
    params.entry("protocolVersion").or_insert(json!(ProtocolVersion::LATEST_WITH_INITIALIZE.as_str()));
    params.entry("capabilities").or_insert(json!({}));
    let info = params.entry("clientInfo").or_insert(json!({}));
    if let Some(info) = info.as_object_mut() {
        info.retain(|_, value| !value.is_null());
        info.entry("name").or_insert(json!("unknown"));
        info.entry("version").or_insert(json!("unknown"));
    }
    Value::Object(params)
}

/// The version that is agreed on with a client that wants this one.
pub fn agreed(wanted: &str) -> &'static str {
    let mut known = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|known| known.has_initialize());
    let found =
        known.find(|known| known.as_str() == wanted).unwrap_or(&ProtocolVersion::LATEST_WITH_INITIALIZE);
    found.as_str()
}

/// Whether a client can put a form before its user. Who names no mode means forms: there was nothing else at first.
fn asks_forms(params: &Value) -> bool {
    let modes = params.pointer("/capabilities/elicitation").and_then(Value::as_object);
    modes.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// Whether a request names the version that it speaks, as all do since there is no `initialize` any more.
fn names_version(params: Option<&Map<String, Value>>) -> bool {
    let named = params
        .and_then(|params| params.get("_meta")?.get("io.modelcontextprotocol/protocolVersion")?.as_str());
    named.is_some_and(|named| ProtocolVersion::LATEST_WITH_INITIALIZE.as_str() < named)
}

/// Asks the user of a client through `elicitation/create`.
struct Elicitation(Course);

impl Ask for Elicitation {
    fn ask(&self, call: &Call, question: &str) -> Result<Answer> {
        let (id, answers) = self.0.ask(
            "elicitation/create",
            &json!({
                "message": question,
                "requestedSchema": {
                    "type": "object",
                    "properties": { "allow": { "type": "boolean", "title": "Allow it" } },
                    "required": ["allow"],
                },
            }),
        );
        let answer = call.until("waiting for the person's answer", || Ok(answers.try_recv().ok()));
        let answer = answer.inspect_err(|error| self.0.wire.unask(self.0.exchange, &id, &error.message))?;
        let Some(result) = answer.get("result") else {
            let why =
                answer.pointer("/error/message").and_then(Value::as_str).unwrap_or("It did not say why.");
            return Err(Error::backend("The client did not put the question to its user.").os(why));
        };
        let allowed = result.pointer("/content/allow") == Some(&Value::Bool(true));
        Ok(match result.get("action").and_then(Value::as_str) {
            Some("accept") if allowed => Answer::Yes,
            Some("accept" | "decline") => Answer::No,
            _ => Answer::Dismissed,
        })
    }
}

/// The id of a request whose line is cut off, if it stands before the cut.
fn head_id(line: &[u8]) -> Option<Value> {
    struct Head<'a>(&'a mut Option<Value>);
    impl<'de> serde::de::Visitor<'de> for Head<'_> {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if key == "id" {
                    *self.0 = Some(map.next_value()?);
                } else {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }
    let mut id = None;
    // The line is cut off, so this always fails; what matters is what was found before.
    let _ =
        serde::Deserializer::deserialize_any(&mut serde_json::Deserializer::from_slice(line), Head(&mut id));
    id.filter(|id| id.is_string() || id.is_number())
}

impl Outbox for Wire {
    /// What nobody asked for is left out where nobody reads: it must not fill the memory.
    fn notify(&self, method: &str, params: Value) {
        if !self.open().listens {
            self.tell(0, method, &params);
            return;
        }
        if MOST_UNREAD < self.unsent.load(Ordering::Relaxed) {
            return;
        }
        let open = self.open();
        let heard =
            |request: &&Request| request.listening.as_ref().is_some_and(|to| hears(to, method, &params));
        for request in open.requests.values().filter(heard) {
            let mut params = params.clone();
            params["_meta"] = json!({ SUBSCRIPTION: request.client_id() });
            let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            self.put(&open, request.place.exchange, Line::from(message.to_string()));
        }
    }
}

/// Where a message says to which `subscriptions/listen` it belongs.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Whether who listens to this is told of a change.
fn hears(filter: &SubscriptionFilter, method: &str, params: &Value) -> bool {
    match method {
        "notifications/tools/list_changed" => filter.tools_list_changed == Some(true),
        "notifications/prompts/list_changed" => filter.prompts_list_changed == Some(true),
        "notifications/resources/list_changed" => filter.resources_list_changed == Some(true),
        "notifications/resources/updated" => {
            let addresses = filter.resource_subscriptions.iter().flatten();
            params["uri"].as_str().is_some_and(|uri| addresses.into_iter().any(|address| address == uri))
        }
        _ => false,
    }
}

impl Request {
    /// Its id, as the client wrote it.
    fn client_id(&self) -> Value {
        serde_json::from_str(&self.id).unwrap_or_default()
    }
}

impl Wire {
    /// With nothing to answer yet.
    pub fn new(out: Out) -> Arc<Wire> {
        Arc::new(Wire {
            open: Mutex::default(),
            out,
            unsent: AtomicUsize::new(0),
            moved: Notify::new(),
            end: watch::Sender::new(End::Not),
            drained: watch::Sender::new(false),
        })
    }

    fn tell(&self, exchange: u64, method: &str, params: &Value) {
        if MOST_UNREAD < self.unsent.load(Ordering::Relaxed) {
            return;
        }
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.put(&self.open(), exchange, Line::from(notification.to_string()));
    }

    /// Waits until there is room for more requests, or reading has to end.
    pub async fn room(&self) -> End {
        let mut end = self.end.subscribe();
        while !self.has_room() {
            tokio::select! {
                () = self.moved.notified() => {}
                Ok(end) = end.wait_for(|end| *end != End::Not) => return *end,
            }
        }
        *end.borrow_and_update()
    }

    /// Waits until reading has to end before the client has closed its end.
    pub async fn ended(&self) {
        let _ = self.end.subscribe().wait_for(|end| *end != End::Not).await;
    }

    /// Whether everything is answered that is to be answered by itself.
    pub fn is_idle(&self) -> bool {
        self.open().requests.values().all(|request| request.listening.is_some())
    }

    /// Tells those who listen that nothing more comes.
    pub fn end_listening(&self) {
        let open = self.open();
        let listening = open.requests.iter().filter(|(_, request)| request.listening.is_some());
        let listening: Vec<(i64, Value)> = listening.map(|(number, it)| (*number, it.client_id())).collect();
        drop(open);
        for (number, id) in listening {
            let result = json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: id } });
            self.answer(number, "result", |line| write_json(line.own(), &result));
        }
    }

    /// Ends reading now and calls off what runs.
    pub fn stop(&self) {
        self.finish(End::Stop);
    }

    /// Waits until reading has ended and what was read is answered, or its time is up.
    pub async fn drained(&self) {
        let _ = self.drained.subscribe().wait_for(|drained| *drained).await;
    }

    /// Ends writing once everything that was sent before is written.
    pub fn end_writing(&self) {
        if let Out::Lines(lines) = &self.out {
            let _ = lines.send(None);
        }
    }

    fn finish(&self, end: End) {
        self.end.send_if_modified(|current| {
            let later = *current < end;
            *current = end.max(*current);
            later
        });
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        self.open().requests.len() < MOST_UNANSWERED && self.unsent.load(Ordering::Relaxed) < MOST_UNSENT
    }

    /// Remembers a request, and gives it the number that rmcp knows it by.
    fn await_answer(&self, id: &Value, place: Place, cancellation: Option<Cancellation>) -> i64 {
        let mut open = self.open();
        open.last += 1;
        let number = open.last;
        open.requests.insert(number, Request { id: id.to_string(), place, cancellation, listening: None });
        number
    }

    /// The version that rmcp will agree on, known here first: it decides how the next line is answered.
    fn agree(&self, params: &Value) {
        let mut open = self.open();
        open.version = Some(agreed(params["protocolVersion"].as_str().unwrap_or_default()));
        open.listens = false;
        open.forms = asks_forms(params);
    }

    /// A batch is answered by an array up to 2025-03-26; later versions have none, so that each of its
    /// messages is answered on its own.
    fn gather(&self, size: usize) -> Option<u64> {
        let mut open = self.open();
        if open.version.as_ref().is_some_and(|version| ProtocolVersion::V_2025_03_26.as_str() < *version) {
            return None;
        }
        open.last_batch += 1;
        let number = open.last_batch;
        open.batches.insert(number, Gathering { left: size, replies: Vec::new() });
        Some(number)
    }

    /// Calls a request off and forgets it: it is not answered any more. Its number.
    fn cancel(&self, id: &Value) -> Option<i64> {
        let id = id.to_string();
        let mut open = self.open();
        let number = open.requests.iter().filter(|(_, request)| request.id == id).map(|(n, _)| *n).max()?;
        // Only calls take time. The specification forbids to cancel `initialize`.
        open.requests[&number].cancellation.as_ref()?.cancel();
        let request = open.requests.remove(&number)?;
        self.deliver(&mut open, request.place, None);
        drop(open);
        self.moved.notify_one();
        Some(number)
    }

    /// Calls off everything that runs.
    pub fn cancel_all(&self) {
        for request in self.open().requests.values() {
            if let Some(cancellation) = &request.cancellation {
                cancellation.cancel();
            }
        }
    }

    /// Asks the client something. Its answer, with a `result` or an `error`, comes through the channel.
    fn ask(&self, exchange: u64, method: &str, params: &Value) -> (String, std::sync::mpsc::Receiver<Value>) {
        let (tell, answers) = std::sync::mpsc::channel();
        let mut open = self.open();
        open.last_question += 1;
        let id = format!("deskhand-{}", open.last_question);
        open.questions.insert(id.clone(), tell);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.put(&open, exchange, Line::from(request.to_string()));
        (id, answers)
    }

    /// Gives up a question, so that the client need not show it any longer.
    fn unask(&self, exchange: u64, id: &str, reason: &str) {
        let mut open = self.open();
        if open.questions.remove(id).is_some() {
            let notice = json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": { "requestId": id, "reason": reason },
            });
            self.put(&open, exchange, Line::from(notice.to_string()));
        }
    }

    /// The client has answered; an answer that nobody waits for any more is dropped.
    fn answered(&self, id: &str, answer: Map<String, Value>) {
        if let Some(waits) = self.open().questions.remove(id) {
            let _ = waits.send(Value::Object(answer));
        }
    }

    /// What rmcp has to say. A call's own reply went past it.
    pub fn send(&self, message: ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Response(response) => {
                let RequestId::Number(number) = response.id else { return };
                if let ServerResult::InitializeResult(result) = &response.result {
                    let mut value = serde_json::to_value(result).unwrap_or_default();
                    if let Some(screens) = value.pointer("/_meta/screens").cloned() {
                        value["screens"] = screens;
                    }
                    self.answer(number, "result", |line| write_json(line.own(), &value));
                } else {
                    self.answer(number, "result", |line| write_json(line.own(), &response.result));
                }
            }
            JsonRpcMessage::Error(mut error) => match error.id {
                Some(RequestId::Number(number)) => {
                    if error.error.code == ErrorCode::METHOD_NOT_FOUND && !error.error.message.contains(' ') {
                        // rmcp says the method's name and nothing else.
                        error.error.message = no_method(&error.error.message).into();
                    }
                    self.answer(number, "error", |line| write_json(line.own(), &error.error));
                }
                Some(RequestId::String(_)) | None => {
                    self.refuse(
                        None,
                        Place::default(),
                        error.error.code,
                        &error.error.message,
                        error.error.data,
                    );
                }
            },
            JsonRpcMessage::Notification(notification) => self.pass_on(&notification.notification),
            JsonRpcMessage::Request(_) => {
                let mut line = Line::default();
                write_json(line.own(), &message);
                self.put(&self.open(), 0, line);
            }
        }
    }

    /// A notification of rmcp's. One that belongs to somebody who listens names them by our number; the first is
    /// the word that they are heard, and what is told them from then on.
    fn pass_on(&self, notification: &ServerNotification) {
        let mut message = serde_json::to_value(notification).unwrap_or_default();
        message["jsonrpc"] = json!("2.0");
        let mut open = self.open();
        let number = message["params"]["_meta"][SUBSCRIPTION].as_i64();
        let Some(request) = number.and_then(|number| open.requests.get_mut(&number)) else {
            if number.is_none() {
                self.put(&open, 0, Line::from(message.to_string()));
            }
            return;
        };
        if let ServerNotification::SubscriptionsAcknowledgedNotification(heard) = notification {
            request.listening = Some(heard.params.notifications.clone());
        }
        message["params"]["_meta"][SUBSCRIPTION] = request.client_id();
        let exchange = request.place.exchange;
        self.put(&open, exchange, Line::from(message.to_string()));
    }

    /// Answers a request, unless it was answered or called off already.
    fn answer(&self, number: i64, member: &str, write: impl FnOnce(&mut Line)) {
        let Some(id) = self.open().requests.get(&number).map(|request| request.id.clone()) else { return };
        let mut line = Line::from(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{member}\":"));
        write(&mut line);
        line.own().push(b'}');
        // Only now: a request counts until its reply is on its way, and it may be called off meanwhile.
        let mut open = self.open();
        if let Some(request) = open.requests.remove(&number) {
            self.deliver(&mut open, request.place, Some(line));
        }
        drop(open);
        self.moved.notify_one();
    }

    /// Answers something that is no request that could be carried out.
    fn refuse(&self, id: Option<&Value>, place: Place, code: ErrorCode, message: &str, data: Option<Value>) {
        log::line("warn", "refused", json!({ "code": code.0, "message": message }));
        let mut error = json!({ "code": code.0, "message": message });
        if let Some(data) = data.filter(|data| data.as_object().is_none_or(|object| !object.is_empty())) {
            error["data"] = data;
        }
        let reply = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.deliver(&mut self.open(), place, Some(Line::from(reply.to_string())));
    }

    /// One message of a batch that gets no reply.
    fn unanswered(&self, place: Place) {
        self.deliver(&mut self.open(), place, None);
    }

    /// One message is done with: sends its reply, or adds it to the answer of its batch, which is sent when it is
    /// complete.
    fn deliver(&self, open: &mut Open, place: Place, reply: Option<Line>) {
        if let Out::Exchanges(exchanges) = &self.out {
            exchanges.done(place.exchange, reply);
            return;
        }
        let line = match place.batch.and_then(|number| Some((number, open.batches.get_mut(&number)?))) {
            None => reply,
            Some((number, gathering)) => {
                gathering.replies.extend(reply);
                gathering.left = gathering.left.saturating_sub(1);
                if 0 < gathering.left {
                    return;
                }
                let replies = open.batches.remove(&number).map(|done| done.replies).unwrap_or_default();
                (!replies.is_empty()).then(|| array(replies))
            }
        };
        if let Some(line) = line {
            self.put(open, 0, line);
        }
    }

    /// Sends a message, in the order in which the lock was held.
    fn put(&self, _: &Open, exchange: u64, line: Line) {
        match &self.out {
            Out::Lines(lines) => {
                self.unsent.fetch_add(line.len(), Ordering::Relaxed);
                let _ = lines.send(Some(line));
            }
            Out::Exchanges(exchanges) => exchanges.told(exchange, line),
        }
    }
}

/// The answer to a batch.
pub fn array(replies: Vec<Line>) -> Line {
    let mut all = Line::default();
    for (index, reply) in replies.into_iter().enumerate() {
        all.own().push(if index == 0 { b'[' } else { b',' });
        all.append(reply);
    }
    all.own().push(b']');
    all
}

/// What is said of a method that is not there.
pub fn no_method(method: &str) -> String {
    format!("There is no method called {method:?} here.")
}

/// Writing to memory cannot fail, and the types of the protocol serialize.
fn write_json(line: &mut Vec<u8>, value: &impl serde::Serialize) {
    let start = line.len();
    if serde_json::to_writer(&mut *line, value).is_err() {
        line.truncate(start);
        line.extend_from_slice(b"null");
    }
}

/// Writes lines in the order in which they were sent, several small ones at once.
async fn write<W: AsyncWrite + Unpin>(
    mut output: W,
    mut lines: mpsc::UnboundedReceiver<Option<Line>>,
    wire: Arc<Wire>,
) {
    let mut ended = false;
    while !ended && let Some(Some(mut bytes)) = lines.recv().await {
        let mut sent = bytes.len();
        bytes.own().push(b'\n');
        while bytes.len() < 64 * 1024
            && let Ok(next) = lines.try_recv()
        {
            let Some(next) = next else {
                ended = true;
                break;
            };
            sent += next.len();
            bytes.append(next);
            bytes.own().push(b'\n');
        }
        let written = async {
            bytes.write_to(&mut output).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            log::line("warn", "output_failed", json!({ "os": error.to_string() }));
            wire.stop();
            return;
        }
        wire.unsent.fetch_sub(sent, Ordering::Relaxed);
        wire.moved.notify_one();
    }
    let _ = output.shutdown().await;
}
