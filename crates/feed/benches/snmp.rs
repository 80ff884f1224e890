//! Cost of watching a thousand interfaces by SNMP, against a simulated agent: CPU time of the thread that reads, as a
//! share of a core at one read a second. It must stay below 5 %.
#![expect(clippy::print_stdout, reason = "a table is what it is for")]

use std::{fs, path::Path, time::Duration};

use feed::snmp::{AgentSettings, Credentials, Interface, LinkSettings, SnmpSettings, SnmpSource};
use secret::Secret;
use signal::{Readings, Source};
use simulated_agent::{COMMUNITY, SimulatedAgent};

#[expect(dead_code, reason = "the bench needs an honest agent only")]
#[path = "../tests/it/simulated_agent.rs"]
mod simulated_agent;

const STEP: Duration = Duration::from_secs(1);
const N_WARM: u32 = 3;

fn main() {
    // `cargo test` runs benches too, to see that they work.
    let (sizes, n_reads) =
        if std::env::args().any(|word| word == "--bench") { (&[10, 100, 1000][..], 60) } else { (&[10][..], 2) };
    println!("interfaces   CPU per read   of a core at 1 Hz   questions per read");
    for &n_interfaces in sizes {
        let (cpu, n_questions) = cost(n_interfaces, n_reads);
        let share = cpu.as_secs_f64() / STEP.as_secs_f64() * 100.0;
        println!("{n_interfaces:>10}   {:>9.3} ms   {share:>15.2} %   {n_questions:>18}", cpu.as_secs_f64() * 1e3);
    }
}

/// The CPU time and the questions of one read, the mean over `n_reads`.
fn cost(n_interfaces: u32, n_reads: u32) -> (Duration, u64) {
    let agent = SimulatedAgent::start();
    let mut settings = AgentSettings::new("switch", agent.address(), Credentials::Community(Secret::new(COMMUNITY)));
    settings.timeout = Duration::from_secs(5);
    let link = |index: u32| LinkSettings {
        name: format!("port{index}"),
        agent: "switch".to_owned(),
        interface: Interface::Named(format!("ge-0/0/{index}")),
        capacity_bytes_per_sec: None,
    };
    let links = (1..=n_interfaces).map(link).collect();
    let settings = SnmpSettings { agents: vec![settings], links, flows: vec![] };
    let mut source = SnmpSource::new(settings, Path::new("/")).expect("the settings are right");
    let mut readings = Readings::default();
    let mut read = |round: u32| {
        agent.set_uptime(round * 100);
        for index in 1..=n_interfaces {
            let count = u64::from(round) * 1_000;
            agent.set_interface(index, &format!("ge-0/0/{index}"), 1_000, count, count);
        }
        let before = cpu_time();
        source.read(STEP * round, &mut readings);
        let cpu = cpu_time() - before;
        assert_eq!(readings.len(), if round == 0 { 1 } else { 3 } * n_interfaces as usize, "{:?}", source.last_error());
        cpu
    };
    for round in 0..N_WARM {
        read(round);
    }
    let n_before = agent.n_questions();
    let total: Duration = (N_WARM..N_WARM + n_reads).map(&mut read).sum();
    (total / n_reads, (agent.n_questions() - n_before) / u64::from(n_reads))
}

/// Returns the CPU time that this thread has used.
fn cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel accounts for threads");
    let nanoseconds = text.split_whitespace().next().expect("it has three numbers");
    Duration::from_nanos(nanoseconds.parse().expect("they are numbers"))
}
