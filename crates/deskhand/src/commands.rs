//! What each command does.

mod install;

pub use install::install;

use super::*;
use deskhand::arguments;
use deskhand::call::Server;
use deskhand::connect::{ConnectOptions, Session, System, connect};
use deskhand::mcp;
use deskhand::profiles::Shown;
use deskhand::tool::{Reply, Row};
use deskhand::{consent, demo, doctor, encode, guards, log, tools};
use deskhand_core::{Code, Desktop, Result};
use serde_json::{Map, Value, json};
use std::io::Read;
use std::sync::{Arc, PoisonError};

/// `deskhand serve`. Serves without a display, too: then every tool says how to come by one, which the
/// client shows, while the standard error of a server that will not start is shown by few.
pub fn serve(arguments: ServeArguments) -> Result<ExitCode, Failure> {
    log::panics();
    let profile = arguments.profile.0;
    let options = mcp::Options { profile, longest_line: arguments.max_line_bytes, ..mcp::Options::default() };
    let doors = arguments.http.options(options.clone())?;
    let place = open(&arguments.place)?;
    let (desktop, session) = (place.desktop.clone(), &place.session);
    for note in &session.notes {
        log::line("info", "session", json!({ "message": note }));
    }
    if let Some(missing) = &session.missing {
        log::line("error", "session", json!({ "message": missing.reason, "remedy": missing.remedy }));
    }
    let config = arguments.limits.config(place.is_private());
    if config.guards.chord.is_some() {
        match desktop.person.resume() {
            Ok(true) => {
                log::line("info", "resumed", json!({ "message": "The person had stopped Deskhand before." }))
            }
            Ok(false) => {}
            Err(error) => {
                log::line("error", "resumed", json!({ "message": error.message, "os": error.detail.os }))
            }
        }
    }
    log::line(
        "info",
        "start",
        json!({
            "guards": guards::fields(&config),
            "version": env!("CARGO_PKG_VERSION"),
            "profile": profile.name(),
            "read_only": config.policy.read_only.then_some(true),
            "providers": desktop.choices.iter().map(|choice| {
                (choice.capability, choice.provider.as_ref().copied().unwrap_or("none"))
            }).collect::<std::collections::BTreeMap<_, _>>(),
        }),
    );
    #[cfg(target_os = "linux")]
    keep_tray(&desktop);
    let server = Server::new(desktop, config);
    if doors.tcp || doors.unix.is_some() {
        let with_stdio = arguments.http.stdio.then_some(options);
        deskhand::http::run(&server, doors, with_stdio).map_err(Failure::Refused)?;
    } else {
        mcp::serve_stdio(&server, options).map_err(|error| {
            Failure::Refused(Error::backend("Standard input and output cannot be served.").because(error))
        })?;
    }
    server.desktop.release_all();
    if place.outlives_us()
        && let Err(error) = server.desktop.leave()
    {
        log::line("error", "clipboard", json!({ "message": error.message, "os": error.detail.os }));
    }
    log::line("info", "end", json!({}));
    Ok(ExitCode::SUCCESS)
}

/// `deskhand connect`.
pub fn connect_to(arguments: ConnectArguments) -> Result<ExitCode, Failure> {
    let target = deskhand::bridge::Target::parse(&arguments.target).map_err(Failure::Usage)?;
    deskhand::bridge::run(&target, arguments.token_file).map_err(Failure::Refused)?;
    Ok(ExitCode::SUCCESS)
}

