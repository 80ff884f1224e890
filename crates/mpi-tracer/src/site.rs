//! Properties of a function that are known before it is called.

use mpi_trace::Operation;

/// The index of one of a call's arguments, from 0, or none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u8);

/// The places of a function's arguments, by the words of the table in `mpi-abi`.
#[derive(Debug)]
pub(crate) struct Spec {
    /// Whether more is to be done than to record it: the program begins or ends, or a handle is made or given up.
    pub(crate) is_special: bool,
    pub(crate) comm: Place,
    pub(crate) comm_given_up: Place,
    pub(crate) newcomm: Place,
    pub(crate) win: Place,
    pub(crate) win_given_up: Place,
    pub(crate) newwin: Place,
    pub(crate) file: Place,
    pub(crate) file_given_up: Place,
    pub(crate) newfile: Place,
    pub(crate) type_given_up: Place,
    pub(crate) message_given_up: Place,
    pub(crate) newmessage: Place,
    /// Also a source or a root.
    pub(crate) peer: Place,
    /// Also the level of `MPI_Pcontrol`.
    pub(crate) tag: Place,
    pub(crate) count: Place,
    pub(crate) datatype: Place,
    pub(crate) counts: Place,
    pub(crate) datatypes: Place,
    pub(crate) rootcount: Place,
    pub(crate) rootcounts: Place,
    pub(crate) rootdatatype: Place,
    pub(crate) blockcount: Place,
    pub(crate) sumcounts: Place,
    pub(crate) status: Place,
    pub(crate) partitions: Place,
    pub(crate) recvstatus: Place,
    pub(crate) recvcount: Place,
    pub(crate) recvdatatype: Place,
    pub(crate) recvsource: Place,
    pub(crate) recvtag: Place,
    pub(crate) newrequest: Place,
    pub(crate) requests: Place,
    pub(crate) posted: Place,
    pub(crate) cancelled: Place,
    /// The place of the number of requests.
    pub(crate) number: Place,
    pub(crate) flag: Place,
}

/// Other properties of a name, beside its language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The operation in records; none for a function that is not recorded.
    pub(crate) operation: Option<Operation>,
    /// Counts have 64 bits.
    pub(crate) is_large: bool,
    /// The place where a Fortran program receives an error.
    pub(crate) error: Place,
}

/// A [`Spec`] that the compiler knows, so that nothing is asked of it while the program waits. Functions whose
/// arguments mean the same share one.
pub(crate) trait Layout {
    const SPEC: &'static Spec;
}

impl Place {
    /// The call has none of this meaning.
    pub(crate) const NOWHERE: Self = Self(u8::MAX);

    pub(crate) const fn at(argument: u8) -> Self {
        Self(argument)
    }

    #[inline(always)]
    pub(crate) fn is_somewhere(self) -> bool {
        self != Self::NOWHERE
    }

    /// The argument's place in an array.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl Spec {
    /// A function of which nothing is known.
    pub(crate) const NONE: Self = Self {
        is_special: false,
        comm: Place::NOWHERE,
        comm_given_up: Place::NOWHERE,
        newcomm: Place::NOWHERE,
        win: Place::NOWHERE,
        win_given_up: Place::NOWHERE,
        newwin: Place::NOWHERE,
        file: Place::NOWHERE,
        file_given_up: Place::NOWHERE,
        newfile: Place::NOWHERE,
        type_given_up: Place::NOWHERE,
        message_given_up: Place::NOWHERE,
        newmessage: Place::NOWHERE,
        peer: Place::NOWHERE,
        tag: Place::NOWHERE,
        count: Place::NOWHERE,
        datatype: Place::NOWHERE,
        counts: Place::NOWHERE,
        datatypes: Place::NOWHERE,
        rootcount: Place::NOWHERE,
        rootcounts: Place::NOWHERE,
        rootdatatype: Place::NOWHERE,
        blockcount: Place::NOWHERE,
        sumcounts: Place::NOWHERE,
        status: Place::NOWHERE,
        partitions: Place::NOWHERE,
        recvstatus: Place::NOWHERE,
        recvcount: Place::NOWHERE,
        recvdatatype: Place::NOWHERE,
        recvsource: Place::NOWHERE,
        recvtag: Place::NOWHERE,
        newrequest: Place::NOWHERE,
        requests: Place::NOWHERE,
        posted: Place::NOWHERE,
        cancelled: Place::NOWHERE,
        number: Place::NOWHERE,
        flag: Place::NOWHERE,
    };
}
