//! The own format: blocks with a length and a checksum, so that a cut or damaged file is told from a whole one.

mod bytes;

use std::io::{ErrorKind, Read, Write};

use bytes::{Cursor, put_text, put_type, put_value};

use crate::{Error, Item, RecordType, Value};

/// The first bytes of a file; its version follows.
pub const MAGIC: &[u8; 5] = b"FTREC";
const VERSION: u8 = 1;

const ATTRIBUTE: u8 = b'A';
const TYPE: u8 = b'T';
const RECORD: u8 = b'R';
const END: u8 = b'E';

/// No block is longer.
const BLOCK_MAX: u32 = 16 << 20;

/// Kind, length and checksum around what a block holds.
const HEAD: usize = 5;
const SUM: usize = 4;

/// Writes items.
pub struct Writer<W: Write> {
    out: W,
    types: Vec<RecordType>,
    n_records: u64,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn new(mut out: W) -> Result<Self, Error> {
        out.write_all(MAGIC).and_then(|()| out.write_all(&[VERSION, b'\r', b'\n'])).map_err(Error::Write)?;
        Ok(Self { out, types: Vec::new(), n_records: 0, block: Vec::new() })
    }

    /// Says something of the file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn attribute(&mut self, name: &str, text: &str) -> Result<(), Error> {
        put_text(&mut self.block, name);
        put_text(&mut self.block, text);
        self.write(ATTRIBUTE)
    }

    /// Says what records of a type hold. Gives the type's number.
    ///
    /// # Errors
    /// Where its name or that of one of its fields is there already, and those of the writer that it is given.
    pub fn define(&mut self, of: RecordType) -> Result<usize, Error> {
        of.check_names(&self.types)?;
        put_type(&mut self.block, &of);
        self.write(TYPE)?;
        self.types.push(of);
        Ok(self.types.len() - 1)
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Where the values do not suit the type, and those of the writer that it is given.
    ///
    /// # Panics
    /// When no type has this number.
    pub fn record(&mut self, of: usize, values: &[Value]) -> Result<(), Error> {
        self.types[of].check(values)?;
        self.block.extend((of as u32).to_le_bytes());
        for value in values {
            put_value(&mut self.block, value);
        }
        self.write(RECORD)?;
        self.n_records += 1;
        Ok(())
    }

    /// Records so far.
    #[must_use]
    pub fn n_records(&self) -> u64 {
        self.n_records
    }

    /// Hands what is written on to what is below.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(Error::Write)
    }

    /// Says that this is all.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn finish(mut self) -> Result<W, Error> {
        self.block.extend(self.n_records.to_le_bytes());
        self.write(END)?;
        self.out.flush().map_err(Error::Write)?;
        Ok(self.out)
    }

    fn write(&mut self, kind: u8) -> Result<(), Error> {
        let n_bytes = self.block.len() as u64;
        if n_bytes > u64::from(BLOCK_MAX) {
            self.block.clear();
            return Err(Error::TooLong { n_bytes, most: BLOCK_MAX });
        }
        let mut head = [kind, 0, 0, 0, 0];
        head[1..].copy_from_slice(&(self.block.len() as u32).to_le_bytes());
        let mut sum = crc32fast::Hasher::new();
        sum.update(&head);
        sum.update(&self.block);
        let written = self.out.write_all(&head).and_then(|()| self.out.write_all(&self.block));
        let written = written.and_then(|()| self.out.write_all(&sum.finalize().to_le_bytes()));
        self.block.clear();
        written.map_err(Error::Write)
    }
}

/// Reads items. After an error there is nothing more.
pub struct Reader<R: Read> {
    input: R,
    types: Vec<RecordType>,
    offset: u64,
    n_records: u64,
    is_over: bool,
}

impl<R: Read> Reader<R> {
    /// Begins with the file's first bytes.
    ///
    /// # Errors
    /// Where it is no such file.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut start = [0; 8];
        match input.read_exact(&mut start) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(Error::Foreign),
            other => other.map_err(Error::Read)?,
        }
        if &start[..5] != MAGIC || &start[6..] != b"\r\n" {
            return Err(Error::Foreign);
        }
        if start[5] != VERSION {
            return Err(Error::Version { found: start[5], known: VERSION });
        }
        Ok(Self { input, types: Vec::new(), offset: 8, n_records: 0, is_over: false })
    }

    fn item(&mut self) -> Result<Option<Item>, Error> {
        let Some((kind, block)) = self.block()? else { return Err(Error::Unfinished { offset: self.offset }) };
        let at = self.offset;
        self.offset += (HEAD + block.len() + SUM) as u64;
        let damaged = |what| Error::Damaged { offset: at, what };
        let mut cursor = Cursor::new(&block);
        let item = match kind {
            ATTRIBUTE => Item::Attribute(cursor.text().map_err(damaged)?, cursor.text().map_err(damaged)?),
            TYPE => {
                let of = cursor.record_type().map_err(damaged)?;
                of.check_names(&self.types)?;
                self.types.push(of.clone());
                Item::Type(of)
            }
            RECORD => {
                let of = cursor.u32().map_err(damaged)? as usize;
                let fields = &self.types.get(of).ok_or_else(|| damaged("no type has this number"))?.fields;
                let values =
                    fields.iter().map(|field| cursor.value(field.kind)).collect::<Result<_, _>>().map_err(damaged)?;
                self.n_records += 1;
                Item::Record { of, values }
            }
            END => {
                let is_all = cursor.u64().map_err(damaged)? == self.n_records;
                return if is_all { Ok(None) } else { Err(damaged("records are missing")) };
            }
            _ => return Err(damaged("there is no such kind of block")),
        };
        if cursor.is_at_end() { Ok(Some(item)) } else { Err(damaged("there is more in it than it should hold")) }
    }

    /// The next block, or nothing where the file ends before one.
    fn block(&mut self) -> Result<Option<(u8, Vec<u8>)>, Error> {
        let mut head = [0; HEAD];
        match self.fill(&mut head)? {
            0 => return Ok(None),
            HEAD => {}
            n => return Err(Error::Cut { offset: self.offset + n as u64 }),
        }
        let length = u32::from_le_bytes(head[1..].try_into().expect("four bytes"));
        if length > BLOCK_MAX {
            return Err(Error::Damaged { offset: self.offset, what: "it claims to be longer than any block is" });
        }
        // It grows with what is there, not with what is claimed.
        let mut block = Vec::new();
        let n = (&mut self.input).take(u64::from(length) + SUM as u64).read_to_end(&mut block).map_err(Error::Read)?;
        if n < length as usize + SUM {
            return Err(Error::Cut { offset: self.offset + (HEAD + n) as u64 });
        }
        let sum = block.split_off(length as usize);
        let mut expected = crc32fast::Hasher::new();
        expected.update(&head);
        expected.update(&block);
        if sum != expected.finalize().to_le_bytes() {
            return Err(Error::Damaged { offset: self.offset, what: "its checksum is another" });
        }
        Ok(Some((head[0], block)))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        let mut n = 0;
        while n < bytes.len() {
            match self.input.read(&mut bytes[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Read(error)),
            }
        }
        Ok(n)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let item = self.item().transpose();
        self.is_over = !matches!(item, Some(Ok(_)));
        item
    }
}
