//! One thing that is measured on this host: a family, and what of it.

use std::{fmt::Write, sync::Arc};

use crate::{Family, Range};

/// One thing that is measured, such as the bytes that `eth0` receives.
#[derive(Clone, Debug)]
pub struct Signal {
    id: Arc<str>,
    family: Described,
    labels: Vec<Label>,
    /// Maximum of this signal alone.
    max: Option<f64>,
}

/// The name of a label and what stands for it: `interface`, `eth0`. Text without control characters.
pub type Label = (Arc<str>, Arc<str>);

/// The place of a signal's description.
#[derive(Clone, Debug)]
enum Described {
    /// The table.
    Listed(&'static Family),
    /// Somebody else's description.
    Made(Arc<Family>),
}

impl Signal {
    /// The only signal of a family without a label.
    #[must_use]
    pub fn only(family: &'static Family) -> Arc<Signal> {
        debug_assert!(family.label_name().is_none(), "{} needs a label", family.pattern);
        Arc::new(Signal::listed(family, None))
    }

    /// The signal of one core, interface or disk, called `name` by the kernel.
    #[must_use]
    pub fn labelled(family: &'static Family, name: &[u8]) -> Arc<Signal> {
        Arc::new(Signal::listed(family, Some(as_text(name).into())))
    }

    /// The signal of a family of the table, and what stands for its label if it has one: text without control
    /// characters.
    #[must_use]
    pub fn listed(family: &'static Family, label: Option<Arc<str>>) -> Signal {
        let id = match (family.pattern.split_once('{'), &label) {
            (Some((before, rest)), Some(label)) => {
                let (_, after) = rest.split_once('}').unwrap_or(("", ""));
                format!("{before}{label}{after}").into()
            }
            _ => (*family.pattern).into(),
        };
        let name = family.label_name().map(Into::into);
        Signal { id, family: Described::Listed(family), labels: name.zip(label).into_iter().collect(), max: None }
    }

    /// A signal that is not in the table. Its id, labels and what its family says are text without control characters.
    #[must_use]
    pub fn made(family: Arc<Family>, id: Arc<str>, labels: Vec<Label>) -> Signal {
        Signal { id, family: Described::Made(family), labels, max: None }
    }

    /// Returns the signal with a maximum of its own, such as the memory that the host has.
    #[must_use]
    pub fn up_to(self, max: f64) -> Signal {
        Signal { max: Some(max), ..self }
    }

    /// Returns the id of the signal: `net.eth0.received`. Text without control characters.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the family of the signal.
    #[must_use]
    pub fn family(&self) -> &Family {
        match &self.family {
            Described::Listed(family) => family,
            Described::Made(family) => family,
        }
    }

    /// Returns the range of the quantity, both ends included: that of its family, with the signal's own maximum if it
    /// has one, and never more cores than there are threads.
    #[must_use]
    pub fn range(&self) -> Range {
        let family = self.family();
        let limit = if family.is_up_to_label() {
            let label = self.labels.iter().find(|(name, _)| Some(&**name) == family.label_name());
            label.and_then(|(_, label)| label.parse::<u32>().ok()).map(f64::from)
        } else {
            self.max
        };
        Range { max: limit.or(family.range.max), ..family.range }
    }

    /// Whether its family is a row of the table.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        matches!(self.family, Described::Listed(_))
    }

    /// Returns the labels that distinguish the signal from others of its family: at most one label for a family of the
    /// table.
    #[must_use]
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }
}

/// A name of the kernel's as text, so that two names never become the same text.
///
/// The kernel lets an interface be called by any bytes but `/`, `:` and whitespace. What is no UTF-8 or no
/// printable character is written as `\xNN` for each byte, and so is the backslash itself.
fn as_text(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() || letter == '\\' {
                escape(letter.encode_utf8(&mut [0; 4]).as_bytes(), &mut text);
            } else {
                text.push(letter);
            }
        }
        escape(chunk.invalid(), &mut text);
    }
    text
}

fn escape(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row;

    #[track_caller]
    fn check_id(name: &[u8], id: &str) {
        let signal = Signal::labelled(row("net.{interface}.sent"), name);
        assert_eq!(signal.id().as_ref(), id);
    }

    #[test]
    fn a_label_stands_in_its_place() {
        check_id(b"eth0", "net.eth0.sent");
        check_id(b"eth0.100", "net.eth0.100.sent");
        check_id(b"<b>&x", "net.<b>&x.sent");
    }

    #[test]
    fn threads_get_no_more_cores_than_they_are() {
        let of = |label: &str| Signal::labelled(row("cpu.availability.{threads}"), label.as_bytes()).range();
        assert_eq!((of("2").min, of("2").max, of("16").max), (Some(0.0), Some(2.0), Some(16.0)));
        let family = Arc::new(row("cpu.availability.{threads}").clone());
        let labels = vec![("host".into(), "db1".into()), ("threads".into(), "4".into())];
        assert_eq!(Signal::made(family, "db1/cpu.availability.4".into(), labels).range().max, Some(4.0));
        assert_eq!(Signal::labelled(row("cpu.{core}.busy"), b"7").range().max, Some(1.0));
    }

    #[test]
    fn a_maximum_is_of_its_signal_alone() {
        let memory = |max| Signal::listed(row("memory.available"), None).up_to(max).range();
        assert_eq!((memory(8e9).min, memory(8e9).max), (Some(0.0), Some(8e9)));
        assert_eq!(Signal::only(row("memory.available")).range().max, None);
    }

    #[test]
    fn bytes_that_are_no_text_are_spelled_out() {
        check_id(b"a\x1bb", "net.a\\x1bb.sent");
        check_id(b"a\xffb", "net.a\\xffb.sent");
        check_id("caf\u{e9}\u{85}".as_bytes(), "net.caf\u{e9}\\xc2\\x85.sent");
    }

    #[test]
    fn a_name_that_looks_spelled_out_is_another_name() {
        check_id(b"a\\xff", "net.a\\x5cxff.sent");
    }
}
