//! A block: the samples or the remembered forecasts of one series over a stretch of time, compressed
//! without loss.
//!
//! Columns of numbers, in whole words or cut into planes of bytes (all first bytes, then all second ones), and
//! compressed by zstd (RFC 8878). Evenly spaced times come to nothing, values that repeat to a byte or two.
//! `docs/formats/store.md` has a block by its bytes.

use std::io;
use std::time::Duration;

use units::Timestamp;

/// Length of a block. Longer ones compress a little better, but what is not yet in one takes ten times the room.
pub(super) const STRETCH: Duration = Duration::from_secs(600);

/// Samples of one part of a block. A reader holds one part at a time, and 100 Hz make eight of a stretch.
pub(super) const PART_SAMPLES_MAX: usize = 8192;

/// The most rows that are unpacked from one part. Forecasts are remembered at four leads once in 10 s.
const ROWS_MAX: usize = 1 << 20;

/// Levels above cost several times as much and save less than 2 %.
const LEVEL: i32 = 9;

/// The stretch that `time` lies in.
pub(super) fn stretch_of(time: Timestamp) -> Timestamp {
    time.floor_to(STRETCH)
}

/// Layout of the values of samples, the first byte of a part. Shares of some ticks repeat, and words that repeat
/// compress to half of what planes do; of values that hardly do, planes are a tenth smaller. Both are tried.
const WORDS: u8 = 0;
const PLANES: u8 = 1;

/// A sample of a block: its label in nanoseconds, and its value.
pub(super) type Sample = (i64, f64);

/// A remembered forecast of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) lead_ns: i64,
    pub(super) t_ns: i64,
    pub(super) mean: f64,
    pub(super) standard_error: f64,
}

impl Line {
    /// The same to what it is good for: the standard error to 2^-11 of itself, the mean to 2^-10 of that. The bytes
    /// left are half as many.
    pub(super) fn rounded(self) -> Self {
        const DROPPED: u32 = f64::MANTISSA_DIGITS - 1 - 10;
        let error = self.standard_error;
        let standard_error = f64::from_bits((error.to_bits() + (1 << (DROPPED - 1))) >> DROPPED << DROPPED);
        if !standard_error.is_normal() || !self.mean.is_finite() {
            return self;
        }
        // A power of two, so that what comes out ends in zeros, and whole bounds of a quantity stay what they are.
        let quantum = f64::from_bits(standard_error.to_bits() >> 52 << 52) / 512.0;
        let mean = (self.mean / quantum).round() * quantum;
        Self { mean: if mean.is_finite() { mean } else { self.mean }, standard_error, ..self }
    }
}

/// A block that is not what its row says.
#[derive(Debug, thiserror::Error)]
#[error("a block of the store is damaged: its {n} rows, {wanted} bytes, unpack to {}", got.map_or("nothing".to_owned(), |got| format!("{got} bytes")))]
pub(super) struct Damaged {
    n: usize,
    wanted: usize,
    got: Option<usize>,
}

impl From<Damaged> for rusqlite::Error {
    fn from(damaged: Damaged) -> Self {
        Self::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, Box::new(damaged))
    }
}

/// Makes blocks, one after the other, in the same memory.
pub(super) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    body: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        Ok(Self { compressor, body: Vec::new() })
    }

    /// Samples of the stretch that begins at `start`, oldest first.
    pub(super) fn samples(&mut self, start: Timestamp, samples: &[Sample]) -> io::Result<Vec<u8>> {
        let values = samples.iter().map(|(_, value)| value.to_be_bytes());
        self.body.clear();
        self.body.push(WORDS);
        put_steps(&mut self.body, start.as_nanos(), samples.iter().map(|(t_ns, _)| *t_ns));
        self.body.extend(values.clone().flatten());
        let in_words = self.compressor.compress(&self.body)?;
        self.body[0] = PLANES;
        self.body.truncate(1 + 8 * samples.len());
        put_planes(&mut self.body, values);
        let in_planes = self.compressor.compress(&self.body)?;
        Ok(if in_planes.len() < in_words.len() { in_planes } else { in_words })
    }

    /// Forecasts for the stretch that begins at `start`, by lead and then by time.
    pub(super) fn forecasts(&mut self, start: Timestamp, lines: &[Line]) -> io::Result<Vec<u8>> {
        self.body.clear();
        put_steps(&mut self.body, 0, lines.iter().map(|line| line.lead_ns));
        put_steps(&mut self.body, start.as_nanos(), lines.iter().map(|line| line.t_ns));
        put_planes(&mut self.body, lines.iter().map(|line| line.mean.to_be_bytes()));
        put_planes(&mut self.body, lines.iter().map(|line| line.standard_error.to_be_bytes()));
        self.compressor.compress(&self.body)
    }
}

