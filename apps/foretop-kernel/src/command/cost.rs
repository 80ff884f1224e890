//! `foretop kernel cost`: what each probe costs on this host, measured now.

use std::io::Write;
use std::rc::Rc;

use clap::Args;
use kernel::{Attach, Bpf, Calibration, Drive, N_WINDOWS, Node, Price, Ran, Subsystem, WINDOW};
use program::{Failure, written};
use text::Table;
use text::figure::{counted, number, span_ns};
use text::help::examples;

use super::failed;
use crate::argument::Measured;

/// Measure the cost of each probe on this host: without it, with it ignoring events, with it counting; and its cost at
/// the current load
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel cost", "foretop kernel cost vm fs", "foretop kernel cost --traced 1000000000"]))]
pub struct Cost {
    /// Trace instead this many of its own reads into a receiver that only counts, and check that each was received or
    /// dropped
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
        let mut programs =
            Table::of_figures(&["program", "at", "price of a run", "runs now", "ran for", "at that price"]);
        let mut notes = String::new();
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
            let ran_in = windows(&host, subsystem)?;
            let (factor, ran) = (measured.price.factor(&ran_in), Ran::sum(&ran_in));
            notes += &told(subsystem.name, &measured, factor, &ran);
            let factor = factor.unwrap_or(1.0);
            let Price { paid, seen } = &measured.price;
            for (number, (program, price)) in subsystem.programs.iter().zip(&paid.pass_ns).enumerate() {
                let at = match program.attach {
                    Attach::Tracepoint(name) => format!("tracepoint {name}"),
                    Attach::SoftwareEvent(number) => format!("software event {number}"),
                    Attach::UserTracepoint(name, ..) => format!("tracepoint {name}"),
                    Attach::UserFunction(file, function, ..) => format!("function {function} of {file}"),
                    Attach::UserProbe(file, provider, name, ..) => format!("probe {provider}:{name} of {file}"),
                };
                let seen_ns = seen.pass_ns.get(number).copied().unwrap_or(0.0);
                programs.row([
                    format!("{}.{}", subsystem.name, program.label()),
                    at,
                    span_ns(*price),
                    ran.programs.get(number).map_or(0, |(n, _)| *n).to_string(),
                    ran.mean_ns(number).map_or_else(String::new, span_ns),
                    span_ns(price + (factor - 1.0) * seen_ns),
                ]);
            }
            let passing: f64 = paid.pass_ns.iter().sum();
            events.row([
                subsystem.name.to_owned(),
                event.to_owned(),
                span_ns(measured.bare_ns),
                span_ns(measured.passing_ns),
                span_ns(measured.counting_ns),
                span_ns(passing),
                span_ns(paid.event_ns),
            ]);
        }
        written(write!(
            out,
            "An event of each subsystem, and what its probes add:\n\n{events}\n\
             Each program, when it finds nothing to count; and what it did of what goes on now in {} ms, in which the kernel keeps account of runs:\n\n{programs}\n{notes}",
            N_WINDOWS as u128 * WINDOW.as_millis()
        ))
    }
}

/// Returns the run times of a subsystem's programs, of what goes on anyway, in as many windows as an agent opens in a
/// minute.
fn windows(host: &Rc<Bpf>, subsystem: &'static Subsystem) -> Result<Vec<Ran>, Failure> {
    let mut arm = host.arm(subsystem).map_err(failed)?;
    let window = |_| {
        arm.begin_account();
        clock::sleep(WINDOW);
        arm.end_account().unwrap_or_default()
    };
    Ok((0..N_WINDOWS).map(window).collect())
}

/// Returns the line on the correction of the price, and on the cost of looking.
fn told(name: &str, measured: &Calibration, factor: Option<f64>, ran: &Ran) -> String {
    let corrected = match factor {
        Some(factor) => format!("programs run {factor:.2} times as long as when the price was measured"),
        None => "nothing ran to correct the price by".to_owned(),
    };
    let n_runs = ran.n_runs();
    let looking = measured.account_ns.map_or_else(String::new, |ns| {
        format!("; keeping account added {} to a run, {} in that time", span_ns(ns), span_ns(ns * n_runs as f64))
    });
    format!("{name}: {corrected} ({}){looking}\n", counted(n_runs, "run"))
}

/// Each record that was made has to be received or counted as dropped.
fn flood(n_reads: u64, out: &mut dyn Write) -> Result<(), Failure> {
    let flood = kernel::flood(n_reads).map_err(failed)?;
    let kernel::Flood { counted: n_counted, made, received, dropped, elapsed } = flood;
    let per_sec = number(n_counted as f64 / elapsed.as_secs_f64());
    let lines = format!(
        "{n_reads} reads made, {n_counted} counted, {per_sec} a second\n\
         {made} traced events made, {received} received, {dropped} dropped\n"
    );
    written(out.write_all(lines.as_bytes()))?;
    if n_counted < n_reads || made != n_counted || made != received + dropped {
        return Err(Failure::work("events are missing: reads, counts and records do not add up"));
    }
    Ok(())
}
