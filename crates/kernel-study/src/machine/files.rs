//! File systems by record size: regions and elbows, through the page cache and past it.

use iow::Law;
use picture::Scale;
use text::figure::{bytes_per_sec, format};

use crate::answer::names;
use crate::{Answer, Lines};

/// A sweep over record sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The file system, and where it is.
    pub place: String,
    /// Whether it went past the page cache.
    pub is_direct: bool,
    /// Record sizes, ascending, with bytes a second.
    pub speeds: Vec<(u64, f64)>,
}

/// Buffered writes that are so many times as fast as direct ones end in memory.
const HIDDEN: f64 = 1.5;
/// The record size of table 7-6, by which they are compared.
const COMPARED_BYTES: u64 = 128 << 10;

impl Sweep {
    fn name(&self) -> String {
        std::format!("{}, {}", self.place, if self.is_direct { "direct" } else { "buffered" })
    }

    fn compared(&self) -> Option<f64> {
        self.speeds.iter().find(|(bytes, _)| *bytes == COMPARED_BYTES).map(|(_, speed)| *speed)
    }
}

/// Regions of each sweep, and what the page cache hides (figures 7.14 to 7.16).
#[must_use]
pub fn regions(sweeps: &[Sweep], conditions: String) -> Answer {
    let size = |bytes: u64| format(bytes as f64, "bytes");
    let rows = sweeps.iter().flat_map(|sweep| {
        iow::regions(&sweep.speeds).into_iter().map(|region| {
            let inside = sweep.speeds.iter().filter(|(bytes, _)| (region.from_bytes..=region.to_bytes).contains(bytes));
            let best = inside.map(|(_, speed)| *speed).fold(0.0, f64::max);
            let sizes = std::format!("{} to {}", size(region.from_bytes), size(region.to_bytes));
            vec![sweep.name(), sizes, region.law.words().to_owned(), bytes_per_sec(best)]
        })
    });
    let elbow = |sweep: &Sweep| {
        let found = iow::regions(&sweep.speeds);
        let flat = found.iter().find(|region| matches!(region.law, Law::Flat | Law::Falling));
        let at = flat.filter(|region| region.from_bytes > sweep.speeds[0].0).map(|region| size(region.from_bytes));
        std::format!(
            "{}: {}",
            sweep.name(),
            at.map_or_else(|| "no elbow".to_owned(), |at| std::format!("elbow at {at}"))
        )
    };
    let mut verdicts: Vec<String> = sweeps.iter().map(elbow).collect();
    for direct in sweeps.iter().filter(|sweep| sweep.is_direct) {
        let buffered = sweeps.iter().find(|sweep| !sweep.is_direct && sweep.place == direct.place);
        let ratio = buffered.and_then(|buffered| Some(buffered.compared()? / direct.compared()?));
        if let Some(ratio) = ratio.filter(|ratio| *ratio > HIDDEN) {
            verdicts.push(std::format!(
                "on {}, records of {} are written {ratio:.1} times as fast through the page cache as past it: a hidden buffer, whose speed is not the device's",
                direct.place,
                size(COMPARED_BYTES)
            ));
        }
    }
    let picture = Lines {
        title: "Speed by record size",
        caption: "files that are made anew",
        x: ("bytes of a record", Scale::Logarithmic),
        y: ("MB/s", Scale::Logarithmic),
        lines: sweeps
            .iter()
            .map(|sweep| {
                (sweep.name(), sweep.speeds.iter().map(|(bytes, speed)| (*bytes as f64, speed / 1e6)).collect())
            })
            .collect(),
    };
    Answer {
        title: "File systems by record size (figures 7.14 to 7.16)".into(),
        conditions,
        columns: names(&["written", "records", "law", "at best"]),
        rows: rows.collect(),
        verdict: verdicts.join("; "),
        pictures: vec![("regions".into(), picture.picture())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elbow_and_the_hidden_buffer_are_told() {
        let speeds =
            |most: f64| (6..=26).map(|power| (1_u64 << power, (f64::from(1 << power) / 1e-3).min(most))).collect();
        let sweep = |is_direct, most| Sweep { place: "ext4".into(), is_direct, speeds: speeds(most) };
        let answer = regions(&[sweep(false, 1e9), sweep(true, 65e6)], String::new());
        assert!(answer.verdict.contains("ext4, direct: elbow at 64.0 KiB"), "{}", answer.verdict);
        assert!(answer.verdict.contains("written 2.0 times as fast"), "{}", answer.verdict);
        assert_eq!(answer.rows.len(), 4);
    }
}
