//! Open MPI: handles are addresses of objects that the library exports.
//!
//! Source: `mpi.h` of Open MPI 4.1 and 5.0.

use std::ffi::{CStr, c_int};

use crate::call::Status;
use crate::datatype::{Datatype, Kind, Op};
use crate::library::{Constants, Description, Handle, Library};
use crate::symbol;

/// Returns the library's description; `None` if the process has not loaded it.
pub(crate) fn description() -> Option<Description> {
    let object = |name: &CStr| {
        let address = symbol::any(name);
        (!address.is_null()).then_some(Handle(address as usize))
    };
    Some(Description {
        library: Library::OpenMpi,
        handle_bytes: size_of::<usize>(),
        status_bytes: 24,
        congruent: 1,
        constants: Constants {
            comm_world: object(c"ompi_mpi_comm_world")?,
            comm_self: object(c"ompi_mpi_comm_self")?,
            comm_null: object(c"ompi_mpi_comm_null")?,
            request_null: object(c"ompi_request_null")?,
            info_null: object(c"ompi_mpi_info_null")?,
            byte: object(c"ompi_mpi_byte")?,
            double: object(c"ompi_mpi_double")?,
            any_source: -1,
            proc_null: -2,
            root: -4,
            any_tag: -1,
            undefined: -32766,
            comm_type_shared: 0,
            in_place: 1,
            status_ignore: 0,
        },
        datatypes: datatypes().into_iter().filter_map(|(name, datatype)| Some((object(name)?, datatype))).collect(),
        ops: OPS.iter().filter_map(|(name, op)| Some((object(name)?, *op))).collect(),
        status,
    })
}

/// Reads a status: source, tag, error, whether cancelled, and in 8 bytes how much was received.
///
/// # Safety
/// There is a status.
unsafe fn status(at: *const c_int) -> Status {
    // SAFETY: the caller says so.
    let (source, tag, error, cancelled, bytes) =
        unsafe { (*at, *at.add(1), *at.add(2), *at.add(3), at.add(4).cast::<u64>().read_unaligned()) };
    Status { source, tag, error, bytes, is_cancelled: cancelled != 0 }
}

const OPS: [(&CStr, Op); 12] = [
    (c"ompi_mpi_op_max", Op::Max),
    (c"ompi_mpi_op_min", Op::Min),
    (c"ompi_mpi_op_sum", Op::Sum),
    (c"ompi_mpi_op_prod", Op::Prod),
    (c"ompi_mpi_op_land", Op::LogicalAnd),
    (c"ompi_mpi_op_lor", Op::LogicalOr),
    (c"ompi_mpi_op_lxor", Op::LogicalXor),
    (c"ompi_mpi_op_band", Op::BitAnd),
    (c"ompi_mpi_op_bor", Op::BitOr),
    (c"ompi_mpi_op_bxor", Op::BitXor),
    (c"ompi_mpi_op_maxloc", Op::MaxLoc),
    (c"ompi_mpi_op_minloc", Op::MinLoc),
];

