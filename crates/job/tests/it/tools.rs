//! Searches in parts beside one run of the same tool.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use job::{News, RunError, Search, run};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sched::Work;
use stream::Security;

use crate::{hire, runner};

const RESIDUES: &[u8; 20] = b"ACDEFGHIKLMNPQRSTVWY";

fn protein(chance: &mut ChaCha8Rng, length: usize) -> String {
    (0..length).map(|_| RESIDUES[chance.random_range(0..RESIDUES.len())] as char).collect()
}

/// Queries, and a library in which each has relatives that differ more and more.
fn made(folder: &Path) {
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let (mut queries, mut library) = (String::new(), String::new());
    for nth in 0..300 {
        writeln!(library, ">other{nth}\n{}", protein(&mut chance, 300)).unwrap();
    }
    for nth in 0..9 {
        let query = protein(&mut chance, 120 + 20 * nth);
        writeln!(queries, ">query{nth}\n{query}").unwrap();
        for differing in [0.1, 0.3, 0.5] {
            let relative: String = query
                .chars()
                .map(|own| if chance.random_bool(differing) { protein(&mut chance, 1) } else { own.to_string() })
                .collect();
            writeln!(library, ">relative{nth}_{differing} of query{nth}\n{relative}").unwrap();
        }
    }
    std::fs::write(folder.join("queries.fa"), queries).unwrap();
    std::fs::write(folder.join("library.fa"), library).unwrap();
}

