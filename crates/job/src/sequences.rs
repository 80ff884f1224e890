//! Searches of a sequence library, cut by queries and by library: tools that are run as they are, and whose outputs put together are those of one
//! run.
//!
//! The statistics of a hit are those of the whole library, whichever part of it a unit searches. Units that differ in queries write their hits in
//! the order of these; those that differ in library parts are merged.

mod library;
mod merge;

use std::collections::HashSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::input::Input;
use crate::kept::KeptError;
use crate::run::Outputs;
pub use merge::MergeError;

/// Under this name a unit finds what it reads from its standard input, too: not every tool reads that.
pub const QUERIES: &str = "input";
/// Bytes of one unit's queries: a request has to hold two of them.
const UNIT_BYTES_MAX: usize = 400 << 10;

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The tool's name, which is also that of the command that workers allow.
    pub tool: String,
    /// Its arguments in a unit.
    pub args: Vec<String>,
    /// The library.
    pub library: Input,
    /// What each unit reads: queries as they stand in the file.
    pub units: Vec<String>,
    /// What each unit's cost goes by: the residues of its queries times its share of the library's.
    pub costs: Vec<f64>,
    /// What may make a search in parts another one; nothing where nothing does.
    pub caution: Option<&'static str>,
    /// Into how many parts the library is cut; units that follow each other differ in these.
    n_library_parts: usize,
    /// What the outputs of library parts have.
    columns: merge::Columns,
    /// Subjects that a query has at most.
    n_subjects_max: usize,
    /// Whether the tool sorts by more digits of a score than it prints.
    has_scaled_scores: bool,
}

/// Why outputs are not put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PutTogetherError {
    /// They cannot be read or written.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// They cannot be merged.
    #[error("the hits of queries from `{query}` on cannot be merged")]
    Merge {
        /// The first of the queries.
        query: String,
        /// Why not.
        source: MergeError,
    },
    /// The destination.
    #[error("cannot write the hits")]
    Write(#[source] io::Error),
}

/// Why a search cannot be cut.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A tool that is not known.
    #[error(
        "`{0}` is no search that can be cut: blastp, blastn, blastx, tblastn, tblastx, `diamond blastp` and `diamond blastx` can"
    )]
    Tool(String),
    /// Something is not said.
    #[error("`{tool}` needs {option}")]
    Missing {
        /// The tool.
        tool: String,
        /// What it needs.
        option: &'static str,
    },
    /// Something that does not go together with parts.
    #[error("`{option}` cannot be put together from parts: {why}")]
    Option {
        /// What was given.
        option: String,
        /// Why not.
        why: &'static str,
    },
    /// Something that does not go together with library parts.
    #[error("{what} cannot be cut by library: {why}")]
    Parts {
        /// What was given.
        what: String,
        /// Why not.
        why: &'static str,
    },
    /// A file that cannot be read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A library that is not there.
    #[error("there is no library `{}`: {how}", path.display())]
    Library {
        /// Where it should be.
        path: PathBuf,
        /// How it is made.
        how: &'static str,
    },
    /// A file of queries that is none.
    #[error("`{}`, line {line}: {why}", path.display())]
    Fasta {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// How a tool names what matters.
struct Tool {
    query: &'static [&'static str],
    library: &'static [&'static str],
    format: &'static [&'static str],
    /// Formats whose parts are a whole when put together: no heads, no tails.
    mergeable: &'static [&'static str],
    needs_format: bool,
    refused: &'static [(&'static str, &'static str)],
    /// Units that a search is cut into, if it has as many queries and nobody says otherwise.
    n_units: usize,
    caution: Option<&'static str>,
}

const NCBI: Tool = Tool {
    query: &["-query"],
    library: &["-db"],
    format: &["-outfmt"],
    mergeable: &["6", "10"],
    needs_format: true,
    refused: &[
        ("-out", "outputs go where --out says"),
        ("-remote", "it is another's machine that searches"),
        ("-subject", "a library is searched by -db, after makeblastdb"),
        ("-html", "pages have heads and tails"),
        ("-import_search_strategy", "it names other files"),
        ("-export_search_strategy", "it names other files"),
    ],
    n_units: 256,
    caution: None,
};

