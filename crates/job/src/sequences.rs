//! Searches of a sequence library, cut by queries and by library: tools that are run as they are, and whose outputs put
//! together are those of one run.
//!
//! The statistics of a hit are those of the whole library, whichever part of it a unit searches. Units that differ in
//! queries write their hits in the order of these; those that differ in library parts are merged.

mod fasta;
mod library;
mod merge;
mod tool;

use std::collections::HashSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::input::Input;
use crate::kept::KeptError;
use crate::run::Outputs;
use fasta::{cut_library, cut_queries};
use library::{PART, Parts};
pub use merge::MergeError;
use merge::{Columns, Order};
use tool::{Family, Tool, is_sam, ssw_files};

/// Name under which a unit finds what it reads from its standard input, too: not every tool reads that.
pub const QUERIES: &str = "input";

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The tool's name, which is also that of the command that workers allow.
    pub tool: String,
    /// Its arguments in a unit.
    pub args: Vec<String>,
    /// The library.
    pub library: Input,
    /// Standard input of each unit: queries as they stand in the file.
    pub units: Vec<String>,
    /// Cost of each unit: the residues of its queries times its share of the library's.
    pub costs: Vec<f64>,
    /// Warning about what may make a search in parts differ from the whole one; `None` if nothing does.
    pub caution: Option<&'static str>,
    /// Number of parts into which the library is cut; units that follow each other differ in these.
    n_library_parts: usize,
    merging: Merging,
}

/// Way in which outputs become that of one run.
#[derive(Clone, Debug)]
enum Merging {
    /// Outputs that follow each other.
    Copy,
    /// The best hits of each query, from all library parts.
    Hits { columns: Columns, order: Order, n_subjects_max: usize },
    /// Each query's comparisons with all library parts.
    Pairs { is_sam: bool },
}

/// The reason why outputs are not put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PutTogetherError {
    /// Outputs that cannot be read or written.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// Outputs that cannot be merged.
    #[error("the hits of queries from `{query}` on cannot be merged")]
    Merge {
        /// The first of the queries.
        query: String,
        /// The cause.
        source: MergeError,
    },
    /// Failure of the destination.
    #[error("cannot write the hits")]
    Write(#[source] io::Error),
}

/// The reason why a search cannot be cut.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A tool that is not known.
    #[error(
        "`{0}` is no search that can be cut: blastp, blastn, blastx, tblastn, tblastx, `diamond blastp`, `diamond blastx` and ssw-align can"
    )]
    Tool(String),
    /// A missing option.
    #[error("`{tool}` needs {option}")]
    Missing {
        /// The tool.
        tool: String,
        /// The option that it needs.
        option: &'static str,
    },
    /// An option or format that does not go together with parts.
    #[error("`{option}` cannot be put together from parts: {why}")]
    Option {
        /// The one that was given.
        option: String,
        /// The reason.
        why: &'static str,
    },
    /// An option or file that does not go together with library parts.
    #[error("{what} cannot be cut by library: {why}")]
    Parts {
        /// The one that was given.
        what: String,
        /// The reason.
        why: &'static str,
    },
    /// A file that cannot be read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A part of a library that cannot be written.
    #[error("cannot write a part of the library to `{}`", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A library that is not there.
    #[error("there is no library `{}`: {how}", path.display())]
    Library {
        /// Path where the library should be.
        path: PathBuf,
        /// Description of how the library is made.
        how: &'static str,
    },
    /// A file of queries that is not one.
    #[error("`{}`, line {line}: {why}", path.display())]
    Fasta {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Fault of the line.
        why: String,
    },
}

impl Search {
    /// Returns the number of units that suit a tool, if nobody says otherwise.
    ///
    /// # Errors
    /// [`SearchError::Tool`].
    pub fn n_units(words: &[String]) -> Result<usize, SearchError> {
        Ok(Tool::of(words)?.n_units)
    }

