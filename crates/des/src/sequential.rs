//! One thread, which always lets that process go on that can do so first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::SimTime;

use crate::cell::Cell;
use crate::process::{Process, ProcessIdx};
use crate::run::Counts;

/// Those that can go on, the first of them on top. An entry whose time is not its process's any more is passed over.
type Agenda = BinaryHeap<Reverse<(SimTime, ProcessIdx)>>;

pub(crate) fn run<P: Process>(mut cells: Vec<Cell<P>>, until: SimTime) -> (Vec<Cell<P>>, Counts) {
    let (mut counts, mut out, mut agenda) = (Counts::default(), Vec::new(), Agenda::new());
    for cell in &mut cells {
        note(&mut agenda, cell);
    }
    while let Some(Reverse((at, idx))) = agenda.pop().filter(|Reverse((at, _))| *at < until) {
        let cell = &mut cells[idx as usize];
        if cell.goes_on() != Some(at) {
            continue;
        }
        let began = cell.clock;
        cell.take(&mut out);
        counts.n_taken += 1;
        counts.stretch(began, cell.clock);
        note(&mut agenda, cell);
        for sent in out.drain(..) {
            let receiver = &mut cells[sent.to as usize];
            let before = receiver.goes_on();
            receiver.put(sent);
            // What comes behind the next message changes nothing: the process is on the agenda with that one.
            if receiver.goes_on() != before {
                note(&mut agenda, receiver);
            }
        }
    }
    (cells, counts)
}

fn note<P: Process>(agenda: &mut Agenda, cell: &mut Cell<P>) {
    if let Some(at) = cell.goes_on() {
        agenda.push(Reverse((at, cell.idx)));
    }
}
