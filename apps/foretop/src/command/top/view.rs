//! Rendering of a state to a frame. Everything here is a pure function of its arguments.

mod chart;
mod detail;
mod help;
mod list;
mod palette;
mod processes;
mod spark;

use node_api::HostLimits;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use text::figure;

use super::state::{Link, Mode, ShownHost, State};
pub use list::HEADER_HEIGHT;
pub use palette::Palette;

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, state: &State, palette: &Palette) {
    let [title, alarms, body, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(n_alarm_lines(state)),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(title_line(state, palette), title);
    frame.render_widget(alarm_line(state, palette), alarms);
    match state.mode {
        Mode::Help => help::draw(frame, body, palette),
        Mode::Detail => detail::draw(frame, body, state, palette),
        Mode::Processes => processes::draw(frame, body, &state.processes, palette),
        Mode::List | Mode::Filter => list::draw(frame, body, state, palette),
    }
    draw_footer(frame, footer, state, palette);
}

/// Returns the number of lines that the list takes when nothing of it is cut off.
pub fn height_of_all(state: &State) -> u16 {
    let n_lines = u16::try_from(state.visible().len()).unwrap_or(u16::MAX - HEADER_HEIGHT - 3);
    n_lines + n_alarm_lines(state) + HEADER_HEIGHT + 2
}

/// Warnings and problems have a line where there are any.
fn n_alarm_lines(state: &State) -> u16 {
    u16::from(!(state.warnings.is_empty() && state.problems.is_empty()))
}

fn title_line<'a>(state: &'a State, palette: &Palette) -> Line<'a> {
    let host = state.node.as_ref().map_or("", |node| node.host.as_str());
    let shown = match &state.host {
        ShownHost::All => "",
        ShownHost::Own => "  this host alone",
        ShownHost::Followed(host) => &format!("  {host} alone"),
    };
    let limits = state.node.as_ref().and_then(|node| node.limits).map(limits_text).unwrap_or_default();
    let rhythm = state.node.as_ref().map_or_else(String::new, |node| format!("  every {} s", node.step_seconds));
    let (link, style) = match &state.link {
        Link::Connecting => ("connecting".to_owned(), palette.dim),
        Link::Live => ("live".to_owned(), palette.dim),
        Link::Lost { reason } => (format!("not connected: {reason}"), palette.alarm),
    };
    Line::from(vec![
        Span::styled("foretop", palette.heading),
        Span::raw("  "),
        Span::styled(format!("{host}{shown}"), palette.heading),
        Span::raw(limits),
        Span::raw("  "),
        Span::styled(format!("{}  ", state.place), palette.dim),
        Span::styled(link, style),
        Span::styled(rhythm, palette.dim),
    ])
}

/// The limits in words, to stand behind the name of the host.
fn limits_text(limits: HostLimits) -> String {
    let memory = limits.memory_bytes.map(|bytes| figure::format(bytes as f64, "bytes"));
    let cores = limits.cpu_cores.map(|cores| figure::format(cores, "cores"));
    let limits: Vec<String> = memory.into_iter().chain(cores).collect();
    format!(", limited to {}", limits.join(" and "))
}

fn alarm_line<'a>(state: &State, palette: &Palette) -> Line<'a> {
    Line::styled([&state.warnings[..], &state.problems].concat().join("; "), palette.alarm)
}