    /// Builds the search of a command line as one would run it, in about so many units or as many as suit the tool.
    ///
    /// # Errors
    /// [`SearchError`], before anything is run.
    pub fn new(words: &[String], n_units: Option<NonZero<usize>>) -> Result<Self, SearchError> {
        let tool = Tool::of(words)?;
        let name = &words[0];
        let missing = |option| SearchError::Missing { tool: name.clone(), option };
        let mut args = tool.separated(&words[1..]);
        let format =
            value(&mut args, tool.format).map(|format| format.split(' ').next().unwrap_or_default().to_owned());
        tool.check(&args, format.as_deref())?;
        let (library_at, query_at) = match tool.family {
            Family::Ssw => ssw_files(&args)
                .map(|[library, query]| (library, query))
                .ok_or_else(|| missing("two files without an option: the library, then the queries"))?,
            _ => {
                let query = place(&args, tool.query).ok_or_else(|| missing("a file of queries"))?;
                (place(&args, tool.library).ok_or_else(|| missing("a library"))?, query)
            }
        };
        let path = PathBuf::from(std::mem::replace(&mut args[query_at], QUERIES.to_owned()));
        let (units, costs) = cut_queries(&path, n_units.map_or(tool.n_units, NonZero::get))?;
        let library = PathBuf::from(&args[library_at]);
        let (library, mark) = match tool.family {
            Family::Ncbi => ncbi_library(&library)?,
            Family::Diamond => diamond_library(&library)?,
            Family::Ssw => file_library(library)?,
        };
        args[library_at] = mark;
        Ok(Self {
            tool: name.clone(),
            caution: tool.caution(&args),
            args,
            library,
            units,
            costs,
            n_library_parts: 1,
            merging: Merging::Copy,
        })
    }

    /// Returns the same search, each unit once for each of so many parts of the library. The files of the parts are
    /// written to a folder, where they have to stay as long as workers may want them.
    ///
    /// # Errors
    /// [`SearchError`]: another tool than blastp, `diamond blastp` and SSW, a format or an option that needs all hits
    /// at once, queries of one name, a library that cannot be cut or a folder that cannot be written.
    pub fn by_library(mut self, n_parts: NonZero<usize>, folder: &Path) -> Result<Self, SearchError> {
        let words: Vec<String> = std::iter::once(&self.tool).chain(&self.args).cloned().collect();
        let tool = Tool::of(&words)?;
        if !words.iter().zip(tool.words).all(|(word, wanted)| word == wanted) {
            let why = "the order and statistics of its hits in parts are not known; blastp, `diamond blastp` and ssw-align can be";
            return Err(refused(&words[..tool.words.len()].join(" "), why));
        }
        tool.check_by_library(&self.args)?;
        check_names(&self.units)?;
        let (parts, merging) = match tool.family {
            Family::Ncbi => self.ncbi_parts(n_parts, folder)?,
            Family::Diamond => self.diamond_parts(n_parts, folder)?,
            Family::Ssw => self.ssw_parts(n_parts, folder)?,
        };
        let order = if let Merging::Hits { order, .. } = &merging { Some(*order) } else { None };
        let n = parts.shares.len();
        self.units = self.units.into_iter().flat_map(|unit| std::iter::repeat_n(unit, n)).collect();
        self.costs = self.costs.iter().flat_map(|cost| parts.shares.iter().map(move |share| cost * share)).collect();
        self.caution = tool.caution_by_library(&self.args, order);
        (self.library, self.n_library_parts, self.merging) = (parts.input, n, merging);
        Ok(self)
    }

    fn ncbi_parts(&mut self, n_parts: NonZero<usize>, folder: &Path) -> Result<(Parts, Merging), SearchError> {
        let n_subjects_max = self.n_subjects_max(&["-max_target_seqs"], 500)?;
        let has_scaled_scores =
            value(&mut self.args, &["-comp_based_stats"]).is_none_or(|mode| !matches!(mode.as_str(), "0" | "F" | "f"));
        let order = Order::Blast { has_scaled_scores };
        let format = value(&mut self.args, &["-outfmt"]).expect("a search by blastp has a format");
        let mut words = format.split_whitespace();
        if words.next() != Some("6") || words.clone().any(|word| word.contains('=')) {
            return Err(refused(&format!("-outfmt {format}"), "6 with its own delimiter can be"));
        }
        let columns = Columns::new(order, words);
        *format = format!("6 {}", columns.names.join(" "));
        let parts = library::cut(&self.library, n_parts, folder)?;
        let place = value(&mut self.args, &["-db"]).expect("a search has a library");
        *place = format!("{}/{PART}{{unit%{}}}", parts.input.mark(), parts.shares.len());
        Ok((parts, Merging::Hits { columns, order, n_subjects_max }))
    }

