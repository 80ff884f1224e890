//! Encoder and decoder against each other: exact bytes on all roads, and clean errors on none.

mod roundtrip;
mod trouble;
mod two_level;
mod world;
