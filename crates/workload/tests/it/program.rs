//! Program that the tests start: with `hold SCENARIO` it makes that load until it is killed, and else it is a worker.
#![forbid(unsafe_code)]

use std::{
    error::Error,
    ffi::OsString,
    io::{Write, stdout},
    thread,
};

use workload::Worker;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [first, name] if first == "hold" => hold(name),
        _ => Ok(workload::work(&arguments)?),
    }
}

/// Makes a load, and writes the numbers of its processes in one line when it runs.
fn hold(name: &OsString) -> Result<(), Box<dyn Error>> {
    let scenario = name.to_str().and_then(workload::find).ok_or("no such scenario")?;
    let worker = Worker { program: std::env::current_exe()?, arguments: Vec::new() };
    let load = scenario.start(1, &worker)?;
    let group = load.group().map_or_else(String::new, |group| group.directory().display().to_string());
    let ids = load.process_ids().iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    writeln!(stdout(), "{ids}\n{group}")?;
    loop {
        thread::park();
    }
}
