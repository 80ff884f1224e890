//! A core, for the tests of the prediction server.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::stdin;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

fn main() -> Result<(), Box<dyn Error>> {
    let socket = UnixStream::from(stdin().as_fd().try_clone_to_owned()?);
    Ok(component::run_core(socket)?)
}
