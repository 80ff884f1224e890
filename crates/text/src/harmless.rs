//! Words of strangers, made harmless for where they go: a terminal, a page, a Markdown table.

/// `text` with every character that could move the cursor, recolour the screen or turn the direction of
/// writing around shown as U+FFFD. Names come from other programs, and a terminal obeys what it is sent.
#[must_use]
pub fn printable(text: &str) -> String {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if is_unsafe(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// `text` for HTML and XML, between tags or in a quoted attribute: marks written as entities, what XML cannot hold
/// shown as U+FFFD.
#[must_use]
pub fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// `text` for a cell of a Markdown table: what Markdown would take for the cell's end is shown as it is.
#[must_use]
pub fn markdown_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_not_printable() {
        assert_eq!(printable("net.\x1b]0;owned\x07\u{9b}2J\n\u{202e}x"), "net.�]0;owned��2J��x");
        assert_eq!(printable("größe µs"), "größe µs");
    }

    #[test]
    fn marks_of_a_page_are_shown_and_not_obeyed() {
        assert_eq!(markup("a<b>&\"\u{7}\n\u{fffe}"), "a&lt;b&gt;&amp;&quot;\u{fffd}\n\u{fffd}");
        assert_eq!(markdown_cell("a|b"), "a\\|b");
    }
}
