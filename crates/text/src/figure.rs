//! Figures as people read them: three or four digits, and the unit of the series.

const BINARY: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const DECIMAL: [&str; 5] = ["", "k", "M", "G", "T"];

/// Returns `value` in `unit`, as short as possible: `0.97`, `1.46 GiB`, `12.3 k packets/s`.
#[must_use]
pub fn format(value: f64, unit: &str) -> String {
    match unit {
        "ratio" | "" => number(value),
        "bytes" => scaled(value, 1024.0, &BINARY, ""),
        "bytes/s" => scaled(value, 1024.0, &BINARY, "/s"),
        "seconds" => seconds(value),
        "celsius" => format(value, "°C"),
        "watts" => format(value, "W"),
        _ if value.abs() < 10_000.0 => format!("{} {unit}", number(value)),
        _ => format!("{} {unit}", scaled(value, 1000.0, &DECIMAL, "")),
    }
}

/// Returns `value` as [`format()`] does, but for a column: shares in percent, and units in as few letters as possible:
/// `12.3 kpkt/s`.
#[must_use]
pub fn format_short(value: f64, unit: &str) -> String {
    let unit = match unit {
        "ratio" => return format!("{:.1} %", 100.0 * value),
        "" | "bytes" | "bytes/s" | "seconds" => return format(value, unit),
        "packets/s" => "pkt/s",
        "operations/s" => "op/s",
        "celsius" => "°C",
        "watts" => "W",
        unit => unit,
    };
    if value.abs() < 10_000.0 {
        return format!("{} {unit}", number(value));
    }
    let scaled = scaled(value, 1000.0, &DECIMAL, "");
    // `12.3 k` and `pkt/s` are `12.3 kpkt/s`.
    format!("{scaled}{}{unit}", if scaled.contains(' ') { "" } else { " " })
}

/// Two decimals from 0.01 to 100, else three or more significant digits.
#[must_use]
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        "0.00".to_owned()
    } else if !(0.001..1e15).contains(&magnitude) {
        format!("{value:.1e}")
    } else if magnitude < 0.01 {
        format!("{value:.4}")
    } else if magnitude < 100.0 {
        format!("{value:.2}")
    } else if magnitude < 1000.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A length of time in the unit that leaves something in front of the point: `340 us`, `12.3 ms`, `1.50 s`.
fn seconds(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        0.0 => (1.0, "s"),
        magnitude if magnitude < 1e-3 => (1e6, "us"),
        magnitude if magnitude < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", number(value * scale))
}

fn scaled(value: f64, base: f64, names: &[&str], suffix: &str) -> String {
    let mut rest = value;
    let mut idx = 0;
    // 999.5 would round to four digits in front of the point, and 1 of the next size is shorter.
    while rest.abs() >= base * 0.9995 && idx + 1 < names.len() {
        rest /= base;
        idx += 1;
    }
    let figure = match rest.abs() {
        _ if idx == 0 && rest.fract() == 0.0 => format!("{rest:.0}"),
        _ => three_digits(rest),
    };
    format!("{figure} {}{suffix}", names[idx]).trim_end().to_owned()
}

/// The unit beside an axis for amounts up to `greatest` in `unit`, and what they are multiplied by: `("GiB", 2^-30)`.
#[must_use]
pub fn axis_unit(greatest: f64, unit: &str) -> (String, f64) {
    match unit {
        "ratio" => ("%".to_owned(), 100.0),
        "bytes" | "bytes/s" => {
            let power = ((greatest.abs().max(1.0).log2() / 10.0) as usize).min(BINARY.len() - 1);
            (format!("{}{}", BINARY[power], &unit["bytes".len()..]), 1024.0_f64.powi(-(power as i32)))
        }
        unit => (unit.to_owned(), 1.0),
    }
}

/// Six significant digits, in plain notation where that is not longer than a line of zeros.
#[must_use]
pub fn six_digits(value: f64) -> String {
    let exponent = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    match exponent {
        -5..=5 => format!("{value:.*}", usize::try_from(5 - exponent).unwrap_or(0)),
        6..=14 => format!("{value:.0}"),
        _ => format!("{value:.5e}"),
    }
}

/// A measured length of time with three digits and the unit that suits: `812 ns`, `1.23 us`, `45.6 ms`, `3.00 s`.
#[must_use]
pub fn span_ns(ns: f64) -> String {
    match ns.abs() {
        size if !size.is_finite() => "not known".to_owned(),
        size if size < 999.5 => format!("{ns:.0} ns"),
        size if size < 999.5e3 => format!("{} us", three_digits(ns / 1e3)),
        size if size < 999.5e6 => format!("{} ms", three_digits(ns / 1e6)),
        _ => format!("{} s", three_digits(ns / 1e9)),
    }
}

/// A rate of bytes by powers of 1000, as networks are sold: `12.3 kB/s`, `1.50 GB/s`.
#[must_use]
pub fn bytes_per_sec(rate: f64) -> String {
    match rate {
        rate if rate < 999.5e3 => format!("{} kB/s", three_digits(rate / 1e3)),
        rate if rate < 999.5e6 => format!("{} MB/s", three_digits(rate / 1e6)),
        rate => format!("{} GB/s", three_digits(rate / 1e9)),
    }
}

