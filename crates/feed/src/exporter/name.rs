//! The name of a signal of an exporter: the series as text, its labels in order.

use std::{borrow::Cow, fmt::Write};

/// The longest id, in bytes: that of the node.
pub(super) const ID_BYTES_MAX: usize = 200;

/// Writes the id of the series `name` with these `labels`, which are in order, in place of what was in `id`.
///
/// The text is that of the page: `node_cpu_seconds_total{cpu="0",mode="idle"}`. Control characters are written as
/// `\xNN`, so that no two series become one. An id that would be too long is cut, and ends with a number made of all of
/// it.
pub(crate) fn write_id<'a>(name: &str, labels: impl Iterator<Item = (&'a str, &'a str)>, id: &mut String) {
    id.clear();
    id.push_str(name);
    let mut before = '{';
    for (label, value) in labels {
        id.push(before);
        id.push_str(label);
        id.push_str("=\"");
        push_quoted(value, id);
        id.push('"');
        before = ',';
    }
    if before == ',' {
        id.push('}');
    }
    if id.len() > ID_BYTES_MAX {
        shorten(id);
    }
}

fn push_quoted(value: &str, id: &mut String) {
    if !value.contains(|c: char| c.is_control() || matches!(c, '"' | '\\')) {
        id.push_str(value);
        return;
    }
    for letter in value.chars() {
        match letter {
            '"' | '\\' => id.extend(['\\', letter]),
            '\n' => id.push_str("\\n"),
            control if control.is_control() => {
                // Writing to a `String` cannot fail.
                control.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| _ = write!(id, "\\x{byte:02x}"));
            }
            other => id.push(other),
        }
    }
}

/// The value of a label without control characters, for people.
pub(crate) fn shown(value: &str) -> Cow<'_, str> {
    if !value.contains(char::is_control) {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len());
    push_quoted(value, &mut text);
    Cow::Owned(text)
}

fn shorten(id: &mut String) {
    let number = fnv_1a(id.as_bytes());
    let end = format!("\u{2026}#{number:016x}");
    id.truncate(id.floor_char_boundary(ID_BYTES_MAX - end.len()));
    id.push_str(&end);
}

/// The hash FNV-1a of 64 bits: the same on every machine and in every version, which the standard library's is not.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(labels: &[(&str, &str)], expected: &str) {
        let mut id = "left from before".to_owned();
        write_id("a", labels.iter().copied(), &mut id);
        assert_eq!(id, expected);
        assert!(id.len() <= ID_BYTES_MAX && !id.contains(char::is_control));
    }

    #[test]
    fn an_id_is_the_series_as_text() {
        check(&[], "a");
        check(&[("cpu", "0"), ("mode", "idle")], r#"a{cpu="0",mode="idle"}"#);
    }

    #[test]
    fn what_would_break_an_id_is_spelled_out() {
        check(&[("b", "\"\\\n\x1b\u{85}")], r#"a{b="\"\\\n\x1b\xc2\x85"}"#);
    }

    #[test]
    fn an_id_that_is_too_long_ends_with_a_number_of_all_of_it() {
        check(&[("b", &"x".repeat(195))], &format!("a{{b=\"{}\u{2026}#bec491ba6eb9b027", "x".repeat(175)));
        check(&[("b", &"\u{e9}".repeat(150))], &format!("a{{b=\"{}\u{2026}#c56e8e4db44b6523", "\u{e9}".repeat(87)));
    }

    #[test]
    fn the_number_is_that_of_the_published_hash() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
