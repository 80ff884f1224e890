//! Room that text takes on a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the columns that a text takes: two for most characters of East Asian scripts, none for marks above others.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns the text and as many spaces as make it `width` columns wide.
#[must_use]
pub fn padded(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(text.width()))
}

/// Returns the text in at most `width` columns; a longer one ends with `…`.
#[must_use]
pub fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut n_left = width.saturating_sub(1);
    let fits = |letter: &char| {
        let rest = n_left.checked_sub(letter.width().unwrap_or(0));
        n_left = rest.unwrap_or(0);
        rest.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_combining_ones_none() {
        for (text, expected) in
            [("", 0), ("disk", 4), ("größe", 5), ("硬盘", 4), ("ディスク", 8), ("e\u{301}", 1), ("🚀", 2)]
        {
            assert_eq!(width(text), expected, "{text}");
            assert_eq!(width(&padded(text, 9)), 9, "{text}");
            assert_eq!(padded(text, expected), text);
        }
    }

    #[test]
    fn what_is_too_long_ends_with_an_ellipsis() {
        assert_eq!(shortened("硬盘.used", 9), "硬盘.used");
        assert_eq!(shortened("硬盘.used", 8), "硬盘.us…");
        assert_eq!(shortened("硬盘.used", 4), "硬…");
        assert_eq!(shortened("硬盘.used", 1), "…");
        for n_columns in 0..12 {
            assert!(width(&shortened("a硬b盘c.used", n_columns)) <= n_columns.max(1), "{n_columns}");
        }
    }
}
