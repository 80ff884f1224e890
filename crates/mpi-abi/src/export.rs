//! Names of a preloaded library that programs find only if the MPI library has them too.
//!
//! A program may look for a function with `dlsym` or by a weak symbol and do without it, as mpi4py does with the calls
//! of MPI 4. If the preloaded library alone has the function, the program must not find it. Symbols are bound before
//! any code of the library runs, and the MPI library may be loaded much later, by a plug-in. So the names are indirect
//! functions (`STT_GNU_IFUNC`): each time the dynamic linker binds such a symbol, it calls a resolver, and the program
//! sees the null that this returns as an absent symbol.
//!
//! They are plain functions in the file; the library's own relocation makes them indirect, in memory. The linker
//! complains if it binds an indirect function of a library that it has not relocated yet, and the MPI library is
//! relocated first. So the libraries that the program is linked with are bound to every name, as to plain functions.
//!
//! Works on x86-64 with glibc. Elsewhere, and where the system forbids writing to the table of symbols, programs find
//! all names, whatever the MPI library has.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{Elf64_Phdr, Elf64_Sym};

/// A function of a preloaded library under a name that the MPI library may lack: see
/// [`export_as_beneath`](crate::export_as_beneath).
#[derive(Debug)]
pub struct IndirectExport {
    name: &'static CStr,
    resolver: extern "C" fn() -> *mut c_void,
    function: AtomicPtr<c_void>,
}

impl IndirectExport {
    /// Builds the export of a function of this name; `resolver` returns its [`Self::address`].
    #[must_use]
    pub const fn new(name: &'static CStr, resolver: extern "C" fn() -> *mut c_void) -> Self {
        Self { name, resolver, function: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the function's address; null if an MPI library is loaded that lacks the name.
    ///
    /// The dynamic linker calls this while it binds symbols. So this does not allocate and reads the tables itself.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        // While no MPI library is loaded, programs find the names, as in the file. `dlsym` has no error text for this
        // null, and without one `ctypes` crashes before Python 3.12.8: it is for names that must not be found.
        if is_beneath(self.name) || !is_beneath(c"MPI_Init") {
            self.function.load(Ordering::Relaxed)
        } else {
            std::ptr::null_mut()
        }
    }
}

/// Whether a library other than ours has this name.
fn is_beneath(name: &CStr) -> bool {
    any_object(|object| {
        object.symbol(name).is_some_and(|symbol| {
            // SAFETY: it is a symbol of a loaded object. Indirect functions of MPI names are our own.
            unsafe { (*symbol).st_info & 0xf != STT_GNU_IFUNC }
        })
    })
}

/// Lets programs find these functions, which the library exports, only if the MPI library has them too.
///
/// A library does this once. Its other functions are always found.
#[macro_export]
macro_rules! export_as_beneath {
    ($($name:literal)*) => {
        #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
        mod exports {
            static EXPORTS: &[&$crate::IndirectExport] = &[$({
                static EXPORT: $crate::IndirectExport = $crate::IndirectExport::new($name, resolver);
                extern "C" fn resolver() -> *mut ::std::ffi::c_void {
                    EXPORT.address()
                }
                &EXPORT
            }),*];

            extern "C" fn begin() -> *const ::std::ffi::c_void {
                $crate::make_indirect(EXPORTS);
                extern "C" fn nothing() {}
                nothing as *const ::std::ffi::c_void
            }

            // The linker relocates the address of an indirect function after everything else in the library (which
            // has no lazy bindings) and before the program. So `begin` runs then. The constructors include the
            // function that it returns, which does nothing.
            ::std::arch::global_asm!(
                ".pushsection .text.foretop_begin, \"ax\", @progbits",
                ".type foretop_begin, @gnu_indirect_function",
                "foretop_begin: jmp {begin}",
                ".popsection",
                ".pushsection .init_array, \"aw\", @init_array",
                ".p2align 3",
                ".quad foretop_begin",
                ".popsection",
                begin = sym begin,
            );
        }
    };
}

/// Makes these symbols of the library that holds the list indirect. If the system forbids that, they stay as they are.
#[doc(hidden)]
pub fn make_indirect(exports: &'static [&'static IndirectExport]) {
    any_object(|object| {
        let is_own = object.segment_of(exports.as_ptr() as usize).is_some();
        if is_own {
            object.make_indirect(exports);
        }
        is_own
    });
}

