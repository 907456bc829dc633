//! The file manager.

use crate::desk::Desk;
use deskhand_core::files::FileView;
use deskhand_core::window::WindowId;
use expect_test::expect;
use serde_json::json;

#[test]
fn files_are_shown_and_what_is_selected_is_told() {
    let desk = Desk::new();
    let folder = std::env::temp_dir().join("deskhand-fake-files");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("50%25 ü.txt"), "four").unwrap();
    desk.check(
        "get_selected_files",
        json!({}),
        expect![[r#"
        window_not_found: No file manager has a window.
          remedy: Open one with reveal_in_finder.
    "#]],
    );
    let shown = desk.data("reveal_in_finder", json!({ "path": folder.join("50%25 ü.txt") }));
    assert_eq!((&shown["effect"], &shown["window"]), (&json!("confirmed"), &json!(19)), "{shown}");
    let selected = desk.data("get_selected_files", json!({}));
    assert_eq!(selected["files"][0]["name"], "50%25 ü.txt");
    assert_eq!((&selected["files"][0]["kind"], &selected["files"][0]["size"]), (&json!("file"), &json!(4)));
    assert_eq!(desk.data("get_finder_window_path", json!({}))["path"], json!(folder));
    let missing = desk.error("reveal_in_finder", json!({ "path": folder.join("50%25 u.txt") }));
    assert_eq!(missing.detail.found, ["50%25 ü.txt"]);
    desk.control.change(|world| {
        world.set_file_view(Some(FileView {
            application: "Files".to_owned(),
            window: WindowId(19),
            title: "Trash".to_owned(),
            folder: None,
            selected: Vec::new(),
            unknown: Some("It does not say which folder it shows.".to_owned()),
        }));
    });
    desk.check(
        "get_finder_window_path",
        json!({}),
        expect![[r#"
        application: Files
        window: 19
        title: Trash
        reason: "It does not say which folder it shows."
    "#]],
    );
    desk.check(
        "get_selected_files",
        json!({}),
        expect![[r#"
        files: 
        count: 0
        application: Files
        window: 19
        unknown: "It does not say which folder it shows."
        truncated: false
    "#]],
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
