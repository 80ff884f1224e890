//! A signal in one line: history in blocks, one for each sample, then the forecast's band in Braille dots, one
//! character for each step ahead.

use super::super::band::Band;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The dots of a Braille character's left and right column, lowest first (Unicode, chapter 21.1).
const DOTS: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
const BRAILLE: u32 = 0x2800;

/// The values at the bottom and the top of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    bottom: f64,
    top: f64,
}

impl Scale {
    /// Makes a scale from 0, or from the least value if that is below 0, to the greatest; for a share always from 0 to
    /// 1.
    pub fn of(history: &[f64], band: &Band, unit: &str) -> Self {
        if unit == "ratio" {
            return Self { bottom: 0.0, top: 1.0 };
        }
        let known = history.iter().copied().filter(|value| !value.is_nan());
        let (low, high) = band.reach().unwrap_or((0.0, 0.0));
        let (bottom, top) = known.fold((low.min(0.0), high.max(0.0)), |(low, high), x| (low.min(x), high.max(x)));
        Self { bottom, top }
    }

    /// Returns the height of a value, from 0 at the bottom to 1 at the top; 0 if both are the same.
    fn share(self, value: f64) -> f64 {
        let span = self.top - self.bottom;
        if span > 0.0 { ((value - self.bottom) / span).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The newest samples, as many as there is room for, on the right.
pub fn history(samples: &[f64], scale: Scale, width: usize) -> String {
    let shown = &samples[samples.len().saturating_sub(width)..];
    let block = |value: &f64| match value {
        value if value.is_nan() => ' ',
        value => BLOCKS[(scale.share(*value) * 7.0).round() as usize],
    };
    let blocks: String = shown.iter().map(block).collect();
    format!("{blocks:>width$}")
}

/// The band over the next `width` steps; blank where there is none.
pub fn ahead(band: &Band, scale: Scale, width: usize) -> String {
    let column = |lead: f64, dots: [u8; 4]| {
        let Some(point) = band.at(lead) else { return 0 };
        let level = |value: f64| (scale.share(value) * 3.0).round() as usize;
        let (low, high) = (level(point.lower), level(point.upper));
        dots[low..=high.max(low)].iter().fold(0, |mask, dot| mask | dot)
    };
    let cell = |step: usize| {
        let mask = column(step as f64 + 0.5, DOTS[0]) | column(step as f64 + 1.0, DOTS[1]);
        char::from_u32(BRAILLE + u32::from(mask)).filter(|_| mask != 0).unwrap_or(' ')
    };
    (0..width).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use node_api::LeadForecast;

    use super::*;

    fn band(lower: f64, upper: f64) -> Band {
        let forecast =
            LeadForecast { leads: vec![1, 4], mean: vec![0.5; 2], lower: vec![lower; 2], upper: vec![upper; 2] };
        Band::from_leads(None, &forecast)
    }

    #[test]
    fn a_gap_is_blank() {
        let scale = Scale::of(&[], &Band::default(), "ratio");
        assert_eq!(history(&[0.0, f64::NAN, 1.0], scale, 5), "  ▁ █");
        assert_eq!(history(&[0.0, f64::NAN, 1.0], scale, 1), "█");
    }

    #[test]
    fn the_band_fills_what_lies_between_its_bounds() {
        let scale = Scale::of(&[], &Band::default(), "ratio");
        assert_eq!(ahead(&band(0.0, 1.0), scale, 5), "⢸⣿⣿⣿ ");
        assert_eq!(ahead(&band(0.0, 0.0), scale, 3), "⢀⣀⣀");
        assert_eq!(ahead(&Band::default(), scale, 3), "   ");
    }

    #[test]
    fn bounds_the_wrong_way_round_do_no_harm() {
        let scale = Scale::of(&[], &Band::default(), "ratio");
        assert_eq!(ahead(&band(1.0, 0.0), scale, 2), "⠈⠉");
    }

    #[test]
    fn a_signal_that_is_always_0_lies_at_the_bottom() {
        let scale = Scale::of(&[0.0, 0.0], &Band::default(), "bytes");
        assert_eq!(history(&[0.0, 0.0], scale, 2), "▁▁");
    }
}
