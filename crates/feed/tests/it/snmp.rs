//! Flow bandwidth by SNMP, from agents that tell the truth, lie, stall and come back.

use std::{collections::BTreeMap, num::NonZeroU32, path::Path as Folder, time::Duration};

use async_snmp::Value;
use feed::snmp::{
    AgentSettings, Credentials, Direction, FlowSettings, Hop, Interface, LinkSettings, Path, SettingsError,
    SnmpSettings, SnmpSource,
};
use secret::Secret;
use signal::{Readings, Source};

use crate::simulated_agent::{COMMUNITY, Manner, SimulatedAgent};

fn community(word: &str) -> Credentials {
    Credentials::Community(Secret::new(word))
}

pub fn link(name: &str, agent: &str, interface: &str) -> LinkSettings {
    let (name, agent) = (name.to_owned(), agent.to_owned());
    LinkSettings { name, agent, interface: Interface::Named(interface.to_owned()), capacity_bytes_per_sec: None }
}

pub fn given(peer: &str, hops: &[(&str, Direction)]) -> FlowSettings {
    let hops = hops.iter().map(|&(link, direction)| Hop { link: link.to_owned(), direction }).collect();
    FlowSettings { peer: peer.to_owned(), path: Path::Given(hops), n_rivals_max: None }
}

fn found(peer: &str, source: &str, destination: &str) -> FlowSettings {
    let (source, destination) = (Some(source.parse().unwrap()), destination.parse().unwrap());
    FlowSettings { peer: peer.to_owned(), path: Path::Found { source, destination }, n_rivals_max: None }
}

/// A source, and the time by a clock that the test sets.
pub struct Watch {
    source: SnmpSource,
    readings: Readings,
    at: Duration,
}

impl Watch {
    pub fn new(settings: SnmpSettings) -> Watch {
        let source = SnmpSource::new(settings, Folder::new("/")).unwrap();
        Watch { source, readings: Readings::default(), at: Duration::ZERO }
    }

    /// Reads everything, so many seconds after the last time.
    pub fn after(&mut self, seconds: u64) -> BTreeMap<String, f64> {
        self.at += Duration::from_secs(seconds);
        self.source.read(self.at, &mut self.readings);
        self.readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect()
    }

    pub fn n_errors(&self) -> u64 {
        self.source.n_errors()
    }

    #[track_caller]
    pub fn check_error(&self, words: &[&str]) {
        let error = self.source.last_error().expect("something went wrong");
        assert!(words.iter().all(|word| error.contains(word)), "{words:?} in `{error}`");
    }
}

/// One switch with one gigabit port, and a flow that it sends by it.
struct Scene {
    agent: SimulatedAgent,
    watch: Watch,
}

impl Scene {
    fn new() -> Scene {
        let agent = SimulatedAgent::start();
        agent.set_uptime(1_000);
        agent.set_interface(3, "ge-0/0/3", 1_000, 0, 0);
        let settings = SnmpSettings {
            agents: vec![AgentSettings::new("switch", agent.address(), community(COMMUNITY))],
            links: vec![link("uplink", "switch", "ge-0/0/3")],
            flows: vec![given("peer", &[("uplink", Direction::Sent)])],
        };
        Scene { watch: Watch::new(settings), agent }
    }

    /// One second of traffic, and what is read after it.
    fn second(&mut self, uptime_ticks: u32, received: u64, sent: u64) -> BTreeMap<String, f64> {
        self.agent.set_uptime(uptime_ticks);
        self.agent.set_interface(3, "ge-0/0/3", 1_000, received, sent);
        self.watch.after(1)
    }

    /// Reads twice, so that there are rates.
    fn started() -> Scene {
        let mut scene = Scene::new();
        scene.second(1_000, 0, 0);
        let values = scene.second(1_100, 1_000, 25_000_000);
        assert_eq!(values["flow.peer"], 100e6);
        scene
    }

    /// The agent does as it should not for two seconds: no values, errors with these words, and all is well after it.
    #[track_caller]
    fn check_gap(manner: Manner, words: &[&str]) {
        let mut scene = Scene::started();
        scene.agent.behave(manner);
        for ticks in [1_200, 1_300] {
            let values = scene.second(ticks, 2_000, 25_000_000);
            assert_eq!(values.len(), 0, "{manner:?}: {values:?}");
        }
        assert_eq!(scene.watch.n_errors(), 2, "{manner:?}");
        scene.watch.check_error(words);
        scene.agent.behave(Manner::Honest);
        scene.second(1_400, 3_000, 25_000_000);
        let values = scene.second(1_500, 4_000, 50_000_000);
        assert!(values["flow.peer"] < 125e6, "it is back: {values:?}");
        assert_eq!(scene.watch.n_errors(), 2);
    }
}

