//! Segmenters of one dimension under one level and under two, beside the formula; and how near to each other hits are.

use std::collections::{HashMap, HashSet};

use dedup::estimate::MEMORY_BYTES;
use dedup::plan::Model;
use dedup::segmenter::{Field, Lbfs, Manber, Segmenter, Static};
use dedup::spring::{Spring, Token};
use dedup::two_level::{HASH_BYTES, Settings as Levels, Wire};
use text::Table;
use text::figure::percent;

use crate::data::{GRID, SCREEN, Screen, session, simulation, versions};
use crate::levels::{N_FIELD, exchanged};
use crate::{Answer, Settings};

/// Edits of up to 64 bytes, one in so many.
const SPACING: usize = 4096;
const N_VERSIONS: usize = 6;
/// The published number of segments for each hash.
const N_GROUP: u64 = 20;
/// Bytes of an id and of the type before it, where a segment is its own group and nothing else may say which it is.
const ID_ALONE: u64 = 8 + 1;
/// Hits that lie within so many bytes are in one piece of what is read at once.
const NEAR_BYTES: usize = 64 << 10;

/// A segmenter with what became of the data.
struct Sent {
    n_segment: f64,
    known: f64,
    /// Bytes under one level and under two.
    one: u64,
    two: u64,
    /// Whether its segments are all of the data, side by side, as the formula has it.
    is_tiling: bool,
}

pub(crate) fn segmenters(settings: Settings) -> Answer {
    let data = versions(N_VERSIONS, settings.n_segments * 8, SPACING, settings.seed).concat();
    let lbfs = |n_average| Lbfs::new(n_average).expect("it is a power of two from 256");
    let all: [(&str, Sent); 6] = [
        ("static, 256 B", by_segments(&mut Static { n_bytes: 256 }, &data, true)),
        ("Manber, 64 B", by_segments(&mut Manber { n_bytes: 64, bits: 6 }, &data, false)),
        ("LBFS, 256 B", by_segments(&mut lbfs(256), &data, true)),
        ("LBFS, 1 KiB", by_segments(&mut lbfs(1024), &data, true)),
        ("LBFS, 8 KiB", by_segments(&mut lbfs(8192), &data, true)),
        ("Spring and Wetherall, 256 B", by_spring(&data)),
    ];
    let mut table = Table::of_figures(&[
        "segmenter",
        "mean segment",
        "known",
        "one level",
        "two levels",
        "two over one",
        "two levels by formula",
    ]);
    let given = data.len() as f64;
    let (mut gains, mut off) = (Vec::new(), 0.0_f64);
    for (name, sent) in &all {
        let (one, two) = (given / sent.one as f64, given / sent.two as f64);
        gains.push(two / one);
        let model = Model { segment_bytes: sent.n_segment, ..Model::new(given, sent.known) };
        let formula = sent.is_tiling.then(|| model.on_the_wire());
        off = off.max(formula.map_or(0.0, |formula| (formula / two - 1.0).abs()));
        table.row([
            (*name).to_owned(),
            format!("{:.0} B", sent.n_segment),
            percent(sent.known),
            format!("{one:.2}"),
            format!("{two:.2}"),
            format!("{:.2}", two / one),
            formula.map_or_else(|| "-".to_owned(), |formula| format!("{formula:.2}")),
        ]);
    }
    let [least, most] =
        [f64::min, f64::max].map(|of: fn(f64, f64) -> f64| gains.iter().copied().reduce(of).unwrap_or(1.0));
    Answer {
        title: "Known segmenters under two levels, and the formula (open questions 1 and 3)",
        conditions: format!(
            "{N_VERSIONS} versions of {} bytes of noise, edits of up to 64 bytes {SPACING} bytes apart; table 18's messages, nothing packed",
            settings.n_segments * 8
        ),
        table,
        verdict: format!(
            "not measured in the paper: two levels send {least:.2} to {most:.2} times as much in the same bytes, most where segments are small. The formula with heads, \
             given what each segmenter finds, is within {:.0} % of the wire: it is realistic for segments that lie side by side",
            100.0 * off
        ),
        picture: None,
    }
}

fn by_segments(segmenter: &mut dyn Segmenter, data: &[u8], is_tiling: bool) -> Sent {
    let (mut n_segments, mut n_bytes, mut n_known) = (0_u64, 0_u64, 0_u64);
    let mut known = HashSet::new();
    for part in data.chunks(N_FIELD) {
        for area in segmenter.cut(&Field::line(part)) {
            n_segments += 1;
            n_bytes += area.width as u64;
            if !known.insert(&part[area.x..area.x + area.width]) {
                n_known += area.width as u64;
            }
        }
    }
    let levels = Levels { n_field_max: N_FIELD, ..Levels::default() };
    let two = exchanged(levels, Wire::Paper, segmenter, data).n_there;
    // A hash for each segment, and what is new: groups of one, without the ids.
    let alone = exchanged(Levels { id_bytes: 8, n_group: 1, ..levels }, Wire::Paper, segmenter, data).n_there;
    Sent {
        n_segment: n_bytes as f64 / n_segments as f64,
        known: n_known as f64 / n_bytes as f64,
        one: alone - n_segments * ID_ALONE,
        two,
        is_tiling,
    }
}

