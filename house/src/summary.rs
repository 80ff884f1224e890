//! Summary lines of doc comments that open with a clause or a preposition instead of a noun or a verb.

/// First words of such lines.
const OPENINGS: [&str; 29] = [
    "What", "How", "That", "Whose", "Who", "Why", "Of", "With", "Without", "Where", "Which", "In", "To", "By", "For",
    "From", "At", "On", "As", "After", "Before", "Until", "Since", "Between", "Among", "Beside", "Below", "Above",
    "Behind",
];

/// Returns the first lines of all doc comments before the tests that open with one of these words.
pub(crate) fn headless(source: &str) -> impl Iterator<Item = &str> {
    let code = source.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let mut is_inside = false;
    code.filter_map(move |line| {
        let doc = line.trim_start();
        let doc = doc.strip_prefix("///").or_else(|| doc.strip_prefix("//!"));
        let is_first = !std::mem::replace(&mut is_inside, doc.is_some());
        let summary = doc?.trim();
        let opening = summary.split_once(' ').map(|(word, _)| word);
        (is_first && opening.is_some_and(|word| OPENINGS.contains(&word))).then_some(summary)
    })
}
