//! Programs in C and Fortran, compiled with a library's wrapper and run under its launcher with the tracer preloaded.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mpi_trace::file::{Note, Part, Reader};
use mpi_trace::{Event, Peer, Subject};
use tempfile::TempDir;

/// A program, compiled for one library.
pub(crate) struct Program {
    library: &'static str,
    words: Vec<String>,
    /// With what it leaves.
    pub(crate) folder: TempDir,
}

/// What one rank left.
pub(crate) struct Trace {
    /// By ring.
    pub(crate) events: BTreeMap<u32, Vec<Event>>,
    pub(crate) n_lost: u64,
    pub(crate) notes: Vec<Note>,
}

impl Program {
    /// Compiles a source of `tests/programs`.
    pub(crate) fn compiled(library: &'static str, source: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let (compiler, flags) = match path.extension().unwrap().to_str().unwrap() {
            "c" => ("mpicc", &["-pthread"][..]),
            // Buffers of several types are passed to one procedure, which FORTRAN 77 does not have words for.
            _ => ("mpifort", &["-fallow-argument-mismatch"][..]),
        };
        let program = folder.path().join("program");
        let mut command = Command::new(format!("{compiler}.{library}"));
        // A Fortran compiler leaves modules where it runs.
        let compile = command.args(["-w", "-o"]).arg(&program).args(flags).arg(path).current_dir(&folder);
        let compiled = compile.output().unwrap();
        assert!(compiled.status.success(), "{source}: {}", String::from_utf8_lossy(&compiled.stderr));
        Self { library, words: vec![program.to_str().unwrap().to_owned()], folder }
    }

    /// A program that is there already.
    pub(crate) fn words(library: &'static str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { library, words, folder: tempfile::tempdir().unwrap() }
    }

    /// Runs it with the tracer.
    pub(crate) fn run(&self, n_ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(format!("mpiexec.{}", self.library));
        command.args(["-n", &n_ranks.to_string()]).current_dir(self.folder.path());
        let tracer = tracer();
        let environment = environment.iter().copied().chain([("LD_PRELOAD", tracer.to_str().unwrap())]);
        if self.library == "openmpi" {
            // The launcher refuses root and more ranks than cores unless told that they are meant.
            command.args(["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
            environment.for_each(|(name, value)| {
                command.args(["-x", &format!("{name}={value}")]);
            });
        } else {
            environment.for_each(|(name, value)| {
                command.args(["-genv", name, value]);
            });
        }
        command.args(&self.words).args(arguments).output().unwrap()
    }

    /// Runs it, to a good end.
    #[track_caller]
    pub(crate) fn succeed(&self, n_ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) {
        let output = self.run(n_ranks, arguments, environment);
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && !stderr.contains("foretop"), "{}: {stdout}{stderr}", self.library);
    }

    /// What a rank left in the folder that traces go to unless told otherwise.
    #[track_caller]
    pub(crate) fn trace(&self, rank: u32) -> Trace {
        let path = trace_file(&self.folder.path().join("foretop-trace"), rank);
        let mut reader = Reader::new(BufReader::new(File::open(path).unwrap())).unwrap();
        let mut trace = Trace { events: BTreeMap::new(), n_lost: 0, notes: Vec::new() };
        while let Some(part) = reader.part().unwrap() {
            match part {
                Part::Note(note) => trace.notes.push(note),
                Part::Events { ring, n_lost, events } => {
                    trace.n_lost += n_lost;
                    trace.events.entry(ring).or_default().extend(events);
                }
            }
        }
        trace
    }
}

impl Trace {
    /// All events of a program with one thread, a line each, without their times.
    pub(crate) fn text(&self) -> String {
        self.events.values().flatten().map(|event| self.line(event) + "\n").collect()
    }

    /// Events of all rings with this tag.
    pub(crate) fn n_with_tag(&self, tag: i32) -> usize {
        let has_tag = |event: &&Event| matches!(event.subject, Subject::Call { tag: Some(own), .. } if own == tag);
        self.events.values().flatten().filter(has_tag).count()
    }

    fn line(&self, event: &Event) -> String {
        assert!(event.start <= event.end);
        let (Subject::Call { communicator, peer, tag } | Subject::Part { communicator, peer, tag }) = event.subject
        else {
            panic!("a stage in a ring of calls")
        };
        let mut line = if event.is_part() { "+ ".to_owned() } else { String::new() };
        line += event.operation.name().trim_start_matches("MPI_");
        let members = self.notes.iter().find_map(|note| match note {
            Note::Communicator(known) if known.communicator == communicator => Some(known.ranks.clone()),
            _ => None,
        });
        line += &members.map_or(" ?".to_owned(), |members| format!(" {members:?}").replace(", ", ","));
        match peer {
            Peer::None => {}
            Peer::Any => line += " any",
            Peer::Null => line += " null",
            Peer::Rank(rank) => line += &format!(" {rank}"),
        }
        line += &tag.map_or(String::new(), |tag| format!(" tag {tag}"));
        line += &if event.bytes == 0 { String::new() } else { format!(" {} B", event.bytes) };
        line + if event.is_failed { " failed" } else { "" }
    }
}

/// What a rank left there.
#[track_caller]
pub(crate) fn trace_file(folder: &Path, rank: u32) -> PathBuf {
    let end = format!(".{rank}.ftrace");
    let mut entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.to_str().unwrap().ends_with(&end)).expect("the rank left a file")
}

/// The library beside the tests, which cargo builds for them.
pub(crate) fn tracer() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let name = format!("{}mpi_tracer{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    tests.with_file_name(name)
}
