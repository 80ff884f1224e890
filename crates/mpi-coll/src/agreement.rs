//! Facts that all ranks find out together before anything depends on them.

use std::hash::{DefaultHasher, Hash, Hasher};

use mpi_abi::{Failed, Handle, Mpi};
use mpi_job::Process;

/// The longest name of a host that is sent to others, and the longest fault.
const TEXT_BYTES: usize = 256;

/// Ranks that agree. All of them make each call.
#[derive(Clone, Copy)]
pub(crate) struct Agreement {
    pub(crate) mpi: &'static Mpi,
    pub(crate) comm: Handle,
}

/// A rank's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) host: String,
    pub(crate) process: Process,
    /// Whether it was given a file.
    pub(crate) has_file: bool,
}

impl Agreement {
    /// Returns the host and process of each rank, by rank, and whether the rank was given a file.
    pub(crate) fn members(&self, has_file: bool) -> Result<Vec<Member>, Failed> {
        let this = Process::this();
        let mut own = Vec::from(fixed(&mpi_job::host_name()));
        own.push(u8::from(has_file));
        own.extend(this.pid.to_ne_bytes());
        own.extend(this.started.to_ne_bytes());
        let all = self.mpi.allgather(&own, self.comm)?;
        let member = |bytes: &[u8]| {
            let (host, [has_file, numbers @ ..]) = bytes.split_at(TEXT_BYTES) else {
                unreachable!("all bring as much")
            };
            let pid = numbers.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
            let started = numbers.last_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
            Member { host: text(host), process: Process { pid, started }, has_file: *has_file == 1 }
        };
        Ok(all.chunks_exact(own.len()).map(member).collect())
    }

    /// Whether all have the same number, and the other number that rank 0 has.
    pub(crate) fn all_equal(&self, number: u64, of_first: u32) -> Result<(bool, u32), Failed> {
        let own = (u128::from(number) << 32 | u128::from(of_first)).to_le_bytes();
        let all = self.mpi.allgather(&own, self.comm)?;
        let mut words = all.as_chunks().0.iter().map(|bytes| u128::from_le_bytes(*bytes));
        let first = words.next().unwrap_or_default();
        Ok((words.all(|word| word >> 32 == first >> 32), first as u32))
    }

    /// Whether all have the same number, and none a fault. The fault that is told is that of the lowest rank with
    /// one.
    pub(crate) fn same(&self, number: Result<u64, String>, what: &str) -> Result<Result<(), String>, Failed> {
        let mut own = vec![u8::from(number.is_ok())];
        own.extend(number.as_ref().map_or(0, |number| *number).to_ne_bytes());
        let all = self.mpi.allgather(&own, self.comm)?;
        let mut entries = all.chunks_exact(own.len());
        if let Some(faulty) = entries.clone().position(|entry| entry[0] == 0) {
            let mut fault = fixed(number.err().as_deref().unwrap_or_default());
            self.mpi.bcast(&mut fault, faulty as i32, self.comm)?;
            return Ok(Err(text(&fault)));
        }
        let first = entries.next().unwrap_or_default();
        Ok(match entries.position(|entry| entry != first) {
            Some(other) => Err(format!("the {what} of rank 0 and of rank {} differ", other + 1)),
            None => Ok(()),
        })
    }

    /// The text that rank 0 has, however long.
    pub(crate) fn text_of_first(&self, own: &str) -> Result<String, Failed> {
        let mut bytes = own.as_bytes().to_vec();
        bytes.resize(self.of_first(bytes.len() as u32)? as usize, 0);
        self.mpi.bcast(&mut bytes, 0, self.comm)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The number that rank 0 has.
    pub(crate) fn of_first(&self, number: u32) -> Result<u32, Failed> {
        let mut bytes = number.to_ne_bytes();
        self.mpi.bcast(&mut bytes, 0, self.comm)?;
        Ok(u32::from_ne_bytes(bytes))
    }
}

fn fixed(text: &str) -> [u8; TEXT_BYTES] {
    let mut bytes = [0; TEXT_BYTES];
    let length = text.floor_char_boundary(TEXT_BYTES);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// A number that differs where texts do.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
