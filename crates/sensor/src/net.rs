//! Traffic of the network interfaces, from `/proc/net/dev`.
//!
//! Not parsed by the `procfs` crate: it gives the whole file up when one interface has a name that is no UTF-8 or has a
//! blank beyond ASCII in it, and whoever may make an interface chooses its name.

use std::path::Path;

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::error::Absence;
use crate::file::{KernelFile, fields, lines, number};
use crate::roster::Roster;
use crate::tick::{Sensor, Tick};

const RECEIVED: &Family = row("net.{interface}.received");
const RECEIVED_PACKETS: &Family = row("net.{interface}.received_packets");
const SENT: &Family = row("net.{interface}.sent");
const SENT_PACKETS: &Family = row("net.{interface}.sent_packets");

/// The signals of an interface, each with the column it comes from.
const COLUMNS: [(&Family, usize); 4] = [(RECEIVED, 0), (RECEIVED_PACKETS, 1), (SENT, 8), (SENT_PACKETS, 9)];

/// The number of counts in a line: eight received, eight sent.
const N_COUNTS: usize = 16;

/// Lines of headings above the interfaces.
const N_HEADINGS: usize = 2;

/// The network interfaces of the namespace that this process is in.
pub(crate) struct Net {
    file: KernelFile,
    interfaces: Roster<[Rate; 4]>,
}

impl Net {
    pub(crate) fn open(root: &Path) -> Result<Net, Absence> {
        Ok(Net { file: KernelFile::open(root, "proc/net/dev")?, interfaces: Roster::new() })
    }
}

impl Sensor for Net {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        if lines(text).count() < N_HEADINGS {
            return Err(self.file.malformed("two lines of headings", text));
        }
        for line in lines(text).skip(N_HEADINGS) {
            let (name, counts) =
                parse(line).ok_or_else(|| self.file.malformed("an interface and sixteen counts", line))?;
            let make = || COLUMNS.map(|(family, _)| Rate::new(Signal::labelled(family, name), 1.0));
            let rates = self.interfaces.call(name, make);
            for (rate, (_, column)) in rates.iter_mut().zip(COLUMNS) {
                rate.step(tick.at, counts[column], tick.readings);
            }
        }
        self.interfaces.forget_uncalled();
        Ok(())
    }
}

/// The name of the interface on `line`, and its counts.
fn parse(line: &[u8]) -> Option<(&[u8], [u64; N_COUNTS])> {
    // The last colon, because older kernels let a name have one, and a count has none.
    let colon = line.iter().rposition(|&byte| byte == b':')?;
    let name = line[..colon].trim_ascii_start();
    let mut given = fields(&line[colon + 1..]);
    let mut counts = [0; N_COUNTS];
    for count in &mut counts {
        *count = number(given.next()?)?;
    }
    (!name.is_empty()).then_some((name, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_name(line: &[u8], name: &[u8]) {
        assert_eq!(parse(line).map(|(name, _)| name), Some(name));
    }

    #[test]
    fn a_name_may_be_any_bytes() {
        check_name(b"<b>&x: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", b"<b>&x");
        check_name(b"    \xff\xfe:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", b"\xff\xfe");
        check_name("em\u{2003}sp: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16".as_bytes(), "em\u{2003}sp".as_bytes());
        check_name(b"eth0:1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", b"eth0:1");
    }

    #[test]
    fn a_line_with_a_count_too_few_is_refused() {
        assert_eq!(parse(b"eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"), None);
    }
}
