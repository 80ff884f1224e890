//! The hits of a search in library parts, put together as one run has them.
//!
//! BLAST lists the subjects of a query by e-value, then score, then place in the library, later ones first
//! (`s_EvalueCompareHSPLists` in `blast_hits.c`). DIAMOND was seen to do the same with earlier ones first (2.1.3). Both
//! print three digits of an e-value and sort by all of them: two subjects of different parts that look alike in what is
//! printed may stand the other way round in one run. How many do is told. SSW compares each query with each sequence,
//! in the order of both, and lists all of it.

use std::cmp::Ordering;
use std::collections::HashMap;

/// Columns that a merge needs: the query, the subject, and the numbers that their order comes from.
const NEEDED: [&str; 5] = ["qseqid", "sseqid", "evalue", "score", "slen"];

/// Order in which a tool lists the subjects of a query, and the columns that it prints unless it is told others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of BLAST; scores that are scaled have more digits than it prints.
    Blast {
        /// Whether scores are scaled.
        has_scaled_scores: bool,
    },
    /// The order of DIAMOND.
    Diamond,
}

impl Order {
    fn std(self) -> &'static str {
        match self {
            Self::Blast { .. } => {
                "qaccver saccver pident length mismatch gapopen qstart qend sstart send evalue bitscore"
            }
            Self::Diamond => "qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore",
        }
    }

    /// Compares two subjects by the printed part of the order. Units' own orders hold before that.
    fn cmp(self, one: &Subject<'_>, other: &Subject<'_>) -> Ordering {
        let printed = one.evalue.total_cmp(&other.evalue).then(other.score.total_cmp(&one.score));
        match self {
            Self::Blast { .. } => printed.then(other.part.cmp(&one.part)),
            // Of equal scores, that of the shorter subject has the smaller e-value.
            Self::Diamond => printed.then(one.length.cmp(&other.length)).then(one.part.cmp(&other.part)),
        }
    }

    /// Whether hits of one part can stand in this order.
    fn holds(self, one: &Subject<'_>, other: &Subject<'_>) -> bool {
        let by_score = matches!(self, Self::Blast { .. }) && one.evalue == other.evalue && one.score < other.score;
        one.evalue <= other.evalue && !by_score
    }

    /// Whether neighbours of different parts may stand the other way round in one run. An e-value that is printed as 0
    /// counts as 0 in the order, too.
    fn is_uncertain(self, one: &Subject<'_>, other: &Subject<'_>) -> bool {
        let is_alike = one.evalue == other.evalue && one.evalue > 0.0 && one.part != other.part;
        is_alike
            && match self {
                Self::Blast { has_scaled_scores } => has_scaled_scores && one.score == other.score,
                Self::Diamond => (one.score, one.length) != (other.score, other.length),
            }
    }
}

/// The columns of an output: those that a user wants, and behind them those that a merge needs beside these.
#[derive(Clone, Debug)]
pub struct Columns {
    /// All of them.
    pub names: Vec<String>,
    needed: [usize; NEEDED.len()],
    n_wanted: usize,
}