/// Spring and Wetherall's matches: an id and two counts each, or a whole hash in place of the id.
fn by_spring(data: &[u8]) -> Sent {
    const ID_BYTES: u64 = 5;
    let mut spring = Spring::adapted(256, MEMORY_BYTES);
    let (mut n_copies, mut n_copied, mut n_common) = (0_u64, 0_u64, 0_u64);
    for part in data.chunks(N_FIELD) {
        for token in spring.encode(part) {
            n_common += spring.head_bytes(&token) as u64;
            match token {
                Token::Literal(bytes) => n_common += bytes.len() as u64,
                Token::Copy(copied) => {
                    n_copies += 1;
                    n_copied += copied.n_bytes() as u64;
                }
            }
        }
    }
    let hash = HASH_BYTES as u64;
    Sent {
        n_segment: n_copied as f64 / n_copies.max(1) as f64,
        known: n_copied as f64 / data.len() as f64,
        one: n_common + n_copies * (hash - ID_BYTES),
        two: n_common + n_copies.div_ceil(N_GROUP) * (hash + 1),
        is_tiling: false,
    }
}

/// The places of hits in the stored data, and the time since they were used.
#[derive(Default)]
struct Locality {
    n_segments: u64,
    n_hits: u64,
    n_following: u64,
    n_near: u64,
    ages: Vec<u64>,
}

pub(crate) fn locality(settings: Settings) -> Answer {
    let n_bytes = settings.n_segments * 8;
    let n_pictures = (settings.n_segments / 1000).max(2);
    let of_screen = |screen: Screen| (screen.width * screen.height * screen.pixel_bytes) as usize;
    let kinds = [
        ("versions, edits 1 KiB apart", versions(N_VERSIONS, n_bytes, 1024, settings.seed).concat(), n_bytes),
        ("versions, edits 128 B apart", versions(N_VERSIONS, n_bytes, 128, settings.seed).concat(), n_bytes),
        ("pictures of a page that is scrolled", session(n_pictures, settings.seed), of_screen(SCREEN)),
        ("steps of a simulation", simulation(n_pictures, settings.seed), of_screen(GRID)),
    ];
    let mut table = Table::of_figures(&[
        "data",
        "segments known",
        "right behind the last hit",
        "within 64 KiB of it",
        "used within a version",
        "within two",
    ]);
    let mut least = 1.0_f64;
    for (name, data, n_version) in &kinds {
        let found = located(data);
        let of_hits = |n: u64| n as f64 / found.n_hits.max(1) as f64;
        // A version may be longer than the last one, by what was inserted.
        let within = |n: usize| found.ages.iter().filter(|&&age| age as usize <= n * n_version * 5 / 4).count() as u64;
        least = least.min(of_hits(found.n_near));
        table.row([
            (*name).to_owned(),
            percent(found.n_hits as f64 / found.n_segments as f64),
            percent(of_hits(found.n_following)),
            percent(of_hits(found.n_near)),
            percent(of_hits(within(1))),
            percent(of_hits(within(2))),
        ]);
    }
    Answer {
        title: "Locality (open question 4)",
        conditions: "chunks of LBFS of 256 bytes; stored once, in the order in which they came".to_owned(),
        table,
        verdict: format!(
            "not measured in the paper: at least {} of the hits are within 64 KiB of the last one, so that what is read at once serves many of them. \
             What real traffic is like, `foretop tunnel status --history` says",
            percent(least)
        ),
        picture: None,
    }
}

fn located(data: &[u8]) -> Locality {
    let mut segmenter = Lbfs::new(256).expect("it is a power of two from 256");
    // Where a segment is stored, its number, and where it was used last.
    let mut known: HashMap<&[u8], (usize, u64, u64)> = HashMap::new();
    let mut found = Locality::default();
    let (mut n_stored, mut at, mut last) = (0, 0_u64, None);
    for area in segmenter.cut(&Field::line(data)) {
        let segment = &data[area.x..area.x + area.width];
        found.n_segments += 1;
        let number = known.len() as u64;
        let (place, number, used) = known.entry(segment).or_insert_with(|| {
            n_stored += segment.len();
            (n_stored - segment.len(), number, u64::MAX)
        });
        if *used != u64::MAX {
            found.n_hits += 1;
            found.ages.push(at - *used);
            if let Some((last_place, last_number)) = last {
                found.n_following += u64::from(*number == last_number + 1);
                found.n_near += u64::from(place.abs_diff(last_place) <= NEAR_BYTES);
            }
            last = Some((*place, *number));
        }
        *used = at;
        at += segment.len() as u64;
    }
    found
}
