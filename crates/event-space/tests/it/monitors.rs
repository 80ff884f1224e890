//! What monitors find, what they lose, and that both kinds of load balance agree.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clock::System;
use event_space::{
    Buffer, Gate, Gather, Hop, LastOfHost, LoadBalance, MpiTime, Need, Pull, PullExt, Quantity, StageStatistics,
    Strategy, Tally, Tuple, Weights, Worker, load_balance_host, merge_counts,
};
use mpi_analysis::HostClock;
use mpi_trace::{Event, Operation, Peer, Subject};
use watch::Watch;

use crate::space::Job;

/// On each host that has a node: read, keep arrivals, and of each call at each node the last.
fn host_scopes(job: &Job) -> Vec<(u16, Box<dyn Pull<Tuple>>)> {
    let need = Need::of_arrivals(&job.tree, &job.hosts);
    let scope = |(&host, collectors): (&usize, &std::collections::BTreeSet<u16>)| {
        let collectors = collectors.clone();
        let mut last = LastOfHost::new(&job.tree, &job.hosts);
        let arrivals = job.read(host).filter(move |tuple: &Tuple| match tuple.event.subject {
            Subject::Stage { collector, .. } => collectors.contains(&collector),
            Subject::Call { .. } | Subject::Part { .. } => false,
        });
        let reduced = arrivals.through(move |tuple, into: &mut Vec<Tuple>| last.take(tuple, into));
        (host as u16, Box::new(reduced) as Box<dyn Pull<Tuple>>)
    };
    need.collectors.iter().map(scope).collect()
}

fn central(job: &Job, n_helpers: usize) -> LoadBalance<Gather<Tuple>> {
    let sources = host_scopes(job).into_iter().map(|(_, scope)| scope).collect();
    LoadBalance::new(Gather::new(sources, n_helpers).unwrap())
}

#[test]
fn the_late_rank_is_counted_whatever_the_number_of_helpers() {
    let job = Job::new(9, 1 << 12);
    let mut monitors: Vec<_> = [0, 1, 3, 20].map(|n_helpers| central(&job, n_helpers)).into();
    for sequence in 0..60 {
        job.call(sequence, if sequence % 3 == 0 { 4 } else { 11 });
        if sequence % 7 == 0 {
            for monitor in &mut monitors {
                monitor.step();
            }
        }
    }
    for monitor in &mut monitors {
        monitor.step();
        // Rank 5 is later than rank 4 by as much as ranks are apart, but for calls in which 4 is late.
        assert_eq!((monitor.weights[&job.entry(4)], monitor.weights[&job.entry(5)]), (20, 40));
        assert_eq!(monitor.weights[&job.entry(11)], 60, "it is later than rank 10 anyway");
        // Of each call at each node one.
        assert_eq!(monitor.weights.values().sum::<u64>(), 60 * job.tree.nodes.len() as u64);
        assert_eq!(monitor.tally.n_lost, 0);
    }
}

#[test]
fn counts_of_hosts_add_up_to_the_central_ones() {
    let job = Job::new(9, 1 << 12);
    let mut central = central(&job, 2);
    let need = Need::of_arrivals(&job.tree, &job.hosts);
    let buffers: Vec<_> = (0..9).map(|_| Arc::new(Buffer::new(16))).collect();
    let hosts = host_scopes(&job).into_iter();
    let mut steps: Vec<_> = hosts
        .map(|(host, scope)| {
            let collectors = need.collectors[&usize::from(host)].clone();
            load_balance_host(host, collectors, scope, Arc::clone(&buffers[usize::from(host)]))
        })
        .collect();

    for sequence in 0..40 {
        job.call(sequence, sequence % 18);
        for step in &mut steps {
            assert!(step().n_read > 0);
        }
    }
    central.step();
    let gather = |of: &dyn Fn(&Arc<Buffer<_>>) -> Box<dyn Pull<_>>| -> (Weights, Tally) {
        let (mut results, mut gather) = (Vec::new(), Gather::new(buffers.iter().map(of).collect(), 3).unwrap());
        let tally = gather.pull(&mut results);
        (merge_counts(&need, results), tally)
    };
    let (newest, all) = (gather(&|buffer| Box::new(buffer.newest())), gather(&|buffer| Box::new(buffer.reader())));
    assert_eq!((&newest.0, &all.0), (&central.weights, &central.weights));
    // Each host wrote 40 results and has room for 16.
    let counted = |tally: Tally| [tally.n_read, tally.n_lost, tally.n_missed];
    assert_eq!([counted(newest.1), counted(all.1)], [[9, 0, 9 * 39], [9 * 16, 9 * 24, 0]]);
}

