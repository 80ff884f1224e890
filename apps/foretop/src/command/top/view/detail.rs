//! One signal large: chart, model, and how its forecasts did.

use std::time::Duration;

use node_api as api;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};
use text::{figure, printable};
use units::span;

use super::super::band::Band;
use super::super::row::Row;
use super::super::state::{Detail, Far, State};
use super::chart::{self, Chart};
use super::palette::Palette;

/// Coefficients beyond these are left to `foretop ask` and the page.
const N_COEFFICIENTS_MAX: usize = 16;

/// The lightest are left to the page.
const N_SPEAKERS_MAX: usize = 3;
/// More do not fit on a line.
const N_PARAMETERS_MAX: usize = 4;
/// Fewer forecasts than these say nothing of a model.
const N_SCORED_MIN: usize = 10;

pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: &Palette) {
    let Some(row) = state.selected_row() else {
        frame.render_widget(Line::styled("this signal is gone; Esc goes back", palette.dim), area);
        return;
    };
    let model = model_lines(row, &state.detail, usize::from(area.width), palette);
    let below = Text::from([model, accuracy_lines(row, &state.detail, palette)].concat());
    let [head, plot, rest] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(5),
        Constraint::Length(u16::try_from(below.height()).unwrap_or(u16::MAX)),
    ])
    .areas(area);
    frame.render_widget(headline(row, state, palette), head);
    let Detail { forecast, far, .. } = &state.detail;
    let (history, band, step_seconds) = match far {
        Some(far) => {
            let last = far.past.last().copied().filter(|value| !value.is_nan());
            (far.past.clone(), Band::from_outlook(last, &far.outlook), far.outlook.step_seconds)
        }
        None => {
            let forecast = forecast.as_ref();
            let band = forecast.map_or_else(|| row.band(), |forecast| Band::from_forecast(row.value(), forecast));
            // As much history as there is forecast, and a minute at least.
            let n_past = (band.lead_max() as usize).max(60).min(row.history.len());
            (row.history.iter().skip(row.history.len() - n_past).copied().collect(), band, row.step_seconds)
        }
    };
    let chart = Chart { history: &history, band: &band, unit: &row.unit, range: row.range, step_seconds };
    chart::draw(frame, plot, &chart, palette);
    frame.render_widget(below, rest);
}

fn headline<'a>(row: &'a Row, state: &State, palette: &Palette) -> Text<'a> {
    let show = |value: f64| figure::format(value, &row.unit);
    let mut first = vec![
        Span::styled(row.name.as_str(), palette.heading),
        Span::raw("  "),
        Span::styled(row.value().map_or_else(|| "no value".to_owned(), show), palette.heading),
    ];
    if let Some(forecast) = &state.detail.forecast
        && let (Some(mean), Some(lower), Some(upper)) =
            (forecast.mean.last(), forecast.lower.last(), forecast.upper.last())
    {
        let seconds = forecast.step_seconds * forecast.mean.len() as f64;
        let text = format!("  in {seconds} s {} (95 %: {} to {})", show(*mean), show(*lower), show(*upper));
        first.push(Span::styled(text, palette.mean));
    }
    if let Some(far) = &state.detail.far {
        first.extend(far_text(far, &row.unit).map(|text| Span::styled(text, palette.mean)));
    }
    Text::from(vec![Line::from(first), Line::styled(row.sentence.as_str(), palette.dim)])
}