/// A share in percent; a small one is not rounded to nothing: `0.0012 %`, `0.67 %`, `25.0 %`, `100 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent != 0.0 && percent.abs() < 0.01 => format!("{percent:.4} %"),
        percent => format!("{} %", three_digits(percent)),
    }
}

/// A number of things that take an `s` where there are several: `1 rank`, `2 ranks`, `0 ranks`.
#[must_use]
pub fn counted(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Three digits, at most two of them after the point.
#[must_use]
pub fn three_digits(value: f64) -> String {
    let n_decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.n_decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_unit_in_which_its_numbers_are_short() {
        let gib = f64::from(1 << 30);
        assert_eq!(axis_unit(3.0 * gib, "bytes"), ("GiB".to_owned(), 1.0 / gib));
        assert_eq!(axis_unit(0.0, "bytes/s"), ("B/s".to_owned(), 1.0));
        assert_eq!(axis_unit(0.5, "ratio"), ("%".to_owned(), 100.0));
        assert_eq!(axis_unit(5.0, "tasks"), ("tasks".to_owned(), 1.0));
    }

    #[track_caller]
    fn check(value: f64, unit: &str, expected: &str) {
        assert_eq!(format(value, unit), expected);
    }

    #[test]
    fn lengths_of_time_are_said_in_the_unit_that_fits() {
        check(0.0, "seconds", "0.00 s");
        check(0.000_34, "seconds", "340.0 us");
        check(0.0123, "seconds", "12.30 ms");
        check(1.5, "seconds", "1.50 s");
    }

    #[test]
    fn shares_have_two_decimals_and_no_unit() {
        check(0.931, "ratio", "0.93");
        check(1.0, "ratio", "1.00");
        check(0.0, "ratio", "0.00");
    }

    #[test]
    fn what_is_small_is_not_said_to_be_nothing() {
        check(0.004, "ratio", "0.0040");
        check(0.000_04, "tasks", "4.0e-5 tasks");
    }

    #[test]
    fn bytes_count_by_1024() {
        check(0.0, "bytes", "0 B");
        check(1023.0, "bytes", "1023 B");
        check(1023.9 * 1024.0, "bytes", "1.00 MiB");
        check(1536.0, "bytes/s", "1.50 KiB/s");
        check(-2.5 * 1024.0 * 1024.0 * 1024.0, "bytes", "-2.50 GiB");
        check(1e300, "bytes", &format!("{:.0} EiB", 1e300 / 1024_f64.powi(6)));
    }

    #[test]
    fn a_column_has_its_units_in_few_letters() {
        let shown = [(0.123, "ratio"), (1.966, "tasks"), (12_345.0, "packets/s"), (8.0, "operations/s"), (3.0, "")]
            .map(|(value, unit)| format_short(value, unit));
        assert_eq!(shown, ["12.3 %", "1.97 tasks", "12.3 kpkt/s", "8.00 op/s", "3.00"]);
        assert_eq!(["celsius", "watts"].map(|unit| format_short(-3.0, unit)), ["-3.00 °C", "-3.00 W"]);
    }

    #[test]
    fn other_units_count_by_1000() {
        check(12_345.0, "packets/s", "12.3 k packets/s");
        check(999.9, "packets/s", "999.9 packets/s");
        check(3.0, "cores", "3.00 cores");
        check(45.123, "celsius", "45.12 °C");
        check(2412.0, "rpm", "2412 rpm");
        check(12_345.0, "watts", "12.3 k W");
    }

    #[test]
    fn tables_show_six_digits() {
        let shown = [0.0, 48.985_573_631, -0.001_234_567_8, 123_456.7, 1e6, 1e20].map(six_digits);
        assert_eq!(shown, ["0.00000", "48.9856", "-0.00123457", "123457", "1000000", "1.00000e20"]);
    }

    #[test]
    fn measured_times_and_rates_have_three_digits() {
        let spans = [0.0, 999.4, 999.6, 12_345.0, 9_999.0, -1_500.0, 999_600.0, 2.5e9, 1.106e12, f64::NAN].map(span_ns);
        let expected =
            ["0 ns", "999 ns", "1.00 us", "12.3 us", "10.0 us", "-1.50 us", "1.00 ms", "2.50 s", "1106 s", "not known"];
        assert_eq!(spans, expected);
        assert_eq!([0.0, 12_340.0, 1.5e9].map(bytes_per_sec), ["0.00 kB/s", "12.3 kB/s", "1.50 GB/s"]);
    }

    #[test]
    fn small_shares_are_not_rounded_to_nothing() {
        assert_eq!(
            [0.0, 0.000_012, 0.0067, 0.25, 1.0].map(percent),
            ["0.00 %", "0.0012 %", "0.67 %", "25.0 %", "100 %"]
        );
    }

    #[test]
    fn one_thing_is_no_several() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "rank")), ["0 ranks", "1 rank", "2 ranks"]);
    }
}