fn draw_footer(frame: &mut Frame<'_>, area: Rect, state: &State, palette: &Palette) {
    let line = match state.mode {
        Mode::Filter => Line::from(vec![
            Span::styled("filter ", palette.dim),
            Span::styled(&state.filter, palette.heading),
            Span::styled("_", palette.heading),
            Span::styled("  Enter keeps it, Esc clears it", palette.dim),
        ]),
        Mode::Help => Line::styled("any key goes back", palette.dim),
        Mode::Detail => Line::styled("Esc list   + - horizon   ↑ ↓ signal   ? help   q quit", palette.dim),
        Mode::Processes => Line::styled("← → minute   End now   c m r w sort   Esc signals   q quit", palette.dim),
        Mode::List => {
            Line::styled("/ filter  t n v u c sort  r reverse  + - horizon  Enter detail  ? help  q quit", palette.dim)
        }
    };
    frame.render_widget(line, area);
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use ratatui::style::Modifier;

    use super::super::sample;
    use super::super::snapshot::to_text;
    use super::super::state::Detail;
    use super::*;

    #[track_caller]
    fn check(state: &State, size: (u16, u16), expected: &Expect) {
        expected.assert_eq(&to_text(state, size.0, size.1).unwrap());
    }

    #[test]
    fn the_first_line_has_the_limits_of_the_node() {
        let mut state = sample::state();
        let limits = HostLimits { memory_bytes: Some(300 << 20), cpu_cores: Some(1.5) };
        state.node.as_mut().unwrap().limits = Some(limits);
        let text = to_text(&state, 80, 4).unwrap();
        let first = "foretop  db1, limited to 300 MiB and 1.50 cores  http://127.0.0.1:7311  live";
        assert!(text.starts_with(first), "{text}");
        let cores_alone = HostLimits { memory_bytes: None, ..limits };
        assert_eq!(limits_text(cores_alone), ", limited to 1.50 cores");
    }

    #[test]
    fn the_list_shows_history_running_into_the_band() {
        check(
            &sample::state(),
            (96, 8),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  live  every 1 s
                SIGNAL↓                         NOW                    AHEAD          IN 30s        95 % BETWEEN
                cpu.availability.vmstat      70.0 % ▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▆▆▆▆⠚⠛⠛⠛⠛⠛⠛⠛⠛      85.0 %      63.8 … 100.0 %
                load.1m                  1.97 tasks ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃⠤⠤⠤⠤⠤⠤⠤⠤⠶  3.00 tasks   1.59 … 4.41 tasks
                memory.available           11.2 GiB ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇⠉⠉⠉⠉⠉⠉⠉⠉⠉    11.2 GiB     10.5 … 11.8 GiB
                swap.used                         - ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁

                / filter  t n v u c sort  r reverse  + - horizon  Enter detail  ? help  q quit
            "#]],
        );
    }

    #[test]
    fn eighty_columns_have_room_for_heads_and_keys() {
        let shown = to_text(&sample::state(), 80, 8).unwrap();
        assert!(shown.contains("AHEAD") && shown.contains("95 % BETWEEN\n") && shown.contains("q quit\n"), "{shown}");
    }

    #[test]
    fn a_narrow_terminal_keeps_name_and_value() {
        check(
            &sample::state(),
            (40, 7),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  liv
                SIGNAL↓                  NOW      IN 30s
                cpu.availabilit…      70.0 %      85.0 %
                load.1m           1.97 tasks  3.00 tasks
                memory.available    11.2 GiB    11.2 GiB
                swap.used                  -
                / filter  t n v u c sort  r reverse  + -
            "#]],
        );
    }

    #[test]
    fn sixty_columns_keep_the_forecast_and_its_interval() {
        check(
            &sample::state(),
            (60, 7),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  live  every 1 s
                SIGNAL↓                  NOW      IN 30s        95 % BETWEEN
                cpu.availabilit…      70.0 %      85.0 %      63.8 … 100.0 %
                load.1m           1.97 tasks  3.00 tasks   1.59 … 4.41 tasks
                memory.available    11.2 GiB    11.2 GiB     10.5 … 11.8 GiB
                swap.used                  -
                / filter  t n v u c sort  r reverse  + - horizon  Enter deta
            "#]],
        );
    }

    #[test]
    fn a_few_forecasts_are_no_accuracy() {
        let mut state = sample::state();
        state.selected = Some("load.1m".to_owned());
        state.mode = Mode::Detail;
        state.detail = sample::detail();
        state.detail.accuracy.as_mut().unwrap().leads[0].n = 1;
        let shown = to_text(&state, 90, 26).unwrap();
        assert!(shown.contains("1 s  1 of 10 forecasts so far"), "{shown}");
    }

    #[test]
    fn the_models_that_auto_weighs_are_shown() {
        let mut state = sample::state();
        state.selected = Some("load.1m".to_owned());
        state.mode = Mode::Detail;
        state.detail = sample::detail();
        let fitted = state.detail.series.as_mut().unwrap().fitted.as_mut().unwrap();
        let parameters = [("phi1", 0.91), ("phi2", -0.02)];
        let parameters = parameters.map(|(name, value)| node_api::Parameter { name: name.to_owned(), value }).to_vec();
        let (model, leads) = ("AR(2)".to_owned(), Vec::new());
        fitted.speakers =
            vec![node_api::Speaker { model, weight_ratio: 0.616, n_samples: 59, n_fits: 3, parameters, leads }];
        let shown = to_text(&state, 90, 26).unwrap();
        assert!(shown.contains("AR(2) 62 %, from 59 samples: phi1 0.91 phi2 -0.02"), "{shown}");
    }

    #[test]
    fn the_large_view_shows_chart_model_and_accuracy() {
        let mut state = sample::state();
        state.selected = Some("load.1m".to_owned());
        state.mode = Mode::Detail;
        state.detail = sample::detail();
        check(
            &state,
            (90, 26),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  live  every 1 s
                load.1m  1.97 tasks  in 60 s 4.00 tasks (95 %: 2.00 tasks to 6.00 tasks)
                What it is, in a sentence.
                 6.30 tasks                                                                             ⢀⡀
                                                                                                   ⢀⣠⣤⣶⣾⣿⡇
                                                                                              ⣀⣠⣴⣶⣿⣿⣿⣿⣿⣿⣿⡇
                                                                                         ⢀⣠⣤⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
                                                                                    ⣀⣠⣴⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
                                                                               ⢀⣠⣤⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⢀⣀⡠⠤⠄
                                                                           ⢀⣠⣴⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⢀⣀⠤⠤⠔⠒⠊⠉⠁⣿⣿⣿⡇
                 3.15 tasks                                            ⢀⣠⣴⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣀⣀⡠⠤⠔⠒⠊⠉⠁⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
                                                                    ⢀⣤⣾⣿⣿⣿⣿⣿⣿⣀⣀⠤⠤⠒⠒⠉⠉⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
                                                                   ⣴⢀⣀⡠⠤⠔⠒⠊⠉⠉⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
                                                            ⢀⣀⡠⠤⠤⠒⠒⠉⠁⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡿⠿⠿⠿⠿⠟⠛⠛⠛⠛⠋⠁
                                                    ⣀⣀⡠⠤⠔⠒⠊⠉⠁        ⠉⠉⠉⠛⠛⠛⠛⠛⠛⠛⠛⠛⠛⠛⠉⠉⠉⠉⠉⠉⠁
                                            ⢀⣀⠤⠤⠒⠒⠉⠉
                                    ⣀⣀⠤⠔⠒⠊⠉⠉⠁
                 0.00 tasks ⣀⡠⠤⠔⠒⠒⠉⠉
                            -59 s                                 now                                +60 s
                model     AR(16)
                          mean 1.00, innovation variance 4.0e-4, from 59 samples, 1 refits
                          0.910 -0.020
                accuracy      lead  mean |error|       of LAST       of MEAN   95 % held
                               1 s    0.04 tasks    0.06 tasks    0.08 tasks        95 %
                              60 s             -             -             -           -
                Esc list   + - horizon   ↑ ↓ signal   ? help   q quit
            "#]],
        );
    }

    #[test]
    fn a_day_ahead_stands_beside_a_day_of_the_past() {
        let mut state = sample::state();
        state.selected = Some("load.1m".to_owned());
        state.mode = Mode::Detail;
        state.detail = Detail { forecast: None, far: Some(sample::far()), ..sample::detail() };
        let text = to_text(&state, 120, 20).unwrap();
        let head = "in 1d 3.00 tasks (95 %: 1.00 tasks to 5.00 tasks), means over 5m, a guess beyond 2h";
        assert!(text.contains(head), "{text}");
        assert!(text.contains("-23h 55m") && text.contains("+1d"), "{text}");
    }

    #[test]
    fn a_node_that_went_away_is_said_to_be_away() {
        let mut state = sample::state();
        state.link = Link::Lost { reason: "connection refused".to_owned() };
        state.problems = vec!["the store cannot be written: disk full".to_owned()];
        state.warnings = vec!["warning: load.1m > 4 within 30m: 85 %".to_owned()];
        state.filter = "load".to_owned();
        state.mode = Mode::Filter;
        check(
            &state,
            (96, 6),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  not connected: connection refused  every 1 s
                warning: load.1m > 4 within 30m: 85 %; the store cannot be written: disk full
                SIGNAL↓         NOW                               AHEAD               IN 30s        95 % BETWEEN
                load.1m  1.97 tasks ▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃⠤⠤⠤⠤⠤⠤⠤⠤⠶⠶⠶⠶⠶⠶  3.00 tasks   1.59 … 4.41 tasks

                filter load_  Enter keeps it, Esc clears it
            "#]],
        );
    }

    #[test]
    fn help_names_every_key() {
        let mut state = sample::state();
        state.mode = Mode::Help;
        check(
            &state,
            (72, 21),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  live  every 1 s
                ↑ ↓  j k  select a signal; PageUp, PageDown, Home, End go further
                Enter     the signal large: chart, model, accuracy
                p         programs: who uses the host, now and in each minute kept
                Esc       back; in the list, clear the filter
                /         show only signals with a text in their names
                o         one host after the other, where the node follows others
                t         as the node lists them
                n         sort by name
                v         sort by value within each unit
                u         sort by relative uncertainty: width of the interval over value
                c         sort by change expected, as a share of the value
                r         reverse the order; so does the same sort again
                + -  → ←  look further ahead, or less far
                q         quit

                Blocks are samples, one each; a blank is a gap. Dots are the 95 %
                interval of each of the next steps. Shares are drawn from 0 to 1,
                everything else from 0 to the greatest value in sight.

                any key goes back
            "#]],
        );
    }

    #[test]
    fn no_size_makes_it_fail() {
        let mut state = sample::state();
        state.selected = Some("load.1m".to_owned());
        state.detail = sample::detail();
        for mode in [Mode::List, Mode::Filter, Mode::Help, Mode::Detail] {
            state.mode = mode;
            for (width, height) in [(1, 1), (2, 30), (30, 2), (13, 5), (400, 100)] {
                to_text(&state, width, height).unwrap();
            }
        }
    }

    #[test]
    fn without_colour_the_forecast_is_still_told_from_the_history() {
        let plain = Palette::plain();
        assert!(plain.band.fg.is_none() && plain.selected.add_modifier.contains(Modifier::REVERSED));
        assert_ne!(plain.band, plain.history);
    }
}
