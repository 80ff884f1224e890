//! The types and operations that MPI itself defines.

/// Kind of an element of a built-in type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An integer with a sign.
    Signed,
    /// An integer without.
    Unsigned,
    /// A floating-point number of IEEE 754; of 16 bytes the platform's own.
    Float,
    /// Two floating-point numbers: real and imaginary part.
    Complex,
    /// True or false, of C or of Fortran.
    Logical,
    /// A letter: moved but not reckoned with.
    Character,
    /// Bytes of any meaning: moved, or combined bit by bit.
    Byte,
    /// A floating-point number and where it was found, a C `int`.
    FloatIndex,
    /// An integer and where it was found, a C `int`.
    SignedIndex,
}

/// A built-in type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datatype {
    /// Kind of its elements.
    pub kind: Kind,
    /// Bytes of data, as `MPI_Type_size` counts: a pair's padding is not among them.
    pub size_bytes: usize,
    /// Distance in bytes from one element to the next.
    pub extent_bytes: usize,
}

/// A built-in operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// All together.
    Sum,
    /// Each times each.
    Prod,
    /// Whether all are true.
    LogicalAnd,
    /// Whether any is true.
    LogicalOr,
    /// Whether an odd number is true.
    LogicalXor,
    /// The bits that all have.
    BitAnd,
    /// The bits that any has.
    BitOr,
    /// The bits that an odd number has.
    BitXor,
    /// The largest, and the first place where it is.
    MaxLoc,
    /// The smallest, and the first place where it is.
    MinLoc,
}

impl Datatype {
    /// Builds a datatype whose elements follow each other without a gap.
    pub(crate) const fn dense(kind: Kind, size_bytes: usize) -> Self {
        Self { kind, size_bytes, extent_bytes: size_bytes }
    }

    /// Builds the datatype of a value of C and an `int` behind it, as a C compiler lays them out.
    pub(crate) const fn pair(kind: Kind, value_bytes: usize) -> Self {
        let align = if value_bytes > 4 { value_bytes } else { 4 };
        Self {
            kind,
            size_bytes: value_bytes + 4,
            extent_bytes: (value_bytes.next_multiple_of(4) + 4).next_multiple_of(align),
        }
    }
}
