//! The touchscreen of the fake desktop. One finger is taken for the pointer, as applications do that know no
//! fingers; of several nobody takes notice.

use super::Provider;
use crate::call::Call;
use crate::error::Result;
use crate::geometry::Point;
use crate::input::Button;
use crate::touch::{Fingers, Touch};

impl Touch for Provider {
    fn surface(&self, call: &Call) -> Result<String> {
        drop(self.enter(call, "touch.surface")?);
        Ok("the fake screen".to_owned())
    }

    fn fingers(&self, call: &Call) -> Result<Box<dyn Fingers>> {
        drop(self.enter(call, "touch.fingers")?);
        Ok(Box::new(FakeFingers { provider: self.clone(), down: Vec::new(), touches: 0 }))
    }
}

struct FakeFingers {
    provider: Provider,
    down: Vec<Point>,
    touches: usize,
}

impl Fingers for FakeFingers {
    fn place(&mut self, call: &Call, at: &[Point]) -> Result<()> {
        let mut world = self.provider.enter(call, "touch.place")?;
        let begins = self.down.is_empty();
        if begins {
            world.log.push(format!("fingers down {}", line(at)));
            self.touches += at.len();
        }
        if let [point] = at {
            world.move_pointer(*point);
            if begins {
                world.press(Button::Left);
            }
        }
        self.down = at.to_vec();
        Ok(())
    }

    fn lift(&mut self, call: &Call) -> Result<usize> {
        drop(self.provider.enter(call, "touch.lift")?);
        self.up();
        Ok(self.touches)
    }
}

impl FakeFingers {
    fn up(&mut self) {
        let down = std::mem::take(&mut self.down);
        if !down.is_empty() {
            let mut world = self.provider.world();
            world.log.push(format!("fingers up {}", line(&down)));
            if down.len() == 1 {
                world.release(Button::Left);
            }
        }
    }
}

impl Drop for FakeFingers {
    fn drop(&mut self) {
        self.up();
    }
}

fn line(points: &[Point]) -> String {
    points.iter().map(|point| format!("{},{}", point.x, point.y)).collect::<Vec<_>>().join(" ")
}
