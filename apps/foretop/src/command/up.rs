//! `foretop up`: runs the node of this host.

mod feeds;
mod remote_write;
mod sections;
mod service;
mod settings;
mod streams;
mod warnings;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use alert::Way;
use anyhow::Context;
use clap::Args;
use clap::builder::FalseyValueParser;
use door::Door;
use feed::transfer::{Responder, ResponderSettings};
use feeds::NamedExpression;
use node::{Node, StartError};
use node_api::SeriesList;
use predict::Spec;
use service::Service;
use settings::Settings;
use stream::{Endpoint, OpenError};
use text::printable;
use tokio::signal::unix::{Signal, SignalKind, signal};
use units::{ByteCount, span};
use watch::Watch;

use command_line::argument::Peer;
use command_line::descriptors;
use command_line::failure::OrUsage;
use command_line::log;
use text::help::examples;

/// A node that samples each second has all its signals within two; nobody wants to wait much longer for a line.
const ANNOUNCE_WITHIN: Duration = Duration::from_millis(2500);
/// The time between two looks at the node until then.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Measure this host, forecast it, and serve it all over HTTP
///
/// Every signal is forecast, and its history is stored in one file.
///
/// Settings not given here come from the environment, then the configuration file, then the defaults. `--show-config`
/// prints the result in the form of a configuration file.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop up",
    "foretop up --store-max 500MB",
    "foretop up --watch postgres --watch unit:nginx.service",
    "foretop up --every 100ms --only 'cpu.*' --in-memory",
    "foretop up --listen 0.0.0.0:7311 --token-file ~/.config/foretop/token --tls-cert db1.pem --tls-key db1.key",
    "foretop up --scrape http://127.0.0.1:9100/metrics --match 'node_load1|node_pressure_.*'",
    "foretop up --flow db2=db2.example:7312 --responder 0.0.0.0:7312 --flow-token-file ~/.config/foretop/flow-token",
    "foretop up --prometheus http://prometheus:9090 --query 'busy=sum(rate(node_cpu_seconds_total{mode!=\"idle\"}[1m]))'",
    "foretop up --remote-write http://prometheus:9090/api/v1/write",
    "foretop up --kernel",
    "foretop up --rules rules.toml --alertmanager http://localhost:9093",
    "foretop up --stream connect:tcp:7313",
    "foretop up --follow source:tcp:localhost:7313",
    "foretop up --config foretop.toml --show-config",
]))]
pub struct Up {
    #[command(flatten)]
    flags: Flags,

    /// Configuration file
    #[arg(long, value_name = "FILE.toml", env = "FORETOP_CONFIG")]
    config: Option<PathBuf>,

    /// Print the configuration that results from file, environment and flags, and exit
    #[arg(long)]
    show_config: bool,
}

/// The ways in which a node with this configuration warns.
///
/// # Errors
/// When the file is no configuration, or a way makes no sense.
pub fn ways(config: &Path) -> anyhow::Result<Vec<Way>> {
    Ok(Settings::read(config)?.to_warnings()?.channels.into_iter().map(|channel| channel.way).collect())
}

/// The outermost layer of the configuration; absent values are left to the layers below.
#[derive(Args)]
struct Flags {
    /// The address to listen on; port 0 is any free port. Beyond the loopback, --token-file is required
    #[arg(long, value_name = "HOST:PORT", env = "FORETOP_LISTEN")]
    listen: Option<String>,

    /// Folder of the store [default: foretop in the user's data folder]
    #[arg(long, value_name = "PATH", env = "FORETOP_DATA_DIR")]
    data_dir: Option<PathBuf>,

    /// Store nothing beyond this run, even if --data-dir is set
    #[arg(long, env = "FORETOP_IN_MEMORY", value_parser = FalseyValueParser::new())]
    in_memory: bool,

    /// Time between two samples, 10ms to 100s
    #[arg(long, value_name = "TIME", env = "FORETOP_EVERY", value_parser = span::parse)]
    every: Option<Duration>,

