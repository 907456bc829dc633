//! Seeing and acting through an X server.

pub mod input;
pub mod link;
pub mod screen;
pub mod window;