/// `deskhand call`.
pub fn call(arguments: CallArguments) -> Result<ExitCode, Failure> {
    if !arguments.verbose {
        log::silence();
    }
    let name = arguments.tool.as_str();
    let (row, _) =
        tools::find(name, Value::Null).ok_or_else(|| Failure::Usage(deskhand::call::unknown_tool(name)))?;
    let given = given(row, &arguments).map_err(Failure::Usage)?;
    // Wrong parameters are a wrong command line, not a tool that says no.
    if let Some((row, given)) = tools::find(name, given.clone()) {
        row.bind(given).map_err(Failure::Usage)?;
    }
    let place = open(&arguments.place)?;
    if arguments.verbose {
        place.session.notes.iter().for_each(|note| terminal::complain(note));
    }
    let private = place.is_private();
    let server = Server::new(place.desktop.clone(), arguments.limits.config(private));
    let result = run(&server, name, given).map_err(Failure::Refused)?;
    let failed = result.is_err();
    if place.outlives_us()
        && let Err(error) = server.desktop.leave()
    {
        terminal::complain(&Failure::Refused(error).to_string());
    }
    match (arguments.output, result) {
        (OutputForm::Json, result) => terminal::say(&format!("{:#}", encode::bare(&result))),
        (OutputForm::Text, result @ Err(_)) => terminal::complain(&encode::terminal(&result)),
        (OutputForm::Text, result) => terminal::say(&encode::terminal(&result)),
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs the call; Ctrl-C calls it off, so that nothing stays pressed.
fn run(server: &Arc<Server>, name: &str, given: Value) -> Result<Result<Reply>> {
    let client = server.client("command line");
    #[cfg(unix)]
    if !server.config.policy.confirm.is_empty() {
        let asker = consent::Terminal::open().map(|terminal| Arc::new(terminal) as Arc<dyn consent::Ask>);
        *client.asker.lock().unwrap_or_else(PoisonError::into_inner) = asker;
    }
    let prepared =
        server.prepare(&client, name, given, None).ok_or_else(|| deskhand::call::unknown_tool(name))?;
    let cancellation = prepared.cancellation();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::backend("The call cannot be started.").because(error))?;
    let result = runtime.block_on(async {
        let answer = server.answer(prepared);
        tokio::pin!(answer);
        tokio::select! {
            result = &mut answer => result,
            Ok(()) = tokio::signal::ctrl_c() => {
                cancellation.cancel();
                answer.await
            }
        }
    });
    let held = server.desktop.holds().of(client.id);
    if !held.is_empty() {
        terminal::complain("What the call left pressed is let go of now: a command holds nothing.");
        client.leave();
    }
    Ok(result)
}

/// The parameters, from --json and key=value together.
fn given(row: &Row, arguments: &CallArguments) -> Result<Value> {
    let mut given = match &arguments.json {
        None => Map::new(),
        Some(source) => object(source)?,
    };
    for parameter in &arguments.parameters {
        let (key, text) = parameter.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
            Error::argument(format!("{parameter:?} is no parameter."))
                .expected("key=value")
                .remedy(format!("deskhand tools {} shows the parameters.", row.name))
        })?;
        if given.insert(key.to_owned(), typed(row, key, text)).is_some() {
            return Err(Error::argument(format!("The parameter {key} is given twice.")));
        }
    }
    Ok(Value::Object(given))
}

fn object(source: &str) -> Result<Map<String, Value>> {
    let unreadable =
        |what: &str, error: std::io::Error| Error::argument(format!("{what} cannot be read.")).because(error);
    let text = if source == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| unreadable("The JSON on standard input", error))?;
        text
    } else if let Some(path) = source.strip_prefix('@') {
        std::fs::read_to_string(path).map_err(|error| unreadable(&format!("The file {path:?}"), error))?
    } else {
        source.to_owned()
    };
    let text = text.trim_start_matches('\u{feff}');
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Error::argument("What --json gives is no JSON object.")
            .expected("an object with a member for each parameter")),
        Err(error) => Err(Error::argument("What --json gives is not JSON.").because(error)),
    }
}

/// A value of the command line as the schema wants it: JSON where it is JSON of a type that the parameter
/// takes, a list where it takes one, else text.
fn typed(row: &Row, key: &str, text: &str) -> Value {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let Some(schema) = parameter(row, key, value.as_ref()) else {
        // A name that the schema does not have, for a tool of the same family: guess as JSON.
        return value.filter(|value| !value.is_string()).unwrap_or_else(|| json!(text));
    };
    let kinds = kinds(schema);
    if let Some(value) = value
        && kinds.contains(&kind(&value))
        && !value.is_string()
    {
        return value;
    }
    if kinds.contains(&"array") && !kinds.contains(&"string") {
        return text.split(',').map(|item| serde_json::from_str(item).unwrap_or(json!(item))).collect();
    }
    json!(text)
}

/// The schema of a parameter, also under its other names.
fn parameter<'a>(row: &'a Row, key: &str, value: Option<&Value>) -> Option<&'a Value> {
    let properties = row.input_schema().get("properties")?;
    properties.get(key).or_else(|| {
        let probe = json!({ key: value.cloned().unwrap_or(json!("")) });
        let renamed = arguments::rewrite(row, probe).ok()?;
        properties.get(renamed.as_object()?.keys().next()?)
    })
}

