//! Files that are played by a virtual clock.

use std::fs;

use hound::{SampleFormat, WavSpec, WavWriter};
use tempfile::tempdir;

use crate::medium::{HERTZ, pitch, samples, tone};
use crate::{fails, foretop_play, succeeds};

#[test]
fn a_slower_sound_is_longer_and_as_high() {
    let folder = tempdir().unwrap();
    tone(&folder.path().join("tone.wav"), 20.0);
    let said =
        succeeds(&foretop_play(folder.path(), &["tone.wav", "--virtual", "--out", "slow.wav", "--speed", "0.8"]));
    assert!(said.starts_with("20.0 s of the medium in 25.0 s, sound at once, no break"), "{said}");
    let slow = samples(&folder.path().join("slow.wav"));
    let seconds = slow.len() as f64 / f64::from(HERTZ);
    assert!((seconds - 25.0).abs() < 0.1, "{seconds}");
    assert!((pitch(&slow) - 220.0).abs() < 1.0, "{}", pitch(&slow));
}

#[test]
fn sound_is_played_at_each_speed_that_it_can_be_stretched_to() {
    let folder = tempdir().unwrap();
    tone(&folder.path().join("tone.wav"), 20.0);
    for (speed, expected) in [("2", "10.0 s"), ("1.9", "10.5 s"), ("0.5", "40.0 s"), ("0.8", "25.0 s")] {
        let summary = succeeds(&foretop_play(folder.path(), &["tone.wav", "--virtual", "--null", "--speed", speed]));
        assert!(summary.starts_with(&format!("20.0 s of the medium in {expected}")), "{speed}: {summary}");
    }
}

#[test]
fn what_arrives_too_slowly_is_slowed_down_and_not_broken_off() {
    let folder = tempdir().unwrap();
    tone(&folder.path().join("tone.wav"), 150.0);
    let play = |more: &[&str]| {
        let mut arguments = vec!["tone.wav", "--virtual", "--arrival", "steady"];
        arguments.extend(more);
        succeeds(&foretop_play(folder.path(), &arguments))
    };
    let said = play(&["--out", "ours.wav", "--trace", "moments.csv"]);
    assert!(said.contains("no break"), "{said}");
    assert!(play(&["--null", "--mode", "off"]).contains("1 break of"));

    let moments = fs::read_to_string(folder.path().join("moments.csv")).unwrap();
    let rates: Vec<f64> =
        moments.lines().skip(1).map(|line| line.split(',').nth(5).unwrap().parse().unwrap()).collect();
    let slowest = rates.iter().copied().filter(|rate| *rate > 0.0).fold(1.0, f64::min);
    assert!((0.9..0.97).contains(&slowest), "{slowest}");
    assert!(moments.contains(",disk,"), "the cause is told");
    // No silence within the sound: a break would be one.
    let quiet = samples(&folder.path().join("ours.wav"));
    let quiet = quiet.chunks(HERTZ as usize / 20).take(quiet.len() / (HERTZ as usize / 20) - 1);
    assert!(quiet.into_iter().all(|block| block.iter().any(|sample| sample.abs() > 8_000)));

    // The same again, to the byte.
    play(&["--out", "again.wav"]);
    assert_eq!(samples(&folder.path().join("ours.wav")), samples(&folder.path().join("again.wav")));
}

#[test]
fn after_a_break_play_goes_on_from_shortly_before() {
    let folder = tempdir().unwrap();
    tone(&folder.path().join("tone.wav"), 60.0);
    let trace: String =
        (0..200).map(|second| format!("{second},{}\n", if (10..40).contains(&second) { 0.0 } else { 1.0 })).collect();
    fs::write(folder.path().join("gap.csv"), format!("time,arrival_rate\n{trace}")).unwrap();
    let said = succeeds(&foretop_play(
        folder.path(),
        &["tone.wav", "--virtual", "--arrival", "gap.csv", "--out", "heard.wav"],
    ));
    assert!(said.contains("1 break of"), "{said}");
    let heard = samples(&folder.path().join("heard.wav"));
    let silent = heard.chunks(160).filter(|block| block.iter().all(|sample| *sample == 0)).count() as f64 / 100.0;
    let (long, ours) = (heard.len() as f64 / f64::from(HERTZ) - silent, 60.5);
    // Slower before the break, and half a second is heard twice.
    assert!(silent > 15.0 && long > ours && long < 72.0, "{silent} s of silence, {long} s of sound");
    let jump = heard.windows(2).map(|two| (i32::from(two[1]) - i32::from(two[0])).abs()).max().unwrap();
    assert!(jump < 1_600, "a click of {jump}: the tone itself moves by 1,036 at most");
}

