//! `/mcp`: MCP's Streamable HTTP, by the specification's "Transports", for every version that standard input
//! speaks.
//!
//! Up to 2025-11-25 a client has a session, from `initialize` until it ends it or lies idle. From 2026-07-28, and
//! for all with `--stateless`, each request stands for itself: its client is there as long as its connection.

use super::guard::{Refusal, require_json};
use super::metadata::{self, Fault};
use super::streams::{Reader, Streams};
use super::{Content, Hall, body, empty, reply, token, told};
use crate::json_rpc;
use crate::line::Line;
use crate::mcp;
use crate::mcp::lines::agreed;
use crate::mcp::lines::array;
use crate::mcp::posts::Posted;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, UPGRADE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

const SESSION: &str = "mcp-session-id";

/// The version from which a stream begins with an event that has nothing but its number, so that a client whose
/// connection breaks before the first message knows where to go on.
const PRIMED: &str = "2025-11-25";

/// How long a client whose connection breaks is to wait before it asks for the rest, in milliseconds.
const RETRY: u32 = 500;

/// How many sessions there are at the most; the one that lies idle longest makes place.
const MOST_SESSIONS: usize = 512;

/// How long a session may lie idle.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How often something is written to a stream on which nothing comes, so that a client that has gone is noticed.
const PULSE: Duration = Duration::from_secs(15);

/// How long a reply is waited for before a stream is begun for what comes before it, where each request stands for
/// itself: a reply alone has a status, which something on the way may go by.
const ALONE: Duration = Duration::from_millis(500);

/// What protocol it is after an upgrade: MCP as lines, as over standard input and output.
pub const LINES: &str = "mcp-lines";

/// A client with its session.
struct Session {
    posted: Posted,
    streams: Arc<Streams>,
    version: String,
    /// When it was last heard of.
    heard: Mutex<Instant>,
}

impl Session {
    fn new(hall: &Hall, version: &str) -> Arc<Session> {
        let streams = Streams::new(&hall.shared.kept);
        let posted = Posted::open(&hall.server, &hall.options.mcp, "mcp", streams.clone());
        Arc::new(Session { posted, streams, version: version.to_owned(), heard: Mutex::new(Instant::now()) })
    }

    fn idle(&self) -> Duration {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.streams.close();
    }
}

/// Every session by its id.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

impl Sessions {
    fn locked(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, headers: &HeaderMap) -> Result<Option<(String, Arc<Session>)>, Refusal> {
        let Some(id) = headers.get(SESSION) else { return Ok(None) };
        let id = id.to_str().unwrap_or_default();
        let found = self.locked().get(id).cloned().ok_or_else(|| {
            Refusal::new(
                StatusCode::NOT_FOUND,
                "There is no such session, or not any more: initialize again.",
            )
        })?;
        found.hear();
        Ok(Some((id.to_owned(), found)))
    }

    fn add(&self, session: Arc<Session>) -> Result<String, Refusal> {
        let id = token::random(16).map_err(|error| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("No session id can be made: {error}."))
        })?;
        let mut all = self.locked();
        if MOST_SESSIONS <= all.len() {
            let oldest = all.iter().filter(|(_, it)| it.posted.is_idle()).max_by_key(|(_, it)| it.idle());
            let oldest = oldest
                .map(|(id, _)| id.clone())
                .ok_or_else(|| full("Too many sessions are open; try again."))?;
            all.remove(&oldest);
        }
        all.insert(id.clone(), session);
        Ok(id)
    }

    fn remove(&self, id: &str) {
        self.locked().remove(id);
    }

    /// Ends those that have lain idle for long.
    pub fn sweep(&self) {
        self.locked().retain(|_, session| {
            let streaming = 1 < Arc::strong_count(session);
            streaming || session.idle() < IDLE || !session.posted.is_idle()
        });
    }

    /// Ends all.
    pub fn end(&self) {
        for (_, session) in self.locked().drain() {
            session.streams.close();
        }
    }
}

