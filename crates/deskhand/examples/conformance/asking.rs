//! The tools that ask the client back: up to 2025-11-25 with a request in the course of the call, since then with an
//! answer that says what is missing, and the same call again.

use deskhand::mcp::lines::Course;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, InputRequiredResult, InputResponses};
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::time::Duration;

/// How long a client may take for its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A question of the versions that have requests to the client.
pub async fn ask(course: Course, method: &'static str, params: Value) -> Result<Value, ErrorData> {
    let (_, answers) = course.ask(method, &params);
    let answer = tokio::task::spawn_blocking(move || answers.recv_timeout(PATIENCE).ok()).await;
    let answer = answer.ok().flatten().unwrap_or_default();
    let result = answer.get("result").cloned();
    result.ok_or_else(|| {
        ErrorData::internal_error(format!("The client did not answer {method}: {answer}"), None)
    })
}

/// What the tools that ask in the course of the call ask for.
pub fn question(tool: &str, arguments: &Value) -> Option<(&'static str, Value)> {
    let given = |name: &str| arguments[name].as_str().unwrap_or_default();
    let form = |message: &str, properties: Value, required: Value| {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        ("elicitation/create", json!({ "message": message, "requestedSchema": schema }))
    };
    Some(match tool {
        "test_sampling" => ("sampling/createMessage", sampling(given("prompt"), 100)),
        "test_elicitation" => form(
            given("message"),
            json!({
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" },
            }),
            json!(["username", "email"]),
        ),
        "test_elicitation_sep1034_defaults" => form(
            "Check what is filled in already.",
            json!({
                "name": { "type": "string", "default": "John Doe" },
                "age": { "type": "integer", "default": 30 },
                "score": { "type": "number", "default": 95.5 },
                "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
                "verified": { "type": "boolean", "default": true },
            }),
            json!([]),
        ),
        "test_elicitation_sep1330_enums" => form("Choose.", choices(), json!([])),
        _ => return None,
    })
}

fn choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |word: &str| {
        let choice =
            |(value, place): (&str, &str)| json!({ "const": value, "title": format!("{place} {word}") });
        let all = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
        Value::Array(all.into_iter().map(choice).collect())
    };
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}

fn sampling(prompt: &str, most: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    json!({ "messages": [message], "maxTokens": most })
}

fn name_form(message: &str, parameter: &str, kind: &str) -> Value {
    let schema =
        json!({ "type": "object", "properties": { parameter: { "type": kind } }, "required": [parameter] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

/// What has come of a call so far.
pub struct Round<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What the client has answered.
    pub answers: &'a InputResponses,
    /// What it was given to bring back.
    pub state: Option<&'a str>,
    /// What it can be asked.
    pub capabilities: &'a Value,
}

/// One round of a call that may take several.
pub fn round(round: &Round) -> Result<Option<CallToolResponse>, ErrorData> {
    let text = |key: &str, member: &str| {
        let answer = round.answers.get(key).filter(|answer| answer["action"] == "accept");
        answer.and_then(|answer| answer["content"][member].as_str())
    };
    let name = || name_form("What is your name?", "name", "string");
    let confirm = || json!({ "confirm": name_form("Please confirm", "ok", "boolean") });
    let confirmed = || round.answers.contains_key("confirm");
    let roots = || json!({ "method": "roots/list", "params": {} });
    let sample =
        |prompt, most| json!({ "method": "sampling/createMessage", "params": sampling(prompt, most) });
    let done = |text: &str| complete(json!({ "content": [{ "type": "text", "text": text }] }));
    let answered = match round.tool {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            match text("user_name", "name") {
                Some(name) => done(&format!("Hello, {name}!")),
                None => missing(json!({ "user_name": name() }), None),
            }
        }
        "test_input_required_result_sampling" => match round.answers.get("capital_question") {
            Some(answer) => done(answer["content"]["text"].as_str().unwrap_or("?")),
            None => {
                missing(json!({ "capital_question": sample("What is the capital of France?", 100) }), None)
            }
        },
        "test_input_required_result_list_roots" => match round.answers.get("client_roots") {
            Some(answer) => done(&format!("Roots: {}", answer["roots"])),
            None => missing(json!({ "client_roots": roots() }), None),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            match round.state.map(opened).transpose()? {
                Some(_) if confirmed() => done("state-ok"),
                _ => missing(confirm(), Some(sealed("waiting"))),
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let all = ["user_name", "greeting", "client_roots"];
            match round.state.map(opened).transpose()? {
                Some(_) if all.iter().all(|key| round.answers.contains_key(*key)) => done("All is there."),
                _ => missing(
                    json!({
                        "user_name": name(),
                        "greeting": sample("Generate a greeting", 50),
                        "client_roots": roots(),
                    }),
                    Some(sealed("waiting")),
                ),
            }
        }
        "test_input_required_result_multi_round" => {
            match (
                round.state.map(opened).transpose()?.as_deref(),
                text("step1", "name"),
                text("step2", "color"),
            ) {
                (Some("two"), _, Some(color)) => done(&format!("Your color is {color}.")),
                (Some("one"), Some(_), _) => missing(
                    json!({ "step2": name_form("Step 2: What is your favorite color?", "color", "string") }),
                    Some(sealed("two")),
                ),
                _ => missing(
                    json!({ "step1": name_form("Step 1: What is your name?", "name", "string") }),
                    Some(sealed("one")),
                ),
            }
        }
        "test_input_required_result_capabilities" if round.answers.is_empty() => {
            let mut requests = json!({});
            if round.capabilities["sampling"].is_object() {
                requests["greeting"] = sample("Generate a greeting", 50);
            }
            if round.capabilities["elicitation"].is_object() {
                requests["user_name"] = name();
            }
            if round.capabilities["roots"].is_object() {
                requests["client_roots"] = roots();
            }
            missing(requests, None)
        }
        "test_input_required_result_capabilities" => done("Done."),
        _ => return Ok(None),
    };
    answered.map(Some)
}

/// What the prompt asks for.
pub fn context() -> Result<InputRequiredResult, ErrorData> {
    let form = name_form("What context should the prompt use?", "context", "string");
    input(json!({ "user_context": form }), None)
}

fn missing(requests: Value, state: Option<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(input(requests, state)?.into())
}

fn input(requests: Value, state: Option<String>) -> Result<InputRequiredResult, ErrorData> {
    let mut required = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        required["requestState"] = json!(state);
    }
    typed(required)
}

fn complete(value: Value) -> Result<CallToolResponse, ErrorData> {
    Ok(result::<CallToolResult>(value)?.into())
}

/// JSON as a complete result.
pub fn result<T: serde::de::DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    typed(value)
}

/// JSON as a type of the protocol.
pub fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A key that nobody else has: a hash with it cannot be made up.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

fn sealed(state: &str) -> String {
    format!("{state}.{:016x}", KEY.hash_one(state))
}

fn opened(sealed_state: &str) -> Result<String, ErrorData> {
    let state = sealed_state.split('.').next().unwrap_or_default();
    if sealed(state) != sealed_state {
        return Err(ErrorData::invalid_params("The request state is not one that this server gave.", None));
    }
    Ok(state.to_owned())
}