/// Type of a symbol that points at a resolver, which returns the function's address.
const STT_GNU_IFUNC: u8 = 10;

/// Bytes of a page of x86-64.
const PAGE: usize = 4096;

const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// A loaded program or library.
struct Object {
    base: usize,
    headers: &'static [Elf64_Phdr],
}

/// Whether this is true of any loaded object. Objects after the first such are skipped.
fn any_object<F: FnMut(&Object) -> bool>(mut is_it: F) -> bool {
    unsafe extern "C" fn visit<F: FnMut(&Object) -> bool>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        is_it: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker passes an object, whose headers stay while this runs, and the address of `is_it`.
        let (object, is_it) = unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            (Object { base: (*info).dlpi_addr as usize, headers }, &mut *is_it.cast::<F>())
        };
        c_int::from(is_it(&object))
    }
    // SAFETY: the function has the signature that is asked for, and `is_it` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit::<F>), (&raw mut is_it).cast()) != 0 }
}

impl Object {
    /// Returns the header of the segment that contains an address.
    fn segment_of(&self, address: usize) -> Option<&Elf64_Phdr> {
        let mut loaded = self.headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        loaded.find(|header| {
            address.checked_sub(self.base + header.p_vaddr as usize).is_some_and(|at| at < header.p_memsz as usize)
        })
    }

    /// Returns the addresses that the dynamic section has for these tags; 0 stands for none.
    fn dynamic<const N: usize>(&self, tags: [i64; N]) -> [usize; N] {
        let mut found = [0; N];
        let Some(header) = self.headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return found };
        let mut entry = (self.base + header.p_vaddr as usize) as *const (i64, usize);
        loop {
            // SAFETY: the table ends with tag 0.
            let (tag, value) = unsafe { entry.read() };
            if tag == 0 {
                return found;
            }
            if let Some(at) = tags.iter().position(|wanted| *wanted == tag) {
                // The linker has added the base already, except in tables that it could not write, as the kernel's.
                found[at] = if value < self.base { self.base + value } else { value };
            }
            entry = entry.wrapping_add(1);
        }
    }

    /// Returns the entry of a symbol, if the object defines it.
    fn symbol(&self, name: &CStr) -> Option<*mut Elf64_Sym> {
        let [symbols, names, gnu_hash, hash] = self.dynamic([DT_SYMTAB, DT_STRTAB, DT_GNU_HASH, DT_HASH]);
        let (symbols, names) = (symbols as *mut Elf64_Sym, names as *const c_char);
        let is_it = |at: u32| {
            let symbol = symbols.wrapping_add(at as usize);
            // SAFETY: the hash table only has positions of symbols, whose names are in the table of names.
            unsafe {
                let own = CStr::from_ptr(names.wrapping_add((*symbol).st_name as usize));
                ((*symbol).st_shndx != 0 && (*symbol).st_value != 0 && own == name).then_some(symbol)
            }
        };
        match (gnu_hash as *const u32, hash as *const u32) {
            (gnu_hash, _) if !gnu_hash.is_null() => candidates(gnu_hash, name).find_map(is_it),
            // SAFETY: the second word is the number of symbols.
            (_, hash) if !hash.is_null() => (0..unsafe { hash.add(1).read() }).find_map(is_it),
            _ => None,
        }
    }

    /// Makes those of these symbols indirect that the object has.
    fn make_indirect(&self, exports: &[&IndirectExport]) {
        let Some(first) = exports.iter().find_map(|export| self.symbol(export.name)) else { return };
        // All symbols are in one table.
        let Some(segment) = self.segment_of(first as usize) else { return };
        if !self.protect(segment, libc::PROT_WRITE) {
            return;
        }
        for export in exports {
            if let Some(symbol) = self.symbol(export.name) {
                // SAFETY: the symbol can be written, and the linker, which called this, does not read it meanwhile.
                let symbol = unsafe { &mut *symbol };
                export.function.store((self.base + symbol.st_value as usize) as *mut c_void, Ordering::Relaxed);
                symbol.st_info = symbol.st_info & 0xf0 | STT_GNU_IFUNC;
                symbol.st_value = (export.resolver as usize - self.base) as u64;
            }
        }
        self.protect(segment, 0);
    }

    /// Gives a segment the protection that its header says, and `more`. Returns whether the system allowed it.
    fn protect(&self, segment: &Elf64_Phdr, more: c_int) -> bool {
        let has = |flag, protection| if segment.p_flags & flag == 0 { 0 } else { protection };
        let protection =
            has(libc::PF_R, libc::PROT_READ) | has(libc::PF_W, libc::PROT_WRITE) | has(libc::PF_X, libc::PROT_EXEC);
        let start = self.base + segment.p_vaddr as usize;
        let page = start & !(PAGE - 1);
        // SAFETY: these are pages of the segment, and no access is taken away that it needs.
        unsafe { libc::mprotect(page as *mut c_void, start + segment.p_memsz as usize - page, protection | more) == 0 }
    }
}

