//! HTTP: the doors for clients that do not start the program themselves.
//!
//! `POST /` is plain JSON-RPC, `/mcp` is MCP; a person finds a page at `/`, a monitor `/health` and
//! `/metrics`. Whoever can reach a door works the desktop, so that every request passes [`guard`] first, and
//! nothing that a client does or leaves undone may cost more than its own connection.
//!
//! What a request means is not known here: that is [`crate::json_rpc`] and [`crate::mcp`].

pub mod body;
pub mod guard;
pub mod mcp;
pub mod metadata;
pub mod page;
pub mod places;
pub mod streams;
pub mod tls;
pub mod token;

use crate::call::{Client, Server};
use crate::json_rpc;
use crate::log;
use crate::mcp as protocol;
use body::{Content, Patient};
use deskhand_core::{Error, Result};
use guard::{Guard, Refusal, Sender};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use places::{Place, Places};
use serde_json::json;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use streams::Kept;
use token::Token;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The port of the documentation of plain JSON-RPC clients.
pub const PORT: u16 = 3457;

/// How the doors are kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name or address to listen at.
    pub host: String,
    /// The port; 0 is any that is free.
    pub port: u16,
    /// Who may come in.
    pub access: Access,
    /// Whether what is sent is encrypted, and by whom.
    pub tls: Option<tls::Identity>,
    /// Other names in `Host` that are ours.
    pub hosts: Vec<String>,
    /// Web pages that may call, by their origin.
    pub origins: Vec<String>,
    /// What a client may cost.
    pub limits: Limits,
    /// How MCP is served.
    pub mcp: protocol::Options,
    /// MCP without sessions: every request stands for itself.
    pub stateless: bool,
    /// Whether to listen at the address.
    pub tcp: bool,
    /// A Unix socket to serve at, as lines of MCP or as HTTP; only this user gets in.
    pub unix: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            host: "127.0.0.1".to_owned(),
            port: PORT,
            access: Access::Token(None),
            tls: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: Limits::default(),
            mcp: protocol::Options::default(),
            stateless: false,
            tcp: true,
            unix: None,
        }
    }
}

/// Who may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever knows the token. It is kept in this file, from start to start; without one a new token is made at
    /// each start, in a file among those of the session.
    Token(Option<PathBuf>),
    /// Every program of every user of this machine.
    Anybody,
}

/// What a client may cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest body of a request in bytes.
    pub body: usize,
    /// Bytes of all bodies that are being read at once.
    pub bodies: usize,
    /// How many connections are open at once.
    pub connections: usize,
    /// How long a client may take for the head of a request; also how long a connection may lie idle.
    pub head: Duration,
    /// How long it may take for a body.
    pub read: Duration,
    /// How long it may read nothing of an answer.
    pub write: Duration,
    /// How many requests a second are answered: of all clients with the token together, and of each address
    /// without.
    pub rate: Option<u32>,
    /// Bytes of events that are kept of all MCP sessions for clients that may ask for them again.
    pub kept: usize,
    /// How many of these events there may be.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 4 * 1024 * 1024,
            bodies: 64 * 1024 * 1024,
            connections: 2048,
            head: Duration::from_secs(30),
            read: Duration::from_secs(30),
            write: Duration::from_secs(30),
            rate: None,
            kept: 64 * 1024 * 1024,
            events: 20_000,
        }
    }
}

/// The longest head of a request in bytes, and the most headers in it.
const LONGEST_HEAD: usize = 32 * 1024;
const MOST_HEADERS: usize = 64;

/// How long what runs may go on after the program was told to stop.
const GRACE: Duration = Duration::from_millis(1500);

