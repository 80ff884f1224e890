//! `foretop mpi tree make`: a tree file by rule.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use mpi_tree::{Between, Collective, FanIn, Forest, Grain, Layout, Order, Rule, Shape, Tree, Wake};
use units::ByteCount;

use super::placement::Placement;
use command_line::failure::OrUsage;
use text::help::examples;

/// Make a tree file for given hosts and ranks
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi tree make --ranks 8 --shape flat",
    "foretop mpi tree make --hosts a:0-3,b:4-7 --shape binomial --inside 2 --out tree.toml",
    "foretop mpi tree make -n 16 --hosts a,b,c,d --cluster left:a,b --cluster right:c,d --between all-to-all",
    "foretop mpi tree make --hosts a:0-3,b:4-7 --move root:b --bytes-max 1KiB --operation allreduce",
]))]
pub struct Make {
    #[command(flatten)]
    placement: Placement,

    /// The shape that joins hosts: flat, binomial, or a fan-in as in 8-way
    #[arg(long, value_name = "SHAPE", default_value = "8-way")]
    shape: Shape,

    /// Join ranks in their order, whatever hosts they are on
    #[arg(long, conflicts_with = "inside")]
    by_rank: bool,

    /// Make levels inside hosts, with this many contributors to a node [default: one node for a host]
    #[arg(long, value_name = "N", value_parser = fan_in)]
    inside: Option<FanIn>,

    /// The way to join clusters: reduce (by a node) or all-to-all (between their roots)
    #[arg(long, value_name = "MANNER", default_value = "reduce")]
    between: Between,

    /// The order of contributions: fixed (sums repeat to the bit) or arrival
    #[arg(long, value_name = "ORDER", default_value = "fixed")]
    order: Order,

    /// The way that ranks wait: spin, futex, or both, one after the other
    #[arg(long, value_name = "MANNER", default_value = "both")]
    wake: Wake,

    /// Move a node to another host; may be repeated
    #[arg(long = "move", value_name = "NODE:HOST")]
    moves: Vec<String>,

    /// The name of the tree
    #[arg(long, value_name = "NAME", default_value = "tree")]
    name: String,

    /// Use the tree for this operation [default: all of them]; may be repeated
    #[arg(long, value_name = "OPERATION")]
    operation: Vec<Collective>,

    /// Use the tree up to this size
    #[arg(long, value_name = "SIZE")]
    bytes_max: Option<ByteCount>,

    /// The epoch of the file; a running job takes only a higher one than it has
    #[arg(long, value_name = "N", default_value_t = 0)]
    epoch: u64,

    /// Write to this file [default: standard output]
    #[arg(long, short, value_name = "TREE.toml")]
    out: Option<PathBuf>,
}

fn fan_in(text: &str) -> Result<FanIn, String> {
    let given = text.parse().ok().and_then(FanIn::new);
    given.ok_or_else(|| "it must be a number from 2".to_owned())
}

impl Make {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let text = self.forest().or_usage()?.to_text();
        match &self.out {
            None => Ok(out.write_all(text.as_bytes())?),
            Some(path) => fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display())),
        }
    }

    fn forest(&self) -> anyhow::Result<Forest> {
        let hosts = self.placement.hosts()?.context("say what the tree is for: --ranks N or --hosts HOST:RANKS,…")?;
        let mut forest = Forest { epoch: self.epoch, hosts, ..Forest::default() };
        // Shapes are made over ranks that are each in one place.
        forest.check()?;
        let layout = Layout {
            shape: self.shape,
            grain: if self.by_rank { Grain::Rank } else { Grain::Host },
            inside: self.inside,
            between: self.between,
            order: self.order,
            wake: self.wake,
        };
        let mut tree = Tree::make(&self.name, &forest.hosts, &layout);
        for text in &self.moves {
            let (node, host) = text.split_once(':').with_context(|| format!("`{text}` is no move: write NODE:HOST"))?;
            let found = tree.nodes.iter_mut().find(|known| known.name == node);
            let found =
                found.with_context(|| format!("there is no node `{node}` to move; see `foretop mpi tree draw`"))?;
            let to = forest.hosts.iter().position(|known| known.name == host);
            found.host = to.with_context(|| format!("there is no host `{host}` to move `{node}` to"))?;
        }
        forest.trees.push(tree);
        let rule = |operation| Rule { operation, bytes_max: self.bytes_max, tree: 0 };
        let named = self.operation.iter().map(|operation| rule(Some(*operation)));
        forest.rules = if self.operation.is_empty() { vec![rule(None)] } else { named.collect() };
        // Names and hosts come from the command line: what is written must be what is read.
        Forest::parse(&forest.to_text()).context("the file would not be readable")
    }
}
