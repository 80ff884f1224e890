//! What the analysis says of made runs, whose every stage is known.

mod forecast;
mod identity;
mod made;
mod pictures;
mod steps;
