//! What the public interface promises.

mod machine;
mod replay;
mod world;