    /// The model to forecast with; `foretop models` lists them
    #[arg(long, value_name = "TEXT", env = "FORETOP_MODEL")]
    model: Option<Spec>,

    /// The time zone of days and weeks in forecasts, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "NAME", env = "FORETOP_TIME_ZONE")]
    time_zone: Option<String>,

    /// The time to store samples as they are; older ones become one-minute means, stored ten times as long, then
    /// one-hour means
    #[arg(long, value_name = "TIME", env = "FORETOP_RETENTION", value_parser = span::parse)]
    retention: Option<Duration>,

    /// Largest size of the store, such as 500MB or 4GiB. When it is full, the oldest samples become one-minute means,
    /// the oldest minutes one-hour means, and the oldest hours are deleted [default: 2GiB]
    #[arg(long, value_name = "SIZE", env = "FORETOP_STORE_MAX")]
    store_max: Option<ByteCount>,

    /// Certificates (PEM) of the node's address, its own first: encrypts the address
    #[arg(long, value_name = "FILE", env = "FORETOP_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Key (PEM) of the certificate
    #[arg(long, value_name = "FILE", env = "FORETOP_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Certificates (PEM) to trust for https servers that the node reads or writes, instead of the system's
    #[arg(long, value_name = "FILE", env = "FORETOP_CA")]
    ca: Option<PathBuf>,

    /// File with the token that every client must present
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// Measure only signals that match, for example 'cpu.*'; may be repeated. Signals from other sources are all kept,
    /// unless a pattern matches some of them
    #[arg(long, value_name = "GLOB", env = "FORETOP_ONLY", value_delimiter = ',')]
    only: Vec<String>,

    /// Leave out signals that match; may be repeated
    #[arg(long, value_name = "GLOB", env = "FORETOP_WITHOUT", value_delimiter = ',')]
    without: Vec<String>,

    /// Measure a program by its name, such as postgres, a systemd service, unit:nginx.service, or a container, by its
    /// name or 12 digits of its id, container:web; may be repeated. `process.postgres.memory` and so on are signals
    /// then. The kernel has the first 15 bytes of a program's name, so a longer one matches by these
    #[arg(long, value_name = "NAME", env = "FORETOP_WATCH", value_delimiter = ',')]
    watch: Vec<String>,

    /// Probe for CPU availability once a minute, which takes 2.5 % of a core; periods are set in the configuration file
    #[arg(long, env = "FORETOP_HYBRID", value_parser = FalseyValueParser::new())]
    hybrid: bool,

    /// Turn the series of a Prometheus exporter into signals: http://host:9100/metrics; may be repeated
    #[arg(long, value_name = "URL", env = "FORETOP_SCRAPE", value_delimiter = ',')]
    scrape: Vec<String>,

    /// Take only series of exporters whose whole name matches this regular expression; may be repeated [default: all]
    #[arg(long = "match", value_name = "REGEX", requires = "scrape")]
    patterns: Vec<String>,

    /// Measure the bandwidth of flows to a host by short transfers to its responder; may be repeated
    #[arg(long, value_name = "PEER=HOST:PORT", requires = "flow_token_file")]
    flow: Vec<Peer>,

    /// Answer transfers from other hosts that have the token
    #[arg(long, value_name = "HOST:PORT", env = "FORETOP_RESPONDER", requires = "flow_token_file")]
    responder: Option<String>,

    /// File with the token for transfers; its mode must be 600
    #[arg(long, value_name = "PATH", env = "FORETOP_FLOW_TOKEN_FILE")]
    flow_token_file: Option<PathBuf>,

    /// Turn the result of a PromQL expression into signals, including its history; may be repeated
    #[arg(long, value_name = "NAME=EXPR", requires = "prometheus")]
    query: Vec<NamedExpression>,

