//! What a person or a monitor reads: the page, the health and the numbers.

use crate::call::Server;
use crate::metrics::gauge;
use crate::profiles::Profile;
use serde_json::json;
use std::fmt::Write;

/// The page at `/`. It runs no script and loads nothing.
pub fn home(server: &Server) -> String {
    let mut rows = String::new();
    let listed = Profile::JsonRpc.shown().into_iter().filter(|shown| server.config.policy.lists(shown.row));
    for shown in listed {
        let about = escaped(shown.row.description());
        let _ = writeln!(rows, "<tr><td><code>{}</code><td>{about}", shown.name);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Deskhand</title>\n\
         <style>body{{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}}\
         td{{vertical-align:top;padding:.2em .6em}}</style>\n\
         <h1>Deskhand {version}</h1>\n\
         <p>This server lets an assistant or a script see and work the desktop of this computer.\n\
         It runs well: {calls} calls in {minutes} minutes.</p>\n\
         <ul>\n<li><code>POST /</code> takes JSON-RPC 2.0 with the tools below, and every other tool by name.\n\
         <li><code>/mcp</code> is for clients of the Model Context Protocol.\n\
         <li><a href=\"/health\">/health</a> tells programs whether it runs; <code>/metrics</code> tells them more.\n\
         </ul>\n<p>Requests that see or work the desktop need the token; the server's log names the file that holds \
         it.</p>\n<table>\n{rows}</table>\n",
        version = env!("CARGO_PKG_VERSION"),
        calls = server.metrics.calls(),
        minutes = server.metrics.uptime().as_secs() / 60,
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Whether the server runs. Tells nothing of the desktop: anybody may ask.
pub fn health(server: &Server) -> String {
    json!({
        "status": "ok",
        "name": "deskhand",
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_s": server.metrics.uptime().as_secs(),
    })
    .to_string()
}

/// The numbers in the text form of Prometheus.
pub fn metrics(server: &Server) -> String {
    let mut text = String::new();
    server.metrics.write(&mut text);
    let count = |value: usize| value as f64;
    gauge(&mut text, "deskhand_clients", "Clients that are connected.", count(server.clients()));
    let held = server.desktop.holds().all().len();
    gauge(&mut text, "deskhand_held", "Keys and buttons that clients hold down.", count(held));
    let uptime = server.metrics.uptime().as_secs_f64();
    gauge(&mut text, "deskhand_uptime_seconds", "How long the server runs.", uptime);
    #[cfg(target_os = "linux")]
    {
        if let Some(bytes) = resident() {
            gauge(&mut text, "process_resident_memory_bytes", "Memory that is in use.", bytes as f64);
        }
        let inside = |folder: &str| std::fs::read_dir(folder).map(Iterator::count).ok();
        if let Some(files) = inside("/proc/self/fd") {
            gauge(&mut text, "process_open_fds", "Files that are open.", count(files));
        }
        if let Some(threads) = inside("/proc/self/task") {
            gauge(&mut text, "process_threads", "Threads that run.", count(threads));
        }
    }
    text
}

#[cfg(target_os = "linux")]
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
