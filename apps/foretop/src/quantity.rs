//! Figures as people read them: three or four digits, and the unit of the series.

const BINARY: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const DECIMAL: [&str; 5] = ["", "k", "M", "G", "T"];

/// `value` in `unit`, as short as it can be said: `0.97`, `1.46 GiB`, `12.3 k packets/s`.
pub fn format(value: f64, unit: &str) -> String {
    match unit {
        "ratio" | "" => number(value),
        "bytes" => scaled(value, 1024.0, &BINARY, ""),
        "bytes/s" => scaled(value, 1024.0, &BINARY, "/s"),
        "seconds" => seconds(value),
        _ if value.abs() < 10_000.0 => format!("{} {unit}", number(value)),
        _ => format!("{} {unit}", scaled(value, 1000.0, &DECIMAL, "")),
    }
}

/// As [`format()`] for a column: shares in percent, and no unit where it would only repeat the line's.
pub fn format_short(value: f64, unit: &str) -> String {
    match unit {
        "ratio" => format!("{:.1} %", 100.0 * value),
        "bytes" | "bytes/s" | "seconds" => format(value, unit),
        _ if value.abs() < 10_000.0 => number(value),
        _ => scaled(value, 1000.0, &DECIMAL, ""),
    }
}

/// Two decimals from 0.01 to 100, else three or more significant digits.
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
        magnitude if magnitude < 9.995 => format!("{rest:.2}"),
        magnitude if magnitude < 99.95 => format!("{rest:.1}"),
        _ => format!("{rest:.0}"),
    };
    format!("{figure} {}{suffix}", names[idx]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn other_units_count_by_1000() {
        check(12_345.0, "packets/s", "12.3 k packets/s");
        check(999.9, "packets/s", "999.9 packets/s");
        check(3.0, "cores", "3.00 cores");
    }
}
