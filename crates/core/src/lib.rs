//! What a desktop is: the model, the capability traits and the errors.
//!
//! This crate names no operating system, no window system, no protocol and no tool. A backend crate
//! implements the traits for one system; the program builds tools from them.

pub mod app;
pub mod audio;
pub mod call;
pub mod clipboard;
pub mod desktop;
pub mod element;
pub mod error;
pub mod fake;
pub mod files;
pub mod geometry;
pub mod guard;
pub mod input;
pub mod key;
pub mod lane;
pub mod menu;
pub mod near;
pub mod notification;
pub mod ocr;
pub mod person;
pub mod screen;
pub mod script;
pub mod selector;
pub mod status_item;
pub mod system;
pub mod touch;
pub mod watch;
pub mod window;

pub use call::Call;
pub use desktop::{Choice, Desktop, Missing};
pub use error::{Code, Error, Result};
pub use geometry::{Display, Frame, Point, Rect, Size};
pub use guard::Guards;
