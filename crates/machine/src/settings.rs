//! Lists the kernel settings that every run stores, with their types.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use samples::OsKernel;

use crate::files::text;

/// A file of one value: a path below `/proc/sys`, or an absolute path. It is kept as text in [`OsKernel::settings`].
pub struct Setting<T> {
    /// The file, and the key in [`OsKernel::settings`].
    pub name: &'static str,
    value: PhantomData<T>,
}

impl<T: FromStr> Setting<T> {
    /// Its value in `kernel`; `None` if the file was missing or its content has another type.
    pub fn of(&self, kernel: &OsKernel) -> Option<T> {
        kernel.settings.get(self.name)?.parse().ok()
    }
}

macro_rules! settings {
    ($($id:ident: $type:ty = $name:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub const $id: Setting<$type> = Setting { name: $name, value: PhantomData };
        )*

        const ALL: &[&str] = &[$($name),*];
    };
}

// A fact is one line here. Code reads it with `NAME.of(&kernel)`; `compare` warns if it changes during a run.
settings! {
    PERF_EVENT_PARANOID: i64 = "kernel/perf_event_paranoid";
    SCHED_RT_RUNTIME_US: i64 = "kernel/sched_rt_runtime_us";
    NUMA_BALANCING: u64 = "kernel/numa_balancing";
    RANDOMIZE_VA_SPACE: u64 = "kernel/randomize_va_space";
    SWAPPINESS: u64 = "vm/swappiness";
    DIRTY_RATIO: u64 = "vm/dirty_ratio";
    DIRTY_BACKGROUND_RATIO: u64 = "vm/dirty_background_ratio";
    DIRTY_BYTES: u64 = "vm/dirty_bytes";
    DIRTY_EXPIRE_CENTISECS: u64 = "vm/dirty_expire_centisecs";
    OVERCOMMIT_MEMORY: u64 = "vm/overcommit_memory";
    ZONE_RECLAIM_MODE: u64 = "vm/zone_reclaim_mode";
}

fn path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name)
}

/// The settings that this kernel has, by name.
pub(crate) fn read() -> BTreeMap<String, String> {
    ALL.iter().filter_map(|name| Some(((*name).to_owned(), text(path(name))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::KernelFiles;

    #[test]
    fn a_setting_is_read_from_its_path() {
        assert_eq!(path("vm/swappiness"), Path::new("/proc/sys/vm/swappiness"));
        assert_eq!(path("/sys/module/zswap/x"), Path::new("/sys/module/zswap/x"));
        let files: Vec<(String, &str)> =
            ALL.iter().map(|name| (path(name).display().to_string(), "7")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let _other = KernelFiles::new(&files);
        let settings = read();
        assert!(settings.values().all(|value| value == "7"));
        assert_eq!(settings.len(), ALL.len());
    }

    #[test]
    fn a_setting_has_the_type_of_its_line() {
        let mut kernel = OsKernel::default();
        assert_eq!(PERF_EVENT_PARANOID.of(&kernel), None);
        kernel.settings.insert("kernel/perf_event_paranoid".into(), "-1".into());
        kernel.settings.insert("kernel/numa_balancing".into(), "2".into());
        assert_eq!(PERF_EVENT_PARANOID.of(&kernel), Some(-1));
        assert_eq!(NUMA_BALANCING.of(&kernel), Some(2));
    }
}
