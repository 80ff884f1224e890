//! Access control: the name in `Host`, the page in `Origin`, the token; and the headers of every answer for browsers.
//!
//! A node listens on loopback, where any web page that a browser on this host shows can reach it. Such a page can make
//! its own name point at 127.0.0.1 and then read answers, so a name that is not ours is refused; and it can send
//! requests without reading the answers, so an origin that is not ours is refused. A browser that leaves out `Origin`
//! says in `Sec-Fetch-Site` (Fetch Metadata Request Headers, section 2.4) whose page asks; where that is another's,
//! nothing is changed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::refusal::Refusal;
use super::server::{Peer, Visitor};
use crate::api::ErrorCode;
use secret::Token;

/// Conditions on which the node admits requests.
pub(crate) struct Access {
    /// The address that the node listens at; on loopback only the names of loopback are answered to.
    pub(crate) listen: SocketAddr,
    /// The token that clients have to show; required of every node that listens beyond loopback.
    pub(crate) token: Option<Token>,
    pub(crate) guesses: Guesses,
}

/// Time that whoever shows a wrong token waits for the answer.
const GUESS_PAUSE: Duration = Duration::from_millis(100);

/// The longest head of a request, in bytes. What reads requests takes longer ones if they come in one piece.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The number of wrong tokens that were shown.
#[derive(Default)]
pub(crate) struct Guesses(AtomicU64);

impl Guesses {
    /// Counts one more. The log has the first, the second, the fourth and so on.
    fn note(&self, peer: Option<&Peer>) {
        let n = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if n.is_power_of_two() {
            let address = peer.map(|Peer(address)| tracing::field::display(address));
            tracing::warn!(address, n, "a wrong token was shown");
        }
    }
}

/// Said with every answer. No scripts but the page's own, in no frame, and no guessing what a body is.
const SECURITY_HEADERS: [(HeaderName, HeaderValue); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Refuses foreign names and origins, and puts the security headers on every answer.
pub(crate) async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    if head_bytes(&request) > HEAD_BYTES_MAX {
        return (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, [(header::CONNECTION, "close")]).into_response();
    }
    let admitted = check_names(&access, &request).and_then(|()| match access.token {
        // Whoever has to show a token is a stranger until then.
        Some(_) => Ok(()),
        None => welcome(&request),
    });
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.extend(SECURITY_HEADERS);
    // The page's files say for themselves how long they may be kept.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Bytes of the head of a request, but for those that are the same in all.
fn head_bytes(request: &Request) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    target + headers.sum::<usize>()
}

/// Refuses requests without the token, if there is one.
pub(crate) async fn require_token(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match &access.token {
        Some(token) if !shows(request.headers(), token) => {
            if request.headers().contains_key(header::AUTHORIZATION) {
                access.guesses.note(request.extensions().get());
                tokio::time::sleep(GUESS_PAUSE).await;
            }
            let message = "this node needs a token: send `Authorization: Bearer TOKEN`";
            Refusal::of_field(ErrorCode::Unauthorized, "Authorization", message).into_response()
        }
        _ => match welcome(&request) {
            Ok(()) => next.run(request).await,
            Err(refusal) => refusal.into_response(),
        },
    }
}

/// Makes a guest of whoever sent the request.
fn welcome(request: &Request) -> Result<(), Refusal> {
    request.extensions().get::<Visitor>().map_or(Ok(()), Visitor::welcome)
}

fn shows(headers: &HeaderMap, token: &Token) -> bool {
    let Some((scheme, given)) =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|text| text.split_once(' '))
    else {
        return false;
    };
    scheme.eq_ignore_ascii_case("bearer") && token.matches(given.trim())
}

fn check_names(access: &Access, request: &Request) -> Result<(), Refusal> {
    let host = one_host(request)
        .ok_or_else(|| Refusal::of_field(ErrorCode::HostNotAllowed, "Host", "exactly one Host header is needed"))?;
    if access.listen.ip().is_loopback() && !is_loopback_name(access, host.host()) {
        let message = format!(
            "`{}` is not a name of this node; ask for localhost, 127.0.0.1 or [::1] (it listens on {})",
            host.host(),
            access.listen
        );
        return Err(Refusal::of_field(ErrorCode::HostNotAllowed, "Host", message));
    }
    let refused = |field| {
        let message = "requests from pages of other sites are refused";
        Err(Refusal::of_field(ErrorCode::HostNotAllowed, field, message))
    };
    match request.headers().get(header::ORIGIN) {
        Some(origin) if !is_origin_of(origin, &host) => refused("Origin"),
        _ if !request.method().is_safe() && is_of_other_site(request.headers()) => refused("Sec-Fetch-Site"),
        _ => Ok(()),
    }
}

