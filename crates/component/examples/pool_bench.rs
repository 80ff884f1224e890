//! Number of streams that a pool of two prediction servers carries on this machine, at one measurement a second each.
//!
//! Starts a NATS server, two servers in processes of their own, and a load in a third; reads all forecasts, and prints
//! a row. Usage: `pool_bench [N_HOSTS [SECONDS]]`, with 79 signals to a host.
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use component::pool::{Config, Server, Traffic};
use futures_util::StreamExt;
use stream::{Decoder, Forecast, Kind, NatsServer, Payload, Security, nats};

const N_SIGNALS: u32 = 79;

/// Fitted first to 64 samples here, which are too few for a good forecast and as much work to step and forecast from as
/// 600.
const MODEL: &str = "AR(16)";

/// Samples before models are there; they come five times as fast.
const WARM_UP: u64 = 66;
const WARM_UP_STEP: Duration = Duration::from_millis(200);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match text[..] {
        ["serve", url] => serve(url),
        ["load", url, n_hosts, seconds] => make_load(url, number(n_hosts), number(seconds)),
        ["--bench", ..] | [] => measure(1266, 20),
        [n_hosts] => measure(number(n_hosts), 20),
        [n_hosts, seconds, ..] => measure(number(n_hosts), number(seconds)),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

fn security(url: &str) -> Security {
    Security { nats: NatsServer { url: Some(url.to_owned()), credentials: None }, ..Security::default() }
}

fn serve(url: &str) {
    let _server = Server::start(Config::new(MODEL.parse().expect("a model")), &security(url)).expect("a server");
    loop {
        std::thread::park();
    }
}

fn load(n_hosts: u32, first: u64, n_steps: u64, step: Duration) -> Traffic {
    Traffic { prefix: "foretop.samples".to_owned(), n_hosts, n_signals: N_SIGNALS, step, first, n_steps }
}

fn make_load(url: &str, n_hosts: u32, n_steps: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let warm_up = load(n_hosts, 0, WARM_UP, WARM_UP_STEP);
    let measured = load(n_hosts, WARM_UP, n_steps, Duration::from_secs(1));
    for load in [warm_up, measured] {
        runtime.block_on(load.run(&security(url), |_| ())).expect("a load");
    }
}

/// A process that ends with the value.
struct Part(Child);

impl Part {
    fn start(arguments: &[&str]) -> Self {
        Self(Command::new(std::env::current_exe().expect("a path")).args(arguments).spawn().expect("a process"))
    }

    /// CPU time of a process, in seconds; a tick is a hundredth on Linux.
    fn cpu_s(pid: u32) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN);
        (ticks(11) + ticks(12)) / 100.0
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(n_hosts: u32, seconds: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = testkit::NatsServer::start(folder.path());
    let url = server.url();
    let servers = [Part::start(&["serve", &url]), Part::start(&["serve", &url])];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = nats::connect(&security(&url)).await.expect("a connection");
        let mut forecasts = client.subscribe("foretop.forecasts.>").await.expect("a subscription");
        // Leases are shared before the load begins.
        tokio::time::sleep(Duration::from_secs(4)).await;
        let n_steps = WARM_UP + seconds;
        let made = Part::start(&["load", &url, &n_hosts.to_string(), &seconds.to_string()]);
        let pids = [server.id(), servers[0].0.id(), servers[1].0.id(), made.0.id()];
        let mut seen = Seen::default();
        let deadline = clock::instant() + Duration::from_secs(seconds + 5) + WARM_UP_STEP * WARM_UP as u32;
        let mut begun: Option<(Instant, [f64; 4])> = None;
        let mut ended = (clock::instant(), pids.map(Part::cpu_s));
        while let Ok(Some(message)) = tokio::time::timeout_at(deadline.into(), forecasts.next()).await {
            let number = seen.take(&message.payload);
            if number == Some(WARM_UP) && begun.is_none() {
                begun = Some((clock::instant(), pids.map(Part::cpu_s)));
            }
            if number == Some(n_steps - 1) && begun.is_some() && seen.n_last == 1 {
                ended = (clock::instant(), pids.map(Part::cpu_s));
            }
            if seen.n_last == u64::from(n_hosts) {
                break;
            }
            seen.last = n_steps - 1;
        }
        let (start, before) = begun.expect("forecasts came");
        let wall = ended.0.duration_since(start).as_secs_f64();
        let cpu: Vec<f64> = before.iter().zip(ended.1).map(|(before, after)| 100.0 * (after - before) / wall).collect();
        let n_due = u64::from(n_hosts) * u64::from(N_SIGNALS) * seconds;
        seen.latencies_ms.sort_by(f64::total_cmp);
        let at = |share: f64| seen.latencies_ms[((seen.latencies_ms.len() - 1) as f64 * share) as usize];
        println!("streams  forecasts/s  median ms  p99 ms  lost  CPU %: NATS  server 1  server 2  load");
        println!(
            "{:7}  {:11.0}  {:9.1}  {:6.1}  {:4}  {:11.0}  {:8.0}  {:8.0}  {:4.0}",
            n_hosts * N_SIGNALS,
            seen.n_forecasts as f64 / seconds as f64,
            at(0.5),
            at(0.99),
            n_due.saturating_sub(seen.n_forecasts),
            cpu[0],
            cpu[1],
            cpu[2],
            cpu[3]
        );
    });
}

#[derive(Default)]
struct Seen {
    n_forecasts: u64,
    latencies_ms: Vec<f64>,
    last: u64,
    n_last: u64,
}

impl Seen {
    /// Counts what is in a message, once models are there; the number of its measurement.
    fn take(&mut self, payload: &bytes::Bytes) -> Option<u64> {
        let mut decoder = Decoder::default();
        decoder.buffer().extend_from_slice(payload);
        let mut first = None;
        let mut n_frames = 0;
        while let Ok(Some(frame)) = decoder.next_frame() {
            if frame.kind == Kind::Forecast {
                n_frames += 1;
                if first.is_none() {
                    first = Forecast::read(frame.payload()).ok();
                }
            }
        }
        let forecast = first?;
        if forecast.number >= WARM_UP {
            self.n_forecasts += n_frames;
            let now = clock::now();
            self.latencies_ms.push(now.saturating_since(forecast.time).as_secs_f64() * 1e3);
            self.n_last += u64::from(self.last == forecast.number && self.last > 0);
        }
        Some(forecast.number)
    }
}
