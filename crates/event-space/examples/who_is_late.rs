//! A monitor of one's own: who came last, of a job on this host, told each second.
//!
//! `cargo run -p event-space --example who_is_late -- JOB`
#![expect(clippy::print_stdout, reason = "a program that prints what it finds")]

use std::time::Duration;

use event_space::{Live, LoadBalance, Scope, Setting, Sites};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (job, setting) = (std::env::args().nth(1).ok_or("name a job")?, Setting::default());
    let live = Live::open(job.as_ref(), 0, setting.clock.clone())?;
    let sites = Sites::new(Some(live), 0, vec![], setting)?;
    let scope = Scope::last_arrivals(sites.tree(), sites.hosts(), 0, false);
    let mut monitor = LoadBalance::new(sites.scope(&scope)?.0);
    while sites.is_alive() {
        clock::sleep(Duration::from_secs(1));
        monitor.step();
        println!("{:?}, {} records lost", monitor.weights, monitor.tally.n_lost);
    }
    Ok(())
}
