//! Servers that share, die and take over.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::jetstream;
use component::pool::{Config, Server, Traffic};
use predict::Live;
use stream::{Forecast, Message, NatsServer, Payload, Reader, Security};
use testkit::{PATIENCE, wait_until};
use tokio::runtime::Runtime;
use units::Timestamp;

/// Where the process that is to be a server, and killed, finds the NATS server.
const SERVE: &str = "FORETOP_POOL_TEST_NATS";

const N_HOSTS: u32 = 12;

fn config() -> Config {
    Config {
        window: 64,
        refit_every: 24,
        horizon: 4,
        lease: Duration::from_millis(900),
        n_partitions: 8,
        // The server takes a stream only where the disk has room for all that it may keep.
        keep_bytes: 64 << 20,
        ..Config::new("AR(4)".parse().unwrap())
    }
}

fn security(url: String) -> Security {
    Security { nats: NatsServer { url: Some(url), credentials: None }, ..Security::default() }
}

fn load() -> Traffic {
    Traffic {
        prefix: "foretop.samples".to_owned(),
        n_hosts: N_HOSTS,
        n_signals: 3,
        step: Duration::from_secs(1),
        first: 0,
        n_steps: 0,
    }
}

/// This test's program again, as a server that nobody asks before it ends.
struct Victim(Child);

impl Victim {
    fn start(url: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "nats::a_server_of_its_own_process", "--ignored"])
            .env(SERVE, url)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    /// With -9.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "is the server that another test kills; needs nats-server; run by make test"]
fn a_server_of_its_own_process() {
    if let Ok(url) = std::env::var(SERVE) {
        let _server = Server::start(config(), &security(url)).unwrap();
        loop {
            std::thread::park();
        }
    }
}

/// Quiet after which nothing is on its way for now.
const A_MOMENT: Duration = Duration::from_millis(50);

/// Hosts that measure when they are told to, and whoever reads the forecasts.
struct World {
    runtime: Runtime,
    context: jetstream::Context,
    reader: Reader,
    /// By host, number and signal.
    forecasts: HashMap<(String, u64, u32), Forecast>,
    host: String,
}

impl World {
    fn new(security: &Security) -> Self {
        let runtime = Runtime::new().unwrap();
        let context = runtime.block_on(async { jetstream::new(stream::nats::connect(security).await.unwrap()) });
        let reader = open_reader(security);
        Self { runtime, context, reader, forecasts: HashMap::new(), host: String::new() }
    }

    /// Every host measures once; JetStream has it when this returns.
    fn measure(&self, number: u64) {
        let load = load();
        for host in 0..N_HOSTS {
            let mut bytes = bytes::BytesMut::new();
            load.description(host).encode(&mut bytes).unwrap();
            load.measurement(host, number, Timestamp::from_nanos(0)).encode(&mut bytes).unwrap();
            let publish = || {
                let message = jetstream::message::PublishMessage::build()
                    .payload(bytes.clone().freeze())
                    .message_id(format!("{host}-{number}"));
                self.runtime
                    .block_on(async { self.context.send_publish(load.subject(host), message).await.ok()?.await.ok() })
            };
            wait_until("JetStream has it", PATIENCE, publish);
        }
    }

    /// Reads until there are forecasts of all hosts for this number.
    fn wait_for(&mut self, number: u64) {
        while !self.has_all(number) {
            let message = self.reader.next(PATIENCE).unwrap().expect("forecasts come");
            self.take(message);
        }
    }

    /// Reads what comes, and says whether all hosts were forecast for any of these numbers.
    fn has_all_of_any(&mut self, mut numbers: std::ops::RangeInclusive<u64>) -> bool {
        while let Some(message) = self.reader.next(A_MOMENT).unwrap() {
            self.take(message);
        }
        numbers.any(|number| self.has_all(number))
    }

