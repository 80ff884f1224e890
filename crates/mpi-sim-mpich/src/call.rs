//! A call of the program as a call of Open MPI: each argument by its kind, then what the call wrote.

use std::arch::naked_asm;
use std::ffi::{CStr, c_int};

use crate::handle::{self, Class};
use crate::kept::{self, Kept};
use crate::number::{self, Meaning};
use crate::open_mpi::{ARGUMENTS_MAX, Function};
use crate::{binding, own, status};

/// A function of MPI.
pub struct Call {
    below: Function,
    /// Position of the communicator among the arguments of a collective call, from 1.
    comm: usize,
    kinds: &'static [Kind],
}

/// Kind of an argument.
pub enum Kind {
    /// The same for both.
    Plain,
    /// The address of data, or `MPI_IN_PLACE`.
    Address,
    Handle(&'static Class, Way, Length),
    Number(Meaning, Way, Length),
    Status(Way, Length),
    /// Whether there is anything; where there is not, no status is written.
    Flag,
    /// The place for an attribute's value.
    Value,
    /// Modes that are added up.
    Mode,
    /// The weights of the edges of a graph, or one of two addresses with a meaning.
    Weights,
}

/// Whether the function reads an argument, or gets the place of one that it writes, or of one that it does both to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    In,
    Out,
    Both,
}

/// Number of elements of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// One, and no array.
    One,
    /// The number in another argument, from 1.
    Argument(usize),
    /// The number in the first argument, of which as many are written as another argument points at.
    At(usize),
    /// One for each rank that the communicator's ranks send to.
    Ranks,
    /// One for each neighbour that sends.
    Sources,
    /// One for each neighbour that is sent to.
    Targets,
}

const IN_PLACE: usize = usize::MAX;
const IN_PLACE_BELOW: usize = 1;
const STATUS_IGNORE: usize = 1;
const UNWEIGHTED_BELOW: usize = 2;
const WEIGHTS_EMPTY_BELOW: usize = 3;

/// An object whose place Open MPI is given.
enum Held {
    Nothing,
    Word(usize),
    Number(c_int),
    Status(status::Below),
    Words(Vec<usize>),
    Numbers(Vec<c_int>),
    Statuses(Vec<status::Below>),
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

/// All entries come here, with the number of the call on the stack above the return address.
#[unsafe(naked)]
unsafe extern "C" fn entry() {
    naked_asm!(
        "mov r10, [rsp]",
        "lea r11, [rsp + 16]",
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "mov rdi, r10",
        "mov rsi, rsp",
        "mov rdx, r11",
        "call {translate}",
        "add rsp, 56",
        "ret",
        translate = sym translate,
    )
}

/// Makes a call with the arguments in the registers and on the stack.
unsafe extern "C" fn translate(number: usize, registers: *const usize, stack: *const usize) -> c_int {
    const N_REGISTERS: usize = 6;
    let call = &CALLS[number];
    let mut given = [0; ARGUMENTS_MAX];
    for (nth, word) in given[..call.kinds.len()].iter_mut().enumerate() {
        // SAFETY: the caller passed as many as the function has.
        *word = unsafe { if nth < N_REGISTERS { *registers.add(nth) } else { *stack.add(nth - N_REGISTERS) } };
    }
    // SAFETY: these are the arguments.
    unsafe { call.make(&given[..call.kinds.len()]) }
}

impl Call {
    const fn new(name: &'static CStr, comm: usize, kinds: &'static [Kind]) -> Self {
        Self { below: Function::new(name), comm, kinds }
    }

