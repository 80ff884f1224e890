//! Makes an entry for each function of which `calls.txt` says what its arguments are, and the name that the library
//! has.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

/// Functions that all simulated programs may call; the component that stands before both libraries has it.
const TABLE: &str = "../mpi-sim-component/calls.txt";

fn main() -> io::Result<()> {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpich.so.12");
    println!("cargo:rerun-if-changed={TABLE}");
    let (mut calls, mut entries, mut n_calls) = (String::new(), String::new(), 0);
    for line in fs::read_to_string(TABLE)?.lines().filter(|line| line.starts_with("MPI_")) {
        let (name, marks) = line.split_once(' ').unwrap_or((line, ""));
        if marks.ends_with("own") {
            let function = name.to_lowercase();
            for symbol in [name.to_owned(), format!("P{name}")] {
                entry(&mut entries, &symbol, &format!("\"jmp {{own}}\", own = sym own::{function}"));
            }
        }
        if marks == "refused" {
            // MPICH has the function, so that programs may be linked with it. They call the component's, which refuses.
            for symbol in [name.to_owned(), format!("P{name}")] {
                entry(&mut entries, &symbol, "\"ud2\"");
            }
        }
        let Some((marks, arguments)) = marks.split_once('(') else { continue };
        let arguments = arguments.strip_suffix(')').expect("arguments end with a parenthesis");
        let kinds: Vec<String> = arguments.split(' ').filter(|word| !word.is_empty()).map(kind).collect();
        let comm = marks.split(' ').find_map(|mark| mark.strip_prefix("comm=")).unwrap_or("0");
        writeln!(calls, "Call::new(c\"P{name}\", {comm}, &[{}]),", kinds.join(", ")).expect("a string takes any text");
        for symbol in [name.to_owned(), format!("P{name}")] {
            let code = format!("\"push {n_calls}\", \"jmp {{entry}}\", entry = sym entry");
            entry(&mut entries, &symbol, &code);
        }
        n_calls += 1;
    }
    let code = format!("static CALLS: [Call; {n_calls}] = [\n{calls}];\n{entries}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("calls.rs"), code)
}

fn entry(entries: &mut String, symbol: &str, code: &str) {
    let head = "#[unsafe(no_mangle)]\n#[unsafe(naked)]\nunsafe extern \"C\" fn";
    writeln!(entries, "{head} {symbol}() {{\n    naked_asm!({code})\n}}").expect("a string takes any text");
}

/// A word of the table as a `Kind`.
fn kind(word: &str) -> String {
    let (word, length) = word.split_once('[').map_or((word, ""), |(word, length)| (word, length.trim_end_matches(']')));
    let (word, way) = match word.chars().last() {
        Some('!') => (&word[..word.len() - 1], "Way::Out"),
        Some('&') => (&word[..word.len() - 1], "Way::Both"),
        _ => (word, "Way::In"),
    };
    let length = match (length, length.strip_prefix('*')) {
        ("", _) => "Length::One".to_owned(),
        ("ranks" | "sources" | "targets", _) => format!("Length::{}{}", length[..1].to_uppercase(), &length[1..]),
        (_, Some(argument)) => format!("Length::At({argument})"),
        (argument, None) => format!("Length::Argument({argument})"),
    };
    match word {
        "_" => "Kind::Plain".to_owned(),
        "buf" => "Kind::Address".to_owned(),
        "weights" => "Kind::Weights".to_owned(),
        "flag" => "Kind::Flag".to_owned(),
        "value" => "Kind::Value".to_owned(),
        "mode" => "Kind::Mode".to_owned(),
        "status" => format!("Kind::Status({way}, {length})"),
        "comm" | "type" | "group" | "op" | "request" | "win" | "info" | "errhandler" | "message" | "file" => {
            format!("Kind::Handle(&handle::{}, {way}, {length})", word.to_uppercase())
        }
        _ => format!("Kind::Number(Meaning::{}{}, {way}, {length})", word[..1].to_uppercase(), &word[1..]),
    }
}
