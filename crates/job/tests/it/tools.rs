//! Searches in parts beside one run of the same tool.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use job::Search;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sched::Work;
use stream::Security;

use crate::{done, hire, runner};

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
            writeln!(library, ">relative{nth} {differing}\n{relative}").unwrap();
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
fn check_same(make: &[&str], tool: &str, options: &[&str]) {
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
    let allowed = format!("{tool}=/usr/bin/{tool} -*");
    let hired = [0; 2].map(|_| hire(&[&allowed], Security::default()));
    let mut runner = runner(folder.path(), 9, "name = \"none\"", &[&hired[0], &hired[1]]);
    runner.job.command = Some(sched::Command { name: search.tool, args: search.args });
    runner.work = Work::new(search.n_residues.iter().map(|n_residues| *n_residues as f64)).unwrap();
    (runner.stdin, runner.inputs) = (search.units, vec![search.library]);
    assert_eq!(done(&runner).1, whole);
}

#[test]
#[ignore = "needs ncbi-blast+: make test"]
fn blastp_in_parts_finds_what_one_run_finds() {
    let make = ["makeblastdb", "-in", "library.fa", "-dbtype", "prot", "-out", "library"];
    let search = ["blastp", "-query", "@queries.fa", "-db", "@library", "-evalue", "1e-3", "-outfmt", "6"];
    check_same(&make, "blastp", &search);
}

#[test]
#[ignore = "needs diamond-aligner: make test"]
fn diamond_in_parts_finds_what_one_run_finds() {
    let make = ["diamond", "makedb", "--in", "library.fa", "-d", "library", "--quiet"];
    check_same(
        &make,
        "diamond",
        &["diamond", "blastp", "-q", "@queries.fa", "-d", "@library", "--algo", "0", "--quiet"],
    );
}
