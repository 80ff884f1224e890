//! https: a node with a certificate, clients and other nodes that speak to it, and what is said when they do not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::command::run;
use crate::node::{Running, folder};

/// Files of a certificate for these names and its key, and the arguments that have a node use them.
pub fn identity(folder: &Path, names: &[&str]) -> [String; 4] {
    let made = rcgen::generate_simple_self_signed(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    let (certificate, key) = (folder.join("node.pem"), folder.join("node.key"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    ["--tls-cert".into(), text(&certificate), "--tls-key".into(), text(&key)]
}

pub fn token_file(folder: &Path) -> String {
    let path = folder.join("token");
    fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    text(&path)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn start(identity: &[String; 4], more: &[&str]) -> Running {
    let args: Vec<&str> = identity.iter().map(String::as_str).chain(more.iter().copied()).collect();
    Running::start(&[&["--in-memory", "--every", "50ms", "--only", "load.*"], &args[..]].concat())
}

#[test]
fn a_node_with_a_certificate_answers_who_believes_it() {
    let folder = folder();
    let (identity, token) = (identity(folder.path(), &["localhost", "127.0.0.1"]), token_file(folder.path()));
    let node = start(&identity, &["--token-file", &token]);
    assert!(node.url.starts_with("https://127.0.0.1:"), "{}", node.line);
    let ca = identity[1].as_str();
    let listed = node.run(&["signals", "--token-file", &token, "--ca", ca]).output();
    assert!(listed.contains("load.1m"), "{listed}");
    let untrusted = node.run(&["signals", "--token-file", &token]);
    untrusted.check_failed(1, "cannot trust the node at https://127.0.0.1:");
    untrusted.check_failed(1, "its certificate is from an unknown issuer");
    let clear = node.url.replace("https://", "http://");
    run(&["signals", "--node", &clear]).check_failed(1, "write https:// instead of http://");
}

#[test]
fn a_node_by_another_name_is_not_trusted() {
    let folder = folder();
    let identity = identity(folder.path(), &["db1.example"]);
    let node = start(&identity, &[]);
    let refused = node.run(&["signals", "--ca", &identity[1]]);
    refused.check_failed(1, "its certificate is for db1.example, not for 127.0.0.1");
}

#[test]
fn a_node_scrapes_another_one_over_https() {
    let folder = folder();
    let identity = identity(folder.path(), &["127.0.0.1"]);
    let exporter = start(&identity, &[]);
    let page = format!("{}/metrics", exporter.url);
    let scrape = ["--in-memory", "--only", "foretop_load_*", "--scrape", &page, "--match", "foretop_load_1m.*"];
    let node = Running::start(&[&scrape[..], &["--ca", &identity[1]]].concat());
    node.wait_for_samples("foretop_load_1m_tasks", 1);
}

#[test]
fn what_is_said_of_files_and_of_tokens_in_the_clear() {
    let folder = folder();
    let identity = identity(folder.path(), &["127.0.0.1"]);
    run(&["up", "--tls-cert", &identity[1]]).check_failed(2, "--tls-key");
    let swapped = run(&["up", "--in-memory", "--tls-cert", &identity[3], "--tls-key", &identity[1]]);
    swapped.check_failed(2, &format!("cannot read certificates in PEM form from `{}`", identity[3]));
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let other_key = folder.path().join("other.key");
    fs::write(&other_key, other.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&other_key, fs::Permissions::from_mode(0o600)).unwrap();
    let mixed = run(&["up", "--in-memory", "--tls-cert", &identity[1], "--tls-key", &text(&other_key)]);
    mixed.check_failed(
        2,
        &format!("the key in `{}` is not that of the certificate in `{}`", text(&other_key), identity[1]),
    );
    run(&["ask", "load.1m", "--ca", &identity[3]]).check_failed(2, "cannot read certificates in PEM form");
    let token = token_file(folder.path());
    // No such host answers; what is said comes before.
    let asked = run(&["signals", "--node", "http://foretop.invalid:7311", "--token-file", &token]);
    asked.check_failed(1, "the token is sent to http://foretop.invalid:7311 in the clear");
    let asked = run(&["signals", "--node", "https://foretop.invalid:7311", "--token-file", &token]);
    assert!(!asked.stderr.contains("in the clear"), "{}", asked.stderr);
}
