//! The names that paths in a Rust source begin with.

/// The first name of every path such as `serde::Serialize`, and what `use NAME;` and `use NAME as …;` take; in the
/// order of the text, repeated as there.
///
/// Enough to see whether a crate is used at all: comments are left out, strings and names of local modules are not
/// told apart from paths.
pub fn path_heads(source: &str) -> impl Iterator<Item = &str> {
    source.lines().map(without_comment).flat_map(heads_in_line)
}

/// The line up to `//`, unless that follows a colon, as it does in an address.
fn without_comment(line: &str) -> &str {
    let comment = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    comment.map_or(line, |(at, _)| &line[..at])
}

fn heads_in_line(line: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + line[end..].find(is_word)?;
        end = line[start..].find(|c| !is_word(c)).map_or(line.len(), |length| start + length);
        Some((&line[..start], &line[start..end], &line[end..]))
    })
    .filter(move |(before, _, after)| {
        let goes_on = before.strip_suffix("::").is_some_and(|path| path.ends_with(|c| is_word(c) || c == '>'));
        let is_taken_whole =
            before.trim_end().ends_with("use") && (after.starts_with(';') || after.starts_with(" as "));
        (after.starts_with("::") && !goes_on) || is_taken_whole
    })
    .map(|(_, word, _)| word)
}
