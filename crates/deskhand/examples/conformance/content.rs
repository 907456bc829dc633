//! What is listed and read: tools, prompts and resources beside the table's, as the suite describes them.

use serde_json::{Value, json};

/// A PNG of one red pixel.
pub const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A WAV without a sample.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// The tools that the handler answers.
pub fn tools() -> Value {
    let plain = |name: &str| {
        json!({
            "name": name,
            "description": "A tool of the conformance suite.",
            "inputSchema": { "type": "object", "properties": {} },
        })
    };
    let text = |name: &str, parameter: &str| {
        let mut tool = plain(name);
        tool["inputSchema"]["properties"][parameter] = json!({ "type": "string" });
        tool["inputSchema"]["required"] = json!([parameter]);
        tool
    };
    let names = [
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_reconnection",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ];
    let mut tools: Vec<Value> = names.into_iter().map(plain).collect();
    tools.push(text("test_sampling", "prompt"));
    tools.push(text("test_elicitation", "message"));
    let mut schema = plain("json_schema_2020_12_tool");
    schema["inputSchema"] = rich_schema();
    tools.push(schema);
    Value::Array(tools)
}

/// A schema with what is in JSON Schema 2020-12 and in few tools.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// The content of the tools that only answer with some.
pub fn of_tool(name: &str) -> Option<Value> {
    let resource = |uri: &str, mime: &str, text: &str| json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } });
    let content = match name {
        "test_audio_content" => json!([{ "type": "audio", "data": SILENCE, "mimeType": "audio/wav" }]),
        "test_embedded_resource" => {
            json!([resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content."
            )])
        }
        "test_multiple_content_types" => json!([
            { "type": "text", "text": "Multiple content types test:" },
            { "type": "image", "data": PIXEL, "mimeType": "image/png" },
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ]),
        "json_schema_2020_12_tool" | "test_reconnection" => json!([{ "type": "text", "text": "Done." }]),
        _ => return None,
    };
    Some(json!({ "content": content }))
}

/// The prompts.
pub fn prompts() -> Value {
    let prompt = |name: &str, parameters: &[&str]| {
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|name| json!({ "name": name, "description": "A text.", "required": true }))
            .collect();
        json!({ "name": name, "description": "A prompt of the conformance suite.", "arguments": parameters })
    };
    json!([
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ])
}

/// A prompt with its arguments filled in.
pub fn of_prompt(name: &str, arguments: &Value) -> Option<Value> {
    let user = |content: Value| json!({ "role": "user", "content": content });
    let text = |text: &str| user(json!({ "type": "text", "text": text }));
    let given = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let messages = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            vec![text(&format!("Prompt with arguments: arg1='{}', arg2='{}'", given("arg1"), given("arg2")))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": given("resourceUri"),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            vec![
                user(json!({ "type": "resource", "resource": resource })),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            user(json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" })),
            text("Please analyze the image above."),
        ],
        _ => return None,
    };
    Some(json!({ "messages": messages }))
}

/// The resources that have an address of their own.
pub fn resources() -> Value {
    let resource = |uri: &str, name: &str, mime: &str| json!({ "uri": uri, "name": name, "description": "A resource of the conformance suite.", "mimeType": mime });
    json!([
        resource("test://static-text", "text", "text/plain"),
        resource("test://static-binary", "binary", "image/png"),
        resource(WATCHED, "watched", "text/plain"),
    ])
}

/// The resource that is subscribed to.
pub const WATCHED: &str = "test://watched-resource";

/// The resources whose address is made.
pub fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "A resource of the conformance suite.",
        "mimeType": "application/json",
    }])
}

/// What is at an address.
pub fn of_resource(uri: &str) -> Option<Value> {
    let contents = match uri {
        "test://static-text" => json!({
            "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource.",
        }),
        "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": PIXEL }),
        WATCHED => json!({ "uri": uri, "mimeType": "text/plain", "text": "Watched." }),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
    };
    Some(json!({ "contents": [contents] }))
}
