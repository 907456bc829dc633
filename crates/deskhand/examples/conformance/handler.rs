//! The handler around the table's: what the suite asks for and Deskhand has not.

use crate::asking::{self, Round, ask, question, result, typed};
use crate::{Everybody, content};
use deskhand::call::Outbox;
use deskhand::mcp::Mcp;
use deskhand::mcp::lines::Course;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CompleteRequestParams,
    CompleteResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

type Context = RequestContext<RoleServer>;

/// The handler of one connection.
pub struct Fixture {
    table: Mcp,
    everybody: Everybody,
    /// The client has said how much it wants to be told.
    logs: AtomicBool,
}

impl Fixture {
    /// Around the table's handler.
    pub fn new(table: Mcp, everybody: Everybody) -> Fixture {
        Fixture { table, everybody, logs: AtomicBool::new(false) }
    }

    fn capabilities() -> ServerCapabilities {
        let capabilities = json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true },
            "completions": {},
            "logging": {},
        });
        serde_json::from_value(capabilities).unwrap_or_default()
    }

    /// Three words on the way, if the client wants to hear them.
    async fn with_logging(&self, context: &Context, course: &Course) -> Result<CallToolResult, ErrorData> {
        let wanted = context.meta.0.0.contains_key("io.modelcontextprotocol/logLevel");
        let legacy = context.protocol_version().is_some_and(|version| version.has_initialize());
        for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            if wanted || legacy && self.logs.load(Ordering::Relaxed) {
                course.notify("notifications/message", json!({ "level": "info", "data": text }));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        done("Done.")
    }
}

fn done(text: &str) -> Result<CallToolResult, ErrorData> {
    result(json!({ "content": [{ "type": "text", "text": text }] }))
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let mut config = self.table.get_info();
        config.capabilities = Fixture::capabilities();
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        let mut own = self.table.initialize(request, context).await?;
        own.capabilities = Fixture::capabilities();
        Ok(own)
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        let mut own = self.table.discover(context).await?;
        own.capabilities = Fixture::capabilities();
        Ok(own)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut own = self.table.list_tools(request, context).await?;
        if own.next_cursor.is_none() {
            own.tools.extend(typed::<Vec<Tool>>(content::tools())?);
        }
        Ok(own)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(course) = context.extensions.get::<Course>().cloned() else {
            return self.table.call_tool(request, context).await;
        };
        let name: &str = &request.name;
        let arguments = request.arguments.clone().map_or(Value::Null, Value::Object);
        if let Some(content) = content::of_tool(name) {
            return Ok(result::<CallToolResult>(content)?.into());
        }
        if let Some((method, params)) = question(name, &arguments) {
            let answer = ask(course, method, params).await?;
            return Ok(done(&format!("Answer: {answer}"))?.into());
        }
        match name {
            "test_tool_with_logging" | "test_logging_tool" => {
                return Ok(self.with_logging(&context, &course).await?.into());
            }
            "test_missing_capability" => {
                if context.client_capabilities().is_none_or(|declared| declared.sampling.is_none()) {
                    let needed: ClientCapabilities = typed(json!({ "sampling": {} }))?;
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
                return Ok(done("Done.")?.into());
            }
            "test_trigger_tool_change" => self.everybody.tell("notifications/tools/list_changed"),
            "test_trigger_prompt_change" => self.everybody.tell("notifications/prompts/list_changed"),
            _ => {
                let capabilities = serde_json::to_value(context.client_capabilities()).unwrap_or_default();
                let answers = request.input_responses.clone().unwrap_or_default();
                let round = Round {
                    tool: name,
                    answers: &answers,
                    state: request.request_state.as_deref(),
                    capabilities: &capabilities,
                };
                if let Some(response) = asking::round(&round)? {
                    return Ok(response);
                }
                return self.table.call_tool(request, context).await;
            }
        }
        Ok(done("Done.")?.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut own = self.table.list_resources(request, context).await?;
        own.resources.extend(typed::<Vec<Resource>>(content::resources())?);
        Ok(own)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut own = self.table.list_resource_templates(request, context).await?;
        own.resource_templates.extend(typed::<Vec<ResourceTemplate>>(content::templates())?);
        Ok(own)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match content::of_resource(&request.uri) {
            Some(contents) => Ok(result::<ReadResourceResult>(contents)?.into()),
            None => self.table.read_resource(request, context).await,
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        result(json!({ "prompts": content::prompts() }))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        if let Some(prompt) = content::of_prompt(&request.name, &arguments) {
            return Ok(result::<GetPromptResult>(prompt)?.into());
        }
        if request.name != "test_input_required_result_prompt" {
            return Err(ErrorData::invalid_params(
                format!("There is no prompt called {:?}.", request.name),
                None,
            ));
        }
        let answers = request.input_responses.unwrap_or_default();
        let Some(answer) = answers.get("user_context") else { return Ok(asking::context()?.into()) };
        let text = format!("Context: {}", answer["content"]["context"]);
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        Ok(result::<GetPromptResult>(json!({ "messages": [message] }))?.into())
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        result(
            json!({ "completion": { "values": ["paris", "park", "party"], "total": 3, "hasMore": false } }),
        )
    }

    #[allow(deprecated, reason = "the versions that have initialize log this way")]
    async fn set_level(&self, _: rmcp::model::SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.logs.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    #[allow(deprecated, reason = "the versions that have initialize subscribe this way")]
    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        if request.uri == content::WATCHED { Ok(()) } else { self.table.subscribe(request, context).await }
    }

    #[allow(deprecated, reason = "the versions that have initialize subscribe this way")]
    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        if request.uri == content::WATCHED { Ok(()) } else { self.table.unsubscribe(request, context).await }
    }
}
