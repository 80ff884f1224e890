//! Short processes, one after the other, as a build or a shell script has them.

use std::{
    convert::Infallible,
    io,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::{io::Errno, time::ClockId};

use super::spin;
use crate::{
    Step, Worker,
    chance::{Chance, Stream},
    error::Fault,
    order::{Order, Task, Terms},
};

/// Is a short process: counts until this process has had `cpu` since it was made.
pub(super) fn end_after(cpu: Duration) {
    spin::until(ClockId::ProcessCPUTime, cpu);
}

/// Starts one as soon as the last one has ended, with exponentially distributed CPU times.
///
/// Where the draw is less than what it takes to start a process, that is what it gets.
pub(super) fn run_one_after_another(
    own: &Result<Worker, Fault>,
    mut chance: Chance,
    mean_cpu: Duration,
    ready: impl FnOnce(),
) -> Result<Infallible, Fault> {
    let own = own.as_ref().map_err(Fault::clone)?;
    run(own, mean_cpu)?;
    ready();
    loop {
        run(own, chance.around(mean_cpu))?;
    }
}

fn run(own: &Worker, cpu: Duration) -> Result<(), Fault> {
    // It draws nothing.
    let stream = Stream { seed: 0, number: 0 };
    let order = Order { task: Task::Brief { cpu }, terms: Terms::Ordinary, stream, group: None };
    let status = Command::new(&own.program)
        .args(&own.arguments)
        .arg(order.to_argument())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(Fault::at(Step::Fork))?;
    if status.success() { Ok(()) } else { Err(Fault::at(Step::Fork)(io::Error::from(Errno::CHILD))) }
}
