//! Makes a shim for each name of each call in `calls.txt`, and a table of what their arguments mean.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

use mpi_abi::{Name, names};

/// A line of the table.
struct Call<'a> {
    name: &'a str,
    c: Vec<&'a str>,
    fortran: Vec<&'a str>,
}

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=calls.txt");
    let table = fs::read_to_string("calls.txt")?;
    let lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let code: String = lines.map(|line| shims(&read(line))).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("shims.rs"), code)
}

fn read(line: &str) -> Call<'_> {
    let (c, fortran) = line.split_once('|').map_or((line, None), |(c, fortran)| (c, Some(fortran)));
    let mut words = c.split_whitespace();
    let name = words.next().expect("no line is empty");
    let c: Vec<&str> = words.collect();
    let fortran = fortran.map_or_else(|| c.clone(), |list| list.split_whitespace().collect());
    Call { name, c, fortran }
}

fn shims(call: &Call<'_>) -> String {
    let has_counts = call.c.iter().any(|role| role.contains("count"));
    let short = call.name.trim_start_matches("MPI_").to_ascii_uppercase();
    let mut code = spec(&short, &call.c);
    for name in names(call.name, has_counts) {
        code += &shim(call, &short, &name);
    }
    code
}

fn spec(short: &str, roles: &[&str]) -> String {
    let mut code = format!("static SPEC_{short}: Spec = Spec {{ ");
    match short {
        "TYPE_FREE" => {}
        _ => write!(code, "operation: Some(Operation::{short}), ").expect("a string takes any text"),
    }
    let is_special = matches!(short, "INIT" | "INIT_THREAD" | "FINALIZE" | "ABORT")
        || roles.iter().any(|role| role.starts_with("new") || role.ends_with('*'));
    write!(code, "is_special: {is_special}, ").expect("a string takes any text");
    for (at, role) in roles.iter().enumerate().filter(|(_, role)| !matches!(**role, "_" | "string")) {
        let field = match *role {
            "type" => "datatype".to_owned(),
            "types" => "datatypes".to_owned(),
            "roottype" => "rootdatatype".to_owned(),
            "comm*" | "win*" | "file*" | "type*" | "message*" => role.replace('*', "_given_up"),
            role => role.to_owned(),
        };
        write!(code, "{field}: At({at}), ").expect("a string takes any text");
    }
    code + "..Spec::NONE };\n"
}

fn shim(call: &Call<'_>, short: &str, name: &Name) -> String {
    let Name { symbol, is_fortran, is_large, .. } = name;
    let has_error = *is_fortran && !call.fortran.contains(&"noerror");
    let n_own = if *is_fortran { call.fortran.iter().filter(|role| **role != "noerror").count() } else { call.c.len() };
    let n_strings = if *is_fortran { call.fortran.iter().filter(|role| **role == "string").count() } else { 0 };
    let n_arguments = n_own + usize::from(has_error) + n_strings;
    let error = if has_error { format!("At({n_own})") } else { "Place::Nowhere".to_owned() };
    let arguments: Vec<String> = (0..n_arguments).map(|at| format!("a{at}")).collect();
    let (typed, passed) = (arguments.join(": usize, "), arguments.join(", "));
    let typed = if typed.is_empty() { typed } else { typed + ": usize" };
    format!(
        "#[unsafe(no_mangle)]\nunsafe extern \"C-unwind\" fn {symbol}({typed}) -> c_int {{\n    \
         static SITE: Site = Site {{ next: Function::next(c\"{symbol}\"), spec: &SPEC_{short}, \
         style: Style {{ is_fortran: {is_fortran}, is_large: {is_large}, error: {error} }} }};\n    \
         // SAFETY: the program calls the function of this name with its arguments.\n    \
         unsafe {{ call(&SITE, [{passed}]) }}\n}}\n"
    )
}
