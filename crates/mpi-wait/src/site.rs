//! Properties of a function that are known before it is called.

use mpi_abi::Function;
use mpi_trace::Operation;

/// A function that programs call, by one of its names.
#[derive(Debug)]
pub(crate) struct CallSite {
    /// The function of the same name beneath.
    pub(crate) next: Function,
    pub(crate) way: CallWay,
    pub(crate) spec: &'static CallSpec,
    /// Whether arguments are addresses of integers and handles.
    pub(crate) is_fortran: bool,
    /// Whether counts have 64 bits.
    pub(crate) is_large: bool,
    /// The place where a Fortran program receives an error.
    pub(crate) error_at: ArgumentPlace,
}

/// The way in which a call is made if ranks give up their core while they wait.
#[derive(Debug)]
pub(crate) enum CallWay {
    Init,
    Finalize,
    Abort,
    /// The call does not wait.
    Pass,
    /// The call waits in the library.
    Leave,
    /// The call is begun, and its request tested. The last argument of `start` is the request instead of a status.
    Start {
        start: Function,
        test: Function,
    },
    /// The call is replaced by one that returns at once. At `flag_at` that one has a flag more; `None` for a call whose
    /// third argument counts.
    Test {
        test: Function,
        flag_at: Option<usize>,
    },
    /// A send and a receive at the same time.
    Exchange {
        send: Function,
        receive: Function,
        test: Function,
    },
    /// The same in one buffer, of which a copy is sent.
    Replace {
        receive: Function,
        test: Function,
    },
    /// The call is taken under another name that the library calls.
    Defer,
}

/// The ranks whose waits a call may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEffect {
    None,
    /// The peer, who gets a message.
    Sent,
    /// The source, whose message was taken.
    Received,
    /// Both.
    Exchanged,
    /// The peer of a request that is started later.
    Prepared,
    /// The peers of requests that were prepared.
    Started,
    /// The other members, by the direction in which data move.
    Collective(DataFlow),
    /// The other members, if they wait for a request.
    Begun,
}

/// The direction in which data move in a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataFlow {
    /// All to all: nobody is done before all have come.
    All,
    /// One root to all.
    FromRoot,
    /// All to one root.
    ToRoot,
    /// Some to some others.
    Some,
}

/// The index of one of a call's arguments, from 0, or none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentPlace(u8);

/// The places of a function's arguments, by the words of the table in `mpi-abi`.
#[derive(Debug)]
pub(crate) struct CallSpec {
    /// The operation in reports; `None` for a function that is not reported.
    pub(crate) operation: Option<Operation>,
    pub(crate) is_blocking: bool,
    pub(crate) effect: CallEffect,
    pub(crate) comm: ArgumentPlace,
    pub(crate) comm_given_up: ArgumentPlace,
    pub(crate) type_given_up: ArgumentPlace,
    /// Also a source or a root.
    pub(crate) peer: ArgumentPlace,
    /// The source of a call that sends, too.
    pub(crate) source: ArgumentPlace,
    pub(crate) count: ArgumentPlace,
    pub(crate) datatype: ArgumentPlace,
    pub(crate) counts: ArgumentPlace,
    pub(crate) datatypes: ArgumentPlace,
    pub(crate) rootcount: ArgumentPlace,
    pub(crate) rootcounts: ArgumentPlace,
    pub(crate) rootdatatype: ArgumentPlace,
    pub(crate) blockcount: ArgumentPlace,
    pub(crate) sumcounts: ArgumentPlace,
    pub(crate) status: ArgumentPlace,
    pub(crate) newrequest: ArgumentPlace,
    pub(crate) requests: ArgumentPlace,
    /// The place of the number of requests.
    pub(crate) number: ArgumentPlace,
    /// The place of the level of `MPI_Pcontrol`.
    pub(crate) level: ArgumentPlace,
}

impl ArgumentPlace {
    /// The call has none of this meaning.
    pub(crate) const NOWHERE: Self = Self(u8::MAX);

    pub(crate) const fn at(argument: u8) -> Self {
        Self(argument)
    }

    pub(crate) fn is_somewhere(self) -> bool {
        self != Self::NOWHERE
    }

    /// Returns the argument's place in an array, if the call has it.
    pub(crate) fn index(self) -> Option<usize> {
        self.is_somewhere().then_some(usize::from(self.0))
    }
}

impl CallSpec {
    /// A function of which nothing is known.
    pub(crate) const NONE: Self = Self {
        operation: None,
        is_blocking: false,
        effect: CallEffect::None,
        comm: ArgumentPlace::NOWHERE,
        comm_given_up: ArgumentPlace::NOWHERE,
        type_given_up: ArgumentPlace::NOWHERE,
        peer: ArgumentPlace::NOWHERE,
        source: ArgumentPlace::NOWHERE,
        count: ArgumentPlace::NOWHERE,
        datatype: ArgumentPlace::NOWHERE,
        counts: ArgumentPlace::NOWHERE,
        datatypes: ArgumentPlace::NOWHERE,
        rootcount: ArgumentPlace::NOWHERE,
        rootcounts: ArgumentPlace::NOWHERE,
        rootdatatype: ArgumentPlace::NOWHERE,
        blockcount: ArgumentPlace::NOWHERE,
        sumcounts: ArgumentPlace::NOWHERE,
        status: ArgumentPlace::NOWHERE,
        newrequest: ArgumentPlace::NOWHERE,
        requests: ArgumentPlace::NOWHERE,
        number: ArgumentPlace::NOWHERE,
        level: ArgumentPlace::NOWHERE,
    };
}