/// Serves over HTTP, and over standard input and output where that is asked for, until the process is told to
/// stop or the client at standard input goes.
pub fn run(server: &Arc<Server>, options: Options, with_stdio: Option<protocol::Options>) -> Result<()> {
    let failed = |what: &'static str| move |error| Error::backend(what).because(error);
    let runtime = protocol::runtime().map_err(failed("The server cannot be started."))?;
    #[cfg(unix)]
    room_for(options.limits.connections);
    let (stopping, stop) = watch::channel(false);
    let done = runtime.block_on(async {
        let told = protocol::stop_signal().map_err(failed("The server cannot be told to stop."))?;
        let shared = Shared::new(&options.limits);
        #[cfg(unix)]
        let socket = options.unix.clone().map(|path| {
            let guard = Guard::of_socket(&options);
            Socket::open(Hall::new(server, &options, guard, &shared, &stop), path)
        });
        #[cfg(unix)]
        let socket = socket.transpose()?;
        let doors = options.tcp.then(|| Doors::with(server, &options, &shared, &stop)).transpose()?;
        #[cfg(unix)]
        let socket = socket.map(|socket| tokio::spawn(socket.serve()));
        let serving = tokio::spawn(async move {
            match doors {
                Some(doors) => doors.serve().await,
                None => Ok(()),
            }
        });
        tokio::pin!(told);
        match with_stdio {
            Some(options) => {
                let (input, output) = protocol::stdio::open();
                protocol::serve(server, options, input, output, told).await;
            }
            None => told.await,
        }
        stopping.send_replace(true);
        #[cfg(unix)]
        if let Some(socket) = socket {
            let _ = socket.await;
        }
        match serving.await {
            Ok(served) => served.map_err(failed("The server ended.")),
            Err(error) => {
                Err(Error::new(deskhand_core::Code::Internal, "A defect ended the server.").os(error))
            }
        }
    });
    runtime.shutdown_background();
    done
}

/// Lets the process have as many files open as connections may be, where the system allows it.
#[cfg(unix)]
fn room_for(connections: usize) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let wanted = connections as u64 + 256;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            log::line("warn", "few_files", json!({ "os": error.to_string() }));
        }
    }
}

/// Doors that are open: bound, and not served yet.
pub struct Doors {
    hall: Arc<Hall>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
}

/// What the connections of one door share.
struct Hall {
    server: Arc<Server>,
    options: Options,
    guard: Guard,
    shared: Shared,
    stop: watch::Receiver<bool>,
}

/// What all doors share, so that a limit is one however many doors there are.
#[derive(Clone)]
struct Shared {
    places: Arc<Places>,
    /// Kilobytes of bodies.
    bodies: Arc<Semaphore>,
    sessions: Arc<mcp::Sessions>,
    kept: Arc<Kept>,
}

impl Shared {
    fn new(limits: &Limits) -> Shared {
        Shared {
            places: Places::new(limits.connections),
            bodies: Arc::new(Semaphore::new(limits.bodies.div_ceil(1024))),
            sessions: Arc::default(),
            kept: Kept::new(limits.kept, limits.events),
        }
    }
}

impl Hall {
    fn new(
        server: &Arc<Server>,
        options: &Options,
        guard: Guard,
        shared: &Shared,
        stop: &watch::Receiver<bool>,
    ) -> Arc<Hall> {
        let (server, options) = (server.clone(), options.clone());
        Arc::new(Hall { server, options, guard, shared: shared.clone(), stop: stop.clone() })
    }
}

impl Doors {
    /// Binds the address and makes the token. `stop` turns true when all is to end.
    pub fn open(server: Arc<Server>, options: Options, stop: watch::Receiver<bool>) -> Result<Doors> {
        Doors::with(&server, &options, &Shared::new(&options.limits), &stop)
    }

    fn with(
        server: &Arc<Server>,
        options: &Options,
        shared: &Shared,
        stop: &watch::Receiver<bool>,
    ) -> Result<Doors> {
        let tls = options.tls.as_ref().map(tls::Identity::acceptor).transpose()?;
        let (listener, address) = bind(options)?;
        let token = match &options.access {
            Access::Token(kept) => Some(Token::open(kept.clone(), address.port())?),
            Access::Anybody => None,
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        log::line(
            "info",
            "http",
            json!({
                "url": format!("{scheme}://{address}/"),
                "token_file": token.as_ref().map(|token| token.path().display().to_string()),
                "message": match &token {
                    Some(_) => "Send what the token file holds with every request: Authorization: Bearer TOKEN.",
                    None => "Without a token every program on this machine can work this desktop.",
                },
            }),
        );
        let guard = Guard::new(token, options, address);
        Ok(Doors { hall: Hall::new(server, options, guard, shared, stop), listener, address, tls })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token that clients have to send.
    pub fn token(&self) -> Option<&str> {
        self.hall.guard.token()
    }

    /// Serves until it is told to stop. What clients held is let go of when this returns.
    pub async fn serve(self) -> std::io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let (hall, tls) = (self.hall, self.tls);
        let accept = async move || listener.accept().await;
        serve_door(&hall, accept, |(stream, peer)| {
            let _ = stream.set_nodelay(true);
            #[cfg(target_os = "linux")]
            {
                // A peer that has vanished without a word is noticed.
                let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
                let patience = u32::try_from(hall.options.limits.write.as_millis()).unwrap_or(u32::MAX);
                let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, patience);
            }
            receive(hall.clone(), stream, peer.ip(), tls.clone())
        })
        .await;
        Ok(())
    }
}

