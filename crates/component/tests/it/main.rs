//! What components do, around real transports and a real core.

mod buffer;
mod evaluation;
mod monolith;
mod nats;
mod one_off;
mod player;
mod prediction_server;
mod sensor;
mod world;
