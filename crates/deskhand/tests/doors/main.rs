//! The doors of the program: MCP over standard input and output, and the command line. One binary, because
//! each test binary links everything.

mod cli;
mod connection;
mod examples;
mod http;
mod install;
mod packages;
mod process;
mod python;
mod settings;
mod stand_in;
mod streamable;
mod tls;
mod transcripts;
