//! What the public interface promises.

mod machine;
mod replay;
mod user;
mod world;