/// `  in 1d 3.2 (95 %: 1.1 to 6.0), means over 5m, a guess beyond 2h`.
fn far_text(Far { outlook, .. }: &Far, unit: &str) -> Option<String> {
    let show = |value: f64| figure::format(value, unit);
    let length = |seconds: f64| span::format(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let reach_seconds = outlook.step_seconds * outlook.median.len() as f64;
    let seen = if outlook.seen_seconds < reach_seconds {
        format!(", a guess beyond {}", length(outlook.seen_seconds))
    } else {
        String::new()
    };
    Some(format!(
        "  in {} {} (95 %: {} to {}), means over {}{seen}",
        length(reach_seconds),
        show(*outlook.median.last()?),
        show(*outlook.lower.last()?),
        show(*outlook.upper.last()?),
        length(outlook.step_seconds),
    ))
}

fn model_lines<'a>(row: &Row, detail: &Detail, width: usize, palette: &Palette) -> Vec<Line<'a>> {
    let mut lines = vec![Line::from(vec![Span::styled("model     ", palette.dim), Span::raw(row.model.clone())])];
    if let Some(problem) = &detail.problem {
        lines.extend(wrapped(&printable(problem), width).into_iter().map(|line| Line::styled(line, palette.alarm)));
    }
    let Some(series) = &detail.series else { return lines };
    if let Some(waiting) = &series.waiting {
        let why = match (waiting.reason, waiting.have, waiting.need) {
            (api::WaitingReason::Constant, ..) => "the samples do not vary".to_owned(),
            (api::WaitingReason::DidNotConverge, ..) => "no fit to these samples was found".to_owned(),
            (api::WaitingReason::TooShort, Some(have), Some(need)) => format!("{have} of {need} samples are in"),
            (api::WaitingReason::TooShort, ..) => "too few samples".to_owned(),
        };
        lines.push(Line::styled(format!("          {} waits: {why}", printable(&waiting.model)), palette.dim));
    }
    if let Some(fitted) = &series.fitted {
        lines.push(Line::styled(
            format!(
                "          mean {}, innovation variance {}, from {} samples, {} refits",
                figure::number(fitted.mean),
                figure::number(fitted.innovation_variance),
                fitted.n_samples,
                fitted.n_refits
            ),
            palette.dim,
        ));
        for speaker in fitted.speakers.iter().take(N_SPEAKERS_MAX) {
            lines.push(Line::styled(format!("          {}", speaker_text(speaker)), palette.dim));
        }
        for (name, weights) in [("", &fitted.coefficients), ("theta ", &fitted.moving_average)] {
            if !weights.is_empty() {
                lines.push(Line::styled(format!("          {name}{}", weights_text(weights)), palette.dim));
            }
        }
    }
    lines
}

/// Whole words, in lines of at most `width` characters where they fit.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `AR(2) 62 %, from 600 samples: phi1 0.910 phi2 -0.020`.
fn speaker_text(speaker: &api::Speaker) -> String {
    let percent = 100.0 * speaker.weight_ratio;
    let estimate = |one: &api::Parameter| format!("{} {}", one.name, figure::number(one.value));
    let shown: Vec<String> = speaker.parameters.iter().take(N_PARAMETERS_MAX).map(estimate).collect();
    let more = if speaker.parameters.len() > N_PARAMETERS_MAX { " …" } else { "" };
    let found = if shown.is_empty() { String::new() } else { format!(": {}{more}", shown.join(" ")) };
    printable(&format!("{} {percent:.0} %, from {} samples{found}", speaker.model, speaker.n_samples))
}

/// The first few weights, three decimals each.
fn weights_text(weights: &[f64]) -> String {
    let shown: Vec<String> = weights.iter().take(N_COEFFICIENTS_MAX).map(|weight| format!("{weight:.3}")).collect();
    let more = if weights.len() > N_COEFFICIENTS_MAX { " …" } else { "" };
    shown.join(" ") + more
}

/// Mean absolute error beside LAST and MEAN, and how often the 95 % interval held the value.
fn accuracy_lines<'a>(row: &Row, detail: &Detail, palette: &Palette) -> Vec<Line<'a>> {
    let Some(accuracy) = &detail.accuracy else { return Vec::new() };
    let header = format!(
        "{:<10}{:>8}{:>14}{:>14}{:>14}{:>12}",
        "accuracy", "lead", "mean |error|", "of LAST", "of MEAN", "95 % held"
    );
    let mut lines = vec![Line::styled(header, palette.dim)];
    for lead in &accuracy.leads {
        let seconds = format!("{} s", lead.lead_seconds);
        if (1..N_SCORED_MIN).contains(&lead.n) {
            let so_far = format!("{} of {N_SCORED_MIN} forecasts so far", lead.n);
            lines.push(Line::styled(format!("{:<10}{seconds:>8}  {so_far}", ""), palette.dim));
            continue;
        }
        let error = |statistics: Option<api::ErrorStatistics>| {
            statistics.map_or_else(|| "-".to_owned(), |s| figure::format_short(s.mean_absolute, &row.unit))
        };
        let held = lead.model.map_or_else(|| "-".to_owned(), |s| format!("{:.0} %", 100.0 * s.coverage.p95));
        let [model, last, mean] = [lead.model, lead.last, lead.mean].map(error);
        lines.push(Line::from(vec![
            Span::raw(format!("{:<10}{seconds:>8}", "")),
            Span::styled(format!("{model:>14}"), palette.mean),
            Span::raw(format!("{last:>14}{mean:>14}{held:>12}")),
        ]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_refusal_is_shown_to_its_end() {
        let refusal =
            "`load.1m` has 1 of the 4 whole steps of 1m that it takes to look 6h ahead: ask for less, or wait";
        let lines = wrapped(refusal, 40);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line.len() <= 40));
        assert_eq!(lines.join(" "), refusal);
        assert_eq!(wrapped("a-word-without-an-end and more", 8), ["a-word-without-an-end", "and more"]);
    }
}
