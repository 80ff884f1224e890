//! The page's files, as `build.rs` put them into the binary.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

/// A file of the page.
struct File {
    /// The path at which the file is served.
    path: &'static str,
    content_type: &'static str,
    /// Weak, because it stands for the plain and the compressed form alike.
    etag: &'static str,
    /// Whether its name changes with its content, so that it may be kept forever.
    is_hashed: bool,
    plain: &'static [u8],
    gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

const NO_PAGE: &str = "<!doctype html>
<html lang=\"en\">
<head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"><title>Foretop</title></head>
<body>
<h1>Foretop</h1>
<p>This node was built without its page. Run <code>make</code> in the source tree, which builds the page and then the
program, or <code>npm ci &amp;&amp; npm run build</code> in <code>web/</code> and then <code>cargo build</code>.</p>
<p>Everything else works:
<a href=\"/api/v1/series\">/api/v1/series</a>, <a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>,
<a href=\"/metrics\">/metrics</a>, <a href=\"/healthz\">/healthz</a>.</p>
</body>
</html>
";

/// The routes of the page; without one, a note at `/` that says so.
pub(crate) fn router() -> Router {
    if FILES.is_empty() {
        return Router::new().route("/", get(Html(NO_PAGE)));
    }
    let serve = |file: &'static File| get(async move |headers: HeaderMap| respond(file, &headers));
    FILES.iter().fold(Router::new(), |router, file| router.route(file.path, serve(file)))
}

fn respond(file: &File, request: &HeaderMap) -> Response {
    // A name without a hash is asked for again each time, which costs a 304.
    let keep = if file.is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
    let about = [(header::ETAG, file.etag), (header::CACHE_CONTROL, keep), (header::VARY, "Accept-Encoding")];
    if names(request, header::IF_NONE_MATCH, |tag| tag == file.etag) {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    let content_type = [(header::CONTENT_TYPE, file.content_type)];
    if names(request, header::ACCEPT_ENCODING, takes_gzip) {
        (about, content_type, [(header::CONTENT_ENCODING, "gzip")], Body::from(file.gzip)).into_response()
    } else {
        (about, content_type, Body::from(file.plain)).into_response()
    }
}

/// Whether one of the comma-separated entries of a header will do.
fn names(request: &HeaderMap, header: header::HeaderName, will_do: impl Fn(&str) -> bool) -> bool {
    let lines = request.get_all(header).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|entry| will_do(entry.trim()))
}

/// Whether an entry of `Accept-Encoding` allows gzip; a weight of zero forbids it.
fn takes_gzip(entry: &str) -> bool {
    let mut parts = entry.split(';').map(str::trim);
    let is_gzip = parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
    let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse);
    is_gzip && weight.is_ok_and(|weight: f64| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    static FILE: File = File {
        path: "/assets/index-a1b2.js",
        content_type: "text/javascript",
        etag: "W/\"1\"",
        is_hashed: true,
        plain: b"plain",
        gzip: b"gzip",
    };

    #[track_caller]
    fn check(name: header::HeaderName, value: &str, status: StatusCode, encoding: Option<&str>) {
        let response = respond(&FILE, &HeaderMap::from_iter([(name, value.parse().unwrap())]));
        let given = response.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
        assert_eq!((response.status(), given), (status, encoding), "{value}");
        assert_eq!(response.headers()[header::ETAG], FILE.etag);
    }

    #[test]
    fn gzip_goes_only_to_whoever_takes_it() {
        check(header::ACCEPT_ENCODING, "gzip, deflate, br", StatusCode::OK, Some("gzip"));
        check(header::ACCEPT_ENCODING, "br;q=1.0, GZIP;q=0.8", StatusCode::OK, Some("gzip"));
        check(header::ACCEPT_ENCODING, "gzip;q=0", StatusCode::OK, None);
        check(header::ACCEPT_ENCODING, "identity", StatusCode::OK, None);
    }

    #[test]
    fn a_file_that_is_known_is_not_sent_again() {
        check(header::IF_NONE_MATCH, "W/\"0\", W/\"1\"", StatusCode::NOT_MODIFIED, None);
        check(header::IF_NONE_MATCH, "W/\"0\"", StatusCode::OK, None);
    }
}
