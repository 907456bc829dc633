//! The fake clipboard. Ctrl+V pastes its text into what has the keyboard.

use super::Provider;
use super::world::World;
use crate::call::Call;
use crate::clipboard::{
    Changes, Clipboard, Entry, Fetched, GivenBack, History, Kind, Loan, Offer, Owner, Part, Selection,
};
use crate::error::{Code, Error, Result};
use std::time::{Duration, Instant, SystemTime};

/// What the two selections hold, and who watches.
#[derive(Default)]
pub(super) struct Board {
    holds: [Option<Copied>; 2],
    /// Processes that have pasted since something was lent.
    pasted: Vec<u32>,
    history: Option<History>,
    /// Puts back what is cleared, as some clipboard managers do.
    pub clings: bool,
    last: u64,
    /// How often it changed, loans aside.
    changes: u64,
}

#[derive(Clone)]
struct Copied {
    parts: Vec<Part>,
    owner: Owner,
    secret: bool,
    number: u64,
}

fn place(selection: Selection) -> usize {
    match selection {
        Selection::Clipboard => 0,
        Selection::Primary => 1,
    }
}

fn name(selection: Selection) -> &'static str {
    ["clipboard", "primary"][place(selection)]
}

impl Board {
    fn copy(
        &mut self,
        selection: Selection,
        parts: Vec<Part>,
        owner: &Owner,
        secret: bool,
        quiet: bool,
    ) -> u64 {
        self.last += 1;
        if selection == Selection::Clipboard && !quiet {
            self.changes += 1;
        }
        if let Some(history) = &mut self.history
            && selection == Selection::Clipboard
            && !quiet
        {
            if secret {
                history.withheld += 1;
            } else {
                let number = history.entries.first().map_or(0, |entry| entry.number) + 1;
                history.entries.insert(0, entry(number, &parts, owner));
            }
        }
        let copied = Copied { parts, owner: owner.clone(), secret, number: self.last };
        self.holds[place(selection)] = Some(copied);
        self.last
    }

    /// The text that a paste by `pid` gets.
    pub fn paste(&mut self, pid: u32) -> Option<String> {
        let copied = self.holds[0].as_ref()?;
        let text = copied.parts.iter().find_map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Html(_) | Part::Image(_) | Part::Files(_) => None,
        })?;
        self.pasted.push(pid);
        Some(text)
    }
}

fn own() -> Owner {
    Owner { name: "Deskhand".to_owned(), pid: None }
}

fn entry(number: u64, parts: &[Part], owner: &Owner) -> Entry {
    let mut entry = Entry {
        number,
        time: SystemTime::UNIX_EPOCH,
        kinds: parts.iter().map(Part::kind).collect(),
        owner: Some(owner.clone()),
        text: None,
        cut: false,
        files: Vec::new(),
    };
    for part in parts {
        match part {
            Part::Text(text) => entry.text = Some(text.clone()),
            Part::Files(files) => entry.files = files.clone(),
            Part::Html(_) | Part::Image(_) => {}
        }
    }
    entry
}

impl World {
    /// An application copies something; a password manager marks it as secret.
    pub fn person_copies(&mut self, parts: Vec<Part>, secret: bool) {
        let owner = Owner { name: "editor".to_owned(), pid: Some(101) };
        self.board.copy(Selection::Clipboard, parts, &owner, secret, false);
    }

    /// What the clipboard holds, secrets too.
    pub fn copied(&self, selection: Selection) -> Vec<Part> {
        self.board.holds[place(selection)].as_ref().map(|copied| copied.parts.clone()).unwrap_or_default()
    }

    /// A clipboard manager puts back what is cleared.
    pub fn cling_to_clipboard(&mut self, clings: bool) {
        self.board.clings = clings;
    }
}

impl Clipboard for Provider {
    fn offer(&self, call: &Call, selection: Selection) -> Result<Option<Offer>> {
        let world = self.enter(call, "clipboard.offer")?;
        Ok(world.board.holds[place(selection)].as_ref().map(|copied| Offer {
            kinds: copied.parts.iter().map(Part::kind).collect(),
            formats: copied.parts.iter().map(|part| format!("fake/{}", part.kind().name())).collect(),
            owner: Some(copied.owner.clone()),
            secret: copied.secret,
        }))
    }

    fn fetch(&self, call: &Call, selection: Selection, kind: Kind, most: usize) -> Result<Option<Fetched>> {
        let world = self.enter(call, "clipboard.fetch")?;
        let Some(copied) = &world.board.holds[place(selection)] else { return Ok(None) };
        if copied.secret {
            return Err(Error::new(Code::PermissionDenied, "What is on the clipboard is marked as secret.")
                .remedy("Let the person paste it."));
        }
        Ok(copied.parts.iter().find(|part| part.kind() == kind).map(|part| cut(part, most)))
    }

