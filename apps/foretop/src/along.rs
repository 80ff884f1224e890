//! Slots of a series along an axis: by their times, or by their numbers if they have none.

use std::ops::Range;

use jiff::tz::TimeZone;
use picture::{Axis, Mark, Scale};
use series::Series;

/// Returns the place of a slot along the axis; slots after the last sample have one as well.
pub fn place(series: &Series, idx: usize) -> f64 {
    let timed = series.grid().and_then(|grid| Some(grid.on_clock(grid.time_of(idx)?)));
    timed.unwrap_or((idx + 1) as f64)
}

/// Returns the time of a slot as text, or its number.
pub fn text(series: &Series, idx: usize) -> String {
    let timed = series.grid().and_then(|grid| Some(grid.text_of(grid.time_of(idx)?)));
    timed.unwrap_or_else(|| format!("sample {}", idx + 1))
}

/// Returns the axis along these slots.
pub fn axis(series: &Series, slots: Range<usize>) -> Axis {
    let ends = [slots.start, slots.end.saturating_sub(1)].map(|idx| place(series, idx));
    match series.grid() {
        Some(grid) if grid.zone == TimeZone::UTC => Axis::over("time, UTC", Scale::Clock, ends),
        Some(grid) => Axis::over(format!("time, {}", grid.zone.iana_name().unwrap_or("local")), Scale::Clock, ends),
        None => Axis::over("sample", Scale::Linear, ends),
    }
}

/// Returns lines through the means of `length` samples each of these slots, one for each stretch without a gap.
pub fn lines(series: &Series, slots: Range<usize>, length: usize) -> Vec<Mark> {
    let means = series::bucket_means(&series.samples()[slots.clone()], length);
    let points: Vec<(f64, f64)> =
        slots.step_by(length).zip(means).map(|(slot, mean)| (place(series, slot), mean)).collect();
    let stretches = points.split(|(_, mean)| mean.is_nan()).filter(|stretch| !stretch.is_empty());
    stretches.map(|stretch| Mark::Line(stretch.to_vec())).collect()
}
