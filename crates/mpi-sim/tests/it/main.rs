//! What the public interface promises.

mod machine;
mod world;