/// The `n` samples of a part.
pub(super) fn samples(start: Timestamp, n: usize, data: &[u8]) -> Result<Vec<Sample>, Damaged> {
    let body = unpack(n, n.saturating_mul(16).saturating_add(1), data)?;
    let (times, values) = body[1..].split_at(8 * n);
    let times = steps(start.as_nanos(), times).into_iter();
    Ok(match body[0] {
        PLANES => times.zip(planes(values).map(f64::from_be_bytes)).collect(),
        _ => times.zip(values.as_chunks().0.iter().map(|word| f64::from_be_bytes(*word))).collect(),
    })
}

/// The `n` forecasts of a block.
pub(super) fn forecasts(start: Timestamp, n: usize, data: &[u8]) -> Result<Vec<Line>, Damaged> {
    let body = unpack(n, n.saturating_mul(32), data)?;
    let (leads, rest) = body.split_at(8 * n);
    let (times, rest) = rest.split_at(8 * n);
    let (means, errors) = rest.split_at(8 * n);
    let moments = steps(0, leads).into_iter().zip(steps(start.as_nanos(), times));
    let figures = planes(means).map(f64::from_be_bytes).zip(planes(errors).map(f64::from_be_bytes));
    let lines = moments.zip(figures);
    Ok(lines.map(|((lead_ns, t_ns), (mean, standard_error))| Line { lead_ns, t_ns, mean, standard_error }).collect())
}

fn unpack(n: usize, wanted: usize, data: &[u8]) -> Result<Vec<u8>, Damaged> {
    let damaged = |got| Damaged { n, wanted, got };
    if n > ROWS_MAX {
        return Err(damaged(None));
    }
    let body = zstd::bulk::decompress(data, wanted).map_err(|_| damaged(None))?;
    if body.len() == wanted { Ok(body) } else { Err(damaged(Some(body.len()))) }
}

/// Differences of differences: zeros for what goes on at the same pace. They wrap around, so that any numbers come
/// back.
fn put_steps(body: &mut Vec<u8>, first: i64, numbers: impl Iterator<Item = i64> + Clone) {
    let differences = numbers.scan((first, 0_i64), |(last, pace), number| {
        let step = number.wrapping_sub(*last);
        let change = step.wrapping_sub(*pace);
        (*last, *pace) = (number, step);
        Some(change.to_be_bytes())
    });
    put_planes(body, differences);
}

fn steps(first: i64, bytes: &[u8]) -> Vec<i64> {
    let changes = planes(bytes).map(i64::from_be_bytes);
    let numbers = changes.scan((first, 0_i64), |(last, pace), change| {
        *pace = pace.wrapping_add(change);
        *last = last.wrapping_add(*pace);
        Some(*last)
    });
    numbers.collect()
}

fn put_planes<const WIDTH: usize>(body: &mut Vec<u8>, words: impl Iterator<Item = [u8; WIDTH]> + Clone) {
    for plane in 0..WIDTH {
        body.extend(words.clone().map(|word| word[plane]));
    }
}

