//! The standard ABI (MPI 5.0, chapter 20): handles are as wide as addresses, and predefined ones small numbers.
//!
//! Any library may have it, under the name `libmpi_abi.so.1`. Only the first three fields of a status are public: its
//! functions return the rest. There is no ABI for Fortran.
//!
//! Source: `mpi_abi.h` of MPICH 5.0.

use std::ffi::{c_int, c_void};

use crate::call::Status;
use crate::datatype::{Datatype, Kind, Op};
use crate::library::{Constants, Description, Handle, Library};
use crate::symbol::{self, Function};

/// Start of the library's file name.
const NAME: &str = "libmpi_abi.";
const BYTE: usize = 0x247;

/// Whether the process calls a library of this ABI. MPICH's own library also has `MPI_Abi_get_version`, so the file
/// name decides.
pub(crate) fn is_called() -> bool {
    symbol::file_of(symbol::any(c"PMPI_Get_library_version")).is_some_and(|name| name.starts_with(NAME))
}

pub(crate) fn description() -> Description {
    Description {
        library: Library::Standard,
        handle_bytes: size_of::<usize>(),
        status_bytes: 32,
        congruent: 202,
        constants: Constants {
            comm_world: Handle(0x101),
            comm_self: Handle(0x102),
            comm_null: Handle(0x100),
            request_null: Handle(0x180),
            info_null: Handle(0x130),
            byte: Handle(BYTE),
            double: Handle(0x214),
            any_source: -1,
            proc_null: -3,
            root: -4,
            any_tag: -2,
            undefined: -32766,
            comm_type_shared: 221,
            in_place: 1,
            status_ignore: 0,
        },
        datatypes: datatypes(),
        ops: OPS.map(|(handle, op)| (Handle(handle), op)).to_vec(),
        status,
    }
}

/// Reads a status: source, tag and error; the library's functions return the rest.
///
/// # Safety
/// There is a status.
unsafe fn status(at: *const c_int) -> Status {
    static GET_COUNT: Function = Function::next(c"PMPI_Get_count_c");
    static TEST_CANCELLED: Function = Function::next(c"PMPI_Test_cancelled");
    type GetCount = unsafe extern "C" fn(*const c_int, usize, *mut i64) -> c_int;
    type TestCancelled = unsafe extern "C" fn(*const c_int, *mut c_int) -> c_int;
    let (mut bytes, mut is_cancelled) = (0, 0);
    // SAFETY: the caller's status, and the standard's signatures of functions that each such library has.
    unsafe {
        std::mem::transmute::<*mut c_void, GetCount>(GET_COUNT.address())(at, BYTE, &raw mut bytes);
        std::mem::transmute::<*mut c_void, TestCancelled>(TEST_CANCELLED.address())(at, &raw mut is_cancelled);
        let (source, tag, error) = (*at, *at.add(1), *at.add(2));
        Status { source, tag, error, bytes: u64::try_from(bytes).unwrap_or(0), is_cancelled: is_cancelled != 0 }
    }
}

const OPS: [(usize, Op); 12] = [
    (0x21, Op::Sum),
    (0x22, Op::Min),
    (0x23, Op::Max),
    (0x24, Op::Prod),
    (0x28, Op::BitAnd),
    (0x29, Op::BitOr),
    (0x2a, Op::BitXor),
    (0x30, Op::LogicalAnd),
    (0x31, Op::LogicalOr),
    (0x32, Op::LogicalXor),
    (0x38, Op::MinLoc),
    (0x39, Op::MaxLoc),
];

