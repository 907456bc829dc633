//! What was drawn to, lately.

use deskhand_core::Rect;
use std::collections::VecDeque;

/// Looks that are remembered. A mark that is older counts as changed.
const MOST_LOOKS: usize = 256;
/// Rectangles of one look; more are replaced by the one around them all.
const MOST_RECTS: usize = 16;

/// A bounded stream of changes. Each look that found something has a number; numbers only grow.
pub(super) struct Changes {
    /// Whatever is older than this has changed, for all that is known.
    floor: u64,
    looks: VecDeque<(u64, Vec<Rect>)>,
}

impl Changes {
    /// Everything before `number` is unknown.
    pub(super) fn starting_at(number: u64) -> Changes {
        Changes { floor: number, looks: VecDeque::new() }
    }

    /// The place in the stream that was reached.
    pub(super) fn newest(&self) -> u64 {
        self.looks.back().map_or(self.floor, |(number, _)| *number)
    }

    /// Adds what a look found.
    pub(super) fn add(&mut self, number: u64, drawn: &[Rect]) {
        let rects = if drawn.len() > MOST_RECTS {
            vec![drawn.iter().fold(Rect::default(), |all, rect| all.union(rect))]
        } else {
            drawn.to_vec()
        };
        self.looks.push_back((number, rects));
        if self.looks.len() > MOST_LOOKS
            && let Some((oldest, _)) = self.looks.pop_front()
        {
            self.floor = oldest;
        }
    }

    /// Everything has changed: the screen has another size, or changes cannot be seen.
    pub(super) fn everything(&mut self, number: u64) {
        self.floor = number;
        self.looks.clear();
    }

    /// The smallest rectangle around what was drawn within `area` since `mark`, if anything.
    pub(super) fn since(&self, mark: u64, area: &Rect) -> Option<Rect> {
        if mark < self.floor {
            return Some(*area);
        }
        self.looks
            .iter()
            .rev()
            .take_while(|(number, _)| mark < *number)
            .flat_map(|(_, rects)| rects)
            .filter_map(|rect| rect.intersection(area))
            .reduce(|all, rect| all.union(&rect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_drawn_since_the_mark_and_within_the_area_counts() {
        let mut changes = Changes::starting_at(10);
        changes.add(11, &[Rect::new(0, 0, 10, 10)]);
        let mark = changes.newest();
        changes.add(15, &[Rect::new(50, 50, 10, 10), Rect::new(80, 80, 5, 5)]);
        assert_eq!(changes.since(mark, &Rect::new(0, 0, 20, 20)), None);
        assert_eq!(changes.since(10, &Rect::new(0, 0, 20, 20)), Some(Rect::new(0, 0, 10, 10)));
        assert_eq!(changes.since(mark, &Rect::new(55, 0, 100, 100)), Some(Rect::new(55, 50, 30, 35)));
    }

    #[test]
    fn a_mark_from_before_the_memory_counts_as_changed() {
        let mut changes = Changes::starting_at(10);
        let area = Rect::new(500, 500, 1, 1);
        assert_eq!(changes.since(9, &area), Some(area));
        assert_eq!(changes.since(10, &area), None);
        for number in 11..11 + MOST_LOOKS as u64 + 1 {
            changes.add(number, &[Rect::new(0, 0, 1, 1)]);
        }
        assert_eq!(changes.since(10, &area), Some(area));
        assert_eq!(changes.since(11, &area), None);
    }

    #[test]
    fn many_rectangles_become_one() {
        let mut changes = Changes::starting_at(1);
        let drawn: Vec<_> = (0..40).map(|n| Rect::new(n * 10, 0, 5, 5)).collect();
        changes.add(2, &drawn);
        assert_eq!(changes.since(1, &Rect::new(5, 0, 5, 5)), Some(Rect::new(5, 0, 5, 5)));
    }
}
