//! Makes a shim for each name of each call in `mpi-abi`'s table, and a table of what their arguments mean.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

use mpi_abi::Name;
use mpi_abi::table::{TableCall, calls, exports};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let mut layouts = BTreeMap::new();
    let mut code: String = calls().iter().map(|call| shims(call, &mut layouts)).collect();
    layouts.values().for_each(|layout: &Layout| code += &layout.code);
    code += &exports();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("shims.rs"), code)
}

/// Meaning of the arguments of some functions.
struct Layout {
    name: String,
    code: String,
}

fn shims(call: &TableCall, layouts: &mut BTreeMap<(Vec<&'static str>, bool), Layout>) -> String {
    let is_special = matches!(call.name, "MPI_Init" | "MPI_Init_thread" | "MPI_Finalize" | "MPI_Abort")
        || call.c.iter().any(|role| role.starts_with("new") || role.ends_with('*'));
    let n_layouts = layouts.len();
    let layout = layouts.entry((call.c.clone(), is_special)).or_insert_with(|| {
        let name = format!("Layout{n_layouts}");
        let code = layout(&name, &call.c, is_special);
        Layout { name, code }
    });
    call.names().iter().map(|name| shim(call, &layout.name, name)).collect()
}

fn layout(name: &str, roles: &[&str], is_special: bool) -> String {
    let mut code = format!("struct {name};\nimpl Layout for {name} {{\n    const SPEC: &'static Spec = &Spec {{ ");
    write!(code, "is_special: {is_special}, ").expect("a string takes any text");
    for (at, role) in roles.iter().enumerate().filter(|(_, role)| !matches!(**role, "_" | "string")) {
        let field = match *role {
            "type" => "datatype".to_owned(),
            "types" => "datatypes".to_owned(),
            "roottype" => "rootdatatype".to_owned(),
            "recvtype" => "recvdatatype".to_owned(),
            "source" | "root" => "peer".to_owned(),
            "level" => "tag".to_owned(),
            "request" => "requests".to_owned(),
            "comm*" | "win*" | "file*" | "type*" | "message*" => role.replace('*', "_given_up"),
            role => role.to_owned(),
        };
        write!(code, "{field}: Place::at({at}), ").expect("a string takes any text");
    }
    code + "..Spec::NONE };\n}\n"
}

fn shim(call: &TableCall, layout: &str, name: &Name) -> String {
    let Name { symbol, is_fortran, is_large, .. } = name;
    let operation = match call.name {
        "MPI_Type_free" => "None".to_owned(),
        name => format!("Some(Operation::{})", name.trim_start_matches("MPI_").to_ascii_uppercase()),
    };
    // The shims of C are one piece with what they do, which saves 2 ns; those of Fortran, of which there are many,
    // share it.
    let how = if *is_fortran || *is_large { "call_apart" } else { "call" };
    let n_arguments = call.n_words(name);
    let error = call.error_at(name).map_or("Place::NOWHERE".to_owned(), |at| format!("Place::at({at})"));
    let arguments: Vec<String> = (0..n_arguments).map(|at| format!("a{at}")).collect();
    let (typed, passed) = (arguments.join(": usize, "), arguments.join(", "));
    let typed = if typed.is_empty() { typed } else { typed + ": usize" };
    format!(
        "#[unsafe(no_mangle)]\nunsafe extern \"C-unwind\" fn {symbol}({typed}) -> c_int {{\n    \
         static NEXT: Function = Function::next(c\"{symbol}\");\n    \
         const STYLE: Style = Style {{ operation: {operation}, is_large: {is_large}, error: {error} }};\n    \
         // SAFETY: the program calls the function of this name with its arguments.\n    \
         unsafe {{ {how}::<{layout}, {n_arguments}, {is_fortran}>(&NEXT, STYLE, [{passed}]) }}\n}}\n"
    )
}
