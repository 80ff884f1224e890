//! The curves of the paper's figures 5 to 12, and those of polling.

use mpi_run::{MalformedRecord, Outcome};
use picture::{Anchor, Axis, Chart, Colour, Mark, Panel, Picture, Place, Scale, Shape, Size};

use super::availability::Availability;
use super::pairing::Pair;
use super::record::{PING_PONG, POLLING, PWW, PingPong, Polling, PostWorkWait};
use super::table::records_by;
use super::words::{pair, size};

/// Size of a chart, without the names beside it.
const CHART: Size = Size { width: 650.0, height: 500.0 };
/// Height below a chart for the MPI library's name.
const NOTE_HEIGHT: f64 = 20.0;
const MICROSECOND_NS: f64 = 1e3;
const MEGABYTE: f64 = 1e6;

/// A line through points, with its name.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    /// Ranges in which points may lie, each at its x.
    ranges: Vec<(f64, f64, f64)>,
}

/// All curves that a result has points for, each with a name that can be a file's.
///
/// # Errors
/// The record that is not what its kind says.
pub(crate) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let trips: Vec<PingPong> = outcome.all(PING_PONG)?;
    let pww: Vec<PostWorkWait> = outcome.all(PWW)?;
    let polling: Vec<Polling> = outcome.all(POLLING)?;
    let sheets = [
        ("latency", latency(&trips)),
        ("ping-pong-bandwidth", trip_bandwidth(&trips)),
        ("pww-bandwidth", pww_bandwidth(&pww)),
        ("pww-availability", pww_availability(&pww)),
        ("post-time", post_time(&pww)),
        ("wait-time", wait_time(&pww)),
        ("polling-availability", polling_availability(&polling)),
        ("polling-bandwidth", polling_bandwidth(&polling)),
    ];
    let drawn = sheets.into_iter().filter(|(_, sheet)| !sheet.curves.is_empty());
    Ok(drawn.map(|(name, sheet)| (name.to_owned(), sheet.draw(&outcome.header.mpi))).collect())
}