fn kinds(schema: &Value) -> Vec<&str> {
    let own = schema.get("type").and_then(Value::as_str);
    let options = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let mut kinds: Vec<&str> = own.into_iter().chain(options.flat_map(kinds)).collect();
    if kinds.contains(&"number") || kinds.contains(&"integer") {
        // A fraction where an integer is wanted is a fault to tell, not a text.
        kinds.extend(["number", "integer"]);
    }
    kinds
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// `deskhand tools`.
pub fn tools(arguments: &ToolsArguments) -> Result<ExitCode, Failure> {
    let text = match &arguments.tool {
        Some(name) => {
            let (row, _) = tools::find(name, Value::Null)
                .ok_or_else(|| Failure::Usage(deskhand::call::unknown_tool(name)))?;
            match arguments.output {
                OutputForm::Text => page(row),
                OutputForm::Json => format!("{:#}", listing(&[Shown::own(row)], arguments.profile.0)[0]),
            }
        }
        None => {
            let shown = arguments.profile.0.shown();
            match arguments.output {
                OutputForm::Text => table(&shown, arguments.profile.0),
                OutputForm::Json => format!("{:#}", listing(&shown, arguments.profile.0)),
            }
        }
    };
    terminal::say(&text);
    Ok(ExitCode::SUCCESS)
}

fn listing(shown: &[Shown], profile: Profile) -> Value {
    shown.iter().map(|shown| serde_json::to_value(profile.show(shown)).unwrap_or_default()).collect()
}

/// The tools in their groups, a line each.
fn table(shown: &[Shown], profile: Profile) -> String {
    let mut text = String::new();
    let mut groups: Vec<_> = Vec::new();
    shown.iter().for_each(|shown| {
        if !groups.contains(&shown.row.group) {
            groups.push(shown.row.group);
        }
    });
    for group in groups {
        text.push_str(&format!("{group:?}\n"));
        let lines: Vec<Vec<String>> = shown
            .iter()
            .filter(|shown| shown.row.group == group)
            .map(|Shown { name, row, .. }| {
                let sentence = row.description().split_inclusive(". ").next().unwrap_or_default();
                vec![(*name).to_owned(), row.effect.name().to_owned(), sentence.trim().to_owned()]
            })
            .collect();
        text.push_str(&terminal::columns(&lines));
        text.push('\n');
    }
    let all = tools::rows().count();
    text.push_str(&format!("{} tools in the profile {}, {all} in all.\n", shown.len(), profile.name()));
    text.push_str("deskhand tools NAME shows one, deskhand tools --profile full lists all.");
    text
}

/// One tool with everything that there is to know.
fn page(row: &'static Row) -> String {
    let schema = row.input_schema();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text =
        format!("{} ({}, {:?})\n\n{}\n", row.name, row.effect.name(), row.group, row.description());
    let others: Vec<&str> =
        tools::aliases().filter(|alias| alias.tool == row.name).map(|alias| alias.name).collect();
    if !others.is_empty() {
        text.push_str(&format!("\nOther names: {}\n", others.join(", ")));
    }
    let parameters: Vec<Vec<String>> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mark = if required.contains(&name.as_str()) { " (required)" } else { "" };
            let mut about = property["description"].as_str().unwrap_or_default().to_owned();
            if let Some(default) = property.get("default") {
                about.push_str(&format!(" Default: {default}."));
            }
            vec![format!("{name}{mark}"), arguments::form(property), about]
        })
        .collect();
    text.push_str("\nParameters\n");
    for parameter in &parameters {
        let [name, form, about] = &parameter[..] else { continue };
        text.push_str(&format!("  {name}: {form}\n"));
        if !about.is_empty() {
            text.push_str(&format!("      {about}\n"));
        }
    }
    let codes: Vec<&str> = row.errors.iter().map(|code: &Code| code.name()).collect();
    if !codes.is_empty() {
        text.push_str(&format!("\nCan fail with: {}\n", codes.join(", ")));
    }
    text
}

