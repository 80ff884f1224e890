//! What the analysis says of made runs, whose every stage is known.

mod identity;
mod made;
mod steps;
