//! `foretop mpi tree`: files of the trees that collective operations go over.

mod adapt;
mod apply;
mod make;
mod placement;
mod tune;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use mpi_tree::Forest;

use self::placement::Placement;
pub use self::tune::hosts_of;
use command_line::argument::drawing::{Drawing, drawing};
use command_line::failure::OrUsage;
use text::help::examples;

/// Far more than a file for the largest job needs.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Make, check, draw and apply trees of collectives
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi tree make --hosts a:0-3,b:4-7 --out tree.toml",
    "foretop mpi tree draw tree.toml --plot tree.svg",
    "foretop mpi tree apply tree.toml node1-2f0",
]))]
pub struct Tree {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Make(make::Make),
    Check(Check),
    Draw(Draw),
    Diff(Diff),
    Apply(apply::Apply),
    Tune(tune::Tune),
    Adapt(adapt::Adapt),
}

/// Check that a tree file can be used, and show its content
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi tree check tree.toml --hosts a:0-3,b:4-7"]))]
struct Check {
    /// The tree file
    #[arg(value_name = "TREE.toml")]
    file: PathBuf,

    #[command(flatten)]
    placement: Placement,
}

/// Draw the trees of a file, in text or as pictures
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi tree draw tree.toml", "foretop mpi tree draw tree.toml --plot tree.svg"]))]
struct Draw {
    /// The tree file
    #[arg(value_name = "TREE.toml")]
    file: PathBuf,

    /// Draw only this tree [default: all of them in text, the first one in a picture]
    #[arg(long, value_name = "NAME")]
    tree: Option<String>,

    /// Draw the tree into this file, as SVG or PNG depending on its name; may be repeated
    #[arg(long, value_name = "PATH", value_parser = drawing)]
    plot: Vec<Drawing>,
}

/// Show the differences of two tree files: nodes that moved, parents, hops
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi tree diff before.toml after.toml"]))]
struct Diff {
    /// A tree file
    #[arg(value_name = "BEFORE.toml")]
    before: PathBuf,

    /// Another one
    #[arg(value_name = "AFTER.toml")]
    after: PathBuf,
}

impl Tree {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            What::Make(command) => command.run(out),
            What::Check(command) => command.run(out),
            What::Draw(command) => command.run(out),
            What::Diff(command) => command.run(out),
            What::Apply(command) => command.run(out),
            What::Tune(command) => command.run(out),
            What::Adapt(command) => command.run(out),
        }
    }
}

impl Check {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let forest = read(&self.file)?;
        if let Some(hosts) = self.placement.hosts().or_usage()? {
            let job = Forest { hosts, ..Forest::default() };
            job.check().context("the job cannot be as described").or_usage()?;
            forest.check_job(&host_of_each_rank(&job)).with_context(|| in_file(&self.file)).or_usage()?;
        }
        let (n_ranks, n_hosts, epoch) = (forest.n_ranks(), forest.hosts.len(), forest.epoch);
        let fingerprint = forest.fingerprint();
        writeln!(out, "{n_ranks} ranks on {n_hosts} hosts, epoch {epoch}, fingerprint {fingerprint:016x}")?;
        for tree in &forest.trees {
            writeln!(out, "tree {}: {}", tree.name, tree.facts(&forest.hosts))?;
        }
        for rule in &forest.rules {
            let operation = rule.operation.map_or("all operations", mpi_tree::Collective::name);
            let limit = rule.bytes_max.map_or_else(String::new, |bytes_max| format!(" up to {bytes_max}"));
            writeln!(out, "{operation}{limit}: tree {}", forest.trees[rule.tree].name)?;
        }
        Ok(())
    }
}

impl Draw {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let forest = read(&self.file)?;
        let is_wanted = |tree: &&mpi_tree::Tree| self.tree.as_ref().is_none_or(|name| *name == tree.name);
        let trees: Vec<&mpi_tree::Tree> = forest.trees.iter().filter(is_wanted).collect();
        let Some(first) = trees.first() else {
            let names: Vec<&str> = forest.trees.iter().map(|tree| tree.name.as_str()).collect();
            let wanted = self.tree.map_or_else(|| "a tree".to_owned(), |name| format!("the tree `{name}`"));
            return Err(anyhow!("{} does not have {wanted}; it has: {}", self.file.display(), names.join(", ")))
                .or_usage();
        };
        for drawing in &self.plot {
            drawing.draw(&first.to_picture(&forest.hosts))?;
            writeln!(out, "{}", drawing.path().display())?;
        }
        if self.plot.is_empty() {
            let drawn: Vec<String> = trees.iter().map(|tree| tree.to_lines(&forest.hosts)).collect();
            write!(out, "{}", drawn.join("\n"))?;
        }
        Ok(())
    }
}

impl Diff {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let changes = read(&self.before)?.changes(&read(&self.after)?);
        if changes.is_empty() {
            writeln!(out, "no difference")?;
        }
        changes.iter().try_for_each(|change| writeln!(out, "{change}"))?;
        Ok(())
    }
}

/// A file's forest. A file that cannot be used is an error of usage.
fn read(path: &Path) -> anyhow::Result<Forest> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    read.with_context(|| format!("cannot read `{}`", path.display())).or_usage()?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(anyhow!("`{}` is longer than a tree file may be, 16 MiB", path.display())).or_usage();
    }
    Forest::parse(&text).with_context(|| in_file(path)).or_usage()
}

fn in_file(path: &Path) -> String {
    format!("`{}` cannot be used", path.display())
}

/// Names of hosts in the order of ranks, of a sound forest.
fn host_of_each_rank(forest: &Forest) -> Vec<&str> {
    let name = |place: Option<usize>| forest.hosts[place.expect("each rank has a host")].name.as_str();
    forest.places().into_iter().map(name).collect()
}
