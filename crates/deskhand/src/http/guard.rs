//! Who may come in: what is checked of every request before anything else is read of it.
//!
//! A web page in the person's browser can send requests to this machine, and with a name that it makes point
//! here (DNS rebinding) it can read the answers: so `Host` has to be one of ours, and `Origin` none that was
//! not named. Other users of the machine lack the token.

use super::Options;
use super::token::Token;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Request, StatusCode};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// The reason and the remedy.
    pub message: Cow<'static, str>,
    /// The methods that are taken here.
    pub allowed: Option<&'static str>,
}

impl Refusal {
    /// A refusal with this status.
    pub fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status, message: message.into(), allowed: None }
    }

    /// Nothing of this method is taken here.
    pub fn method(allowed: &'static str) -> Refusal {
        let message = format!("This method is not taken here; these are: {allowed}.");
        Refusal { allowed: Some(allowed), ..Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message) }
    }
}

/// What a request is held against.
pub struct Guard {
    token: Option<Token>,
    /// The values of `Host` that are ours.
    hosts: Vec<String>,
    origins: Vec<String>,
    rate: Option<Rate>,
}

impl Guard {
    /// The guard of an address.
    pub fn new(token: Option<Token>, options: &Options, address: SocketAddr) -> Guard {
        let port = address.port();
        let bound = options.host.trim_start_matches('[').trim_end_matches(']');
        let bound = if bound.contains(':') { format!("[{bound}]") } else { bound.to_owned() };
        let ours = ["127.0.0.1", "localhost", "[::1]", &bound];
        let mut hosts = Vec::new();
        for name in ours.into_iter().chain(options.hosts.iter().map(String::as_str)) {
            let name = name.to_ascii_lowercase();
            // Browsers and clients leave the usual port out, and a name may be given with its port.
            if port == 80 || name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
                hosts.push(name.clone());
            }
            hosts.push(format!("{name}:{port}"));
        }
        hosts.dedup();
        let origins = options.origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        Guard { token, hosts, origins: origins.collect(), rate: options.limits.rate.map(Rate::new) }
    }

    /// The token that clients have to send.
    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(Token::text)
    }

    /// Lets a request in, or says why not.
    pub fn admit<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        if let Some(rate) = &self.rate
            && !rate.take()
        {
            let message = "More requests came within a second than are answered; wait a moment.";
            return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, message));
        }
        self.host(request)?;
        self.origin(request.headers())?;
        let path = request.uri().path();
        // These tell nothing of the desktop, and a browser has no token to send before it asks whether it may.
        let open = matches!(path, "/" | "/health") && matches!(*request.method(), Method::GET | Method::HEAD)
            || *request.method() == Method::OPTIONS;
        if open { Ok(()) } else { self.bearer(request.headers()) }
    }

    fn host<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let wrong = |host: &str| {
            let message = format!(
                "The Host {host:?} is not this server's. Use 127.0.0.1 or localhost with the port, or start \
                 Deskhand with --allow-host {host}."
            );
            Refusal::new(StatusCode::FORBIDDEN, message)
        };
        let mut named = request.headers().get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().map_err(|_| wrong("?"))?,
            (None, _) => return Err(Refusal::new(StatusCode::BAD_REQUEST, "The request has no Host.")),
            (Some(_), Some(_)) => {
                return Err(Refusal::new(StatusCode::BAD_REQUEST, "The request has several Hosts."));
            }
        };
        let ours = |host: &str| self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host));
        if !ours(host) {
            return Err(wrong(host));
        }
        match request.uri().authority() {
            Some(other) if !ours(other.as_str()) => Err(wrong(other.as_str())),
            _ => Ok(()),
        }
    }

    fn origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut named = headers.get_all(ORIGIN).iter();
        let Some(origin) = named.next() else { return Ok(()) };
        let known = origin.to_str().is_ok_and(|origin| {
            let origin = origin.to_ascii_lowercase();
            let own =
                origin.strip_prefix("http://").is_some_and(|host| self.hosts.iter().any(|ours| ours == host));
            own || self.origins.contains(&origin)
        });
        if known && named.next().is_none() {
            return Ok(());
        }
        let message =
            "Web pages of this Origin may not call. Start Deskhand with --allow-origin ORIGIN to allow it.";
        Err(Refusal::new(StatusCode::FORBIDDEN, message))
    }

    /// The origin of a request that was named, for the answer.
    pub fn named_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        self.origins.contains(&text).then(|| origin.clone())
    }

    fn bearer(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let sent = match (given.next(), given.next()) {
            (Some(sent), None) => sent.as_bytes(),
            _ => &[],
        };
        let bearer = sent.split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
        if bearer.is_some_and(|(_, sent)| token.is(sent.trim_ascii())) {
            return Ok(());
        }
        let message = "The token is missing or wrong. Send Authorization: Bearer TOKEN; the log of this server \
            names the file that holds it when it starts.";
        Err(Refusal::new(StatusCode::UNAUTHORIZED, message))
    }
}

