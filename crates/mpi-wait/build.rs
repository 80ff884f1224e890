//! Makes a shim for each name of each call in `mpi-abi`'s table, with the functions that it may call instead.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

use mpi_abi::Name;
use mpi_abi::table::{TableCall, calls, exports};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let calls = calls();
    let code = calls.iter().map(|call| shims(call, &calls)).collect::<String>() + &exports();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("shims.rs"), code)
}

fn shims(call: &TableCall, calls: &[TableCall]) -> String {
    let spec = call.name.to_ascii_uppercase();
    let mut code = format!("static {spec}_SPEC: CallSpec = CallSpec {{ operation: {}, ", operation(call));
    write!(code, "is_blocking: {}, effect: {}, ", call.is_blocking, effect(call)).expect("a string takes any text");
    for (at, role) in call.c.iter().enumerate() {
        if let Some(field) = field(role) {
            write!(code, "{field}: ArgumentPlace::at({at}), ").expect("a string takes any text");
        }
    }
    // The table has no word for it.
    match call.name {
        "MPI_Sendrecv" => code += "source: ArgumentPlace::at(8), ",
        "MPI_Sendrecv_replace" => code += "source: ArgumentPlace::at(5), ",
        _ => {}
    }
    code += "..CallSpec::NONE };\n";
    code.extend(call.names().iter().map(|name| shim(call, calls, &spec, name)));
    code
}

fn operation(call: &TableCall) -> String {
    match call.name {
        "MPI_Type_free" => "None".to_owned(),
        name => format!("Some(Operation::{})", name.trim_start_matches("MPI_").to_ascii_uppercase()),
    }
}

/// The field of a `Spec` for an argument, if this library looks at it.
fn field(role: &str) -> Option<&str> {
    Some(match role {
        "comm" | "count" | "peer" | "counts" | "rootcount" | "rootcounts" | "blockcount" | "sumcounts" | "status" => {
            role
        }
        "type" => "datatype",
        "types" => "datatypes",
        "roottype" => "rootdatatype",
        "source" | "root" => "peer",
        "recvstatus" => "status",
        "comm*" => "comm_given_up",
        "type*" => "type_given_up",
        "newrequest" => "newrequest",
        "request" | "requests" => "requests",
        "number" | "level" => role,
        _ => return None,
    })
}

/// The ranks whose waits a call may end.
fn effect(call: &TableCall) -> String {
    let stem = call.name.trim_start_matches("MPI_");
    let is_message = call.c.contains(&"peer") && call.c.contains(&"comm");
    if let Some(shape) = shape(stem) {
        return format!("CallEffect::Collective(DataFlow::{shape})");
    }
    let (start, rest) = stem.split_at(1);
    if start == "I" && shape(&(rest[..1].to_ascii_uppercase() + &rest[1..])).is_some() {
        return "CallEffect::Begun".to_owned();
    }
    match stem {
        "Start" | "Startall" => "CallEffect::Started",
        "Recv" | "Mrecv" => "CallEffect::Received",
        "Sendrecv" | "Sendrecv_replace" => "CallEffect::Exchanged",
        _ if is_message && stem.to_ascii_lowercase().ends_with("send_init") => "CallEffect::Prepared",
        _ if is_message && stem.to_ascii_lowercase().contains("send") => "CallEffect::Sent",
        _ => "CallEffect::None",
    }
    .to_owned()
}

/// The direction in which data move in a blocking collective call.
fn shape(stem: &str) -> Option<&'static str> {
    Some(match stem {
        "Barrier" | "Allgather" | "Allgatherv" | "Allreduce" | "Alltoall" | "Alltoallv" | "Alltoallw" => "All",
        "Reduce_scatter" | "Reduce_scatter_block" => "All",
        "Bcast" | "Scatter" | "Scatterv" => "FromRoot",
        "Gather" | "Gatherv" | "Reduce" => "ToRoot",
        "Exscan" | "Scan" => "Some",
        _ if stem.starts_with("Neighbor_") && !stem.ends_with("_init") => "Some",
        _ => return None,
    })
}

