//! What the public interface promises.

mod machine;
mod user;
mod world;
