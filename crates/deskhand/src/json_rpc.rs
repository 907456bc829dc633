//! Plain JSON-RPC 2.0, as scripts speak it to `POST /`: no session, and a tool's answer is the bare result.
//!
//! It takes a request's bytes and makes the answer's; how they travel is not known here.

use crate::call::{Client, Prepared, Server, unknown_tool};
use crate::encode;
use crate::line::Line;
use crate::log;
use crate::profiles::Profile;
use crate::tool::Reply;
use deskhand_core::Result;
use deskhand_core::call::Cancellation;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What is no request.
pub const INVALID_REQUEST: i32 = -32600;
/// No such method.
pub const NO_METHOD: i32 = -32601;
/// Wrong parameters, or no such tool.
pub const INVALID_PARAMS: i32 = -32602;
/// The tool says no.
pub const FAILED: i32 = -32603;
/// What is no JSON.
pub const NO_JSON: i32 = -32700;

/// The most requests in a batch.
const LONGEST_BATCH: usize = 1000;

/// Answers a request or a batch of them. `None` when nothing in it wants an answer. When this is dropped
/// before its end, the calls are called off: nobody waits for them.
pub async fn answer(server: &Arc<Server>, client: &Arc<Client>, body: &[u8]) -> Option<Line> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let refused = |code, message: String| Some(failure(&Value::Null, code, &message, None));
    let items = match serde_json::from_slice(body) {
        Err(error) => return refused(NO_JSON, format!("The body is not JSON: {error}.")),
        Ok(Value::Array(items)) if items.is_empty() => {
            return refused(INVALID_REQUEST, "The batch is empty.".to_owned());
        }
        Ok(Value::Array(items)) if LONGEST_BATCH < items.len() => {
            return refused(INVALID_REQUEST, format!("More than {LONGEST_BATCH} requests in a batch."));
        }
        Ok(Value::Array(items)) => items,
        Ok(one) => {
            let begun = Begun::of(server, client, one);
            let _guard = CallOff(begun.cancellation().into_iter().collect());
            return begun.end(server).await;
        }
    };
    // Every call gets its place in the order before the first one runs.
    let begun: Vec<Begun> = items.into_iter().map(|item| Begun::of(server, client, item)).collect();
    let _guard = CallOff(begun.iter().filter_map(Begun::cancellation).collect());
    let running: Vec<_> = begun
        .into_iter()
        .map(|begun| {
            let server = server.clone();
            tokio::spawn(async move { begun.end(&server).await })
        })
        .collect();
    let mut all = Line::default();
    for one in running {
        let Ok(Some(answer)) = one.await else { continue };
        let sign = if all.is_empty() { b'[' } else { b',' };
        all.own().push(sign);
        all.append(answer);
    }
    if all.is_empty() {
        return None;
    }
    all.own().push(b']');
    Some(all)
}

/// Calls off what runs when nobody waits for it any more. What has ended does not mind.
struct CallOff(Vec<Cancellation>);

impl Drop for CallOff {
    fn drop(&mut self) {
        self.0.iter().for_each(Cancellation::cancel);
    }
}

/// A request that has been understood.
enum Begun {
    /// Its answer is known, or that there is none.
    Known(Option<Line>),
    /// A call that has its place in the order. Without an id nobody wants to know what came of it.
    Call { id: Option<Value>, prepared: Box<Prepared> },
}

