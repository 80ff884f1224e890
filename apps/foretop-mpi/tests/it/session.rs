//! What all programs do alike: begin, refuse, end.

use crate::launch::{ACE, COMB, NOISE, launch};

#[test]
fn a_typo_is_told_once_and_all_ranks_exit_with_2() {
    for program in [ACE, COMB, NOISE] {
        let ended = launch(program, 2, &["--seeed", "3"]);
        assert_eq!(ended.status, Some(2), "{}", ended.err);
        assert_eq!(ended.err.matches("unexpected argument '--seeed'").count(), 1, "{}", ended.err);
    }
}

#[test]
fn help_is_printed_once_and_is_no_failure() {
    for program in [ACE, COMB, NOISE] {
        let out = launch(program, 2, &["--help"]).out();
        assert_eq!(out.matches("Usage:").count(), 1, "{out}");
    }
}

#[test]
fn a_result_file_that_cannot_be_written_is_told_once_before_anything_is_measured() {
    for program in [ACE, COMB, NOISE] {
        let ended = launch(program, 2, &["--out", "/dev/null/result.jsonl"]);
        assert_eq!(ended.status, Some(1), "{}", ended.err);
        assert_eq!(ended.err.matches("cannot write results to /dev/null/result.jsonl").count(), 1, "{}", ended.err);
        assert_eq!(ended.out, "");
    }
}
