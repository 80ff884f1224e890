//! What is known of a function before it is called.

use mpi_abi::Function;
use mpi_trace::Operation;

/// Which of a call's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The call has none of this meaning.
    Nowhere,
    /// From 0.
    At(u8),
}

/// Where a function has what, by the words of `calls.txt`.
#[derive(Debug)]
pub(crate) struct Spec {
    /// What its records say; none for a function that is not recorded.
    pub(crate) operation: Option<Operation>,
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
    pub(crate) peer: Place,
    pub(crate) source: Place,
    pub(crate) root: Place,
    pub(crate) tag: Place,
    pub(crate) level: Place,
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
    pub(crate) flag: Place,
}

/// How a name passes its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Each by its address, handles as 32-bit integers.
    pub(crate) is_fortran: bool,
    /// Counts have 64 bits.
    pub(crate) is_large: bool,
    /// Where a Fortran program is told of an error.
    pub(crate) error: Place,
}

/// One name of a function.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) next: Function,
    pub(crate) spec: &'static Spec,
    pub(crate) style: Style,
}

impl Place {
    #[inline(always)]
    pub(crate) fn is_somewhere(self) -> bool {
        self != Self::Nowhere
    }
}

impl Spec {
    /// A function of which nothing is known.
    pub(crate) const NONE: Self = Self {
        operation: None,
        is_special: false,
        comm: Place::Nowhere,
        comm_given_up: Place::Nowhere,
        newcomm: Place::Nowhere,
        win: Place::Nowhere,
        win_given_up: Place::Nowhere,
        newwin: Place::Nowhere,
        file: Place::Nowhere,
        file_given_up: Place::Nowhere,
        newfile: Place::Nowhere,
        type_given_up: Place::Nowhere,
        message_given_up: Place::Nowhere,
        newmessage: Place::Nowhere,
        peer: Place::Nowhere,
        source: Place::Nowhere,
        root: Place::Nowhere,
        tag: Place::Nowhere,
        level: Place::Nowhere,
        count: Place::Nowhere,
        datatype: Place::Nowhere,
        counts: Place::Nowhere,
        datatypes: Place::Nowhere,
        rootcount: Place::Nowhere,
        rootcounts: Place::Nowhere,
        rootdatatype: Place::Nowhere,
        blockcount: Place::Nowhere,
        sumcounts: Place::Nowhere,
        status: Place::Nowhere,
        flag: Place::Nowhere,
    };
}
