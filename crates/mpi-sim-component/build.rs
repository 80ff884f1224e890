//! Makes an entry for each function in `calls.txt` and each algorithm in `algorithms.txt`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

/// Names of each function: those of C, and those of Fortran's bindings.
const N_NAMES: usize = 5;

fn main() -> io::Result<()> {
    let (mut functions, mut algorithms, mut entries) = (String::new(), String::new(), Vec::new());
    let mut exports = String::new();
    let calls = read("calls.txt")?;
    for line in &calls {
        let (name, marks) = line.split_once(' ').unwrap_or((line, ""));
        let argument = |key: &str| {
            let values = marks.split(' ').filter_map(|mark| mark.strip_prefix(key));
            values.map(|value| value.parse::<usize>().expect("an argument is a number")).next().unwrap_or(0)
        };
        let (is_refused, comm, root, count) =
            (marks == "refused", argument("comm="), argument("root="), argument("count="));
        let asks_for_neighbours = marks.split(' ').any(|mark| mark == "neighbours");
        let next = entries.len();
        let lower = name.to_lowercase();
        let fortran = ["", "f08_", "f08ts_"].map(|binding| format!("{lower}_{binding}"));
        let [plain, later, with_descriptors] = fortran;
        let names = [name.to_owned(), format!("P{name}"), plain, later, with_descriptors];
        exports += &format!(" c\"{name}\" c\"P{name}\"");
        entries.extend(names.clone().into_iter().zip(next..));
        let symbols = names.map(|name| format!("Symbol::new(c\"{name}\")")).join(", ");
        writeln!(
            functions,
            "Function {{ symbols: [{symbols}], is_refused: {is_refused}, comm: {comm}, root: {root}, count: {count}, \
             asks_for_neighbours: {asks_for_neighbours} }},"
        )
        .expect("a string takes any text");
    }
    let names = read("algorithms.txt")?;
    for (at, name) in names.iter().enumerate() {
        let symbol = format!("ompi_coll_base_{name}");
        let (operation, algorithm) = name.split_once("_intra_").expect("algorithms work inside of a communicator");
        writeln!(
            algorithms,
            "Algorithm {{ symbol: Symbol::new(c\"{symbol}\"), operation: \"{operation}\", name: \"{algorithm}\" }},"
        )
        .expect("a string takes any text");
        entries.push((symbol, N_NAMES * calls.len() + at));
    }
    let mut code = format!(
        "const N_NAMES: usize = {N_NAMES};\nstatic FUNCTIONS: [Function; {}] = [\n{functions}];\n",
        calls.len()
    );
    code += &format!("static ALGORITHMS: [Algorithm; {}] = [\n{algorithms}];\n", names.len());
    writeln!(code, "export_as_beneath! {{{exports} }}").expect("a string takes any text");
    for (symbol, number) in entries {
        writeln!(
            code,
            "#[unsafe(no_mangle)]\n#[unsafe(naked)]\nunsafe extern \"C\" fn {symbol}() {{\n    \
             naked_asm!(\"push {number}\", \"jmp {{entry}}\", entry = sym entry)\n}}"
        )
        .expect("a string takes any text");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("entries.rs"), code)
}

/// The lines of a table.
fn read(path: &str) -> io::Result<Vec<String>> {
    println!("cargo:rerun-if-changed={path}");
    let lines = fs::read_to_string(path)?;
    Ok(lines.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect())
}
