//! The file manager of the fake desktop: one window, number 19, that shows what was revealed last, and nothing
//! before.

use super::Provider;
use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::files::{FileView, Files, Revealer};
use crate::window::WindowId;
use std::path::Path;

impl Files for Provider {
    fn revealer(&self, call: &Call) -> Result<Revealer> {
        self.enter(call, "files.revealer")?;
        Ok(Revealer::Starts(vec!["Files".to_owned()]))
    }

    fn reveal(&self, call: &Call, path: &Path) -> Result<String> {
        let mut world = self.enter(call, "files.reveal")?;
        world.log.push(format!("reveal {}", path.display()));
        let folder = path.parent().unwrap_or(path);
        world.file_view = Some(FileView {
            application: "Files".to_owned(),
            window: WindowId(19),
            title: folder.display().to_string(),
            folder: Some(folder.to_owned()),
            selected: vec![path.to_owned()],
            unknown: None,
        });
        Ok("fake".to_owned())
    }

    fn front(&self, call: &Call) -> Result<FileView> {
        let world = self.enter(call, "files.front")?;
        world.file_view.clone().ok_or_else(|| {
            Error::new(Code::WindowNotFound, "No file manager has a window.")
                .remedy("Open one with reveal_in_finder.")
        })
    }
}
