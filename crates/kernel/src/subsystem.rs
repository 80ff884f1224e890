//! Subsystems: points that make one summary, the programs that feed them, and what stands in where there are none.
//!
//! Each file in `subsystem/` is one; the build script lists them, so that a new one touches no other file.

use crate::user::EMPTY;
use crate::{Error, FromProc, Reading};

include!(concat!(env!("OUT_DIR"), "/subsystems.rs"));

/// A group of points with one summary.
#[derive(Debug)]
pub struct Subsystem {
    /// On the command line, and of its file in `bpf/`.
    pub name: &'static str,
    /// In the names of records: `VM Summary`.
    pub title: &'static str,
    /// What it is about, in a line.
    pub purpose: &'static str,
    /// Their order is that of the numbers in its programs.
    pub points: &'static [Point],
    /// Those in `bpf/NAME.bpf.c`, in the order of their numbers; none for a subsystem without hooks.
    pub programs: &'static [Program],
    /// Points that are made of others.
    pub totals: &'static [Total],
    /// What /proc knows of the same points.
    pub from_proc: fn(&FromProc) -> Result<Reading, Error>,
    /// What that does not know.
    pub proc_lacks: &'static str,
    /// What the price of a counted event is measured with.
    pub drive: Drive,
}

/// Where an event is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// In the names of fields: `FilePageIn`.
    pub name: &'static str,
    /// For people: `page-in, file`.
    pub label: &'static str,
    /// What is known of each event.
    pub timing: Timing,
    /// Whether events have sizes, asked for and returned, and so groups.
    pub is_sized: bool,
}

/// A point that counts each event of some others once more, by counters of its own where it is followed.
#[derive(Debug)]
pub struct Total {
    /// The point.
    pub point: usize,
    /// What it is the total of. Together they are never more.
    pub parts: &'static [usize],
}

/// What is known of each event of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// That it happened.
    Counted,
    /// How long it took.
    Timed,
    /// The same, and how many are on their way at any moment.
    Followed,
    /// No events: time spent, by processor in place of size groups.
    Spent,
}

/// A program that feeds points.
#[derive(Debug)]
pub struct Program {
    /// Its function.
    pub name: &'static str,
    /// Where it is attached.
    pub attach: Attach,
    /// What is missing without it.
    pub without: &'static str,
}

impl Program {
    /// What it is called: a program of a user's points by the label of its point.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self.attach {
            Attach::UserTracepoint(..) | Attach::UserFunction(..) | Attach::UserProbe(..) => self.without,
            Attach::Tracepoint(_) | Attach::SoftwareEvent(_) => self.name,
        }
    }
}

/// Where a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// A raw tracepoint, by its name.
    Tracepoint(&'static str),
    /// The kernel's software event with this number, on each processor.
    SoftwareEvent(u64),
    /// A raw tracepoint that a user named, for the point of this number.
    UserTracepoint(&'static str, usize, Arguments),
    /// The entry of a function in a file, likewise.
    UserFunction(&'static str, &'static str, usize, Arguments),
    /// A USDT probe in a file, by its provider and name, likewise.
    UserProbe(&'static str, &'static str, &'static str, usize, Arguments),
}

/// What of the arguments of an event is kept; arguments count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The one that is its size.
    pub size: Option<u8>,
    /// Those that are fields of its traced records, by name.
    pub fields: &'static [(&'static str, u8)],
}

/// Work that makes the events of a subsystem, to measure their price with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Nothing: it has no hooks.
    None,
    /// Reads of a few bytes of a file that is in memory.
    Reads,
    /// First touches of pages.
    Faults,
    /// Threads that begin and end.
    Threads,
    /// Messages through a pair of sockets.
    Messages,
}

/// Two of one name are the same.
impl PartialEq for Subsystem {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Subsystem {}

/// That of a user's points, without points.
impl Default for &Subsystem {
    fn default() -> Self {
        &EMPTY
    }
}

impl Subsystem {
    /// Arguments that a user named, of a point of the subsystem `user`, whose programs are one for each point.
    #[must_use]
    pub fn fields(&self, point: usize) -> &'static [(&'static str, u8)] {
        match self.programs.get(point).map(|program| program.attach) {
            Some(
                Attach::UserTracepoint(.., arguments)
                | Attach::UserFunction(.., arguments)
                | Attach::UserProbe(.., arguments),
            ) => arguments.fields,
            _ => &[],
        }
    }
}

/// All that there are, by name.
#[must_use]
pub fn all() -> &'static [&'static Subsystem] {
    FOUND
}

/// The subsystem of this name; `fs` is short for `filesystem`.
///
/// # Errors
/// With the names that there are.
pub fn find(name: &str) -> Result<&'static Subsystem, Error> {
    let wanted = if name == "fs" { "filesystem" } else { name };
    all().iter().copied().find(|subsystem| subsystem.name == wanted).ok_or_else(|| Error::NoSuchSubsystem {
        name: name.into(),
        known: all().iter().map(|subsystem| subsystem.name).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsystems_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = all().iter().map(|subsystem| subsystem.name).collect();
        assert_eq!(names.len(), all().len());
        for subsystem in all() {
            let points: std::collections::BTreeSet<_> = subsystem.points.iter().map(|point| point.name).collect();
            assert_eq!(points.len(), subsystem.points.len(), "{}", subsystem.name);
        }
    }

    #[test]
    fn an_unknown_subsystem_is_answered_with_those_that_there_are() {
        let error = find("vmm").unwrap_err().to_string();
        assert!(error.contains("`vmm`") && error.contains("filesystem"), "{error}");
        assert_eq!(find("fs").unwrap().name, "filesystem");
    }
}
