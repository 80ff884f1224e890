//! Programs that become the ranks: behind scripts, without MPI, with several threads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{MACHINE, program};
use crate::{done, refused};

const RUN: [&str; 6] = ["run", "-n", "2", "--machine", MACHINE, "--"];

/// Makes a script.
fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn a_program_without_mpi_is_refused() {
    let text = refused(1, &[&RUN[..], &["/bin/ls", "/"]].concat());
    assert!(text.contains("no rank of `/bin/ls` called MPI_Init: give a program that is linked"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let text = refused(1, &[&RUN[..], &[&script(folder.path(), "nothing", "#!/bin/sh\n:\n")]].concat());
    assert!(text.contains("if it is a script, does it start a program with MPI?"), "{text}");
}

#[test]
#[ignore = "needs Open MPI and mpi4py: make test"]
fn the_program_that_a_script_starts_becomes_the_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let look = "name=$(basename \"$0\")\ndirname \"$@\" | sed -n 1p >/dev/null\n";
    let shims =
        ["exec /usr/bin/python3 \"$@\"", "exec env A=b nice /usr/bin/python3 \"$@\"", "/usr/bin/python3 \"$@\""];
    let shims = shims.map(|last| format!("#!/bin/sh\n{look}{last}\n"));
    // A script with a script as its interpreter, as a shim of Python is.
    let inner = script(folder.path(), "inner", &shims[0]);
    let code = "from mpi4py import MPI; print('rank', MPI.COMM_WORLD.rank, 'of', MPI.COMM_WORLD.size)";
    let ring = script(folder.path(), "ring.py", &format!("#!{inner}\n{code}\n"));
    let mut words: Vec<Vec<String>> = vec![vec![ring]];
    for (at, text) in shims.iter().enumerate() {
        words.push(vec![script(folder.path(), &format!("python{at}"), text), "-c".to_owned(), code.to_owned()]);
    }
    words.push(["env", "/usr/bin/python3", "-c", code].map(str::to_owned).to_vec());
    for words in words {
        let text = done(&RUN.into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>());
        let ranks = [0, 1].map(|rank| text.matches(&format!("rank {rank} of 2\n")).count());
        assert_eq!((ranks, text.contains("2 ranks take ")), ([1, 1], true), "{words:?}: {text}");
    }
}

/// Calls by addresses out of a handle have no names here, and are simulated all the same.
#[test]
#[ignore = "needs Open MPI: make test"]
fn a_program_that_opens_the_library_itself_is_simulated() {
    let code = "import ctypes; mpi = ctypes.CDLL('libmpi.so.40', mode=ctypes.RTLD_GLOBAL); mpi.MPI_Init(None, None); \
                mpi.MPI_Barrier(ctypes.byref(ctypes.c_char.in_dll(mpi, 'ompi_mpi_comm_world'))); mpi.MPI_Finalize()";
    let text = done(&[&RUN[..], &["/usr/bin/python3", "-c", code]].concat());
    assert!(text.contains("2 ranks take ") && !text.contains("take 0 ns"), "{text}");
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn a_script_starts_one_program_with_mpi_whatever_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let tags = program(folder.path(), "tags");
    let one = script(folder.path(), "one", &format!("#!/bin/sh\n{tags}\n"));
    assert!(done(&[&RUN[..], &[&one]].concat()).contains("2 ranks take "));
    let two = script(folder.path(), "two", &format!("#!/bin/sh\n{tags}\n{tags}\n"));
    let text = refused(1, &[&RUN[..], &[&two]].concat());
    assert!(text.contains("a script starts a second program with MPI"), "{text}");
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn two_threads_in_mpi_at_one_time_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = refused(1, &[&RUN[..], &[&program(folder.path(), "threads")]].concat());
    // The second thread may be late for the deadlock that the first one is in without it.
    let is_named =
        ["two threads of rank 0 are in MPI at one time; ", "rank 0 has 2 threads that call MPI, one at a time: "]
            .iter()
            .any(|wanted| text.contains(&format!("{wanted}the simulator provides SERIALIZED")));
    assert!(is_named, "{text}");
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn recorded_compute_times_are_known_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let tags = program(folder.path(), "tags");
    let comp = folder.path().join("cg.comp").to_str().unwrap().to_owned();
    let run = ["run", "-n", "2", "--machine", MACHINE, "--compute"];
    done(&[&run[..], &[&format!("record={comp}"), "--", &tags]].concat());
    assert!(done(&["fit", &comp]).contains("[[law]]"));
    let text = refused(2, &["replay", &comp, "--machine", MACHINE]);
    assert!(text.contains("holds compute times, not messages"), "{text}");
    let text = refused(2, &[&run[..], &["record=/nowhere/cg.comp", "--", &tags]].concat());
    assert!(text.contains("there is no folder `/nowhere`; make it first"), "{text}");
}
