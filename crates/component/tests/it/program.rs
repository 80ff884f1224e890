//! A core, for the tests of the prediction server: `core-for-tests FOLDER LIFE…`, where LIFE says what goes wrong in
//! the first life, the second and so on: `hang`, `exit` or `late`. Lives are counted by files in the folder; after
//! those named nothing goes wrong.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs::File;
use std::io::{self, stdin};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Noticed by nobody whose limit is longer.
const LATE: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    let mut socket = UnixStream::from(stdin().as_fd().try_clone_to_owned()?);
    let mut arguments = std::env::args().skip(1);
    if let Some(folder) = arguments.next() {
        let is_new = |life: &usize| File::create_new(Path::new(&folder).join(life.to_string())).is_ok();
        let life = (0..).find(is_new).ok_or("there is a number for each life")?;
        match arguments.nth(life).as_deref() {
            Some("hang") => return Ok(io::copy(&mut socket, &mut io::sink()).map(drop)?),
            Some("exit") => return Err("told to".into()),
            Some("late") => clock::sleep(LATE),
            _ => {}
        }
    }
    Ok(component::run_core(socket)?)
}