    fn diamond_parts(&mut self, n_parts: NonZero<usize>, folder: &Path) -> Result<(Parts, Merging), SearchError> {
        // All, by its own way of saying so.
        let n_subjects_max = match self.n_subjects_max(&["-k", "--max-target-seqs"], 25)? {
            0 => usize::MAX,
            n => n,
        };
        let order = Order::Diamond;
        let format = place(&self.args, &["-f", "--outfmt"]);
        let wanted = format.map_or(0..0, |at| {
            let n_words = self.args[at..].iter().take_while(|arg| !arg.starts_with('-')).count();
            at + 1..at + n_words
        });
        let columns = Columns::new(order, self.args[wanted.clone()].iter().map(String::as_str));
        if format.is_some() {
            self.args.splice(wanted, columns.names.iter().cloned());
        } else {
            self.args.extend(["--outfmt", "6"].map(str::to_owned).into_iter().chain(columns.names.iter().cloned()));
        }
        let library = self.fasta("the FASTA file that a library was made of can be; -d takes that as well")?;
        let cut = cut_library(&library, n_parts, folder, true)?;
        if place(&self.args, &["--dbsize"]).is_none() {
            self.args.extend(["--dbsize".to_owned(), cut.n_letters.to_string()]);
        }
        let at = place(&self.args, &["-d", "--db"]).expect("a search has a library");
        self.args[at] = part_mark(&cut.parts);
        Ok((cut.parts, Merging::Hits { columns, order, n_subjects_max }))
    }

    fn ssw_parts(&mut self, n_parts: NonZero<usize>, folder: &Path) -> Result<(Parts, Merging), SearchError> {
        let library = self.fasta("a file in FASTA can be")?;
        // It goes by places, and never by names of sequences.
        let parts = cut_library(&library, n_parts, folder, false)?.parts;
        let [at, _] = ssw_files(&self.args).expect("a search by SSW has two files");
        self.args[at] = part_mark(&parts);
        Ok((parts, Merging::Pairs { is_sam: is_sam(&self.args) }))
    }

    /// Returns the path of the library, if it is a text.
    fn fasta(&self, why: &'static str) -> Result<PathBuf, SearchError> {
        let (name, path) = self.library.files().next().expect("a library has a file");
        if name.ends_with(".dmnd") { Err(refused(name, why)) } else { Ok(path.to_owned()) }
    }

    /// Returns the greatest number of subjects that a query has.
    fn n_subjects_max(&mut self, options: &[&'static str], default: usize) -> Result<usize, SearchError> {
        let given = value(&mut self.args, options).map(|text| text.parse());
        given.unwrap_or(Ok(default)).map_err(|_| refused(options[0], "what follows it is no number"))
    }

    /// Writes the hits of all units as one run does. Returns the number of neighbours among the hits whose order in one
    /// run is not certain, because all that is printed of them is alike.
    ///
    /// # Errors
    /// [`PutTogetherError`]. What was written until then is right.
    pub fn put_together(&self, outputs: &Outputs, out: &mut dyn io::Write) -> Result<usize, PutTogetherError> {
        if matches!(self.merging, Merging::Copy) {
            return Ok(outputs.copy(out).map(|()| 0)?);
        }
        let mut n_uncertain = 0;
        let mut merged = String::new();
        for first in (0..self.units.len()).step_by(self.n_library_parts) {
            let names: Vec<&str> = query_names(&self.units[first]).collect();
            let parts =
                (first..first + self.n_library_parts).map(|unit| outputs.text(unit)).collect::<Result<Vec<_>, _>>()?;
            merged.clear();
            let done = match &self.merging {
                Merging::Hits { columns, order, n_subjects_max } => {
                    merge::merge(&names, columns, *order, &parts, *n_subjects_max, &mut merged)
                }
                Merging::Pairs { is_sam } => merge::merge_pairs(&names, *is_sam, &parts, &mut merged).map(|()| 0),
                Merging::Copy => unreachable!("copies are made above"),
            };
            n_uncertain += done.map_err(|source| PutTogetherError::Merge {
                query: names.first().copied().unwrap_or_default().to_owned(),
                source,
            })?;
            out.write_all(merged.as_bytes()).map_err(PutTogetherError::Write)?;
        }
        Ok(n_uncertain)
    }
}

fn refused(what: &str, why: &'static str) -> SearchError {
    SearchError::Parts { what: format!("`{what}`"), why }
}

/// Refuses queries that hits cannot be told apart by.
fn check_names(units: &[String]) -> Result<(), SearchError> {
    let mut seen = HashSet::new();
    for name in units.iter().flat_map(|unit| query_names(unit)) {
        if name.is_empty() {
            return Err(refused(">", "a query without a name cannot be found again in the hits"));
        }
        if !seen.insert(name) {
            return Err(refused(name, "two queries have this name, and hits are told apart by it"));
        }
    }
    Ok(())
}

/// Returns the text by which an argument names a unit's part of a library in FASTA.
fn part_mark(parts: &Parts) -> String {
    match parts.shares.len() {
        // An input of one file is that file.
        1 => parts.input.mark(),
        n => format!("{}/{PART}{{unit%{n}}}.fa", parts.input.mark()),
    }
}

/// Returns the first word of each query's title, by which hits name the query.
fn query_names(text: &str) -> impl Iterator<Item = &str> {
    let titles = text.lines().filter_map(|line| line.strip_prefix('>'));
    titles.map(|title| title.split_whitespace().next().unwrap_or_default())
}

/// Returns the position of the word that follows an option of one of these names.
fn place(args: &[String], names: &[&str]) -> Option<usize> {
    let at = args.iter().position(|arg| names.contains(&arg.as_str()))? + 1;
    (at < args.len()).then_some(at)
}

/// Returns the word that follows an option of one of these names.
fn value<'a>(args: &'a mut [String], names: &[&str]) -> Option<&'a mut String> {
    place(args, names).map(|at| &mut args[at])
}

