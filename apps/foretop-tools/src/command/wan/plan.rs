//! Files of sites and links: reading, checking, drawing, handing on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use netmodel::Fate;
use text::Table;
use units::ByteCount;
use wan::{Plan, PlanError, netem_commands};

use command_line::argument::drawing::{Drawing, drawing};
use command_line::failure::OrUsage;
use text::help::examples;

/// Sizes of a packet on most networks, and of a long message.
const SIZES: [ByteCount; 2] = [ByteCount::new(1_500), ByteCount::new(1 << 20)];

/// Check that a file can be used, and show how long messages take on each link
#[derive(Args)]
#[command(after_help = examples(&["foretop wan check examples/wan/two-sites.toml"]))]
pub struct Check {
    #[command(flatten)]
    file: File,
}

/// Draw the sites of a file, their hosts and links
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop wan draw examples/wan/two-sites.toml",
    "foretop wan draw examples/wan/two-sites.toml --plot sites.svg",
]))]
pub struct Draw {
    #[command(flatten)]
    file: File,

    /// Draw a picture, SVG or PNG by its name, instead of text
    #[arg(long, value_name = "FILE", value_parser = drawing)]
    plot: Option<Drawing>,
}

/// Write the links as commands for the kernel's netem, for machines that have it
#[derive(Args)]
#[command(after_help = examples(&["foretop wan export examples/wan/two-sites.toml > links.sh"]))]
pub struct Export {
    #[command(flatten)]
    file: File,
}

#[derive(Args)]
pub struct File {
    /// The file of sites and links
    #[arg(value_name = "SITES.toml")]
    path: PathBuf,
}

impl File {
    /// Reads and checks it, traces included.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        let read = || {
            let text = std::fs::read_to_string(&self.path).context("cannot read it")?;
            let plan = Plan::parse(&text, self.path.parent().unwrap_or(Path::new(""))).map_err(one_line)?;
            plan.all_links().map_err(one_line)?;
            Ok::<_, anyhow::Error>(plan)
        };
        read().with_context(|| format!("`{}` cannot be used", self.path.display())).or_usage()
    }

    /// Returns the name of its emulation.
    pub fn name(&self) -> anyhow::Result<String> {
        let name = self.path.file_stem().and_then(|name| name.to_str());
        let name =
            name.with_context(|| format!("`{}` has no name for an emulation", self.path.display())).or_usage()?;
        Ok(name.to_owned())
    }
}

/// Shortens TOML's messages, which are pictures of several lines, to one line.
fn one_line(error: PlanError) -> anyhow::Error {
    let told =
        |what: String, toml: &toml::de::Error| anyhow::anyhow!("{what}: {}", toml.message().trim().replace('\n', ", "));
    match &error {
        PlanError::Syntax(toml) | PlanError::LinkSyntax { source: toml, .. } => told(error.to_string(), toml),
        _ => error.into(),
    }
}

impl Check {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let plan = self.file.plan()?;
        let n_hosts: usize = plan.sites.iter().map(|site| site.hosts.len()).sum();
        writeln!(
            out,
            "{} sites, {n_hosts} hosts, {} links; at the beginning of each link's time:",
            plan.sites.len(),
            plan.links.len()
        )?;
        let columns = std::iter::once("link".to_owned()).chain(SIZES.map(|size| size.to_string()));
        let mut table = Table::of_figures(&columns.collect::<Vec<_>>());
        for (at, link) in plan.links.iter().enumerate() {
            let (from, to) = plan.ends(link);
            let takes = SIZES.map(|size| match plan.link(at).map(|mut link| link.send(Duration::ZERO, size)) {
                Ok(Fate::Arrives { at }) => text::figure::span_ns(at.as_nanos() as f64),
                Ok(Fate::Dropped(why)) => format!("dropped ({why})"),
                Err(error) => error.to_string(),
            });
            table.row(std::iter::once(format!("{from} → {to}")).chain(takes));
        }
        Ok(write!(out, "{table}")?)
    }
}

impl Draw {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let plan = self.file.plan()?;
        if let Some(plot) = &self.plot {
            return plot.draw(&wan::draw(&plan));
        }
        for (at, site) in plan.sites.iter().enumerate() {
            let hosts = site.hosts.iter().enumerate();
            let hosts: Vec<String> = hosts.map(|(host, name)| format!("{name} ({})", plan.address(at, host))).collect();
            writeln!(out, "{}: {}", site.name, hosts.join(", "))?;
            let links: Vec<_> = plan.links.iter().filter(|link| link.from == at).collect();
            for (number, link) in links.iter().enumerate() {
                let branch = if number + 1 == links.len() { "└─" } else { "├─" };
                writeln!(out, "  {branch}▶ {}: {}", plan.sites[link.to].name, link.description)?;
            }
        }
        Ok(())
    }
}

impl Export {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(write!(out, "{}", netem_commands(&self.file.plan()?)?)?)
    }
}
