//! Variables of a shared object that its ranks would share: those that can be written, read from its ELF tables.

const SYMTAB: u32 = 2;
const WRITABLE: u64 = 1;
const OBJECT: u8 = 1;
const THREAD_LOCAL: u8 = 6;
/// The simulator's, and those that compilers put into every object.
const ALLOWED: [&str; 5] = ["foretop_sim", "completed.0", "__dso_handle", "__TMC_END__", "DW.ref.rust_eh_personality"];

/// The reason why a shared object cannot be a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobalsError {
    /// It is something else.
    #[error("it is not a shared object for 64-bit processors: compile it with `cc -shared -fPIC`")]
    Format,
    /// Its variables cannot be told.
    #[error("it has no table of symbols, so its variables cannot be told: link it without `-s`")]
    Stripped,
    /// All ranks would share them.
    #[error(
        "all ranks would share its variables {}: make them constants, or variables of a function that are not static",
        names.join(", ")
    )]
    Shared {
        /// Their names, in the order of the table.
        names: Vec<String>,
    },
}

/// Makes sure that ranks share no variable of the object.
pub(super) fn check(image: &[u8]) -> Result<(), GlobalsError> {
    if image.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err(GlobalsError::Format);
    }
    let image = Image(image);
    let sections = image.sections().ok_or(GlobalsError::Format)?;
    let symbols = sections.iter().find(|section| section.kind == SYMTAB).ok_or(GlobalsError::Stripped)?;
    let names = image.shared(&sections, symbols).ok_or(GlobalsError::Format)?;
    if names.is_empty() { Ok(()) } else { Err(GlobalsError::Shared { names }) }
}

/// The bytes of an ELF file, little-endian and of 64 bits. Offsets are those of its specification.
struct Image<'a>(&'a [u8]);

struct Section {
    name: u64,
    kind: u32,
    flags: u64,
    offset: u64,
    length: u64,
    link: u64,
}

impl Image<'_> {
    fn number<const N: usize>(&self, at: u64) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let bytes = self.0.get(at..at.checked_add(N)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn text(&self, table: &Section, at: u64) -> Option<&str> {
        let from = usize::try_from(table.offset.checked_add(at)?).ok()?;
        let rest = self.0.get(from..)?;
        std::str::from_utf8(&rest[..rest.iter().position(|byte| *byte == 0)?]).ok()
    }

    fn sections(&self) -> Option<Vec<Section>> {
        let (first, size, n) = (self.number::<8>(40)?, self.number::<2>(58)?, self.number::<2>(60)?);
        let section = |idx: u64| {
            let at = first.checked_add(idx * size)?;
            Some(Section {
                name: self.number::<4>(at)?,
                kind: self.number::<4>(at + 4)? as u32,
                flags: self.number::<8>(at + 8)?,
                offset: self.number::<8>(at + 24)?,
                length: self.number::<8>(at + 32)?,
                link: self.number::<4>(at + 40)?,
            })
        };
        (0..n).map(section).collect()
    }

    /// Names of variables in sections that stay writable.
    fn shared(&self, sections: &[Section], symbols: &Section) -> Option<Vec<String>> {
        const SYMBOL_BYTES: u64 = 24;
        let of_symbols = sections.get(symbols.link as usize)?;
        let of_sections = sections.get(self.number::<2>(62)? as usize)?;
        let mut names = Vec::new();
        for idx in 0..symbols.length / SYMBOL_BYTES {
            let at = symbols.offset.checked_add(idx * SYMBOL_BYTES)?;
            let kind = self.number::<1>(at + 4)? as u8 & 0xf;
            let (place, length) = (self.number::<2>(at + 6)?, self.number::<8>(at + 16)?);
            // Special places, such as that of absolute values, have no section.
            let Some(section) = sections.get(place as usize) else { continue };
            let is_variable = matches!(kind, OBJECT | THREAD_LOCAL) && length > 0 && section.flags & WRITABLE != 0;
            // These are made constant once addresses are filled in.
            if is_variable && !self.text(of_sections, section.name)?.starts_with(".data.rel.ro") {
                let name = self.text(of_symbols, self.number::<4>(at)?)?;
                if !ALLOWED.contains(&name) && name != "_DYNAMIC" {
                    names.push(name.to_owned());
                }
            }
        }
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_shared_object_is_refused_wherever_it_ends() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(check(b"#!/bin/sh"), Err(GlobalsError::Format));
        assert_eq!(check(&own[..own.len().min(2_000)]), Err(GlobalsError::Format));
        // A test program has variables.
        assert!(matches!(check(&own), Err(GlobalsError::Shared { .. })));
    }
}
