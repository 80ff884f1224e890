//! Choice of the level that sends most: a decision from what link and processor are expected to give, and from what the
//! data are like. It is a pure function; `steering` asks it once a second.
//!
//! A byte takes the longer of two times: that of the processor to make less of it, and that of the link to carry what
//! is left. The level with the shortest wins. What levels cost and save beside each other is a table, scaled by what is
//! seen.

use dedup::{Effort, Packing};

/// The effort that is made to send less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing is looked for.
    Bypass,
    /// Known data are found; new data go as they are.
    Anchors,
    /// New data go through zstd at this level.
    Zstd(u8),
    /// The same, at a level that suits how well it packs. It is set, never chosen.
    Paced,
}

/// The highest level that is chosen; higher ones may be set.
const ZSTD_CHOSEN_MAX: usize = 12;

/// Processor time of a byte that is remembered and hashed, and of one that is looked for, too.
const BYPASS_NS: f64 = 1.2;
const SEARCH_NS: f64 = 0.8;
/// Processor time of a new byte in zstd at levels 1 to 12, and what those save of it, where level 3 saves 1:
/// `zstd -b1 -e12` on this repository's sources with two programs, of which level 3 left 40 %.
const ZSTD_NS: [f64; ZSTD_CHOSEN_MAX] = [2.7, 3.1, 4.7, 5.4, 9.8, 14.5, 16.7, 33.0, 42.0, 44.0, 70.0, 103.0];
const ZSTD_SAVES: [f64; ZSTD_CHOSEN_MAX] =
    [0.924, 0.966, 1.0, 1.008, 1.027, 1.039, 1.045, 1.049, 1.052, 1.054, 1.0555, 1.056];

/// A level is left for one that is faster by this share at least: a zstd stream that begins anew has forgotten what it
/// knew.
const GAIN_MIN: f64 = 0.1;
/// The relative difference in time below which levels count as equal; the cheapest of those is taken.
const SAME: f64 = 0.01;
/// The weight of what was seen last.
const WEIGHT: f64 = 0.3;
/// So many decisions without packing, and one is for a try of it.
const N_UNTRIED: u32 = 16;

/// Expectations for the next seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// The expected rate of the link, in bytes a second.
    pub link: f64,
    /// The share of a core that the encoder gets, in (0, 1].
    pub core: f64,
}

/// Properties of the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    /// The share of bytes that is known.
    pub known: f64,
    /// The share of new bytes that zstd -3 leaves.
    pub left: f64,
    /// The time that this processor takes, relative to the table.
    pub slowness: f64,
}

/// The results of sending bytes at a level.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub given: f64,
    pub matched: f64,
    pub sent: f64,
    pub cpu_seconds: f64,
}

/// Remembers what the data are like, and what is expected to be best for them.
#[derive(Debug)]
pub(crate) struct Chooser {
    content: Content,
    n_untried: u32,
}

impl Level {
    /// Returns the encoder's effort at this level.
    pub(crate) fn effort(self) -> Effort {
        match self {
            Self::Bypass => Effort::Bypass,
            Self::Anchors => Effort::Search(Packing::Plain),
            Self::Zstd(level) => Effort::Search(Packing::Zstd(i32::from(level))),
            Self::Paced => Effort::Search(Packing::Paced),
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Bypass => 0,
            Self::Anchors => 1,
            Self::Zstd(level) => 1 + level,
            Self::Paced => u8::MAX,
        }
    }

    pub(crate) fn of_code(code: u8) -> Self {
        match code {
            0 => Self::Bypass,
            1 => Self::Anchors,
            u8::MAX => Self::Paced,
            code => Self::Zstd(code - 1),
        }
    }

    /// All that are chosen from, the cheapest first.
    fn all() -> impl Iterator<Item = Self> {
        [Self::Bypass, Self::Anchors].into_iter().chain((1..=ZSTD_CHOSEN_MAX as u8).map(Self::Zstd))
    }

    fn of_tables(self) -> Option<usize> {
        match self {
            Self::Zstd(level) => Some((usize::from(level) - 1).min(ZSTD_CHOSEN_MAX - 1)),
            Self::Bypass | Self::Anchors | Self::Paced => None,
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bypass => f.write_str("bypass"),
            Self::Anchors => f.write_str("anchors"),
            Self::Zstd(level) => write!(f, "zstd {level}"),
            Self::Paced => f.write_str("paced"),
        }
    }
}

impl Content {
    /// Processor time of a byte, by the table.
    fn tabled_seconds(&self, level: Level) -> f64 {
        let search = if level == Level::Bypass { 0.0 } else { SEARCH_NS };
        let pack = level.of_tables().map_or(0.0, |i| (1.0 - self.known) * ZSTD_NS[i]);
        (BYPASS_NS + search + pack) * 1e-9
    }

    /// Returns the bytes sent for each byte.
    fn sent(&self, level: Level) -> f64 {
        let new = 1.0 - self.known;
        match level.of_tables() {
            Some(i) => new * (1.0 - (1.0 - self.left) * ZSTD_SAVES[i]).clamp(0.01, 1.0),
            None if level == Level::Anchors => new,
            None => 1.0,
        }
    }

    /// Returns the seconds that a byte takes.
    fn seconds(&self, level: Level, expected: Expected) -> f64 {
        let cpu = self.tabled_seconds(level) * self.slowness / expected.core.max(0.01);
        cpu.max(self.sent(level) / expected.link.max(1.0))
    }
}