#[test]
fn a_flow_gets_what_the_traffic_leaves_over() {
    let mut scene = Scene::new();
    let first = scene.second(1_000, 0, 0);
    assert_eq!(first.keys().collect::<Vec<_>>(), ["link.uplink.capacity"], "one reading has no rate");
    let values = scene.second(1_100, 1_000, 25_000_000);
    let expected = [
        ("flow.peer", 100e6),
        ("link.uplink.capacity", 125e6),
        ("link.uplink.received", 1e3),
        ("link.uplink.sent", 25e6),
    ];
    assert_eq!(values, expected.map(|(id, value)| (id.to_owned(), value)).into());
    assert_eq!(scene.watch.n_errors(), 0);
}

#[test]
fn an_agent_that_does_not_answer_is_a_gap() {
    Scene::check_gap(Manner::Silent, &["`switch`", "did not answer"]);
}

#[test]
fn garbage_is_no_answer() {
    Scene::check_gap(Manner::Garbage, &["`switch`", "did not answer"]);
}

#[test]
fn an_answer_to_another_question_is_no_answer() {
    Scene::check_gap(Manner::OtherQuestion, &["`switch`", "did not answer"]);
}

#[test]
fn values_of_other_objects_are_refused() {
    Scene::check_gap(Manner::OtherObjects, &["`switch`", "other objects"]);
}

#[test]
fn an_agent_that_fails_is_a_gap() {
    Scene::check_gap(Manner::Failing, &["`switch`", "error"]);
}

#[test]
fn tables_that_go_round_or_on_for_ever_are_left() {
    for manner in [Manner::Circle, Manner::Endless] {
        let mut scene = Scene::new();
        scene.agent.behave(manner);
        assert_eq!(scene.watch.after(1).len(), 0);
        scene.watch.check_error(&["`switch`"]);
        assert!(scene.agent.n_questions() < 2_000, "{manner:?}: {} questions", scene.agent.n_questions());
    }
}

#[test]
fn a_word_that_the_agent_does_not_know_is_silence_and_shown_nowhere() {
    let agent = SimulatedAgent::start();
    let agents = vec![AgentSettings::new("switch", agent.address(), community("open sesame"))];
    let settings = SnmpSettings { agents, links: vec![link("uplink", "switch", "eth0")], flows: vec![] };
    assert!(!format!("{settings:?}").contains("sesame"));
    let mut watch = Watch::new(settings);
    assert_eq!(watch.after(1).len(), 0);
    watch.check_error(&["did not answer", "community"]);
    assert!(!watch.source.last_error().unwrap().contains("sesame"));
}

#[test]
fn an_agent_that_stays_gone_is_asked_seldom_and_comes_back_by_itself() {
    let mut scene = Scene::started();
    scene.agent.behave(Manner::Silent);
    for _ in 0..40 {
        scene.watch.after(1);
    }
    assert!(scene.watch.n_errors() < 12, "{} questions in 40 s", scene.watch.n_errors());
    scene.agent.behave(Manner::Honest);
    scene.watch.after(30);
    scene.agent.set_uptime(9_000);
    scene.agent.set_interface(3, "ge-0/0/3", 1_000, 5_000, 25_000_000);
    scene.watch.after(1);
    scene.agent.set_uptime(9_100);
    scene.agent.set_interface(3, "ge-0/0/3", 1_000, 6_000, 30_000_000);
    assert_eq!(scene.watch.after(1)["flow.peer"], 120e6);
}

#[test]
fn one_agent_that_is_gone_leaves_the_others_alone() {
    let (gone, there) = (SimulatedAgent::start(), SimulatedAgent::start());
    gone.behave(Manner::Silent);
    there.set_uptime(0);
    there.set_interface(1, "eth0", 100, 0, 0);
    let agents = [("gone", &gone), ("there", &there)];
    let settings = SnmpSettings {
        agents: agents.map(|(name, agent)| AgentSettings::new(name, agent.address(), community(COMMUNITY))).into(),
        links: vec![link("a", "gone", "eth0"), link("b", "there", "eth0")],
        flows: vec![],
    };
    assert_eq!(Watch::new(settings).after(1)["link.b.capacity"], 12.5e6);
}

#[test]
fn an_agent_that_starts_again_is_a_gap_and_no_error() {
    let mut scene = Scene::started();
    let values = scene.second(10, 50, 60);
    assert_eq!(values.keys().collect::<Vec<_>>(), ["link.uplink.capacity"]);
    assert_eq!(scene.second(110, 50, 5_000_060)["flow.peer"], 120e6);
    assert_eq!(scene.watch.n_errors(), 0);
}

#[test]
fn counters_that_cannot_be_so_are_gaps_and_errors() {
    let mut scene = Scene::started();
    scene.second(1_200, 0, 50_000_000);
    scene.watch.check_error(&["went from 1000 back to 0"]);
    scene.second(1_300, 9_000_000_000, 75_000_000);
    scene.watch.check_error(&["9000000000 bytes/s", "capacity of 125000000 bytes/s"]);
    assert_eq!(scene.watch.n_errors(), 2);
}

