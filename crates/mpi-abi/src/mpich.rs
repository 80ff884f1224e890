//! MPICH and all that share its ABI: handles are numbers of 32 bits, and a built-in type's number says its size.
//!
//! Source: `mpi.h` of MPICH 4.0.

use std::ffi::c_int;

use crate::call::Status;
use crate::datatype::{Datatype, Kind, Op};
use crate::library::{Constants, Description, Handle, Library};

pub(crate) fn description() -> Description {
    Description {
        library: Library::Mpich,
        handle_bytes: 4,
        status_bytes: 20,
        congruent: 1,
        constants: Constants {
            comm_world: Handle(0x4400_0000),
            comm_self: Handle(0x4400_0001),
            comm_null: Handle(0x0400_0000),
            request_null: Handle(0x2c00_0000),
            info_null: Handle(0x1c00_0000),
            byte: Handle(0x4c00_010d),
            double: Handle(0x4c00_080b),
            any_source: -2,
            proc_null: -1,
            root: -3,
            any_tag: -1,
            undefined: -32766,
            comm_type_shared: 1,
            in_place: usize::MAX,
            status_ignore: 1,
        },
        datatypes: datatypes(),
        ops: OPS.iter().zip(1..).map(|(op, number)| (Handle(0x5800_0000 + number), *op)).collect(),
        status,
    }
}

/// Reads a status: number of received bytes in 63 bits, whether cancelled between its halves, then source, tag and
/// error.
///
/// # Safety
/// There is a status.
unsafe fn status(at: *const c_int) -> Status {
    // SAFETY: the caller says so.
    let [low, high, source, tag, error] = unsafe { *at.cast::<[c_int; 5]>() };
    let bytes = u64::from(low as u32) | u64::from(high as u32 >> 1) << 32;
    Status { source, tag, error, bytes, is_cancelled: high & 1 != 0 }
}

/// Operations in the order of their numbers.
const OPS: [Op; 12] = [
    Op::Max,
    Op::Min,
    Op::Sum,
    Op::Prod,
    Op::LogicalAnd,
    Op::BitAnd,
    Op::LogicalOr,
    Op::BitOr,
    Op::LogicalXor,
    Op::BitXor,
    Op::MinLoc,
    Op::MaxLoc,
];

fn datatypes() -> Vec<(Handle, Datatype)> {
    let dense = [
        (Kind::Byte, &[0x4c00_010d, 0x4c00_010f][..]),
        (Kind::Character, &[0x4c00_0101, 0x4c00_040e, 0x4c00_011a]),
        (
            Kind::Signed,
            &[
                0x4c00_0118,
                0x4c00_0203,
                0x4c00_0405,
                0x4c00_0807,
                0x4c00_0809,
                0x4c00_041b,
                0x4c00_012d,
                0x4c00_022f,
                0x4c00_0430,
                0x4c00_0831,
                0x4c00_0137,
                0x4c00_0238,
                0x4c00_0439,
                0x4c00_083a,
                0x4c00_0843,
                0x4c00_0844,
                0x4c00_0845,
            ],
        ),
        (
            Kind::Unsigned,
            &[
                0x4c00_0102,
                0x4c00_0204,
                0x4c00_0406,
                0x4c00_0808,
                0x4c00_0819,
                0x4c00_013b,
                0x4c00_023c,
                0x4c00_043d,
                0x4c00_083e,
            ],
        ),
        (Kind::Float, &[0x4c00_040a, 0x4c00_080b, 0x4c00_100c, 0x4c00_041c, 0x4c00_081f, 0x4c00_0427, 0x4c00_0829]),
        (
            Kind::Complex,
            &[0x4c00_081e, 0x4c00_1022, 0x4c00_0828, 0x4c00_102a, 0x4c00_0840, 0x4c00_1041, 0x4c00_0834, 0x4c00_1035],
        ),
        (Kind::Logical, &[0x4c00_041d, 0x4c00_013f, 0x4c00_0133]),
    ];
    let pairs = [
        (0x8c00_0000, Datatype::pair(Kind::FloatIndex, 4)),
        (0x8c00_0001, Datatype::pair(Kind::FloatIndex, 8)),
        (0x8c00_0004, Datatype::pair(Kind::FloatIndex, 16)),
        (0x8c00_0003, Datatype::pair(Kind::SignedIndex, 2)),
        (0x4c00_0816, Datatype::pair(Kind::SignedIndex, 4)),
        (0x8c00_0002, Datatype::pair(Kind::SignedIndex, 8)),
    ];
    let dense = dense.into_iter().flat_map(|(kind, handles)| {
        handles.iter().map(move |&handle| (Handle(handle), Datatype::dense(kind, handle >> 8 & 0xff)))
    });
    dense.chain(pairs.map(|(handle, datatype)| (Handle(handle), datatype))).collect()
}
