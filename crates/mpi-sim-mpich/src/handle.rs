//! Handles: numbers of 32 bits for the program, addresses for Open MPI.
//!
//! What MPI itself defines has a fixed number. Of everything else the number is that of Open MPI's Fortran handle, with
//! bits for the class, so Open MPI's own tables say what it stands for and forget it in time.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::OnceLock;

use crate::open_mpi::{self, Function};

/// Bits of a handle that say its class, and that it is none of MPI's own.
const CLASS_MASK: u32 = 0xfc00_0000;

/// Communicators, datatypes, or the like.
pub struct Class {
    /// Those that MPI defines, the null handle first.
    own: &'static [(u32, &'static CStr)],
    /// The bits of all others.
    bits: u32,
    to_number: Function,
    from_number: Function,
    known: OnceLock<Known>,
}

struct Known {
    addresses: HashMap<u32, usize>,
    handles: HashMap<usize, u32>,
    null: usize,
}

impl Class {
    const fn new(
        bits: u32,
        [to_number, from_number]: [&'static CStr; 2],
        own: &'static [(u32, &'static CStr)],
    ) -> Self {
        Self {
            own,
            bits,
            to_number: Function::new(to_number),
            from_number: Function::new(from_number),
            known: OnceLock::new(),
        }
    }

    fn known(&self) -> &Known {
        self.known.get_or_init(|| {
            let address = |name: &CStr| open_mpi::symbol(name).map(|place| place as usize);
            let found: Vec<(u32, usize)> =
                self.own.iter().filter_map(|(handle, name)| Some((*handle, address(name)?))).collect();
            Known {
                addresses: found.iter().copied().collect(),
                // Of several handles for one object, the first is what the program is given back.
                handles: found.iter().rev().map(|(handle, address)| (*address, *handle)).collect(),
                null: address(self.own[0].1).unwrap_or(0),
            }
        })
    }

    /// The null handle.
    pub fn null(&self) -> usize {
        self.known().null
    }

    /// Returns the address that Open MPI has for this handle; anything that is no handle becomes the null handle, which
    /// Open MPI refuses.
    pub fn address(&self, handle: u32) -> usize {
        let known = self.known();
        if let Some(address) = known.addresses.get(&handle) {
            return *address;
        }
        if handle & CLASS_MASK != self.bits {
            return known.null;
        }
        let number = (handle & !CLASS_MASK) as usize;
        // SAFETY: the function takes a number, and refuses those that stand for nothing.
        match unsafe { self.from_number.call_address(&[number]) } {
            0 => known.null,
            address => address,
        }
    }

    /// Returns the handle that the program has for this address.
    pub fn handle(&self, address: usize) -> u32 {
        let known = self.known();
        if address == 0 {
            return self.own[0].0;
        }
        known.handles.get(&address).copied().unwrap_or_else(|| {
            // SAFETY: an object that Open MPI gave.
            self.bits | unsafe { self.to_number.call(&[address]) } as u32
        })
    }
}

pub static COMM: Class = Class::new(
    0x8400_0000,
    [c"PMPI_Comm_c2f", c"PMPI_Comm_f2c"],
    &[
        (0x0400_0000, c"ompi_mpi_comm_null"),
        (0x4400_0000, c"ompi_mpi_comm_world"),
        (0x4400_0001, c"ompi_mpi_comm_self"),
    ],
);

pub static GROUP: Class = Class::new(
    0x8800_0000,
    [c"PMPI_Group_c2f", c"PMPI_Group_f2c"],
    &[(0x0800_0000, c"ompi_mpi_group_null"), (0x4800_0000, c"ompi_mpi_group_empty")],
);

