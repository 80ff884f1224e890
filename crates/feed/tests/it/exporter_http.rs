//! An exporter over HTTP, on its good and its bad days: a server in this process that answers as the test says.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use feed::{Exporter, ExporterSettings};
use flate2::{Compression, write::GzEncoder};
use http_client::Login;
use signal::{Readings, Source};

use crate::exporter_pages::{Values, values};

/// What the server does with one request.
enum Answer {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes again and again until nobody takes them.
    Endless(Vec<u8>),
    /// Sends these bytes and then nothing, until the other side closes.
    Stall(Vec<u8>),
}

/// A server that gives one answer after the other, and the requests that it got.
struct Server {
    url: String,
    requests: Receiver<String>,
}

impl Server {
    fn start(answers: Vec<Answer>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = sender.send(request(&mut stream));
                answer.give(&mut stream);
            }
        });
        Server { url, requests }
    }

    fn settings(&self) -> ExporterSettings {
        ExporterSettings::new(&*self.url)
    }
}

impl Answer {
    /// The other side may have seen enough and closed.
    fn give(&self, stream: &mut TcpStream) {
        match self {
            Answer::Bytes(bytes) => {
                let _ = stream.write_all(bytes);
            }
            Answer::Endless(bytes) => while stream.write_all(bytes).is_ok() {},
            Answer::Stall(bytes) => {
                let _ = stream.write_all(bytes);
                let _ = stream.read(&mut [0]);
            }
        }
    }
}

/// Everything up to the empty line.
fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).unwrap().to_ascii_lowercase()
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Answer {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    Answer::Bytes([head.as_bytes(), body].concat())
}

fn page(body: &str) -> Answer {
    answer("200 OK", "Content-Type: text/plain; version=0.0.4\r\n", body.as_bytes())
}

/// Reads at one second after the other.
struct Scrapes {
    exporter: Exporter,
    readings: Readings,
    at_s: u64,
}

impl Scrapes {
    fn new(settings: &ExporterSettings) -> Scrapes {
        Scrapes { exporter: Exporter::open(settings).unwrap(), readings: Readings::default(), at_s: 0 }
    }

    fn read(&mut self) -> Values {
        self.at_s += 1;
        self.exporter.read(Duration::from_secs(self.at_s), &mut self.readings);
        values(&self.readings)
    }

    #[track_caller]
    fn check(&mut self, expected: &[(&str, f64)]) {
        let expected: Values = expected.iter().map(|&(id, value)| (id.to_owned(), value)).collect();
        assert_eq!(self.read(), expected, "{:?}", self.exporter.last_error());
    }

    /// The next read gives nothing, and says so with `message` as its beginning.
    #[track_caller]
    fn check_fails(&mut self, message: &str) {
        let n_errors = self.exporter.n_errors();
        self.check(&[]);
        let said = self.exporter.last_error().unwrap_or_default();
        assert!(said.starts_with(message), "`{said}` does not begin with `{message}`");
        assert_eq!(self.exporter.n_errors(), n_errors + 1);
    }
}

#[test]
fn it_asks_for_open_metrics_rather_than_the_older_text_and_takes_gzip() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(b"a 1\n# EOF\n").unwrap();
    let headers = "Content-Encoding: gzip\r\nContent-Type: application/openmetrics-text; version=1.0.0\r\n";
    let server = Server::start(vec![answer("200 OK", headers, &packed.finish().unwrap())]);
    Scrapes::new(&server.settings()).check(&[("a", 1.0)]);
    let request = server.requests.recv().unwrap();
    assert!(request.starts_with("get /metrics http/1.1\r\n"), "{request}");
    assert!(
        request.contains("accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,"),
        "{request}"
    );
    assert!(request.contains("accept-encoding: gzip\r\n"), "{request}");
    assert!(!request.contains("authorization"), "{request}");
}

