//! Fingers as the kernel tells of them: its multi-touch protocol, type B
//! (<https://docs.kernel.org/input/multi-touch-protocol.html>).

use std::io::{self, Write};

pub(super) const EV_SYN: u16 = 0;
pub(super) const EV_KEY: u16 = 1;
pub(super) const EV_ABS: u16 = 3;
const SYN_REPORT: u16 = 0;
pub(super) const BTN_TOUCH: u16 = 0x14a;
pub(super) const ABS_X: u16 = 0;
pub(super) const ABS_Y: u16 = 1;
pub(super) const ABS_MT_SLOT: u16 = 0x2f;
pub(super) const ABS_MT_POSITION_X: u16 = 0x35;
pub(super) const ABS_MT_POSITION_Y: u16 = 0x36;
pub(super) const ABS_MT_TRACKING_ID: u16 = 0x39;
/// Numbers of touches begin anew after this one.
pub(super) const LAST_TRACKING_ID: i32 = 0xffff;

/// The fingers of one device. Dropping this lifts them.
pub struct Contacts<W: Write> {
    sink: W,
    down: usize,
    next_id: i32,
}

impl<W: Write> Contacts<W> {
    /// A device on which no finger is.
    pub fn new(sink: W) -> Contacts<W> {
        Contacts { sink, down: 0, next_id: 0 }
    }

    /// Where each finger is now, in units of the device. Those that are up come down.
    pub fn place(&mut self, at: &[(i32, i32)]) -> io::Result<()> {
        let mut report = Report::default();
        for (slot, (x, y)) in at.iter().enumerate() {
            report.add(EV_ABS, ABS_MT_SLOT, slot as i32);
            if self.down <= slot {
                report.add(EV_ABS, ABS_MT_TRACKING_ID, self.next_id);
                self.next_id = if self.next_id == LAST_TRACKING_ID { 0 } else { self.next_id + 1 };
            }
            report.add(EV_ABS, ABS_MT_POSITION_X, *x);
            report.add(EV_ABS, ABS_MT_POSITION_Y, *y);
        }
        if self.down == 0 && !at.is_empty() {
            report.add(EV_KEY, BTN_TOUCH, 1);
        }
        // For readers that know one finger only.
        if let Some((x, y)) = at.first() {
            report.add(EV_ABS, ABS_X, *x);
            report.add(EV_ABS, ABS_Y, *y);
        }
        // Before it is written: what may have come down is lifted, too.
        self.down = self.down.max(at.len());
        report.send(&mut self.sink)
    }

    /// Lifts every finger.
    pub fn lift(&mut self) -> io::Result<()> {
        if self.down == 0 {
            return Ok(());
        }
        let mut report = Report::default();
        for slot in 0..self.down {
            report.add(EV_ABS, ABS_MT_SLOT, slot as i32);
            report.add(EV_ABS, ABS_MT_TRACKING_ID, -1);
        }
        report.add(EV_KEY, BTN_TOUCH, 0);
        report.send(&mut self.sink)?;
        self.down = 0;
        Ok(())
    }
}

impl<W: Write> Drop for Contacts<W> {
    fn drop(&mut self) {
        // The kernel lifts what is left on a device that goes away.
        let _ = self.lift();
    }
}

/// What happened at one moment.
#[derive(Default)]
struct Report(Vec<u8>);

impl Report {
    /// A `struct input_event`; the kernel fills in its time, which is two words long.
    fn add(&mut self, kind: u16, code: u16, value: i32) {
        self.0.extend_from_slice(&[0; 2 * size_of::<usize>()]);
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(&code.to_ne_bytes());
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    fn send(mut self, sink: &mut impl Write) -> io::Result<()> {
        self.add(EV_SYN, SYN_REPORT, 0);
        sink.write_all(&self.0)
    }
}