/// Numbers from Open MPI's tables are higher than those of the few pairs with the same bits.
pub static TYPE: Class = Class::new(
    0x8c00_0000,
    [c"PMPI_Type_c2f", c"PMPI_Type_f2c"],
    &[
        (0x0c00_0000, c"ompi_mpi_datatype_null"),
        (0x4c00_0101, c"ompi_mpi_char"),
        (0x4c00_0118, c"ompi_mpi_signed_char"),
        (0x4c00_0102, c"ompi_mpi_unsigned_char"),
        (0x4c00_010d, c"ompi_mpi_byte"),
        (0x4c00_040e, c"ompi_mpi_wchar"),
        (0x4c00_0203, c"ompi_mpi_short"),
        (0x4c00_0204, c"ompi_mpi_unsigned_short"),
        (0x4c00_0405, c"ompi_mpi_int"),
        (0x4c00_0406, c"ompi_mpi_unsigned"),
        (0x4c00_0807, c"ompi_mpi_long"),
        (0x4c00_0808, c"ompi_mpi_unsigned_long"),
        (0x4c00_040a, c"ompi_mpi_float"),
        (0x4c00_080b, c"ompi_mpi_double"),
        (0x4c00_100c, c"ompi_mpi_long_double"),
        (0x4c00_0809, c"ompi_mpi_long_long_int"),
        (0x4c00_0819, c"ompi_mpi_unsigned_long_long"),
        (0x4c00_010f, c"ompi_mpi_packed"),
        (0x4c00_0010, c"ompi_mpi_lb"),
        (0x4c00_0011, c"ompi_mpi_ub"),
        (0x8c00_0000, c"ompi_mpi_float_int"),
        (0x8c00_0001, c"ompi_mpi_double_int"),
        (0x8c00_0002, c"ompi_mpi_long_int"),
        (0x8c00_0003, c"ompi_mpi_short_int"),
        (0x4c00_0816, c"ompi_mpi_2int"),
        (0x8c00_0004, c"ompi_mpi_longdbl_int"),
        (0x4c00_081e, c"ompi_mpi_cplex"),
        (0x4c00_1022, c"ompi_mpi_dblcplex"),
        (0x4c00_041d, c"ompi_mpi_logical"),
        (0x4c00_041c, c"ompi_mpi_real"),
        (0x4c00_081f, c"ompi_mpi_dblprec"),
        (0x4c00_041b, c"ompi_mpi_integer"),
        (0x4c00_0820, c"ompi_mpi_2integer"),
        (0x4c00_0821, c"ompi_mpi_2real"),
        (0x4c00_1023, c"ompi_mpi_2dblprec"),
        (0x4c00_011a, c"ompi_mpi_character"),
        (0x4c00_0427, c"ompi_mpi_real4"),
        (0x4c00_0829, c"ompi_mpi_real8"),
        (0x4c00_102b, c"ompi_mpi_real16"),
        (0x4c00_0828, c"ompi_mpi_complex8"),
        (0x4c00_102a, c"ompi_mpi_complex16"),
        (0x4c00_202c, c"ompi_mpi_complex32"),
        (0x4c00_012d, c"ompi_mpi_integer1"),
        (0x4c00_022f, c"ompi_mpi_integer2"),
        (0x4c00_0430, c"ompi_mpi_integer4"),
        (0x4c00_0831, c"ompi_mpi_integer8"),
        (0x4c00_0137, c"ompi_mpi_int8_t"),
        (0x4c00_0238, c"ompi_mpi_int16_t"),
        (0x4c00_0439, c"ompi_mpi_int32_t"),
        (0x4c00_083a, c"ompi_mpi_int64_t"),
        (0x4c00_013b, c"ompi_mpi_uint8_t"),
        (0x4c00_023c, c"ompi_mpi_uint16_t"),
        (0x4c00_043d, c"ompi_mpi_uint32_t"),
        (0x4c00_083e, c"ompi_mpi_uint64_t"),
        (0x4c00_013f, c"ompi_mpi_c_bool"),
        (0x4c00_0840, c"ompi_mpi_c_float_complex"),
        (0x4c00_1041, c"ompi_mpi_c_double_complex"),
        (0x4c00_2042, c"ompi_mpi_c_long_double_complex"),
        (0x4c00_0843, c"ompi_mpi_aint"),
        (0x4c00_0844, c"ompi_mpi_offset"),
        (0x4c00_0845, c"ompi_mpi_count"),
        (0x4c00_0133, c"ompi_mpi_cxx_bool"),
        (0x4c00_0834, c"ompi_mpi_cxx_cplex"),
        (0x4c00_1035, c"ompi_mpi_cxx_dblcplex"),
        (0x4c00_2036, c"ompi_mpi_cxx_ldblcplex"),
    ],
);

