//! What a request at `/mcp` says about itself, in its headers and in its body, by the specification's "Request
//! Metadata": both have to say the same, since something on the way may have gone by the headers.
//!
//! Versions up to 2025-11-25 say who they are once, at `initialize`. From 2026-07-28 each request does.

use super::body::Content;
use super::reply;
use crate::json_rpc;
use crate::mcp::versions;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// The header that names the version of the protocol.
pub const VERSION: &str = "mcp-protocol-version";

/// The first version without `initialize` and sessions.
pub const STATELESS: &str = "2026-07-28";

/// The first version without batches.
pub const SINGLE: &str = "2025-06-18";

/// What a header says otherwise than the body.
const HEADER_MISMATCH: i32 = -32020;

/// The client lacks what the request needs of it.
const MISSING_CAPABILITY: i32 = -32021;

/// No such version is spoken here.
const UNSUPPORTED_VERSION: i32 = -32022;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request that is answered with an error before it is understood.
pub struct Fault {
    status: StatusCode,
    id: Value,
    error: Value,
}

impl Fault {
    /// An answer to the message of this id.
    pub fn new(status: StatusCode, id: &Value, code: i32, message: &str) -> Fault {
        let id = if id.is_string() || id.is_number() { id.clone() } else { Value::Null };
        Fault { status, id, error: json!({ "code": code, "message": message }) }
    }

    fn with(mut self, data: Value) -> Fault {
        self.error["data"] = data;
        self
    }
}

impl From<Fault> for Response<Content> {
    fn from(fault: Fault) -> Response<Content> {
        let body = json!({ "jsonrpc": "2.0", "id": fault.id, "error": fault.error });
        let mut response = reply("application/json", body.to_string().into());
        *response.status_mut() = fault.status;
        response
    }
}

/// The version that a request says it speaks.
pub fn version_of<'a>(headers: &'a HeaderMap, messages: &'a [Value]) -> Option<&'a str> {
    let named = |message: &'a Value| message["params"]["_meta"][META_VERSION].as_str();
    messages.iter().find_map(named).or_else(|| header(headers, VERSION))
}

/// Whether it is of a version in which each request stands for itself.
pub fn is_stateless(version: Option<&str>) -> bool {
    version.is_some_and(|version| STATELESS <= version)
}

/// Holds the headers against the body.
pub fn check(headers: &HeaderMap, messages: &[Value], is_batch: bool) -> Result<(), Fault> {
    let version = version_of(headers, messages);
    let id = messages.first().map_or(&Value::Null, |message| &message["id"]);
    if let [message] = messages {
        same(headers, message)?;
    }
    spoken(version, id)?;
    if !is_stateless(version) {
        return Ok(());
    }
    let [message] = messages else { return Err(no_batch()) };
    if is_batch {
        return Err(no_batch());
    }
    complete(headers, message)
}

/// A version has to be one that is spoken here.
pub fn spoken(version: Option<&str>, id: &Value) -> Result<(), Fault> {
    let Some(version) = version.filter(|version| !versions().any(|known| known == *version)) else {
        return Ok(());
    };
    let message = format!("The protocol version {version:?} is not spoken here.");
    let fault = Fault::new(StatusCode::BAD_REQUEST, id, UNSUPPORTED_VERSION, &message);
    Err(fault.with(json!({ "requested": version, "supported": versions().collect::<Vec<_>>() })))
}

/// Later versions have no batches.
pub fn no_batch() -> Fault {
    let message = "This version of the protocol has no batches: send each message by itself.";
    Fault::new(StatusCode::BAD_REQUEST, &Value::Null, json_rpc::INVALID_REQUEST, message)
}

/// What both say has to be the same.
fn same(headers: &HeaderMap, message: &Value) -> Result<(), Fault> {
    let params = &message["params"];
    let said = [
        (VERSION, params["_meta"][META_VERSION].as_str()),
        ("mcp-method", message["method"].as_str()),
        ("mcp-name", params["name"].as_str().or(params["uri"].as_str())),
    ];
    for (name, inside) in said {
        let mut all = headers.get_all(name).iter();
        let Some(outside) = all.next() else { continue };
        let outside = outside.to_str().ok().and_then(plain);
        let wrong = match (&outside, inside) {
            (None, _) => {
                Some(format!("The header {name} is not what it has to be: visible ASCII, or base64."))
            }
            (Some(outside), Some(inside)) if outside != inside => {
                Some(format!("The header {name} says {outside:?}, and the body {inside:?}."))
            }
            _ if all.next().is_some() => Some(format!("The header {name} comes more than once.")),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(Fault::new(StatusCode::BAD_REQUEST, &message["id"], HEADER_MISMATCH, &wrong));
        }
    }
    Ok(())
}

