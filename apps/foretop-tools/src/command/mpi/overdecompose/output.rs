//! Output of a run: what the program printed, and the files of its ranks.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::Context;
use overdecomposition::record::RunEnd;
use overdecomposition::{CallWait, RankWait, SweepTrial};
use regex::Regex;

use command_line::terminal::say;

/// Lines of standard error that are kept of a run that failed.
const N_ERROR_LINES: usize = 20;
/// Bytes at the end of a program's output that are searched: programs print answers last, and some print without end.
const OUTPUT_MAX: u64 = 1 << 20;
/// Reads the files of all ranks. A rank of a run that ended badly has none; any other fault is reported.
pub fn read_ranks(folder: &Path, trial: &SweepTrial, end: RunEnd) -> (Vec<RankWait>, Vec<CallWait>) {
    let mut ranks = Vec::new();
    let mut calls = Vec::new();
    for number in 0..trial.n_ranks {
        let path = folder.join(format!("wait-{number}.jsonl"));
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        match RankWait::read(&text, trial.n_ranks) {
            Ok((rank, of_rank)) => {
                ranks.push(rank);
                calls.extend(of_rank);
            }
            Err(error) if end == RunEnd::Well => say(&format!("{trial}: rank {number}: {}", text::with_causes(&error))),
            Err(_) => {}
        }
    }
    (ranks, CallWait::merged(calls))
}

/// Returns the end of a file as text.
pub fn tail(path: &Path) -> anyhow::Result<String> {
    let unreadable = || format!("cannot read `{}`", path.display());
    let mut file = File::open(path).with_context(unreadable)?;
    let n_bytes = file.metadata().with_context(unreadable)?.len();
    file.seek(SeekFrom::Start(n_bytes.saturating_sub(OUTPUT_MAX))).with_context(unreadable)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub fn last_lines(text: &str) -> String {
    // Launchers frame their messages with lines of dashes.
    let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let lines: Vec<&str> = text.lines().filter(has_words).collect();
    lines[lines.len().saturating_sub(N_ERROR_LINES)..].join("\n")
}

/// Returns the first group of the last match, or the whole match if there are no groups.
pub fn last_match(regex: &Regex, text: &str) -> Option<String> {
    let found = regex.captures_iter(text).last()?;
    found.get(1).or_else(|| found.get(0)).map(|found| found.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_match_counts_and_its_first_group_if_there_is_one() {
        let text = "lu: verified, sum 12ab, 0.5 s\nlu: verified, sum 34cd, 0.25 s\n";
        let found = |pattern| last_match(&Regex::new(pattern).unwrap(), text);
        assert_eq!(found("sum ([0-9a-f]+)").as_deref(), Some("34cd"));
        assert_eq!(found("verified").as_deref(), Some("verified"));
        assert_eq!(found("WRONG"), None);
    }

    #[test]
    fn errors_keep_their_last_lines_that_are_not_empty() {
        let text = (0..30).map(|line| format!("line {line}\n-----\n\n")).collect::<String>();
        let kept = last_lines(&text);
        assert!(kept.starts_with("line 10\n") && kept.ends_with("line 29"), "{kept}");
        assert_eq!(last_lines("\n"), "");
    }
}
