//! Runs as pictures: who did what when, and what workers had to give meanwhile.

use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};

use crate::simulate::Stretch;

/// Chunks that follow each other take turns.
const CHUNKS: [Colour; 2] = [Colour::APART[0], Colour::APART[5]];
const WIDTH: f64 = 760.0;
/// Height of each worker's row, and of everything else of a chart.
const ROW_HEIGHT: f64 = 22.0;
const REST_HEIGHT: f64 = 120.0;
/// Number of workers above which rows are thinner.
const N_ROWS_FULL: usize = 40;
/// Legends of more names are longer than their charts.
const N_NAMED: usize = 24;

/// A bar for each chunk of each worker, the first worker at the top. Time goes as far as `until`, in seconds, so that
/// runs can be compared.
#[must_use]
pub fn gantt(title: &str, names: &[String], stretches: &[Stretch], until: f64) -> Picture {
    let size = size(names.len());
    let height = (0.7 * (size.height - REST_HEIGHT) / names.len() as f64).max(1.0);
    let mut n_before = vec![0; names.len()];
    let mut marks = Vec::with_capacity(stretches.len());
    for stretch in stretches.iter().filter(|stretch| stretch.until > stretch.from) {
        let row = (names.len() - 1 - stretch.worker) as f64;
        let colour = CHUNKS[n_before[stretch.worker] % CHUNKS.len()];
        n_before[stretch.worker] += 1;
        marks.push(Mark::Bar { from: (stretch.from, row), to: (stretch.until, row), colour, height });
    }
    let end = stretches.iter().map(|stretch| stretch.until).fold(0.0, f64::max);
    let chart = Chart {
        title: title.to_owned(),
        caption: format!(
            "{} pieces, done after {end:.1} s; the numbers on the left are those of the list",
            marks.len()
        ),
        x: Axis { label: "seconds".to_owned(), scale: Scale::Linear, range: (0.0, until) },
        y: Axis { label: String::new(), scale: Scale::Whole, range: (-0.7, names.len() as f64 - 0.3) },
        marks,
    };
    let numbers = (0..names.len()).rev().map(|number| format!("{number}: "));
    let legend = numbers.zip(named(names)).map(|(number, name)| (number + &name, Colour::SHADE)).collect();
    Panel { chart, legend }.picture(size)
}

/// Draws the availability of each worker, as shares of a core by seconds since the run began.
#[must_use]
pub fn availability(names: &[String], lines: &[Vec<(f64, f64)>], until: f64) -> Picture {
    let colours = || Colour::APART.into_iter().cycle();
    let coloured = lines.iter().zip(colours());
    let marks = coloured.map(|(line, colour)| Mark::Track(line.clone(), colour)).collect();
    let chart = Chart {
        title: "Availability".to_owned(),
        caption: "what the workers had to give".to_owned(),
        x: Axis { label: "seconds".to_owned(), scale: Scale::Linear, range: (0.0, until) },
        y: Axis { label: "share of a core".to_owned(), scale: Scale::Linear, range: (0.0, 1.05) },
        marks,
    };
    let legend = named(names).zip(colours()).collect();
    Panel { chart, legend }.picture(Size { width: WIDTH, height: 420.0 })
}

fn size(n_workers: usize) -> Size {
    Size { width: WIDTH, height: REST_HEIGHT + ROW_HEIGHT * n_workers.min(N_ROWS_FULL) as f64 }
}

/// Returns as many names as a legend holds, and the number of those left out.
fn named(names: &[String]) -> impl Iterator<Item = String> + '_ {
    let more = names.len().saturating_sub(N_NAMED);
    let last = (more > 0).then(|| format!("and {more} more"));
    names.iter().take(N_NAMED).cloned().chain(last)
}

#[cfg(test)]
mod tests {
    use picture::Shape;

    use super::*;

    #[test]
    fn each_chunk_is_a_bar_in_the_row_of_its_worker() {
        let stretch = |worker, from, until| Stretch { worker, from, until, n_units: 1 };
        let names = ["one", "two"].map(str::to_owned);
        let made = gantt("EQUAL", &names, &[stretch(0, 0.0, 5.0), stretch(1, 0.0, 4.0), stretch(0, 5.0, 10.0)], 10.0);
        let bars: Vec<_> = made
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Line { places, colour, .. } if CHUNKS.contains(colour) => Some((places.clone(), *colour)),
                _ => None,
            })
            .collect();
        assert_eq!(bars.len(), 3);
        assert!(bars[0].0[0].y < bars[1].0[0].y && bars[0].0[1] == bars[2].0[0], "{bars:?}");
        assert_eq!((bars[0].1, bars[1].1, bars[2].1), (CHUNKS[0], CHUNKS[0], CHUNKS[1]));
        assert!(made.to_svg().contains("3 pieces, done after 10.0 s"));
    }

    #[test]
    fn a_legend_ends_with_how_many_more() {
        let names: Vec<String> = (0..200).map(|nth| format!("w{nth}")).collect();
        let svg = availability(&names, &vec![vec![(0.0, 1.0), (9.0, 0.5)]; 200], 9.0).to_svg();
        assert!(svg.contains(">w23</text>") && !svg.contains(">w24</text>") && svg.contains(">and 176 more</text>"));
    }
}