#[test]
fn an_interface_that_is_down_gives_a_flow_nothing() {
    let mut scene = Scene::started();
    scene.agent.set_uptime(1_200);
    scene.agent.set("1.3.6.1.2.1.2.2.1.8.3", Value::Integer(2));
    let values = scene.watch.after(1);
    assert_eq!((values["flow.peer"], values["link.uplink.capacity"]), (0.0, 0.0));
}

#[test]
fn an_interface_is_found_again_when_the_agent_numbers_anew() {
    let mut scene = Scene::started();
    scene.agent.set_interface(3, "ge-0/0/9", 10_000, 1, 1);
    scene.agent.set_interface(7, "ge-0/0/3", 1_000, 0, 0);
    assert_eq!(scene.watch.after(1).len(), 0, "the number is another's");
    scene.watch.after(1);
    scene.agent.set_uptime(1_400);
    scene.agent.set_interface(7, "ge-0/0/3", 1_000, 0, 5_000_000);
    assert_eq!(scene.watch.after(1)["link.uplink.sent"], 5e6);
}

#[test]
fn narrow_counters_stand_in_for_wide_ones() {
    let agent = SimulatedAgent::start();
    let set = |ticks, received: u32| {
        agent.set_uptime(ticks);
        agent.set("1.3.6.1.2.1.2.2.1.2.1", Value::OctetString(b"hme0".to_vec().into()));
        agent.set("1.3.6.1.2.1.2.2.1.5.1", Value::Gauge32(100_000_000));
        agent.set("1.3.6.1.2.1.2.2.1.8.1", Value::Integer(1));
        agent.set("1.3.6.1.2.1.2.2.1.10.1", Value::Counter32(received));
        agent.set("1.3.6.1.2.1.2.2.1.16.1", Value::Counter32(0));
    };
    let agents = vec![AgentSettings::new("old", agent.address(), community(COMMUNITY))];
    let mut watch = Watch::new(SnmpSettings { agents, links: vec![link("old", "old", "hme0")], flows: vec![] });
    set(0, u32::MAX - 999);
    watch.after(1);
    set(100, u32::MAX - 999);
    watch.after(1);
    set(200, 1_000);
    let values = watch.after(1);
    assert_eq!((values["link.old.received"], values["link.old.capacity"]), (2_000.0, 12.5e6), "it wrapped");
    assert_eq!(watch.n_errors(), 0);
}

#[test]
fn an_interface_that_is_not_there_or_there_twice_is_named() {
    let mut scene = Scene::started();
    scene.agent.set_interface(3, "other", 1_000, 0, 0);
    scene.watch.after(1);
    scene.watch.after(1);
    scene.watch.check_error(&["`switch`", "no interface `ge-0/0/3`"]);
    scene.agent.set_interface(4, "ge-0/0/3", 1_000, 0, 0);
    scene.agent.set_interface(5, "ge-0/0/3", 1_000, 0, 0);
    scene.watch.after(1);
    assert!(scene.watch.n_errors() >= 2);
}

#[test]
fn a_flow_with_rivals_gets_an_equal_part_of_a_full_link() {
    let mut scene = Scene::new();
    let mut flow = given("peer", &[("uplink", Direction::Sent)]);
    flow.n_rivals_max = NonZeroU32::new(4);
    scene.watch = Watch::new(SnmpSettings {
        agents: vec![AgentSettings::new("switch", scene.agent.address(), community(COMMUNITY))],
        links: vec![link("uplink", "switch", "ge-0/0/3")],
        flows: vec![flow],
    });
    scene.second(1_000, 0, 0);
    assert_eq!(scene.second(1_100, 0, 125_000_000)["flow.peer"], 25e6);
}

#[test]
fn the_way_is_found_over_routers_and_bridges() {
    let hosts = Way::new();
    let mut watch = hosts.watch(found("b", "10.0.1.10", "10.0.2.20"));
    hosts.count(0);
    watch.after(1);
    hosts.count(1);
    let values = watch.after(1);
    let capacities: Vec<_> = values.keys().filter(|id| id.ends_with("capacity")).map(String::as_str).collect();
    let expected = [
        "link.a.eth0.capacity",
        "link.bridge.p1.capacity",
        "link.bridge.p2.capacity",
        "link.router.left.capacity",
        "link.router.right.capacity",
    ];
    assert_eq!(capacities, expected);
    assert_eq!(values["flow.b"], 12.5e6 - 1e6, "the router's slow side: {values:?}");
    assert_eq!(watch.n_errors(), 0, "{:?}", watch.source.last_error());
}

