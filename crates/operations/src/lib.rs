//! What applications do with files, as one table.
//!
//! - [`ROWS`]: a row an operation: what it does, and which command of the language repeats it.
//! - [`ENTRIES`]: by which system call one asks for it: its names and numbers, what each argument is, and which flags are
//!   understood. What lies outside of these is [`Asked::beyond`], and never lost.
//! - [`Entry::asked`]: what a call asks for, from its six registers. The recorders have these; traces as text make them of
//!   words ([`FlagSet::number`]).
//!
//! Pure constants and integers: no memory, no call of the system.
#![no_std]
#![forbid(unsafe_code)]

mod entries;
mod flags;
mod nothing;
mod rows;

pub use entries::{At, ENTRIES, Entry, NO_NUMBER, Stops, by_name, by_number};
pub use flags::{Flag, FlagSet, Of, Processor, UNKNOWN};
pub use nothing::means_nothing;
pub use rows::{Operation, ROWS, Row, Touches};

/// The working directory in place of the descriptor of a directory.
pub const AT_FDCWD: i32 = -100;

/// What one call asks for. Flags are those of Linux on x86-64 on every processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What it is.
    pub operation: Operation,
    /// Descriptors; -1 where there is none.
    pub files: [i32; 2],
    /// The directories from which names count; [`AT_FDCWD`].
    pub from: [i32; 2],
    /// How many bytes, or up to which length.
    pub length: u64,
    /// Offset in the file, or [`None`]: where its position is.
    pub offset: Option<u64>,
    /// Permissions, or the request of `fcntl` and `ioctl`.
    pub mode: u32,
    /// Flags that are understood.
    pub flags: u32,
    /// Flags that a program cannot give, but without which a call does nearly the same.
    pub less: u32,
    /// Flags that are not understood, or that no program can do without.
    pub beyond: u32,
}

impl Entry {
    /// What a call with these arguments asks for.
    pub fn asked(&self, registers: &[u64; 6], processor: Processor) -> Asked {
        let mut out = Asked {
            operation: self.operation,
            files: [-1; 2],
            from: [AT_FDCWD; 2],
            length: 0,
            offset: None,
            mode: 0,
            flags: 0,
            less: 0,
            beyond: 0,
        };
        let register = |at: u8| registers.get(usize::from(at)).copied().unwrap_or(0);
        let mut names = 0;
        for at in self.at {
            match *at {
                At::File(at) => out.files[0] = register(at) as i32,
                At::OtherFile(at) => out.files[1] = register(at) as i32,
                At::Here(_) | At::Text(_) => names += 1,
                At::Below(at) => {
                    if let Some(from) = out.from.get_mut(names) {
                        *from = register(at) as i32;
                    }
                    names += 1;
                }
                At::Length(at) => out.length = register(at),
                At::Offset(at) => out.offset = Some(register(at)),
                At::OffsetOrHere(at) => out.offset = Some(register(at)).filter(|offset| *offset != u64::MAX),
                At::Mode(at) => out.mode = register(at) as u32,
                At::Flags(at, set) => {
                    let asked = set.of_processor(register(at) as u32, processor);
                    out.flags = asked & set.bits(|of| of == Of::Repeated);
                    out.less = asked & set.bits(|of| of == Of::Less);
                    out.beyond = asked & !set.bits(|of| of != Of::Beyond);
                }
                At::Fixed(flags) => out.flags = flags,
                At::Pointed(_) | At::Memory(_) => {}
            }
        }
        if let Some((_, operation)) = self.selects.iter().find(|(flags, _)| out.flags & flags == *flags) {
            out.operation = *operation;
        }
        out
    }

    /// The names among the arguments: where each stands, and whether it is one of a file.
    pub fn names(&self) -> [Option<Name>; 2] {
        let mut out = [None; 2];
        let mut count = 0;
        for at in self.at {
            let name = match *at {
                At::Here(at) => Name { base: None, name: at, is_file: true },
                At::Below(at) => Name { base: Some(at), name: at + 1, is_file: true },
                At::Text(at) => Name { base: None, name: at, is_file: false },
                _ => continue,
            };
            if let Some(place) = out.get_mut(count) {
                *place = Some(name);
            }
            count += 1;
        }
        out
    }

    /// The set of flags among the arguments, and where they stand.
    pub fn flags(&self) -> Option<(u8, FlagSet)> {
        self.at.iter().find_map(|at| if let At::Flags(at, set) = at { Some((*at, *set)) } else { None })
    }
}

/// Where a name stands among the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The descriptor of the directory from which it counts.
    pub base: Option<u8>,
    /// The text itself.
    pub name: u8,
    /// Not the text of a symbolic link.
    pub is_file: bool,
}

#[cfg(test)]
mod tests;
