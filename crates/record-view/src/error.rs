//! What cannot be done with a file of records.

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file itself.
    #[error(transparent)]
    File(#[from] record::Error),
    /// No type has this name.
    #[error("there is no record type `{name}`; there are {known}")]
    NoSuchType {
        /// What was asked for.
        name: String,
        /// All that there are.
        known: String,
    },
    /// No field of the type has this name.
    #[error("records `{record}` have no field `{name}`; they have {known}")]
    NoSuchField {
        /// The type.
        record: String,
        /// What was asked for.
        name: String,
        /// All that there are.
        known: String,
    },
    /// A field that cannot be drawn.
    #[error("the field `{name}` holds no single number, so it has no place on an axis")]
    NotANumber {
        /// Which.
        name: String,
    },
    /// Two files that call different things by one name.
    #[error("the files describe records `{name}` differently, so they cannot be one")]
    Conflict {
        /// The type.
        name: String,
    },
    /// Two files whose times do not compare.
    #[error("`{file}` is of boot {boot} and `{first}` of {first_boot}, so their times do not compare: {why}")]
    OtherBoot {
        /// One file.
        file: String,
        /// Its boot.
        boot: String,
        /// The file whose clock counts.
        first: String,
        /// Its boot.
        first_boot: String,
        /// What is missing.
        why: String,
    },
    /// A time that spans cannot be measured in.
    #[error("the field `{name}` has the unit `{unit}`, which is none of time; it would be `ns`, `us`, `ms` or `s`")]
    NoUnitOfTime {
        /// Which.
        name: String,
        /// Its unit.
        unit: String,
    },
    /// A file that would fall into too many parts.
    #[error("the file has more than {most} parts; split it by something that more records have in common")]
    TooManyParts {
        /// So many there may be.
        most: usize,
    },
    /// A part that cannot be begun.
    #[error(transparent)]
    Open(std::io::Error),
    /// What was extracted cannot be written.
    #[error("cannot write the values")]
    Write(#[from] csv::Error),
    /// The same as Parquet.
    #[error("cannot write the values as Parquet")]
    Parquet(#[from] parquet::errors::ParquetError),
}
