//! What components do, around real transports and a real core.

mod buffer;
mod prediction_server;
mod sensor;
mod world;