/// Returns the types with their sizes on Linux. Fortran's default types are as its compilers have them unless told
/// otherwise.
fn datatypes() -> Vec<(Handle, Datatype)> {
    use Kind::{Byte, Character, Complex, Float, Logical, Signed, Unsigned};
    let dense = [
        (Byte, 1, &[0x207][..]),
        (Character, 1, &[0x21e]),
        (Character, 4, &[0x23c]),
        (Signed, 2, &[0x208]),
        (Signed, 4, &[0x209, 0x219]),
        (Signed, 8, &[0x201, 0x202, 0x203, 0x20a, 0x20b]),
        (Unsigned, 2, &[0x20c]),
        (Unsigned, 4, &[0x20d]),
        (Unsigned, 8, &[0x20e, 0x20f]),
        (Float, 4, &[0x210, 0x21a]),
        (Float, 8, &[0x214, 0x21c]),
        (Float, 16, &[0x220]),
        (Complex, 8, &[0x212, 0x213, 0x21b]),
        (Complex, 16, &[0x216, 0x217, 0x21d]),
        (Complex, 32, &[0x224, 0x225]),
        (Logical, 1, &[0x238, 0x239]),
        (Logical, 4, &[0x218]),
    ];
    let dense = dense.into_iter().flat_map(|(kind, size_bytes, handles)| {
        handles.iter().map(move |handle| (Handle(*handle), Datatype::dense(kind, size_bytes)))
    });
    // Bits 3 to 5 of the number of a type of fixed size are the size's logarithm.
    let fixed = [
        (Byte, &[BYTE][..]),
        (Character, &[0x243]),
        (Signed, &[0x240, 0x244, 0x248, 0x250, 0x258, 0x2c1, 0x2c9, 0x2d1, 0x2d9]),
        (Unsigned, &[0x241, 0x245, 0x249, 0x251, 0x259]),
        (Float, &[0x2d2, 0x2da]),
        (Complex, &[0x2db, 0x2e3]),
        (Logical, &[0x2c0, 0x2c8, 0x2d0, 0x2d8]),
    ];
    let fixed = fixed.into_iter().flat_map(|(kind, handles)| {
        handles.iter().map(move |handle| (Handle(*handle), Datatype::dense(kind, 1 << (handle >> 3 & 7))))
    });
    let pairs = [
        (0x228, Datatype::pair(Kind::FloatIndex, 4)),
        (0x229, Datatype::pair(Kind::FloatIndex, 8)),
        (0x22d, Datatype::pair(Kind::FloatIndex, 16)),
        (0x22c, Datatype::pair(Kind::SignedIndex, 2)),
        (0x22b, Datatype::pair(Kind::SignedIndex, 4)),
        (0x22a, Datatype::pair(Kind::SignedIndex, 8)),
    ];
    dense.chain(fixed).chain(pairs.map(|(handle, datatype)| (Handle(handle), datatype))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_type(handle: usize, kind: Kind, size_bytes: usize) {
        let all = datatypes();
        let found: Vec<_> = all.iter().filter(|(known, _)| *known == Handle(handle)).collect();
        assert!(matches!(found[..], [(_, known)] if *known == Datatype::dense(kind, size_bytes)), "{found:?}");
    }

    #[test]
    fn types_of_fixed_size_have_it_in_their_number() {
        check_type(0x247, Kind::Byte, 1);
        check_type(0x248, Kind::Signed, 2);
        check_type(0x251, Kind::Unsigned, 4);
        check_type(0x258, Kind::Signed, 8);
        check_type(0x2da, Kind::Float, 8);
        check_type(0x2e3, Kind::Complex, 16);
    }

    #[test]
    fn types_of_c_have_the_sizes_of_its_compiler() {
        check_type(0x209, Kind::Signed, 4);
        check_type(0x20a, Kind::Signed, size_of::<std::ffi::c_long>());
        check_type(0x214, Kind::Float, 8);
        check_type(0x201, Kind::Signed, size_of::<usize>());
    }

    #[test]
    fn no_number_stands_for_two_things() {
        let description = description();
        let constants = description.constants;
        let objects = [
            constants.comm_world,
            constants.comm_self,
            constants.comm_null,
            constants.request_null,
            constants.info_null,
        ];
        let types = description.datatypes.iter().map(|(handle, _)| *handle);
        let mut all: Vec<_> = types.chain(description.ops.iter().map(|(handle, _)| *handle)).chain(objects).collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }
}
