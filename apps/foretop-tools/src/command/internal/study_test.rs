//! `foretop internal study-test`: one test process of a study.

use std::io::Write;
use std::time::Duration;

use availability_study::{Assignment, TestProgram};
use clap::Args;
use units::span;

use text::help::examples;

/// Spin, and print the CPU time and the wall time that passed; `foretop availability-study` starts it
#[derive(Args)]
#[command(after_help = examples(&["foretop internal study-test --mark 10s --threads 1 --demand 3s"]))]
pub struct StudyTest {
    /// Times at which both clocks are read; may be repeated, and the last one is the end
    #[arg(long = "mark", value_name = "TIME", value_parser = span::parse, required = true)]
    marks: Vec<Duration>,

    /// The number of threads that spin
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    threads: u32,

    /// The CPU time for which the wall time is recorded
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    demand: Duration,
}

impl StudyTest {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let assignment = Assignment { marks: self.marks, n_threads: self.threads, demand: self.demand };
        serde_json::to_writer(&mut *out, &availability_study::spin(&assignment))?;
        Ok(writeln!(out)?)
    }
}

/// Returns this very program as a test.
///
/// # Errors
/// When the program's own file cannot be found.
pub fn test() -> anyhow::Result<TestProgram> {
    let (program, arguments) = command_line::internal("study-test")?;
    Ok(TestProgram { program, arguments })
}
