//! Clients that mean no good.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

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
