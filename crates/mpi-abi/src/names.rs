//! Names under which programs call a function of MPI.

/// A symbol by which programs call an MPI function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The symbol.
    pub symbol: String,
    /// Whether its arguments are Fortran's: addresses of 32-bit integers and handles, an error at the end.
    pub is_fortran: bool,
    /// Whether choice buffers are descriptors (TS 29113) instead of addresses.
    pub has_descriptors: bool,
    /// Whether counts have 64 bits (MPI 4).
    pub is_large: bool,
}

/// Returns all names of a C function: its own, those of Fortran compilers for `mpif.h` and `use mpi`, and those of
/// `use mpi_f08`.
///
/// A library defines some of them. `has_counts` says whether the function has arguments that MPI 4 made larger.
#[must_use]
pub fn names(c_name: &str, has_counts: bool) -> Vec<Name> {
    let (lower, upper) = (c_name.to_ascii_lowercase(), c_name.to_ascii_uppercase());
    let name =
        |symbol: String, is_fortran, has_descriptors, is_large| Name { symbol, is_fortran, has_descriptors, is_large };
    let mut names = vec![name(c_name.to_owned(), false, false, false)];
    names
        .extend([format!("{lower}_"), lower.clone(), format!("{lower}__"), upper].map(|s| name(s, true, false, false)));
    names.extend(["_f08", "_f08_"].map(|end| name(format!("{lower}{end}"), true, false, false)));
    names.extend(["_f08ts", "_f08ts_"].map(|end| name(format!("{lower}{end}"), true, true, false)));
    if has_counts {
        names.push(name(format!("{c_name}_c"), false, false, true));
        names.push(name(format!("{lower}_f08_large_"), true, false, true));
        names.push(name(format!("{lower}_f08ts_large_"), true, true, true));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_given_twice() {
        let mut symbols: Vec<String> = names("MPI_Send", true).into_iter().map(|name| name.symbol).collect();
        assert_eq!((symbols.len(), symbols[0].as_str(), symbols[1].as_str()), (12, "MPI_Send", "mpi_send_"));
        symbols.sort();
        symbols.dedup();
        assert_eq!(symbols.len(), 12);
    }
}
