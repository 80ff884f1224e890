//! Small worlds that write down what happens in them.

use des::{Arrival, Process, ProcessIdx, Sources, Turn, Wants};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use units::SimDuration;

/// PHOLD (Fujimoto 1990): who gets a message sends one on to anybody, after the lookahead and a drawn time.
pub struct Phold {
    pub n: ProcessIdx,
    pub lookahead_ns: u64,
    pub spread_ns: u64,
    pub n_at_first: usize,
    pub draws: ChaCha8Rng,
    /// Whether it sometimes waits for the next message of one process, drawn, which may never come.
    pub is_choosy: bool,
    pub wants: Wants,
    pub log: Vec<(u64, ProcessIdx, u64)>,
}

pub fn phold(n: ProcessIdx, lookahead_ns: u64, seed: u64) -> Vec<Phold> {
    let draws = |idx| ChaCha8Rng::seed_from_u64(seed ^ u64::from(idx) << 32);
    (0..n)
        .map(|idx| Phold {
            n,
            lookahead_ns,
            spread_ns: 300,
            n_at_first: 2,
            draws: draws(idx),
            is_choosy: false,
            wants: Wants::Any,
            log: Vec::new(),
        })
        .collect()
}

impl Phold {
    fn pass_on(&mut self, turn: &mut Turn<'_, u64>) {
        let to = self.draws.random_range(0..self.n);
        let after = self.lookahead_ns + self.draws.random_range(0..=self.spread_ns);
        turn.send(to, SimDuration::from_nanos(after), self.draws.random());
    }
}

impl Process for Phold {
    type Message = u64;

    fn start(&mut self, turn: &mut Turn<'_, u64>) {
        (0..self.n_at_first).for_each(|_| self.pass_on(turn));
    }

    fn take(&mut self, arrival: Arrival<u64>, turn: &mut Turn<'_, u64>) {
        self.log.push((arrival.at.as_nanos(), arrival.source, arrival.message));
        self.pass_on(turn);
        self.wants = match self.draws.random_range(0..4) {
            0 if self.is_choosy => Wants::Next(self.draws.random_range(0..self.n)),
            _ => Wants::Any,
        };
    }

    fn wants(&self) -> Wants {
        self.wants
    }

    fn lookahead(&self) -> SimDuration {
        SimDuration::from_nanos(self.lookahead_ns)
    }
}

/// A ring whose members compute, tell their right neighbour and wait for their left one by name.
pub struct Ring {
    pub idx: ProcessIdx,
    pub n: ProcessIdx,
    pub n_left: u32,
    pub work_ns: u64,
    pub latency_ns: u64,
    /// Whether it says whose message it waits for, or takes any.
    pub names: bool,
    pub left: [ProcessIdx; 1],
    pub log: Vec<u64>,
}

pub fn ring(n: ProcessIdx, n_rounds: u32, names: bool) -> Vec<Ring> {
    (0..n)
        .map(|idx| Ring {
            idx,
            n,
            n_left: n_rounds,
            work_ns: 1_000 + u64::from(idx) * 37,
            latency_ns: 100,
            names,
            left: [(idx + n - 1) % n],
            log: Vec::new(),
        })
        .collect()
}

impl Ring {
    fn go_on(&mut self, turn: &mut Turn<'_, ()>) {
        turn.compute(SimDuration::from_nanos(self.work_ns));
        turn.send((self.idx + 1) % self.n, SimDuration::from_nanos(self.latency_ns), ());
    }
}

impl Process for Ring {
    type Message = ();

    fn start(&mut self, turn: &mut Turn<'_, ()>) {
        self.go_on(turn);
    }

    fn take(&mut self, _: Arrival<()>, turn: &mut Turn<'_, ()>) {
        self.log.push(turn.now().as_nanos());
        self.n_left -= 1;
        if self.n_left > 0 {
            self.go_on(turn);
        }
    }

    fn wants(&self) -> Wants {
        match (self.n_left, self.names) {
            (0, _) => Wants::Nothing,
            (_, true) => Wants::Next(self.left[0]),
            (_, false) => Wants::Any,
        }
    }

    fn sources(&self) -> Sources<'_> {
        if self.names { Sources::These(&self.left) } else { Sources::All }
    }

    fn lookahead(&self) -> SimDuration {
        // What it does next begins with work.
        SimDuration::from_nanos(self.latency_ns + self.work_ns)
    }
}
