//! Accuracy of the sensors and forecasts of CPU availability on this host, measured with test processes.
//!
//! This repeats R. Wolski, N. Spring and J. Hayes, "Predicting the CPU availability of time-shared Unix systems"
//! (1998), for one host under made loads. A [`Study`] visits load scenarios in rounds, reads the sensors once a second
//! without a break, and runs test processes that spin and report their CPU clock over the wall clock. Everything goes
//! to a journal; a [`Record`] is the content of a journal, and a [`Report`] the tables computed from it. Nothing is
//! forecast while the study runs, since fits would take the CPU time that is being measured. Forecasts are made
//! afterwards, each from the readings before its test, as it would have been made then.
#![forbid(unsafe_code)]

mod course;
mod draw;
mod error;
mod gate;
mod host;
mod journal;
mod plan;
mod published;
mod record;
mod report;
mod settings;
mod sitting;
mod study;
mod table;
mod tables;
mod test_process;

pub use error::{JournalError, StudyError};
pub use host::busy_share;
pub use journal::{FILE_NAME, Header, Mark, Outcome, Reading, Spun, TestDone, VisitStart};
pub use plan::{Length, Plan, Test, Visit};
pub use record::{Record, Segment};
pub use report::{BUSY_MAX, Format, Report};
pub use settings::{Settings, SettingsError};
pub use study::{End, Event, Programs, Study};
pub use table::{Cell, Row, Source, Table};
pub use tables::live;
pub use test_process::{Assignment, TestProgram, spin};
