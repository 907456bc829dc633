//! Looks at the elements of a running desktop: `elements list`, `elements tree PROCESS|all`,
//! `elements time PROCESS`, `elements focused`, `elements watch`, `elements at X Y`.

use deskhand_core::Call;
use deskhand_core::element::{Bounds, Element, Elements, Root, TreeQuery};
use deskhand_core::geometry::Point;
use deskhand_core::window::Windows;
use deskhand_linux::atspi::{Atspi, Session};
use deskhand_linux::x11::window::XWindows;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let display = std::env::var("DISPLAY")?;
    let shared = Arc::new(XWindows::new(&display));
    let list = |call: &Call| shared.list(call);
    let session = Session { display: display.clone(), bus: None };
    let handed = shared.clone();
    let atspi = Atspi::new(session, Box::new(move |call| handed.list(call)));
    let call = || Call::with_timeout(Duration::from_secs(10));
    let mut out = std::io::stdout().lock();
    let root = |name: &str| -> Result<Root, Box<dyn std::error::Error>> {
        if name == "all" {
            return Ok(Root::Desktop);
        }
        if let Some(id) = name.strip_prefix("window:") {
            return Ok(Root::Window(deskhand_core::window::WindowId(id.parse()?)));
        }
        let apps = atspi.applications(&call())?;
        let app = apps.iter().find(|app| app.name.to_lowercase().contains(&name.to_lowercase()));
        Ok(Root::Process(app.and_then(|app| app.pid).ok_or("no such application")?))
    };
    match *words {
        ["list"] => {
            for app in atspi.applications(&call())? {
                writeln!(out, "{app:?}")?;
            }
            for window in list(&call())? {
                writeln!(out, "{window:?}")?;
            }
        }
        ["tree", name] => {
            let mut query = TreeQuery::new(root(name)?);
            query.actions = true;
            let tree = atspi.tree(&call(), &query)?;
            for node in &tree.nodes {
                writeln!(out, "{}{}", "  ".repeat(node.depth as usize), line(&node.element))?;
            }
            writeln!(out, "{} elements, cut {}, silent {:?}", tree.nodes.len(), tree.cut, tree.silent)?;
        }
        ["time", name] => {
            let root = root(name)?;
            for bounds in [Bounds::No, Bounds::Showing, Bounds::All] {
                let query = TreeQuery { bounds, ..TreeQuery::new(root.clone()) };
                let mut times = Vec::new();
                let mut count = 0;
                for _ in 0..20 {
                    let began = Instant::now();
                    count = atspi.tree(&call(), &query)?.nodes.len();
                    times.push(began.elapsed());
                }
                times.sort();
                writeln!(out, "{bounds:?}: {count} elements, median {:?}, best {:?}", times[10], times[0])?;
            }
        }
        ["focused"] => writeln!(out, "{:?}", atspi.focused(&call())?.map(|element| line(&element)))?,
        ["at", x, y] => {
            let point = Point::new(x.parse()?, y.parse()?);
            let windows = list(&call())?;
            let window =
                windows.iter().find(|window| window.bounds.contains(point)).ok_or("no window there")?;
            let began = Instant::now();
            let element = atspi.at(&call(), window.id, point)?;
            writeln!(out, "{:?} in {:?}", element.map(|element| line(&element)), began.elapsed())?;
        }
        ["watch"] => {
            let mut watch = atspi.watch(&call())?;
            let until = Instant::now() + Duration::from_secs(8);
            while let Some(change) = watch.next(&call(), until)? {
                writeln!(out, "{change:?}")?;
            }
        }
        ["perform", name, element, action] => {
            let tree = atspi.tree(&call(), &TreeQuery::new(root(name)?))?;
            let node =
                tree.nodes.iter().find(|node| node.element.name == element).ok_or("no such element")?;
            atspi.perform(&call(), &node.element.id, action)?;
        }
        ["set", name, role, value] => {
            let tree = atspi.tree(&call(), &TreeQuery::new(root(name)?))?;
            let node =
                tree.nodes.iter().find(|node| node.element.role.name() == role).ok_or("no such element")?;
            atspi.set_value(&call(), &node.element.id, value)?;
            writeln!(out, "{:?}", line(&atspi.element(&call(), &node.element.id)?))?;
        }
        _ => {
            return Err(
                "list | tree PROCESS | time PROCESS | focused | at X Y | watch | perform … | set …".into()
            );
        }
    }
    Ok(())
}

fn line(element: &Element) -> String {
    let bounds = element.bounds.map_or(String::new(), |bounds| format!(" [{bounds}]"));
    let value = element.value.as_ref().map_or(String::new(), |value| format!(" = {value:?}"));
    let states: Vec<&str> = element.states.iter().map(|state| state.name()).collect();
    format!(
        "{} {:?}{value}{bounds} ({}) {:?} w{} {}",
        element.role,
        element.name,
        states.join(" "),
        element.actions,
        element.window.map_or(0, |window| window.0),
        element.id.0
    )
}
