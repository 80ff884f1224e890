//! The coordinator: has a policy decide, feeds workers, and keeps what is done.

mod feed;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use clock::Stopwatch;
use sched::{Action, Event, Plan, Policy, State, Worker};
use stream::Endpoint;
use units::Confidence;

use crate::connection::{Connection, ConnectionEvent, Order, Orders, To};
use crate::kept::{Given, Kept, Line};
use crate::protocol::Ended;
use crate::run::{Expected, Finished, N_TRIES_MAX, News, Part, RunError, Runner};
use feed::Feed;

/// Time after which idle workers are considered again.
const TICK: Duration = Duration::from_secs(1);

/// Does the rest of a run, and returns the results that are kept of it.
pub fn coordinate(
    runner: &Runner,
    kept: Kept,
    is_interrupted: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<(Finished, Kept), RunError> {
    let mut coordinator = Coordinator::begin(runner, kept, tell)?;
    let ended = coordinator.go(is_interrupted, tell);
    coordinator.feeds.iter().for_each(Feed::stop);
    ended?;
    Ok((coordinator.finished(), coordinator.kept))
}

struct Coordinator<'a> {
    runner: &'a Runner,
    kept: Kept,
    state: State,
    policy: Box<dyn Policy>,
    feeds: Vec<Feed>,
    heard: Receiver<(usize, ConnectionEvent)>,
    began: Stopwatch,
    plan: Option<Plan>,
    parts: Vec<Part>,
    n_tries: Vec<u32>,
    /// Cost of ended units, and the cost expected of them.
    spent: (f64, f64),
    n_moved: usize,
    n_twins: usize,
    /// The probabilities with which units were forecast to take no longer than they did.
    levels: Vec<f64>,
}

