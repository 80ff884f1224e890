//! The few styles there are: history is neutral, one accent is for what is forecast.

use ratatui::style::{Color, Modifier, Style};

/// The accent. One of the sixteen that every terminal has, so that a user's theme applies.
const ACCENT: Color = Color::Cyan;

/// The style of each kind of thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Palette {
    pub heading: Style,
    pub dim: Style,
    pub history: Style,
    /// The interval of a forecast.
    pub band: Style,
    /// The mean of a forecast.
    pub mean: Style,
    pub selected: Style,
    pub alarm: Style,
}

impl Palette {
    /// Returns the palette for terminals with colours.
    pub fn coloured() -> Self {
        let plain = Self::plain();
        Self {
            band: Style::new().fg(ACCENT).add_modifier(Modifier::DIM),
            mean: Style::new().fg(ACCENT),
            alarm: Style::new().fg(Color::Red),
            ..plain
        }
    }

    /// Returns the palette for when colour is not wanted: weight alone.
    pub fn plain() -> Self {
        Self {
            heading: Style::new().add_modifier(Modifier::BOLD),
            dim: Style::new().add_modifier(Modifier::DIM),
            history: Style::new(),
            band: Style::new().add_modifier(Modifier::DIM),
            mean: Style::new().add_modifier(Modifier::BOLD),
            selected: Style::new().add_modifier(Modifier::REVERSED),
            alarm: Style::new().add_modifier(Modifier::BOLD),
        }
    }
}