/// Returns the types whose layout does not depend on how the library was built. Fortran's default types are as its
/// compilers have them unless told otherwise.
fn datatypes() -> Vec<(&'static CStr, Datatype)> {
    let dense = Datatype::dense;
    vec![
        (c"ompi_mpi_byte", dense(Kind::Byte, 1)),
        (c"ompi_mpi_packed", dense(Kind::Byte, 1)),
        (c"ompi_mpi_char", dense(Kind::Character, 1)),
        (c"ompi_mpi_wchar", dense(Kind::Character, 4)),
        (c"ompi_mpi_character", dense(Kind::Character, 1)),
        (c"ompi_mpi_signed_char", dense(Kind::Signed, 1)),
        (c"ompi_mpi_unsigned_char", dense(Kind::Unsigned, 1)),
        (c"ompi_mpi_short", dense(Kind::Signed, 2)),
        (c"ompi_mpi_unsigned_short", dense(Kind::Unsigned, 2)),
        (c"ompi_mpi_int", dense(Kind::Signed, 4)),
        (c"ompi_mpi_unsigned", dense(Kind::Unsigned, 4)),
        (c"ompi_mpi_long", dense(Kind::Signed, 8)),
        (c"ompi_mpi_unsigned_long", dense(Kind::Unsigned, 8)),
        (c"ompi_mpi_long_long_int", dense(Kind::Signed, 8)),
        (c"ompi_mpi_unsigned_long_long", dense(Kind::Unsigned, 8)),
        (c"ompi_mpi_int8_t", dense(Kind::Signed, 1)),
        (c"ompi_mpi_uint8_t", dense(Kind::Unsigned, 1)),
        (c"ompi_mpi_int16_t", dense(Kind::Signed, 2)),
        (c"ompi_mpi_uint16_t", dense(Kind::Unsigned, 2)),
        (c"ompi_mpi_int32_t", dense(Kind::Signed, 4)),
        (c"ompi_mpi_uint32_t", dense(Kind::Unsigned, 4)),
        (c"ompi_mpi_int64_t", dense(Kind::Signed, 8)),
        (c"ompi_mpi_uint64_t", dense(Kind::Unsigned, 8)),
        (c"ompi_mpi_aint", dense(Kind::Signed, 8)),
        (c"ompi_mpi_offset", dense(Kind::Signed, 8)),
        (c"ompi_mpi_count", dense(Kind::Signed, 8)),
        (c"ompi_mpi_integer", dense(Kind::Signed, 4)),
        (c"ompi_mpi_integer1", dense(Kind::Signed, 1)),
        (c"ompi_mpi_integer2", dense(Kind::Signed, 2)),
        (c"ompi_mpi_integer4", dense(Kind::Signed, 4)),
        (c"ompi_mpi_integer8", dense(Kind::Signed, 8)),
        (c"ompi_mpi_float", dense(Kind::Float, 4)),
        (c"ompi_mpi_double", dense(Kind::Float, 8)),
        (c"ompi_mpi_long_double", dense(Kind::Float, 16)),
        (c"ompi_mpi_real", dense(Kind::Float, 4)),
        (c"ompi_mpi_dblprec", dense(Kind::Float, 8)),
        (c"ompi_mpi_real4", dense(Kind::Float, 4)),
        (c"ompi_mpi_real8", dense(Kind::Float, 8)),
        (c"ompi_mpi_c_float_complex", dense(Kind::Complex, 8)),
        (c"ompi_mpi_c_double_complex", dense(Kind::Complex, 16)),
        (c"ompi_mpi_cplex", dense(Kind::Complex, 8)),
        (c"ompi_mpi_dblcplex", dense(Kind::Complex, 16)),
        (c"ompi_mpi_complex8", dense(Kind::Complex, 8)),
        (c"ompi_mpi_complex16", dense(Kind::Complex, 16)),
        (c"ompi_mpi_cxx_cplex", dense(Kind::Complex, 8)),
        (c"ompi_mpi_cxx_dblcplex", dense(Kind::Complex, 16)),
        (c"ompi_mpi_c_bool", dense(Kind::Logical, 1)),
        (c"ompi_mpi_cxx_bool", dense(Kind::Logical, 1)),
        (c"ompi_mpi_logical", dense(Kind::Logical, 4)),
        (c"ompi_mpi_float_int", Datatype::pair(Kind::FloatIndex, 4)),
        (c"ompi_mpi_double_int", Datatype::pair(Kind::FloatIndex, 8)),
        (c"ompi_mpi_longdbl_int", Datatype::pair(Kind::FloatIndex, 16)),
        (c"ompi_mpi_short_int", Datatype::pair(Kind::SignedIndex, 2)),
        (c"ompi_mpi_2int", Datatype::pair(Kind::SignedIndex, 4)),
        (c"ompi_mpi_long_int", Datatype::pair(Kind::SignedIndex, 8)),
    ]
}