impl<'a> Coordinator<'a> {
    fn begin(runner: &'a Runner, kept: Kept, tell: &mut dyn FnMut(News<'_>)) -> Result<Self, RunError> {
        // A run that is taken up has another name: workers may still be about to forget the one before.
        let run = format!("{}-{}", kept.run(), clock::now().as_nanos());
        let command = runner.job.command.clone().ok_or(RunError::NoCommand)?;
        let (sender, heard) = mpsc::channel();
        let (mut workers, mut feeds) = (Vec::new(), Vec::new());
        let mut n_connections = 0;
        for (name, group) in runner.job.each_worker() {
            let text = group.endpoint.as_ref().ok_or_else(|| RunError::NoEndpoint(name.clone()))?;
            let endpoint: Endpoint =
                text.parse().map_err(|source| RunError::Endpoint { worker: name.clone(), source })?;
            let mut connection = Connection::new(To {
                endpoint,
                security: runner.security.clone(),
                run: run.clone(),
                command: command.name.clone(),
                lost_after: runner.lost_after,
            });
            let greeted = connection.hello().and_then(|hello| {
                runner.inputs.iter().try_for_each(|input| connection.bring(input))?;
                Ok((hello, connection.curve()?))
            });
            let (hello, curve) = match greeted {
                Ok(greeted) => greeted,
                Err(error) => {
                    tell(News::Lost { worker: &name, why: &text::with_causes(&error) });
                    continue;
                }
            };
            tell(News::Joined { worker: &name, host: &hello.host, n_slots: hello.n_slots });
            let curve = std::sync::Arc::new(curve.unwrap_or_else(|| sched::Curve::constant(1.0)));
            let orders = serve(connection, n_connections, sender.clone());
            n_connections += 1;
            for slot in 0..hello.n_slots {
                let name = if hello.n_slots == 1 { name.clone() } else { format!("{name}/{slot}") };
                workers.push(Worker {
                    name,
                    speed: group.speed,
                    start_seconds: group.start.as_secs_f64(),
                    unit_seconds: group.per_unit.as_secs_f64(),
                    curve: curve.clone(),
                });
                feeds.push(Feed::new(orders.clone(), n_connections - 1, slot, command.args.clone()));
            }
        }
        if workers.is_empty() {
            return Err(RunError::NoWorker);
        }
        let parts = workers.iter().map(|worker| Part { worker: worker.name.clone(), ..Part::default() }).collect();
        let mut state = State::new(runner.work.clone(), workers);
        for unit in (0..state.work.n_units()).filter(|unit| kept.is_done(*unit)) {
            state.take(&(unit..unit + 1));
        }
        Ok(Self {
            runner,
            n_tries: vec![0; state.work.n_units()],
            kept,
            state,
            policy: runner.policy.policy(),
            feeds,
            heard,
            began: Stopwatch::start(),
            plan: None,
            parts,
            spent: (0.0, 0.0),
            n_moved: 0,
            n_twins: 0,
            levels: Vec::new(),
        })
    }

    fn go(&mut self, is_interrupted: &dyn Fn() -> bool, tell: &mut dyn FnMut(News<'_>)) -> Result<(), RunError> {
        let first = if self.kept.n_done() == 0 { Event::Begin } else { Event::Tick };
        let actions = self.policy.decide(&self.state, first);
        let plan = Plan::of(&self.state, &actions, self.policy.as_ref(), self.runner.confidence);
        tell(News::Planned { plan: &plan, workers: &self.state.workers });
        self.kept.note(&self.planned(&plan))?;
        self.plan = Some(plan);
        self.apply(actions, tell)?;
        let mut ticked = Stopwatch::start();
        while self.kept.n_done() < self.state.work.n_units() {
            match self.heard.recv_timeout(TICK) {
                Ok((connection, heard)) => self.hear(connection, heard, tell)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(RunError::NoWorker),
            }
            if is_interrupted() {
                return Err(RunError::Interrupted);
            }
            if ticked.elapsed() >= TICK {
                ticked = Stopwatch::start();
                let (n_done, n_units) = (self.kept.n_done(), self.state.work.n_units());
                self.state.now = self.began.elapsed().as_secs_f64();
                let expected = self.expected();
                tell(News::Progress { n_done, n_units, seconds: self.state.now, expected: &expected });
                if self.state.idle().next().is_some() {
                    self.ask(Event::Tick, tell)?;
                }
            }
        }
        Ok(())
    }

    fn hear(
        &mut self,
        connection: usize,
        heard: ConnectionEvent,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<(), RunError> {
        let of_it: Vec<usize> =
            (0..self.feeds.len()).filter(|worker| self.feeds[*worker].connection == connection).collect();
        match heard {
            ConnectionEvent::Progress { slots, curve } => {
                let now = self.began.elapsed().as_secs_f64();
                let curve = curve.map(std::sync::Arc::new);
                for worker in of_it {
                    if let Some(curve) = &curve {
                        self.state.workers[worker].curve = curve.clone();
                    }
                    let working = slots.get(self.feeds[worker].slot).copied().flatten();
                    let working = working.filter(|working| self.feeds[worker].has(working.unit));
                    if let (Some(chunk), Some(working)) = (&mut self.state.chunks[worker], working) {
                        (chunk.unit, chunk.unit_began) = (working.unit, now - working.seconds);
                    }
                }
                Ok(())
            }
            ConnectionEvent::Ended { ended, output } => {
                let Some(worker) = of_it.into_iter().find(|worker| self.feeds[*worker].slot == ended.slot) else {
                    return Ok(());
                };
                self.end_unit(worker, &ended, &output, tell)
            }
            ConnectionEvent::Lost { why } => {
                for worker in of_it {
                    let name = self.state.workers[worker].name.clone();
                    tell(News::Lost { worker: &name, why: &why });
                    self.note_failure(worker, &why)?;
                    self.lose(worker);
                }
                if self.state.alive().next().is_none() {
                    return Err(RunError::NoWorker);
                }
                self.ask(Event::Tick, tell)
            }
        }
    }

    fn end_unit(
        &mut self,
        worker: usize,
        ended: &Ended,
        output: &[u8],
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<(), RunError> {
        let (unit, name) = (ended.unit, self.state.workers[worker].name.clone());
        let Some(curve) = self.feeds[worker].take_back(unit) else { return Ok(()) };
        match &ended.failure {
            None if self.kept.is_done(unit) => {}
            None => {
                let Ended { seconds, cpu_seconds, .. } = *ended;
                let t = self.began.elapsed().as_secs_f64();
                let level = self.state.unit_within(worker, &curve, unit, seconds);
                self.kept.keep(unit, output, &Line::Done { t, unit, worker: name, seconds, cpu_seconds, level })?;
                self.levels.extend(level);
                let part = &mut self.parts[worker];
                (part.n_units, part.seconds, part.cpu_seconds) =
                    (part.n_units + 1, part.seconds + seconds, part.cpu_seconds + cpu_seconds);
                let (cost, expected) =
                    (cpu_seconds * self.state.workers[worker].speed, self.state.work.cost(&(unit..unit + 1)));
                self.spent = (self.spent.0 + cost, self.spent.1 + expected);
                self.state.cost_spread.add(cost, expected);
                // A unit that hardly computes says nothing of what others cost.
                self.state.cost_ratio = if self.spent.0 > 0.0 { self.spent.0 / self.spent.1 } else { 1.0 };
                self.drop_elsewhere(unit, tell)?;
            }
            Some(why) => {
                self.note_failure(worker, why)?;
                self.n_tries[unit] += 1;
                if self.n_tries[unit] == N_TRIES_MAX {
                    return Err(RunError::Unit { unit, worker: name, why: why.clone() });
                }
                tell(News::Failed { unit, worker: &name, why });
                self.put_back(unit);
            }
        }
        self.go_on(worker, tell)
    }

    /// Drops a unit that is done from all others that have it as well; they go on with their next.
    fn drop_elsewhere(&mut self, unit: usize, tell: &mut dyn FnMut(News<'_>)) -> Result<(), RunError> {
        for worker in 0..self.feeds.len() {
            if self.feeds[worker].has(unit) {
                self.feeds[worker].drop(unit);
                self.go_on(worker, tell)?;
            }
        }
        Ok(())
    }

    /// Sends a worker its next units after it has lost one, or asks the policy if it has none.
    fn go_on(&mut self, worker: usize, tell: &mut dyn FnMut(News<'_>)) -> Result<(), RunError> {
        self.feed(worker);
        if self.state.chunks[worker].is_none() {
            self.ask(Event::Idle(worker), tell)?;
        }
        Ok(())
    }

    /// Gives a worker's units to the others.
    fn lose(&mut self, worker: usize) {
        self.state.lost[worker] = true;
        if let Some(chunk) = self.state.chunks[worker].take() {
            self.state.put(chunk.waiting);
        }
        for unit in self.feeds[worker].take_all() {
            self.put_back(unit);
        }
    }

    /// Puts back a unit that still has to be done, unless another worker does it already.
    fn put_back(&mut self, unit: usize) {
        let is_elsewhere = self.feeds.iter().any(|feed| feed.has(unit));
        if !self.kept.is_done(unit) && !is_elsewhere {
            self.state.put(unit..unit + 1);
        }
    }

    fn ask(&mut self, event: Event, tell: &mut dyn FnMut(News<'_>)) -> Result<(), RunError> {
        self.state.now = self.began.elapsed().as_secs_f64();
        let actions = self.policy.decide(&self.state, event);
        self.apply(actions, tell)
    }

    fn apply(&mut self, actions: Vec<Action>, tell: &mut dyn FnMut(News<'_>)) -> Result<(), RunError> {
        // Who takes what another gives up stands behind that.
        let takers: Vec<Option<usize>> = (1..=actions.len())
            .map(|at| if let Some(Action::Run { worker, .. }) = actions.get(at) { Some(*worker) } else { None })
            .collect();
        for (action, taker) in actions.into_iter().zip(takers) {
            let mut reason = None;
            let (what, worker, units) = match action {
                Action::Run { worker, units } => {
                    self.state.take(&units);
                    self.feeds[worker].begin(&mut self.state.chunks[worker], units.clone(), self.state.now);
                    ("run", worker, units)
                }
                Action::GiveUp { worker, from } => {
                    let why = self.why_give_up(worker, taker);
                    let Some(chunk) = &mut self.state.chunks[worker] else { continue };
                    let units = from..std::mem::replace(&mut chunk.waiting.end, from);
                    self.n_moved += units.len();
                    tell(News::Decided {
                        what: "give up",
                        worker: &self.state.workers[worker].name,
                        n_units: units.len(),
                        why: &why,
                    });
                    reason = Some(why);
                    self.state.put(units.clone());
                    ("give_up", worker, units)
                }
                Action::Twin { worker, unit } => {
                    self.n_twins += 1;
                    let name = &self.state.workers[worker].name;
                    let why = "it is idle, and forecast to be done earlier than who runs it";
                    tell(News::Decided { what: "run twice", worker: name, n_units: 1, why });
                    reason = Some(why.to_owned());
                    self.feeds[worker].begin(&mut self.state.chunks[worker], unit..unit + 1, self.state.now);
                    ("twin", worker, unit..unit + 1)
                }
                _ => continue,
            };
            let name = self.state.workers[worker].name.clone();
            let t = self.began.elapsed().as_secs_f64();
            let (what, from, to) = (what.to_owned(), units.start, units.end);
            let line = Line::Decided { t, what, worker: name, from, to, why: reason };
            self.kept.note(&line)?;
            self.feed(worker);
        }
        Ok(())
    }

    fn feed(&mut self, worker: usize) {
        let cost = self.state.cost_ratio * self.state.mean_cost() / self.state.workers[worker].speed;
        let curve = &self.state.workers[worker].curve;
        let unit_seconds = curve.time_for(cost, 0.5);
        self.feeds[worker].send(&mut self.state.chunks[worker], unit_seconds, curve, &self.runner.stdin);
    }

    /// Returns the forecast times when each worker has done its units.
    fn expected(&self) -> Vec<Expected> {
        let outside = 0.5 * (1.0 - self.runner.confidence.probability());
        let of = |worker: usize| {
            let left = |p: f64| self.state.left(worker, p).unwrap_or(0.0);
            let chunk = self.state.chunks[worker].as_ref();
            Expected {
                worker: self.state.workers[worker].name.clone(),
                n_left: chunk.map_or(0, |chunk| 1 + chunk.waiting.len()),
                lower: left(outside),
                median: left(0.5),
                upper: left(1.0 - outside),
            }
        };
        self.state.alive().map(of).collect()
    }

    /// Returns the reason why a worker gives units up: the forecast of it before.
    fn why_give_up(&self, worker: usize, taker: Option<usize>) -> String {
        let seconds = self.state.left(worker, 0.5).unwrap_or(0.0);
        let taker = taker.map_or("others", |taker| &self.state.workers[taker].name);
        format!("it is forecast to need {seconds:.1} s more, and {taker} to be done earlier")
    }

    fn note_failure(&mut self, worker: usize, why: &str) -> Result<(), RunError> {
        let t = self.began.elapsed().as_secs_f64();
        let line = Line::Failed { t, worker: self.state.workers[worker].name.clone(), why: why.to_owned() };
        Ok(self.kept.note(&line)?)
    }

    fn planned(&self, plan: &Plan) -> Line {
        let given = |share: &sched::Share| Given {
            worker: self.state.workers[share.worker].name.clone(),
            n_units: share.n_units,
            seconds: share.seconds,
            reason: share.reason.clone(),
        };
        Line::Planned {
            policy: self.runner.policy.to_string(),
            n_done: self.kept.n_done(),
            makespan: plan.makespan,
            lower: plan.interval.lower,
            upper: plan.interval.upper,
            confidence: self.runner.confidence.probability(),
            shares: plan.shares.iter().map(given).collect(),
        }
    }

    fn finished(&self) -> Finished {
        let pace = |part: &Part| if part.seconds > 0.0 { part.n_units as f64 / part.seconds } else { 0.0 };
        let n_units: usize = self.parts.iter().map(|part| part.n_units).sum();
        Finished {
            seconds: self.began.elapsed().as_secs_f64(),
            plan: self.plan.clone(),
            parts: self.parts.clone(),
            hindsight: n_units as f64 / self.parts.iter().map(pace).sum::<f64>(),
            n_moved: self.n_moved,
            n_twins: self.n_twins,
            units_held: held(&self.levels, self.runner.confidence),
        }
    }
}

/// Returns the share of levels that lie in a central interval; `None` if there are none.
pub fn held(levels: &[f64], confidence: Confidence) -> Option<f64> {
    let outside = 0.5 * (1.0 - confidence.probability());
    let n_held = levels.iter().filter(|level| (outside..=1.0 - outside).contains(*level)).count();
    (!levels.is_empty()).then(|| n_held as f64 / levels.len() as f64)
}

/// Starts a connection's thread.
fn serve(connection: Connection, number: usize, sender: mpsc::Sender<(usize, ConnectionEvent)>) -> Orders {
    let (orders, taken) = mpsc::channel::<Order>();
    let name = format!("worker-{number}");
    let serve = move || connection.serve(&taken, &|heard| sender.send((number, heard)).is_ok());
    // Without a thread its orders go nowhere, and the coordinator hears that it is gone.
    let _ = std::thread::Builder::new().name(name).spawn(serve);
    orders
}
