//! `foretop kernel study`: SESAME's measurements made again, on the digits of its report and on this machine.

mod devices;
mod disk;
mod eye;
mod job;
mod overhead;
mod phases;
mod regions;
mod sort;
mod stall;
mod startup;
mod tool;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use kernel_study::{Answer, page};
use program::{Failure, Interruption, written};
use text::help::examples;

/// The place and the manner of measurements.
struct Bench<'a> {
    /// The folder for files that are kept.
    out: &'a Path,
    /// The folder for files that are not kept.
    scratch: &'a Path,
    is_quick: bool,
    is_over: Interruption,
}

impl Bench<'_> {
    /// Whether nobody has asked for the end.
    fn go_on(&self) -> Result<(), Failure> {
        match self.is_over.has_come() {
            true => Err(Failure::work("interrupted; the answers so far are above")),
            false => Ok(()),
        }
    }
}

type Question = (&'static str, fn(&Bench) -> Result<Vec<Answer>, Failure>);

/// The questions in the order in which they are asked, with the subject of each for when it cannot be answered.
const QUESTIONS: &[Question] = &[
    ("What watching costs", overhead::answer),
    ("Messages of MPI_Init against ranks", startup::answer),
    ("A stall that was put in", stall::answer),
    ("A sort by size and ranks, short of memory", sort::answer),
    ("A write and a read over two devices", devices::answer),
    ("File systems by record size", regions::answer),
    ("Phases of a sort", phases::answer),
];

/// Repeat the measurements of SESAME's report: on its digits, and on this machine
///
/// Each question has conditions, a table and a verdict, as text and on a page, `study.html`, with pictures. Questions
/// that need root or programs in the kernel are left out if they cannot have them, with the reason.
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel study --out kernel-study", "foretop kernel study --out kernel-study --quick"]))]
pub struct Study {
    /// The folder for the page and the pictures, created if necessary
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,

    /// Rehearse: the same with few and small runs, in half a minute
    #[arg(long)]
    quick: bool,

    /// Ask only the questions with this text in their names; may be repeated
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
}

impl Study {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        fs::create_dir_all(&self.out)
            .map_err(|error| Failure::work(format!("cannot make `{}`: {error}", self.out.display())))?;
        let mut answers = Vec::new();
        let is_asked =
            |title: &str| self.only.is_empty() || self.only.iter().any(|words| title.contains(words.as_str()));
        for answer in kernel_study::digits().map_err(Failure::of)?.into_iter().filter(|answer| is_asked(&answer.title))
        {
            self.tell(answer, &mut answers, out)?;
        }
        let is_over = Interruption::watch()?;
        let scratch = tempfile::Builder::new().prefix("scratch").tempdir_in(&self.out).map_err(Failure::of)?;
        let bench = Bench { out: &self.out, scratch: scratch.path(), is_quick: self.quick, is_over };
        for (title, ask) in QUESTIONS.iter().filter(|(title, _)| is_asked(title)) {
            let asked = ask(&bench);
            bench.go_on()?;
            for answer in asked.unwrap_or_else(|failure| vec![Answer::left_out(title, failure.message)]) {
                self.tell(answer, &mut answers, out)?;
            }
        }
        let page = page("What the kernel is doing: SESAME's measurements made again", &[self.about()], &answers);
        let path = self.write("study.html", page.as_bytes())?;
        written(writeln!(out, "Page: {}", path.display()))
    }

    /// Returns the place, the time and the version of the measurements.
    fn about(&self) -> String {
        let system = rustix::system::uname();
        format!(
            "{} {} on {} processors, foretop-kernel {}, {}{}",
            system.sysname().to_string_lossy(),
            system.release().to_string_lossy(),
            std::thread::available_parallelism().map_or(1, usize::from),
            env!("CARGO_PKG_VERSION"),
            clock::now(),
            if self.quick { "; a rehearsal, whose figures say little" } else { "" }
        )
    }

    /// Prints an answer and writes its pictures, as it comes.
    fn tell(&self, answer: Answer, answers: &mut Vec<Answer>, out: &mut dyn Write) -> Result<(), Failure> {
        written(out.write_all(answer.to_text().as_bytes()))?;
        for (name, picture) in &answer.pictures {
            let path = self.write(&format!("{name}.svg"), picture.to_svg().as_bytes())?;
            written(writeln!(out, "Picture: {}", path.display()))?;
        }
        written(writeln!(out).and_then(|()| out.flush()))?;
        answers.push(answer);
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let path = self.out.join(name);
        fs::write(&path, bytes)
            .map_err(|error| Failure::work(format!("cannot write `{}`: {error}", path.display())))?;
        Ok(path)
    }
}