impl Begun {
    fn of(server: &Server, client: &Arc<Client>, request: Value) -> Begun {
        let invalid =
            |id: &Value, message: &str| Begun::Known(Some(failure(id, INVALID_REQUEST, message, None)));
        let Value::Object(mut request) = request else {
            return invalid(&Value::Null, "A request has to be a JSON object.");
        };
        let id = request.remove("id");
        if id.as_ref().is_some_and(|id| !(id.is_string() || id.is_number() || id.is_null())) {
            return invalid(&Value::Null, "The id has to be a string, a number or null.");
        }
        let shown = id.clone().unwrap_or_default();
        let Some(Value::String(method)) = request.remove("method") else {
            return invalid(&shown, "The method is missing, or is no string.");
        };
        if request.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return invalid(&shown, "The member jsonrpc has to be \"2.0\".");
        }
        let params = match request.remove("params") {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(params)) => Ok(params),
            Some(Value::Array(list)) if list.is_empty() => Ok(Map::new()),
            Some(Value::Array(_)) => {
                Err((INVALID_PARAMS, "Parameters are taken by name: params has to be an object."))
            }
            Some(_) => Err((INVALID_REQUEST, "The params have to be an object.")),
        };
        match params {
            Ok(params) => begin(server, client, id, &method, params),
            Err((code, message)) => Begun::Known(id.is_some().then(|| failure(&shown, code, message, None))),
        }
    }

    fn cancellation(&self) -> Option<Cancellation> {
        match self {
            // Somebody who wants no answer has not gone when the connection closes.
            Begun::Call { id: Some(_), prepared } => Some(prepared.cancellation()),
            Begun::Call { id: None, .. } | Begun::Known(_) => None,
        }
    }

    async fn end(self, server: &Arc<Server>) -> Option<Line> {
        let (id, prepared) = match self {
            Begun::Known(answer) => return answer,
            Begun::Call { id, prepared } => (id, *prepared),
        };
        // Faults of the arguments were found before anything was done.
        let code = if prepared.fits() { FAILED } else { INVALID_PARAMS };
        let Some(id) = id else {
            server.answer_as(prepared, |_| ()).await;
            return None;
        };
        Some(server.answer_as(prepared, move |result| outcome(&id, code, result)).await)
    }
}

fn begin(
    server: &Server,
    client: &Arc<Client>,
    id: Option<Value>,
    method: &str,
    mut params: Map<String, Value>,
) -> Begun {
    // What comes without an id is done, and not answered.
    let told = |answer: &dyn Fn(&Value) -> Line| Begun::Known(id.as_ref().map(answer));
    let wrong = |message: String, data: Option<Value>| {
        told(&|id| failure(id, INVALID_PARAMS, &message, data.clone()))
    };
    match method {
        "initialize" => told(&|id| success(id, &introduction())),
        "tools/list" => {
            let tools = Profile::JsonRpc.list(server, &client.listed_more());
            told(&|id| success(id, &json!({ "tools": tools })))
        }
        "tools/call" => {
            let Some(Value::String(name)) = params.remove("name") else {
                return wrong("The params have no name, a string: the tool to call.".to_owned(), None);
            };
            let arguments = params.remove("arguments").unwrap_or_default();
            if !arguments.is_null() && !arguments.is_object() {
                return wrong("The arguments have to be an object.".to_owned(), None);
            }
            let arguments = Profile::JsonRpc.adapt(&name, arguments);
            match server.prepare(client, &name, arguments, None) {
                Some(prepared) => Begun::Call { id, prepared: Box::new(prepared) },
                None => {
                    let error = unknown_tool(&name);
                    wrong(format!("Unknown tool: {name}"), serde_json::to_value(&error).ok())
                }
            }
        }
        "ping" | "shutdown" | "exit" => told(&|id| success(id, &json!({}))),
        // Clients of MCP say this after `initialize`, and some of them with an id.
        "notifications/initialized" | "initialized" => told(&|id| success(id, &json!({}))),
        _ => told(&|id| failure(id, NO_METHOD, &format!("Method not found: {method}"), None)),
    }
}

/// What `initialize` answers, as its clients know it: the name and the version are those of the server that
/// they were written for.
fn introduction() -> Value {
    json!({
        "protocolVersion": "2024-11-05",
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        "serverInfo": { "name": "ai-ui-automation", "version": "0.1.1" },
    })
}

/// What came of a call.
fn outcome(id: &Value, code: i32, result: Result<Reply>) -> Line {
    match &result {
        Ok(_) => success(id, &encode::bare(&result)),
        Err(error) => failure(id, code, &error.message, Some(encode::json(&result))),
    }
}

fn success(id: &Value, result: &Value) -> Line {
    // A result may be a picture of megabytes, and is not copied into yet another value.
    Line::from(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"))
}

fn failure(id: &Value, code: i32, message: &str, data: Option<Value>) -> Line {
    if data.is_none() {
        log::line("warn", "refused", json!({ "code": code, "message": message }));
    }
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    Line::from(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
}
