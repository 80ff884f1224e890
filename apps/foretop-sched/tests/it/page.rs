//! The page of a run, as a browser gets it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::workers::{foretop_sched, hire};

/// What is answered to a question for a path: the head and the body.
fn get(address: &str, host: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    let (head, body) = told.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn a_run_is_shown_while_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // A unit that waits until somebody writes.
    assert!(Command::new("mkfifo").arg(at("gate")).status().unwrap().success());
    let hired = hire(&["--allow", "sh=/bin/sh -c *[ */*"]);
    let unit = format!("[ {{unit}} = 0 ] || cat {}", at("gate"));
    let text = format!(
        "format = 1\n[work]\nunits = 2\ncost = \"10ms\"\nweights = [1, 3]\n[command]\nname = \"sh\"\nargs = [\"-c\", {unit:?}]\n\
         [[worker]]\nname = \"<b>here</b>\"\nendpoint = \"{}\"\n",
        hired.endpoint
    );
    fs::write(at("job.toml"), text).unwrap();
    let mut command = foretop_sched();
    command.args(["run", &at("job.toml"), "--run", &at("run"), "--page", "127.0.0.1:0"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let address = first.strip_prefix("the run is shown at http://").unwrap().trim_end_matches('/').to_owned();
    let (head, page) = get(&address, &address, "/");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(page.contains("src=\"/page.js\"") && get(&address, &address, "/page.js").1.contains("/events?offset="));
    assert!(get(&address, &address, "/page.css").0.contains("text/css"));
    assert!(get(&address, "example.org", "/events").0.starts_with("HTTP/1.1 403"));
    assert!(get(&address, &address, "/../job.toml").0.starts_with("HTTP/1.1 404"));
    assert!(get(&address, &address, "/events?offset=-1").0.starts_with("HTTP/1.1 400"));

    // Until the first unit is done, and something is forecast of the other.
    let progress = lines.find(|line| line.starts_with("1 of 2 units after ")).unwrap();
    assert!(progress.contains("<b>here</b> is forecast to be the last, in "), "{progress}");
    let told: serde_json::Value = serde_json::from_str(&get(&address, &address, "/events").1).unwrap();
    let kinds: Vec<String> = told["lines"].as_str().unwrap().lines().map(|line| line[..13].to_owned()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "{\"is\":\"done\",").count(), 1, "{told}");
    assert_eq!(
        (&told["expected"][0]["worker"], &told["expected"][0]["n_left"], &told["has_ended"]),
        (&"<b>here</b>".into(), &1.into(), &false.into()),
    );
    let offset = told["offset"].as_u64().unwrap();
    let nothing: serde_json::Value =
        serde_json::from_str(&get(&address, &address, &format!("/events?offset={offset}")).1).unwrap();
    assert_eq!((&nothing["lines"], &nothing["offset"]), (&"".into(), &offset.into()));

    fs::write(at("gate"), "open\n").unwrap();
    // The run waits for a page that was open, so that it sees the end.
    let mut last = nothing;
    while last["has_ended"] != true {
        let path = format!("/events?offset={}", last["offset"]);
        last = serde_json::from_str(&get(&address, &address, &path).1).unwrap();
    }
    assert!(lines.any(|line| line.contains("the forecast of")));
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_page_beyond_this_machine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = "format = 1\n[work]\nunits = 1\ncost = \"1s\"\n[command]\nname = \"echo\"\n[[worker]]\nname = \"a\"\nendpoint = \"source:tcp:127.0.0.1:1\"\n";
    fs::write(at("job.toml"), text).unwrap();
    let ended =
        foretop_sched().args(["run", &at("job.toml"), "--run", &at("run"), "--page", "0.0.0.0:0"]).output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(2) && told.contains("is beyond this machine"), "{told}");
}