/// What has to be there since each request stands for itself.
fn complete(headers: &HeaderMap, message: &Value) -> Result<(), Fault> {
    let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
    if method.is_empty() {
        let message =
            "The message has no method: since each request stands for itself, clients answer nothing.";
        return Err(Fault::new(StatusCode::BAD_REQUEST, id, json_rpc::INVALID_REQUEST, message));
    }
    // Notifications have no headers that they need.
    if id.is_null() {
        return Ok(());
    }
    let needed: &[&str] = match method {
        "tools/call" | "resources/read" | "prompts/get" => &[VERSION, "mcp-method", "mcp-name"],
        _ => &[VERSION, "mcp-method"],
    };
    if let Some(missing) = needed.iter().find(|name| !headers.contains_key(**name)) {
        let message = format!("The header {missing} is missing; it repeats what the body says.");
        return Err(Fault::new(StatusCode::BAD_REQUEST, id, HEADER_MISMATCH, &message));
    }
    let meta = &message["params"]["_meta"];
    let missing = [
        (META_VERSION, meta[META_VERSION].is_string()),
        (META_CAPABILITIES, meta[META_CAPABILITIES].is_object()),
    ];
    if let Some((missing, _)) = missing.iter().find(|(_, is_there)| !is_there) {
        let message = format!("The member _meta of the params lacks {missing}.");
        return Err(Fault::new(StatusCode::BAD_REQUEST, id, json_rpc::INVALID_PARAMS, &message));
    }
    if method == "initialize" {
        let message =
            "There is no method called \"initialize\" in this version: each request says who sends it.";
        return Err(Fault::new(StatusCode::NOT_FOUND, id, json_rpc::NO_METHOD, message));
    }
    Ok(())
}

/// The status that goes with a reply, for versions in which each request stands for itself: something on the way
/// may go by it.
pub fn status_of(reply: &[u8]) -> StatusCode {
    #[derive(serde::Deserialize)]
    struct Reply {
        error: Option<Code>,
    }
    #[derive(serde::Deserialize)]
    struct Code {
        code: i32,
    }
    /// Errors are short. What is longer is a result, and need not be looked through.
    const LONGEST: usize = 64 * 1024;
    let short = (reply.len() < LONGEST).then_some(reply);
    let error = short.and_then(|reply| serde_json::from_slice::<Reply>(reply).ok()?.error);
    match error.map(|error| error.code) {
        Some(json_rpc::NO_METHOD) => StatusCode::NOT_FOUND,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION | json_rpc::INVALID_REQUEST) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The value of a header, out of the base64 in which it stands if a header could not say it otherwise.
fn plain(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => {
            let bytes = base64_simd::STANDARD.decode_to_vec(encoded).ok()?;
            String::from_utf8(bytes).ok()
        }
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        all.iter().map(pair).collect()
    }

    fn call(name: &str) -> Value {
        let meta = json!({ META_VERSION: STATELESS, META_CAPABILITIES: {} });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "_meta": meta } })
    }

    #[test]
    fn headers_and_body_have_to_say_the_same() {
        let whole = [(VERSION, STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "click")];
        let code = |headers: &HeaderMap, message: Value| {
            let fault = check(headers, &[message], false).err();
            fault.map_or(0, |fault| fault.error["code"].as_i64().unwrap_or_default())
        };
        assert_eq!(code(&headers(&whole), call("click")), 0);
        assert_eq!(code(&headers(&whole), call("drag")), -32020);
        for missing in 0..3 {
            let mut some = whole.to_vec();
            some.remove(missing);
            assert_eq!(code(&headers(&some), call("click")), -32020, "{missing}");
        }
        let mut encoded = whole;
        encoded[2].1 = "=?base64?R3LDvMOfZQ==?=";
        assert_eq!(code(&headers(&encoded), call("Grüße")), 0);
        assert_eq!(code(&headers(&encoded), call("click")), -32020);
        encoded[2].1 = "=?base64?R3L?=";
        assert_eq!(code(&headers(&encoded), call("Gr")), -32020);
        let mut bare = call("click");
        bare["params"]["_meta"] = json!({});
        assert_eq!(code(&headers(&whole), bare), -32602);
        let mut other = whole;
        other[0].1 = "1999-01-01";
        let mut old = call("click");
        old["params"]["_meta"][META_VERSION] = json!("1999-01-01");
        assert_eq!(code(&headers(&other), old), -32022);
        assert!(check(&headers(&whole[..1]), &[call("click"), call("click")], true).is_err());
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        assert_eq!(code(&headers(&whole[..1]), answer), -32600);
    }
}