#[test]
fn an_exporter_that_starts_again_goes_on_from_zero() {
    let counter = |value: u32| page(&format!("# TYPE c counter\nc {value}\ng {value}\n"));
    let refused = answer("503 Service Unavailable", "", b"starting");
    let server = Server::start(vec![counter(100), counter(130), refused, counter(8), counter(10)]);
    let mut scrapes = Scrapes::new(&server.settings());
    scrapes.check(&[("g", 100.0)]);
    scrapes.check(&[("c", 30.0), ("g", 130.0)]);
    scrapes.check_fails(&format!("`{}` answers with status 503: needs 200", server.url));
    scrapes.check(&[("c", 4.0), ("g", 8.0)]);
    scrapes.check(&[("c", 2.0), ("g", 10.0)]);
}

#[test]
fn an_exporter_that_is_gone_comes_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("http://{address}/metrics");
    let mut scrapes = Scrapes::new(&ExporterSettings::new(&*url));
    drop(listener);
    scrapes.check_fails(&format!("cannot read `{url}`: io: "));
}

#[test]
fn an_exporter_that_stalls_is_given_up_and_asked_again() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na 1\n".to_vec();
    let server = Server::start(vec![Answer::Stall(head), Answer::Stall(Vec::new()), page("a 2\n")]);
    let mut settings = server.settings();
    settings.timeout = Duration::from_millis(50);
    let mut scrapes = Scrapes::new(&settings);
    scrapes.check_fails(&format!("cannot read the page at `{}` to its end: ", server.url));
    scrapes.check_fails(&format!("cannot read `{}`: timeout: ", server.url));
    settings.timeout = Duration::from_secs(60);
    Scrapes::new(&settings).check(&[("a", 2.0)]);
}

#[test]
fn a_page_that_breaks_off_gives_nothing() {
    let broken = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na 1\n".to_vec();
    let bad_gzip = answer("200 OK", "Content-Encoding: gzip\r\n", b"a 1\n");
    let server = Server::start(vec![
        Answer::Bytes(broken),
        bad_gzip,
        Answer::Bytes(b"\x00garbage\r\n\r\n".to_vec()),
        page("a 2\n"),
    ]);
    let mut scrapes = Scrapes::new(&server.settings());
    scrapes.check_fails(&format!("cannot read the page at `{}` to its end: ", server.url));
    scrapes.check_fails(&format!("cannot read the page at `{}` to its end: ", server.url));
    scrapes.check_fails(&format!("cannot read `{}`: ", server.url));
    scrapes.check(&[("a", 2.0)]);
}

#[test]
fn an_endless_page_is_read_to_its_limit() {
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    let line = [head.as_bytes(), &[b'x'; 100_000]].concat();
    // Zeros pack well: 64 MiB of them into 64 KiB.
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![b'0'; 64 << 20]).unwrap();
    let bomb = answer("200 OK", "Content-Encoding: gzip\r\n", &packed.finish().unwrap());
    let server = Server::start(vec![Answer::Endless(line), bomb, page("a 2\n")]);
    let mut scrapes = Scrapes::new(&server.settings());
    let message = format!("the page at `{}` is longer than 16777216 bytes", server.url);
    scrapes.check_fails(&message);
    scrapes.check_fails(&message);
    scrapes.check(&[("a", 2.0)]);
}

#[test]
fn headers_without_an_end_are_refused() {
    let server = Server::start(vec![Answer::Endless(b"HTTP/1.1 200 OK\r\nX: ".to_vec().repeat(1000)), page("a 2\n")]);
    let mut scrapes = Scrapes::new(&server.settings());
    scrapes.check_fails(&format!("cannot read `{}`: ", server.url));
    scrapes.check(&[("a", 2.0)]);
}

#[test]
fn a_redirect_is_followed_on_the_same_host_only() {
    let to = |target: &str| answer("302 Found", &format!("Location: {target}\r\n"), b"");
    let elsewhere =
        ["file:///etc/passwd", "http://127.0.0.1:1/metrics", "https://127.0.0.1/", "//example.org/", "metrics2"];
    let mut answers = vec![to("/other"), page("a 1\n")];
    answers.extend(elsewhere.map(to));
    answers.extend([to("/1"), to("/2"), to("/3"), to("/4")]);
    let server = Server::start(answers);
    let mut scrapes = Scrapes::new(&server.settings());
    scrapes.check(&[("a", 1.0)]);
    assert!(server.requests.recv().unwrap().starts_with("get /metrics "));
    assert!(server.requests.recv().unwrap().starts_with("get /other "));
    for target in elsewhere.into_iter().chain(["/4"]) {
        scrapes.check_fails(&format!("`{}` redirects to `{target}`: only another path of the same host", server.url));
    }
}

