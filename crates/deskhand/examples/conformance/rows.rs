//! The tools that are rows: text, a picture, an error and progress, on the whole path of a call.

use crate::content::PIXEL;
use deskhand::call::Context;
use deskhand::tool::{Effect, Group, Picture, Reply, Row, Tool};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// The tools of this file.
pub const TOOLS: &[Row] = &[
    Row::of::<SimpleText>(),
    Row::of::<ImageContent>(),
    Row::of::<ErrorHandling>(),
    Row::of::<WithProgress>(),
];

/// Answers with a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimpleText {}

impl Tool for SimpleText {
    const NAME: &'static str = "test_simple_text";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::System;
    type Output = Reply;

    fn call(self, _: &Context) -> Result<Reply> {
        Ok(Reply::Reading("This is a simple text response for testing.".into()))
    }
}

/// Answers with a picture of one pixel.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageContent {}

impl Tool for ImageContent {
    const NAME: &'static str = "test_image_content";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Screen;
    type Output = Picture;

    fn call(self, _: &Context) -> Result<Picture> {
        let text = "One red pixel.".to_owned();
        Ok(Picture { base64: vec![PIXEL.into()], mime: "image/png", text, data: json!({}) })
    }
}

/// Fails.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorHandling {}

impl Tool for ErrorHandling {
    const NAME: &'static str = "test_error_handling";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::System;
    type Output = Reply;

    fn call(self, _: &Context) -> Result<Reply> {
        Err(Error::backend("This tool intentionally returns an error for testing"))
    }
}

/// Reports how far it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithProgress {}

impl Tool for WithProgress {
    const NAME: &'static str = "test_tool_with_progress";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::System;
    type Output = Reply;

    fn call(self, cx: &Context) -> Result<Reply> {
        for done in [0, 50, 100] {
            if let Some(progress) = &cx.progress {
                progress.report(done, 100, "on the way");
            }
            cx.call.pause(Duration::from_millis(50), "being on the way")?;
        }
        Ok(Reply::Reading("Done.".into()))
    }
}