fn output(folder: &Path, words: &[&str]) -> String {
    let ended = Command::new(words[0]).args(&words[1..]).current_dir(folder).output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

#[track_caller]
fn check_same(make: &[&str], options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    output(folder.path(), make);
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let word = |word: &&str| word.strip_prefix('@').map_or_else(|| (*word).to_owned(), place);
    let words: Vec<String> = options.iter().map(word).collect();
    let whole = output(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(whole.lines().count() >= 9, "{whole}");
    let in_two = Search::new(&words, NonZero::new(2)).unwrap();
    assert_eq!((in_two.units.concat(), in_two.units.len()), (std::fs::read_to_string(place("queries.fa")).unwrap(), 2));
    let search = Search::new(&words, None).unwrap();
    assert_eq!(search.units.len(), 9);
    assert_eq!(searched(folder.path(), &search), (whole, 0));
}

/// What two workers find, and how many pairs of hits may stand otherwise.
fn searched(folder: &Path, search: &Search) -> (String, usize) {
    let allowed = format!("{0}=/usr/bin/{0} -* 6*", search.tool);
    let hired = [0; 2].map(|_| hire(&[&allowed], Security::default()));
    let mut runner = runner(folder, search.units.len(), "name = \"none\"", &[&hired[0], &hired[1]]);
    runner.job.command = Some(sched::Command { name: search.tool.clone(), args: search.args.clone() });
    runner.work = Work::new(search.costs.iter().copied()).unwrap();
    (runner.stdin, runner.inputs) = (search.units.clone(), vec![search.library.clone()]);
    let (_, outputs) = run(&runner, &|| false, &mut |_| {}).unwrap();
    let mut text = Vec::new();
    let n_uncertain = search.put_together(&outputs, &mut text).unwrap();
    (String::from_utf8(text).unwrap(), n_uncertain)
}

const BLASTP: &[&str] = &["blastp", "-query", "@queries.fa", "-db", "@library"];
const DIAMOND: &[&str] = &["diamond", "blastp", "-q", "@queries.fa", "-d", "@library.fa", "--quiet"];
const SSW: &[&str] = &["ssw-align", "@library.fa", "@queries.fa", "-p"];

/// A search with more options, in so many parts of the library.
#[track_caller]
fn check_by_library(tool: &[&str], n_parts: usize, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // The same relative in the first, a middle and the last part: a tie, which the library's order decides.
    let library = std::fs::read_to_string(place("library.fa")).unwrap();
    let (_, twin) = library.split_once(">relative4_0.3 of query4\n").unwrap();
    let twin = twin.lines().next().unwrap();
    std::fs::write(place("library.fa"), format!(">first\n{twin}\n{library}>last\n{twin}\n")).unwrap();
    if tool == BLASTP {
        output(folder.path(), &["makeblastdb", "-in", "library.fa", "-dbtype", "prot", "-out", "library"]);
    }
    // From another system.
    let queries = std::fs::read_to_string(place("queries.fa")).unwrap().replace('\n', "\r\n");
    std::fs::write(place("queries.fa"), queries).unwrap();
    let words: Vec<String> = tool
        .iter()
        .chain(options)
        .map(|word| word.strip_prefix('@').map_or_else(|| (*word).to_owned(), place))
        .collect();
    let whole = output(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(whole.lines().count() >= 9, "{whole}");
    let search = Search::new(&words, NonZero::new(3)).unwrap();
    let n_by_query = search.units.len();
    let search = search.by_library(NonZero::new(n_parts).unwrap(), &folder.path().join("parts")).unwrap();
    assert_eq!(search.units.len(), n_by_query * n_parts);
    let (found, n_uncertain) = searched(folder.path(), &search);
    if n_uncertain == 0 {
        assert_eq!(found, whole);
    } else {
        assert!(tool != SSW && !options.contains(&"-comp_based_stats"), "without fractions all orders are certain");
        // What is not certain is an order, and of no more lines than that.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&found), sorted(&whole));
        let n_elsewhere = found.lines().zip(whole.lines()).filter(|(one, other)| one != other).count();
        assert!(n_elsewhere <= 2 * n_uncertain, "{n_elsewhere} lines stand elsewhere, {n_uncertain} pairs may");
    }
}

#[test]
#[ignore = "needs ncbi-blast+: make test"]
fn blastp_in_parts_finds_what_one_run_finds() {
    let make = ["makeblastdb", "-in", "library.fa", "-dbtype", "prot", "-out", "library"];
    let search = ["blastp", "-query", "@queries.fa", "-db", "@library", "-evalue", "1e-3", "-outfmt", "6"];
    check_same(&make, &search);
}

#[test]
#[ignore = "needs diamond-aligner: make test"]
fn diamond_in_parts_finds_what_one_run_finds() {
    let make = ["diamond", "makedb", "--in", "library.fa", "-d", "library", "--quiet"];
    check_same(&make, &["diamond", "blastp", "-q", "@queries.fa", "-d", "@library", "--algo", "0", "--quiet"]);
}

#[test]
#[ignore = "needs ncbi-blast+: make test"]
fn blastp_by_queries_and_library_finds_what_one_run_finds() {
    // Scores without fractions: no two hits differ by what is not printed.
    check_by_library(BLASTP, 3, &["-evalue", "10", "-outfmt", "6", "-comp_based_stats", "0"]);
    check_by_library(BLASTP, 5, &["-evalue", "1e-3", "-outfmt", "6 sseqid qstart score", "-max_target_seqs", "2"]);
    check_by_library(BLASTP, 2, &["-evalue", "10", "-outfmt", "6"]);
}

#[test]
#[ignore = "needs diamond-aligner: make test"]
fn diamond_by_queries_and_library_finds_what_one_run_finds() {
    check_by_library(DIAMOND, 3, &["--swipe"]);
    check_by_library(DIAMOND, 2, &["--swipe", "-k", "2", "-f", "6", "sseqid", "score", "score", "qstart"]);
    // Far beyond what matters, where e-values look alike.
    check_by_library(DIAMOND, 4, &["--swipe", "-k", "0", "-e", "100"]);
    check_by_library(DIAMOND, 3, &["--algo", "0"]);
}

#[test]
#[ignore = "needs ssw-align: make test"]
fn ssw_in_parts_finds_what_one_run_finds() {
    check_same(&["true"], &["ssw-align", "-p", "@library.fa", "@queries.fa"]);
    check_by_library(SSW, 3, &[]);
    check_by_library(SSW, 5, &["-c", "-f", "300"]);
    check_by_library(SSW, 2, &["-cs"]);
}

#[test]
#[ignore = "needs diamond-aligner: make test"]
fn what_diamond_cannot_do_in_library_parts_is_told_before() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    output(folder.path(), &["diamond", "makedb", "--in", "library.fa", "-d", "library", "--quiet"]);
    let by_library = |library: &str, options: &str| {
        let base = format!("diamond blastp -q {0}/queries.fa -d {0}/{library}", folder.path().display());
        let words: Vec<String> = format!("{base} {options}").split_whitespace().map(str::to_owned).collect();
        let search = Search::new(&words, None).unwrap();
        search.by_library(NonZero::new(2).unwrap(), &folder.path().join("parts")).map_err(|error| error.to_string())
    };
    let told = by_library("library", "").unwrap_err();
    assert!(told.contains("`library.dmnd` cannot be cut by library: the FASTA file"), "{told}");
    let told = by_library("library.fa", "--top 5").unwrap_err();
    assert!(told.contains("`--top` cannot be cut by library"), "{told}");
    let caution = |options: &str| by_library("library.fa", options).unwrap().caution.unwrap();
    assert!(caution("").contains("unless --swipe") && !caution("--swipe").contains("seeds"));
}

#[test]
#[ignore = "needs ncbi-blast+: make test"]
fn a_library_that_changes_under_way_is_not_searched() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    output(folder.path(), &["makeblastdb", "-in", "library.fa", "-dbtype", "prot", "-out", "library"]);
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let words = ["blastp", "-query", &place("queries.fa"), "-db", &place("library"), "-outfmt", "6"].map(str::to_owned);
    let search = Search::new(&words, None).unwrap();
    let changed = folder.path().join("library.psq");
    let mut bytes = std::fs::read(&changed).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&changed, bytes).unwrap();
    let hired = hire(&["blastp=/usr/bin/blastp -*"], Security::default());
    let mut runner = runner(folder.path(), search.units.len(), "name = \"blastp\"", &[&hired]);
    runner.inputs = vec![search.library];
    let mut why = String::new();
    let ended = run(&runner, &|| false, &mut |news| {
        if let News::Lost { why: told, .. } = news {
            told.clone_into(&mut why);
        }
    });
    assert!(matches!(ended.map(|_| ()), Err(RunError::NoWorker)));
    assert!(why.contains("what came is not the input that it was said to be"), "{why}");
}

