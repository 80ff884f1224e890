//! The table of MPI calls, from which build scripts make shims.

use crate::names::{Name, names};

/// A line of `calls.txt`, which says what the words for arguments mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCall {
    /// Name in C.
    pub name: &'static str,
    /// Whether it may wait for other processes or for a file.
    pub is_blocking: bool,
    /// Meaning of each argument in C.
    pub c: Vec<&'static str>,
    /// Meaning of each argument in Fortran, without the error.
    pub fortran: Vec<&'static str>,
}

/// Returns all calls of the table.
///
/// # Panics
/// If the table does not say of a call whether it blocks.
#[must_use]
pub fn calls() -> Vec<TableCall> {
    let lines = include_str!("../calls.txt").lines();
    lines.filter(|line| !line.starts_with('#') && !line.is_empty()).map(read).collect()
}

/// Returns code by which programs find the shims of all calls under those C names only that the MPI library has.
#[must_use]
pub fn exports() -> String {
    let names = calls().into_iter().flat_map(|call| call.names()).filter(|name| !name.is_fortran);
    let list: String = names.map(|name| format!(" c\"{}\"", name.symbol)).collect();
    format!("mpi_abi::export_as_beneath! {{{list} }}\n")
}

fn read(line: &'static str) -> TableCall {
    let (c, fortran) = line.split_once('|').map_or((line, None), |(c, fortran)| (c, Some(fortran)));
    let mut words = c.split_whitespace();
    let name = words.next().expect("no line is empty");
    let is_blocking = match words.next() {
        Some("blocks") => true,
        Some("local") => false,
        other => panic!("`{name}` is followed by {other:?} instead of `blocks` or `local`"),
    };
    let c: Vec<&str> = words.collect();
    let fortran = fortran.map_or_else(|| c.clone(), |list| list.split_whitespace().collect());
    TableCall { name, is_blocking, c, fortran }
}

impl TableCall {
    /// Returns all names by which programs call it.
    #[must_use]
    pub fn names(&self) -> Vec<Name> {
        let mut all = names(self.name, self.has_counts());
        // Open MPI 4 has MPI 4's persistent collectives under names of its own.
        if self.c.contains(&"newrequest") && !self.c.iter().any(|role| matches!(*role, "peer" | "source")) {
            all.extend(names(&self.name.replace("MPI_", "MPIX_"), false));
        }
        all
    }

    /// Whether it has arguments that MPI 4 made larger.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        self.c.iter().any(|role| role.contains("count"))
    }

    /// Returns the position of the error among the arguments; `None` if a function of that name has none.
    #[must_use]
    pub fn error_at(&self, name: &Name) -> Option<usize> {
        (name.is_fortran && !self.fortran.contains(&"noerror")).then_some(self.fortran.len())
    }

    /// Returns the number of all arguments of a function of that name, hidden ones included.
    #[must_use]
    pub fn n_words(&self, name: &Name) -> usize {
        if !name.is_fortran {
            return self.c.len();
        }
        let n_own = self.fortran.iter().filter(|role| **role != "noerror").count();
        let n_strings = self.fortran.iter().filter(|role| **role == "string").count();
        n_own + usize::from(self.error_at(name).is_some()) + n_strings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_stands_in_the_table_once_and_says_whether_it_blocks() {
        let calls = calls();
        let mut known: Vec<&str> = calls.iter().map(|call| call.name).collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(known.len(), calls.len());
        let is_blocking = |name| calls.iter().find(|call| call.name == name).map(|call| call.is_blocking);
        assert_eq!(["MPI_Recv", "MPI_Irecv", "MPI_Bsend"].map(is_blocking), [Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn arguments_of_fortran_are_counted_with_error_and_lengths_of_texts() {
        let calls = calls();
        let n_words = |name: &str, is_fortran| {
            let call = calls.iter().find(|call| call.name == name).unwrap();
            call.n_words(call.names().iter().find(|known| known.is_fortran == is_fortran).unwrap())
        };
        assert_eq!((n_words("MPI_Init", false), n_words("MPI_Init", true)), (2, 1));
        assert_eq!((n_words("MPI_Recv", false), n_words("MPI_Recv", true)), (7, 8));
        assert_eq!((n_words("MPI_File_open", false), n_words("MPI_File_open", true)), (5, 7));
        assert_eq!((n_words("MPI_Pcontrol", false), n_words("MPI_Pcontrol", true)), (1, 2));
    }
}