/// Whether a browser says that the request comes from a page of another site or another origin. Programs say nothing of
/// the kind.
fn is_of_other_site(headers: &HeaderMap) -> bool {
    headers.get_all("sec-fetch-site").iter().any(|site| site != "same-origin" && site != "none")
}

/// The name that the request is for. A request target with a name in it must agree with the header.
fn one_host(request: &Request) -> Option<Authority> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host: Authority = hosts.next()?.to_str().ok()?.parse().ok()?;
    let is_plain = hosts.next().is_none() && !host.as_str().contains('@');
    let agrees = request.uri().authority().is_none_or(|target| *target == host);
    (is_plain && agrees).then_some(host)
}

fn is_loopback_name(access: &Access, name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']').parse();
    name.eq_ignore_ascii_case("localhost")
        || ["127.0.0.1", "[::1]"].contains(&name)
        || address.is_ok_and(|address: std::net::IpAddr| address == access.listen.ip())
}

/// Whether `origin` (`http://localhost:7311`) is the site that `host` names; `null` is none.
fn is_origin_of(origin: &HeaderValue, host: &Authority) -> bool {
    let site = origin.to_str().ok().and_then(|text| text.split_once("://")).map(|(_, site)| site);
    site.is_some_and(|site| site.eq_ignore_ascii_case(host.as_str()))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Method;

    use super::*;

    fn check(listen: &str, headers: &[(&str, &str)]) -> bool {
        check_method(Method::POST, listen, headers)
    }

    fn check_method(method: Method, listen: &str, headers: &[(&str, &str)]) -> bool {
        let access = Access { listen: listen.parse().unwrap(), token: None, guesses: Guesses::default() };
        let request = Request::builder().method(method).uri("/");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        check_names(&access, &request.body(Body::empty()).unwrap()).is_ok()
    }

    #[test]
    fn loopback_answers_to_its_own_names_with_any_port() {
        for host in ["localhost", "LOCALHOST:7311", "127.0.0.1:80", "[::1]:7311", "[::1]", "127.0.0.1"] {
            assert!(check("127.0.0.1:7311", &[("host", host)]), "{host} was refused");
        }
        assert!(check("127.0.0.2:7311", &[("host", "127.0.0.2:7311")]));
    }

    #[test]
    fn a_rebound_name_is_refused() {
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "127.0.0.1@evil"]
        {
            assert!(!check("127.0.0.1:7311", &[("host", host)]), "{host} was let in");
        }
        assert!(!check("127.0.0.1:7311", &[]), "no Host at all was let in");
        assert!(!check("127.0.0.1:7311", &[("host", "localhost"), ("host", "evil.example")]));
    }

    #[test]
    fn beyond_loopback_any_name_will_do() {
        assert!(check("0.0.0.0:7311", &[("host", "db1.example:7311")]));
    }

    #[test]
    fn a_page_of_another_site_is_refused() {
        let host = ("host", "localhost:7311");
        assert!(check("127.0.0.1:7311", &[host, ("origin", "http://localhost:7311")]));
        for origin in ["null", "http://evil.example", "http://localhost:8000", "http://localhost", ""] {
            assert!(!check("127.0.0.1:7311", &[host, ("origin", origin)]), "{origin} was let in");
        }
    }

    #[test]
    fn a_page_of_another_site_changes_nothing_where_its_browser_says_so() {
        let host = ("host", "localhost:7311");
        let from = |method, site| check_method(method, "127.0.0.1:7311", &[host, ("sec-fetch-site", site)]);
        for site in ["same-origin", "none"] {
            assert!(from(Method::POST, site) && from(Method::DELETE, site), "{site} was refused");
        }
        for site in ["cross-site", "same-site", ""] {
            assert!(!from(Method::POST, site) && !from(Method::DELETE, site), "{site} was let in");
            assert!(from(Method::GET, site), "a link from a page of another site does no harm");
        }
    }
}