const DIAMOND: Tool = Tool {
    query: &["-q", "--query"],
    library: &["-d", "--db"],
    format: &["-f", "--outfmt"],
    mergeable: &["6"],
    needs_format: false,
    refused: &[
        ("-o", "outputs go where --out says"),
        ("--out", "outputs go where --out says"),
        ("--un", "it writes other files"),
        ("--al", "it writes other files"),
    ],
    // Each goes through the whole library, for one query as for many.
    n_units: 16,
    caution: Some(
        "diamond chooses its algorithm by how many queries there are, unless --algo says which: parts may find other hits than one run",
    ),
};

impl Search {
    /// Of a command line as one would run it, in about so many units or as many as suit the tool.
    ///
    /// # Errors
    /// [`SearchError`], before anything is run.
    pub fn new(words: &[String], n_units: Option<NonZero<usize>>) -> Result<Self, SearchError> {
        let name = words.first().map(String::as_str).unwrap_or_default();
        let (tool, n_words) = match (name, words.get(1).map(String::as_str)) {
            ("blastp" | "blastn" | "blastx" | "tblastn" | "tblastx", _) => (&NCBI, 1),
            ("diamond", Some("blastp" | "blastx")) => (&DIAMOND, 2),
            _ => return Err(SearchError::Tool(words.join(" "))),
        };
        let mut args: Vec<String> = words[1..].to_vec();
        let missing = |option| SearchError::Missing { tool: name.to_owned(), option };
        check_options(tool, &args[n_words - 1..])?;
        let format =
            value(&mut args, tool.format).map(|format| format.split(' ').next().unwrap_or_default().to_owned());
        match format {
            Some(format) if !tool.mergeable.contains(&format.as_str()) => {
                let option = format!("{} {format}", tool.format[0]);
                return Err(SearchError::Option { option, why: "only formats of one line for each hit can be" });
            }
            None if tool.needs_format => {
                return Err(missing("-outfmt 6 or 10: other formats cannot be put together from parts"));
            }
            _ => {}
        }
        let query = value(&mut args, tool.query).ok_or_else(|| missing("a file of queries"))?;
        let path = PathBuf::from(std::mem::replace(query, QUERIES.to_owned()));
        let (units, costs) = cut(&path, n_units.map_or(tool.n_units, NonZero::get))?;
        let place = value(&mut args, tool.library).ok_or_else(|| missing("a library"))?;
        let library = PathBuf::from(&*place);
        let (library, mark) =
            if std::ptr::eq(tool, &NCBI) { ncbi_library(&library)? } else { diamond_library(&library)? };
        *place = mark;
        let has_algorithm = args.iter().any(|arg| arg == "--algo");
        let caution = tool.caution.filter(|_| !has_algorithm);
        Ok(Self {
            tool: name.to_owned(),
            args,
            library,
            units,
            costs,
            caution,
            n_library_parts: 1,
            columns: merge::Columns::new([]),
            n_subjects_max: usize::MAX,
            has_scaled_scores: false,
        })
    }

