//! What simulations must do under every protocol and with any number of threads.

mod exactness;
mod world;
