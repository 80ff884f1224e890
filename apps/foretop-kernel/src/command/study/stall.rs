//! A ring of threads that hand a message around, one of which is late once.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use kernel::Traced;
use kernel_study::machine::{Stall, stall};
use kernel_study::{Answer, Exchange, Message, Span};
use program::Failure;

use super::Bench;
use super::eye::Eye;
use crate::command::failed;

const N_NODES: usize = 4;
const N_ROUNDS: usize = 50;
const STALLED_ROUND: usize = 31;
/// Longer than neighbours keep a thread from its processor.
const STALL: Stall = Stall { node: 2, span_ns: 200_000_000 };
const MESSAGE_BYTES: usize = 64;

pub fn answer(_: &Bench) -> Result<Vec<Answer>, Failure> {
    let ipc = kernel::find("ipc").map_err(failed)?;
    let mut eye = Eye::open()?;
    eye.turn(&[ipc], &[(ipc, "Send"), (ipc, "Receive")])?;
    let seen = eye.watch(Duration::from_secs(1), ring)?;
    let threads = seen.done.map_err(Failure::of)?;
    let spans = |node: usize, point: &str| -> Vec<Span> {
        let is_so = |event: &&Traced| event.thread == threads[node] && ipc.points[event.point].name == point;
        let span = |event: &Traced| Span { start_ns: event.begin_ns, end_ns: event.end_ns };
        let mut spans: Vec<Span> = seen.traced.iter().filter(is_so).map(span).collect();
        spans.sort_unstable();
        spans
    };
    let sent: Vec<_> = (0..N_NODES).map(|node| spans(node, "Send")).collect();
    let received: Vec<_> = (0..N_NODES).map(|node| spans(node, "Receive")).collect();
    if let Some(short) = sent.iter().chain(&received).find(|spans| spans.len() != N_ROUNDS) {
        return Err(Failure::work(format!("{} messages of a node were seen, and not {N_ROUNDS}", short.len())));
    }
    // A node has one before and one after it, so that the n-th it sends is the n-th that the next one gets.
    let message = |round: usize, from: usize| {
        let to = (from + 1) % N_NODES;
        Message {
            from: from as u64,
            to: to as u64,
            sent: sent[from][round],
            device: None,
            received: received[to][round],
        }
    };
    let round = |round| Exchange::new((0..N_NODES).map(|from| message(round, from)).collect());
    let rounds: Vec<Exchange> = (0..N_ROUNDS).map(round).collect();
    let conditions = format!(
        "{N_NODES} threads of this process hand {MESSAGE_BYTES} bytes around through sockets, {N_ROUNDS} times; before round {STALLED_ROUND} comes to node {}, it sleeps. \
         All sends and receives are traced in the kernel",
        STALL.node
    );
    Ok(vec![stall(&rounds, STALL, conditions)])
}

/// Runs it. Gives the kernel's numbers of the threads, in the order of the ring.
fn ring() -> io::Result<Vec<u32>> {
    let links = (0..N_NODES).map(|_| UnixStream::pair()).collect::<io::Result<Vec<_>>>()?;
    let (ins, outs): (Vec<_>, Vec<_>) = links.into_iter().unzip();
    thread::scope(|scope| {
        let node = |number: usize| {
            let (mut before, mut after) = (&ins[number], &outs[(number + 1) % N_NODES]);
            scope.spawn(move || -> io::Result<u32> {
                let mut bytes = [0; MESSAGE_BYTES];
                for round in 0..N_ROUNDS {
                    if number == 0 {
                        after.write_all(&bytes)?;
                    }
                    if number as u64 == STALL.node && round == STALLED_ROUND {
                        clock::sleep(Duration::from_nanos(STALL.span_ns));
                    }
                    before.read_exact(&mut bytes)?;
                    if number > 0 {
                        after.write_all(&bytes)?;
                    }
                }
                Ok(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned())
            })
        };
        let nodes: Vec<_> = (0..N_NODES).map(node).collect();
        nodes
            .into_iter()
            .map(|node| node.join().unwrap_or_else(|_| Err(io::Error::other("a node broke off"))))
            .collect()
    })
}