/// Answers a request at `/mcp`.
pub(super) async fn answer(
    hall: &Arc<Hall>,
    request: Request<Incoming>,
) -> Result<Response<Content>, Refusal> {
    if *request.method() == Method::POST {
        return post(hall, request).await;
    }
    let version = metadata::version_of(request.headers(), &[]);
    if let Err(fault) = metadata::spoken(version, &Value::Null) {
        return Ok(fault.into());
    }
    let stateless = metadata::is_stateless(version);
    match *request.method() {
        Method::GET | Method::DELETE if stateless => Err(Refusal::method("POST")),
        Method::GET if request.headers().get(UPGRADE).is_some_and(|to| to.as_bytes() == LINES.as_bytes()) => {
            as_lines(hall, request).await
        }
        Method::GET => stream(hall, request.headers()),
        Method::DELETE => match hall.shared.sessions.find(request.headers())? {
            Some((id, session)) => {
                hall.shared.sessions.remove(&id);
                session.streams.close();
                Ok(empty(StatusCode::NO_CONTENT))
            }
            None => Err(no_session()),
        },
        Method::OPTIONS => Ok(empty(StatusCode::NO_CONTENT)),
        _ => Err(Refusal::method("GET, POST, DELETE")),
    }
}

fn full(message: &'static str) -> Refusal {
    let retry_after = Some(Duration::from_secs(1));
    Refusal { retry_after, ..Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message) }
}

fn no_session() -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "The header Mcp-Session-Id is missing: initialize returns it.")
}

/// What a client takes for an answer.
#[derive(Clone, Copy)]
struct Takes {
    json: bool,
    events: bool,
}

impl Takes {
    fn of(headers: &HeaderMap) -> Takes {
        let mut named = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
        if named.peek().is_none() {
            return Takes { json: true, events: false };
        }
        let mut takes = Takes { json: false, events: false };
        for kind in named.flat_map(|value| value.split(',')) {
            match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
                "application/json" | "application/*" => takes.json = true,
                "text/event-stream" | "text/*" => takes.events = true,
                "*/*" => takes = Takes { json: true, ..takes },
                _ => {}
            }
        }
        takes
    }
}

async fn post(hall: &Arc<Hall>, request: Request<Incoming>) -> Result<Response<Content>, Refusal> {
    require_json(request.headers())?;
    let takes = Takes::of(request.headers());
    if !takes.json && !takes.events {
        let message = "Accept has to name application/json or text/event-stream, at best both.";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message));
    }
    let headers = request.headers().clone();
    let body = body::read(request, &hall.options.limits, &hall.shared.bodies).await?;
    let (messages, is_batch) = match serde_json::from_slice(&body) {
        Ok(Value::Array(items)) if items.is_empty() => {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "The batch is empty."));
        }
        Ok(Value::Array(items)) => (items, true),
        Ok(one) => (vec![one], false),
        Err(error) => {
            let message = format!("The body is not JSON: {error}.");
            let fault = Fault::new(StatusCode::BAD_REQUEST, &Value::Null, json_rpc::NO_JSON, &message);
            return Ok(fault.into());
        }
    };
    if let Err(fault) = metadata::check(&headers, &messages, is_batch) {
        return Ok(fault.into());
    }
    let version = metadata::version_of(&headers, &messages);
    let each_by_itself = metadata::is_stateless(version);
    let hello = messages.iter().find(|message| message["method"] == "initialize");
    let mut added = None;
    // A session that such a request names is not looked at.
    let found = if each_by_itself { None } else { hall.shared.sessions.find(&headers)? };
    let wanted = hello.map(|hello| hello["params"]["protocolVersion"].as_str().unwrap_or_default());
    let spoken = found.as_ref().map(|(_, session)| session.version.as_str());
    if is_batch && spoken.or(wanted.map(agreed)).or(version).is_some_and(|it| metadata::SINGLE <= it) {
        return Ok(metadata::no_batch().into());
    }
    let session = match found {
        Some((_, session)) => session,
        None if each_by_itself || hall.options.stateless => Session::new(hall, version.unwrap_or_default()),
        None => {
            let session = Session::new(hall, agreed(wanted.ok_or_else(no_session)?));
            added = Some(hall.shared.sessions.add(session.clone())?);
            session
        }
    };
    let is_told = |message: &Value| {
        message.is_object()
            && (message["method"].is_string() || message.get("method").is_none())
            && message.get("id").is_none_or(|_| message.get("result").or(message.get("error")).is_some())
    };
    if messages.iter().all(is_told) {
        messages.into_iter().for_each(|message| session.posted.take(message, 0));
        return Ok(empty(StatusCode::ACCEPTED));
    }
    // What takes time may tell how far it is, and may outlive its connection.
    let lasts =
        |message: &Value| message["method"] == "tools/call" || message["method"] == "subscriptions/listen";
    let lasting = messages.iter().any(lasts);
    let as_events = takes.events && (lasting || !takes.json);
    let exchange = session.streams.open(messages.len(), !as_events);
    messages.into_iter().for_each(|message| session.posted.take(message, exchange));
    let alone = as_events && each_by_itself && takes.json && alone(&session, exchange).await;
    let mut response = if as_events && !alone {
        let reader = session.streams.reader(exchange, Some(0)).ok_or_else(no_session)?;
        let primed = PRIMED <= session.version.as_str() && !each_by_itself;
        events(hall, session, reader, primed)
    } else {
        whole(&session, exchange, is_batch, each_by_itself).await
    };
    if let Some(id) = added.and_then(|id| HeaderValue::from_str(&id).ok()) {
        response.headers_mut().insert(SESSION, id);
    }
    Ok(response)
}

