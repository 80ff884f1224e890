//! A signal large: its history, and its forecast with the band around it, on one scale.

use std::time::Duration;

use node_api as api;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::canvas::{Canvas, Line as Segment};
use text::figure;
use units::span;

use super::super::band::Band;
use super::palette::Palette;

/// The time from which on seconds are hard to read.
const HOUR: Duration = Duration::from_secs(3600);

/// Room for the figures of the vertical scale.
const LABEL_WIDTH: u16 = 11;
/// Braille has two columns of dots in each character.
const DOTS_PER_CELL: f64 = 2.0;

/// The content of the chart, in steps to either side of now.
pub struct Chart<'a> {
    pub history: &'a [f64],
    pub band: &'a Band,
    pub unit: &'a str,
    pub range: api::Range,
    pub step_seconds: f64,
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, chart: &Chart<'_>, palette: &Palette) {
    if area.width <= LABEL_WIDTH + 1 || area.height < 3 {
        return;
    }
    let plot =
        Rect { x: area.x + LABEL_WIDTH + 1, width: area.width - LABEL_WIDTH - 1, height: area.height - 1, ..area };
    let n_past = chart.history.len().saturating_sub(1) as f64;
    let n_ahead = chart.band.lead_max();
    let (bottom, top) = bounds(chart);
    let per_dot = (n_past + n_ahead).max(1.0) / (f64::from(plot.width) * DOTS_PER_CELL);
    let canvas =
        Canvas::default().marker(Marker::Braille).x_bounds([-n_past, n_ahead.max(1.0)]).y_bounds([bottom, top]).paint(
            |context| {
                // Later layers win a character's colour: the band lies below what it surrounds.
                for (lead, point) in leads(n_ahead, per_dot).filter_map(|lead| Some((lead, chart.band.at(lead)?))) {
                    context.draw(&Segment::new(lead, point.lower, lead, point.upper, colour(palette.band)));
                }
                context.layer();
                for pair in leads(n_ahead, per_dot).zip(leads(n_ahead, per_dot).skip(1)) {
                    if let (Some(from), Some(to)) = (chart.band.at(pair.0), chart.band.at(pair.1)) {
                        context.draw(&Segment::new(pair.0, from.mean, pair.1, to.mean, colour(palette.mean)));
                    }
                }
                context.layer();
                for (idx, pair) in chart.history.windows(2).enumerate() {
                    let x = idx as f64 - n_past;
                    if pair.iter().all(|value| value.is_finite()) {
                        context.draw(&Segment::new(x, pair[0], x + 1.0, pair[1], colour(palette.history)));
                    }
                }
            },
        );
    frame.render_widget(canvas, plot);
    draw_scales(frame, area, plot, chart, (bottom, top), palette);
}

/// Every dot's column ahead of now.
fn leads(n_ahead: f64, per_dot: f64) -> impl Iterator<Item = f64> {
    let n_dots = (n_ahead / per_dot).floor() as usize;
    (0..=n_dots).map(move |dot| dot as f64 * per_dot)
}

fn colour(style: ratatui::style::Style) -> ratatui::style::Color {
    style.fg.unwrap_or_default()
}

/// The least and the greatest value with a little room, so that nothing is drawn on the edge; none beyond what the
/// quantity can be, and none below 0 where nothing is negative.
fn bounds(chart: &Chart<'_>) -> (f64, f64) {
    let known = chart.history.iter().copied().filter(|value| value.is_finite());
    let reach = chart.band.reach().into_iter().flat_map(|(low, high)| [low, high]);
    let ends = known.chain(reach).map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let (low, high) = ends.unwrap_or((0.0, 1.0));
    let room = if high > low { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.5 };
    // A sample that is beyond what it can be is shown all the same.
    let (min, max) = (chart.range.min.filter(|min| *min <= low), chart.range.max.filter(|max| high <= *max));
    let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    ((low - room).max(min.unwrap_or(floor)), (high + room).min(max.unwrap_or(f64::INFINITY)))
}

fn draw_scales(
    frame: &mut Frame<'_>,
    area: Rect,
    plot: Rect,
    chart: &Chart<'_>,
    (bottom, top): (f64, f64),
    palette: &Palette,
) {
    let last = plot.height - 1;
    for y in [0, last / 2, last] {
        let share = f64::from(y) / f64::from(last.max(1));
        let label = figure::format_short(top - share * (top - bottom), chart.unit);
        let line = Line::styled(format!("{label:>width$}", width = usize::from(LABEL_WIDTH)), palette.dim);
        frame.render_widget(line, Rect { x: area.x, y: area.y + y, width: LABEL_WIDTH, height: 1 });
    }
    let n_past = chart.history.len().saturating_sub(1) as f64;
    let n_ahead = chart.band.lead_max();
    let length = |steps: f64| {
        let seconds = steps * chart.step_seconds;
        match Duration::try_from_secs_f64(seconds) {
            Ok(long) if long >= HOUR => span::format(Duration::from_secs(long.as_secs())),
            _ => format!("{} s", figure::number(seconds).trim_end_matches(".00")),
        }
    };
    let now_x = f64::from(plot.width - 1) * n_past / (n_past + n_ahead).max(1.0);
    let below = Rect { y: plot.bottom(), height: 1, ..plot };
    let past = format!("-{}", length(n_past));
    let ahead = format!("+{}", length(n_ahead));
    let at = |x: u16, text: &str| {
        let x = x.min(plot.width.saturating_sub(text.len() as u16));
        Rect { x: below.x + x, width: (text.len() as u16).min(plot.width - x), ..below }
    };
    frame.render_widget(Line::styled(past.clone(), palette.dim), at(0, &past));
    frame.render_widget(Line::styled(ahead.clone(), palette.dim), at(plot.width, &ahead));
    frame.render_widget(Line::styled("now", palette.heading), at(now_x as u16, "now"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_axis_goes_beyond_what_the_quantity_can_be() {
        let band = Band::default();
        let share = api::Range { min: Some(0.0), max: Some(1.0) };
        let of = |history: &[f64], range| bounds(&Chart { history, band: &band, unit: "", range, step_seconds: 1.0 });
        assert_eq!(of(&[0.01, 1.0], share), (0.0, 1.0));
        assert_eq!(of(&[0.0, 10.0], api::Range::default()), (0.0, 10.5));
        assert_eq!(of(&[-10.0, 0.0], api::Range::default()), (-10.5, 0.5));
        assert!(of(&[0.5, 1.5], share).1 > 1.5, "what was measured is in sight");
    }
}
