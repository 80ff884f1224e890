//! Whether something is about to go wrong: statements about a signal's near future, how probable they are, and how
//! often such statements came true.
//!
//! A [`Statement`] is what somebody writes, `cpu.busy > 90 %`; on its left is an [`Expression`] of one signal or
//! several. With the unit of its signal and a time it is a [`Question`], and [`ask`] answers it from the samples so
//! far: it draws futures ([`predict::Outlook::paths`]) and counts those in which the statement becomes true. On the way
//! through the samples it asks itself the same question again and again and keeps the [record](predict::Record) of what
//! came, so that each probability is recalibrated to what such probabilities were [worth](predict::Worth).
//!
//! A [`Rule`] is a statement that somebody wants to be warned of; an [`Alarm`] stands from one probability on until it
//! is below another; [`trial`] says what a rule would have done over the past. Where nobody has made a rule, [`Usual`]
//! asks whether a signal will leave the range that it kept to so far. A [`View`] draws a question.
//!
//! Pure: samples and a seed in, numbers out.
#![forbid(unsafe_code)]

mod ask;
mod culprit;
mod excursion;
mod expression;
mod first_passage;
mod foresight;
mod name;
mod picture;
mod question;
mod rule;
mod statement;
mod steps;
mod trial;

pub use ask::{Answer, Chance, Frame, History, ask, futures, rehearse};
pub use culprit::{Attribution, CULPRIT_SHARE_MIN, ChangeMeasure, MinuteOfUse, attribute, changed_since, look_back};
pub use excursion::{Usual, base_rate};
pub use expression::{Expression, ExpressionError};
pub use first_passage::FirstPassage;
pub use foresight::Foresight;
pub use name::quoted;
pub use picture::View;
pub use question::{Question, QuestionError};
pub use rule::{Rule, RuleError, Rules, RulesError, says};
pub use statement::{Comparison, Statement, StatementError, Subject};
pub use steps::{
    HORIZON_MAX, N_LEADS_MAX, in_common, levels, longer, n_steps, near, nearer, no_sample_since, past, past_beside,
    shorter, step,
};
pub use trial::{Alarm, Trial, trial};
