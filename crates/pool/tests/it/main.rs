//! Pools of prediction servers, with a real NATS server between them.

mod nats;
