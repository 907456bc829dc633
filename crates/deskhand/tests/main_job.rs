//! The main job, end to end: a client starts the program with a desktop of its own, launches a calculator
//! and an editor, presses 5 + 3 = by element, reads 8, types many scripts, reads them back, and takes a
//! picture. `deskhand demo` checks every step by what the applications show and fails otherwise.

use std::process::Command;

#[test]
fn a_client_works_real_applications() {
    let possible = ["Xvfb", "openbox", "galculator", "mousepad"].iter().all(|name| installed(name));
    if !possible && std::env::var_os("REQUIRE_DESKTOP").is_none() {
        eprintln!(
            "SKIPPED: Xvfb, openbox, galculator and mousepad are needed; REQUIRE_DESKTOP=x11 makes this fail."
        );
        return;
    }
    let picture = std::env::temp_dir().join(format!("deskhand-main-job-{}.png", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_deskhand"))
        .arg("demo")
        .arg(&picture)
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for step in ["press 5", "read the display", "type many scripts", "reads back exactly", "take a picture"] {
        assert!(told.contains(step), "{step} is missing:\n{told}");
    }
    let bytes = std::fs::read(&picture).expect("the picture is there");
    assert!(bytes.starts_with(b"\x89PNG"), "{} bytes that are no PNG", bytes.len());
    let _ = std::fs::remove_file(&picture);
}

fn installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