    /// The same search, each unit once for each of so many parts of the library. What describes the parts is written to a folder, where it has to
    /// stay as long as workers may want it.
    ///
    /// # Errors
    /// [`SearchError`]: another tool than blastp, a format or an option that needs all hits at once, queries of one name, a library that cannot be
    /// cut or a folder that cannot be written.
    pub fn by_library(mut self, n_parts: NonZero<usize>, folder: &Path) -> Result<Self, SearchError> {
        let refused = |what: &str, why| SearchError::Parts { what: format!("`{what}`"), why };
        if self.tool != "blastp" {
            return Err(refused(
                &self.tool,
                "the order and statistics of its hits in parts are not known; blastp can be",
            ));
        }
        for (option, why) in NOT_BY_LIBRARY {
            if self.args.iter().any(|arg| arg == option) {
                return Err(refused(option, why));
            }
        }
        let names: Vec<&str> = self.units.iter().flat_map(|unit| query_names(unit)).collect();
        if names.contains(&"") {
            return Err(refused(">", "a query without a name cannot be found again in the hits"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(**name)) {
            return Err(refused(twice, "two queries have this name, and hits are told apart by it"));
        }
        let n_subjects_max = match value(&mut self.args, &["-max_target_seqs"]) {
            Some(text) => text.parse().map_err(|_| refused("-max_target_seqs", "what follows it is no number"))?,
            None => N_SUBJECTS_MAX,
        };
        let has_scaled_scores =
            value(&mut self.args, &["-comp_based_stats"]).is_none_or(|mode| !matches!(mode.as_str(), "0" | "F" | "f"));
        let format = value(&mut self.args, NCBI.format).expect("a search by blastp has a format");
        let mut words = format.split_whitespace();
        if words.next() != Some("6") || words.clone().any(|word| word.contains('=')) {
            return Err(refused(&format!("-outfmt {format}"), "6 with its own delimiter can be"));
        }
        self.columns = merge::Columns::new(words);
        *format = format!("6 {}", self.columns.names.join(" "));
        let parts = library::cut(&self.library, n_parts, folder)?;
        let n = parts.shares.len();
        let place = value(&mut self.args, NCBI.library).expect("a search has a library");
        *place = format!("{}/{}{{unit%{n}}}", parts.input.mark(), library::PART);
        self.units = self.units.into_iter().flat_map(|unit| std::iter::repeat_n(unit, n)).collect();
        self.costs = self.costs.iter().flat_map(|cost| parts.shares.iter().map(move |share| cost * share)).collect();
        (self.library, self.n_library_parts, self.n_subjects_max) = (parts.input, n, n_subjects_max);
        self.has_scaled_scores = has_scaled_scores;
        self.caution = Some(if has_scaled_scores { SCALED } else { CANDIDATES });
        Ok(self)
    }

    /// Writes what all units found as one run does. Gives the number of neighbours among the hits whose order in one run is not certain, since all
    /// that is printed of them is alike.
    ///
    /// # Errors
    /// [`PutTogetherError`]. What was written until then is right.
    pub fn put_together(&self, outputs: &Outputs, out: &mut dyn io::Write) -> Result<usize, PutTogetherError> {
        if self.n_library_parts == 1 {
            return Ok(outputs.copy(out).map(|()| 0)?);
        }
        let mut n_uncertain = 0;
        let mut merged = String::new();
        for first in (0..self.units.len()).step_by(self.n_library_parts) {
            let names: Vec<&str> = query_names(&self.units[first]).collect();
            let parts =
                (first..first + self.n_library_parts).map(|unit| outputs.text(unit)).collect::<Result<Vec<_>, _>>()?;
            merged.clear();
            n_uncertain +=
                merge::merge(&names, &self.columns, &parts, self.n_subjects_max, &mut merged).map_err(|source| {
                    PutTogetherError::Merge { query: names.first().copied().unwrap_or_default().to_owned(), source }
                })?;
            out.write_all(merged.as_bytes()).map_err(PutTogetherError::Write)?;
        }
        Ok(if self.has_scaled_scores { n_uncertain } else { 0 })
    }
}

/// Subjects of a query that blastp lists unless it is told another number.
const N_SUBJECTS_MAX: usize = 500;
const NOT_BY_LIBRARY: &[(&str, &str)] = &[
    ("-culling_limit", "it compares hits of the whole library"),
    ("-best_hit_overhang", "it compares hits of the whole library"),
    ("-best_hit_score_edge", "it compares hits of the whole library"),
    ("-num_alignments", "it is for other formats; -max_target_seqs can be"),
    ("-num_descriptions", "it is for other formats; -max_target_seqs can be"),
    ("-gilist", "it names other files"),
    ("-seqidlist", "it names other files"),
    ("-negative_gilist", "it names other files"),
    ("-negative_seqidlist", "it names other files"),
    ("-taxids", "it changes the library's statistics"),
    ("-taxidlist", "it names other files"),
    ("-negative_taxids", "it changes the library's statistics"),
    ("-negative_taxidlist", "it names other files"),
    ("-ipglist", "it names other files"),
    ("-negative_ipglist", "it names other files"),
];
const CANDIDATES: &str = "blastp aligns a limited number of candidates for each query (-max_target_seqs and some more), and each library part has as \
    many for itself: a query with more may have hits that one run does not list";
const SCALED: &str = "blastp aligns a limited number of candidates for each query (-max_target_seqs and some more), and each library part has as \
    many for itself: a query with more may have hits that one run does not list. It sorts hits by digits of their e-values that it does not print, \
    so hits of different parts that look alike may stand the other way round; how many do is told in the end";

/// The first word of each query's title, which hits name it by.
fn query_names(text: &str) -> impl Iterator<Item = &str> {
    let titles = text.lines().filter_map(|line| line.strip_prefix('>'));
    titles.map(|title| title.split_whitespace().next().unwrap_or_default())
}

fn check_options(tool: &Tool, args: &[String]) -> Result<(), SearchError> {
    for (refused, why) in tool.refused {
        if args.iter().any(|arg| arg == refused) {
            return Err(SearchError::Option { option: (*refused).to_owned(), why });
        }
    }
    Ok(())
}

/// What follows an option of one of these names.
fn value<'a>(args: &'a mut [String], names: &[&str]) -> Option<&'a mut String> {
    let at = args.iter().position(|arg| names.contains(&arg.as_str()))?;
    args.get_mut(at + 1)
}