impl Columns {
    /// Builds the columns that a user wants; nothing stands for what the tool prints by default.
    pub fn new<'a>(order: Order, wanted: impl IntoIterator<Item = &'a str>) -> Self {
        let mut wanted = wanted.into_iter().peekable();
        let is_blast = matches!(order, Order::Blast { .. });
        let default = wanted.peek().is_none().then_some("std");
        let std = |word: &'a str| if word == "std" { order.std() } else { word };
        let mut names: Vec<String> = Vec::new();
        for name in wanted.chain(default).flat_map(|word| std(word).split(' ')) {
            // BLAST prints a column once, however often it is asked for; DIAMOND does as it is told.
            if !is_blast || !names.iter().any(|other| other == name) {
                names.push(name.to_owned());
            }
        }
        let n_wanted = names.len();
        let needed = NEEDED.map(|name| {
            names.iter().position(|other| other == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            })
        });
        Self { names, needed, n_wanted }
    }

    /// Returns the part of a line that a user wanted, and the fields that the merge needs; `None` if it has another
    /// number of columns.
    fn of<'a>(&self, line: &'a str) -> Option<(&'a str, [&'a str; NEEDED.len()])> {
        let mut needed = [""; NEEDED.len()];
        let (mut n_columns, mut begin, mut n_bytes) = (0, 0, 0);
        for end in memchr::memchr_iter(b'\t', line.as_bytes()).chain([line.len()]) {
            for (needed, at) in needed.iter_mut().zip(self.needed) {
                if at == n_columns {
                    *needed = &line[begin..end];
                }
            }
            n_columns += 1;
            if n_columns == self.n_wanted {
                n_bytes = end;
            }
            begin = end + 1;
        }
        (n_columns == self.names.len()).then(|| (&line[..n_bytes], needed))
    }
}

/// The reason why outputs cannot be merged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Columns other than those that were asked for.
    #[error(
        "part {part}, line {line}: it does not have the columns that were asked for, or no numbers for e-value and score"
    )]
    Columns {
        /// Number of the library part, from 0.
        part: usize,
        /// Number of the line, from 1.
        line: usize,
    },
    /// A query that was not asked.
    #[error("part {part}, line {line}: there is no query `{query}`")]
    Query {
        /// Number of the library part, from 0.
        part: usize,
        /// Number of the line, from 1.
        line: usize,
        /// Name of the query that stands there.
        query: String,
    },
    /// Another order than the one that is merged by.
    #[error(
        "part {part}, line {line}: hits are not in the order of their e-values and scores, so nobody can say in which one run has them"
    )]
    Order {
        /// Number of the library part, from 0.
        part: usize,
        /// Number of the line, from 1.
        line: usize,
    },
}

/// A subject's lines for one query.
struct Subject<'a> {
    part: usize,
    name: &'a str,
    evalue: f64,
    score: f64,
    length: u64,
    lines: Vec<&'a str>,
}

/// Merges the outputs of all library parts for the same queries into `out`, with at most so many subjects for each
/// query. Returns the number of neighbours whose order is not certain.
///
/// # Errors
/// [`MergeError`], if an output is not what was asked for.
pub fn merge(
    queries: &[&str],
    columns: &Columns,
    order: Order,
    parts: &[String],
    n_subjects_max: usize,
    out: &mut String,
) -> Result<usize, MergeError> {
    let places: HashMap<&str, usize> = queries.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    // For each query, for each part that has any of it, what it has.
    let mut found: Vec<Vec<Vec<Subject<'_>>>> = queries.iter().map(|_| Vec::new()).collect();
    for (part, text) in parts.iter().enumerate() {
        // Lines of a query stand together.
        let mut latest = None;
        for (at, whole) in text.lines().enumerate() {
            let line = at + 1;
            let none = || MergeError::Columns { part, line };
            let (kept, [query, name, evalue, score, length]) = columns.of(whole).ok_or_else(none)?;
            let number = |text: &str| text.trim().parse().map_err(|_| none());
            let (evalue, score): (f64, f64) = (number(evalue)?, number(score)?);
            let length = length.trim().parse().map_err(|_| none())?;
            let place = match latest {
                Some((name, place)) if name == query => place,
                _ => *places.get(query).ok_or_else(|| MergeError::Query { part, line, query: query.to_owned() })?,
            };
            latest = Some((query, place));
            let of_query = &mut found[place];
            if of_query.last().is_none_or(|subjects| subjects[0].part != part) {
                of_query.push(Vec::new());
            }
            let subjects = of_query.last_mut().expect("it was just seen to");
            match subjects.last_mut() {
                Some(last) if last.name == name => {
                    last.lines.push(kept);
                    (last.evalue, last.score) = (last.evalue.min(evalue), last.score.max(score));
                }
                last => {
                    let next = Subject { part, name, evalue, score, length, lines: vec![kept] };
                    if last.is_some_and(|last| !order.holds(last, &next)) {
                        return Err(MergeError::Order { part, line });
                    }
                    subjects.push(next);
                }
            }
        }
    }
    let mut n_uncertain = 0;
    for of_query in found {
        // One more than are listed: whether the last one is it is as uncertain.
        let subjects: Vec<Subject<'_>> = in_order(order, of_query).take(n_subjects_max.saturating_add(1)).collect();
        n_uncertain += subjects.windows(2).filter(|pair| order.is_uncertain(&pair[0], &pair[1])).count();
        for line in subjects.iter().take(n_subjects_max).flat_map(|subject| &subject.lines) {
            out.push_str(line);
            out.push('\n');
        }
    }
    Ok(n_uncertain)
}