/// Lets a page of this origin read the answer.
pub fn share_with(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
             Last-Event-ID",
        ),
    );
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id"));
}

/// A form of a web page can send other types to anywhere without asking first.
pub fn require_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "The Content-Type has to be application/json.";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

/// So many requests a second, and as many at once.
struct Rate {
    most: f64,
    left: Mutex<(f64, Instant)>,
}

impl Rate {
    fn new(most: u32) -> Rate {
        let most = f64::from(most);
        Rate { most, left: Mutex::new((most, Instant::now())) }
    }

    fn take(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let grown = left.0 + now.duration_since(left.1).as_secs_f64() * self.most;
        let there = grown.min(self.most);
        let taken = 1.0 <= there;
        *left = (if taken { there - 1.0 } else { there }, now);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(options: &Options) -> Guard {
        Guard::new(Some(Token::of("secret")), options, "127.0.0.1:3457".parse().unwrap())
    }

    /// The status of a request with these headers; 200 is let in.
    fn status(guard: &Guard, line: &str, headers: &[(&str, &str)]) -> u16 {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.admit(&request.body(()).unwrap()).map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_what_names_this_server_and_knows_the_token_comes_in() {
        let guard = guard(&Options::default());
        let auth = ("authorization", "Bearer secret");
        let host = ("host", "127.0.0.1:3457");
        let cases: &[(&str, &[(&str, &str)], u16)] = &[
            ("POST /", &[host, auth], 200),
            ("POST /", &[("host", "LOCALHOST:3457"), auth], 200),
            ("POST /", &[("host", "[::1]:3457"), auth], 200),
            ("POST /", &[host, ("authorization", "bearer secret")], 200),
            // Names that a page can make point here, or another server of this machine.
            ("POST /", &[("host", "evil.example:3457"), auth], 403),
            ("POST /", &[("host", "127.0.0.1.evil.example:3457"), auth], 403),
            ("POST /", &[("host", "127.0.0.1:80"), auth], 403),
            ("POST /", &[("host", "127.0.0.1"), auth], 403),
            ("POST http://evil.example:3457/", &[host, auth], 403),
            ("POST /", &[auth], 400),
            ("POST /", &[host, host, auth], 400),
            ("GET /health", &[("host", "evil.example")], 403),
            ("GET /", &[("host", "evil.example")], 403),
            // Web pages.
            ("POST /", &[host, auth, ("origin", "https://evil.example")], 403),
            ("POST /", &[host, auth, ("origin", "null")], 403),
            ("POST /", &[host, auth, ("origin", "http://localhost:8080")], 403),
            ("POST /", &[host, auth, ("origin", "http://localhost:3457")], 200),
            ("GET /health", &[host, ("origin", "https://evil.example")], 403),
            ("OPTIONS /", &[host, ("origin", "https://evil.example")], 403),
            // The token.
            ("POST /", &[host], 401),
            ("POST /", &[host, ("authorization", "Bearer")], 401),
            ("POST /", &[host, ("authorization", "Bearer ")], 401),
            ("POST /", &[host, ("authorization", "Bearer secre")], 401),
            ("POST /", &[host, ("authorization", "Bearer secrets")], 401),
            ("POST /", &[host, ("authorization", "Basic secret")], 401),
            ("POST /", &[host, auth, auth], 401),
            ("GET /metrics", &[host], 401),
            ("GET /mcp", &[host], 401),
            ("DELETE /mcp", &[host], 401),
            ("GET /nothing", &[host], 401),
            ("GET /", &[host], 200),
            ("GET /health", &[host], 200),
        ];
        for (line, headers, wanted) in cases {
            assert_eq!(status(&guard, line, headers), *wanted, "{line} {headers:?}");
        }
    }

    #[test]
    fn what_was_named_comes_in_too() {
        let guard = guard(&Options {
            hosts: vec!["desk.example".into(), "proxy.example:443".into()],
            origins: vec!["https://app.example/".into()],
            ..Options::default()
        });
        let auth = ("authorization", "Bearer secret");
        assert_eq!(status(&guard, "POST /", &[("host", "desk.example:3457"), auth]), 200);
        assert_eq!(status(&guard, "POST /", &[("host", "proxy.example:443"), auth]), 200);
        let page = ("origin", "https://app.example");
        assert_eq!(status(&guard, "POST /", &[("host", "localhost:3457"), auth, page]), 200);
        assert_eq!(status(&guard, "OPTIONS /", &[("host", "localhost:3457"), page]), 200);
    }

    #[test]
    fn so_many_a_second() {
        let rate = Rate::new(3);
        let taken = (0..10).filter(|_| rate.take()).count();
        assert!((3..=4).contains(&taken), "{taken}");
    }

    #[test]
    fn only_json_is_taken() {
        let with = |kind: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
            require_json(&headers).is_ok()
        };
        assert!(with("application/json") && with("Application/JSON; charset=utf-8"));
        for other in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
        {
            assert!(!with(other), "{other}");
        }
        assert!(require_json(&HeaderMap::new()).is_err());
    }
}
