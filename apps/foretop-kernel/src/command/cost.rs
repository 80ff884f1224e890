//! `foretop kernel cost`: what each probe costs on this host, measured now.

use std::io::Write;

use clap::Args;
use kernel::{Attach, Bpf, Drive, Node};
use program::{Failure, written};
use text::Table;
use text::figure::{number, span_ns};
use text::help::examples;

use super::failed;
use crate::argument::Measured;

/// Measure what each probe costs on this host: without it, with it looking away, with it counting
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel cost", "foretop kernel cost vm fs", "foretop kernel cost --traced 1000000000"]))]
pub struct Cost {
    /// Instead, trace so many reads of its own into a receiver that only counts, and say what became of each
    #[arg(long, value_name = "N", conflicts_with_all = ["subsystems", "points", "node", "groups"])]
    traced: Option<u64>,

    #[command(flatten)]
    measured: Measured,
}

impl Cost {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        if let Some(n_reads) = self.traced {
            return flood(n_reads, out);
        }
        let subsystems = self.measured.subsystems()?;
        let host = Bpf::open(Node::Host, self.measured.limits()?).map_err(failed)?;
        let mut events = Table::of_figures(&[
            "subsystem",
            "event",
            "bare",
            "probes passed",
            "counted",
            "price, passing",
            "price, counting",
        ]);
        let mut programs = Table::of_figures(&["program", "at", "price of a run"]);
        for subsystem in subsystems {
            let event = match subsystem.drive {
                Drive::None if subsystem.programs.is_empty() => continue,
                Drive::None => "not made at will: an estimate",
                Drive::Reads => "read of 64 bytes",
                Drive::Faults => "first touch of a page",
                Drive::Threads => "thread",
                Drive::Messages => "message of 64 bytes",
            };
            let measured = kernel::calibrate(&host, subsystem).map_err(failed)?;
            for (program, price) in subsystem.programs.iter().zip(&measured.price.pass_ns) {
                let at = match program.attach {
                    Attach::Tracepoint(name) => format!("tracepoint {name}"),
                    Attach::SoftwareEvent(number) => format!("software event {number}"),
                    Attach::UserTracepoint(name, ..) => format!("tracepoint {name}"),
                    Attach::UserFunction(file, function, ..) => format!("function {function} of {file}"),
                    Attach::UserProbe(file, provider, name, ..) => format!("probe {provider}:{name} of {file}"),
                };
                programs.row([format!("{}.{}", subsystem.name, program.name), at, span_ns(*price)]);
            }
            let passing: f64 = measured.price.pass_ns.iter().sum();
            events.row([
                subsystem.name.to_owned(),
                event.to_owned(),
                span_ns(measured.bare_ns),
                span_ns(measured.passing_ns),
                span_ns(measured.counting_ns),
                span_ns(passing),
                span_ns(measured.price.event_ns),
            ]);
        }
        written(write!(
            out,
            "An event of each subsystem, and what its probes add:\n\n{events}\n\
             Each program, when it finds nothing to count:\n\n{programs}"
        ))
    }
}

/// Each record that was made has to be received or counted as dropped.
fn flood(n_reads: u64, out: &mut dyn Write) -> Result<(), Failure> {
    let flood = kernel::flood(n_reads).map_err(failed)?;
    let kernel::Flood { counted, made, received, dropped, elapsed } = flood;
    let per_sec = number(counted as f64 / elapsed.as_secs_f64());
    let lines = format!(
        "{n_reads} reads made, {counted} counted, {per_sec} a second\n\
         {made} traced events made, {received} received, {dropped} dropped\n"
    );
    written(out.write_all(lines.as_bytes()))?;
    if counted < n_reads || made != counted || made != received + dropped {
        return Err(Failure::work("events are missing: reads, counts and records do not add up"));
    }
    Ok(())
}