    fn put(&self, call: &Call, selection: Selection, parts: Vec<Part>) -> Result<()> {
        let mut world = self.enter(call, "clipboard.put")?;
        world.log.push(format!("copy to {}: {parts:?}", name(selection)));
        world.board.copy(selection, parts, &own(), false, false);
        Ok(())
    }

    fn clear(&self, call: &Call, selection: Selection) -> Result<()> {
        let mut world = self.enter(call, "clipboard.clear")?;
        world.log.push(format!("clear {}", name(selection)));
        if !world.board.clings {
            world.board.holds[place(selection)] = None;
            world.board.changes += u64::from(selection == Selection::Clipboard);
        }
        Ok(())
    }

    fn lend(&self, call: &Call, parts: Vec<Part>) -> Result<Box<dyn Loan>> {
        let mut world = self.enter(call, "clipboard.lend")?;
        world.log.push(format!("lend: {parts:?}"));
        let before = world.board.holds[0].clone();
        world.board.pasted.clear();
        let number = world.board.copy(Selection::Clipboard, parts, &own(), true, true);
        Ok(Box::new(FakeLoan { provider: self.clone(), before, number, over: false }))
    }

    fn changes(&self, call: &Call) -> Result<Box<dyn Changes>> {
        let seen = self.enter(call, "clipboard.changes")?.board.changes;
        Ok(Box::new(FakeChanges { provider: self.clone(), seen }))
    }

    fn watch(&self, call: &Call, on: bool) -> Result<()> {
        let mut world = self.enter(call, "clipboard.watch")?;
        if !on {
            world.board.history = None;
        } else if world.board.history.is_none() {
            world.board.history = Some(History { watching: true, ..History::default() });
        }
        Ok(())
    }

    fn history(&self, call: &Call) -> Result<History> {
        let world = self.enter(call, "clipboard.history")?;
        Ok(world.board.history.clone().unwrap_or_default())
    }

    fn leave(&self, _: &Call) -> Result<()> {
        Ok(())
    }
}

struct FakeChanges {
    provider: Provider,
    seen: u64,
}

impl Changes for FakeChanges {
    fn next(&mut self, call: &Call, until: Instant) -> Result<bool> {
        loop {
            self.provider.suffer(call, "clipboard.next")?;
            let shared = &self.provider.0;
            let mut world = shared.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            world.catch_up();
            if self.seen != world.board.changes {
                self.seen = world.board.changes;
                return Ok(true);
            }
            let now = Instant::now();
            if until <= now {
                return Ok(false);
            }
            call.check("waiting for the clipboard to change")?;
            // A cancellation does not signal this condition, so look at it now and then.
            let nap = (until - now).min(call.remaining()).min(Duration::from_millis(10));
            drop(shared.moved.wait_timeout(world, nap));
        }
    }
}

fn cut(part: &Part, most: usize) -> Fetched {
    let shorten = |text: &str| {
        let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text[..end].to_owned()
    };
    let (short, bytes) = match part {
        Part::Text(text) => (Part::Text(shorten(text)), text.len()),
        Part::Html(html) => (Part::Html(shorten(html)), html.len()),
        Part::Image(png) => (Part::Image(png[..png.len().min(most)].to_vec()), png.len()),
        Part::Files(files) => (Part::Files(files.clone()), files.len()),
    };
    Fetched { cut: short != *part, part: short, bytes: bytes as u64 }
}

struct FakeLoan {
    provider: Provider,
    before: Option<Copied>,
    number: u64,
    over: bool,
}

impl Loan for FakeLoan {
    fn fetched(&mut self, call: &Call, reader: Option<u32>, _: Instant) -> Result<bool> {
        let world = self.provider.enter(call, "clipboard.fetched")?;
        Ok(world.board.pasted.iter().any(|pid| reader.is_none_or(|reader| reader == *pid)))
    }

    fn give_back(mut self: Box<Self>, _: &Call) -> Result<GivenBack> {
        Ok(self.put_back())
    }
}

impl FakeLoan {
    fn put_back(&mut self) -> GivenBack {
        self.over = true;
        let mut world = self.provider.world();
        let now = world.board.holds[0].as_ref().map(|copied| copied.number);
        if now != Some(self.number) {
            return GivenBack::Superseded;
        }
        world.log.push("give back".to_owned());
        world.board.holds[0] = self.before.clone();
        match &self.before {
            Some(copied) => {
                GivenBack::Restored(copied.parts.iter().map(|part| part.kind().name().to_owned()).collect())
            }
            None => GivenBack::Empty,
        }
    }
}

impl Drop for FakeLoan {
    fn drop(&mut self) {
        if !self.over {
            self.put_back();
        }
    }
}