    unsafe fn make(&self, given: &[usize]) -> c_int {
        let mut held: [Held; ARGUMENTS_MAX] = [const { Held::Nothing }; ARGUMENTS_MAX];
        let mut passed = [0; ARGUMENTS_MAX];
        for (nth, kind) in self.kinds.iter().enumerate() {
            // SAFETY: the program's argument is of that kind.
            (passed[nth], held[nth]) = unsafe { self.pass(kind, nth, given) };
            // An array stays where it is, and one value is in `held` from here on.
            match &mut held[nth] {
                Held::Word(word) => passed[nth] = (&raw mut *word).addr(),
                Held::Number(number) => passed[nth] = (&raw mut *number).addr(),
                Held::Status(status) => passed[nth] = (&raw mut *status).addr(),
                Held::Words(words) => passed[nth] = words.as_mut_ptr().addr(),
                Held::Numbers(numbers) => passed[nth] = numbers.as_mut_ptr().addr(),
                Held::Statuses(statuses) => passed[nth] = statuses.as_mut_ptr().addr(),
                Held::Nothing => {}
            }
        }
        let before = kept::is_any().then(|| self.requests(&held));
        // SAFETY: Open MPI's arguments of this function.
        let result = unsafe { self.below.call(&passed[..self.kinds.len()]) };
        let result = Meaning::Code.above(result);
        for (nth, kind) in self.kinds.iter().enumerate() {
            // SAFETY: places of the program, which the function writes.
            unsafe { self.write_back(kind, nth, given, &held, result) };
        }
        if let Some(before) = before {
            kept::drop_done(&before, &self.requests(&held));
        }
        self.keep(&mut held);
        result
    }

    /// The argument for Open MPI, and what it is the place of.
    unsafe fn pass(&self, kind: &Kind, nth: usize, given: &[usize]) -> (usize, Held) {
        let word = given[nth];
        // SAFETY: the program's argument is of that kind, with as many elements as MPI says.
        unsafe {
            match kind {
                Kind::Plain | Kind::Flag | Kind::Value => (word, Held::Nothing),
                Kind::Address => (if word == IN_PLACE { IN_PLACE_BELOW } else { word }, Held::Nothing),
                Kind::Mode => (number::modes_below(word as c_int) as usize, Held::Nothing),
                Kind::Weights if word == binding::unweighted() => (UNWEIGHTED_BELOW, Held::Nothing),
                Kind::Weights if word == binding::weights_empty() => (WEIGHTS_EMPTY_BELOW, Held::Nothing),
                Kind::Weights => (word, Held::Nothing),
                Kind::Handle(class, Way::In, Length::One) => (class.address(word as u32), Held::Nothing),
                Kind::Number(meaning, Way::In, Length::One) => (meaning.below(word as c_int) as usize, Held::Nothing),
                // Open MPI refuses the null pointer, and what does not count is left out.
                _ if word == 0 || self.is_ignored(nth, given) => (0, Held::Nothing),
                Kind::Handle(class, way, Length::One) => {
                    let reads = *way == Way::Both;
                    (0, Held::Word(if reads { class.address(*(word as *const u32)) } else { class.null() }))
                }
                Kind::Handle(class, way, length) => {
                    let handles = std::slice::from_raw_parts(word as *const u32, self.length(*length, given));
                    let null = class.null();
                    let address = |handle: &u32| if *way == Way::Out { null } else { class.address(*handle) };
                    (0, Held::Words(handles.iter().map(address).collect()))
                }
                Kind::Number(meaning, way, Length::One) => {
                    (0, Held::Number(if *way == Way::Out { 0 } else { meaning.below(*(word as *const c_int)) }))
                }
                Kind::Number(meaning, way, length) => {
                    let numbers = std::slice::from_raw_parts(word as *const c_int, self.length(*length, given));
                    let below = |number: &c_int| if *way == Way::Out { 0 } else { meaning.below(*number) };
                    (0, Held::Numbers(numbers.iter().map(below).collect()))
                }
                Kind::Status(..) if word == STATUS_IGNORE => (0, Held::Nothing),
                Kind::Status(Way::Out, Length::One) => (0, Held::Status(status::Below::default())),
                Kind::Status(_, Length::One) => (0, Held::Status((*(word as *const status::Above)).below())),
                Kind::Status(_, length) => {
                    (0, Held::Statuses(vec![status::Below::default(); self.length(*length, given)]))
                }
            }
        }
    }

    /// Whether an array does not count, and may be none: the types that a call in place sends.
    fn is_ignored(&self, nth: usize, given: &[usize]) -> bool {
        const SENT_TYPES: usize = 3;
        nth == SENT_TYPES && given[0] == IN_PLACE && matches!(self.kinds[nth], Kind::Handle(_, _, Length::Ranks))
    }