fn planes<const WIDTH: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; WIDTH]> {
    let n = bytes.len() / WIDTH;
    (0..n).map(move |idx| std::array::from_fn(|plane| bytes[plane * n + idx]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp::from_nanos(1_795_252_200_000_000_000);

    fn same(a: &[Sample], b: &[Sample]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.to_bits() == b.1.to_bits())
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back_to_the_bit(bits in prop::collection::vec((any::<i64>(), any::<u64>()), 1..200)) {
            let given: Vec<Sample> = bits.iter().map(|(t_ns, bits)| (*t_ns, f64::from_bits(*bits))).collect();
            let data = Packer::new().unwrap().samples(START, &given).unwrap();
            prop_assert!(same(&samples(START, given.len(), &data).unwrap(), &given));
        }

        #[test]
        fn forecasts_come_back(rows in prop::collection::vec((any::<i64>(), any::<i64>(), any::<f64>(), 0_f64..1e9), 1..200)) {
            let line = |(lead_ns, t_ns, mean, standard_error)| Line { lead_ns, t_ns, mean, standard_error };
            let given: Vec<Line> = rows.into_iter().map(line).collect();
            let data = Packer::new().unwrap().forecasts(START, &given).unwrap();
            let read = forecasts(START, given.len(), &data).unwrap();
            prop_assert_eq!(format!("{read:?}"), format!("{given:?}"));
        }

        #[test]
        fn a_forecast_is_rounded_to_what_its_error_can_tell(mean in -1e12..1e12, error in 1e-9..1e9) {
            let line = Line { lead_ns: 1, t_ns: 1, mean, standard_error: error }.rounded();
            prop_assert!((line.mean - mean).abs() <= error / 1000.0, "{} instead of {mean}", line.mean);
            prop_assert!((line.standard_error - error).abs() <= error / 2000.0, "{}", line.standard_error);
            prop_assert_eq!(line.rounded(), line);
        }

        #[test]
        fn any_bytes_are_taken_or_refused(n in 0_usize..100, data in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = (samples(START, n, &data), forecasts(START, n, &data));
        }
    }

    #[test]
    fn rounding_leaves_alone_what_has_no_error() {
        for (mean, standard_error) in [(0.1, 0.0), (0.1, f64::NAN), (f64::INFINITY, 1.0), (0.1, f64::INFINITY)] {
            let line = Line { lead_ns: 1, t_ns: 1, mean, standard_error };
            assert_eq!(format!("{:?}", line.rounded()), format!("{line:?}"));
        }
        let line = Line { lead_ns: 1, t_ns: 1, mean: 1.0, standard_error: 0.3 };
        assert_eq!(line.rounded().mean, 1.0);
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let given: Vec<Sample> =
            (0..600).map(|k| (START.as_nanos() + k * 1_000_000_000, (k * k % 101) as f64)).collect();
        let data = Packer::new().unwrap().samples(START, &given).unwrap();
        for idx in 0..data.len() {
            let mut changed = data.clone();
            changed[idx] ^= 0x10;
            let read = samples(START, given.len(), &changed);
            assert!(read.is_err() || same(&read.unwrap(), &given), "byte {idx}");
        }
        let message = samples(START, 599, &data).unwrap_err().to_string();
        assert_eq!(message, "a block of the store is damaged: its 599 rows, 9585 bytes, unpack to nothing");
    }

    #[test]
    fn shares_of_ticks_take_two_bytes_a_sample_and_what_does_not_change_next_to_nothing() {
        let second = 1_000_000_000;
        let pack = |value: &dyn Fn(i64) -> f64| {
            let given: Vec<Sample> = (0..600).map(|k| (START.as_nanos() + k * second, value(k))).collect();
            Packer::new().unwrap().samples(START, &given).unwrap().len()
        };
        let busy = |k: i64| ((k * k * 7919) % 101) as f64 / 100.0;
        let (constant, shares) = (pack(&|_| 0.1), pack(&busy));
        assert!(constant <= 50 && shares <= 1200, "{constant} and {shares} bytes");
    }

    /// The example of `docs/formats/store.md`.
    #[test]
    fn a_block_by_its_bytes() {
        let second = 1_000_000_000;
        let given: Vec<Sample> =
            [0.25, 0.25, 0.5].iter().zip(0..).map(|(value, k)| (START.as_nanos() + k * second, *value)).collect();
        let data = Packer::new().unwrap().samples(START, &given).unwrap();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        expect_test::expect![
            "01000000000000000000000000003b00009a0000ca000000003f3f3fd0d0e0000000000000000000000000000000000000"
        ]
        .assert_eq(&hex(&zstd::bulk::decompress(&data, 1000).unwrap()));
        expect_test::expect!["28b52ffd2431d500008001003b00009a0000ca3f3f3fd0d0e0000300b8312eace10016bd48390d"]
            .assert_eq(&hex(&data));
        assert!(same(&samples(START, 3, &data).unwrap(), &given));
    }
}
