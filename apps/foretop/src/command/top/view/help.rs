//! Help on the keys, and on reading a line.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::palette::Palette;

const KEYS: [(&str, &str); 14] = [
    ("↑ ↓  j k", "select a signal; PageUp, PageDown, Home, End go further"),
    ("Enter", "the signal large: chart, model, accuracy"),
    ("p", "programs: who uses the host, now and in each minute kept"),
    ("Esc", "back; in the list, clear the filter"),
    ("/", "show only signals with a text in their names"),
    ("o", "one host after the other, where the node follows others"),
    ("t", "as the node lists them"),
    ("n", "sort by name"),
    ("v", "sort by value within each unit"),
    ("u", "sort by relative uncertainty: width of the interval over value"),
    ("c", "sort by change expected, as a share of the value"),
    ("r", "reverse the order; so does the same sort again"),
    ("+ -  → ←", "look further ahead, or less far"),
    ("q", "quit"),
];

const READING: [&str; 3] = [
    "Blocks are samples, one each; a blank is a gap. Dots are the 95 %",
    "interval of each of the next steps. Shares are drawn from 0 to 1,",
    "everything else from 0 to the greatest value in sight.",
];

pub fn draw(frame: &mut Frame<'_>, area: Rect, palette: &Palette) {
    let keys = KEYS
        .iter()
        .map(|(key, what)| Line::from(vec![Span::styled(format!("{key:<10}"), palette.heading), Span::raw(*what)]));
    let reading = READING.iter().map(|text| Line::styled(*text, palette.dim));
    for (line, y) in keys.chain([Line::default()]).chain(reading).zip(area.y..area.bottom()) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}