fn shim(call: &TableCall, calls: &[TableCall], spec: &str, name: &Name) -> String {
    let Name { symbol, is_fortran, is_large, .. } = name;
    let error_at =
        call.error_at(name).map_or("ArgumentPlace::NOWHERE".to_owned(), |at| format!("ArgumentPlace::at({at})"));
    let arguments: Vec<String> = (0..call.n_words(name)).map(|at| format!("a{at}")).collect();
    let typed: String = arguments.iter().map(|argument| format!("{argument}: usize, ")).collect();
    format!(
        "#[unsafe(no_mangle)]\nunsafe extern \"C-unwind\" fn {symbol}({typed}) -> c_int {{\n    \
         static SITE: CallSite = CallSite {{ next: Function::next(c\"{symbol}\"), way: {way}, spec: &{spec}_SPEC, \
         is_fortran: {is_fortran}, is_large: {is_large}, error_at: {error_at} }};\n    \
         // SAFETY: the program calls the function of this name with its arguments.\n    \
         unsafe {{ take(&SITE, &[{passed}]) }}\n}}\n",
        way = way(call, calls, name),
        passed = arguments.join(", "),
    )
}

/// The way in which a call is made if ranks give up their core while they wait.
fn way(call: &TableCall, calls: &[TableCall], name: &Name) -> String {
    let stem = call.name.trim_start_matches("MPI_");
    let sibling = |other: &str| format!("Function::next(c\"{}\")", sibling(call, calls, name, other));
    let tested =
        |other: &str, flag_at: &str| format!("CallWay::Test {{ test: {}, flag_at: {flag_at} }}", sibling(other));
    match stem {
        "Init" | "Init_thread" => "CallWay::Init".to_owned(),
        "Finalize" => "CallWay::Finalize".to_owned(),
        "Abort" => "CallWay::Abort".to_owned(),
        "Wait" => tested("MPI_Test", "Some(1)"),
        "Waitall" => tested("MPI_Testall", "Some(2)"),
        "Waitany" => tested("MPI_Testany", "Some(3)"),
        "Waitsome" => tested("MPI_Testsome", "None"),
        "Probe" => tested("MPI_Iprobe", "Some(3)"),
        "Mprobe" => tested("MPI_Improbe", "Some(3)"),
        "Sendrecv" => {
            let [send, receive, test] = ["MPI_Isend", "MPI_Irecv", "MPI_Test"].map(sibling);
            format!("CallWay::Exchange {{ send: {send}, receive: {receive}, test: {test} }}")
        }
        // With descriptors, the function calls that of C by name.
        "Sendrecv_replace" if name.has_descriptors => "CallWay::Defer".to_owned(),
        "Sendrecv_replace" if name.is_large => "CallWay::Leave".to_owned(),
        "Sendrecv_replace" => {
            let [receive, test] = ["MPI_Irecv", "MPI_Test"].map(sibling);
            format!("CallWay::Replace {{ receive: {receive}, test: {test} }}")
        }
        _ if !call.is_blocking => "CallWay::Pass".to_owned(),
        _ => {
            let begun = format!("MPI_I{}{}", stem[..1].to_ascii_lowercase(), &stem[1..]);
            if calls.iter().any(|other| other.name == begun) && !stem.starts_with("File_") {
                format!("CallWay::Start {{ start: {}, test: {} }}", sibling(&begun), sibling("MPI_Test"))
            } else {
                "CallWay::Leave".to_owned()
            }
        }
    }
}

/// The symbol of another call in the language and style of a name.
fn sibling(call: &TableCall, calls: &[TableCall], name: &Name, other: &str) -> String {
    let other_call = calls.iter().find(|known| known.name == other).expect("the table has it");
    if !name.is_fortran {
        return if name.is_large && other_call.has_counts() { format!("{other}_c") } else { other.to_owned() };
    }
    let symbol = &name.symbol;
    if *symbol == call.name.to_ascii_uppercase() {
        return other.to_ascii_uppercase();
    }
    let mut style = symbol[call.name.len()..].to_owned();
    if matches!(other, "MPI_Test" | "MPI_Testall" | "MPI_Testany" | "MPI_Testsome" | "MPI_Iprobe" | "MPI_Improbe") {
        // A call without a choice buffer has one name for both kinds of buffers and counts.
        style = style.replace("f08ts", "f08").replace("_large", "");
    }
    other.to_ascii_lowercase() + &style
}