#[test]
fn what_is_no_sound_is_told_by_name() {
    let folder = tempdir().unwrap();
    let run = |arguments: &[&str]| foretop_play(folder.path(), arguments);
    fs::write(folder.path().join("text.mp3"), "no sound at all").unwrap();
    fs::write(folder.path().join("empty.wav"), "").unwrap();
    fails(&run(&["text.mp3", "--virtual", "--null"]), 1, "no sound that can be played");
    fails(&run(&["empty.wav", "--virtual", "--null"]), 1, "no sound that can be played");
    fails(&run(&["none.wav", "--virtual", "--null"]), 1, "cannot read `none.wav`");
    tone(&folder.path().join("tone.wav"), 2.0);
    fails(&run(&["tone.wav"]), 2, "--out FILE.wav");
    fails(&run(&["tone.wav", "--null", "--speed", "50"]), 2, "`--speed 50`: sound can be played at 0.5 to 2 times");
    fails(&run(&["tone.wav", "--null", "--speed", "NaN"]), 2, "`--speed NaN`");
    fails(&run(&["tone.wav", "--null", "--speed", "0.4"]), 2, "0.5 to 2 times");
    fails(&run(&["tone.wav", "--null", "--max-slow", "1.5"]), 2, "limits of 1.5 to 1.1");
    fails(&run(&["tone.wav", "--null", "--model", "MAGIC"]), 2, "`--model MAGIC`");
    fails(&run(&["-", "--null", "--arrival", "steady"]), 2, "`--arrival` is for files");
}

#[test]
fn a_sound_that_was_cut_off_is_played_as_far_as_it_goes() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tone.wav");
    tone(&path, 10.0);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let said = succeeds(&foretop_play(folder.path(), &["tone.wav", "--virtual", "--null"]));
    let seconds: f64 = said.split(' ').next().unwrap().parse().unwrap();
    assert!((4.5..=5.0).contains(&seconds), "{said}");
}

/// Bytes of a sound, cut off or with some of them changed at places that a seed draws.
fn damaged(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut bytes = whole.to_vec();
    if seed.is_multiple_of(3) {
        bytes.truncate(draw(whole.len()));
    }
    for _ in 0..1 + draw(30) {
        // Half of the changes hit the head, which says what the rest is.
        let at = if draw(2) == 0 { draw(bytes.len().clamp(1, 64)) } else { draw(bytes.len().max(1)) };
        if let Some(byte) = bytes.get_mut(at) {
            *byte = draw(256) as u8;
        }
    }
    bytes
}

/// The decoder is part of the program, where no fuzzer reaches it: seeded changes have to do.
#[test]
fn hostile_sounds_end_with_a_sentence_and_never_in_a_panic() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tone.wav");
    tone(&path, 1.0);
    let whole = fs::read(&path).unwrap();
    for seed in 0..60 {
        fs::write(folder.path().join("hostile.wav"), damaged(&whole, seed)).unwrap();
        let ended = foretop_play(folder.path(), &["hostile.wav", "--virtual", "--null"]);
        let err = String::from_utf8_lossy(&ended.stderr);
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{seed}: {:?} {err}", ended.status);
        assert!(!err.contains("panicked"), "{seed}: {err}");
    }
}

#[test]
fn another_stretcher_plays_as_long_or_says_how_to_build_it() {
    let folder = tempdir().unwrap();
    tone(&folder.path().join("tone.wav"), 4.0);
    let options = ["--virtual", "--out", "slow.wav", "--speed", "0.8", "--stretcher", "signalsmith"];
    let ended = foretop_play(folder.path(), &[&["tone.wav"], &options[..]].concat());
    if cfg!(feature = "signalsmith") {
        let said = succeeds(&ended);
        assert!(said.starts_with("4.00 s of the medium") && said.contains("no break"), "{said}");
        let slow = samples(&folder.path().join("slow.wav"));
        let seconds = slow.len() as f64 / f64::from(HERTZ);
        assert!((seconds - 5.0).abs() < 0.1, "{seconds}");
        assert!((pitch(&slow) - 220.0).abs() < 1.0, "{}", pitch(&slow));
    } else {
        fails(&ended, 2, "--features signalsmith");
    }
}

