//! Clients that mean no good.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::node;

/// Silent connections to each address: more than a node serves at once.
const N_SILENT: usize = 600;

/// Connections that are kept, so that they are in the way for as long as this lives.
pub struct Crowd(Vec<TcpStream>);

impl Crowd {
    /// Comes to a node's HTTP address and to its stream.
    pub fn come(http: SocketAddr, stream: SocketAddr) -> Self {
        let mut crowd = Self(Vec::new());
        for address in [http, stream] {
            for _ in 0..N_SILENT {
                crowd.connect(address, b"");
            }
        }
        for _ in 0..20 {
            crowd.connect(http, b"GET /healthz HTTP/1.1\r\nHost: loc");
            crowd.connect(http, b"GET /api/v1/series/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n");
            crowd.connect(http, b"POST /api/v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{");
            crowd.connect(http, &[0xff; 4096]);
            crowd.connect(stream, &[0xff; 4096]);
            crowd.connect(stream, b"GET / HTTP/1.1\r\n\r\n");
        }
        let samples = "0.5,".repeat(600_000);
        let body = format!("{{\"model\": \"AR(16)\", \"samples\": [{samples}1.0], \"horizon\": 30}}");
        let head = "POST /api/v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        crowd.connect(http, format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        crowd
    }

    /// Says `bytes` and stays. Whoever is refused has got what it deserves.
    fn connect(&mut self, address: SocketAddr, bytes: &[u8]) {
        if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
            let _ = stream.write_all(bytes);
            self.0.push(stream);
        }
    }
}

/// Threads that ask for one dear fit after the other, pushed and at once; they end when this is dropped.
pub struct Spenders {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Spenders {
    /// Comes to the node at `url`.
    pub fn come(url: &str) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let spend = |ask: fn(&str)| {
            let (is_over, url) = (Arc::clone(&is_over), url.to_owned());
            thread::spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    ask(&url);
                }
            })
        };
        let threads = vec![spend(push), spend(fit), spend(fit)];
        Self { is_over, threads }
    }
}

impl Drop for Spenders {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // One that panicked has asked for nothing more.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Samples for a model that is fitted at each of them, in a series that is removed again.
fn push(url: &str) {
    let series = json!({"id": "soak.dear", "step": "1s", "model": "REFIT(ARMA(8,8),every=1,window=1000)"});
    post(url, "/api/v1/series", &series);
    let samples: Vec<Value> = values(1500).map(|value| json!({"value": value})).collect();
    post(url, "/api/v1/series/soak.dear/samples", &json!({"samples": samples}));
    // It may be gone, or not have come.
    let _ = node::agent().delete(format!("{url}/api/v1/series/soak.dear")).call();
}

/// A search that takes seconds.
fn fit(url: &str) {
    let samples: Vec<f64> = values(2000).collect();
    post(url, "/api/v1/forecast", &json!({"model": "ARMA(64,64)", "samples": samples, "horizon": 30}));
}

/// Refusals and answers are the same here.
fn post(url: &str, path: &str, body: &Value) {
    let _ = node::agent().post(format!("{url}{path}")).send_json(body);
}

fn values(n: u32) -> impl Iterator<Item = f64> {
    (0..n).map(|idx| f64::from(idx * 7919 % 101) + (f64::from(idx) * 0.3).sin())
}
