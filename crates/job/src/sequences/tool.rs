//! The tools: names of the options that matter in each, and options that go with parts.

use super::SearchError;
use super::merge::Order;

/// Names of a tool, and of the options by which it is told what to do.
pub struct Tool {
    pub family: Family,
    /// Words before its options: its name, and its command if it has several.
    pub words: &'static [&'static str],
    pub query: &'static [&'static str],
    pub library: &'static [&'static str],
    pub format: &'static [&'static str],
    /// Formats whose parts are a whole when put together: no heads, no tails.
    mergeable: &'static [&'static str],
    /// Other formats, and the reason why each is refused.
    formats_refused: &'static [Refused],
    needs_format: bool,
    refused: &'static [Refused],
    refused_by_library: &'static [Refused],
    /// Number of units that a search is cut into, if it has as many queries and nobody says otherwise.
    pub n_units: usize,
}

/// An option, and the reason why it is refused.
type Refused = (&'static str, &'static str);

/// Families of tools that take similar options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// BLAST+.
    Ncbi,
    /// DIAMOND.
    Diamond,
    /// The Smith-Waterman library's own program, in Debian `ssw-align`: its library and queries are words without an
    /// option.
    Ssw,
}

const ELSEWHERE: &str = "outputs go where --out says";
const OTHER_FILES: &str = "it names other files";
const WRITES: &str = "it writes other files";
const WHOLE: &str = "it compares hits of the whole library";

const PAIRWISE: &str =
    "pairwise alignments have a head, a tail with statistics, and a list of hits before the alignments";
const XML: &str = "XML is one document with one root";
const JSON: &str = "JSON is one document";
const SAM: &str = "SAM has a head that names the program's run";
const BINARY: &str = "it is no text";
const ASN_1: &str = "ASN.1 is one document";
const COMMENTS: &str = "comments count the hits of a query, and the last one counts queries; 6 has the same columns";
const ANCHORED: &str = "alignments that are anchored to the query are laid out by all hits of it";
const UNKNOWN: &str = "only formats of one line for each hit can be";

const NCBI: Tool = Tool {
    family: Family::Ncbi,
    words: &["blastp"],
    query: &["-query"],
    library: &["-db"],
    format: &["-outfmt"],
    mergeable: &["6", "10"],
    formats_refused: &[
        ("0", PAIRWISE),
        ("1", ANCHORED),
        ("2", ANCHORED),
        ("3", ANCHORED),
        ("4", ANCHORED),
        ("5", XML),
        ("7", COMMENTS),
        ("8", ASN_1),
        ("9", BINARY),
        ("11", ASN_1),
        ("12", JSON),
        ("13", "it writes several files"),
        ("14", "it writes several files"),
        ("15", JSON),
        ("16", XML),
        ("17", SAM),
        ("18", "a report of organisms counts all hits"),
    ],
    needs_format: true,
    refused: &[
        ("-out", ELSEWHERE),
        ("-remote", "it is another's machine that searches"),
        ("-subject", "a library is searched by -db, after makeblastdb"),
        ("-html", "pages have heads and tails"),
        ("-import_search_strategy", OTHER_FILES),
        ("-export_search_strategy", OTHER_FILES),
    ],
    refused_by_library: &[
        ("-culling_limit", WHOLE),
        ("-best_hit_overhang", WHOLE),
        ("-best_hit_score_edge", WHOLE),
        ("-num_alignments", "it is for other formats; -max_target_seqs can be"),
        ("-num_descriptions", "it is for other formats; -max_target_seqs can be"),
        ("-gilist", OTHER_FILES),
        ("-seqidlist", OTHER_FILES),
        ("-negative_gilist", OTHER_FILES),
        ("-negative_seqidlist", OTHER_FILES),
        ("-taxids", "it changes the library's statistics"),
        ("-taxidlist", OTHER_FILES),
        ("-negative_taxids", "it changes the library's statistics"),
        ("-negative_taxidlist", OTHER_FILES),
        ("-ipglist", OTHER_FILES),
        ("-negative_ipglist", OTHER_FILES),
    ],
    n_units: 256,
};

