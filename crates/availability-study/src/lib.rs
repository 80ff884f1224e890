//! How right the sensors and forecasts of CPU availability are on this host, found out by test processes.
//!
//! R. Wolski, N. Spring and J. Hayes, "Predicting the CPU availability of time-shared Unix systems" (1998), remade for
//! one host under loads that are made for it. A [`Study`] visits load scenarios in rounds, reads the sensors once a second
//! without a break, and runs test processes that spin and tell their CPU clock over the wall clock. All of it goes to a
//! journal; a [`Record`] is what a journal says, and a [`Report`] the tables that are computed from it. Nothing is
//! forecast while the study runs: a forecast is made afterwards from the readings before its test, as it would have been
//! made then, so that fits do not take the CPU time that is being measured.
#![forbid(unsafe_code)]

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
