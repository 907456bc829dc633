//! Every tool on a desktop in memory: what it answers, and what reached the desktop.
//!
//! [`desk::check`] makes one call and compares. `UPDATE_EXPECT=1 cargo test -p deskhand --test tools`
//! rewrites what is expected; read the difference before you believe it.

mod desk;

mod apps;
mod arguments;
mod audio;
mod automation;
mod clipboard;
mod elements;
mod errors;
mod files;
mod gesture;
mod guards;
mod keyboard;
mod lane;
mod macros;
mod masking;
mod menus;
mod mouse_control;
mod notifications;
mod observations;
mod ocr;
mod pointer;
mod policy;
mod random;
mod recording;
mod screen;
mod scripting;
mod sessions;
mod snapshots;
mod status_items;
mod steps;
mod system;
mod truth;
mod wait;
mod windows;
