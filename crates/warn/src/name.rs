//! Names of signals in statements: as they are, or in double quotes if they could be taken for something else.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::statement::{Statement, Subject};

/// Returns a signal's name as statements have it. `My Disk` is `"My Disk"`; within the quotes, `\"` and `\\` stand for
/// `"` and `\`.
#[must_use]
pub fn quoted(name: &str) -> Cow<'_, str> {
    if is_plain(name) { name.into() } else { in_quotes(name).into() }
}

fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', r"\\").replace('"', r#"\""#))
}

/// Returns the name that a word of a statement stands for.
pub(crate) fn unquoted(word: &str) -> Cow<'_, str> {
    match word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        // One pass for both, because `\\"` is a backslash before the end.
        Some(inside) => {
            inside.split(r"\\").map(|part| part.replace(r#"\""#, "\"")).collect::<Vec<_>>().join(r"\").into()
        }
        None => word.into(),
    }
}

/// Whether a statement reads the name as it is.
fn is_plain(name: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/".contains(&byte);
    if name.bytes().all(is_usual) && name.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
        return true;
    }
    let statement = format!("{name} > 0").parse::<Statement>();
    statement.is_ok_and(|statement| statement.subject == Subject::Any && statement.of.signals() == [name])
}

/// Puts names that are known into quotes where they need them. Of two that fit, the longer one counts.
pub(crate) fn quote_known<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.filter(|name| !is_plain(name)).collect();
    names.sort_unstable_by_key(|name| Reverse(name.len()));
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let is_begin = quoted.is_empty() || quoted.ends_with(|before: char| before.is_whitespace() || before == '(');
        let fits = |name: &&&str| rest.strip_prefix(**name).is_some_and(is_end);
        let n_bytes = match names.iter().find(|name| is_begin && fits(name)) {
            Some(name) => {
                quoted.push_str(&in_quotes(name));
                name.len()
            }
            None => {
                let n_bytes = if letter == '"' { quoted_bytes(rest) } else { letter.len_utf8() };
                quoted.push_str(&rest[..n_bytes]);
                n_bytes
            }
        };
        rest = &rest[n_bytes..];
    }
    quoted
}

fn is_end(rest: &str) -> bool {
    rest.chars().next().is_none_or(|letter| letter.is_whitespace() || matches!(letter, ')' | '<' | '>' | '='))
}

/// Bytes of a text from its quote to the next one; 1 if there is none.
fn quoted_bytes(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(1, |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes_are_read_back() {
        for name in [
            "disk./run/media/me/My Passport.used",
            "disk./mnt/1 < 2.used",
            r#"disk./mnt/q"uo.used"#,
            r"C:\ ends in a backslash\",
            r#"\" \\" mixed"#,
            "max(load)",
            "-",
            "(",
            "a / b",
            " ",
            r#""quoted""#,
            "größe\u{3000}breit",
        ] {
            let statement: Statement = format!("max({}) > 0", quoted(name)).parse().unwrap();
            assert_eq!(statement.of.signals(), [name], "{statement}");
            assert_eq!(statement.to_string().parse(), Ok(statement));
        }
    }

    #[test]
    fn names_that_a_statement_reads_as_they_are_have_no_quotes() {
        for name in ["cpu.busy", "net.eth0-1", "a+b", "größe", r#"up{job="a > b",mount="My Disk"}"#, "x(y"] {
            assert_eq!(quoted(name), name);
        }
    }

    #[track_caller]
    fn check_known(text: &str, names: &[&str], signals: &[&str]) {
        let statement = Statement::read(text, names.iter().copied()).unwrap();
        assert_eq!(statement.of.signals(), signals, "{statement}");
    }

    #[test]
    fn known_names_need_no_quotes() {
        let disks =
            ["disk./My Passport.used", "disk./mnt/1 < 2.used", r#"disk./q"uo.used"#, "Passport.used", "rate(x)"];
        check_known("disk./My Passport.used > 90%", &disks, &disks[..1]);
        check_known("disk./mnt/1 < 2.used>90%", &disks, &disks[1..2]);
        check_known(r#"max( disk./q"uo.used ) > 90%"#, &disks, &disks[2..3]);
        check_known("rate(x) + Passport.used > 1", &disks, &["rate(x)", "Passport.used"]);
        check_known(r#""disk./My Passport.used" / rate(x) > 1"#, &disks, &[disks[0], "rate(x)"]);
        check_known("(disk./My Passport.used + Passport.used) > 1", &disks, &[disks[0], "Passport.used"]);
    }

    #[test]
    fn the_longest_known_name_counts() {
        check_known("a b c > 1", &["a b", "a b c", "b c"], &["a b c"]);
        check_known("a / b > 1", &["a", "b"], &["a", "b"]);
        check_known("a / b > 1", &["a", "b", "a / b"], &["a / b"]);
        check_known("xa b > 1", &["xa b", "a b"], &["xa b"]);
        assert!(Statement::read("a bc > 1", ["a b"].into_iter()).is_err());
        assert!(Statement::read("xa b > 1", ["a b"].into_iter()).is_err());
    }

    #[test]
    fn quotes_that_do_not_end_are_letters() {
        check_known("\u{e9}\" > 1", &["\u{e9}\""], &["\u{e9}\""]);
        assert!(Statement::read("\" > 1", std::iter::empty()).is_err());
        assert!(Statement::read("\"", ["a b"].into_iter()).is_err());
    }
}