#[test]
fn formats_that_nobody_has_are_told() {
    let folder = tempdir().unwrap();
    let check = |channels: u16, sample_rate: u32, told: &str| {
        let spec = WavSpec { channels, sample_rate, bits_per_sample: 16, sample_format: SampleFormat::Int };
        let mut writer = WavWriter::create(folder.path().join("odd.wav"), spec).unwrap();
        (0..usize::from(channels) * 4_000).for_each(|_| writer.write_sample(0_i16).unwrap());
        writer.finalize().unwrap();
        let ended = foretop_play(folder.path(), &["odd.wav", "--virtual", "--null"]);
        if told.is_empty() { drop(succeeds(&ended)) } else { fails(&ended, 1, told) }
    };
    check(1, 1, "cannot stretch sound of 1 Hz: sample rates are from 8000 to 192000 Hz");
    check(1, 10_000_000, "cannot stretch sound of 10000000 Hz");
    // WAV tells the places of more channels than its decoder has names for.
    check(64, 48_000, "foretop play: ");
    check(32, 48_000, "too many channels");
    check(8, 48_000, "");
}

#[test]
fn a_length_that_lies_is_seen_through() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tone.wav");
    tone(&path, 30.0);
    // A thousand times as long as it is, by its own head.
    let mut bytes = fs::read(&path).unwrap();
    for at in [4, 40] {
        let size = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        bytes[at..at + 4].copy_from_slice(&(size * 1_000).to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    let said = succeeds(&foretop_play(folder.path(), &["tone.wav", "--virtual", "--null"]));
    assert!(said.starts_with("30.0 s of the medium in 30.0 s") && said.contains("no break"), "{said}");
}

#[test]
fn every_wav_of_a_file_is_played_to_its_end_whatever_its_lengths() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tone.wav");
    tone(&path, 10.0);
    let whole = fs::read(&path).unwrap();
    let check = |bytes: Vec<u8>, expected: &str| {
        fs::write(&path, bytes).unwrap();
        let summary = succeeds(&foretop_play(folder.path(), &["tone.wav", "--virtual", "--null"]));
        assert!(summary.starts_with(expected), "{summary}");
    };
    for (riff_len, data_len) in [(0, 0), (0, 320_000), (36, 320_000), (0x7fff_f024, 0x7fff_f000), (u32::MAX, u32::MAX)]
    {
        let mut bytes = whole.clone();
        bytes[4..8].copy_from_slice(&u32::to_le_bytes(riff_len));
        bytes[40..44].copy_from_slice(&u32::to_le_bytes(data_len));
        check(bytes, "10.0 s of the medium");
    }
    check([&whole[..], &whole].concat(), "20.0 s of the medium");
    let mut stereo = whole.clone();
    stereo[22] = 2;
    fs::write(&path, [&whole[..], &stereo].concat()).unwrap();
    let summary = succeeds(&foretop_play(folder.path(), &["tone.wav", "--virtual", "--null"]));
    assert!(summary.starts_with("10.0 s") && summary.contains("a sound of another format follows"), "{summary}");
}

#[test]
fn m4a_plays_from_a_file_and_as_far_as_it_goes_and_names_an_index_that_is_out_of_reach() {
    let folder = tempdir().unwrap();
    let sound = |name: &str| fs::read(format!("{}/../../testdata/sound/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (first, last) = (sound("index_first.m4a"), sound("index_last.m4a"));
    fs::write(folder.path().join("first.m4a"), &first).unwrap();
    fs::write(folder.path().join("half.m4a"), &first[..first.len() / 2]).unwrap();
    fs::write(folder.path().join("last.m4a"), &last).unwrap();
    let play = |arguments: &[&str]| foretop_play(folder.path(), &[arguments, &["--virtual", "--null"]].concat());
    let seconds = |name: &str| -> f64 {
        succeeds(&play(&[name])).split(' ').next().unwrap().parse().expect("seconds come first")
    };
    assert!((4.0..4.2).contains(&seconds("first.m4a")));
    assert!((4.0..4.2).contains(&seconds("last.m4a")));
    assert!((1.0..3.0).contains(&seconds("half.m4a")));
    fails(&play(&["last.m4a", "--arrival", "steady"]), 1, "-movflags +faststart");

    // The demuxer reads to the index and back, which is no medium.
    succeeds(&play(&["last.m4a", "--trace", "moments.csv"]));
    let moments = fs::read_to_string(folder.path().join("moments.csv")).unwrap();
    let head: Vec<&str> = moments.lines().next().unwrap().split(',').collect();
    let buffer = head.iter().position(|name| name.contains("buffer")).unwrap();
    let (_, rows) = moments.split_once('\n').unwrap();
    let buffered = rows.lines().map(|row| row.split(',').nth(buffer).unwrap().parse().unwrap());
    assert!(buffered.fold(0.0, f64::max) < 4.2, "{moments}");
}
