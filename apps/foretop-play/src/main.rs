//! Playback that slows down instead of stopping, on the command line: parse, run, report. `foretop play` starts it.
#![forbid(unsafe_code)]

mod aac;
mod capture;
mod container;
mod decode;
#[cfg(feature = "device")]
mod device;
mod laws;
mod moment;
mod output;
mod pace;
mod play;
mod processor;
mod record;
mod session;
mod simulate;
mod source;
mod stretching;
mod view;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

/// Play sound that slows down instead of stopping
///
/// A medium that arrives at 95 % of its rate is played 5 % slower, with its pitch kept, instead of stopping again and
/// again. The rate follows a forecast of arrivals, within the limits that you set, and changes by 2 % a second at most.
#[derive(Parser)]
#[command(
    name = "foretop-play",
    bin_name = "foretop play",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
#[command(after_help = examples(&[
    "foretop play lecture.mp3 --out slow.wav --speed 0.9",
    "foretop play https://example.org/lecture.mp3 --mode restricted --speed 1.2 --max-slow 0.8 --null",
    "foretop play lecture.mp3 --arrival mobile --virtual --trace moments.csv --out heard.wav",
    "foretop play simulate --law all",
]))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    play: play::Play,
}

#[derive(Subcommand)]
enum Command {
    Simulate(Box<simulate::Simulate>),
    RecordTrace(record::Record),
}

fn main() -> ExitCode {
    let Cli { command, play } = Cli::parse();
    // What breaks a decoder is told in a sentence of ours, and its own words help nobody.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some(decode::THREAD) {
            usual(info);
        }
    }));
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        None => play.run(&mut out),
        Some(Command::Simulate(command)) => command.run(&mut out),
        Some(Command::RecordTrace(command)) => command.run(&mut out),
    };
    program::end("foretop play", done, &mut out, &mut io::stderr().lock())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_shows_its_purpose_an_example_and_its_exit_status() {
        for command in Cli::command().get_subcommands() {
            let help = command.clone().render_long_help().to_string();
            assert!(command.get_about().is_some(), "{} does not say what it is for", command.get_name());
            assert!(help.contains("Example") && help.contains("Exit status:"), "{help}");
        }
    }
}
