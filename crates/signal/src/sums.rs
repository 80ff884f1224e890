//! Sums of signals: shares of one core's time that make 1, parts and their whole, what is free and what is in use.

use std::collections::BTreeMap;

/// Signals that are parts of one whole, and the sums that hold of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// The places of its signals among those that were given.
    pub members: Vec<usize>,
    /// The sums, with terms by their places in `members`.
    pub sums: Vec<Sum>,
}

/// Signals that make `total` together, each times its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// Signals and their weights.
    pub terms: Vec<(usize, f64)>,
    /// The value of the weighted sum.
    pub total: f64,
}

/// Parts of `busy`.
const OF_BUSY: [&str; 6] = ["user", "nice", "system", "irq", "softirq", "steal"];

/// Parts of the time of a core, which make 1.
const OF_TIME: [&str; 3] = ["busy", "idle", "iowait"];

/// Finds the wholes in signals: their ids and last values. A sum with a signal that is not among them is left out.
#[must_use]
pub fn wholes(signals: &[(&str, f64)]) -> Vec<Whole> {
    let mut by_stem: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (idx, (id, _)) in signals.iter().enumerate() {
        if let Some((stem, word)) = id.rsplit_once('.') {
            by_stem.entry(stem).or_default().insert(word, idx);
        }
    }
    let mut wholes = Vec::new();
    for (stem, words) in &by_stem {
        let kind = stem.rsplit('/').next().unwrap_or(stem);
        let mut whole = Draft::default();
        if kind == "cpu" {
            whole.add_time(words);
            let core = |other: &str| other.strip_prefix(stem)?.strip_prefix('.')?.parse::<u32>().ok();
            let cores = by_stem.iter().filter(|(other, _)| core(other).is_some()).map(|(_, words)| words);
            whole.add_cores(words, &cores.collect::<Vec<_>>());
        }
        let value = |word: &str| words.get(word).map_or(f64::NAN, |idx| signals[*idx].1);
        if kind == "swap" {
            whole.add(words, [("used", 1.0), ("free", 1.0)], value("used") + value("free"));
        } else if stem.starts_with("filesystem.") || stem.contains("/filesystem.") {
            // Bytes beside a share: the size is what makes the last values a whole.
            let of_size = (1.0 - value("used")) / value("available");
            whole.add(words, [("used", 1.0), ("available", of_size)], 1.0);
        }
        if !whole.sums.is_empty() {
            wholes.push(Whole { members: whole.members, sums: whole.sums });
        }
    }
    wholes
}

/// A whole to which sums are added.
#[derive(Default)]
struct Draft {
    members: Vec<usize>,
    places: BTreeMap<usize, usize>,
    sums: Vec<Sum>,
}

impl Draft {
    fn add_time(&mut self, words: &BTreeMap<&str, usize>) {
        let parts = OF_BUSY.iter().map(|word| (*word, 1.0));
        self.add(words, parts.chain([("busy", -1.0)]), 0.0);
        self.add(words, OF_TIME.map(|word| (word, 1.0)), 1.0);
    }

    /// Adds the time of single cores, of which that of all is the mean.
    fn add_cores(&mut self, all: &BTreeMap<&str, usize>, cores: &[&BTreeMap<&str, usize>]) {
        cores.iter().for_each(|core| self.add_time(core));
        for word in OF_BUSY.into_iter().chain(["idle", "iowait"]).filter(|_| !cores.is_empty()) {
            let of_all = all.get(word).map(|idx| (*idx, -(cores.len() as f64)));
            let terms = cores.iter().map(|core| core.get(word).map(|idx| (*idx, 1.0)));
            self.add_found(terms.chain([of_all]), 0.0);
        }
    }

    fn add<'a>(&mut self, words: &BTreeMap<&str, usize>, terms: impl IntoIterator<Item = (&'a str, f64)>, total: f64) {
        self.add_found(terms.into_iter().map(|(word, weight)| words.get(word).map(|idx| (*idx, weight))), total);
    }

    /// Adds a sum that has all its signals.
    fn add_found(&mut self, terms: impl Iterator<Item = Option<(usize, f64)>>, total: f64) {
        let Some(terms) = terms.collect::<Option<Vec<_>>>() else { return };
        if total.is_finite() && terms.iter().all(|(_, weight)| weight.is_finite()) {
            let terms = terms.into_iter().map(|(idx, weight)| (self.place(idx), weight)).collect();
            self.sums.push(Sum { terms, total });
        }
    }

    fn place(&mut self, idx: usize) -> usize {
        *self.places.entry(idx).or_insert_with(|| {
            self.members.push(idx);
            self.members.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums as text, with `=` before the total.
    fn texts(signals: &[(&str, f64)]) -> Vec<String> {
        let of_whole = |whole: Whole| {
            let text = move |sum: &Sum| {
                let term = |(place, weight): &(usize, f64)| format!("{weight} {}", signals[whole.members[*place]].0);
                format!("{} = {}", sum.terms.iter().map(term).collect::<Vec<_>>().join(" + "), sum.total)
            };
            whole.sums.iter().map(text).collect::<Vec<_>>()
        };
        wholes(signals).into_iter().flat_map(of_whole).collect()
    }

    #[test]
    fn what_is_in_use_and_what_is_free_keep_their_sum() {
        let signals = [
            ("swap.used", 1e9),
            ("swap.free", 3e9),
            ("filesystem./mnt/a.b.used", 0.75),
            ("filesystem./mnt/a.b.available", 25e9),
            ("db1/swap.used", f64::NAN),
            ("db1/swap.free", 3e9),
            ("filesystem./.used", 1.0),
            ("filesystem./.available", 0.0),
            ("memory.available", 1e9),
        ];
        let right = ["1 filesystem./mnt/a.b.used + 0.00000000001 filesystem./mnt/a.b.available = 1"];
        let found = texts(&signals);
        assert_eq!(found, [right[0], "1 swap.used + 1 swap.free = 4000000000"]);
    }

    #[test]
    fn time_is_one_whole_and_the_mean_of_its_cores() {
        let words = ["busy", "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
        let ids: Vec<String> = ["h/cpu.1", "h/cpu", "h/cpu.0"]
            .iter()
            .flat_map(|stem| words.map(|word| format!("{stem}.{word}")))
            .collect();
        let mut signals: Vec<(&str, f64)> = ids.iter().map(|id| (&**id, 0.1)).collect();
        signals.push(("h/cpu.availability.2", 1.0));
        let found = wholes(&signals);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].members.len(), found[0].sums.len()), (3 * 9, 3 * 2 + 8));
        let texts = texts(&signals);
        assert_eq!(texts[1], "1 h/cpu.busy + 1 h/cpu.idle + 1 h/cpu.iowait = 1");
        assert_eq!(texts[6], "1 h/cpu.0.user + 1 h/cpu.1.user + -2 h/cpu.user = 0");
        assert!(wholes(&signals[..3]).is_empty(), "sums lack signals");
    }
}
