//! The MPI calls that are recorded: all that move data, wait for it, or make and free what it moves through.
//!
//! Calls that only ask or describe, such as `MPI_Comm_rank` and `MPI_Type_vector`, are not among them.

/// An MPI function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(u8);

/// The purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Beginning and end of the program, and marks of its phases.
    Life,
    /// Sends one message, at once or later.
    Send,
    /// Receives one message, at once or later.
    Receive,
    /// Sends one and receives another.
    Exchange,
    /// Waits for messages, or asks for them.
    Wait,
    /// Makes, starts and frees requests.
    Request,
    /// Waits for all ranks.
    Barrier,
    /// Moves data of all ranks, at once or later.
    Collective,
    /// Makes and frees communicators.
    Communicator,
    /// Reads and writes another rank's memory.
    OneSided,
    /// Reads and writes a file.
    File,
}

macro_rules! operations {
    ($($code:literal $constant:ident $name:literal $family:ident,)*) => {
        impl Operation {
            $(#[doc = concat!("`", $name, "`.")] pub const $constant: Self = Self($code);)*

            /// All, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self($code)),*];
        }

        const NAMES: &[(&str, Family)] = &[$(($name, Family::$family)),*];
    };
}

impl Operation {
    /// Returns its code, as records hold it. Codes never change their meaning; new calls are added at the end.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0
    }

    /// Returns the operation of a code, if there is one.
    #[must_use]
    pub fn of_code(code: u8) -> Option<Self> {
        (usize::from(code) < NAMES.len()).then_some(Self(code))
    }

    /// Returns the function's name in C, as `MPI_Allreduce`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)].0
    }

    /// Returns its purpose.
    #[must_use]
    pub fn family(self) -> Family {
        NAMES[usize::from(self.0)].1
    }

    /// Returns the operation that `MPI_Start` begins on a persistent request that this one made. A message in
    /// partitions is one message.
    #[must_use]
    pub fn started(self) -> Option<Self> {
        let stem = self.name().strip_prefix("MPI_")?.strip_suffix("_init")?;
        let stem = if let "Psend" | "Precv" = stem { &stem[1..] } else { stem };
        Self::of_name(&format!("MPI_I{}", stem.to_ascii_lowercase()))
    }

    /// Returns the operation of a C name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

