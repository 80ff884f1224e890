//! A page that shows a run while it goes on: its journal so far, and the forecast of the rest.
//!
//! It is for browsers on this machine: it listens on the loopback only, answers to names of the loopback only, and
//! changes nothing. The page asks again and again for what has come since, which is lines of the run's journal as they
//! stand in its file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use clock::Stopwatch;
use job::{Expected, JOURNAL};
use program::Failure;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

const HTML: &str = include_str!("page/page.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");
/// Content security policy: everything comes from here, and no name of a worker can become a script.
const POLICY: &str =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";
/// Bytes of the journal that one answer has at most.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Time that a page counts as open since its last question: a page that is open asks more often.
const OPEN_FOR: Duration = Duration::from_secs(3);
/// Interval of checks whether an open page has the end of the run.
const LOOK: Duration = Duration::from_millis(50);

/// A page that is being served.
pub struct Page {
    address: SocketAddr,
    shown: Arc<Shown>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shown {
    journal: PathBuf,
    now: Mutex<Now>,
}

/// State that is not in the journal.
#[derive(Default)]
struct Now {
    /// Time since the run was begun or taken up.
    seconds: f64,
    expected: Vec<Expected>,
    has_ended: bool,
    /// The last question, and whether everything was in its answer.
    asked: Option<(Stopwatch, bool)>,
}

#[derive(Deserialize)]
struct Asked {
    /// Bytes of the journal that are known.
    #[serde(default)]
    offset: u64,
}

#[derive(Serialize)]
struct Told {
    lines: String,
    offset: u64,
    seconds: f64,
    expected: Vec<Expected>,
    has_ended: bool,
}

impl Page {
    /// Begins to show the run in a folder.
    pub fn serve(at: SocketAddr, folder: &Path) -> Result<Self, Failure> {
        if !at.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "`--page {at}` is beyond this machine, and a run's page has no protection: it can be shown at 127.0.0.1 or [::1]"
            )));
        }
        let cannot = |error: io::Error| Failure::work(format!("cannot show the run at {at}: {error}"));
        let listener = TcpListener::bind(at).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let shown = Arc::new(Shown { journal: folder.join(JOURNAL), now: Mutex::default() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let router = router(Arc::clone(&shown));
        let serve = move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                tokio::select! {
                    // Whoever looks at the page sees that nobody answers; the run goes on.
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("page".to_owned()).spawn(serve).map_err(cannot)?;
        Ok(Self { address, shown, stop: Some(stop), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the forecast from now on.
    pub fn expect(&self, seconds: f64, expected: &[Expected]) {
        let mut now = self.shown.lock();
        (now.seconds, now.expected) = (seconds, expected.to_vec());
    }

    /// Ends the page after the run: a page that is open still gets the end.
    pub fn end(mut self) {
        {
            let mut now = self.shown.lock();
            (now.has_ended, now.expected) = (true, Vec::new());
        }
        while self.shown.lock().asked.as_ref().is_some_and(|(at, knows_all)| !knows_all && at.elapsed() < OPEN_FOR) {
            clock::sleep(LOOK);
        }
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A page that broke has said so by then.
            let _ = thread.join();
        }
    }
}

impl Shown {
    fn lock(&self) -> std::sync::MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whole lines of the journal from a place on, and whether these are the last ones.
    fn lines(&self, offset: u64) -> io::Result<(String, bool)> {
        let mut file = match File::open(&self.journal) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((String::new(), true)),
            file => file?,
        };
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
        let is_all = (bytes.len() as u64) < ANSWER_BYTES_MAX;
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        Ok((String::from_utf8(bytes).map_err(io::Error::other)?, is_all))
    }
}

fn router(shown: Arc<Shown>) -> Router {
    let text =
        |kind: &'static str, body: &'static str| get(move || async move { ([(header::CONTENT_TYPE, kind)], body) });
    Router::new()
        .route("/", text("text/html; charset=utf-8", HTML))
        .route("/page.js", text("text/javascript; charset=utf-8", SCRIPT))
        .route("/page.css", text("text/css; charset=utf-8", STYLE))
        .route("/events", get(events))
        .layer(middleware::from_fn(guard))
        .with_state(shown)
}

async fn events(State(shown): State<Arc<Shown>>, Query(asked): Query<Asked>) -> Response {
    // Before the lines: what ended then is in them.
    let has_ended = shown.lock().has_ended;
    let Ok((lines, is_all)) = shown.lines(asked.offset) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the run's journal cannot be read").into_response();
    };
    let mut now = shown.lock();
    now.asked = Some((Stopwatch::start(), has_ended && is_all));
    let (seconds, expected) = (now.seconds, now.expected.clone());
    Json(Told { offset: asked.offset + lines.len() as u64, lines, seconds, expected, has_ended: has_ended && is_all })
        .into_response()
}

/// Rejects requests by another name: any page that a browser shows could have itself resolved to this address.
async fn guard(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_loopback_name(host) {
        return (StatusCode::FORBIDDEN, "this page answers to names of the loopback only").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}

fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_are_answered_to() {
        for name in ["localhost", "localhost:80", "LOCALHOST", "127.0.0.1:8080", "[::1]:80", "[::1]"] {
            assert!(is_loopback_name(name), "{name}");
        }
        for name in ["", "example.org", "127.0.0.1.example.org:80", "10.0.0.1", "localhost:x"] {
            assert!(!is_loopback_name(name), "{name}");
        }
    }

    #[test]
    fn a_page_beyond_this_machine_is_refused() {
        assert!(Page::serve("0.0.0.0:0".parse().unwrap(), Path::new("nowhere")).is_err());
    }
}
