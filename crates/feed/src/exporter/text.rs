//! One line of a page in one of the two text formats: OpenMetrics 1.0, and the older one, 0.0.4.
//!
//! A line says all that there is to say about itself, so a bad one costs nothing but itself. The readers that others
//! wrote take a page whole or not at all, or split labels at commas that stand inside of a value; see
//! `docs/howto/exporters.md`. Blanks are taken as the older format has them, any number of them, in both.

use std::borrow::Cow;

use signal::label_name;

/// A label of its own would do for any exporter that is meant for people; a line of thousands is an attack.
const N_LABELS_MAX: usize = 64;

/// The format of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `application/openmetrics-text`. Timestamps are seconds, and the last line is `# EOF`.
    OpenMetrics,
    /// `text/plain; version=0.0.4`. Timestamps are milliseconds.
    Older,
}

/// The kind of one line, as far as its beginning shows.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// The name of a series, and the line's rest: labels, value and what follows.
    Sample { name: &'a str, rest: &'a [u8] },
    /// Something about all series of a family.
    About { family: &'a str, what: About, text: &'a [u8] },
    /// A comment, an empty line, or the end.
    Nothing,
}

/// The kind of description of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Type,
    Help,
    Unit,
}

/// The name of a label and its value, without escapes.
pub(super) type Label<'a> = (&'a str, Cow<'a, str>);

/// One measured value, and of what.
#[derive(Debug, PartialEq)]
pub(super) struct Sample<'a> {
    /// The labels in the order of their names, each name once.
    pub labels: Vec<Label<'a>>,
    /// May be infinite or no number.
    pub value: f64,
    /// When the exporter measured it, in seconds since 1970 by its own clock, if it says so. Finite.
    pub at_s: Option<f64>,
}

/// The content that a line should have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needed(pub &'static str);

impl<'a> Line<'a> {
    /// Looks at the beginning of `line`, which has no line feed.
    pub(super) fn split(line: &'a [u8]) -> Result<Line<'a>, Needed> {
        let line = line.trim_ascii_start();
        match line.first() {
            None => Ok(Line::Nothing),
            Some(b'#') => Ok(Line::about(&line[1..]).unwrap_or(Line::Nothing)),
            Some(_) => {
                let (name, rest) = split_name(line).ok_or(Needed("the name of a metric"))?;
                Ok(Line::Sample { name, rest })
            }
        }
    }

    fn about(comment: &'a [u8]) -> Option<Line<'a>> {
        let (word, rest) = split_word(comment);
        let what = match word {
            b"TYPE" => About::Type,
            b"HELP" => About::Help,
            b"UNIT" => About::Unit,
            _ => return None,
        };
        let (family, text) = split_name(rest.trim_ascii_start())?;
        Some(Line::About { family, what, text: text.trim_ascii() })
    }
}

impl<'a> Sample<'a> {
    /// Reads what follows the name.
    pub(super) fn parse(rest: &'a [u8], format: Format) -> Result<Sample<'a>, Needed> {
        let rest = str::from_utf8(rest).map_err(|_| Needed("UTF-8"))?.trim_ascii();
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => labels(inside)?,
            None => (Vec::new(), rest),
        };
        let measured = match format {
            // An exemplar, which says where one of the counted things came from.
            Format::OpenMetrics => rest.split_once(" # ").map_or(rest, |(measured, _)| measured),
            Format::Older => rest,
        };
        let mut words = measured.split_ascii_whitespace();
        let value = words.next().and_then(|word| word.parse().ok()).ok_or(Needed("a number as the value"))?;
        let at_s = words.next().map(|word| timestamp_s(word, format)).transpose()?;
        match words.next() {
            None => Ok(Sample { labels, value, at_s }),
            Some(_) => Err(Needed("nothing after value and timestamp")),
        }
    }
}

fn timestamp_s(word: &str, format: Format) -> Result<f64, Needed> {
    let seconds = match format {
        Format::OpenMetrics => word.parse::<f64>().ok().filter(|seconds| seconds.is_finite()),
        Format::Older => word.parse::<i64>().ok().map(|at_ms| at_ms as f64 / 1e3),
    };
    seconds.ok_or(Needed("a timestamp after the value"))
}

/// The labels after the opening brace, and what follows the closing one.
fn labels(mut rest: &str) -> Result<(Vec<Label<'_>>, &str), Needed> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix('}') {
            labels.sort_unstable_by_key(|&(name, _)| name);
            let is_doubled = labels.windows(2).any(|pair| pair[0].0 == pair[1].0);
            return if is_doubled { Err(Needed("each label once")) } else { Ok((labels, after)) };
        }
        if labels.len() == N_LABELS_MAX {
            return Err(Needed("64 labels at most"));
        }
        let (name, after) = rest.split_once('=').ok_or(Needed("`}` after the labels"))?;
        let name = name.trim_ascii_end();
        if label_name(name) != name {
            return Err(Needed("the name of a label"));
        }
        let quoted = after.trim_ascii_start().strip_prefix('"').ok_or(Needed("a quoted value of a label"))?;
        let (value, after) = unquote(quoted)?;
        labels.push((name, value));
        rest = after.trim_ascii_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return Err(Needed("`,` or `}` after a label")),
        };
    }
}

