//! Tunnels over the loopback, with programs at both ends.

mod components;
mod config;
mod hostile;
mod neighbours;
mod programs;
mod quic;
mod restart;
mod security;
mod world;