operations! {
    0 INIT "MPI_Init" Life,
    1 INIT_THREAD "MPI_Init_thread" Life,
    2 FINALIZE "MPI_Finalize" Life,
    3 ABORT "MPI_Abort" Life,
    4 PCONTROL "MPI_Pcontrol" Life,
    5 BSEND "MPI_Bsend" Send,
    6 IBSEND "MPI_Ibsend" Send,
    7 IRSEND "MPI_Irsend" Send,
    8 ISEND "MPI_Isend" Send,
    9 ISSEND "MPI_Issend" Send,
    10 RSEND "MPI_Rsend" Send,
    11 SEND "MPI_Send" Send,
    12 SSEND "MPI_Ssend" Send,
    13 IMRECV "MPI_Imrecv" Receive,
    14 IRECV "MPI_Irecv" Receive,
    15 MRECV "MPI_Mrecv" Receive,
    16 RECV "MPI_Recv" Receive,
    17 SENDRECV "MPI_Sendrecv" Exchange,
    18 SENDRECV_REPLACE "MPI_Sendrecv_replace" Exchange,
    19 IMPROBE "MPI_Improbe" Wait,
    20 IPROBE "MPI_Iprobe" Wait,
    21 MPROBE "MPI_Mprobe" Wait,
    22 PROBE "MPI_Probe" Wait,
    23 TEST "MPI_Test" Wait,
    24 TESTALL "MPI_Testall" Wait,
    25 TESTANY "MPI_Testany" Wait,
    26 TESTSOME "MPI_Testsome" Wait,
    27 WAIT "MPI_Wait" Wait,
    28 WAITALL "MPI_Waitall" Wait,
    29 WAITANY "MPI_Waitany" Wait,
    30 WAITSOME "MPI_Waitsome" Wait,
    31 BSEND_INIT "MPI_Bsend_init" Request,
    32 CANCEL "MPI_Cancel" Request,
    33 RECV_INIT "MPI_Recv_init" Request,
    34 REDUCE_LOCAL "MPI_Reduce_local" Request,
    35 REQUEST_FREE "MPI_Request_free" Request,
    36 RSEND_INIT "MPI_Rsend_init" Request,
    37 SEND_INIT "MPI_Send_init" Request,
    38 SSEND_INIT "MPI_Ssend_init" Request,
    39 START "MPI_Start" Request,
    40 STARTALL "MPI_Startall" Request,
    41 BARRIER "MPI_Barrier" Barrier,
    42 IBARRIER "MPI_Ibarrier" Barrier,
    43 ALLGATHER "MPI_Allgather" Collective,
    44 ALLGATHERV "MPI_Allgatherv" Collective,
    45 ALLREDUCE "MPI_Allreduce" Collective,
    46 ALLTOALL "MPI_Alltoall" Collective,
    47 ALLTOALLV "MPI_Alltoallv" Collective,
    48 ALLTOALLW "MPI_Alltoallw" Collective,
    49 BCAST "MPI_Bcast" Collective,
    50 EXSCAN "MPI_Exscan" Collective,
    51 GATHER "MPI_Gather" Collective,
    52 GATHERV "MPI_Gatherv" Collective,
    53 IALLGATHER "MPI_Iallgather" Collective,
    54 IALLGATHERV "MPI_Iallgatherv" Collective,
    55 IALLREDUCE "MPI_Iallreduce" Collective,
    56 IALLTOALL "MPI_Ialltoall" Collective,
    57 IALLTOALLV "MPI_Ialltoallv" Collective,
    58 IALLTOALLW "MPI_Ialltoallw" Collective,
    59 IBCAST "MPI_Ibcast" Collective,
    60 IEXSCAN "MPI_Iexscan" Collective,
    61 IGATHER "MPI_Igather" Collective,
    62 IGATHERV "MPI_Igatherv" Collective,
    63 INEIGHBOR_ALLGATHER "MPI_Ineighbor_allgather" Collective,
    64 INEIGHBOR_ALLGATHERV "MPI_Ineighbor_allgatherv" Collective,
    65 INEIGHBOR_ALLTOALL "MPI_Ineighbor_alltoall" Collective,
    66 INEIGHBOR_ALLTOALLV "MPI_Ineighbor_alltoallv" Collective,
    67 INEIGHBOR_ALLTOALLW "MPI_Ineighbor_alltoallw" Collective,
    68 IREDUCE "MPI_Ireduce" Collective,
    69 IREDUCE_SCATTER "MPI_Ireduce_scatter" Collective,
    70 IREDUCE_SCATTER_BLOCK "MPI_Ireduce_scatter_block" Collective,
    71 ISCAN "MPI_Iscan" Collective,
    72 ISCATTER "MPI_Iscatter" Collective,
    73 ISCATTERV "MPI_Iscatterv" Collective,
    74 NEIGHBOR_ALLGATHER "MPI_Neighbor_allgather" Collective,
    75 NEIGHBOR_ALLGATHERV "MPI_Neighbor_allgatherv" Collective,
    76 NEIGHBOR_ALLTOALL "MPI_Neighbor_alltoall" Collective,
    77 NEIGHBOR_ALLTOALLV "MPI_Neighbor_alltoallv" Collective,
    78 NEIGHBOR_ALLTOALLW "MPI_Neighbor_alltoallw" Collective,
    79 REDUCE "MPI_Reduce" Collective,
    80 REDUCE_SCATTER "MPI_Reduce_scatter" Collective,
    81 REDUCE_SCATTER_BLOCK "MPI_Reduce_scatter_block" Collective,
    82 SCAN "MPI_Scan" Collective,
    83 SCATTER "MPI_Scatter" Collective,
    84 SCATTERV "MPI_Scatterv" Collective,
    85 CART_CREATE "MPI_Cart_create" Communicator,
    86 CART_SUB "MPI_Cart_sub" Communicator,
    87 COMM_ACCEPT "MPI_Comm_accept" Communicator,
    88 COMM_CONNECT "MPI_Comm_connect" Communicator,
    89 COMM_CREATE "MPI_Comm_create" Communicator,
    90 COMM_CREATE_GROUP "MPI_Comm_create_group" Communicator,
    91 COMM_DISCONNECT "MPI_Comm_disconnect" Communicator,
    92 COMM_DUP "MPI_Comm_dup" Communicator,
    93 COMM_DUP_WITH_INFO "MPI_Comm_dup_with_info" Communicator,
    94 COMM_FREE "MPI_Comm_free" Communicator,
    95 COMM_IDUP "MPI_Comm_idup" Communicator,
    96 COMM_JOIN "MPI_Comm_join" Communicator,
    97 COMM_SPAWN "MPI_Comm_spawn" Communicator,
    98 COMM_SPAWN_MULTIPLE "MPI_Comm_spawn_multiple" Communicator,
    99 COMM_SPLIT "MPI_Comm_split" Communicator,
    100 COMM_SPLIT_TYPE "MPI_Comm_split_type" Communicator,
    101 DIST_GRAPH_CREATE "MPI_Dist_graph_create" Communicator,
    102 DIST_GRAPH_CREATE_ADJACENT "MPI_Dist_graph_create_adjacent" Communicator,
    103 GRAPH_CREATE "MPI_Graph_create" Communicator,
    104 INTERCOMM_CREATE "MPI_Intercomm_create" Communicator,
    105 INTERCOMM_MERGE "MPI_Intercomm_merge" Communicator,
    106 ACCUMULATE "MPI_Accumulate" OneSided,
    107 COMPARE_AND_SWAP "MPI_Compare_and_swap" OneSided,
    108 FETCH_AND_OP "MPI_Fetch_and_op" OneSided,
    109 GET "MPI_Get" OneSided,
    110 GET_ACCUMULATE "MPI_Get_accumulate" OneSided,
    111 PUT "MPI_Put" OneSided,
    112 RACCUMULATE "MPI_Raccumulate" OneSided,
    113 RGET "MPI_Rget" OneSided,
    114 RGET_ACCUMULATE "MPI_Rget_accumulate" OneSided,
    115 RPUT "MPI_Rput" OneSided,
    116 WIN_ALLOCATE "MPI_Win_allocate" OneSided,
    117 WIN_ALLOCATE_SHARED "MPI_Win_allocate_shared" OneSided,
    118 WIN_ATTACH "MPI_Win_attach" OneSided,
    119 WIN_COMPLETE "MPI_Win_complete" OneSided,
    120 WIN_CREATE "MPI_Win_create" OneSided,
    121 WIN_CREATE_DYNAMIC "MPI_Win_create_dynamic" OneSided,
    122 WIN_DETACH "MPI_Win_detach" OneSided,
    123 WIN_FENCE "MPI_Win_fence" OneSided,
    124 WIN_FLUSH "MPI_Win_flush" OneSided,
    125 WIN_FLUSH_ALL "MPI_Win_flush_all" OneSided,
    126 WIN_FLUSH_LOCAL "MPI_Win_flush_local" OneSided,
    127 WIN_FLUSH_LOCAL_ALL "MPI_Win_flush_local_all" OneSided,
    128 WIN_FREE "MPI_Win_free" OneSided,
    129 WIN_LOCK "MPI_Win_lock" OneSided,
    130 WIN_LOCK_ALL "MPI_Win_lock_all" OneSided,
    131 WIN_POST "MPI_Win_post" OneSided,
    132 WIN_START "MPI_Win_start" OneSided,
    133 WIN_SYNC "MPI_Win_sync" OneSided,
    134 WIN_TEST "MPI_Win_test" OneSided,
    135 WIN_UNLOCK "MPI_Win_unlock" OneSided,
    136 WIN_UNLOCK_ALL "MPI_Win_unlock_all" OneSided,
    137 WIN_WAIT "MPI_Win_wait" OneSided,
    138 FILE_CLOSE "MPI_File_close" File,
    139 FILE_DELETE "MPI_File_delete" File,
    140 FILE_IREAD "MPI_File_iread" File,
    141 FILE_IREAD_ALL "MPI_File_iread_all" File,
    142 FILE_IREAD_AT "MPI_File_iread_at" File,
    143 FILE_IREAD_AT_ALL "MPI_File_iread_at_all" File,
    144 FILE_IREAD_SHARED "MPI_File_iread_shared" File,
    145 FILE_IWRITE "MPI_File_iwrite" File,
    146 FILE_IWRITE_ALL "MPI_File_iwrite_all" File,
    147 FILE_IWRITE_AT "MPI_File_iwrite_at" File,
    148 FILE_IWRITE_AT_ALL "MPI_File_iwrite_at_all" File,
    149 FILE_IWRITE_SHARED "MPI_File_iwrite_shared" File,
    150 FILE_OPEN "MPI_File_open" File,
    151 FILE_PREALLOCATE "MPI_File_preallocate" File,
    152 FILE_READ "MPI_File_read" File,
    153 FILE_READ_ALL "MPI_File_read_all" File,
    154 FILE_READ_ALL_BEGIN "MPI_File_read_all_begin" File,
    155 FILE_READ_ALL_END "MPI_File_read_all_end" File,
    156 FILE_READ_AT "MPI_File_read_at" File,
    157 FILE_READ_AT_ALL "MPI_File_read_at_all" File,
    158 FILE_READ_AT_ALL_BEGIN "MPI_File_read_at_all_begin" File,
    159 FILE_READ_AT_ALL_END "MPI_File_read_at_all_end" File,
    160 FILE_READ_ORDERED "MPI_File_read_ordered" File,
    161 FILE_READ_ORDERED_BEGIN "MPI_File_read_ordered_begin" File,
    162 FILE_READ_ORDERED_END "MPI_File_read_ordered_end" File,
    163 FILE_READ_SHARED "MPI_File_read_shared" File,
    164 FILE_SEEK "MPI_File_seek" File,
    165 FILE_SEEK_SHARED "MPI_File_seek_shared" File,
    166 FILE_SET_SIZE "MPI_File_set_size" File,
    167 FILE_SET_VIEW "MPI_File_set_view" File,
    168 FILE_SYNC "MPI_File_sync" File,
    169 FILE_WRITE "MPI_File_write" File,
    170 FILE_WRITE_ALL "MPI_File_write_all" File,
    171 FILE_WRITE_ALL_BEGIN "MPI_File_write_all_begin" File,
    172 FILE_WRITE_ALL_END "MPI_File_write_all_end" File,
    173 FILE_WRITE_AT "MPI_File_write_at" File,
    174 FILE_WRITE_AT_ALL "MPI_File_write_at_all" File,
    175 FILE_WRITE_AT_ALL_BEGIN "MPI_File_write_at_all_begin" File,
    176 FILE_WRITE_AT_ALL_END "MPI_File_write_at_all_end" File,
    177 FILE_WRITE_ORDERED "MPI_File_write_ordered" File,
    178 FILE_WRITE_ORDERED_BEGIN "MPI_File_write_ordered_begin" File,
    179 FILE_WRITE_ORDERED_END "MPI_File_write_ordered_end" File,
    180 FILE_WRITE_SHARED "MPI_File_write_shared" File,
    181 ALLGATHERV_INIT "MPI_Allgatherv_init" Request,
    182 ALLGATHER_INIT "MPI_Allgather_init" Request,
    183 ALLREDUCE_INIT "MPI_Allreduce_init" Request,
    184 ALLTOALLV_INIT "MPI_Alltoallv_init" Request,
    185 ALLTOALLW_INIT "MPI_Alltoallw_init" Request,
    186 ALLTOALL_INIT "MPI_Alltoall_init" Request,
    187 BARRIER_INIT "MPI_Barrier_init" Request,
    188 BCAST_INIT "MPI_Bcast_init" Request,
    189 EXSCAN_INIT "MPI_Exscan_init" Request,
    190 GATHERV_INIT "MPI_Gatherv_init" Request,
    191 GATHER_INIT "MPI_Gather_init" Request,
    192 NEIGHBOR_ALLGATHERV_INIT "MPI_Neighbor_allgatherv_init" Request,
    193 NEIGHBOR_ALLGATHER_INIT "MPI_Neighbor_allgather_init" Request,
    194 NEIGHBOR_ALLTOALLV_INIT "MPI_Neighbor_alltoallv_init" Request,
    195 NEIGHBOR_ALLTOALLW_INIT "MPI_Neighbor_alltoallw_init" Request,
    196 NEIGHBOR_ALLTOALL_INIT "MPI_Neighbor_alltoall_init" Request,
    197 REDUCE_INIT "MPI_Reduce_init" Request,
    198 REDUCE_SCATTER_BLOCK_INIT "MPI_Reduce_scatter_block_init" Request,
    199 REDUCE_SCATTER_INIT "MPI_Reduce_scatter_init" Request,
    200 SCAN_INIT "MPI_Scan_init" Request,
    201 SCATTERV_INIT "MPI_Scatterv_init" Request,
    202 SCATTER_INIT "MPI_Scatter_init" Request,
    203 ISENDRECV "MPI_Isendrecv" Exchange,
    204 ISENDRECV_REPLACE "MPI_Isendrecv_replace" Exchange,
    205 PSEND_INIT "MPI_Psend_init" Request,
    206 PRECV_INIT "MPI_Precv_init" Request,
    207 PREADY "MPI_Pready" Request,
    208 PREADY_LIST "MPI_Pready_list" Request,
    209 PREADY_RANGE "MPI_Pready_range" Request,
    210 PARRIVED "MPI_Parrived" Wait,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_up_from_zero_and_names_are_found_again() {
        for (code, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(usize::from(operation.code()), code);
            assert_eq!(Operation::of_name(operation.name()), Some(*operation));
        }
        assert_eq!(Operation::of_code(Operation::ALL.len() as u8), None);
    }

    #[test]
    fn each_persistent_operation_is_started_as_another() {
        let is_made = |operation: &&Operation| operation.name().ends_with("_init");
        assert!(Operation::ALL.iter().filter(is_made).all(|operation| operation.started().is_some()));
        assert_eq!(Operation::BSEND_INIT.started(), Some(Operation::IBSEND));
        assert_eq!(Operation::PRECV_INIT.started(), Some(Operation::IRECV));
        assert_eq!(Operation::START.started(), None);
    }
}
