//! `foretop sim machine`: whether a machine file makes sense, and what its messages cost.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mpi_sim::machine::{Description, Distance, Machine as Placed};
use program::{Failure, written};
use text::Table;
use text::figure::span_ns;
use text::help::examples;
use units::{ByteCount, Rank};

use super::description;
use super::taken_over::{FromAce, FromNodes};

/// Check, show and make machine files
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim machine check examples/sim/two-sites.toml",
    "foretop sim machine show examples/sim/cluster.toml --ranks 64",
]))]
pub struct Machine {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Check(Check),
    Show(Show),
    FromAce(FromAce),
    FromNodes(FromNodes),
}

/// Show errors of a machine file, and settings that are allowed but cost time
#[derive(Args)]
#[command(after_help = examples(&["foretop sim machine check examples/sim/two-sites.toml"]))]
struct Check {
    /// The machine; docs/formats/sim-machine.md
    #[arg(value_name = "MACHINE.toml")]
    machine: PathBuf,
}

/// Print message costs on a machine, by distance
#[derive(Args)]
#[command(after_help = examples(&["foretop sim machine show examples/sim/cluster.toml --ranks 64"]))]
struct Show {
    /// The machine; docs/formats/sim-machine.md
    #[arg(value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// The number of ranks [default: as many as its mapping has cores for]
    #[arg(long, short = 'n', value_name = "N")]
    ranks: Option<u32>,
}

impl Machine {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        match self.what {
            What::Check(command) => command.run(out),
            What::Show(command) => command.run(out),
            What::FromAce(command) => command.run(out),
            What::FromNodes(command) => command.run(out),
        }
    }
}

impl Check {
    fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let described = description(&self.machine)?;
        let most = described.n_ranks_max();
        Placed::new(&described, most).map_err(Failure::usage)?;
        let remarks: String = described.remarks().iter().map(|remark| format!("note: {remark}\n")).collect();
        written(writeln!(out, "{remarks}{}: a machine for up to {most} ranks", self.machine.display()))
    }
}

impl Show {
    fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let described = description(&self.machine)?;
        let n_ranks = self.ranks.unwrap_or_else(|| described.n_ranks_max());
        let machine = Placed::new(&described, n_ranks).map_err(Failure::usage)?;
        written(out.write_all(shown(&described, &machine).as_bytes()))
    }
}

/// Sizes that a table of costs has.
const SIZES: [u64; 4] = [0, 1 << 10, 64 << 10, 1 << 20];

fn shown(described: &Description, machine: &Placed) -> String {
    let mut sites = Table::of_figures(&["site", "nodes", "cores of a node", "speed", "ranks"]);
    for (idx, site) in (0..).zip(&described.site) {
        let ranks = (0..machine.n_ranks()).filter(|rank| machine.place(*rank).site_idx == idx).count();
        let cells = [site.nodes.to_string(), site.cores.to_string(), site.speed.to_string(), ranks.to_string()];
        sites.row(std::iter::once(site.name.clone()).chain(cells));
    }
    let names = SIZES.map(|size| ByteCount::new(size).to_string());
    let head = ["message", "between ranks", "links", "send", "receive", "gap", "eager up to"].map(str::to_owned);
    let mut costs = Table::of_figures(&head.into_iter().chain(names).collect::<Vec<_>>());
    for (name, distance) in
        [("own", Distance::Core), ("node", Distance::Node), ("cluster", Distance::Cluster), ("wan", Distance::Wan)]
    {
        if let Some(to) = (0..machine.n_ranks()).find(|to| machine.distance(0, *to) == distance) {
            costs.row(cost(machine, name, to));
        }
    }
    format!(
        "{}, {} ranks\n\n{sites}\nA message arrives, alone on its way, from rank 0, so long after its send:\n\n{costs}",
        title(described),
        machine.n_ranks()
    )
}

fn title(described: &Description) -> &str {
    if described.name.is_empty() { "a machine" } else { &described.name }
}

fn cost(machine: &Placed, name: &str, to: Rank) -> Vec<String> {
    let mut route = Vec::new();
    machine.route(0, to, &mut route);
    let cost = machine.cost(0, to, 0);
    let span = |span: units::SimDuration| span_ns(span.as_nanos() as f64);
    let eager = machine.eager_limit(0, to).to_string();
    let facts = [span(cost.send_overhead), span(cost.receive_overhead), span(cost.gap), eager];
    let times = SIZES.map(|size_bytes| span(machine.unloaded(0, to, size_bytes)));
    [name.to_owned(), format!("0 to {to}"), route.len().to_string()].into_iter().chain(facts).chain(times).collect()
}
