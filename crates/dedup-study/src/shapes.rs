//! Results of segmenters: smaller segments, and two dimensions instead of one.

use dedup::Packing;
use dedup::estimate::{Estimate, Estimator, MEMORY_BYTES, Method, Shape};
use picture::Scale;
use text::Table;
use text::figure::percent;

use crate::data::{GRID, SCREEN, Screen, session, simulation, versions};
use crate::plot::Lines;
use crate::{Answer, Settings};

fn estimate(method: Method, shape: Option<Shape>, packing: Packing, data: &[u8]) -> Estimate {
    let mut estimator = Estimator::new(method, packing, shape, MEMORY_BYTES).expect("methods for pixels get a shape");
    data.chunks(1 << 16).for_each(|part| estimator.add(part));
    estimator.finish()
}

fn ratio(found: &Estimate) -> f64 {
    found.tally.n_given as f64 / found.tally.n_wire as f64
}

fn known(found: &Estimate) -> f64 {
    found.tally.n_matched as f64 / found.tally.n_given as f64
}

pub(crate) fn smaller_segments(settings: Settings) -> Answer {
    const SIZES: [u32; 5] = [256, 128, 64, 32, 16];
    /// Bytes of an id and of its part of a hash.
    const COST: f64 = 6.0;
    let n_bytes = settings.n_segments * 8;
    let kinds = [
        ("edits 1 KiB apart", versions(6, n_bytes, 1024, settings.seed).concat(), Vec::new()),
        ("edits 128 B apart", versions(6, n_bytes, 128, settings.seed).concat(), Vec::new()),
    ];
    let mut table = Table::of_figures(&[
        "from to",
        "points needed, paper",
        "by 6 (1/s' - 1/s)",
        "gained, edits 1 KiB apart",
        "gained, 128 B apart",
    ]);
    let lines: Vec<(String, Vec<(f64, f64)>)> = kinds
        .into_iter()
        .map(|(name, data, mut line)| {
            for n_bytes in SIZES {
                // Manber's windows of 16 bytes are the smallest there are.
                line.push((
                    f64::from(n_bytes),
                    known(&estimate(Method::Manber { n_bytes }, None, Packing::Plain, &data)),
                ));
            }
            (name.to_owned(), line)
        })
        .collect();
    let mut n_paid = 0;
    for (i, (pair, paper)) in SIZES.windows(2).zip([2.3, 4.7, 9.4, 18.8]).enumerate() {
        let needed = COST * (1.0 / f64::from(pair[1]) - 1.0 / f64::from(pair[0]));
        let gained = |line: usize| lines[line].1[i + 1].1 - lines[line].1[i].1;
        n_paid += usize::from(gained(0) > needed) + usize::from(gained(1) > needed);
        table.row([
            format!("{} to {} B", pair[0], pair[1]),
            format!("{paper}"),
            format!("{:.1}", 100.0 * needed),
            format!("{:.1}", 100.0 * gained(0)),
            format!("{:.1}", 100.0 * gained(1)),
        ]);
    }
    let picture = Lines {
        title: "Redundancy that is found, against segment size",
        caption: "Manber's windows, one in as many bytes as they have; six versions",
        x: "bytes of a segment",
        y: ("share of bytes", Scale::Linear),
        lines,
    };
    Answer {
        title: "Do smaller segments pay? (figure 54)",
        conditions: format!("six versions of {n_bytes} bytes of noise; Manber's windows"),
        table,
        verdict: format!("needed points reproduced; of the eight steps here {n_paid} gain more than they cost"),
        picture: Some(("smaller-segments", picture.picture())),
    }
}

pub(crate) fn dimensions(settings: Settings) -> Answer {
    let n_pictures = (settings.n_segments / 1000).max(2);
    let methods = [
        ("hextile's grid", Method::Grid { side: 16 }, "1.00"),
        ("Varg's columns", Method::Varg { width: 16 }, "1.51 to 3.74"),
        ("content in both", Method::Tiles { side: 64 }, "1.15"),
        ("squares", Method::Squares { side: 16 }, "0.60"),
        ("FastCDC, 1 KiB", Method::FastCdc { n_bytes: 1024 }, "-"),
        ("Manber, 64 B", Method::Manber { n_bytes: 64 }, "-"),
        ("Spring and Wetherall", Method::Spring { n_bytes: 256 }, "-"),
        ("anchors", Method::Anchors { bits: 8 }, "-"),
        ("packing only", Method::None, "-"),
    ];
    let of = |screen: Screen| Shape::new(screen.width, screen.height, screen.pixel_bytes);
    let sets = [(session(n_pictures, settings.seed), of(SCREEN)), (simulation(n_pictures, settings.seed), of(GRID))];
    let mut table = Table::of_figures(&[
        "method",
        "paper, over the grid",
        "pixels, ratio",
        "known",
        "over the grid",
        "simulation, ratio",
        "known",
        "over the grid",
    ]);
    let mut grid = [1.0; 2];
    let mut over_grid = Vec::new();
    for (name, method, paper) in methods {
        let mut cells = vec![name.to_owned(), paper.to_owned()];
        for (i, (data, shape)) in sets.iter().enumerate() {
            let found = estimate(method, *shape, Packing::Zstd(3), data);
            if matches!(method, Method::Grid { .. }) {
                grid[i] = ratio(&found);
            }
            if i == 0 {
                over_grid.push(ratio(&found) / grid[0]);
            }
            cells.extend([
                format!("{:.2}", ratio(&found)),
                percent(known(&found)),
                format!("{:.2}", ratio(&found) / grid[i]),
            ]);
        }
        table.row(cells);
    }
    Answer {
        title: "One dimension against two (table 22)",
        conditions: format!(
            "{n_pictures} pictures of a page that is scrolled down, and sideways every third time ({} by {}, 4 bytes), and as many steps of values that change in four places; new bytes through zstd -3",
            SCREEN.width, SCREEN.height
        ),
        table,
        verdict: format!(
            "{} on pixels: Varg's columns do {:.2} times as well as the grid, squares {:.2} times, matches grown bytewise in one dimension {:.2} times. \
             Squares were behind in the paper. The simulation's places do not move, so that a grid is enough there",
            if over_grid[1] > 1.0 && over_grid[2] > 1.0 { "reproduced" } else { "not reproduced" },
            over_grid[1],
            over_grid[3],
            over_grid[7],
        ),
        picture: None,
    }
}
