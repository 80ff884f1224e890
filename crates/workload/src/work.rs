//! Work of a worker, from its order to its end.

mod brief;
mod burst;
mod disk;
mod keep;
mod spin;
mod terms;

use std::{
    convert::Infallible,
    ffi::OsString,
    io::{self, Read, Write},
    process, thread,
};

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};

use crate::{
    LoadError, Step, Worker,
    chance::Chance,
    error::Fault,
    group,
    order::{Order, Report, Task},
};

/// Does what a load's worker is told by its last argument, until it is killed or its parent is gone.
///
/// To be called by an executable that [`Worker`] names, with the arguments that come after [`Worker::arguments`], and
/// before it starts threads of its own. Ends the process itself when the process that started it has ended. Returns at
/// once, and without an error, in the short processes that some loads are made of.
///
/// # Errors
/// When it cannot go on. The process that started the load is told as well, so that the executable has only to exit.
pub fn work(arguments: &[OsString]) -> Result<(), LoadError> {
    let order = Order::from_arguments(arguments)?;
    if let Task::Brief { cpu } = order.task {
        brief::end_after(cpu);
        return Ok(());
    }
    match go_on(&order) {
        Ok(never) => match never {},
        Err(fault) => {
            report(&Report::Failed(fault.clone()));
            Err(fault.into())
        }
    }
}

/// Sets this process up and does its task.
fn go_on(order: &Order) -> Result<Infallible, Fault> {
    // Threads started later inherit what the first one is set to.
    terms::apply(order.terms)?;
    if let Some(group) = &order.group {
        group::move_process(process::id(), group).map_err(Fault::at(Step::Group))?;
    }
    if let Task::Keep { group } = &order.task {
        report(&Report::Ready);
        keep::remove_after_parent(group);
    }
    thread::Builder::new().name("watch".to_owned()).spawn(end_with_parent).map_err(Fault::at(Step::Watch))?;
    let chance = Chance::new(order.stream);
    let ready = || report(&Report::Ready);
    match order.task {
        Task::Spin { n_threads } => spin::forever(n_threads, ready),
        Task::Burst => burst::forever(chance, ready),
        Task::Fork { mean_cpu } => brief::run_one_after_another(&own_worker(), chance, mean_cpu, ready),
        Task::Disk => disk::forever(chance, ready),
        Task::Brief { .. } | Task::Keep { .. } => unreachable!("they are done above"),
    }
}

/// Returns the program and arguments with which this very process was started, without its order.
fn own_worker() -> Result<Worker, Fault> {
    let program = std::env::current_exe().map_err(Fault::at(Step::Fork))?;
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    arguments.pop();
    Ok(Worker { program, arguments })
}

/// Tells the parent, if it listens; that it is gone is noticed by [`end_with_parent`].
fn report(report: &Report) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{}", report.to_line()).and_then(|()| out.flush());
}

/// Returns when the process that holds the other end of standard input is gone.
fn wait_for_end_of_parent() {
    let mut stdin = io::stdin().lock();
    // Nothing is ever written, so that whatever comes but an interruption is the end.
    let mut byte = [0];
    while stdin.read(&mut byte).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
}

/// Ends this process and its children with its parent.
fn end_with_parent() {
    wait_for_end_of_parent();
    // A worker leads a group of its own, unless somebody started it by hand.
    if getpgrp() == getpid() {
        let _ = kill_current_process_group(Signal::KILL);
    }
    process::exit(0);
}
