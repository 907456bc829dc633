//! Seeing and acting through an X server.

pub mod clipboard;
pub mod input;
pub mod keyboard;
pub mod link;
pub mod lock;
mod locker;
pub mod person;
pub mod screen;
pub mod touch;
pub mod window;