/// Returns the subjects of all parts; those of one part stay in their order.
fn in_order<'a>(order: Order, parts: Vec<Vec<Subject<'a>>>) -> impl Iterator<Item = Subject<'a>> {
    let mut parts: Vec<_> = parts.into_iter().map(|subjects| subjects.into_iter().peekable()).collect();
    std::iter::from_fn(move || {
        let heads = parts.iter_mut().enumerate().filter_map(|(at, part)| Some((at, part.peek()?)));
        let at = heads.min_by(|(_, one), (_, other)| order.cmp(one, other))?.0;
        parts[at].next()
    })
}

/// Puts together what SSW lists of the same queries and all library parts: each query with the sequences of all parts,
/// in their order.
///
/// # Errors
/// [`MergeError`], if an output is not what was asked for.
pub fn merge_pairs(queries: &[&str], is_sam: bool, parts: &[String], out: &mut String) -> Result<(), MergeError> {
    let mut rest = parts.iter().map(|text| pairs(text, is_sam)).collect::<Vec<_>>();
    for query in queries {
        for pairs in &mut rest {
            while let Some((_, text)) = pairs.next_if(|(of, _)| of == query) {
                out.push_str(text);
            }
        }
    }
    for (part, pairs) in rest.iter_mut().enumerate() {
        if let Some((query, text)) = pairs.peek() {
            let line = parts[part][..text.as_ptr() as usize - parts[part].as_ptr() as usize].lines().count() + 1;
            return Err(MergeError::Query { part, line, query: (*query).to_owned() });
        }
    }
    Ok(())
}