#[test]
#[ignore = "needs ncbi-blast+: make test"]
fn what_library_parts_cannot_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    output(folder.path(), &["makeblastdb", "-in", "library.fa", "-dbtype", "prot", "-out", "library"]);
    let queries = folder.path().join("queries.fa");
    let base = format!("blastp -query {} -db {}/library", queries.display(), folder.path().display());
    let refused = |options: &str| {
        let words: Vec<String> = format!("{base} {options}").split(' ').map(str::to_owned).collect();
        let search = Search::new(&words, None).unwrap();
        search.by_library(NonZero::new(2).unwrap(), folder.path()).unwrap_err().to_string()
    };
    for (options, wanted) in [
        ("-outfmt 10", "`-outfmt 10` cannot be cut by library"),
        ("-outfmt 6 -culling_limit 3", "`-culling_limit` cannot be cut by library"),
        ("-outfmt 6 -max_target_seqs few", "no number"),
    ] {
        assert!(refused(options).contains(wanted), "{}", refused(options));
    }
    let library = std::fs::read_to_string(folder.path().join("library.fa")).unwrap();
    std::fs::write(folder.path().join("library.fa"), library + ">other7 again\nACDEF\n").unwrap();
    output(folder.path(), &["makeblastdb", "-in", "library.fa", "-dbtype", "prot", "-out", "library"]);
    assert!(
        refused("-outfmt 6").contains("`other7` cannot be cut by library: two sequences"),
        "{}",
        refused("-outfmt 6")
    );
    std::fs::write(&queries, ">one\nACDEF\n>one\nACDEF\n").unwrap();
    assert!(refused("-outfmt 6").contains("`one` cannot be cut by library: two queries have this name"));
}
