//! Units sent to a slot: a little more than it can do until it is asked again, so that the rest can still go elsewhere.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use sched::{Chunk, Curve};

use crate::connection::{Order, Orders};
use crate::protocol::Unit;

/// Least number of units that a slot has, so that it does not wait for the next one.
const N_AHEAD_MIN: usize = 2;
/// Time for which a slot is given units ahead, as many as it is forecast to do in it.
const AHEAD_SECONDS: f64 = 0.5;

pub struct Feed {
    pub connection: usize,
    pub slot: usize,
    orders: Orders,
    args: Vec<String>,
    /// Units that were sent and have not ended, in order, with the forecast of that time.
    sent: VecDeque<(usize, Arc<Curve>)>,
    /// First unit of the chunk that is not sent.
    first: Option<usize>,
}

impl Feed {
    pub fn new(orders: Orders, connection: usize, slot: usize, args: Vec<String>) -> Self {
        Self { connection, slot, orders, args, sent: VecDeque::new(), first: None }
    }

    /// Gives the slot units, of which none is sent yet.
    pub fn begin(&mut self, chunk: &mut Option<Chunk>, units: Range<usize>, now: f64) {
        self.first = Some(units.start);
        *chunk = Some(Chunk { unit: units.start, waiting: units.start + 1..units.end, unit_began: now });
    }

    /// Sends the units that are due; a chunk of which everything has ended is over.
    pub fn send(&mut self, chunk: &mut Option<Chunk>, unit_seconds: f64, curve: &Arc<Curve>, stdin: &[String]) {
        let Some(of) = chunk else { return };
        let mut units: Vec<usize> = self.first.take().into_iter().collect();
        let n_ahead = N_AHEAD_MIN.max((AHEAD_SECONDS / unit_seconds) as usize);
        while self.sent.len() + units.len() < n_ahead
            && let Some(unit) = of.waiting.next()
        {
            units.push(unit);
        }
        self.sent.extend(units.iter().map(|unit| (*unit, Arc::clone(curve))));
        match self.sent.front() {
            Some((unit, _)) => of.unit = *unit,
            None => *chunk = None,
        }
        if !units.is_empty() {
            let unit = |unit: usize| Unit {
                unit,
                args: self.args.iter().map(|arg| numbered(arg, unit)).collect(),
                stdin: stdin.get(unit).cloned().unwrap_or_default(),
            };
            let units = units.into_iter().map(unit).collect();
            // A connection that is gone says so by itself.
            let _ = self.orders.send(Order::Run { slot: self.slot, units });
        }
    }

    /// Removes a unit that has ended, and returns the forecast when it was sent; `None` for a unit that the slot did
    /// not have.
    pub fn take_back(&mut self, unit: usize) -> Option<Arc<Curve>> {
        let at = self.sent.iter().position(|(sent, _)| *sent == unit)?;
        self.sent.remove(at).map(|(_, curve)| curve)
    }

    /// Drops a unit that was sent and that another worker has done.
    pub fn drop(&mut self, unit: usize) {
        if self.take_back(unit).is_some() {
            // As in `send`.
            let _ = self.orders.send(Order::Drop { unit });
        }
    }

    pub fn take_all(&mut self) -> impl Iterator<Item = usize> + use<> {
        let sent = std::mem::take(&mut self.sent).into_iter().map(|(unit, _)| unit);
        sent.chain(self.first.take()).collect::<Vec<_>>().into_iter()
    }

    pub fn has(&self, unit: usize) -> bool {
        self.sent.iter().any(|(sent, _)| *sent == unit)
    }

    pub fn stop(&self) {
        // As in `send`.
        let _ = self.orders.send(Order::Stop);
    }
}

/// Returns an argument of a unit: its number instead of `{unit}`, and the remainder of its division by 4 instead of
/// `{unit%4}`.
fn numbered(arg: &str, unit: usize) -> String {
    let (mut done, mut rest) = (String::new(), arg);
    while let Some((before, after)) = rest.split_once("{unit") {
        done += before;
        let (number, behind) = match after.split_once('}') {
            Some(("", behind)) => (unit, behind),
            Some((modulus, behind)) => match modulus.strip_prefix('%').and_then(|text| text.parse().ok()) {
                Some(modulus @ 1..) => (unit % modulus, behind),
                _ => return arg.to_owned(),
            },
            None => return arg.to_owned(),
        };
        done += &number.to_string();
        rest = behind;
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_units_number() {
        for (arg, wanted) in [
            ("--frame={unit}", "--frame=7"),
            ("{unit%4}of{unit}", "3of7"),
            ("{unit%0}", "{unit%0}"),
            ("{units}", "{units}"),
            ("{unit", "{unit"),
            ("plain", "plain"),
        ] {
            assert_eq!(numbered(arg, 7), wanted);
        }
    }
}