/// The level that sends most, unless the one that there is does about as well.
pub(crate) fn choose(now: Level, expected: Expected, content: Content) -> Level {
    let mut best = (Level::Bypass, f64::INFINITY);
    for level in Level::all() {
        let seconds = content.seconds(level, expected);
        if seconds < best.1 * (1.0 - SAME) {
            best = (level, seconds);
        }
    }
    let stay = content.seconds(now, expected);
    // To pack nothing costs nothing: what zstd knew is still there.
    let gain_min = if best.0 < now && best.0.of_tables().is_none() { -SAME } else { GAIN_MIN };
    if best.1 < stay * (1.0 - gain_min) { best.0 } else { now }
}

impl Chooser {
    pub fn new() -> Self {
        // Of what is not known yet it is expected that packing pays.
        Self { content: Content { known: 0.0, left: 0.5, slowness: 1.0 }, n_untried: 0 }
    }

    /// Learns from what became of bytes at level `now`, and gives the next one. Without an expectation of the link it
    /// stays.
    pub fn next(&mut self, now: Level, seen: Seen, expected: Option<Expected>) -> Level {
        self.learn(now, seen);
        let Some(expected) = expected else { return now };
        if now.of_tables().is_none() {
            self.n_untried += 1;
            if self.n_untried >= N_UNTRIED {
                self.n_untried = 0;
                return Level::Zstd(1);
            }
        }
        choose(now, expected, self.content)
    }

    fn learn(&mut self, now: Level, seen: Seen) {
        let content = &mut self.content;
        let blend = |old: &mut f64, new: f64| *old += WEIGHT * (new - *old);
        blend(&mut content.known, (seen.matched / seen.given).clamp(0.0, 1.0));
        let new = seen.given - seen.matched;
        if let Some(i) = now.of_tables().filter(|_| new > seen.given / 50.0) {
            let saved = (1.0 - seen.sent / new) / ZSTD_SAVES[i];
            blend(&mut content.left, (1.0 - saved).clamp(0.01, 1.0));
        }
        let tabled = content.tabled_seconds(now) * seen.given;
        blend(&mut content.slowness, (seen.cpu_seconds / tabled).clamp(0.2, 10.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Anchors, Bypass, Zstd};

    #[track_caller]
    fn check(link_mbit: f64, core: f64, (known, left): (f64, f64), expected: Level) {
        let content = Content { known, left, slowness: 1.0 };
        // From the level that is worst at either end, so that nothing stays because it is good enough.
        let at = Expected { link: link_mbit * 125_000.0, core };
        let worst = Level::all().max_by(|a, b| content.seconds(*a, at).total_cmp(&content.seconds(*b, at))).unwrap();
        assert_eq!(
            choose(worst, at, content),
            expected,
            "{link_mbit} Mbit/s, {core} of a core, {known} known, {left} left"
        );
    }

    #[test]
    fn the_slower_the_link_the_more_is_done() {
        let links = [
            (1.6, Zstd(11)),
            (100.0, Zstd(6)),
            (300.0, Zstd(4)),
            (500.0, Zstd(2)),
            (1_000.0, Zstd(1)),
            (2_500.0, Bypass),
        ];
        for (link_mbit, expected) in links {
            check(link_mbit, 1.0, (0.0, 0.4), expected);
        }
    }

    #[test]
    fn the_less_of_a_core_there_is_the_less_is_done() {
        for (core, expected) in [(1.0, Zstd(6)), (0.5, Zstd(5)), (0.2, Zstd(2)), (0.05, Bypass)] {
            check(100.0, core, (0.0, 0.4), expected);
        }
    }

    #[test]
    fn what_is_known_leaves_time_for_the_rest() {
        check(100.0, 1.0, (0.9, 0.4), Zstd(5));
        check(1_000.0, 1.0, (0.9, 0.4), Anchors);
    }

    #[test]
    fn what_does_not_pack_is_not_packed() {
        for link_mbit in [1.6, 100.0, 1_000.0] {
            check(link_mbit, 1.0, (0.5, 1.0), Anchors);
            check(link_mbit, 1.0, (0.0, 1.0), Bypass);
        }
    }

    #[test]
    fn a_level_that_does_about_as_well_stays() {
        let content = Content { known: 0.0, left: 0.4, slowness: 1.0 };
        let slow = Expected { link: 200_000.0, core: 1.0 };
        for level in 1..=12 {
            // Its ratio is within a ninth of the best one.
            let stays = level >= 3;
            assert_eq!(choose(Zstd(level), slow, content) == Zstd(level), stays, "zstd {level}");
        }
    }

    #[test]
    fn data_teach_what_they_are_like() {
        let mut chooser = Chooser::new();
        let fast = Some(Expected { link: 1.25e8, core: 1.0 });
        let noise = |level: Level| Seen {
            given: 1e8,
            matched: 0.0,
            sent: 1e8,
            cpu_seconds: Content { known: 0.0, left: 1.0, slowness: 1.0 }.tabled_seconds(level) * 1e8,
        };
        let (mut level, mut n_packed) = (Zstd(5), 0);
        for i in 0..100 {
            level = chooser.next(level, noise(level), fast);
            n_packed += u32::from(i >= 20 && level.of_tables().is_some());
        }
        assert_eq!(level, Bypass);
        assert!((1..=10).contains(&n_packed), "{n_packed} of eighty seconds were packed");
        for _ in 0..40 {
            let seen = Seen { sent: if level.of_tables().is_some() { 4e7 } else { 1e8 }, ..noise(level) };
            level = chooser.next(level, seen, fast);
        }
        assert!(level.of_tables().is_some(), "text is sent at {level}");
        assert_eq!(chooser.next(Anchors, noise(Anchors), None), Anchors);
    }

    #[test]
    fn levels_have_codes() {
        for level in Level::all().chain([Zstd(19), Level::Paced]) {
            assert_eq!(Level::of_code(level.code()), level);
        }
    }
}