/// Returns the symbols that may have this name, by their position in the table of symbols.
///
/// A hash table (`DT_GNU_HASH`) begins with four words: the number of buckets, the first symbol in the table, the
/// number of 64-bit words of a Bloom filter, and its shift. Then come the filter, each bucket's first symbol (0 if it
/// is empty), and each symbol's hash, whose lowest bit marks the last symbol of a bucket.
fn candidates(table: *const u32, name: &CStr) -> impl Iterator<Item = u32> {
    let hash = name.to_bytes().iter().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()));
    // SAFETY: all words that are read are in the table.
    let word = move |at: u32| unsafe { table.add(at as usize).read() };
    let [n_buckets, first, n_filter] = [0, 1, 2].map(word);
    let buckets = 4 + 2 * n_filter;
    let start = hash.checked_rem(n_buckets).map_or(0, |bucket| word(buckets + bucket));
    let hash_of = move |symbol: u32| word(buckets + n_buckets + symbol - first);
    let bucket = std::iter::successors((start >= first.max(1)).then_some(start), move |symbol| {
        (hash_of(*symbol) & 1 == 0).then_some(symbol + 1)
    });
    bucket.filter(move |symbol| hash_of(*symbol) | 1 == hash | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &CStr) -> Option<*mut c_void> {
        let mut found = None;
        any_object(|object| {
            // SAFETY: it is a symbol of a loaded object.
            found = object.symbol(name).map(|symbol| (object.base + unsafe { (*symbol).st_value } as usize) as _);
            found.is_some()
        });
        found
    }

    #[test]
    fn symbols_are_found_where_the_linker_finds_them() {
        for name in [c"getpid", c"qsort", c"dl_iterate_phdr"] {
            assert_eq!(address(name), Some(crate::any(name)), "{name:?}");
        }
        assert_eq!(address(c"MPI_No_such_function"), None);
    }

    #[test]
    fn names_are_there_while_no_mpi_library_is_loaded() {
        extern "C" fn resolver() -> *mut c_void {
            std::ptr::null_mut()
        }
        let export = IndirectExport::new(c"MPI_Recv_c", resolver);
        export.function.store(resolver as *mut c_void, Ordering::Relaxed);
        assert_eq!(export.address(), resolver as *mut c_void);
    }
}