/// Returns a query's name and the text about it and one sequence; one by one, as they stand.
fn pairs(text: &str, is_sam: bool) -> std::iter::Peekable<impl Iterator<Item = (&str, &str)>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = if is_sam {
            rest.find('\n').map_or(rest.len(), |at| at + 1)
        } else {
            // The first line of the next one.
            rest.get(1..)?.find("\ntarget_name: ").map_or(rest.len(), |at| at + 2)
        };
        let (pair, after) = rest.split_at(end);
        rest = after;
        let name = if is_sam {
            pair.split('\t').next()
        } else {
            pair.lines().nth(1).map(|line| line.strip_prefix("query_name: ").unwrap_or_default())
        };
        (!pair.is_empty()).then(|| (name.unwrap_or_default(), pair))
    })
    .peekable()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLAST: Order = Order::Blast { has_scaled_scores: true };

    /// A line of the columns `stitle`, then those that are needed.
    fn hit(query: &str, subject: &str, evalue: &str, score: u32) -> String {
        long_hit(query, subject, evalue, score, 100)
    }

    fn long_hit(query: &str, subject: &str, evalue: &str, score: u32, length: u64) -> String {
        format!("{query} meets {subject}\t{query}\t{subject}\t{evalue}\t{score}\t{length}\n")
    }

    fn merged_by(
        order: Order,
        queries: &[&str],
        parts: &[String],
        n_subjects_max: usize,
    ) -> Result<(String, usize), MergeError> {
        let mut out = String::new();
        let n_uncertain = merge(queries, &Columns::new(order, ["stitle"]), order, parts, n_subjects_max, &mut out)?;
        Ok((out, n_uncertain))
    }

    fn merged(queries: &[&str], parts: &[String], n_subjects_max: usize) -> Result<(String, usize), MergeError> {
        merged_by(BLAST, queries, parts, n_subjects_max)
    }

    #[test]
    fn columns_that_are_there_are_not_asked_for_again() {
        let of = |order, wanted: &[&str]| Columns::new(order, wanted.iter().copied()).names.join(" ");
        let std = BLAST.std();
        assert_eq!(of(BLAST, &[]), format!("{std} qseqid sseqid score slen"));
        assert_eq!(of(BLAST, &["std", "score", "evalue"]), format!("{std} score qseqid sseqid slen"));
        assert_eq!(of(BLAST, &["score", "score", "qseqid"]), "score qseqid sseqid evalue slen");
        assert_eq!(of(Order::Diamond, &[]), format!("{} score slen", Order::Diamond.std()));
        assert_eq!(of(Order::Diamond, &["score", "score", "qseqid"]), "score score qseqid sseqid evalue slen");
        let line = "7\tq\ts\t1e-3\t90";
        assert_eq!(Columns::new(BLAST, ["score", "qseqid"]).of(line), Some(("7\tq", ["q", "s", "1e-3", "7", "90"])));
        assert_eq!(Columns::new(BLAST, ["score"]).of("7\tq\ts"), None);
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
    fn diamond_has_earlier_sequences_first_and_is_sure_of_equal_lengths() {
        let part = |hits: &[(&str, u64)]| {
            hits.iter().map(|(subject, length)| long_hit("q", subject, "1e-3", 30, *length)).collect::<String>()
        };
        let merged = |parts: &[String]| merged_by(Order::Diamond, &["q"], parts, 9).unwrap();
        let told = |names: [&str; 3]| names.map(|name| format!("q meets {name}\n")).concat();
        assert_eq!(merged(&[part(&[("a", 90), ("b", 90)]), part(&[("c", 90)])]), (told(["a", "b", "c"]), 0));
        assert_eq!(merged(&[part(&[("a", 91), ("b", 91)]), part(&[("c", 90)])]), (told(["c", "a", "b"]), 1));
        // Within a part, what is not printed has decided.
        let lower_first = hit("q", "a", "1e-3", 29) + &hit("q", "b", "1e-3", 30);
        assert_eq!(merged(&[lower_first, part(&[("c", 90)])]).0, told(["c", "a", "b"]));
    }

    #[test]
    fn all_pairs_of_a_query_follow_each_other() {
        let pair =
            |target: &str, query: &str| format!("target_name: {target}\nquery_name: {query}\noptimal: 7\n\n T: A\n\n");
        let parts = [["a", "b"], ["c", "d"]]
            .map(|targets| ["q", "r"].map(|query| targets.map(|target| pair(target, query)).concat()).concat());
        let mut out = String::new();
        merge_pairs(&["q", "r"], false, &parts, &mut out).unwrap();
        let wanted = ["q", "r"].map(|query| ["a", "b", "c", "d"].map(|target| pair(target, query)).concat()).concat();
        assert_eq!(out, wanted);
        out.clear();
        let sam = ["q\t0\ta\nr\t0\ta\n", "", "r\t0\tb\n"].map(str::to_owned);
        merge_pairs(&["q", "r"], true, &sam, &mut out).unwrap();
        assert_eq!(out, "q\t0\ta\nr\t0\ta\nr\t0\tb\n");
        let query = "r".to_owned();
        assert_eq!(
            merge_pairs(&["q"], true, &sam, &mut String::new()),
            Err(MergeError::Query { part: 0, line: 2, query })
        );
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
