//! A run leaves one file, the same to the byte whatever happened on the way, and nothing half-written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crossval::{Campaign, End, Progress, Run, RunError};
use tempfile::TempDir;

use crate::drawing::{TEMPLATE, campaign};

/// Two full parts and a short one: 512 cases of three leads each to a part.
const N_CASES: u64 = 1100;

pub fn finished(folder: &Path, n_workers: usize) -> PathBuf {
    let out = folder.join(format!("{n_workers}.parquet"));
    let run = Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap();
    assert_eq!(to_end(run, n_workers), End::Finished);
    out
}

fn to_end(run: Run, n_workers: usize) -> End {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_workers).build().unwrap();
    let progress = Progress::new(run.campaign());
    pool.install(|| run.run(&AtomicBool::new(false), &progress)).unwrap()
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_file_is_the_same_at_1_2_and_8_workers() {
    let folder = TempDir::new().unwrap();
    let files = [1, 2, 8].map(|n_workers| fs::read(finished(folder.path(), n_workers)).unwrap());
    assert!(files[0] == files[1] && files[0] == files[2]);
    let expected = ["1", "2", "8"].iter().flat_map(|n| [format!("{n}.parquet"), format!("{n}.timings.parquet")]);
    assert_eq!(names(folder.path()), expected.collect());
}

#[test]
fn a_run_that_was_stopped_and_taken_up_leaves_the_same_file() {
    let folder = TempDir::new().unwrap();
    let whole = fs::read(finished(folder.path(), 1)).unwrap();
    let out = folder.path().join("stopped.parquet");
    // The first part alone, as a run does it that is stopped in the second.
    let mut run = Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap();
    let cases = run.missing()[0].clone();
    let part = run.campaign().part(cases.clone(), &AtomicBool::new(false), |_| {}).unwrap().unwrap();
    run.add(&cases, &part).unwrap();
    let progress = Progress::new(run.campaign());
    assert_eq!(run.run(&AtomicBool::new(true), &progress).unwrap(), End::Stopped);
    assert!(!out.exists());

    let run = Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap();
    assert_eq!((run.n_cases_found(), run.missing().len()), (512, 2));
    assert_eq!(to_end(run, 2), End::Finished);
    assert!(fs::read(&out).unwrap() == whole);
}

#[test]
fn parts_from_elsewhere_in_any_order_make_the_same_file() {
    let folder = TempDir::new().unwrap();
    let whole = fs::read(finished(folder.path(), 1)).unwrap();
    let out = folder.path().join("elsewhere.parquet");
    let mut run = Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap();
    let sent = run.campaign().to_bytes();
    for cases in run.missing().to_vec().into_iter().rev() {
        let there = Campaign::from_bytes(&sent).unwrap();
        let part = there.part(cases.clone(), &AtomicBool::new(false), |_| {}).unwrap().unwrap();
        run.add(&cases, &part).unwrap();
    }
    run.finish().unwrap();
    assert!(fs::read(&out).unwrap() == whole);
}

#[test]
fn a_part_that_rotted_is_named_and_made_again() {
    let folder = TempDir::new().unwrap();
    let whole = fs::read(finished(folder.path(), 1)).unwrap();
    let out = folder.path().join("rotten.parquet");
    let mut run = Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap();
    for cases in run.missing().to_vec() {
        let part = run.campaign().part(cases.clone(), &AtomicBool::new(false), |_| {}).unwrap().unwrap();
        run.add(&cases, &part).unwrap();
    }
    drop(run);
    let parts = folder.path().join("rotten.parquet.parts");
    let results = names(&parts).into_iter().find(|name| name.starts_with("results-")).unwrap();
    let mut bytes = fs::read(parts.join(&results)).unwrap();
    bytes[1000] ^= 1;
    fs::write(parts.join(&results), bytes).unwrap();
    // What a run leaves that is killed while it writes.
    fs::write(parts.join(".tmpAbCd"), "half").unwrap();

    let run = Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap();
    assert_eq!(run.broken(), [parts.join(&results)]);
    assert!(run.missing().len() == 1 && run.missing()[0] == (0..512));
    assert!(!names(&parts).contains(".tmpAbCd"));
    assert_eq!(to_end(run, 1), End::Finished);
    assert!(fs::read(&out).unwrap() == whole);
}

#[test]
fn more_cases_than_were_asked_for_first_are_the_same_campaign() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("more.parquet");
    let mut run = Run::open(campaign(TEMPLATE, 4), 600, &out).unwrap();
    let cases = run.missing()[0].clone();
    let part = run.campaign().part(cases.clone(), &AtomicBool::new(false), |_| {}).unwrap().unwrap();
    run.add(&cases, &part).unwrap();
    drop(run);
    assert_eq!(Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap().n_cases_found(), 512);
}

#[test]
fn another_campaign_does_not_take_up_what_this_one_left() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("cases.parquet");
    let first = Run::open(campaign(TEMPLATE, 4), N_CASES, &out).unwrap();
    assert!(matches!(Run::open(campaign(TEMPLATE, 4), N_CASES, &out), Err(RunError::Busy { .. })));
    drop(first);
    let other = |template: &str, seed| Run::open(campaign(template, seed), N_CASES, &out).unwrap_err();
    assert!(matches!(other(TEMPLATE, 5), RunError::OtherCampaign { what: "seed", .. }));
    let template = TEMPLATE.replace("40..100", "40..101");
    assert!(matches!(other(&template, 4), RunError::OtherCampaign { what: "template", .. }));
    fs::write(folder.path().join("cases.parquet.parts/campaign.json"), "{").unwrap();
    assert!(matches!(other(TEMPLATE, 4), RunError::Identity { .. }));
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("cases.parquet");
    fs::write(&out, "mine").unwrap();
    assert!(matches!(Run::open(campaign(TEMPLATE, 4), 10, &out), Err(RunError::Exists { .. })));
    assert!(matches!(Run::open(campaign(TEMPLATE, 4), 0, &out), Err(RunError::CaseCount { given: 0 })));
    assert_eq!(fs::read(&out).unwrap(), b"mine");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = Run::open(campaign(TEMPLATE, 4), 10, &folder.path().join("file/cases.parquet")).unwrap_err();
    assert!(error.to_string().ends_with("file/cases.parquet.parts`"), "{error}");
}

#[test]
fn progress_says_how_many_and_who_leads() {
    let campaign = campaign(TEMPLATE, 4);
    let folder = TempDir::new().unwrap();
    let run = Run::open(campaign.clone(), 200, &folder.path().join("cases.parquet")).unwrap();
    let progress = Progress::new(&campaign);
    assert_eq!(run.run(&AtomicBool::new(false), &progress).unwrap(), End::Finished);
    let standings = progress.standings(&campaign);
    assert_eq!((progress.n_done(), standings.len()), (200, 4));
    assert_eq!(standings.iter().map(|standing| standing.n).sum::<u64>(), 200 - progress.n_failed());
    assert!(standings.is_sorted_by(|better, worse| better.win_share >= worse.win_share));
}