    /// The Prometheus server for --query: http://host:9090
    #[arg(long, value_name = "URL", env = "FORETOP_PROMETHEUS_URL")]
    prometheus: Option<String>,

    /// The length of the past to request at the start, for --query [default: 6h]
    #[arg(long, value_name = "TIME", env = "FORETOP_HISTORY", requires = "query", value_parser = span::parse)]
    history: Option<Duration>,

    /// Send samples and forecasts by Prometheus remote write: http://host:9090/api/v1/write; may be repeated
    #[arg(long, value_name = "URL", env = "FORETOP_REMOTE_WRITE", value_delimiter = ',')]
    remote_write: Vec<String>,
    /// Send this host's measurements as a stream, for example connect:tcp:7313; may be repeated
    #[arg(long, value_name = "ENDPOINT", env = "FORETOP_STREAM", value_delimiter = ',')]
    stream: Vec<Endpoint>,

    /// Follow another host's stream, for example source:tcp:db1:7313; may be repeated
    #[arg(long, value_name = "ENDPOINT", env = "FORETOP_FOLLOW", value_delimiter = ',')]
    follow: Vec<Endpoint>,

    /// File with the token for streams; its mode must be 600
    #[arg(long, value_name = "PATH", env = "FORETOP_STREAM_TOKEN_FILE")]
    stream_token_file: Option<PathBuf>,

    /// File of rules to be warned of; `foretop rules` tries them on the past
    #[arg(long, value_name = "FILE.toml", env = "FORETOP_RULES")]
    rules: Option<PathBuf>,

    /// Send warnings to Prometheus Alertmanager: http://host:9093; may be repeated. Webhooks, commands and mail are set
    /// in the configuration file
    #[arg(long, value_name = "URL", env = "FORETOP_ALERTMANAGER", value_delimiter = ',')]
    alertmanager: Vec<String>,

    /// Folder with the folders of this user's jobs of MPI programs [default: /dev/shm/foretop-UID]
    #[arg(long, value_name = "PATH", env = "FORETOP_MPI_JOBS")]
    mpi_jobs: Option<PathBuf>,

    /// Turn the activity of the kernel into signals, from the agent at this socket (`foretop kernel agent`), and let
    /// clients control it [default: /run/foretop-kernel.sock]
    #[arg(long, value_name = "SOCKET", env = "FORETOP_KERNEL", num_args = 0..=1, default_missing_value = kernel::DEFAULT_SOCKET)]
    kernel: Option<PathBuf>,

    /// Read /proc and /sys below this folder: a recorded host
    #[arg(long, value_name = "PATH", env = "FORETOP_ROOT")]
    root: Option<PathBuf>,

    /// The log filter for standard error: a level, or directives such as info,node=debug
    #[arg(long, value_name = "FILTER", env = "RUST_LOG")]
    log: Option<String>,
}

impl Up {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let settings = Settings::load(self.config.as_deref(), self.flags).or_usage()?;
        if self.show_config {
            return Ok(out.write_all(settings.to_toml()?.as_bytes())?);
        }
        let watch = Watch::default();
        log::start(&settings.log.filter, &watch).or_usage()?;
        let door = descriptors::open_door(settings.n_neighbours())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            // The sampler and the store have threads of their own; these serve requests.
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        runtime.block_on(serve(&settings, watch, door, out))
    }
}

