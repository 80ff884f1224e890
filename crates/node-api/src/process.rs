//! Processes of the node's host, as they are and as kept minutes have them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Answer of `GET /api/v1/processes`: who uses the host. The figures of `rows`, of `others` and the short-lived add up
/// to the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ProcessTable {
    /// Moment of the last scan; of a kept minute, its beginning.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub time: Timestamp,
    /// Length of time that the rates of a kept minute are over; `null` for now.
    pub span_seconds: Option<f64>,
    /// Meaning of a row.
    pub by: ProcessGrouping,
    /// Order of the rows, greatest first.
    pub sort: ProcessOrder,
    /// The greatest users.
    pub rows: Vec<ProcessRow>,
    /// Number of rows that are left out; those of a kept minute count too.
    pub n_others: u64,
    /// Sum over the rows that are left out.
    pub others: ProcessFigures,
    /// CPU time per second of processes that lived shorter than from one scan to the next, in cores; `null` if the
    /// node cannot know, because it may not see all processes.
    pub short_lived_cores: Option<f64>,
    /// Number of processes.
    pub n_processes: u64,
    /// Number of processes that were read twice, so that their rates are known; `null` for a kept minute.
    pub n_measured: Option<u64>,
    /// Number of processes that the last scan left out because its budget was used up.
    pub n_left_out: u64,
    /// The kept minute before.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub previous: Option<Timestamp>,
    /// The kept minute after; `null` for the last one and for now.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next: Option<Timestamp>,
}

/// A process, or the processes of a program or control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ProcessRow {
    /// Name that the process gave itself, which can hold control characters; path of a control group.
    pub name: String,
    /// Systemd service: `postgresql.service`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Container: `docker:0123456789ab`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Number of a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// State of a single process as the kernel writes it: `R`, `S`, `D`, `Z`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Number of processes of a program or control group; absent of kept minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_processes: Option<u64>,
    /// Use of the resources.
    #[serde(flatten)]
    pub figures: ProcessFigures,
}

/// Answer of `GET /api/v1/processes/history`: the use of one resource by programs, minute by minute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ProgramHistory {
    /// The resource.
    pub sort: ProcessOrder,
    /// Beginning of the first minute that is kept at all; `null` if there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub first: Option<Timestamp>,
    /// Beginnings of the kept minutes, in order.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub minutes: Vec<Timestamp>,
    /// The programs that used the most, greatest sum first.
    pub programs: Vec<ProgramCurve>,
}

/// Use of one resource by a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ProgramCurve {
    /// Name that its processes gave themselves, which can hold control characters.
    pub name: String,
    /// Systemd service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// A figure for each minute, in cores, bytes or bytes per second; `null` if the minute has the program among its
    /// others, or if the node may not know.
    pub values: Vec<Option<f64>>,
}

/// Use of the resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ProcessFigures {
    /// CPU time per second, in cores; `null` before the second read.
    pub cpu_cores: Option<f64>,
    /// Resident memory; pages that processes share count for each of them.
    pub memory_bytes: u64,
    /// Bytes per second read from disks; `null` if the node may not know.
    pub read_bytes_per_sec: Option<f64>,
    /// Bytes per second written to disks, likewise.
    pub written_bytes_per_sec: Option<f64>,
}

impl ProcessFigures {
    /// Figures of nobody.
    pub const NONE: Self =
        Self { cpu_cores: Some(0.0), memory_bytes: 0, read_bytes_per_sec: Some(0.0), written_bytes_per_sec: Some(0.0) };

    /// Adds two uses. Rates of what was read once only count as nothing; bytes that may not be known leave the sum
    /// unknown.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let memory_bytes = self.memory_bytes.saturating_add(other.memory_bytes);
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        match (self.cpu_cores, other.cpu_cores) {
            (None, _) => Self { memory_bytes, ..other },
            (_, None) => Self { memory_bytes, ..self },
            (cpu, other_cpu) => Self {
                cpu_cores: sum(cpu, other_cpu),
                memory_bytes,
                read_bytes_per_sec: sum(self.read_bytes_per_sec, other.read_bytes_per_sec),
                written_bytes_per_sec: sum(self.written_bytes_per_sec, other.written_bytes_per_sec),
            },
        }
    }

    /// Returns the figure that `order` sorts by.
    #[must_use]
    pub fn by(&self, order: ProcessOrder) -> Option<f64> {
        match order {
            ProcessOrder::Cpu => self.cpu_cores,
            ProcessOrder::Memory => Some(self.memory_bytes as f64),
            ProcessOrder::Read => self.read_bytes_per_sec,
            ProcessOrder::Written => self.written_bytes_per_sec,
        }
    }
}

/// Meaning of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessGrouping {
    /// One process.
    Process,
    /// All processes of one name in one unit or container.
    #[default]
    Program,
    /// All processes of one control group.
    Cgroup,
}

/// Order of the rows, greatest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessOrder {
    /// CPU time.
    #[default]
    Cpu,
    /// Resident memory.
    Memory,
    /// Bytes read from disks.
    Read,
    /// Bytes written to disks.
    Written,
}

/// A text that is none of the words of a choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is none of {known}")]
pub struct UnknownChoice {
    /// The text, as it was given.
    pub given: String,
    /// The words that there are.
    pub known: &'static str,
}

impl ProcessGrouping {
    /// Returns the word for it in a query.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Program => "program",
            Self::Cgroup => "cgroup",
        }
    }
}

impl FromStr for ProcessGrouping {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let known = [Self::Process, Self::Program, Self::Cgroup].into_iter().find(|one| one.as_str() == text);
        known.ok_or_else(|| UnknownChoice { given: text.to_owned(), known: "process, program, cgroup" })
    }
}

impl ProcessOrder {
    /// Orders, in the order of the columns.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Memory, Self::Read, Self::Written];

    /// Returns the word for it in a query.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Read => "read",
            Self::Written => "written",
        }
    }
}

impl FromStr for ProcessOrder {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let known = Self::ALL.into_iter().find(|one| one.as_str() == text);
        known.ok_or_else(|| UnknownChoice { given: text.to_owned(), known: "cpu, memory, read, written" })
    }
}