/// `deskhand doctor`.
pub fn doctor(arguments: DoctorArguments) -> Result<ExitCode, Failure> {
    log::silence();
    let place = open(&arguments.place)?;
    if arguments.fix {
        deskhand::connect::fix().map_err(Failure::Refused)?;
        terminal::complain(
            "Accessibility is on. Applications that run already may have to be started again.",
        );
    }
    let findings = doctor::examine(&place.desktop);
    let config = arguments.limits.config(place.is_private());
    let guards = guards::sentences(&place.desktop, &config);
    let text = match arguments.output {
        OutputForm::Json => {
            format!("{:#}", json!({ "session": place.session.notes, "findings": findings, "guards": guards }))
        }
        OutputForm::Text => {
            let mut text: String = place.session.notes.iter().map(|note| format!("{note}\n")).collect();
            text.push_str(&doctor::report(&findings));
            guards.iter().for_each(|guard| text.push_str(&format!("    {guard}\n")));
            text
        }
    };
    terminal::say(&text);
    Ok(if doctor::is_well(&findings) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `deskhand resume`.
pub fn resume(arguments: &ResumeArguments) -> Result<ExitCode, Failure> {
    log::silence();
    let place = open(&arguments.place)?;
    if let Some(missing) = &place.session.missing {
        return Err(Failure::Refused(missing.error()));
    }
    let was = place.desktop.person.resume().map_err(Failure::Refused)?;
    terminal::say(if was { "Deskhand goes on." } else { "It was not stopped." });
    Ok(ExitCode::SUCCESS)
}

/// `deskhand desktop`.
#[cfg(target_os = "linux")]
pub fn desktop(arguments: DesktopArguments) -> Result<ExitCode, Failure> {
    use deskhand::virtual_desktop::{Options, run_inside};
    let options = Options {
        displays: arguments.size.0,
        window_manager: arguments.window_manager,
        ..Options::default()
    };
    let code = run_inside(&options, &arguments.command).map_err(Failure::Refused)?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

#[cfg(not(target_os = "linux"))]
pub fn desktop(_: DesktopArguments) -> Result<ExitCode, Failure> {
    Err(Failure::Refused(noprivate_desktops()))
}

/// `deskhand demo`.
pub fn demo(arguments: &DemoArguments) -> Result<ExitCode, Failure> {
    demo::run(&arguments.picture, &mut std::io::stdout()).map_err(Failure::Refused)?;
    Ok(ExitCode::SUCCESS)
}

/// Where a command works.
struct Place {
    desktop: Arc<Desktop>,
    /// What was found out about the session.
    session: Session,
    /// The private desktop, which ends when this is dropped: after everything that works on it.
    #[cfg(target_os = "linux")]
    private: Option<deskhand::virtual_desktop::VirtualDesktop>,
}

impl Place {
    /// Whether it is a desktop of Deskhand's own, which no person uses.
    fn is_private(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.private.is_some() || std::env::var_os(deskhand_linux::PRIVATE_MARK).is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Whether the desktop is still there when this process has ended.
    fn outlives_us(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.private.is_none();
        #[cfg(not(target_os = "linux"))]
        true
    }
}

/// Finds the desktop, or starts a private one, and connects to it.
/// Begins to keep the notification area, where Deskhand does: applications look for who keeps it when they start.
#[cfg(target_os = "linux")]
fn keep_tray(desktop: &Arc<Desktop>) {
    let keeps = |choice: &deskhand_core::Choice| choice.provider == Ok(deskhand_linux::TRAY_HOST);
    if !desktop.choices.iter().any(keeps) {
        return;
    }
    let desktop = desktop.clone();
    let begun = std::thread::Builder::new().name("tray".into()).spawn(move || {
        let call = deskhand_core::Call::with_timeout(std::time::Duration::from_secs(10));
        if let Err(error) = desktop.status_items.list(&call) {
            log::line("error", "tray", json!({ "message": error.message, "os": error.detail.os }));
        }
    });
    if let Err(error) = begun {
        log::line("error", "tray", json!({ "message": error.to_string() }));
    }
}

fn open(place: &PlaceArguments) -> Result<Place, Failure> {
    let options = ConnectOptions {
        display: place.display.clone(),
        find_session: place.find_session == FindSession::Auto,
    };
    #[cfg(target_os = "linux")]
    let private = place.r#virtual.as_ref().map(startprivate).transpose().map_err(Failure::Refused)?;
    #[cfg(target_os = "linux")]
    let mut session = match &private {
        Some(private) => Session::private(private),
        None => Session::find(&options, &System::here()),
    };
    #[cfg(not(target_os = "linux"))]
    if place.r#virtual.is_some() {
        return Err(Failure::Refused(noprivate_desktops()));
    }
    #[cfg(not(target_os = "linux"))]
    let mut session = Session::find(&options, &System::here());
    session.tray_host |= place.tray_host;
    // SAFETY: this is the first thing that any command does; no thread of ours runs yet.
    unsafe { session.adopt() };
    let desktop = connect(&session);
    Ok(Place {
        desktop,
        session,
        #[cfg(target_os = "linux")]
        private,
    })
}

#[cfg(target_os = "linux")]
fn startprivate(sizes: &Sizes) -> Result<deskhand::virtual_desktop::VirtualDesktop> {
    use deskhand::virtual_desktop::{Options, START_TIMEOUT, VirtualDesktop};
    let options = Options { displays: sizes.0.clone(), ..Options::default() };
    VirtualDesktop::start(&deskhand_core::Call::with_timeout(START_TIMEOUT), &options)
}

#[cfg(not(target_os = "linux"))]
fn noprivate_desktops() -> Error {
    Error::unsupported("There are no private desktops on this system.")
        .remedy("Leave --virtual out to work on the desktop that you see.")
}
