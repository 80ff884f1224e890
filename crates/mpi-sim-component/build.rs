//! Makes an entry for each function in `calls.txt`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=calls.txt");
    let table = fs::read_to_string("calls.txt")?;
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let mut code = format!("static FUNCTIONS: [Function; {}] = [\n", lines.len());
    let functions: Vec<(&str, bool)> =
        lines.iter().map(|line| line.split_once(' ').map_or((*line, false), |(name, _)| (name, true))).collect();
    for (name, is_refused) in &functions {
        writeln!(code, "Function::new(c\"P{name}\", {is_refused}),").expect("a string takes any text");
    }
    code += "];\n";
    for (at, (name, _)) in functions.iter().enumerate() {
        for symbol in [(*name).to_owned(), format!("P{name}")] {
            writeln!(
                code,
                "#[unsafe(no_mangle)]\n#[unsafe(naked)]\nunsafe extern \"C\" fn {symbol}() {{\n    \
                 naked_asm!(\"push {at}\", \"jmp {{entry}}\", entry = sym entry)\n}}"
            )
            .expect("a string takes any text");
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("entries.rs"), code)
}