    fn length(&self, length: Length, given: &[usize]) -> usize {
        let count = |nth: usize| usize::try_from(given[nth - 1] as c_int).unwrap_or(0);
        match length {
            Length::One => 1,
            Length::Argument(nth) => count(nth),
            Length::At(_) => count(1),
            Length::Ranks => own::n_others(given[self.comm - 1]),
            Length::Sources => own::n_neighbours(given[self.comm - 1]).sources,
            Length::Targets => own::n_neighbours(given[self.comm - 1]).targets,
        }
    }

    /// Gives the program what the call wrote.
    unsafe fn write_back(&self, kind: &Kind, nth: usize, given: &[usize], held: &[Held], result: c_int) {
        let place = given[nth];
        // SAFETY: the program's places, and as many as were passed on.
        unsafe {
            match (kind, &held[nth]) {
                (Kind::Value, _) if result == 0 => own::replace_value(given[nth - 1] as c_int, place, given[nth + 1]),
                (Kind::Handle(_, Way::In, _) | Kind::Number(_, Way::In, _) | Kind::Status(Way::In, _), _) => {}
                (Kind::Handle(class, ..), Held::Word(address)) => *(place as *mut u32) = class.handle(*address),
                (Kind::Handle(class, ..), Held::Words(addresses)) => {
                    for (i, address) in addresses.iter().enumerate() {
                        *(place as *mut u32).add(i) = class.handle(*address);
                    }
                }
                (Kind::Number(meaning, ..), Held::Number(number)) => *(place as *mut c_int) = meaning.above(*number),
                (Kind::Number(meaning, ..), Held::Numbers(numbers)) => {
                    for (i, number) in numbers.iter().enumerate() {
                        *(place as *mut c_int).add(i) = meaning.above(*number);
                    }
                }
                (Kind::Status(..), Held::Status(below)) if self.has_statuses(given) => {
                    (*(place as *mut status::Above)).become_(*below, false);
                }
                (Kind::Status(_, length), Held::Statuses(all)) if self.has_statuses(given) => {
                    let n_written = match *length {
                        Length::At(nth) => usize::try_from(*(given[nth - 1] as *const c_int)).unwrap_or(0),
                        _ => all.len(),
                    };
                    for (i, below) in all.iter().take(n_written).enumerate() {
                        (*(place as *mut status::Above).add(i)).become_(*below, result == own::IN_STATUS);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether statuses were written: not where the call says that there is nothing yet.
    unsafe fn has_statuses(&self, given: &[usize]) -> bool {
        let flag = self.kinds.iter().position(|kind| matches!(kind, Kind::Flag));
        // SAFETY: a flag is the place of an integer.
        flag.is_none_or(|nth| unsafe { *(given[nth] as *const c_int) } != 0)
    }

    /// The requests that the call may complete.
    fn requests(&self, held: &[Held]) -> Vec<usize> {
        let both = |kind: &Kind| matches!(kind, Kind::Handle(class, Way::Both, _) if std::ptr::eq(*class, &raw const handle::REQUEST));
        let held = self.kinds.iter().zip(held).filter(|(kind, _)| both(kind)).map(|(_, held)| held);
        let requests = held.flat_map(|held| match held {
            Held::Word(word) => std::slice::from_ref(word),
            Held::Words(words) => words,
            _ => &[],
        });
        requests.copied().collect()
    }

    /// Keeps the arrays of handles of a call that goes on: Open MPI looks at them until it is done.
    fn keep(&self, held: &mut [Held]) {
        let Some((Kind::Handle(_, Way::Out, Length::One), Held::Word(request))) =
            self.kinds.iter().zip(&*held).next_back()
        else {
            return;
        };
        let request = *request;
        for (kind, held) in self.kinds.iter().zip(held) {
            if let (Kind::Handle(_, Way::In, Length::Ranks | Length::Sources | Length::Targets), Held::Words(types)) =
                (kind, held)
            {
                kept::keep(request, Kept::Types(std::mem::take(types)));
            }
        }
    }
}