    fn has_all(&self, number: u64) -> bool {
        (0..N_HOSTS).all(|host| self.forecasts.contains_key(&(load().description(host).host, number, 2)))
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Description(description) => self.host = description.host,
            Message::Forecast(forecast) => {
                self.forecasts.insert((self.host.clone(), forecast.number, forecast.signal), forecast);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Each forecast that came is the one that the library makes of all samples up to there.
    fn check(&self, n_measured: u64) {
        let mut n_checked = 0;
        for host in 0..N_HOSTS {
            for signal in 0..3 {
                for (number, means) in library(host, signal, n_measured) {
                    if let Some(given) = self.forecasts.get(&(load().description(host).host, number, signal)) {
                        assert_eq!(given.means, means, "host {host}, signal {signal}, number {number}");
                        n_checked += 1;
                    }
                }
            }
        }
        assert_eq!(n_checked, self.forecasts.len(), "each was compared");
    }
}

fn open_reader(security: &Security) -> Reader {
    Reader::open(&"source:nats:foretop.forecasts.>".parse().unwrap(), security).unwrap()
}

/// What a series that nobody interrupts forecasts.
fn library(host: u32, signal: u32, n: u64) -> Vec<(u64, Vec<f64>)> {
    let load = load();
    let mut live = Live::new(config().policy(&load.subject(host)));
    let step = |number: u64| {
        live.step(load.measurement(host, number, Timestamp::from_nanos(0)).values[signal as usize]);
        Some((number, live.forecast(4)?.means().to_vec()))
    };
    (0..n).filter_map(step).collect()
}

fn start(folder: &Path) -> (testkit::NatsServer, Security) {
    let nats = testkit::NatsServer::start(folder);
    let security = security(nats.url());
    (nats, security)
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn who_is_left_takes_over_and_forecasts_what_an_uninterrupted_run_would() {
    let folder = tempfile::tempdir().unwrap();
    let (nats, security) = start(folder.path());
    let mut victim = Victim::start(&nats.url());
    let survivor = Server::start(config(), &security).unwrap();
    let mut world = World::new(&security);
    let mut number = 0;
    let mut measure = |world: &mut World, n: u64| {
        for _ in 0..n {
            world.measure(number);
            number += 1;
        }
        number - 1
    };
    measure(&mut world, 40);
    // They share once both have joined; each has some hosts then.
    wait_until("the load is shared", PATIENCE, || {
        measure(&mut world, 1);
        (1..u64::from(N_HOSTS)).contains(&survivor.counted().n_hosts).then_some(())
    });
    // While hosts change hands a number may be forecast by nobody, and how many numbers that takes depends on the
    // machine.
    let first = measure(&mut world, 1);
    wait_until("all hosts are forecast", PATIENCE, || {
        let last = measure(&mut world, 1);
        world.has_all_of_any(first..=last).then_some(())
    });
    victim.kill();
    let last = measure(&mut world, 5);
    wait_until("the survivor has all", PATIENCE, || (survivor.counted().n_hosts == u64::from(N_HOSTS)).then_some(()));
    let after = measure(&mut world, 40);
    world.wait_for(after);
    world.check(last + 41);
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn a_nats_server_that_is_killed_under_load_loses_no_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let (mut nats, security) = start(folder.path());
    let _server = Server::start(config(), &security).unwrap();
    let mut world = World::new(&security);
    let mut number = 0;
    let mut measure = |world: &mut World, n: u64| {
        (number..number + n).for_each(|number| world.measure(number));
        number += n;
        number - 1
    };
    let last = measure(&mut world, 50);
    world.wait_for(last);
    nats.kill();
    nats.start_again();
    world.reader = open_reader(&security);
    let first = measure(&mut world, 50);
    // What was measured while it came back is forecast after that, or by a replay not at all, and the count of hosts is
    // that of before until the pool has noticed.
    wait_until("all hosts are forecast", PATIENCE, || {
        let last = measure(&mut world, 1);
        world.has_all_of_any(first..=last).then_some(())
    });
    let last = measure(&mut world, 10);
    world.wait_for(last);
    world.check(last + 1);
}
