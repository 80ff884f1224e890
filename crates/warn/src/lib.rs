//! Whether something is about to go wrong: statements about a signal's near future, how probable they are, and how often such
//! statements came true.
//!
//! A [`Statement`] is what somebody writes, `cpu.busy > 90 %`. With the unit of its signal and a time it is a [`Question`],
//! and [`ask`] answers it from the samples so far: it draws futures ([`predict::Outlook::paths`]) and counts those in which the statement
//! becomes true. On the way through the samples it asks itself the same question again and again and keeps the [`Record`] of
//! what came, so that each probability comes with what such probabilities were worth.
//!
//! Pure: samples and a seed in, numbers out.
#![forbid(unsafe_code)]

mod ask;
mod question;
mod record;
mod statement;

pub use ask::{Answer, History, ask};
pub use question::Question;
pub use record::{Bin, Record};
pub use statement::{Comparison, Statement, StatementError, Subject};
