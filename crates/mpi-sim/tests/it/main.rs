//! What the public interface promises.

mod collective;
mod machine;
mod native;
mod protocol;
mod replay;
mod user;
mod world;
