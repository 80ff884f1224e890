//! The language of sources: how doc comments begin, how long comment lines are, and what public items are called.

use std::collections::BTreeMap;

use crate::{Kind, Package, Place};

/// First words of doc comments that hide their noun.
const OPENINGS: [&str; 29] = [
    "What", "How", "That", "Whose", "Who", "Why", "Of", "With", "Without", "Where", "Which", "In", "To", "By", "For",
    "From", "At", "On", "As", "After", "Before", "Until", "Since", "Between", "Among", "Beside", "Below", "Above",
    "Behind",
];

/// Words of this project that the field has others for (docs/glossary.md).
const PRIVATE_WORDS: [&str; 15] = [
    "told", "tell", "tells", "said", "says", "heard", "hear", "came", "kept", "lately", "together", "word", "stands",
    "speaker", "speakers",
];

/// The longest line of a comment, in characters.
const LINE_MAX: usize = 120;

/// Returns the lines of libraries and programs, those of their tests left out.
fn lines(package: &Package) -> impl Iterator<Item = &str> {
    package.sources.iter().filter(|source| source.kind == Kind::Normal).flat_map(|source| {
        let before_tests = source.text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        before_tests.lines().chain([""])
    })
}

/// Returns the first lines of doc comments that open with a clause or a preposition.
pub(crate) fn headless(package: &Package) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    lines(package).filter_map(move |line| {
        let doc = line.trim_start();
        let doc = doc.strip_prefix("///").or_else(|| doc.strip_prefix("//!"));
        let is_first = !std::mem::replace(&mut is_inside, doc.is_some());
        let summary = doc?.trim();
        let opening = summary.split_once(' ').map(|(word, _)| word);
        (is_first && opening.is_some_and(|word| OPENINGS.contains(&word))).then_some(summary)
    })
}

/// Returns the comment lines that are too long. Those in fenced blocks and tables may be, and those without a space to
/// break at.
pub(crate) fn long(package: &Package) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    lines(package).filter(move |line| {
        let comment = line.trim_start().strip_prefix("//").map(|text| text.trim_start_matches(['/', '!', ' ']));
        is_fenced = comment.is_some_and(|text| is_fenced != text.starts_with("```"));
        let can_break = comment.is_some_and(|text| text.contains(' ') && !text.starts_with('|'));
        can_break && !is_fenced && line.chars().count() > LINE_MAX
    })
}

/// Returns the names of public items that have a private word in them; none of packages beside the floors.
pub(crate) fn private_names(package: &Package) -> impl Iterator<Item = &str> {
    let is_on_a_floor = package.place == Place::OnAFloor;
    let names = lines(package).filter(move |_| is_on_a_floor).filter_map(public_name);
    names.filter(|name| words(name).any(|word| PRIVATE_WORDS.contains(&&*word)))
}

/// Returns the number of public types on the floors that share their name with another one.
pub(crate) fn n_shared_types(packages: &[Package]) -> usize {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let on_floors = packages.iter().filter(|package| package.place == Place::OnAFloor);
    for name in on_floors.flat_map(lines).filter_map(public_type) {
        *counts.entry(name).or_default() += 1;
    }
    counts.values().filter(|n| **n > 1).sum()
}

fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
    let (kind, name) = rest.trim_start().split_once(' ')?;
    matches!(kind, "struct" | "enum" | "trait" | "type" | "union").then(|| identifier(name))
}

/// Returns the name of a public item or field.
fn public_name(line: &str) -> Option<&str> {
    const QUALIFIERS: [&str; 5] = ["const", "unsafe", "async", "extern", "\"C\""];
    const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "static", "mod", "const"];
    let mut rest = line.trim_start().strip_prefix("pub ")?;
    let mut is_item = false;
    while let Some((word, after)) =
        rest.split_once(' ').filter(|(word, _)| QUALIFIERS.contains(word) || KINDS.contains(word))
    {
        is_item |= KINDS.contains(&word);
        rest = after;
    }
    let name = identifier(rest);
    (is_item || rest[name.len()..].starts_with(':')).then_some(name)
}

fn identifier(text: &str) -> &str {
    &text[..text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len())]
}

/// Returns the words of a name in snake or camel case, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        words.last_mut().expect("there is one").extend(letter.to_lowercase().filter(|letter| *letter != '_'));
    }
    words.into_iter()
}
