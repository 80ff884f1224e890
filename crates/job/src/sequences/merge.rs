//! The hits of a search in library parts, put together as one run has them.
//!
//! BLAST lists the subjects of a query by e-value, then score, then place in the library, later ones first (`s_EvalueCompareHSPLists` in
//! `blast_hits.c`). It prints three digits of an e-value and sorts by all of them: two subjects of different parts that look alike in what is printed
//! may stand the other way round in one run. How many do is told.

use std::cmp::Ordering;
use std::collections::HashMap;

/// What a merge goes by: the query, the subject, and what their order comes from.
const NEEDED: [&str; 4] = ["qseqid", "sseqid", "evalue", "score"];
const STD: &str = "qaccver saccver pident length mismatch gapopen qstart qend sstart send evalue bitscore";

/// The columns of an output: those that a user wants, and behind them those that a merge needs beside these.
#[derive(Clone, Debug)]
pub struct Columns {
    /// All of them.
    pub names: Vec<String>,
    needed: [usize; NEEDED.len()],
    n_wanted: usize,
}

impl Columns {
    /// Of what a user wants; nothing stands for what the tool calls `std`.
    pub fn new<'a>(wanted: impl IntoIterator<Item = &'a str>) -> Self {
        let mut wanted = wanted.into_iter().peekable();
        let default = wanted.peek().is_none().then_some("std");
        let words = wanted.chain(default).flat_map(|word| if word == "std" { STD } else { word }.split(' '));
        let mut names: Vec<String> = Vec::new();
        // The tool prints a column once, however often it is asked for.
        let mut place = |name: &str| {
            names.iter().position(|other| other == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            })
        };
        let n_wanted = words.map(&mut place).max().map_or(0, |last| last + 1);
        let needed = NEEDED.map(place);
        Self { names, needed, n_wanted }
    }

    /// What a user wanted of a line, and what the merge needs of it; nothing if it has another number of columns.
    fn of<'a>(&self, line: &'a str) -> Option<(&'a str, [&'a str; NEEDED.len()])> {
        let columns: Vec<&str> = line.split('\t').collect();
        if columns.len() != self.names.len() {
            return None;
        }
        let n_bytes = columns[..self.n_wanted].iter().map(|column| column.len() + 1).sum::<usize>() - 1;
        Some((&line[..n_bytes], self.needed.map(|at| columns[at])))
    }
}

/// Why outputs cannot be merged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Not the columns that were asked for.
    #[error(
        "part {part}, line {line}: it does not have the columns that were asked for, or no numbers for e-value and score"
    )]
    Columns {
        /// Which library part, from 0.
        part: usize,
        /// From 1.
        line: usize,
    },
    /// A query that was not asked.
    #[error("part {part}, line {line}: there is no query `{query}`")]
    Query {
        /// Which library part, from 0.
        part: usize,
        /// From 1.
        line: usize,
        /// What stands there.
        query: String,
    },
    /// Another order than the one that is merged by.
    #[error(
        "part {part}, line {line}: hits are not in the order of their e-values and scores, so nobody can say in which one run has them"
    )]
    Order {
        /// Which library part, from 0.
        part: usize,
        /// From 1.
        line: usize,
    },
}

/// A subject's lines for one query.
struct Subject<'a> {
    part: usize,
    name: &'a str,
    evalue: f64,
    score: f64,
    lines: Vec<&'a str>,
}

impl Subject<'_> {
    fn cmp_printed(&self, other: &Self) -> Ordering {
        self.evalue.total_cmp(&other.evalue).then(other.score.total_cmp(&self.score))
    }
}

