//! Kernels in C.

use std::ffi::CString;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;

use mpi_sim::user::STACK_BYTES;
use mpi_sim::user::native::{Algorithms, Kernel};
use mpi_sim::{Lock, Settings, World};
use tempfile::TempDir;

use crate::world::machine;

struct Compiled {
    _folder: TempDir,
    path: PathBuf,
}

fn compiled(code: &str) -> Compiled {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (folder.path().join("kernel.c"), folder.path().join("kernel.so"));
    std::fs::write(&source, format!("#include <mpi.h>\n{code}")).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sim/user");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(compiler)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", include, "-o"])
        .args([&path, &source])
        .status();
    assert!(status.unwrap().success());
    Compiled { _folder: folder, path }
}

fn run(code: &str, n_ranks: u32, n_workers: u32) -> (Lock<World>, Algorithms) {
    let settings = Settings {
        protocol: "sequential".parse().unwrap(),
        n_workers: NonZero::new(n_workers).unwrap(),
        has_unique_tags: false,
    };
    let world = World::new(machine(n_ranks, ""), settings);
    let kernel = Kernel::load(&compiled(code).path).unwrap();
    let ran = kernel.run(&world, STACK_BYTES, &[c"kernel".to_owned(), CString::new("7").unwrap()]).unwrap();
    (world, ran)
}

#[test]
fn an_ordinary_program_is_a_kernel() {
    let code = r#"
        int main(int argc, char **argv) {
            int me, n, sum, flag = 0;
            MPI_Init(&argc, &argv);
            MPI_Comm_rank(MPI_COMM_WORLD, &me);
            MPI_Comm_size(MPI_COMM_WORLD, &n);
            double mine[2] = {me, argv[1][0] - '0'}, theirs[2];
            MPI_Status status;
            MPI_Sendrecv(mine, 2, MPI_DOUBLE, (me + 1) % n, 3, theirs, 2, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
            int count;
            MPI_Get_count(&status, MPI_DOUBLE, &count);
            if (count != 2 || status.MPI_SOURCE != (me + n - 1) % n || theirs[0] != status.MPI_SOURCE || theirs[1] != 7) return 2;
            MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            if (sum != n * (n - 1) / 2) return 3;
            MPI_Request request;
            MPI_Irecv(&sum, 1, MPI_INT, (me + 1) % n, 4, MPI_COMM_WORLD, &request);
            foretop_sim->compute(1e-6 * (me + 1));
            MPI_Send(&me, 1, MPI_INT, (me + n - 1) % n, 4, MPI_COMM_WORLD);
            while (!flag) MPI_Test(&request, &flag, &status);
            if (sum != (me + 1) % n || MPI_Wtime() < 1e-6) return 4;
            MPI_Finalize();
            return 0;
        }"#;
    for n_workers in [1, 3] {
        let (world, ran) = run(code, 20, n_workers);
        assert_eq!(world.hold().stopped(), None);
        assert_eq!(ran.into_iter().collect::<Vec<_>>(), [("MPI_Allreduce", "recursive-doubling")]);
    }
}

#[test]
fn a_rank_that_fails_stops_the_others_where_they_wait() {
    for (failure, told) in [
        ("return 3;", "`main` returned 3"),
        ("MPI_Abort(MPI_COMM_WORLD, 9);", "MPI_Abort: code 9"),
        ("MPI_Send(&me, 1, MPI_INT, 8, 0, MPI_COMM_WORLD);", "rank 8 of a send is none of the 3 ranks"),
        (
            "MPI_Recv(&me, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, 0);",
            "rank 0 sent 4 bytes with tag 5, and the receive has room for 1",
        ),
        ("MPI_Barrier(7);", "MPI_Barrier of another communicator"),
    ] {
        let code = r#"
            int main(void) {
                int me;
                MPI_Comm_rank(MPI_COMM_WORLD, &me);
                if (me == 0) MPI_Send(&me, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
                if (me == 1) { FAILURE }
                MPI_Barrier(MPI_COMM_WORLD);
                return 0;
            }"#;
        for n_workers in [1, 2] {
            let (world, _) = run(&code.replace("FAILURE", failure), 3, n_workers);
            let stopped = world.hold().stopped().cloned().unwrap();
            assert_eq!(stopped.rank, 1);
            assert!(stopped.to_string().contains(told), "{stopped}");
        }
    }
}

#[test]
fn variables_that_ranks_would_share_are_refused_by_name() {
    let code = r#"
        static int calls; double table[3] = {1, 2, 3}; const int fixed = 4; static _Thread_local int own;
        int main(void) { static long times; return (int)(calls++ + table[0]++ + fixed + times++ + own++); }"#;
    let Err(error) = Kernel::load(&compiled(code).path) else { panic!("it was taken") };
    let told = std::error::Error::source(&error).unwrap().to_string();
    for name in ["calls", "table", "times", "own"] {
        assert!(told.contains(name), "{told}");
    }
    assert!(!told.contains("fixed"), "{told}");
}
