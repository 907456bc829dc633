//! Accessibility elements over AT-SPI (D-Bus).