/// The files that makeblastdb made, and what an argument says of them.
fn ncbi_library(path: &Path) -> Result<(Input, String), SearchError> {
    let stem = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unreadable = |source| SearchError::Unreadable { path: path.to_owned(), source };
    let is_part = |name: &str| {
        let extension = name.strip_prefix(&stem).and_then(|rest| rest.strip_prefix('.'));
        extension.is_some_and(|extension| extension.len() == 3 && extension.starts_with(['p', 'n']))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if is_part(&entry.file_name().to_string_lossy()) {
            files.push(entry.path());
        }
    }
    if files.len() < 3 {
        return Err(SearchError::Library {
            path: path.to_owned(),
            how: "`makeblastdb -in FILE.fa -dbtype prot -out NAME` makes one",
        });
    }
    let library = Input::new(files).map_err(unreadable)?;
    let mark = format!("{}/{stem}", library.mark());
    Ok((library, mark))
}

fn diamond_library(path: &Path) -> Result<(Input, String), SearchError> {
    let with_extension = PathBuf::from(format!("{}.dmnd", path.display()));
    let found = [path.to_owned(), with_extension]
        .into_iter()
        .find(|path| path.is_file() && path.extension().is_some_and(|extension| extension == "dmnd"));
    let how = "`diamond makedb --in FILE.fa -d NAME` makes one";
    let found = found.ok_or_else(|| SearchError::Library { path: path.to_owned(), how })?;
    let library = Input::new([found]).map_err(|source| SearchError::Unreadable { path: path.to_owned(), source })?;
    let mark = library.mark();
    Ok((library, mark))
}