const DIAMOND: Tool = Tool {
    family: Family::Diamond,
    words: &["diamond", "blastp"],
    query: &["-q", "--query"],
    library: &["-d", "--db"],
    format: &["-f", "--outfmt"],
    mergeable: &["6", "tab"],
    formats_refused: &[
        ("0", PAIRWISE),
        ("5", XML),
        ("xml", XML),
        ("100", BINARY),
        ("daa", BINARY),
        ("101", SAM),
        ("sam", SAM),
        ("102", "a query's taxon is that of all its hits, and needs a library with taxa"),
        ("103", "PAF has no e-values in the order of the hits"),
        ("paf", "PAF has no e-values in the order of the hits"),
        ("104", JSON),
        ("json-flat", JSON),
    ],
    needs_format: false,
    refused: &[
        ("-o", ELSEWHERE),
        ("--out", ELSEWHERE),
        ("--un", WRITES),
        ("--al", WRITES),
        ("--header", "outputs with heads are no whole when put together"),
        ("--compress", "what is compressed is no text"),
        ("--multiprocessing", "processes of its own would share a folder"),
    ],
    refused_by_library: &[
        ("--top", WHOLE),
        ("-g", WHOLE),
        ("--global-ranking", WHOLE),
        ("--range-culling", WHOLE),
        ("--long-reads", WHOLE),
        ("--iterate", "whether it goes on depends on the hits in the whole library"),
        ("--unal", "every part would list queries without hits of its own"),
        ("--taxonlist", "the parts know of no taxa"),
        ("--taxon-exclude", "the parts know of no taxa"),
        ("--taxon-k", "the parts know of no taxa"),
        ("--seqidlist", OTHER_FILES),
    ],
    // Each goes through the whole library, for one query as for many.
    n_units: 16,
};

const SSW: Tool = Tool {
    family: Family::Ssw,
    words: &["ssw-align"],
    query: &[],
    library: &[],
    format: &[],
    mergeable: &[],
    formats_refused: &[],
    needs_format: false,
    refused: &[("-a", OTHER_FILES), ("-h", "outputs with heads are no whole when put together")],
    refused_by_library: &[],
    n_units: 256,
};

/// Letters of the options of SSW that a value follows, of all that it has.
const SSW_WITH_VALUE: &str = "mxoeaf";

impl Tool {
    /// Returns the tool that a command line begins with.
    pub fn of(words: &[String]) -> Result<&'static Self, SearchError> {
        let at = |nth: usize| words.get(nth).map(String::as_str);
        match (at(0).unwrap_or_default(), at(1)) {
            ("blastp" | "blastn" | "blastx" | "tblastn" | "tblastx", _) => Ok(&NCBI),
            ("diamond", Some("blastp" | "blastx")) => Ok(&DIAMOND),
            ("ssw-align", _) => Ok(&SSW),
            _ => Err(SearchError::Tool(words.join(" "))),
        }
    }

    /// Returns the arguments with each value in a word of its own, as all else here expects: BLAST+ takes `-outfmt=5`
    /// and DIAMOND `-f5` as well.
    pub fn separated(&self, args: &[String]) -> Vec<String> {
        let split = |arg: &str| match self.family {
            Family::Ncbi if arg.starts_with('-') => arg.find('=').map(|at| (at, at + 1)),
            Family::Diamond => {
                let mut letters = arg.chars();
                let is_short =
                    letters.next() == Some('-') && letters.next().is_some_and(|one| one.is_ascii_alphabetic());
                (is_short && letters.next().is_some()).then_some((2, 2))
            }
            _ => None,
        };
        let words = |arg: &String| match split(arg) {
            Some((end, begin)) => vec![arg[..end].to_owned(), arg[begin..].to_owned()],
            None => vec![arg.clone()],
        };
        args.iter().flat_map(words).collect()
    }

    /// Refuses options and formats whose outputs cannot be put together from parts.
    pub fn check(&self, args: &[String], format: Option<&str>) -> Result<(), SearchError> {
        for (refused, why) in self.refused {
            if self.has(args, refused) {
                return Err(SearchError::Option { option: (*refused).to_owned(), why });
            }
        }
        match format {
            Some(format) if !self.mergeable.contains(&format) => {
                let option = format!("{} {format}", self.format[0]);
                let known = self.formats_refused.iter().find(|(refused, _)| *refused == format);
                Err(SearchError::Option { option, why: known.map_or(UNKNOWN, |(_, why)| why) })
            }
            None if self.needs_format => Err(SearchError::Missing {
                tool: self.words[0].to_owned(),
                option: "-outfmt 6 or 10: other formats cannot be put together from parts",
            }),
            _ => Ok(()),
        }
    }

    /// Refuses options that cannot be cut by library.
    pub fn check_by_library(&self, args: &[String]) -> Result<(), SearchError> {
        let found = self.refused_by_library.iter().find(|(refused, _)| self.has(args, refused));
        found.map_or(Ok(()), |(refused, why)| Err(SearchError::Parts { what: format!("`{refused}`"), why }))
    }

    /// Returns a warning if a search that is cut by queries may differ from the whole one.
    pub fn caution(&self, args: &[String]) -> Option<&'static str> {
        (self.family == Family::Diamond && !self.has(args, "--algo") && !self.has(args, "--swipe")).then_some(
            "diamond chooses its algorithm by how many queries there are, unless --algo says which: parts may find other hits than one run",
        )
    }

    /// Returns a warning if a search that is cut by library may differ from the whole one.
    pub fn caution_by_library(&self, args: &[String], order: Option<Order>) -> Option<&'static str> {
        match order? {
            Order::Blast { has_scaled_scores: true } => Some(SCALED),
            Order::Blast { .. } => Some(CANDIDATES),
            Order::Diamond if self.has(args, "--swipe") => Some(UNPRINTED),
            Order::Diamond => Some(SEEDS),
        }
    }

    fn has(&self, args: &[String], option: &str) -> bool {
        match (self.family, option.strip_prefix('-')) {
            // Its options may stand in one word.
            (Family::Ssw, Some(letter)) => ssw_words(args).any(|(at, _)| ssw_options(&args[at]).contains(letter)),
            _ => args.iter().any(|arg| arg == option),
        }
    }
}