#[test]
fn what_is_overwritten_is_counted_and_the_rest_goes_on() {
    let job = Job::new(2, 64);
    let mut monitor = central(&job, 0);
    (0..200).for_each(|sequence| job.call(sequence, 3));
    monitor.step();
    let n_written: u64 = job.rings.iter().map(|ring| ring.ring().n_written()).sum();
    assert_eq!(monitor.tally.n_read + monitor.tally.n_lost, n_written);
    assert!(monitor.tally.n_lost > 0 && monitor.weights[&job.entry(3)] > 0, "{:?}", monitor.tally);
}

#[test]
fn hops_are_the_same_at_either_end_and_stages_as_they_were_made() {
    let job = Job::new(9, 1 << 12);
    (0..10).for_each(|sequence| job.call(sequence, 7));
    let mut hops: Vec<BTreeMap<(usize, usize), f32>> = Vec::new();
    for end in [Hop::Source, Hop::Destination] {
        let mut found = BTreeMap::new();
        for host in 0..9 {
            let mut statistics = StageStatistics::new(&job.tree, &job.hosts, host, end, vec![HostClock::alone(); 9]);
            let needed: Vec<u16> = statistics.collectors().collect();
            for from in 0..9 {
                let mut taken = Vec::new();
                job.read(from).filter(|tuple: &Tuple| matches!(tuple.event.subject, Subject::Stage { collector, .. } if needed.contains(&collector))).pull(&mut taken);
                taken.iter().for_each(|tuple| statistics.take(tuple));
            }
            let latencies = statistics.latencies();
            let of = |quantity| latencies.iter().filter(move |figures| figures.of == quantity);
            found
                .extend(of(Quantity::Hop).map(|hop| ((usize::from(hop.node), usize::from(hop.position)), hop.mean_ns)));
            let own = (0..job.tree.nodes.len()).filter(|&node| job.tree.nodes[node].host == host);
            assert_eq!(of(Quantity::Down).count(), own.clone().count());
            assert!(of(Quantity::Down).all(|down| (down.n_calls, down.mean_ns) == (10, 10.0)), "{latencies:?}");
            // Arrival and departure waits.
            let n_contributors: usize = own.map(|node| job.tree.nodes[node].contributors.len()).sum();
            assert_eq!(statistics.contributors().len(), 2 * n_contributors);
        }
        hops.push(found);
    }
    assert_eq!(hops[0], hops[1]);
    assert!(!hops[0].is_empty() && hops[0].values().all(|ns| *ns == 2_000.0), "{hops:?}");
}

#[test]
fn time_in_collectives_is_by_rank() {
    let event = |start, end, operation| Event {
        start,
        end,
        bytes: 8,
        operation,
        is_failed: false,
        subject: Subject::Call { communicator: 0, peer: Peer::None, tag: None },
    };
    let mut time = MpiTime::default();
    for (rank, end) in [(0, 30), (1, 10), (0, 5)] {
        time.take(&Tuple { host: 0, rank, event: event(0, end, Operation::BARRIER) });
        time.take(&Tuple { host: 0, rank, event: event(0, end, Operation::SEND) });
    }
    assert_eq!(time.spent, BTreeMap::from([((0, Operation::BARRIER), (2, 35)), ((1, Operation::BARRIER), (1, 10))]));
}

/// Opens when a test says so.
struct ByHand(std::sync::mpsc::Receiver<()>);

impl Gate for ByHand {
    fn wait(&self, strategy: Strategy, limit: Duration) {
        assert_eq!(strategy, Strategy::Released);
        let _either_way = self.0.recv_timeout(limit * 100);
    }
}

#[test]
fn a_worker_steps_when_its_gate_opens_and_reports() {
    let job = Job::new(2, 1 << 10);
    let (open, gate) = std::sync::mpsc::channel();
    let (done, step_done) = std::sync::mpsc::channel();
    let mut monitor = central(&job, 0);
    let watch = Watch::new(Arc::new(System::start()));
    let step = move || {
        let before = monitor.tally;
        monitor.step();
        done.send(monitor.weights.clone()).unwrap();
        Tally { n_read: monitor.tally.n_read - before.n_read, ..Tally::default() }
    };
    let worker = Worker::start(&watch, "balance", Some(Box::new(ByHand(gate))), Strategy::Released, step).unwrap();
    job.call(0, 3);
    assert!(step_done.try_recv().is_err(), "it did not wait for its gate");
    open.send(()).unwrap();
    let weights = step_done.recv().unwrap();
    assert_eq!(weights[&job.entry(3)], 1);
    job.call(1, 3);
    open.send(()).unwrap();
    assert_eq!(step_done.recv().unwrap()[&job.entry(3)], 2);
    // The report of a step is there when the next one waits, so that a third tells of two.
    open.send(()).unwrap();
    step_done.recv().unwrap();
    let report = worker.report();
    assert!(report.n_steps >= 2 && report.gathered() == 1.0 && report.cpu > Duration::ZERO, "{report:?}");
    drop(open);
}