#[test]
fn a_page_that_is_no_page_of_metrics_is_refused() {
    let server = Server::start(vec![answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", b"<a 1>")]);
    let message =
        format!("`{}` is `text/html; charset=utf-8`: needs `application/openmetrics-text` or `text/plain`", server.url);
    Scrapes::new(&server.settings()).check_fails(&message);
}

#[test]
fn secrets_are_read_at_each_scrape_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    let server = Server::start(vec![page("a 1\n"), page("a 1\n"), page("a 1\n")]);
    let mut settings = server.settings();
    settings.login = Login::Bearer { token_file: file.clone() };
    let mut scrapes = Scrapes::new(&settings);
    scrapes.check_fails(&format!("cannot read the secret in `{}`", file.display()));
    for token in ["first", "second"] {
        fs::write(&file, format!("{token}\n")).unwrap();
        scrapes.check(&[("a", 1.0)]);
        let request = server.requests.recv().unwrap();
        assert!(request.contains(&format!("authorization: bearer {token}\r\n")), "{request}");
    }
    fs::write(&file, "a\nb").unwrap();
    scrapes.check_fails(&format!("`{}` holds no token: ", file.display()));
    fs::write(&file, vec![b'a'; 70_000]).unwrap();
    scrapes.check_fails(&format!("`{}` is too long for a secret: ", file.display()));

    fs::write(&file, "open sesame\n").unwrap();
    settings.login = Login::Basic { user: "Aladdin".to_owned(), password_file: file };
    Scrapes::new(&settings).check(&[("a", 1.0)]);
    let request = server.requests.recv().unwrap();
    // The example of RFC 7617, in the lower case that all requests are shown in.
    assert!(request.contains("authorization: basic qwxhzgrpbjpvcgvuihnlc2ftzq==\r\n"), "{request}");
}

#[track_caller]
fn check_refused(change: impl FnOnce(&mut ExporterSettings), message: &str) {
    let mut settings = ExporterSettings::new("http://127.0.0.1:9100/metrics");
    change(&mut settings);
    assert_eq!(Exporter::open(&settings).unwrap_err().to_string(), message);
}

#[test]
fn settings_that_cannot_be_met_say_what_can() {
    let url = "is no address of a server: it is `http://host:port/path` or `https://host:port/path`, and who logs in is said elsewhere";
    check_refused(|to| to.url = "file:///etc/passwd".to_owned(), &format!("`file:///etc/passwd` {url}"));
    check_refused(|to| to.url = "localhost:9100".to_owned(), &format!("`localhost:9100` {url}"));
    check_refused(|to| to.url = "http://a:secret@b/".to_owned(), &format!("`\u{2026}@b/` {url}"));
    check_refused(|to| to.quantiles = vec![0.5, 90.0], "90 is not a quantile: it is from 0 to 1");
    check_refused(|to| to.n_signals_max = 0, "the greatest number of signals of an exporter must be 1 or more");
    check_refused(|to| to.timeout = Duration::ZERO, "the time-out of an exporter must be 1 or more");
    let name = "cannot be an exporter's name: it is 1 to 64 bytes without control characters";
    check_refused(|to| to.name = Some("\u{1b}".to_owned()), &format!("`\\u{{1b}}` {name}"));
    check_refused(
        |to| to.patterns = vec!["a".to_owned(); 65],
        "65 patterns are too many: the limit is 64; `|` joins several into one",
    );
    let basic = Login::Basic { user: "a:b".to_owned(), password_file: "p".into() };
    check_refused(
        |to| to.login = basic,
        "`a:b` cannot be a name to log in with: it has no colon and no control characters",
    );
}