/// Attends to who comes to a door, until all is to end.
async fn serve_door<C, F: Future<Output = ()> + Send + 'static>(
    hall: &Hall,
    accept: impl AsyncFn() -> std::io::Result<C>,
    attend: impl Fn(C) -> F,
) {
    let mut stop = hall.stop.clone();
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(Duration::from_secs(60));
    loop {
        tokio::select! {
            () = told(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => hall.shared.sessions.sweep(),
            accepted = accept() => match accepted {
                Ok(accepted) => {
                    connections.spawn(attend(accepted));
                }
                Err(error) => {
                    log::line("warn", "accept_failed", json!({ "os": error.to_string() }));
                    // Too many open files, most likely: some of them close by themselves.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    // The door is closed before those inside are waited for.
    drop(accept);
    hall.shared.sessions.end();
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

/// Waits until all is to end.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A Unix socket, where MCP is spoken in lines, and HTTP as well.
#[cfg(unix)]
struct Socket {
    listener: tokio::net::UnixListener,
    file: SocketFile,
    hall: Arc<Hall>,
}

/// The file of a socket, removed when nobody listens any more and not later: another server may make its own then.
#[cfg(unix)]
struct SocketFile(PathBuf);

#[cfg(unix)]
impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(unix)]
impl Socket {
    fn open(hall: Arc<Hall>, path: PathBuf) -> Result<Socket> {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt};
        let failed = |error: std::io::Error| {
            Error::backend(format!("Nothing can listen at {}.", path.display()))
                .because(error)
                .remedy("Name another path with --unix, in a folder that is yours.")
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            token::private_folder(folder).map_err(failed)?;
        }
        let is_socket = std::fs::symlink_metadata(&path).is_ok_and(|about| about.file_type().is_socket());
        // What an earlier server left behind is removed, what one answers at is not.
        if is_socket {
            if std::os::unix::net::UnixStream::connect(&path).is_ok() {
                return Err(failed(std::io::ErrorKind::AddrInUse.into()));
            }
            std::fs::remove_file(&path).map_err(failed)?;
        }
        // Nobody else gets in between its making and its mode.
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let bound = tokio::net::UnixListener::bind(&path);
        rustix::process::umask(before);
        let listener = bound.map_err(failed)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        log::line("info", "socket", json!({ "path": path.display().to_string() }));
        Ok(Socket { listener, file: SocketFile(path), hall })
    }

    async fn serve(self) {
        let Socket { listener, file, hall } = self;
        let accept = async move || {
            let _listening = &file;
            Ok(listener.accept().await?.0)
        };
        serve_door(&hall, accept, |stream| receive_here(hall.clone(), stream)).await;
    }
}

/// Attends to a client at the Unix socket.
#[cfg(unix)]
async fn receive_here(hall: Arc<Hall>, stream: tokio::net::UnixStream) {
    // The mode of a socket is not looked at everywhere.
    let own = rustix::process::getuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0) {
        return;
    }
    let Some(place) = hall.shared.places.enter().await else { return };
    place.is_known();
    let mut stop = hall.stop.clone();
    let first = tokio::select! {
        first = first_byte(&stream) => first,
        () = told(&mut stop) => None,
    };
    match first {
        // A method of HTTP. Messages of MCP begin with a brace.
        Some(b'A'..=b'Z') => attend(hall, stream, place, None).await,
        Some(_) => {
            let (input, output) = stream.into_split();
            let options = hall.options.mcp.clone();
            protocol::serve(&hall.server, options, input, output, async { told(&mut stop).await }).await;
        }
        None => {}
    }
}

/// The first byte that a client sends, which stays to be read.
#[cfg(unix)]
async fn first_byte(stream: &tokio::net::UnixStream) -> Option<u8> {
    use rustix::net::{RecvFlags, recv};
    let mut first = [0];
    loop {
        stream.readable().await.ok()?;
        let peeked = stream
            .try_io(tokio::io::Interest::READABLE, || Ok(recv(stream, &mut first[..], RecvFlags::PEEK)?.1));
        match peeked {
            Ok(read) => return (0 < read).then_some(first[0]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

/// Listens, if that is safe.
fn bind(options: &Options) -> Result<(std::net::TcpListener, SocketAddr)> {
    let place = format!("{}:{}", options.host, options.port);
    let cannot = |error: std::io::Error| {
        Error::backend(format!("Nothing can listen at {place}."))
            .because(error)
            .remedy("Choose another --port; another Deskhand may have this one.")
    };
    let host = options.host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = (host, options.port).to_socket_addrs().map_err(cannot)?.collect();
    if let Some(outside) = addresses.iter().find(|address| !address.ip().is_loopback()) {
        may_be_reached(outside.ip(), options)?;
    }
    let first =
        addresses.first().copied().ok_or_else(|| cannot(std::io::ErrorKind::AddrNotAvailable.into()))?;
    let listener = std::net::TcpListener::bind(first).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    Ok((listener, address))
}

/// Whether other machines may reach this address: they would read along without TLS, and work the desktop without
/// a token.
fn may_be_reached(outside: IpAddr, options: &Options) -> Result<()> {
    let refused = |what: &str, remedy: &str| {
        Err(Error::argument(format!("{outside} can be reached from other machines, and {what}."))
            .expected("a loopback address such as 127.0.0.1, or both TLS and a token")
            .remedy(remedy))
    };
    match (&options.tls, &options.access) {
        (None, _) => refused(
            "what is sent there is not encrypted",
            "Name a certificate and its key (--tls-cert PATH --tls-key PATH), or listen at 127.0.0.1 and reach it \
             through a tunnel: ssh -L 3457:127.0.0.1:3457 this-machine.",
        ),
        (Some(_), Access::Anybody) => refused(
            "everybody there could work this desktop without a token",
            "Leave out --no-auth, and give the token to those who may.",
        ),
        (Some(_), Access::Token(_)) => Ok(()),
    }
}

/// One connection: a client, from the first call that it makes until it goes.
struct Connection {
    hall: Arc<Hall>,
    client: OnceLock<Arc<Client>>,
    place: Place,
    /// Where it comes from, unless it is here.
    peer: Option<IpAddr>,
}

impl Connection {
    fn client(&self) -> &Arc<Client> {
        self.client.get_or_init(|| self.hall.server.client("http"))
    }
}

/// Attends to a client that came over the network.
async fn receive(hall: Arc<Hall>, stream: TcpStream, peer: IpAddr, tls: Option<TlsAcceptor>) {
    let limits = &hall.options.limits;
    let Some(place) = hall.shared.places.enter().await else {
        // One that speaks TLS would not understand it before the handshake, which is work.
        if tls.is_none() {
            body::turn_away(stream, limits.write).await;
        }
        return;
    };
    let Some(tls) = tls else { return attend(hall, stream, place, Some(peer)).await };
    let mut stop = hall.stop.clone();
    let stream = tokio::select! {
        stream = tls::accept(&tls, stream, limits.head) => stream,
        () = place.asked_to_leave() => None,
        () = told(&mut stop) => None,
    };
    if let Some(stream) = stream {
        attend(hall, stream, place, Some(peer)).await;
    }
}

/// Serves one connection until either side ends it.
async fn attend<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    hall: Arc<Hall>,
    stream: S,
    place: Place,
    peer: Option<IpAddr>,
) {
    let limits = &hall.options.limits;
    let mut stop = hall.stop.clone();
    let connection = Arc::new(Connection { hall: hall.clone(), client: OnceLock::new(), place, peer });
    let answering = connection.clone();
    let service = service_fn(move |request| {
        let connection = answering.clone();
        async move { Ok::<_, Infallible>(answer(&connection, request).await) }
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(MOST_HEADERS)
        .max_header_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(Patient::new(stream, limits.write)), service)
        .with_upgrades();
    {
        tokio::pin!(serving);
        // An error is the client's: it went, or sent what is no HTTP, and has been told.
        tokio::select! {
            _ = serving.as_mut() => {}
            () = connection.place.asked_to_leave() => {}
            () = told(&mut stop) => {
                serving.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(GRACE / 2, serving).await;
            }
        }
    }
    if let Some(client) = connection.client.get().cloned() {
        // It may have to wait for the pointer, to let go of a button.
        let _ = tokio::task::spawn_blocking(move || client.leave()).await;
    }
}

/// The answer to one request.
async fn answer(connection: &Connection, request: Request<Incoming>) -> Response<Content> {
    let origin = connection.hall.guard.named_origin(request.headers());
    let mut response = match route(connection, request).await {
        Ok(response) => response,
        Err(refusal) => {
            tokio::time::sleep(refusal.slow).await;
            refusal.into()
        }
    };
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin {
        guard::share_with(headers, origin);
    }
    response
}

async fn route(
    connection: &Connection,
    request: Request<Incoming>,
) -> std::result::Result<Response<Content>, Refusal> {
    let hall = &connection.hall;
    if hall.guard.admit(&request, connection.peer)? == Sender::Known {
        connection.place.is_known();
    }
    let (path, method) = (request.uri().path(), request.method());
    match path {
        "/" if method == Method::POST => {
            guard::require_json(request.headers())?;
            let body = body::read(request, &hall.options.limits, &hall.shared.bodies).await?;
            let answer = json_rpc::answer(&hall.server, connection.client(), &body).await;
            let Some(answer) = answer else { return Ok(empty(StatusCode::NO_CONTENT)) };
            Ok(reply("application/json", Content::from(answer)))
        }
        "/" if method == Method::GET || method == Method::HEAD => {
            Ok(reply("text/html; charset=utf-8", page::home(&hall.server).into()))
        }
        "/health" if method == Method::GET || method == Method::HEAD => {
            Ok(reply("application/json", page::health(&hall.server).into()))
        }
        "/metrics" if method == Method::GET => {
            let text = page::metrics(&hall.server);
            Ok(reply("text/plain; version=0.0.4; charset=utf-8", text.into()))
        }
        "/mcp" => mcp::answer(hall, request).await,
        "/" | "/health" | "/metrics" if method == Method::OPTIONS => Ok(empty(StatusCode::NO_CONTENT)),
        "/" => Err(Refusal::method("GET, POST")),
        "/health" | "/metrics" => Err(Refusal::method("GET")),
        _ => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "There is nothing here: POST / takes JSON-RPC, /mcp MCP.",
        )),
    }
}

fn reply(kind: &'static str, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn empty(status: StatusCode) -> Response<Content> {
    let mut response = Response::new(Content::default());
    *response.status_mut() = status;
    response
}

impl From<Refusal> for Response<Content> {
    /// JSON-RPC clients read the reason where they read every other error.
    fn from(refusal: Refusal) -> Response<Content> {
        log::line(
            "warn",
            "http_refused",
            json!({ "status": refusal.status.as_u16(), "message": refusal.message }),
        );
        let error = json!({ "code": json_rpc::INVALID_REQUEST, "message": refusal.message });
        let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
        let mut response = reply("application/json", body.to_string().into());
        *response.status_mut() = refusal.status;
        let headers = response.headers_mut();
        if let Some(allowed) = refusal.allowed {
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        if let Some(wait) = refusal.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil().max(1.0) as u64));
        }
        match refusal.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert("www-authenticate", HeaderValue::from_static("Bearer realm=\"deskhand\""));
            }
            // The rest of the body was not read, so that nothing more can be understood.
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => {
                headers.insert("connection", HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}