/// Queries as they stand in the file, in units of about the same number of residues, and these numbers.
fn cut(path: &Path, n_units: usize) -> Result<(Vec<String>, Vec<f64>), SearchError> {
    let text = fs::read_to_string(path).map_err(|source| SearchError::Unreadable { path: path.to_owned(), source })?;
    let queries = queries(path, &text)?;
    let total: u64 = queries.iter().map(|(_, n_residues)| n_residues).sum();
    let enough = total / n_units as u64;
    let (mut units, mut n_residues): (Vec<String>, Vec<u64>) = (Vec::new(), Vec::new());
    for (text, n) in queries {
        match (units.last_mut(), n_residues.last_mut()) {
            (Some(unit), Some(sum)) if *sum < enough && unit.len() + text.len() <= UNIT_BYTES_MAX => {
                unit.push_str(text);
                *sum += n;
            }
            _ => {
                units.push(text.to_owned());
                n_residues.push(n);
            }
        }
    }
    Ok((units, n_residues.into_iter().map(|n| n as f64).collect()))
}

/// Each query, from its `>` to the next, and how many residues it has.
fn queries<'a>(path: &Path, text: &'a str) -> Result<Vec<(&'a str, u64)>, SearchError> {
    let wrong = |line: usize, why: String| SearchError::Fasta { path: path.to_owned(), line, why };
    let mut found: Vec<(usize, usize, usize, u64)> = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let (begin, content) = (at, line.trim_end());
        at += line.len();
        if content.starts_with('>') {
            found.push((number + 1, begin, at, 0));
        } else if !content.is_empty() && !content.starts_with(';') {
            let query = found
                .last_mut()
                .ok_or_else(|| wrong(number + 1, "a sequence has a line before it that begins with `>`".to_owned()))?;
            if let Some(letter) =
                content.chars().find(|letter| !letter.is_ascii_alphabetic() && !"*-. ".contains(*letter))
            {
                return Err(wrong(number + 1, format!("`{}` stands for no residue", letter.escape_default())));
            }
            query.3 += content.chars().filter(char::is_ascii_alphabetic).count() as u64;
        }
        if let Some(query) = found.last_mut() {
            query.2 = at;
        }
    }
    if found.is_empty() {
        return Err(wrong(1, "there is no query in it".to_owned()));
    }
    for (line, begin, end, n_residues) in &found {
        if *n_residues == 0 {
            return Err(wrong(*line, "the query has no residues".to_owned()));
        }
        if end - begin > UNIT_BYTES_MAX {
            return Err(wrong(*line, format!("the query has {} bytes, and {UNIT_BYTES_MAX} can be sent", end - begin)));
        }
    }
    Ok(found.into_iter().map(|(_, begin, end, n_residues)| (&text[begin..end], n_residues)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn queries_are_cut_as_they_stand() {
        let text = ">one\r\nACD\r\nEF\r\n\r\n>two with words\nAC*\n>three\nA";
        let found = queries(Path::new("q.fa"), text).unwrap();
        assert_eq!(found.iter().map(|(text, _)| *text).collect::<String>(), text);
        assert_eq!(found.iter().map(|(_, n_residues)| *n_residues).collect::<Vec<_>>(), [5, 2, 1]);
        for (text, wanted) in [
            ("", "line 1: there is no query"),
            ("ACD\n", "line 1: a sequence has a line before it"),
            (">a\nAC\n>b\n>c\nA\n", "line 3: the query has no residues"),
            (">a\nAC\nA1\n", "line 3: `1` stands for no residue"),
        ] {
            let told = queries(Path::new("q.fa"), text).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_put_together_is_refused() {
        for (line, wanted) in [
            ("grep|x", "`grep x` is no search that can be cut"),
            ("blastp|-query|q|-db|d", "`blastp` needs -outfmt 6 or 10"),
            ("blastp|-query|q|-db|d|-outfmt|5", "`-outfmt 5` cannot be put together"),
            ("blastp|-query|q|-db|d|-outfmt|6|-out|x", "`-out` cannot be put together"),
            ("blastp|-db|d|-outfmt|6 qseqid", "`blastp` needs a file of queries"),
            ("diamond|blastp|-q|nowhere.fa|-d|d", "cannot read `nowhere.fa`"),
        ] {
            let told = Search::new(&words(line), None).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
    }
}
