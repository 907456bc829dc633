//! Deskhand: see and work a desktop over MCP, JSON-RPC and from a terminal.

pub mod arguments;
pub mod call;
pub mod connect;
pub mod demo;
pub mod doctor;
pub mod encode;
pub mod files;
pub mod images;
pub mod line;
pub mod log;
pub mod macros;
pub mod mcp;
pub mod notices;
pub mod observations;
pub mod policy;
pub mod profiles;
pub mod recording;
pub mod refs;
pub mod sessions;
pub mod snapshot;
pub mod steps;
pub mod terminal;
pub mod tool;
pub mod tools;
#[cfg(target_os = "linux")]
pub mod virtual_desktop;
