//! The program as a process: how it starts, ends, and what it does when nobody reads.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The built program, far from any desktop.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DESKHAND_") {
            command.env_remove(name);
        }
    }
    for name in
        ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "MCP_MOUSE_TIMEOUT_MS"]
    {
        command.env_remove(name);
    }
    command.env("DESKHAND_FIND_SESSION", "never").env("XDG_RUNTIME_DIR", "/nonexistent");
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

struct Served {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Served {
    fn start(mut command: Command) -> Served {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Served { child, output }
    }

    fn send(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a reply: {line:?}"))
    }

    fn ends_within(mut self, time: Duration) -> Option<i32> {
        let deadline = Instant::now() + time;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "the program ends within {time:?}");
            std::thread::yield_now();
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[cfg(unix)]
#[test]
fn signals_end_it_with_success() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let mut served = Served::start(program(&["serve"]));
        served.send(PING);
        served.receive();
        served.signal(signal);
        assert_eq!(served.ends_within(Duration::from_secs(5)), Some(0));
    }
}

#[test]
fn the_end_of_the_input_ends_it_with_success() {
    let mut served = Served::start(program(&["serve"]));
    served.send(PING);
    served.receive();
    served.child.stdin.take();
    assert_eq!(served.ends_within(Duration::from_secs(5)), Some(0));
}

#[test]
fn a_client_that_leaves_the_log_unread_is_served() {
    let mut served = Served::start(program(&["serve"]));
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "click", "arguments": { "x": 1, "y": "x".repeat(150) } },
    })
    .to_string();
    // Far more log than a pipe holds.
    for _ in 0..1500 {
        served.send(&call);
        assert_eq!(served.receive()["result"]["isError"], true);
    }
    let mut log = String::new();
    let stderr = served.child.stderr.take().unwrap();
    served.child.stdin.take();
    BufReader::new(stderr).read_to_string(&mut log).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert_eq!(served.ends_within(Duration::from_secs(5)), Some(0));
}

#[test]
fn a_client_that_goes_without_a_word_ends_it() {
    let mut served = Served::start(program(&["serve"]));
    let Served { output, .. } = &mut served;
    drop(std::mem::replace(output, BufReader::new(dead_output())));
    served.send(PING);
    assert_eq!(served.ends_within(Duration::from_secs(5)), Some(0));
}

fn dead_output() -> ChildStdout {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    child.wait().unwrap();
    output
}

#[test]
fn files_and_sockets_serve_as_well_as_pipes() {
    let folder = std::env::temp_dir().join(format!("deskhand-doors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (input, output) = (folder.join("in"), folder.join("out"));
    std::fs::write(&input, format!("{PING}\n")).unwrap();
    let status = program(&["serve"])
        .stdin(std::fs::File::open(&input).unwrap())
        .stdout(std::fs::File::create(&output).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    std::fs::remove_dir_all(folder).unwrap();

    #[cfg(unix)]
    {
        use std::os::fd::OwnedFd;
        use std::os::unix::net::UnixStream;
        let (near, far) = UnixStream::pair().unwrap();
        let mut child = program(&["serve"])
            .stdin(OwnedFd::from(far.try_clone().unwrap()))
            .stdout(OwnedFd::from(far))
            .spawn()
            .unwrap();
        (&near).write_all(format!("{PING}\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&near).read_line(&mut line).unwrap();
        assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        near.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn without_a_display_every_call_says_what_to_do() {
    let mut served = Served::start(program(&["serve"]));
    served.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_windows"}}"#);
    let reply = served.receive();
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("DISPLAY is not set") && text.contains("--virtual"), "{text}");
}

/// Two clients of one server that runs by itself, one in each way.
#[cfg(unix)]
#[test]
fn connect_bridges_to_a_server_that_runs() {
    let folder = std::env::temp_dir().join(format!("deskhand-connect-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (socket, token) = (folder.join("desk.sock"), folder.join("token"));
    let mut server = program(&["serve", "--http", "--port", "0"])
        .arg("--token-file")
        .arg(&token)
        .arg("--unix")
        .arg(&socket)
        .spawn()
        .unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap());
    let url = loop {
        let mut line = String::new();
        assert!(0 < log.read_line(&mut line).unwrap(), "it serves");
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["event"] == "http" {
            break line["url"].as_str().unwrap().to_owned();
        }
    };
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&socket).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    for target in [socket.display().to_string(), url.clone()] {
        let mut command = program(&["connect", &target]);
        command.arg("--token-file").arg(&token);
        let mut served = Served::start(command);
        for _ in 0..2 {
            served.send(PING);
            assert_eq!(served.receive(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        }
        drop(served.child.stdin.take());
        assert_eq!(served.ends_within(Duration::from_secs(5)), Some(0), "{target}");
    }
    // HTTP is spoken there as well, without a token, and by no page.
    let curl = |more: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--unix-socket"]).arg(&socket);
        let output = curl.args(["-H", "Content-Type: application/json"]).args(more).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = curl(&["--data", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "http://desk/"]);
    let listed: Value = serde_json::from_str(&listed).unwrap_or_else(|_| panic!("{listed:?}"));
    assert_eq!(listed["result"]["tools"][0]["name"], "launchProcess");
    assert!(curl(&["http://localhost/health"]).contains("\"ok\""));
    assert!(
        curl(&["-H", "Origin: http://localhost", "--data", "{}", "http://localhost/"]).contains("Origin")
    );
    let refused = program(&["connect", &url]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--token-file"), "{refused:?}");
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
    assert!(!socket.exists() && token.exists());
    std::fs::remove_dir_all(folder).unwrap();
}