/// Returns the files that makeblastdb made, and the text by which an argument names them.
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

/// Returns a file that `diamond makedb` made, or one in FASTA.
fn diamond_library(path: &Path) -> Result<(Input, String), SearchError> {
    // The tool, too, looks for this one first.
    let with_extension = PathBuf::from(format!("{}.dmnd", path.display()));
    let found = [with_extension, path.to_owned()].into_iter().find(|path| path.is_file());
    let how = "`diamond makedb --in FILE.fa -d NAME` makes one";
    file_library(found.ok_or_else(|| SearchError::Library { path: path.to_owned(), how })?)
}

fn file_library(path: PathBuf) -> Result<(Input, String), SearchError> {
    let library = Input::new([path.clone()]).map_err(|source| SearchError::Unreadable { path, source })?;
    let mark = library.mark();
    Ok((library, mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn every_other_format_is_refused_with_its_reason() {
        let told = |line: String| Search::new(&words(&line), None).unwrap_err().to_string();
        for format in (0..=18).filter(|format| ![6, 10].contains(format)) {
            let told = told(format!("blastp|-query|q|-db|d|-outfmt|{format} qseqid"));
            assert!(told.starts_with(&format!("`-outfmt {format}` cannot be put together from parts: ")), "{told}");
            assert!(!told.contains("only formats of one line"), "{told}");
        }
        for format in ["0", "5", "xml", "100", "daa", "101", "sam", "102", "103", "paf", "104", "json-flat"] {
            let told = told(format!("diamond|blastp|-q|q|-d|d|--outfmt|{format}"));
            assert!(
                told.starts_with(&format!("`--outfmt {format}` cannot be put together from parts: "))
                    || told.starts_with(&format!("`-f {format}`")),
                "{told}"
            );
            assert!(!told.contains("only formats of one line"), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_put_together_is_refused() {
        for (line, wanted) in [
            ("grep|x", "`grep x` is no search that can be cut"),
            ("blastp|-query|q|-db|d", "`blastp` needs -outfmt 6 or 10"),
            ("blastp|-query|q|-db|d|-outfmt|5", "`-outfmt 5` cannot be put together"),
            ("blastp|-query|q|-db|d|-outfmt=5", "`-outfmt 5` cannot be put together from parts: XML is one document"),
            ("blastp|-query|q|-db|d|-outfmt|99", "`-outfmt 99` cannot be put together from parts: only formats of one"),
            ("diamond|blastp|-q|q|-d|d|-f5", "`-f 5` cannot be put together from parts: XML"),
            ("diamond|blastp|-q|q|-d|d|-ox", "`-o` cannot be put together"),
            ("blastp|-query|q|-db|d|-outfmt|6|-out|x", "`-out` cannot be put together"),
            ("blastp|-db|d|-outfmt|6 qseqid", "`blastp` needs a file of queries"),
            ("diamond|blastp|-q|nowhere.fa|-d|d", "cannot read `nowhere.fa`"),
            ("diamond|blastp|-q|q|-d|d|-f|101", "`-f 101` cannot be put together"),
            ("diamond|blastp|-q|q|-d|d|--header", "`--header` cannot be put together"),
            ("ssw-align|-p|lib.fa", "`ssw-align` needs two files without an option"),
            ("ssw-align|-pa|matrix|lib.fa|q.fa", "`-a` cannot be put together from parts: it names other files"),
            ("ssw-align|-pcsh|lib.fa|q.fa", "`-h` cannot be put together"),
        ] {
            let told = Search::new(&words(line), None).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
    }
}