async fn serve(settings: &Settings, watch: Watch, door: Door, out: &mut dyn Write) -> anyhow::Result<()> {
    // Before the start, so that an impatient end finds the store closed as well.
    let mut ends = Ends::watch()?;
    let config = settings.to_node_config(watch.clone(), door).or_usage()?;
    let feeds = settings.to_feeds().or_usage()?;
    settings.check_queries().or_usage()?;
    let responder =
        settings.to_responder().or_usage()?.map(|responder| start_responder(responder, &watch)).transpose()?;
    let started = tokio::select! {
        started = Node::start(config, feeds) => started,
        () = ends.next() => return Ok(()),
    };
    let node = match started {
        Err(error) if is_usage(&error) => return Err(error).or_usage(),
        started => started?,
    };
    for absent in node.absent() {
        tracing::info!(signal = %absent.signal, reason = %absent.reason, "absent on this host");
    }
    announce(&node, responder.as_ref(), settings, out).await?;
    let service = Service::find();
    service.is_ready();
    let failure = tokio::select! {
        () = ends.next() => None,
        reason = node.failed() => Some(reason),
        never = service.look_after(&node, &watch) => match never {},
    };
    tracing::info!("stopping");
    service.stops();
    drop(responder);
    tokio::select! {
        () = node.stop() => {}
        () = ends.next() => anyhow::bail!("stopped before everything was written"),
    }
    failure.map_or(Ok(()), |reason| Err(anyhow::anyhow!(reason)))
}

fn start_responder(settings: ResponderSettings, watch: &Watch) -> anyhow::Result<Responder> {
    let listen = settings.listen;
    Responder::start(settings, watch).with_context(|| format!("cannot answer transfers on {listen}"))
}

/// Whether another configuration would mend the error, as opposed to another state of the machine.
fn is_usage(error: &StartError) -> bool {
    use StartError::{
        FeedStepOutOfRange, FeedTwice, Hybrid, LooksTooOften, NothingSelected, RemoteWriteLabel, RemoteWriteName,
        RemoteWriteSpan, RemoteWriteTwice, RetentionTooShort, RulesOfPage, StepOutOfRange, StoreTooSmall, Stream,
        StreamTwice, Unprotected,
    };
    matches!(
        error,
        Unprotected { .. }
            | Stream(OpenError::Unprotected { .. } | OpenError::Role { .. })
            | StreamTwice { .. }
            | Hybrid(_)
            | NothingSelected { .. }
            | LooksTooOften { .. }
            | RulesOfPage { .. }
            | StepOutOfRange { .. }
            | RetentionTooShort { .. }
            | StoreTooSmall { .. }
            | FeedStepOutOfRange { .. }
            | FeedTwice { .. }
            | RemoteWriteLabel { .. }
            | RemoteWriteName { .. }
            | RemoteWriteSpan { .. }
            | RemoteWriteTwice { .. }
    )
}

/// The one line on standard output, for people and for programs that wait for it.
async fn announce(
    node: &Node,
    responder: Option<&Responder>,
    settings: &Settings,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let list = first_list(node).await?;
    let so_far = if has_all_signals(&list) { "" } else { " so far" };
    let place = settings.store.place().map_or_else(|| "memory".to_owned(), |path| path.display().to_string());
    let transfers = responder.map(|responder| format!(", transfers at {}", responder.address())).unwrap_or_default();
    let line = format!(
        "foretop is up at {}://{}/ (host {}, {} signals{so_far}, every {}, data in {place}{transfers})",
        node.scheme(),
        node.address(),
        list.node.host,
        list.series.len(),
        span::format(settings.node.every),
    );
    writeln!(out, "{}", printable(&line))?;
    Ok(out.flush()?)
}

/// The list as soon as it is complete. A node that samples slowly is announced before.
async fn first_list(node: &Node) -> anyhow::Result<SeriesList> {
    let start = clock::instant();
    loop {
        let list = node.list().context("the server failed as it started")?;
        if has_all_signals(&list) || start.elapsed() >= ANNOUNCE_WITHIN {
            return Ok(list);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Whether all signals are there: a signal that is the difference of two readings comes with the second one.
fn has_all_signals(list: &SeriesList) -> bool {
    list.series.iter().any(|series| series.n_samples + series.n_gaps >= 2)
}

/// The signals that ask for a clean end.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
}

impl Ends {
    fn watch() -> anyhow::Result<Self> {
        let watch = |kind| signal(kind).context("cannot watch for signals");
        Ok(Self { interrupt: watch(SignalKind::interrupt())?, terminate: watch(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
