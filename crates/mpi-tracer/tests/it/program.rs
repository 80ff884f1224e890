//! Programs with the tracer, and what they leave.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use mpi_trace::file::{Note, Part, Reader};
use mpi_trace::{Event, Peer, Subject};
use testkit::launch::{self, Ended};

/// A program that is run with the tracer.
pub(crate) struct Program(launch::Program);

/// What one rank left.
pub(crate) struct Trace {
    /// By ring.
    pub(crate) events: BTreeMap<u32, Vec<Event>>,
    pub(crate) n_lost: u64,
    pub(crate) notes: Vec<Note>,
}

impl Program {
    /// Compiles a source of `tests/programs`.
    #[track_caller]
    pub(crate) fn compiled(library: &'static str, source: &str) -> Self {
        Self::linked(library, source, &[])
    }

    /// Compiles a source likewise, with more for the compiler and the linker.
    #[track_caller]
    pub(crate) fn linked(library: &'static str, source: &str, flags: &[&str]) -> Self {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Self(launch::Program::linked(library, &programs.join(source), &flags))
    }

    /// A program that is there already.
    pub(crate) fn words(library: &'static str, words: &[&str]) -> Self {
        Self(launch::Program::words(library, words))
    }

    /// Where it runs, with what it leaves.
    pub(crate) fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// Runs it with the tracer.
    #[track_caller]
    pub(crate) fn run(&self, n_ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        self.run_under(&["mpi_tracer"], n_ranks, arguments, environment)
    }

    /// Runs it with these libraries of ours.
    #[track_caller]
    pub(crate) fn run_under(
        &self,
        preloaded: &[&str],
        n_ranks: u32,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Ended {
        let preloaded = launch::preloaded(preloaded);
        self.0.run(n_ranks, arguments, &[environment, &[("LD_PRELOAD", &preloaded)]].concat())
    }

    /// Runs it, to a good end.
    #[track_caller]
    pub(crate) fn succeed(&self, n_ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) {
        let ended = self.run(n_ranks, arguments, environment);
        assert!(ended.is_well && !ended.stderr.contains("foretop"), "{}{}", ended.stdout, ended.stderr);
    }

    /// What a rank left in the folder that traces go to unless told otherwise.
    #[track_caller]
    pub(crate) fn trace(&self, rank: u32) -> Trace {
        let path = trace_file(&self.folder().join("foretop-trace"), rank);
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
