//! What the public interface promises.

mod collective;
mod machine;
mod replay;
mod user;
mod world;
