//! The twelve phases that a score is made of.

/// A phase of IO500.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Large transfers to a file of each rank.
    IorEasyWrite,
    /// Empty files in a directory of each rank.
    MdtestEasyWrite,
    /// Interleaved pieces of 47008 bytes in one file.
    IorHardWrite,
    /// Files of 3901 bytes in one directory.
    MdtestHardWrite,
    /// The search for files by name, size and age.
    Find,
    /// The easy files of another rank.
    IorEasyRead,
    /// Attributes of the easy files.
    MdtestEasyStat,
    /// The pieces of another rank.
    IorHardRead,
    /// Attributes of the hard files.
    MdtestHardStat,
    /// The easy files are removed.
    MdtestEasyDelete,
    /// The content of the hard files.
    MdtestHardRead,
    /// The hard files are removed.
    MdtestHardDelete,
}

/// What the score of a phase counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 2³⁰ bytes a second.
    GibPerSecond,
    /// A thousand files a second.
    KiloIops,
}

impl Unit {
    /// As IO500 writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GibPerSecond => "GiB/s",
            Self::KiloIops => "kIOPS",
        }
    }
}

impl Phase {
    /// All of them, in the order in which they run.
    pub const ALL: [Self; 12] = [
        Self::IorEasyWrite,
        Self::MdtestEasyWrite,
        Self::IorHardWrite,
        Self::MdtestHardWrite,
        Self::Find,
        Self::IorEasyRead,
        Self::MdtestEasyStat,
        Self::IorHardRead,
        Self::MdtestHardStat,
        Self::MdtestEasyDelete,
        Self::MdtestHardRead,
        Self::MdtestHardDelete,
    ];

    /// As it is called in configurations, results and the labels of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::IorEasyWrite => "ior-easy-write",
            Self::MdtestEasyWrite => "mdtest-easy-write",
            Self::IorHardWrite => "ior-hard-write",
            Self::MdtestHardWrite => "mdtest-hard-write",
            Self::Find => "find",
            Self::IorEasyRead => "ior-easy-read",
            Self::MdtestEasyStat => "mdtest-easy-stat",
            Self::IorHardRead => "ior-hard-read",
            Self::MdtestHardStat => "mdtest-hard-stat",
            Self::MdtestEasyDelete => "mdtest-easy-delete",
            Self::MdtestHardRead => "mdtest-hard-read",
            Self::MdtestHardDelete => "mdtest-hard-delete",
        }
    }

    /// What its score counts: bytes of the phases of IOR, files of the others.
    pub fn unit(self) -> Unit {
        match self {
            Self::IorEasyWrite | Self::IorHardWrite | Self::IorEasyRead | Self::IorHardRead => {
                Unit::GibPerSecond
            }
            _ => Unit::KiloIops,
        }
    }

    /// Whether it has to last as long as the stonewall, and by which key it is given more to do.
    pub fn amount_key(self) -> Option<&'static str> {
        match self {
            Self::IorEasyWrite => Some("[ior-easy] blockSize"),
            Self::MdtestEasyWrite => Some("[mdtest-easy] n"),
            Self::IorHardWrite => Some("[ior-hard] segmentCount"),
            Self::MdtestHardWrite => Some("[mdtest-hard] n"),
            _ => None,
        }
    }

    /// The section whose `run` and `API` are for the phase as well as for others.
    pub fn family(self) -> Option<&'static str> {
        let (family, _) = self.name().rsplit_once('-')?;
        Some(family)
    }

    /// The phase that writes what this one needs.
    pub fn needs(self) -> Option<Self> {
        let writing = |family: &str| {
            Self::ALL.into_iter().find(|one| one.amount_key().is_some() && one.family() == Some(family))
        };
        match self {
            Self::Find => Some(Self::MdtestHardWrite),
            _ if self.amount_key().is_some() => None,
            _ => writing(self.family()?),
        }
    }

    /// The operation of the program that its score counts.
    pub fn operation(self) -> &'static str {
        match self {
            Self::IorEasyWrite | Self::IorHardWrite => "fwrite",
            Self::IorEasyRead | Self::IorHardRead => "fread",
            Self::MdtestEasyWrite => "create",
            Self::MdtestHardWrite => "write",
            Self::Find | Self::MdtestEasyStat | Self::MdtestHardStat => "stat",
            Self::MdtestHardRead => "read",
            Self::MdtestEasyDelete | Self::MdtestHardDelete => "unlink",
        }
    }
}
