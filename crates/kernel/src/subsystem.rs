//! Subsystems: points that make one summary, the programs that feed them, and what stands in where there are none.
//!
//! Each file in `subsystem/` is one; the build script lists them, so that a new one touches no other file.

use crate::user::EMPTY;
use crate::{Error, FromProc, Reading};

include!(concat!(env!("OUT_DIR"), "/subsystems.rs"));

/// A group of points with one summary.
#[derive(Debug)]
pub struct Subsystem {
    /// Name on the command line, and of its file in `bpf/`.
    pub name: &'static str,
    /// Name in the names of records: `VM Summary`.
    pub title: &'static str,
    /// Its purpose, in a line.
    pub purpose: &'static str,
    /// Its points; their order is that of the numbers in its programs.
    pub points: &'static [Point],
    /// Its programs in `bpf/NAME.bpf.c`, in the order of their numbers; none for a subsystem without hooks.
    pub programs: &'static [Program],
    /// Points that are made of others.
    pub totals: &'static [Total],
    /// Reads the same points from /proc, as far as it has them.
    pub from_proc: fn(&FromProc) -> Result<Reading, Error>,
    /// The part that /proc lacks.
    pub proc_lacks: &'static str,
    /// Work by which the price of a counted event is measured.
    pub drive: Drive,
}

/// A place where an event is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name in the names of fields: `FilePageIn`.
    pub name: &'static str,
    /// Name for people: `page-in, file`.
    pub label: &'static str,
    /// Measured properties of each event.
    pub timing: Timing,
    /// Whether events have sizes, asked for and returned, and so groups.
    pub is_sized: bool,
}

/// A point that counts each event of some others once more, by counters of its own where it is followed.
#[derive(Debug)]
pub struct Total {
    /// The point.
    pub point: usize,
    /// The points of which it is the total. Together they are never more.
    pub parts: &'static [usize],
}

/// Measured properties of each event of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Occurrence of the event.
    Counted,
    /// Occurrence and length of time.
    Timed,
    /// Occurrence, length of time, and number of operations on their way at any moment.
    Followed,
    /// No events: time spent, by processor in place of size groups.
    Spent,
}

/// A program that feeds points.
#[derive(Debug)]
pub struct Program {
    /// Its function.
    pub name: &'static str,
    /// Place where it is attached.
    pub attach: Attach,
    /// The part that is missing without it.
    pub without: &'static str,
}

impl Program {
    /// Returns its name: for a program of a user's points, the label of its point.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self.attach {
            Attach::UserTracepoint(..) | Attach::UserFunction(..) | Attach::UserProbe(..) => self.without,
            Attach::Tracepoint(_) | Attach::SoftwareEvent(_) => self.name,
        }
    }
}

/// Place where a program is attached.
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

/// Arguments of an event that are kept; arguments count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The argument that is the event's size.
    pub size: Option<u8>,
    /// The arguments that are fields of its traced records, by name.
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

/// Two subsystems of one name are the same.
impl PartialEq for Subsystem {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Subsystem {}

/// The subsystem of a user's points, without points.
impl Default for &Subsystem {
    fn default() -> Self {
        &EMPTY
    }
}

impl Subsystem {
    /// Returns the arguments that a user named, of a point of the subsystem `user`, whose programs are one for each
    /// point.
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

/// Returns all subsystems, by name.
#[must_use]
pub fn all() -> &'static [&'static Subsystem] {
    FOUND
}

/// Returns the subsystem of this name; `fs` is short for `filesystem`.
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
