//! An engine's answers to requests.

use crate::control::{
    Answer, Numbered, Paid, PointFigures, PointState, Status, SubsystemStatus, Summarized, TracedPoint,
};
use crate::watch::Key;
use crate::{Measure, Pulled};

use super::Engine;

impl Engine {
    /// Returns the status; the lease's holder and the cost of the agent itself are for the agent to add.
    #[must_use]
    pub fn status(&self) -> Status {
        let subsystems = self.wanted.iter().map(|(key, wanted)| {
            let pulled = self.latest.iter().find(|pulled| pulled.key == *key && self.watch.has(*key));
            let states = wanted.subsystem.points.iter().zip(&wanted.states);
            SubsystemStatus {
                node: key.node,
                name: key.name.into(),
                is_on: self.is_on && wanted.is_on,
                source: self.watch.source(*key).unwrap_or_default().into(),
                weight: pulled.map_or(Some(1), weight),
                cost_cores: pulled.map_or(0.0, |pulled| pulled.cost.cores()),
                factor: self.watch.ran(*key).map(|(factor, _)| factor),
                points: states.map(|(point, state)| (point.name.into(), *state)).collect(),
                probes: pulled.map(|pulled| self.paid(pulled)).unwrap_or_default(),
                missing: self.watch.missing(*key),
            }
        });
        Status {
            is_on: self.is_on,
            interval_ms: self.interval_ms,
            budget_cores: self.budget_cores,
            cost_cores: self.latest.iter().map(|pulled| pulled.cost.cores()).sum(),
            own_cores: 0.0,
            groups: self.groups.as_slice().to_vec(),
            holder: None,
            queue: Vec::new(),
            nodes: self
                .nodes
                .iter()
                .map(|(number, node)| Numbered { number: *number, node: node.to_string() })
                .collect(),
            subsystems: subsystems.collect(),
        }
    }

    /// Returns the cost of each program in the last interval, and that of counting what they found.
    fn paid(&self, pulled: &Pulled) -> Vec<Paid> {
        let Some(price) = self.watch.price(pulled.key) else { return Vec::new() };
        let Pulled { summary, .. } = pulled;
        let seconds = summary.span_ns().max(1) as f64 / 1e9;
        let ran = self.watch.ran(pulled.key);
        let longer = ran.map_or(0.0, |(factor, _)| factor - 1.0);
        let paid = |what: &str, price_ns: f64, seen_ns: f64, run_ns: Option<f64>, n: u64| {
            let per_sec = n as f64 / seconds;
            let cost_cores = (price_ns + longer * seen_ns).max(0.0) * per_sec / 1e9;
            Paid { what: what.into(), price_ns, run_ns, per_sec, cost_cores }
        };
        let crate::Price { paid: price, seen } = price;
        let programs = summary.subsystem.programs.iter().zip(&price.pass_ns).zip(&summary.hits).enumerate();
        let passing = programs.map(|(number, ((program, price_ns), hits))| {
            let run_ns = ran.and_then(|(_, ran)| ran.mean_ns(number));
            paid(program.label(), *price_ns, seen.pass_ns.get(number).copied().unwrap_or(0.0), run_ns, *hits)
        });
        let counting = (!price.pass_ns.is_empty())
            .then(|| paid("counting", price.event_ns, seen.event_ns, None, summary.n_sampled));
        passing.chain(counting).collect()
    }

    /// Returns the latest summaries, for a request.
    #[must_use]
    pub fn summaries(&self) -> Answer {
        Answer::Summaries { summaries: self.latest.iter().map(summarized).collect() }
    }

    /// Returns the latest events of traced points, for a request.
    #[must_use]
    pub fn traces(&self) -> Answer {
        let traces = self.recent.points().filter_map(|((node, name, point), latest)| {
            let key = Key { node, name };
            let wanted = self.wanted.get(&key)?;
            let subsystem = wanted.subsystem;
            let pulled = self.latest.iter().find(|pulled| pulled.key == key);
            Some(TracedPoint {
                node,
                subsystem: subsystem.name.into(),
                point: subsystem.points.get(point)?.name.into(),
                fields: subsystem.fields(point).iter().map(|(name, _)| (*name).into()).collect(),
                is_traced: self.is_on && wanted.states.get(point) == Some(&PointState::Trace),
                received: latest.received,
                per_sec: latest.per_sec,
                dropped: pulled.map_or(0, |pulled| pulled.summary.life_dropped),
                events: latest.events.iter().copied().collect(),
            })
        });
        Answer::Traces { now_ns: clock::monotonic_ns(), alarm: self.alarm.clone(), traces: traces.collect() }
    }
}

fn weight(pulled: &Pulled) -> Option<u32> {
    match pulled.measure {
        Measure::Weight(weight) => Some(weight),
        Measure::Shed => None,
    }
}

fn summarized(pulled: &Pulled) -> Summarized {
    let summary = &pulled.summary;
    let points = summary.points.iter().filter(|point| !summary.is_quiet(point)).map(|point| {
        let all = point.all.clone();
        let figures = PointFigures {
            count: all.count,
            time_ns: all.time_ns,
            min_ns: all.min_ns,
            max_ns: all.max_ns,
            asked: all.asked,
            returned: all.returned,
            concurrency: point.concurrency,
        };
        (summary.subsystem.points[point.point].name.to_owned(), figures)
    });
    Summarized {
        node: pulled.key.node,
        subsystem: pulled.key.name.into(),
        source: pulled.source.into(),
        start_ns: summary.start_ns,
        end_ns: summary.end_ns,
        weight: weight(pulled),
        points: points.collect(),
    }
}
