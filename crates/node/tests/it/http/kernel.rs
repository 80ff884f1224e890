//! Control of an agent that measures the kernel. It reads /proc here, which needs no root.

use std::fs::Permissions;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use kernel::control::{Answer, Change, Request};
use kernel::{Engine, Pulled, Sink};
use node::Config;
use node_api::ErrorCode::{AgentUnavailable, BadBody, Conflict, HostNotAllowed, NotFound, Unauthorized};
use record::Item;
use serde_json::Value;
use tempfile::TempDir;
use testkit::{PATIENCE, wait_until};

use super::Host;

pub struct Agent {
    folder: TempDir,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Nothing;

impl Sink for Nothing {
    fn pulled(&mut self, _: &mut Engine, _: &[Pulled]) -> Result<(), kernel::Error> {
        Ok(())
    }

    fn traced(&mut self, _: &mut Engine) -> Result<(), kernel::Error> {
        Ok(())
    }
}

impl Agent {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, is_over) = (folder.path().join("socket"), Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&is_over);
        let serve = move || {
            let engine = Engine::new(Box::new(kernel::ProcOpener), [(0, kernel::Node::Host)].into(), 10, Some(0.01));
            let mut agent = kernel::Agent::listen(engine, &path, None).unwrap();
            agent.serve(|| ends.load(Ordering::Relaxed), &mut Nothing).unwrap();
        };
        let thread = Some(std::thread::spawn(serve));
        let agent = Self { folder, is_over, thread };
        wait_until("the agent listens", PATIENCE, || agent.path().exists().then_some(()));
        agent
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("socket")
    }

    fn node(&self) -> Host {
        Host::with(Config { kernel: Some(self.path()), ..Config::default() })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn post(host: &Host, headers: &[(&str, &str)], body: &str) -> super::Answer {
    let headers = [&[("Content-Type", "application/json")], headers].concat();
    host.ask("POST", "/api/v1/kernel", &headers, body.as_bytes())
}

#[test]
fn what_a_controller_asks_reaches_the_agent_and_the_answer_comes_back() {
    let agent = Agent::start();
    let host = agent.node();
    let status = host.get("/api/v1/kernel").json::<Value>();
    assert_eq!(
        (&status["is"], &status["is_on"], &status["budget_cores"]),
        (&"status".into(), &false.into(), &0.01.into())
    );
    let set = post(&host, &[], r#"{"do":"set","is_on":true,"subsystems":{"task":{"is_on":false}}}"#);
    assert_eq!((set.status, set.json::<Value>()["is"].clone()), (200, "done".into()));
    assert_eq!(host.get("/api/v1/kernel").json::<Value>()["is_on"], true);
    let pulled = || {
        let summaries = host.get("/api/v1/kernel/summaries").json::<Value>();
        summaries["summaries"].as_array().is_some_and(|all| !all.is_empty()).then_some(summaries)
    };
    let summaries = wait_until("there are summaries", PATIENCE, pulled);
    assert!(!summaries.to_string().contains(r#""subsystem":"task""#), "{summaries}");
    let traces = host.get("/api/v1/kernel/traces").json::<Value>();
    assert_eq!((&traces["is"], &traces["traces"]), (&"traces".into(), &Value::Array(Vec::new())));
}

#[test]
fn a_receiver_gets_a_file_of_records_until_it_asks_for_its_end() {
    let agent = Agent::start();
    let host = agent.node();
    let client = node_api::Client::new(format!("http://{}", host.address()).parse().unwrap(), None);
    let on = Request::Set(Change { is_on: Some(true), ..Change::default() });
    let ask = |request: &Request| client.kernel::<Answer>(request).unwrap();
    assert_eq!(ask(&on), Answer::Done);
    let mut items = record::read(BufReader::new(client.kernel_records().unwrap())).unwrap();
    let Some(Ok(Item::Attribute(name, receiver))) = items.next() else { panic!("a file that begins otherwise") };
    assert_eq!(name, kernel::RECEIVER);
    let is_record = |item: &Item| matches!(item, Item::Record { .. });
    assert!(items.any(|item| is_record(&item.unwrap())), "there is no summary");
    assert_eq!(ask(&Request::EndReceive { receiver: receiver.clone() }), Answer::Done);
    // No error says that the file is cut.
    items.for_each(|item| drop(item.unwrap()));
    let again = client.kernel::<Answer>(&Request::EndReceive { receiver }).unwrap_err().to_string();
    assert!(again.contains("no receiver"), "{again}");
    post(&host, &[], r#"{"do":"receive"}"#).check_refused(400, BadBody, Some("do"));
}

#[test]
fn whoever_has_no_lease_while_another_has_is_told_who() {
    let agent = Agent::start();
    let host = agent.node();
    let lease = post(&host, &[], r#"{"do":"lease","name":"ann","seconds":60,"wait":false}"#).json::<Value>();
    let refused = post(&host, &[], r#"{"do":"set","is_on":true}"#);
    assert!(refused.body.contains("`ann` has the lease for"), "{refused:?}");
    refused.check_refused(409, Conflict, None);
    let token = lease["token"].as_str().unwrap();
    assert_eq!(post(&host, &[], &format!(r#"{{"do":"set","token":"{token}","is_on":true}}"#)).status, 200);
}

#[test]
fn what_is_no_request_and_whoever_may_not_ask_never_reach_the_agent() {
    let agent = Agent::start();
    let host = agent.node();
    post(&host, &[], r#"{"do":"dance"}"#).check_refused(400, BadBody, Some("do"));
    post(&host, &[("Origin", "http://evil.example")], r#"{"do":"set","is_on":true}"#).check_refused(
        403,
        HostNotAllowed,
        Some("Origin"),
    );
    let file = agent.folder.path().join("token");
    std::fs::write(&file, "0123456789abcdef0123456789abcdef").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let token = Some(secret::Token::from_file(&file).unwrap());
    let guarded = Host::with(Config { kernel: Some(agent.path()), token, ..Config::default() });
    post(&guarded, &[], r#"{"do":"set","is_on":true}"#).check_refused(401, Unauthorized, Some("Authorization"));
    assert_eq!(host.get("/api/v1/kernel").json::<Value>()["is_on"], false);
}

#[test]
fn without_an_agent_it_is_said_what_is_missing() {
    Host::start().get("/api/v1/kernel").check_refused(404, NotFound, None);
    let gone = Host::with(Config { kernel: Some("/nonexistent/kernel.sock".into()), ..Config::default() });
    let refused = gone.get("/api/v1/kernel");
    assert!(refused.body.contains("foretop kernel agent"), "{refused:?}");
    refused.check_refused(503, AgentUnavailable, None);
}
