//! `foretop wan`: links between sites on one machine.

mod exec;
mod live;
mod plan;
mod precision;
mod probe;
mod profiles;
mod record;
mod relay;
mod up;

use std::io::Write;

use clap::{Args, Subcommand};

use text::help::examples;

/// Emulate a wide-area network on this machine
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop wan up examples/wan/two-sites.toml",
    "foretop wan exec t0 -- ping -c 3 o0",
    "foretop wan relay --listen 127.0.0.1:8080 --to 10.0.0.5:80 --model latency=25ms,bandwidth=10Mbit/s",
]))]
pub struct Wan {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Up(up::Up),
    Exec(exec::Exec),
    Down(up::Down),
    Check(plan::Check),
    Draw(plan::Draw),
    Export(plan::Export),
    Profiles(profiles::Profiles),
    Relay(Box<relay::Relay>),
    Record(Box<record::Record>),
    Replay(record::Replay),
    Probe(probe::Probe),
    Answer(probe::Answer),
    Compare(probe::Compare),
    SelfTest(precision::SelfTest),
}

impl Wan {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            What::Up(command) => command.run(out),
            What::Exec(command) => command.run(),
            What::Down(command) => command.run(out),
            What::Check(command) => command.run(out),
            What::Draw(command) => command.run(out),
            What::Export(command) => command.run(out),
            What::Profiles(command) => command.run(out),
            What::Relay(command) => command.run(out),
            What::Record(command) => command.run(out),
            What::Replay(command) => command.run(out),
            What::Probe(command) => command.run(out),
            What::Answer(command) => command.run(out),
            What::Compare(command) => command.run(out),
            What::SelfTest(command) => command.run(out),
        }
    }
}
