//! Deskhand on Linux: one provider for each capability, chosen once.

pub mod app;
pub mod atspi;
pub mod session;
pub mod x11;