/// Returns the words of SSW that are files, by position: the library, then the queries; `None` if there are more or
/// fewer.
pub fn ssw_files(args: &[String]) -> Option<[usize; 2]> {
    let files: Vec<usize> = ssw_words(args).filter(|(_, is_file)| *is_file).map(|(at, _)| at).collect();
    files.try_into().ok()
}

/// Whether SSW writes SAM: lines, and not paragraphs.
pub fn is_sam(args: &[String]) -> bool {
    SSW.has(args, "-s") && SSW.has(args, "-c")
}

/// Returns the words that are options, and those that are files; not those that are values.
fn ssw_words(args: &[String]) -> impl Iterator<Item = (usize, bool)> + '_ {
    let mut is_value = false;
    args.iter().enumerate().filter_map(move |(at, arg)| {
        if std::mem::take(&mut is_value) {
            return None;
        }
        let is_option = arg.len() > 1 && arg.starts_with('-');
        is_value = is_option && arg.find(|letter| SSW_WITH_VALUE.contains(letter)) == Some(arg.len() - 1);
        Some((at, !is_option))
    })
}

/// Returns the letters of options in a word of SSW, without a value that stands in it.
fn ssw_options(arg: &str) -> &str {
    let options = arg.strip_prefix('-').unwrap_or_default();
    let end = options.find(|letter| SSW_WITH_VALUE.contains(letter)).map_or(options.len(), |at| at + 1);
    &options[..end]
}

const CANDIDATES: &str = "blastp aligns a limited number of candidates for each query (-max_target_seqs and some more), and each library part has as \
    many for itself: a query with more may have hits that one run does not list";
const SCALED: &str = "blastp aligns a limited number of candidates for each query (-max_target_seqs and some more), and each library part has as \
    many for itself: a query with more may have hits that one run does not list. It sorts hits by digits of their e-values that it does not print, \
    so hits of different parts that look alike may stand the other way round; how many do is told in the end";
const UNPRINTED: &str = "diamond sorts hits by digits of their e-values that it does not print, so hits of different parts that look alike may stand the \
    other way round; how many do is told in the end";
const SEEDS: &str = "diamond leaves out seeds that are frequent in what it searches, and ranks candidates before it aligns them: library parts may find \
    other hits than one run, unless --swipe has it compare everything. It sorts hits by digits of their e-values that it does not print, so hits of \
    different parts that look alike may stand the other way round; how many do is told in the end";

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn words_of_ssw_are_told_apart() {
        for (line, files) in [
            ("-p lib.fa q.fa", Some([1, 2])),
            ("lib.fa -pcf 500 q.fa -m3", Some([0, 3])),
            ("-f 500 lib.fa", None),
            ("-f500 a b c", None),
        ] {
            assert_eq!(ssw_files(&words(line)), files, "{line}");
        }
        assert!(is_sam(&words("-pcs a b")) && is_sam(&words("-c -s a b")) && !is_sam(&words("-s a b")));
        // A value is no option, and the last word of several letters may be one.
        assert!(
            SSW.has(&words("-ph a b"), "-h") && !SSW.has(&words("-f h a b"), "-h") && SSW.has(&words("-paX a b"), "-a")
        );
        assert!(!SSW.has(&words("-paXh a b"), "-h"));
    }
}
