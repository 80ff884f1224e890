//! One thing that is measured on this host: a family, and what of it.

use std::{fmt::Write, sync::Arc};

use crate::Family;

/// One thing that is measured on this host, such as the bytes that `eth0` receives.
#[derive(Clone, Debug)]
pub struct Signal {
    id: Arc<str>,
    family: &'static Family,
    label: Option<Arc<str>>,
}

impl Signal {
    /// The only signal of a family without a label.
    pub(crate) fn only(family: &'static Family) -> Arc<Signal> {
        debug_assert!(family.label_name().is_none(), "{} needs a label", family.pattern);
        Arc::new(Signal { id: family.pattern.into(), family, label: None })
    }

    /// The signal of one core, interface or disk, called `name` by the kernel.
    pub(crate) fn labelled(family: &'static Family, name: &[u8]) -> Arc<Signal> {
        let label = as_text(name);
        let (before, rest) = family.pattern.split_once('{').unwrap_or((family.pattern, ""));
        let (_, after) = rest.split_once('}').unwrap_or(("", ""));
        Arc::new(Signal { id: format!("{before}{label}{after}").into(), family, label: Some(label.into()) })
    }

    /// What the signal is called: `net.eth0.received`. Text without control characters.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The row of the table that it belongs to.
    #[must_use]
    pub fn family(&self) -> &'static Family {
        self.family
    }

    /// What stands in the place of the pattern's label: `eth0`. Text without control characters.
    #[must_use]
    pub fn label(&self) -> Option<&Arc<str>> {
        self.label.as_ref()
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
    use crate::family::row;

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
