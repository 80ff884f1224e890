//! Whose certificates are believed, against servers of this process.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use http_client::{Address, RequestError, Trust, agent};
use rcgen::{CertificateParams, KeyPair};
use rustls::{ServerConnection, StreamOwned};

const TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";

/// A certificate and its key, as PEM.
struct Identity {
    certificate: String,
    key: String,
}

impl Identity {
    fn of(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        Self { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
    }

    /// One that is good for this server.
    fn good() -> Self {
        Self::of(&["127.0.0.1", "localhost"], |_| ())
    }

    fn trust(&self) -> Trust {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        fs::write(&path, &self.certificate).unwrap();
        Trust::from_file(&path).unwrap()
    }

    /// The address of a server that is known by this, and answers one request.
    fn serve(&self) -> Address {
        let config = tls::server(self.certificate.as_bytes(), self.key.as_bytes()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("https://{}/", listener.local_addr().unwrap()).parse().unwrap();
        thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
            // A client that does not trust this server is gone before it asks.
            let _ = stream.read(&mut [0; 1024]).and_then(|_| stream.write_all(ANSWER)).and_then(|()| stream.flush());
        });
        address
    }
}

fn ask(server: &Address, trust: &Trust) -> Result<String, RequestError> {
    let mut answer = agent(TIMEOUT, "*/*", server, trust).get(server.uri()).call()?;
    Ok(answer.body_mut().read_to_string()?)
}

#[track_caller]
fn check_refused(server: &Address, trust: &Trust, message: &str) {
    let error = ask(server, trust).unwrap_err();
    assert!(matches!(error, RequestError::Untrusted(_)), "{error:?}");
    assert!(error.to_string().contains(message), "`{message}` is not in: {error}");
}

#[test]
fn a_server_whose_certificate_is_given_is_believed() {
    let server = Identity::good();
    assert_eq!(ask(&server.serve(), &server.trust()).unwrap(), "hi");
}

#[test]
fn a_certificate_of_an_unknown_issuer_is_refused_with_the_remedy() {
    let server = Identity::good();
    let stranger = Identity::of(&["127.0.0.1"], |params| {
        params.distinguished_name.push(rcgen::DnType::CommonName, "a stranger");
    });
    check_refused(&server.serve(), &stranger.trust(), "from an unknown issuer");
    check_refused(&server.serve(), &Identity::good().trust(), "by one of the same name");
    check_refused(&server.serve(), &Trust::System, "give the issuer's certificate with --ca");
}

#[test]
fn an_expired_certificate_is_refused_with_its_end() {
    let server = Identity::of(&["127.0.0.1"], |params| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    });
    check_refused(&server.serve(), &server.trust(), "its certificate expired at 2021-01-01T00:00:00Z");
}

#[test]
fn a_certificate_that_is_not_valid_yet_is_refused_with_its_beginning() {
    let server = Identity::of(&["127.0.0.1"], |params| {
        params.not_before = rcgen::date_time_ymd(2200, 1, 1);
        params.not_after = rcgen::date_time_ymd(2201, 1, 1);
    });
    check_refused(&server.serve(), &server.trust(), "is not valid before 2200-01-01T00:00:00Z");
}

#[test]
fn a_certificate_for_another_name_is_refused_with_both_names() {
    let server = Identity::of(&["db1.example", "10.0.0.1"], |_| ());
    check_refused(
        &server.serve(),
        &server.trust(),
        "its certificate is for db1.example and 10.0.0.1, not for 127.0.0.1",
    );
}

#[test]
fn an_authority_that_is_a_server_is_refused() {
    let server = Identity::of(&["127.0.0.1"], |params| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    });
    check_refused(&server.serve(), &server.trust(), "give it one with CA:FALSE");
}

#[test]
fn a_server_that_speaks_in_the_clear_is_told_from_one_that_is_not_trusted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server: Address = format!("https://{}/", listener.local_addr().unwrap()).parse().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read(&mut [0; 1024]).and_then(|_| socket.write_all(ANSWER));
    });
    check_refused(&server, &Trust::System, "it does not speak TLS");
}

#[test]
fn a_file_without_certificates_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    fs::write(&path, "nothing").unwrap();
    for path in [path.as_path(), Path::new("/nowhere")] {
        let message = format!("cannot read certificates in PEM form from `{}`", path.display());
        assert_eq!(Trust::from_file(path).unwrap_err().to_string(), message);
    }
}