/// Whether a reply comes soon, and nothing before it.
async fn alone(session: &Arc<Session>, exchange: u64) -> bool {
    let mut changed = session.streams.watch();
    let soon = tokio::time::timeout(ALONE, async {
        loop {
            changed.borrow_and_update();
            match session.streams.holds(exchange) {
                Some((0, false)) => {}
                Some((count, ended)) => return ended && count == 1,
                None => return false,
            }
            if changed.changed().await.is_err() {
                return false;
            }
        }
    });
    soon.await.unwrap_or(false)
}

/// The answers as one body of JSON, when all are there.
async fn whole(
    session: &Arc<Session>,
    exchange: u64,
    is_batch: bool,
    each_by_itself: bool,
) -> Response<Content> {
    let mut changed = session.streams.watch();
    let Some(mut reader) = session.streams.reader(exchange, Some(0)) else {
        return empty(StatusCode::ACCEPTED);
    };
    let mut pieces = Vec::new();
    loop {
        changed.borrow_and_update();
        let news = session.streams.news(&mut reader);
        pieces.extend(news.events.into_iter().map(|event| event.message.to_vec()));
        if news.ended || changed.changed().await.is_err() {
            break;
        }
    }
    session.streams.forget(exchange);
    session.hear();
    if pieces.is_empty() {
        return empty(StatusCode::ACCEPTED);
    }
    if !is_batch && let [pieces] = &pieces[..] {
        let mut response = reply("application/json", Content::Whole(pieces.iter().cloned().collect()));
        if each_by_itself && let [only] = &pieces[..] {
            *response.status_mut() = metadata::status_of(only);
        }
        return response;
    }
    let lines = pieces.into_iter().map(|pieces| {
        let mut line = Line::default();
        pieces.iter().for_each(|piece| line.own().extend_from_slice(piece));
        line
    });
    reply("application/json", array(lines.collect()).into())
}

/// `GET`: what belongs to no request, or what came after an event that the client saw last.
fn stream(hall: &Arc<Hall>, headers: &HeaderMap) -> Result<Response<Content>, Refusal> {
    if !Takes::of(headers).events {
        let message = "This is a stream of events: Accept has to name text/event-stream.";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message));
    }
    let Some((_, session)) = hall.shared.sessions.find(headers)? else {
        if hall.options.stateless {
            return Err(Refusal::method("POST"));
        }
        return Err(no_session());
    };
    let reader = match headers.get("last-event-id") {
        None => session.streams.reader(0, None).ok_or_else(no_session)?,
        Some(seen) => go_on(&session.streams, seen.to_str().unwrap_or("?"))?,
    };
    Ok(events(hall, session, reader, false))
}

