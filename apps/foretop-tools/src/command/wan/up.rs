//! `foretop wan up` and `down`: an emulation, from its hosts to the last program in them.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use wan::{Run, take_down};
use watch::Watch;

use super::{live, plan};
use crate::publisher::Publishing;
use command_line::interruption;
use text::help::examples;

/// Create the sites and hosts of a file until interrupted or taken down (needs root)
#[derive(Args)]
#[command(after_help = examples(&["foretop wan up examples/wan/two-sites.toml"]))]
pub struct Up {
    #[command(flatten)]
    file: plan::File,

    #[command(flatten)]
    publishing: Publishing,
}

/// End an emulation with all that runs in its hosts, or remove the remains of a killed one
#[derive(Args)]
#[command(after_help = examples(&["foretop wan down two-sites"]))]
pub struct Down {
    /// The emulation's name: that of its file, without the ending
    #[arg(value_name = "NAME")]
    name: String,
}

impl Up {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (plan, name) = (self.file.plan()?, self.file.name()?);
        let program = std::env::current_exe().context("cannot find this program, which is the hosts' remote shell")?;
        let interruptions = interruption::interruptions()?;
        let watch = Watch::new(Arc::new(clock::System::start()));
        let run = Run::start(&name, &plan, &program, &watch)?;
        let hosts: Vec<&str> = plan.sites.iter().flat_map(|site| &site.hosts).map(String::as_str).collect();
        writeln!(out, "{name} is up: {}", hosts.join(", "))?;
        if !plan.links.is_empty() {
            let hop = text::figure::span_ns(run.emulation.hop().as_nanos() as f64);
            write!(out, "crossing costs {hop}, which is taken off each delay; ")?;
        }
        writeln!(out, "remote shell for MPI: {}", run.shell().display())?;
        out.flush()?;
        let ends = plan.links.iter().map(|link| plan.ends(link));
        let directions: Vec<live::Way> = ends
            .zip(run.emulation.links())
            .map(|(ends, counts)| live::Way::between(ends, Arc::clone(counts)))
            .collect();
        let publisher = self.publishing.start("wan-up", &format!("wan.{name}"), live::EVERY)?;
        live::show(out, &directions, publisher, &interruptions, &watch)
    }
}

impl Down {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let was_there = take_down(&self.name)?;
        let told = if was_there { "is down" } else { "was not up" };
        Ok(writeln!(out, "{} {told}", self.name)?)
    }
}
