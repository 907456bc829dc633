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
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// The reason and the remedy.
    pub message: Cow<'static, str>,
    /// The methods that are taken here.
    pub allowed: Option<&'static str>,
    /// When another try may do better.
    pub retry_after: Option<Duration>,
    /// How long the refusal itself takes: who tries tokens gets few answers.
    pub slow: Duration,
}

impl Refusal {
    /// A refusal with this status.
    pub fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Refusal {
        let (allowed, retry_after, slow) = (None, None, Duration::ZERO);
        Refusal { status, message: message.into(), allowed, retry_after, slow }
    }

    fn too_many(message: &'static str, wait: Duration) -> Refusal {
        Refusal { retry_after: Some(wait), ..Refusal::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    /// Nothing of this method is taken here.
    pub fn method(allowed: &'static str) -> Refusal {
        let message = format!("This method is not taken here; these are: {allowed}.");
        Refusal { allowed: Some(allowed), ..Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message) }
    }
}

/// Who sends a request that was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Somebody who may do everything.
    Known,
    /// Somebody who reads what is open to all.
    Stranger,
}

/// How many requests without the right token an address has free, before it gets one in each [`SLOW`].
const FREE_GUESSES: u32 = 10;

/// How long the answer to one guess too many takes, and how soon the next is free.
const SLOW: Duration = Duration::from_secs(1);

/// What a request is held against.
pub struct Guard {
    token: Option<Token>,
    hosts: Hosts,
    origins: Vec<String>,
    /// What those who have the token may send together, and each address that does not.
    rate: Option<(Bucket, PerAddress)>,
    guesses: PerAddress,
}

/// The values of `Host` that are ours.
enum Hosts {
    /// At a Unix socket: no web page reaches it, whatever name it has.
    Any,
    /// These, with the scheme that is before them; and every address, where all are listened at: a web page can make
    /// a name point here, and no address.
    Named { scheme: &'static str, names: Vec<String>, any_address: Option<u16> },
}

impl Hosts {
    fn of(options: &Options, address: SocketAddr) -> Hosts {
        let port = address.port();
        let (scheme, usual) = if options.tls.is_some() { ("https://", 443) } else { ("http://", 80) };
        let bound = options.host.trim_start_matches('[').trim_end_matches(']');
        let bound = if bound.contains(':') { format!("[{bound}]") } else { bound.to_owned() };
        let ours = ["127.0.0.1", "localhost", "[::1]", &bound];
        let mut names = Vec::new();
        for name in ours.into_iter().chain(options.hosts.iter().map(String::as_str)) {
            let name = name.to_ascii_lowercase();
            // Browsers and clients leave the usual port out, and a name may be given with its port.
            if port == usual || name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
                names.push(name.clone());
            }
            names.push(format!("{name}:{port}"));
        }
        names.dedup();
        Hosts::Named { scheme, names, any_address: address.ip().is_unspecified().then_some(port) }
    }

    fn has(&self, host: &str) -> bool {
        match self {
            Hosts::Any => true,
            Hosts::Named { scheme, names, any_address } => {
                let usual = if *scheme == "https://" { 443 } else { 80 };
                let is_address = |port| {
                    host.parse().is_ok_and(|address: SocketAddr| address.port() == port)
                        || port == usual
                            && host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
                };
                names.iter().any(|name| name.eq_ignore_ascii_case(host))
                    || any_address.is_some_and(is_address)
            }
        }
    }

    /// Whether a page of this origin is one that this server itself has sent.
    fn has_origin(&self, origin: &str) -> bool {
        match self {
            Hosts::Any => false,
            Hosts::Named { scheme, .. } => origin.strip_prefix(scheme).is_some_and(|host| self.has(host)),
        }
    }
}

impl Guard {
    /// The guard of an address.
    pub fn new(token: Option<Token>, options: &Options, address: SocketAddr) -> Guard {
        Guard::of(token, options, Hosts::of(options, address))
    }

    /// The guard of a Unix socket, which only its owner reaches.
    pub fn of_socket(options: &Options) -> Guard {
        Guard::of(None, options, Hosts::Any)
    }