/// Merges the outputs of all library parts for the same queries into `out`, with at most so many subjects for each query. Gives the number of
/// neighbours whose order is not certain.
///
/// # Errors
/// [`MergeError`], where an output is not what was asked for.
pub fn merge(
    queries: &[&str],
    columns: &Columns,
    parts: &[String],
    n_subjects_max: usize,
    out: &mut String,
) -> Result<usize, MergeError> {
    let places: HashMap<&str, usize> = queries.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let mut found: Vec<Vec<Subject<'_>>> = queries.iter().map(|_| Vec::new()).collect();
    for (part, text) in parts.iter().enumerate() {
        for (at, whole) in text.lines().enumerate() {
            let line = at + 1;
            let (kept, [query, name, evalue, score]) = columns.of(whole).ok_or(MergeError::Columns { part, line })?;
            let number = |text: &str| text.trim().parse().map_err(|_| MergeError::Columns { part, line });
            let (evalue, score): (f64, f64) = (number(evalue)?, number(score)?);
            let place = places.get(query).ok_or_else(|| MergeError::Query { part, line, query: query.to_owned() })?;
            let subjects = &mut found[*place];
            match subjects.last_mut().filter(|last| last.part == part) {
                Some(last) if last.name == name => {
                    last.lines.push(kept);
                    (last.evalue, last.score) = (last.evalue.min(evalue), last.score.max(score));
                }
                last => {
                    let next = Subject { part, name, evalue, score, lines: vec![kept] };
                    if last.is_some_and(|last| last.cmp_printed(&next).is_gt()) {
                        return Err(MergeError::Order { part, line });
                    }
                    subjects.push(next);
                }
            }
        }
    }
    let mut n_uncertain = 0;
    for mut subjects in found {
        // Those of one part stay in their order: the sort is stable.
        subjects.sort_by(|one, other| one.cmp_printed(other).then(other.part.cmp(&one.part)));
        for pair in subjects.windows(2).take(n_subjects_max) {
            // An e-value that is printed as 0 counts as 0 in the order, too.
            let is_alike = pair[0].cmp_printed(&pair[1]).is_eq() && pair[0].evalue > 0.0;
            n_uncertain += usize::from(is_alike && pair[0].part != pair[1].part);
        }
        for line in subjects.iter().take(n_subjects_max).flat_map(|subject| &subject.lines) {
            out.push_str(line);
            out.push('\n');
        }
    }
    Ok(n_uncertain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of the columns `stitle`, then those that are needed.
    fn hit(query: &str, subject: &str, evalue: &str, score: u32) -> String {
        format!("{query} meets {subject}\t{query}\t{subject}\t{evalue}\t{score}\n")
    }

    fn merged(queries: &[&str], parts: &[String], n_subjects_max: usize) -> Result<(String, usize), MergeError> {
        let mut out = String::new();
        let n_uncertain = merge(queries, &Columns::new(["stitle"]), parts, n_subjects_max, &mut out)?;
        Ok((out, n_uncertain))
    }

    #[test]
    fn columns_that_are_there_are_not_asked_for_again() {
        let of = |wanted: &[&str]| Columns::new(wanted.iter().copied()).names.join(" ");
        assert_eq!(of(&[]), format!("{STD} qseqid sseqid score"));
        assert_eq!(of(&["std", "score", "evalue"]), format!("{STD} score qseqid sseqid"));
        assert_eq!(of(&["score", "score", "qseqid"]), "score qseqid sseqid evalue");
        let line = "7\tq\ts\t1e-3";
        assert_eq!(Columns::new(["score", "qseqid"]).of(line), Some(("7\tq", ["q", "s", "1e-3", "7"])));
        assert_eq!(Columns::new(["score"]).of("7\tq\ts"), None);
    }

    #[test]
    fn hits_of_all_parts_stand_as_in_one_run() {
        let first = hit("q1", "a", "1e-9", 90) + &hit("q1", "a", "2.0", 9) + &hit("q1", "b", "1e-3", 30);
        let second = hit("q2", "d", "0.0", 999) + &hit("q1", "c", "1e-5", 50) + &hit("q1", "e", "1e-3", 30);
        let told = ["q1 meets a", "q1 meets a", "q1 meets c", "q1 meets e", "q1 meets b", "q2 meets d", ""].join("\n");
        let parts = [first, second];
        assert_eq!(merged(&["q1", "q2"], &parts, 500), Ok((told, 1)));
        // The two that look alike are cut.
        let told = ["q1 meets a", "q1 meets a", "q1 meets c", "q2 meets d", ""].join("\n");
        assert_eq!(merged(&["q1", "q2"], &parts, 2), Ok((told, 0)));
    }

    #[test]
    fn equal_scores_beyond_the_least_e_value_are_in_the_order_of_the_library() {
        let parts = ["a", "b", "c"].map(|subject| hit("q", subject, "0.0", 700));
        assert_eq!(merged(&["q"], &parts, 500), Ok(("q meets c\nq meets b\nq meets a\n".to_owned(), 0)));
    }

    #[test]
    fn outputs_of_another_form_or_order_are_refused() {
        let merged = |text: String| merged(&["q"], &[String::new(), text], 9);
        assert_eq!(merged("no columns\n".to_owned()), Err(MergeError::Columns { part: 1, line: 1 }));
        assert_eq!(merged(hit("q", "a", "x", 1)), Err(MergeError::Columns { part: 1, line: 1 }));
        let query = "other".to_owned();
        assert_eq!(merged(hit("other", "a", "1", 1)), Err(MergeError::Query { part: 1, line: 1, query }));
        let turned = hit("q", "a", "1e-3", 30) + &hit("q", "b", "1e-4", 40);
        assert_eq!(merged(turned), Err(MergeError::Order { part: 1, line: 2 }));
    }
}
