//! Who is let in, and what is encrypted.

use std::fs;
use std::path::Path;

use stream::{ClientTls, Message, Mirror, OpenError, Security, ServerTls};
use testkit::{PATIENCE, wait_until};

use crate::world::{PassOn, collector, description, endpoint, path, sample, with_token, writer};

/// A certificate for the loopback, believed by whoever has it.
fn tls(folder: &Path) -> (ServerTls, ClientTls) {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (ServerTls::from_files(&certificate, &key).unwrap(), ClientTls::from_file(&certificate).unwrap())
}

#[test]
fn with_tls_and_a_token_a_stream_goes_through() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = tls(folder.path());
    let security = Security { server: Some(server), client: Some(client), ..with_token("a-secret-of-some-length") };
    let writer = writer("connect:tcp:0", &security);
    let reader = collector(&format!("source:{}", writer.address()), &security);
    writer.wait_for_reader();
    writer.send(Message::Description(description()));
    writer.send(Message::Sample(sample(1)));
    assert_eq!([reader.next(), reader.next()], [Message::Description(description()), Message::Sample(sample(1))]);
}

#[track_caller]
fn check_kept_out(writer_security: &Security, reader_security: &Security) {
    let writer = writer("connect:tcp:0", writer_security);
    let reader = collector(&format!("source:{}", writer.address()), reader_security);
    wait_until("the writer says whom it did not let in", PATIENCE, || {
        writer.running.status()[writer.at.0].counted.last_error.clone()
    });
    writer.send(Message::Sample(sample(1)));
    assert_eq!(writer.running.status()[writer.at.0].counted.n_frames, 0);
    assert!(reader.messages.try_recv().is_err());
}

#[test]
fn without_the_token_or_the_certificate_nothing_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = tls(folder.path());
    check_kept_out(&with_token("a-secret-of-some-length"), &with_token("another-of-some-length"));
    let with_tls = Security { server: Some(server), ..Security::default() };
    // A connection that speaks no TLS, to a listener that does.
    check_kept_out(&with_tls, &with_token("a-secret-of-some-length"));
}

#[test]
fn beyond_the_loopback_protection_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = tls(folder.path());
    let open = |text: &str, security: Security| {
        let mut mirror = Mirror::new("open", PassOn).with_security(security);
        mirror.add(endpoint(text));
        mirror.start().map(|_| ())
    };
    let needed = |text: &str, security: Security| match open(text, security) {
        Err(OpenError::Unprotected { needed, .. }) => needed,
        other => panic!("{other:?}"),
    };
    let listen = "connect:tcp:0.0.0.0:0";
    assert_eq!(needed(listen, Security::default()), "a token");
    let with_token = with_token("a-secret-of-some-length");
    assert_eq!(needed(listen, with_token.clone()), "a certificate, or leave to go without");
    let with_both = Security { server: Some(server), ..with_token.clone() };
    assert_eq!(needed(&format!("{listen}?tls=off"), with_both.clone()), "TLS, which it has switched off");
    assert!(open(listen, with_both).is_ok());
    assert!(open(listen, Security { allow_plain: true, ..with_token }).is_ok());
}

#[test]
fn a_file_that_is_no_certificate_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = path(folder.path(), "nothing.pem");
    fs::write(&path, "nothing").unwrap();
    let error = ClientTls::from_file(Path::new(&path)).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read certificates in PEM form from `{path}`"));
}