    fn of(token: Option<Token>, options: &Options, hosts: Hosts) -> Guard {
        let origins = options.origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        let rate = options.limits.rate.map(|most| {
            let each = f64::from(most);
            (Bucket::new(each, each), PerAddress::new(each, each))
        });
        let guesses = PerAddress::new(f64::from(FREE_GUESSES), 1.0 / SLOW.as_secs_f64());
        Guard { token, hosts, origins: origins.collect(), rate, guesses }
    }

    /// The token that clients have to send.
    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(Token::text)
    }

    /// Lets a request in, or says why not. Those without the right token are counted by their address, so that
    /// they take nothing from those who have it.
    pub fn admit<B>(&self, request: &Request<B>, peer: Option<IpAddr>) -> Result<Sender, Refusal> {
        let bearer = self.bearer(request.headers());
        if let Some((known, strangers)) = &self.rate {
            let taken = if bearer.is_ok() { known.take() } else { strangers.take(peer) };
            taken.map_err(|wait| {
                let message = "More requests came within a second than are answered; wait a moment.";
                Refusal::too_many(message, wait)
            })?;
        }
        self.host(request)?;
        self.origin(request.headers())?;
        let path = request.uri().path();
        // These tell nothing of the desktop, and a browser has no token to send before it asks whether it may.
        let open = matches!(path, "/" | "/health") && matches!(*request.method(), Method::GET | Method::HEAD)
            || *request.method() == Method::OPTIONS;
        match bearer {
            Ok(()) => Ok(Sender::Known),
            Err(_) if open => Ok(Sender::Stranger),
            Err(refusal) => match self.guesses.take(peer) {
                Ok(()) => Err(refusal),
                Err(wait) => {
                    let message =
                        "Too many requests without the right token came from this address; wait a moment.";
                    Err(Refusal { slow: SLOW, ..Refusal::too_many(message, wait) })
                }
            },
        }
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
        if !self.hosts.has(host) {
            return Err(wrong(host));
        }
        match request.uri().authority() {
            Some(other) if !self.hosts.has(other.as_str()) => Err(wrong(other.as_str())),
            _ => Ok(()),
        }
    }

    fn origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut named = headers.get_all(ORIGIN).iter();
        let Some(origin) = named.next() else { return Ok(()) };
        let known = origin.to_str().is_ok_and(|origin| {
            let origin = origin.to_ascii_lowercase();
            self.hosts.has_origin(&origin) || self.origins.contains(&origin)
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

/// So many at once, and as they are taken, so many more a second.
struct Bucket {
    most: f64,
    each_second: f64,
    left: Mutex<(f64, Instant)>,
}

impl Bucket {
    fn new(most: f64, each_second: f64) -> Bucket {
        Bucket { most, each_second, left: Mutex::new((most, Instant::now())) }
    }

    /// Takes one, or says how long until there is one.
    fn take(&self) -> Result<(), Duration> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let grown = left.0 + now.duration_since(left.1).as_secs_f64() * self.each_second;
        let there = grown.min(self.most);
        let taken = 1.0 <= there;
        *left = (if taken { there - 1.0 } else { there }, now);
        if taken { Ok(()) } else { Err(Duration::from_secs_f64((1.0 - there) / self.each_second)) }
    }
}

/// How many buckets there are for all addresses.
const BUCKETS: usize = 256;

/// A bucket for each address. They are few, and which addresses share one nobody can foresee, so that no number of
/// addresses costs more memory.
struct PerAddress {
    buckets: Vec<Bucket>,
    hash: RandomState,
}

impl PerAddress {
    fn new(most: f64, each_second: f64) -> PerAddress {
        let buckets = std::iter::repeat_with(|| Bucket::new(most, each_second)).take(BUCKETS).collect();
        PerAddress { buckets, hash: RandomState::new() }
    }

    fn take(&self, peer: Option<IpAddr>) -> Result<(), Duration> {
        // Whoever has one address of version 6 has all of its network.
        let network = match peer {
            Some(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
                Some(address) => u128::from(address.to_bits()),
                None => address.to_bits() >> 64 << 64,
            },
            Some(IpAddr::V4(address)) => u128::from(address.to_bits()),
            None => 0,
        };
        self.buckets[self.hash.hash_one(network) as usize % BUCKETS].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(options: &Options) -> Guard {
        Guard::new(Some(Token::of("secret")), options, "127.0.0.1:3457".parse().unwrap())
    }

    fn peer(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, number]))
    }

    /// The status of a request with these headers; 200 is let in.
    fn status(guard: &Guard, line: &str, headers: &[(&str, &str)]) -> u16 {
        status_for(guard, peer(1), line, headers)
    }

    fn status_for(guard: &Guard, peer: Option<IpAddr>, line: &str, headers: &[(&str, &str)]) -> u16 {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.admit(&request.body(()).unwrap(), peer).map_or_else(|refusal| refusal.status.as_u16(), |_| 200)
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
        for (number, (line, headers, wanted)) in (0..).zip(cases) {
            assert_eq!(status_for(&guard, peer(number), line, headers), *wanted, "{line} {headers:?}");
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
        let bucket = Bucket::new(3.0, 3.0);
        let taken: Vec<_> = (0..10).map(|_| bucket.take()).collect();
        let count = taken.iter().filter(|taken| taken.is_ok()).count();
        assert!((3..=4).contains(&count), "{taken:?}");
        assert!(taken[9].is_err_and(|wait| wait <= Duration::from_millis(334)), "{taken:?}");
    }

    #[test]
    fn who_tries_tokens_takes_nothing_from_others() {
        let guard = guard(&Options::default());
        let host = ("host", "127.0.0.1:3457");
        let tried =
            |number, token| status_for(&guard, peer(number), "POST /", &[host, ("authorization", token)]);
        let statuses: Vec<u16> = (0..30).map(|_| tried(1, "Bearer wrong")).collect();
        assert_eq!(statuses[..10], [401; 10]);
        assert!(statuses[11..].contains(&429), "{statuses:?}");
        assert_eq!(tried(1, "Bearer secret"), 200, "it is the same machine, and another program");
        let others: Vec<u16> = (2..40).map(|number| tried(number, "Bearer wrong")).collect();
        assert!(20 < others.iter().filter(|status| **status == 401).count(), "{others:?}");
        assert_eq!(status_for(&guard, peer(1), "GET /health", &[host]), 200);
    }

    #[test]
    fn a_rate_holds_for_strangers_too_and_apart() {
        let mut options = Options::default();
        options.limits.rate = Some(3);
        let guard = guard(&options);
        let (host, auth) = (("host", "127.0.0.1:3457"), ("authorization", "Bearer secret"));
        let health: Vec<u16> = (0..20).map(|_| status(&guard, "GET /health", &[host])).collect();
        assert!(health.starts_with(&[200, 200, 200]) && health.ends_with(&[429]), "{health:?}");
        let known: Vec<u16> = (0..20).map(|_| status(&guard, "POST /", &[host, auth])).collect();
        assert!(known.starts_with(&[200, 200, 200]) && known.ends_with(&[429]), "{known:?}");
    }

    #[test]
    fn where_all_addresses_are_listened_at_each_is_ours_and_no_name() {
        let identity = crate::http::tls::Identity { certificate: "c".into(), key: "k".into() };
        let options = Options { host: "0.0.0.0".into(), tls: Some(identity), ..Options::default() };
        let guard = Guard::new(Some(Token::of("secret")), &options, "0.0.0.0:3457".parse().unwrap());
        let auth = ("authorization", "Bearer secret");
        for (host, wanted) in [
            ("192.0.2.7:3457", 200),
            ("[2001:db8::1]:3457", 200),
            ("localhost:3457", 200),
            ("192.0.2.7", 403),
            ("192.0.2.7:80", 403),
            ("evil.example:3457", 403),
        ] {
            assert_eq!(status(&guard, "POST /", &[("host", host), auth]), wanted, "{host}");
        }
        let page = |origin| status(&guard, "POST /", &[("host", "localhost:3457"), auth, ("origin", origin)]);
        assert_eq!((page("https://localhost:3457"), page("http://localhost:3457")), (200, 403));
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
