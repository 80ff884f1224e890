//! Errors in the use of files of records.

/// Reasons why a file of records cannot be used as asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file itself.
    #[error(transparent)]
    File(#[from] record::Error),
    /// No type has this name.
    #[error("there is no record type `{name}`; there are {known}")]
    NoSuchType {
        /// The name that was asked for.
        name: String,
        /// All that there are.
        known: String,
    },
    /// No field of the type has this name.
    #[error("records `{record}` have no field `{name}`; they have {known}")]
    NoSuchField {
        /// The type.
        record: String,
        /// The name that was asked for.
        name: String,
        /// All that there are.
        known: String,
    },
    /// A field that cannot be drawn.
    #[error("the field `{name}` holds no single number, so it has no place on an axis")]
    NotANumber {
        /// The field.
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
        /// The reason why their times do not compare.
        why: String,
    },
    /// A time that spans cannot be measured in.
    #[error("the field `{name}` has the unit `{unit}`, which is none of time; it would be `ns`, `us`, `ms` or `s`")]
    NoUnitOfTime {
        /// The field.
        name: String,
        /// Its unit.
        unit: String,
    },
    /// A file that would fall into too many parts.
    #[error("the file has more than {most} parts; split it by something that more records have in common")]
    TooManyParts {
        /// The largest number of parts.
        most: usize,
    },
    /// A part that cannot be begun.
    #[error(transparent)]
    Open(std::io::Error),
    /// Extracted values that cannot be written.
    #[error("cannot write the values")]
    Write(#[from] csv::Error),
    /// The same as Parquet.
    #[error("cannot write the values as Parquet")]
    Parquet(#[from] parquet::errors::ParquetError),
}