/// A chart in the making.
struct Sheet {
    title: &'static str,
    caption: String,
    x: (&'static str, Scale),
    y: (&'static str, Scale),
    /// Range of the axis, where given, whatever the points.
    y_range: Option<(f64, f64)>,
    curves: Vec<Curve>,
}

impl Sheet {
    fn draw(&self, mpi: &str) -> Picture {
        let all = || self.curves.iter().flat_map(|curve| curve.points.iter().copied());
        let highs = self.curves.iter().flat_map(|curve| curve.ranges.iter().map(|range| range.2));
        let mut y = Axis::over(self.y.0, self.y.1, all().map(|point| point.1).chain(highs));
        if let Some(range) = self.y_range {
            y.range = range;
        } else if self.y.1 == Scale::Linear {
            y.range.0 = 0.0;
        }
        let coloured = || self.curves.iter().zip(Colour::APART.into_iter().cycle());
        let panel = Panel {
            chart: Chart {
                title: self.title.to_owned(),
                caption: self.caption.clone(),
                x: Axis::over(self.x.0, self.x.1, all().map(|point| point.0)),
                y,
                marks: coloured().flat_map(|(curve, colour)| curve.marks(colour)).collect(),
            },
            legend: coloured().map(|(curve, colour)| (curve.name.clone(), colour)).collect(),
        };
        let mut picture = panel.picture(CHART);
        picture.shapes.push(Shape::Words {
            text: mpi.to_owned(),
            at: Place { x: 84.0, y: picture.height + 8.0 },
            size: 12.0,
            colour: Colour::SHADE,
            anchor: Anchor::Start,
            is_upward: false,
        });
        picture.height += NOTE_HEIGHT;
        picture
    }
}

impl Curve {
    fn marks(&self, colour: Colour) -> Vec<Mark> {
        let ranges = self.ranges.iter().map(|&(x, low, high)| Mark::Track(vec![(x, low), (x, high)], colour));
        ranges.chain([Mark::Track(self.points.clone(), colour)]).collect()
    }

    /// Builds a curve without ranges.
    fn line(name: String, points: Vec<(f64, f64)>) -> Self {
        Self { name, points, ranges: Vec::new() }
    }
}

/// Figures 5 and 11.
fn latency(trips: &[PingPong]) -> Sheet {
    let y = |trip: &PingPong| trip.half_round_trip.median_ns / MICROSECOND_NS;
    Sheet {
        title: "Half round trip",
        caption: "median over batches of round trips".to_owned(),
        x: ("message size in bytes (0 is not drawn)", Scale::Logarithmic),
        y: ("half round trip in microseconds", Scale::Logarithmic),
        y_range: None,
        curves: trip_curves(trips, y),
    }
}

/// Figures 6 and 12.
fn trip_bandwidth(trips: &[PingPong]) -> Sheet {
    Sheet {
        title: "Ping-pong bandwidth",
        caption: "size by half round trip".to_owned(),
        x: ("message size in bytes (0 is not drawn)", Scale::Logarithmic),
        y: ("bandwidth in MB/s", Scale::Linear),
        y_range: None,
        curves: trip_curves(trips, |trip| trip.bandwidth_bytes_per_sec / MEGABYTE),
    }
}

fn trip_curves(trips: &[PingPong], y: impl Fn(&PingPong) -> f64) -> Vec<Curve> {
    let curve = |of_pair: Vec<&PingPong>| {
        let drawn = of_pair.iter().filter(|trip| trip.size_bytes > 0);
        Curve::line(pair(of_pair[0].pair), drawn.map(|trip| (trip.size_bytes as f64, y(trip))).collect())
    };
    records_by(trips, |trip| trip.pair).into_iter().map(curve).collect()
}

/// Figure 7.
fn pww_bandwidth(points: &[PostWorkWait]) -> Sheet {
    Sheet {
        title: "Post-work-wait: bandwidth",
        caption: "received per second of post, work and wait; flat up to where work outlasts the transfer".to_owned(),
        y: ("received in MB/s", Scale::Logarithmic),
        ..of_work(curves(points, |point| (work_us(point), point.received_bytes_per_sec / MEGABYTE)))
    }
}

/// Figures 8 and 10.
fn pww_availability(points: &[PostWorkWait]) -> Sheet {
    Sheet {
        title: "Post-work-wait: availability",
        caption: availability_caption(points.iter().filter(|point| point.n_turns > 0).map(|point| &point.availability)),
        y: ("availability", Scale::Linear),
        y_range: Some((0.0, 1.0)),
        ..of_work(availability_curves(points, |point| (work_us(point), &point.availability)))
    }
}

/// Figure 9.
fn post_time(points: &[PostWorkWait]) -> Sheet {
    Sheet {
        title: "Post-work-wait: time to post",
        caption: "where lines of longer messages lie higher, posting moves data".to_owned(),
        y: ("posting receive and send in microseconds", Scale::Logarithmic),
        ..of_work(curves(points, |point| (work_us(point), point.post.median_ns / MICROSECOND_NS)))
    }
}

/// Draws the waits that figures 7 to 10 come from: application offload is a wait that goes away with work.
fn wait_time(points: &[PostWorkWait]) -> Sheet {
    Sheet {
        title: "Post-work-wait: time to wait",
        caption: "a wait that goes away as work gets longer is progress without calls".to_owned(),
        y: ("waiting for both messages in microseconds", Scale::Logarithmic),
        ..of_work(curves(points, |point| (work_us(point), point.wait.median_ns / MICROSECOND_NS)))
    }
}

fn of_work(curves: Vec<Curve>) -> Sheet {
    Sheet {
        title: "",
        caption: String::new(),
        x: ("work between posting and waiting in microseconds", Scale::Logarithmic),
        y: ("", Scale::Linear),
        y_range: None,
        curves,
    }
}

fn polling_availability(points: &[Polling]) -> Sheet {
    Sheet {
        title: "Polling: availability",
        caption: availability_caption(points.iter().map(|point| &point.availability)),
        y: ("availability", Scale::Linear),
        y_range: Some((0.0, 1.0)),
        ..of_polls(availability_curves(points, |point| (poll_us(point), &point.availability)))
    }
}

fn polling_bandwidth(points: &[Polling]) -> Sheet {
    Sheet {
        title: "Polling: bandwidth",
        caption: "received per second; it falls where messages have to wait for the next poll".to_owned(),
        y: ("received in MB/s", Scale::Logarithmic),
        ..of_polls(curves(points, |point| (poll_us(point), point.received_bytes_per_sec / MEGABYTE)))
    }
}

fn of_polls(curves: Vec<Curve>) -> Sheet {
    Sheet { x: ("work between polls in microseconds", Scale::Logarithmic), ..of_work(curves) }
}

fn work_us(point: &PostWorkWait) -> f64 {
    point.work_interval_ns as f64 / MICROSECOND_NS
}

fn poll_us(point: &Polling) -> f64 {
    point.poll_interval_ns as f64 / MICROSECOND_NS
}

fn availability_caption<'a>(all: impl Iterator<Item = &'a Availability>) -> String {
    let left_out = all.filter(|availability| availability.interval().is_none()).count();
    let left_out = if left_out > 0 { format!("; {left_out} not measurable") } else { String::new() };
    format!("bars are intervals; one that cannot be told from 1 is drawn at the middle of its interval{left_out}")
}

/// Points of a sweep, by pair and size.
trait OfSize {
    fn key(&self) -> (Pair, u64);
}

impl OfSize for PostWorkWait {
    fn key(&self) -> (Pair, u64) {
        (self.pair, self.size_bytes)
    }
}

impl OfSize for Polling {
    fn key(&self) -> (Pair, u64) {
        (self.pair, self.size_bytes)
    }
}

fn curves<T: OfSize>(points: &[T], at: impl Fn(&T) -> (f64, f64)) -> Vec<Curve> {
    let named = named(points);
    named.into_iter().map(|(name, of_size)| Curve::line(name, of_size.into_iter().map(&at).collect())).collect()
}

/// Points without an availability are left out, and curves without such points.
fn availability_curves<T: OfSize>(points: &[T], at: impl Fn(&T) -> (f64, &Availability)) -> Vec<Curve> {
    let curve = |(name, of_size): (String, Vec<&T>)| {
        let told = || of_size.iter().map(|point| at(point));
        Curve {
            name,
            points: told().filter_map(|(x, availability)| Some((x, availability.middle()?))).collect(),
            ranges: told()
                .filter_map(|(x, availability)| availability.interval().map(|range| (x, range.lower, range.upper)))
                .collect(),
        }
    };
    named(points).into_iter().map(curve).filter(|curve| !curve.points.is_empty()).collect()
}

/// Points by pair and size. The pair is part of the name where there is more than one.
fn named<T: OfSize>(points: &[T]) -> Vec<(String, Vec<&T>)> {
    let groups = records_by(points, OfSize::key);
    let has_pairs = groups.iter().any(|group| group[0].key().0 != groups[0][0].key().0);
    let name =
        |(of, bytes): (Pair, u64)| if has_pairs { format!("{}, {}", size(bytes), pair(of)) } else { size(bytes) };
    groups.into_iter().map(|group| (name(group[0].key()), group)).collect()
}
