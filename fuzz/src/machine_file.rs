//! Any text is a machine file whose messages arrive after they were sent, by links that are there, or is refused with a
//! reason in one line.

use mpi_sim::compute::{Laws, Times};
use mpi_sim::machine::{Description, Machine};

/// Ranks of a machine that is tried.
const N_RANKS_MAX: u32 = 12;

/// Returns whether it is a machine file. Files of compute times and laws are read as well.
///
/// # Panics
/// When what was read does not read back from its text, or a route has a link that is not there.
pub fn machine_file(bytes: &[u8]) -> bool {
    // Neither may panic or take more memory than the text.
    let _ = Times::read(bytes);
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    let _ = Laws::read(text);
    let description = match Description::read(text) {
        Ok(description) => description,
        Err(reason) => {
            let reason = reason.to_string();
            assert!(!reason.is_empty(), "`{text}` is refused without a reason");
            return false;
        }
    };
    assert_eq!(Description::read(&description.to_toml()).expect("what was written reads back"), description);
    let n_ranks = description.n_slots().min(N_RANKS_MAX);
    let Ok(machine) = Machine::new(&description, n_ranks) else {
        // A list of nodes that is too short, or too full.
        return true;
    };
    let mut route = Vec::new();
    for from in 0..n_ranks {
        for to in 0..n_ranks {
            machine.route(from, to, &mut route);
            assert!(route.iter().all(|link| (*link as usize) < machine.links().len()), "{from} to {to}: {text}");
            let (least, takes) = (machine.lookahead(from, to), machine.unloaded(from, to, 1_000));
            assert!(least <= takes, "{from} to {to} takes {takes:?}, and {least:?} were promised: {text}");
        }
    }
    true
}
