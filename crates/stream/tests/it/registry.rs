//! Streams that are found by what they are.

use std::path::Path;
use std::time::Duration;

use stream::registry::{Announcement, Query, Registry, find};
use stream::{Answer, Ask, Caller, Message, Mirror, Security};
use testkit::{PATIENCE, wait_until};

use crate::world::{PassOn, collector, description, endpoint, sample, writer};

fn announcing(folder: &Path) -> Security {
    let registry = Registry { folder: Some(folder.join("streams")), announces: true, ..Registry::default() };
    Security { registry, ..Security::default() }
}

fn found(query: &Query, security: &Security) -> Vec<Announcement> {
    find(query, Duration::ZERO, security).unwrap()
}

#[test]
fn a_stream_is_found_by_name_host_signal_and_goes_with_its_component() {
    let folder = tempfile::tempdir().unwrap();
    let security = announcing(folder.path());
    let writer = writer("connect:tcp:0", &security);
    assert_eq!(found(&Query::default(), &security), [], "before it is known what it carries");
    writer.send(Message::Description(description()));
    let all = wait_until("it is announced", PATIENCE, || {
        Some(found(&Query::default(), &security)).filter(|all| !all.is_empty())
    });
    assert_eq!(
        (all[0].stream.as_str(), all[0].host.as_str(), &all[0].signals[..]),
        ("load", "pyramid", &["load.1".to_owned()][..])
    );
    assert_eq!(all[0].addresses, [writer.address()]);
    let is_found = |stream: Option<&str>, host: Option<&str>, signal: Option<&str>, model: Option<&str>| {
        let [stream, host, signal, model] =
            [stream, host, signal, model].map(|text| text.map(|text| text.parse().unwrap()));
        !found(&Query { stream, host, signal, model, ..Query::default() }, &security).is_empty()
    };
    assert!(is_found(Some("lo*"), Some("pyramid"), Some("load.*"), None));
    assert!(!is_found(Some("lo"), None, None, None));
    assert!(!is_found(None, Some("sphinx"), None, None));
    assert!(!is_found(None, None, Some("cpu.*"), None));
    assert!(!is_found(None, None, None, Some("*")), "it is not a stream of forecasts");
    writer.running.stop();
    assert_eq!(found(&Query::default(), &security), []);
}

#[test]
fn a_name_leads_to_where_the_stream_is_at_that_moment() {
    let folder = tempfile::tempdir().unwrap();
    let security = announcing(folder.path());
    let reader = collector("source:name:load@pyramid", &security);
    let error = wait_until("it is told", PATIENCE, || reader.running.status()[0].counted.last_error.clone());
    assert_eq!(error, "no running stream is found for source:name:load@pyramid");
    for number in 0..2 {
        // Each time at another port.
        let writer = writer("connect:tcp:0", &security);
        writer.send(Message::Description(description()));
        writer.wait_for_reader();
        writer.send(Message::Sample(sample(number)));
        assert_eq!(reader.samples(1), [sample(number)]);
        writer.running.stop();
    }
}

#[test]
fn a_component_is_asked_by_the_name_of_its_stream() {
    let folder = tempfile::tempdir().unwrap();
    let security = announcing(folder.path());
    let mut mirror = Mirror::new("writer", PassOn).with_security(security.clone());
    let (_, inlet) = mirror.inlet(1);
    mirror.add(endpoint("server:tcp:0"));
    let _running = mirror.start().unwrap();
    inlet.send(Message::Description(description())).unwrap();
    let mut caller =
        wait_until("it is announced", PATIENCE, || Caller::open(&endpoint("source:name:load"), &security).ok());
    caller.call(Ask::Status {}, PATIENCE).unwrap();
}

#[test]
fn a_name_that_several_components_give_is_told_apart_by_them() {
    let folder = tempfile::tempdir().unwrap();
    let security = announcing(folder.path());
    let start = |name: &str| {
        let mut mirror = Mirror::new(name, PassOn).with_security(security.clone());
        let (_, inlet) = mirror.inlet(1);
        mirror.add(endpoint("server:tcp:0"));
        let running = mirror.start().unwrap();
        inlet.send(Message::Description(description())).unwrap();
        let query = Query { component: Some(name.parse().unwrap()), ..Query::default() };
        wait_until("it is announced", PATIENCE, || found(&query, &security).pop());
        running
    };
    let _both = [start("load-server"), start("pred-server")];
    let error = Caller::open(&endpoint("source:name:load"), &security).err().unwrap().to_string();
    let names = "load-server/load@pyramid, pred-server/load@pyramid";
    assert_eq!(error, format!("server:name:load is given by several components; name one: {names}"));
    let mut caller = Caller::open(&endpoint("source:name:pred-server/load@pyramid"), &security).unwrap();
    let (Answer::Status(status), _) = caller.call(Ask::Status {}, PATIENCE).unwrap() else { panic!("no status") };
    assert_eq!(status.component, "pred-server");
}
