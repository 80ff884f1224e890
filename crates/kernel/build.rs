//! Lists the subsystems in `src/subsystem/`, so that one more touches no other file, and with the feature `bpf`
//! compiles their programs.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=src/subsystem");
    println!("cargo::rerun-if-changed=src/bpf");
    fs::write(out.join("subsystems.rs"), list(&root.join("src/subsystem"))).expect("cargo's folder can be written");
    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        let objects = compile(&root.join("src/bpf"), &out);
        fs::write(out.join("objects.rs"), objects).expect("cargo's folder can be written");
    }
}

/// The files of a folder that end so, without that ending, in the order of their names.
fn names(folder: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is part of the crate");
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.expect("the folder can be read").file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn list(folder: &Path) -> String {
    let names = names(folder, ".rs");
    let mut text = String::new();
    for name in &names {
        let path = folder.join(format!("{name}.rs"));
        writeln!(text, "#[path = {path:?}]\nmod {name};").expect("a string grows");
    }
    let all: String = names.iter().map(|name| format!("&{name}::SUBSYSTEM, ")).collect();
    text + &format!("static FOUND: &[&Subsystem] = &[{all}];\n")
}

fn compile(folder: &Path, out: &Path) -> String {
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    println!("cargo::rerun-if-env-changed=CLANG");
    let mut arms = String::new();
    for name in names(folder, ".bpf.c") {
        let object = out.join(format!("{name}.bpf.o"));
        let mut command = Command::new(&clang);
        command.args([
            "-g",
            "-O2",
            "-target",
            "bpf",
            "-mcpu=v3",
            "-D__TARGET_ARCH_x86",
            "-Wall",
            "-Werror",
            "-I",
            &headers,
        ]);
        // Debian keeps <asm/types.h> of each architecture in a folder of its own, which this target does not look into.
        command.args(["-I", "/usr/include/x86_64-linux-gnu", "-c"]);
        command.arg(folder.join(format!("{name}.bpf.c"))).arg("-o").arg(&object);
        let status = command.status().unwrap_or_else(|error| {
            panic!("cannot start `{clang}`: {error}; install clang, or name one in the variable CLANG")
        });
        assert!(status.success(), "`{clang}` did not compile {name}.bpf.c");
        writeln!(arms, "        {name:?} => Some(include_bytes!({object:?})),").expect("a string grows");
    }
    format!(
        "/// The compiled programs of a file in `src/bpf/`.\n\
         fn object(name: &str) -> Option<&'static [u8]> {{\n    match name {{\n{arms}        _ => None,\n    }}\n}}\n"
    )
}
