//! `foretop sim machine from-ace` and `from-nodes`: machines out of measurements and forecasts.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use ace::record::{MODEL, Model, PING_PONG};
use clap::Args;
use http_client::Trust;
use mpi_run::{Flavour, Outcome};
use mpi_sim::collective::Rules;
use mpi_sim::machine::{Description, Expected, Level, Levels, Site};
use node_api::{Client, NodeUrl};
use program::{Failure, written};
use secret::{Form, Privacy};
use text::help::examples;
use units::{ByteCount, Confidence, span};

use super::description;

/// Make a machine from the message costs that `foretop mpi ace` measured
#[derive(Args)]
#[command(after_help = examples(&["foretop sim machine from-ace ace.jsonl --nodes 16 --cores 4 > cluster.toml"]))]
pub struct FromAce {
    /// The result file of `foretop mpi ace`, written with --out; a second result may have the costs of the other level
    #[arg(value_name = "RESULT.jsonl", required = true)]
    results: Vec<PathBuf>,

    /// The number of nodes of the machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u32,

    /// The number of cores of a node
    #[arg(long, value_name = "N", default_value_t = 2)]
    cores: u32,

    /// The longest message that is sent eagerly, before the receiver asks for it [default: 4KiB through shared
    /// memory, 64KiB over TCP and between hosts]
    #[arg(long, value_name = "SIZE")]
    eager_limit: Option<ByteCount>,
}

/// Set a machine's speeds and bandwidths to the forecasts of live nodes, with their deviations for --draws
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim machine from-nodes grid.toml --speed tromso=http://t:7311 --speed odense=http://o:7311 --horizon 1h > tonight.toml",
    "foretop sim machine from-nodes grid.toml --flow tromso,odense=flow.o@http://t:7311 > tonight.toml",
]))]
pub struct FromNodes {
    /// The machine with these sites and links; docs/formats/sim-machine.md
    #[arg(value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// A site, and a node that forecasts `cpu.availability` there
    #[arg(long, value_name = "SITE=URL", value_parser = speed)]
    speed: Vec<(String, NodeUrl)>,

    /// Two sites with a link, and a node with a series of its bytes per second
    #[arg(long, value_name = "A,B=SERIES@URL", value_parser = flow)]
    flow: Vec<Flow>,

    /// The horizon
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = span::parse)]
    horizon: Duration,

    /// File with the nodes' token
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// Certificates (PEM) to trust for https addresses, instead of the system's
    #[arg(long, value_name = "FILE", env = "FORETOP_CA")]
    ca: Option<PathBuf>,
}

/// The series and the node that forecast the bandwidth of a link.
#[derive(Clone, Debug)]
struct Flow {
    between: [String; 2],
    series: String,
    node: NodeUrl,
}

impl FromAce {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut levels = Levels { core: None, node: None, cluster: None, wan: None };
        // The library of the results, and the first of them that names one.
        let mut measured: Option<(Rules, &PathBuf)> = None;
        for path in &self.results {
            let outcome = Outcome::read(path).map_err(Failure::of)?;
            let models: Vec<Model> = outcome.all(MODEL).map_err(Failure::of)?;
            let Some(model) = models.into_iter().find(|model| model.what == PING_PONG) else {
                let told = format!(
                    "`{}` has no costs of a ping-pong: measure several sizes with `foretop mpi ace`",
                    path.display()
                );
                return Err(Failure::usage(told));
            };
            let header = &outcome.header;
            let rules = Flavour::of_library(&header.mpi).map(|flavour| match flavour {
                Flavour::OpenMpi => Rules::OpenMpi,
                Flavour::Mpich => Rules::Mpich,
            });
            if let (Some((before, of)), Some(rules)) = (measured, rules)
                && before != rules
            {
                let (of, path) = (of.display(), path.display());
                return Err(Failure::usage(format!(
                    "`{of}` is of {before} and `{path}` of {rules}: measure all levels with one library"
                )));
            }
            measured = measured.or(rules.map(|rules| (rules, path)));
            let hosts: BTreeSet<&str> = header.ranks.iter().map(|place| place.host.as_str()).collect();
            let level = if hosts.len() > 1 { &mut levels.cluster } else { &mut levels.node };
            let is_tcp = hosts.len() > 1 || header.transport.as_deref() == Some("tcp");
            let limit = self.eager_limit.unwrap_or(ByteCount::new(if is_tcp { 64 << 10 } else { 4 << 10 }));
            *level = Some(Level::of_cost(&model.model, limit));
        }
        let site = Site::new("ace", self.nodes, self.cores);
        let mut machine = Description::of("from ACE", site, levels);
        machine.collectives = measured.map_or_else(Rules::default, |(rules, _)| rules);
        machine.check().map_err(Failure::usage)?;
        written(out.write_all(machine.to_toml().as_bytes()))
    }
}

impl FromNodes {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut machine = description(&self.machine)?;
        let token =
            self.token_file.as_deref().map(|path| secret::read(path, Form::Token, Privacy::Required)).transpose();
        let token = token.map_err(Failure::of)?.map(|found| found.secret);
        let trust = self.ca.as_deref().map(Trust::from_file).transpose().map_err(Failure::of)?.unwrap_or_default();
        let expected = |node: &NodeUrl, series: &str| -> Result<Expected, Failure> {
            if token.is_some() && node.is_in_the_clear() {
                // Nothing is left to be done when standard error is gone.
                let _ = writeln!(io::stderr(), "foretop sim: warning: the token is sent to {node} in the clear");
            }
            let client = Client::trusting(&trust, node.clone(), token.clone());
            let forecast = client.forecast(series, self.horizon, Confidence::P95).map_err(Failure::of)?;
            let none = || Failure::work(format!("{node} has no forecast of `{series}` yet"));
            Expected::over(&forecast.mean, &forecast.standard_error).ok_or_else(none)
        };
        for (site, node) in &self.speed {
            machine.expect_speed(site, expected(node, "cpu.availability")?).map_err(Failure::usage)?;
        }
        for Flow { between: [a, b], series, node } in &self.flow {
            machine.expect_bandwidth([a, b], expected(node, series)?).map_err(Failure::usage)?;
        }
        machine.check().map_err(Failure::usage)?;
        written(out.write_all(machine.to_toml().as_bytes()))
    }
}

fn speed(text: &str) -> Result<(String, NodeUrl), String> {
    let (site, url) = text.split_once('=').ok_or("write SITE=URL, as in tromso=http://t:7311")?;
    Ok((site.to_owned(), url.parse().map_err(|error| format!("{error}"))?))
}

fn flow(text: &str) -> Result<Flow, String> {
    let parts = || {
        let (between, rest) = text.split_once('=')?;
        let (series, url) = rest.split_once('@')?;
        let (a, b) = between.split_once(',')?;
        Some(([a.to_owned(), b.to_owned()], series.to_owned(), url))
    };
    let (between, series, url) = parts().ok_or("write A,B=SERIES@URL, as in tromso,odense=flow.o@http://t:7311")?;
    Ok(Flow { between, series, node: url.parse().map_err(|error| format!("{error}"))? })
}