/// The text before the next quote that is not escaped, without its escapes, and what follows the quote.
pub(super) fn unquote(text: &str) -> Result<(Cow<'_, str>, &str), Needed> {
    let open = Needed("a closing quote");
    let mut value = Cow::Borrowed("");
    let mut rest = text;
    loop {
        let place = rest.find(['"', '\\']).ok_or(open)?;
        // Appending to an empty borrowed text borrows again.
        value += &rest[..place];
        if rest.as_bytes()[place] == b'"' {
            return Ok((value, &rest[place + 1..]));
        }
        let escaped = rest[place + 1..].chars().next().ok_or(open)?;
        match escaped {
            'n' => value.to_mut().push('\n'),
            '\\' | '"' => value.to_mut().push(escaped),
            other => value.to_mut().extend(['\\', other]),
        }
        rest = &rest[place + 1 + escaped.len_utf8()..];
    }
}

/// The name at the beginning of `line`, and what follows it.
fn split_name(line: &[u8]) -> Option<(&str, &[u8])> {
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
    let end = line.iter().position(|byte| !is_in_name(byte)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    // ASCII, so it is UTF-8.
    let name =
        str::from_utf8(name).ok().filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))?;
    matches!(rest.first(), None | Some(b'{' | b' ' | b'\t')).then_some((name, rest))
}

fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    text.split_at(text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels, value and timestamp, or what is needed.
    type Read = Result<(&'static [(&'static str, &'static str)], f64, Option<f64>), &'static str>;

    #[track_caller]
    fn check_sample(line: &str, format: Format, expected: Read) {
        let Ok(Line::Sample { rest, .. }) = Line::split(line.as_bytes()) else { panic!("`{line}` is not a sample") };
        let read = Sample::parse(rest, format).map_err(|Needed(needed)| needed);
        let read = read.as_ref().map(|sample| {
            let labels: Vec<_> = sample.labels.iter().map(|(name, value)| (*name, &**value)).collect();
            (labels, sample.value, sample.at_s)
        });
        assert_eq!(read, expected.as_ref().map(|(labels, value, at_s)| (labels.to_vec(), *value, *at_s)), "`{line}`");
    }

    #[test]
    fn a_sample_has_labels_a_value_and_a_time() {
        check_sample("a 1", Format::Older, Ok((&[], 1.0, None)));
        check_sample("a{b=\"c\"} -1e-3 1500", Format::Older, Ok((&[("b", "c")], -1e-3, Some(1.5))));
        check_sample("a{b=\"c\"} +Inf 1500.25", Format::OpenMetrics, Ok((&[("b", "c")], f64::INFINITY, Some(1500.25))));
        check_sample("a { b = \"c\" , d = \"\" , }\t2", Format::Older, Ok((&[("b", "c"), ("d", "")], 2.0, None)));
        check_sample("a{} 2\r", Format::Older, Ok((&[], 2.0, None)));
    }

    #[test]
    fn labels_are_sorted_and_their_escapes_undone() {
        check_sample(r#"a{z="1",b="\"\\\n\x"} 2"#, Format::Older, Ok((&[("b", "\"\\\n\\x"), ("z", "1")], 2.0, None)));
        check_sample(r#"a{b="},{c=\"d\""} 2"#, Format::Older, Ok((&[("b", "},{c=\"d\"")], 2.0, None)));
    }

    #[test]
    fn an_exemplar_is_left_out() {
        let line = r##"a_total{b=" # "} 17 # {trace_id="x # y"} 0.67 1520879607.789"##;
        check_sample(line, Format::OpenMetrics, Ok((&[("b", " # ")], 17.0, None)));
        check_sample(line, Format::Older, Err("a timestamp after the value"));
    }

    #[test]
    fn a_bad_line_says_what_it_needs() {
        check_sample("a", Format::Older, Err("a number as the value"));
        check_sample("a x", Format::Older, Err("a number as the value"));
        check_sample("a 1 2 3", Format::Older, Err("nothing after value and timestamp"));
        check_sample("a 1 inf", Format::OpenMetrics, Err("a timestamp after the value"));
        check_sample("a{b=\"c\"", Format::Older, Err("`,` or `}` after a label"));
        check_sample("a{b=\"c", Format::Older, Err("a closing quote"));
        check_sample("a{b=\"c\\", Format::Older, Err("a closing quote"));
        check_sample("a{b=c} 1", Format::Older, Err("a quoted value of a label"));
        check_sample("a{1=\"c\"} 1", Format::Older, Err("the name of a label"));
        check_sample("a{b=\"c\",b=\"d\"} 1", Format::Older, Err("each label once"));
        check_sample("a{b=\"c\"d=\"e\"} 1", Format::Older, Err("`,` or `}` after a label"));
        check_sample(
            &format!("a{{{}}} 1", (0..65).map(|n| format!("l{n}=\"\",")).collect::<String>()),
            Format::Older,
            Err("64 labels at most"),
        );
    }

    #[test]
    fn a_line_is_told_by_its_beginning() {
        let about = |family, what, text: &'static str| Ok(Line::About { family, what, text: text.as_bytes() });
        assert_eq!(Line::split(b"# TYPE a counter"), about("a", About::Type, "counter"));
        assert_eq!(Line::split(b"#\tHELP  a:b  two  words "), about("a:b", About::Help, "two  words"));
        assert_eq!(Line::split(b"# UNIT a_seconds seconds"), about("a_seconds", About::Unit, "seconds"));
        assert_eq!(Line::split(b"# HELP a"), about("a", About::Help, ""));
        for nothing in ["", "  \t", "#", "# EOF", "# TYPE", "# TYPES a b", "# TYPE \u{e9} counter"] {
            assert_eq!(Line::split(nothing.as_bytes()), Ok(Line::Nothing), "{nothing}");
        }
        for bad in ["{a=\"b\"} 1", "1a 2", "a-b 3", "\u{e9} 1", "\0"] {
            assert_eq!(Line::split(bad.as_bytes()), Err(Needed("the name of a metric")), "{bad}");
        }
    }
}