/// Goes on after an event that the client has seen.
fn go_on(streams: &Streams, seen: &str) -> Result<Reader, Refusal> {
    let parts = seen.split_once('-');
    let parts = parts.and_then(|(stream, number)| Some((stream.parse().ok()?, number.parse().ok()?)));
    let Some((stream, number)) = parts.filter(|(stream, number)| streams.has_had(*stream, *number)) else {
        let message = format!("The Last-Event-ID {seen:?} is none that this session has sent.");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
    };
    // What belongs to no request goes on with what is there; an answer that is lost is said to be.
    let whole = stream == 0 || streams.keeps_after(stream, number);
    whole.then(|| streams.reader(stream, Some(number))).flatten().ok_or_else(|| {
        let message = format!(
            "What came after the event {seen} is not kept any more: too much else came since. Read what the call \
             has changed before you repeat it."
        );
        Refusal::new(StatusCode::GONE, message)
    })
}

/// A stream as server-sent events, until it has ended or nobody reads it any more.
fn events(hall: &Hall, session: Arc<Session>, mut reader: Reader, primed: bool) -> Response<Content> {
    let (sender, receiver) = mpsc::channel(16);
    let mut stop = hall.stop.clone();
    let mut stopped = false;
    let sending = async move {
        let mut changed = session.streams.watch();
        if primed
            && sender
                .send(Bytes::from(format!("id: {}-0\nretry: {RETRY}\ndata: \n\n", reader.stream)))
                .await
                .is_err()
        {
            return;
        }
        loop {
            changed.borrow_and_update();
            let news = session.streams.news(&mut reader);
            if let Some((first, last)) = news.lost {
                // An answer may be among it. A client that goes on after what it has seen is told so; the stream of
                // everything else goes on, and shows the gap to whoever looks.
                let gap = format!(": the events {first} to {last} are not kept any more\n\n");
                if sender.send(Bytes::from(gap)).await.is_err() || reader.stream != 0 {
                    return;
                }
            }
            for event in news.events {
                let head = format!("id: {}-{}\ndata: ", reader.stream, event.number);
                let message = event.message.iter().cloned();
                let pieces =
                    [Bytes::from(head)].into_iter().chain(message).chain([Bytes::from_static(b"\n\n")]);
                for piece in pieces.filter(|piece| !piece.is_empty()) {
                    if sender.send(piece).await.is_err() {
                        return;
                    }
                }
            }
            if news.ended || stopped {
                return;
            }
            session.hear();
            tokio::select! {
                changed = changed.changed() => if changed.is_err() { return },
                () = sender.closed() => return,
                () = told(&mut stop) => {
                    stopped = true;
                    session.posted.end_listening();
                }
                () = tokio::time::sleep(PULSE) => {
                    if sender.send(Bytes::from_static(b": still here\n\n")).await.is_err() {
                        return;
                    }
                }
            }
        }
    };
    tokio::spawn(sending);
    let mut response = reply("text/event-stream", Content::Coming(receiver));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The connection becomes one of lines, for `deskhand connect`.
async fn as_lines(hall: &Arc<Hall>, request: Request<Incoming>) -> Result<Response<Content>, Refusal> {
    // HTTP is over then, and gives its own place back.
    let place = hall.shared.places.enter().await;
    let place = place.ok_or_else(|| full("Too many connections are open; try again."))?;
    place.is_known();
    let hall = hall.clone();
    let upgraded = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let Ok(stream) = upgraded.await else { return };
        let (input, output) = tokio::io::split(TokioIo::new(stream));
        let mut stop = hall.stop.clone();
        mcp::serve(&hall.server, hall.options.mcp.clone(), input, output, async { told(&mut stop).await })
            .await;
        drop(place);
    });
    let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static(LINES));
    headers.insert("connection", HeaderValue::from_static("upgrade"));
    Ok(response)
}