#[test]
fn a_way_that_no_agent_knows_is_said_and_no_flow_is() {
    let hosts = Way::new();
    let mut watch = hosts.watch(found("c", "10.0.1.10", "10.9.9.9"));
    assert!(!watch.after(1).contains_key("flow.c"));
    watch.check_error(&["`router`", "no route to 10.9.9.9"]);
    let mut watch = hosts.watch(found("d", "10.0.7.7", "10.0.2.20"));
    watch.after(1);
    watch.check_error(&["no agent has the address 10.0.7.7"]);
}

/// Host a (10.0.1.10), a bridge, a router (10.0.1.1 and 10.0.2.1), and host b (10.0.2.20) that has no agent.
struct Way {
    a: SimulatedAgent,
    bridge: SimulatedAgent,
    router: SimulatedAgent,
}

impl Way {
    fn new() -> Way {
        let way = Way { a: SimulatedAgent::start(), bridge: SimulatedAgent::start(), router: SimulatedAgent::start() };
        let mac = |last| Value::OctetString(vec![2, 0, 0, 0, 0, last].into());
        way.count(0);
        // Host a: its address, a default route by the newest table, its neighbour.
        way.a.set("1.3.6.1.2.1.4.20.1.2.10.0.1.10", Value::Integer(2));
        way.a.set("1.3.6.1.2.1.4.24.7.1.7.1.4.0.0.0.0.0.2.0.0.1.4.10.0.1.1", Value::Integer(2));
        way.a.set("1.3.6.1.2.1.2.2.1.6.2", mac(10));
        way.a.set("1.3.6.1.2.1.4.22.1.2.2.10.0.1.1", mac(1));
        // The bridge: both hardware addresses at ports of their own.
        for (last, port) in [(10, 1), (1, 2)] {
            way.bridge.set(&format!("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.{last}"), Value::Integer(port));
            way.bridge.set(&format!("1.3.6.1.2.1.17.1.4.1.2.{port}"), Value::Integer(port + 100));
        }
        // The router: its addresses by the new table, its routes by the middle one, none for elsewhere.
        way.router.set("1.3.6.1.2.1.4.34.1.3.1.4.10.0.1.1", Value::Integer(1));
        way.router.set("1.3.6.1.2.1.4.34.1.3.1.4.10.0.2.1", Value::Integer(2));
        way.router.set("1.3.6.1.2.1.4.24.4.1.5.10.0.2.0.255.255.255.0.0.0.0.0.0", Value::Integer(2));
        way
    }

    fn count(&self, s: u64) {
        for agent in [&self.a, &self.bridge, &self.router] {
            agent.set_uptime(1_000 + 100 * s as u32);
        }
        self.a.set_interface(2, "eth0", 1_000, s * 100, s * 200);
        self.bridge.set_interface(101, "p1", 1_000, s * 300, s * 400);
        self.bridge.set_interface(102, "p2", 1_000, s * 500, s * 600);
        self.router.set_interface(1, "left", 1_000, s * 700, s * 800);
        self.router.set_interface(2, "right", 100, s * 900, s * 1_000_000);
    }

    fn watch(&self, flow: FlowSettings) -> Watch {
        let agents = [("a", &self.a), ("bridge", &self.bridge), ("router", &self.router)];
        let agents = agents.map(|(name, agent)| AgentSettings::new(name, agent.address(), community(COMMUNITY))).into();
        Watch::new(SnmpSettings { agents, links: vec![], flows: vec![flow] })
    }
}

#[track_caller]
fn check_refused(settings: SnmpSettings, words: &[&str]) {
    let error: SettingsError = SnmpSource::new(settings, Folder::new("/")).err().expect("it is refused");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} in `{text}`");
}

#[test]
fn settings_that_contradict_themselves_are_refused() {
    let agent = |name: &str| AgentSettings::new(name, "localhost", community("w"));
    let with = |links: Vec<LinkSettings>, flows| SnmpSettings { agents: vec![agent("switch")], links, flows };
    check_refused(with(vec![link("l", "router", "e")], vec![]), &["`l`", "`router`"]);
    check_refused(with(vec![link("l", "switch", "e"), link("l", "switch", "f")], vec![]), &["two links", "`l`"]);
    check_refused(with(vec![], vec![given("p", &[("l", Direction::Sent)])]), &["`p`", "`l`"]);
    check_refused(with(vec![], vec![given("p", &[])]), &["`p`", "no link"]);
    let endless = AgentSettings { timeout: Duration::from_secs(3_600), ..agent("switch") };
    check_refused(SnmpSettings { agents: vec![endless], ..SnmpSettings::default() }, &["`switch`", "3600s"]);
    let wrong = LinkSettings { capacity_bytes_per_sec: Some(f64::NAN), ..link("l", "switch", "e") };
    check_refused(with(vec![wrong], vec![]), &["`l`", "NaN"]);
}