pub static OP: Class = Class::new(
    0x9800_0000,
    [c"PMPI_Op_c2f", c"PMPI_Op_f2c"],
    &[
        (0x1800_0000, c"ompi_mpi_op_null"),
        (0x5800_0001, c"ompi_mpi_op_max"),
        (0x5800_0002, c"ompi_mpi_op_min"),
        (0x5800_0003, c"ompi_mpi_op_sum"),
        (0x5800_0004, c"ompi_mpi_op_prod"),
        (0x5800_0005, c"ompi_mpi_op_land"),
        (0x5800_0006, c"ompi_mpi_op_band"),
        (0x5800_0007, c"ompi_mpi_op_lor"),
        (0x5800_0008, c"ompi_mpi_op_bor"),
        (0x5800_0009, c"ompi_mpi_op_lxor"),
        (0x5800_000a, c"ompi_mpi_op_bxor"),
        (0x5800_000b, c"ompi_mpi_op_minloc"),
        (0x5800_000c, c"ompi_mpi_op_maxloc"),
        (0x5800_000d, c"ompi_mpi_op_replace"),
        (0x5800_000e, c"ompi_mpi_op_no_op"),
    ],
);

pub static REQUEST: Class =
    Class::new(0xac00_0000, [c"PMPI_Request_c2f", c"PMPI_Request_f2c"], &[(0x2c00_0000, c"ompi_request_null")]);

pub static MESSAGE: Class = Class::new(
    0xac00_0000,
    [c"PMPI_Message_c2f", c"PMPI_Message_f2c"],
    &[(0x2c00_0000, c"ompi_message_null"), (0x6c00_0000, c"ompi_message_no_proc")],
);

pub static WIN: Class =
    Class::new(0xa000_0000, [c"PMPI_Win_c2f", c"PMPI_Win_f2c"], &[(0x2000_0000, c"ompi_mpi_win_null")]);

pub static INFO: Class = Class::new(
    0x9c00_0000,
    [c"PMPI_Info_c2f", c"PMPI_Info_f2c"],
    &[(0x1c00_0000, c"ompi_mpi_info_null"), (0x5c00_0001, c"ompi_mpi_info_env")],
);

/// `MPI_ERRORS_ABORT` is of MPI 4; here it ends the program as `MPI_ERRORS_ARE_FATAL` does.
pub static ERRHANDLER: Class = Class::new(
    0x9400_0000,
    [c"PMPI_Errhandler_c2f", c"PMPI_Errhandler_f2c"],
    &[
        (0x1400_0000, c"ompi_mpi_errhandler_null"),
        (0x5400_0000, c"ompi_mpi_errors_are_fatal"),
        (0x5400_0001, c"ompi_mpi_errors_return"),
        (0x5400_0003, c"ompi_mpi_errors_are_fatal"),
    ],
);

/// Files cannot be opened, so the only one is none.
pub static FILE: Class = Class::new(CLASS_MASK, [c"PMPI_File_c2f", c"PMPI_File_f2c"], &[(0, c"ompi_mpi_file_null")]);

/// Asked by the component that stands before both libraries.
#[unsafe(no_mangle)]
extern "C" fn foretop_mpich_comm(handle: u32) -> usize {
    COMM.address(handle)
}

/// Asked by the component that stands before both libraries.
#[unsafe(no_mangle)]
extern "C" fn foretop_mpich_type(handle: u32) -> usize {
    TYPE.address(handle)
}
