//! The macro behind the list of back ends.

/// Makes of a list of drivers: `BackendKind`, what a user can choose; `AnyDriver`, one of them at work; and
/// `each_driver!`, which does the same with whichever it is. The `$` in front is what the inner macro needs to have
/// variables of its own.
macro_rules! drivers {
    ($d:tt $($(#[$doc:meta])* $name:ident($driver:ty),)*) => {
        /// A back end as the user chose it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum BackendKind {
            $($(#[$doc])* $name(<$driver as Listed>::Choice),)*
        }

        impl BackendKind {
            /// Its name in one word: `posix`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => <$driver as Listed>::NAME,)*
                }
            }

            /// What it can do.
            pub fn capabilities(&self) -> Capabilities {
                match self {
                    $(Self::$name(_) => <$driver as Listed>::CAPABILITIES,)*
                }
            }

            /// The driver of a rank.
            ///
            /// # Errors
            /// In words.
            pub fn connect(&self, seat: Seat) -> Result<AnyDriver, String> {
                match self {
                    $(Self::$name(choice) => {
                        <$driver as Listed>::connect(choice, seat).map(AnyDriver::$name)
                    })*
                }
            }
        }

        impl std::str::FromStr for BackendKind {
            type Err = String;

            /// What is written behind `--backend`.
            fn from_str(words: &str) -> Result<Self, String> {
                $(if let Some(choice) = <$driver as Listed>::choose(words) {
                    return choice.map(Self::$name);
                })*
                let forms = [$(<$driver as Listed>::FORM),*];
                let (last, others) = forms.split_last().unwrap_or((&"none", &[]));
                Err(format!("there are {} and {last}", others.join(", ")))
            }
        }

        /// As it stands in the facts of a run.
        impl std::fmt::Display for BackendKind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$name(choice) => f.write_str(&<$driver as Listed>::describe(choice)),)*
                }
            }
        }

        /// One of the drivers.
        pub enum AnyDriver {
            $($(#[$doc])* $name($driver),)*
        }

        /// Does the same with whichever driver it is, compiled for each.
        macro_rules! each_driver {
            ($d any:expr, $d driver:ident => $d body:expr) => {
                match $d any {
                    $($crate::driver::AnyDriver::$name($d driver) => $d body,)*
                }
            };
        }
        pub(crate) use each_driver;

        impl AnyDriver {
            /// For the calls in which a call through a table is not seen.
            #[inline]
            pub fn as_dyn(&mut self) -> &mut dyn Driver {
                each_driver!(self, driver => driver)
            }

            /// A driver for a worker, on another thread.
            ///
            /// # Errors
            /// In words.
            pub fn for_worker(&self) -> Result<Self, String> {
                match self {
                    $(Self::$name(driver) => driver.for_worker().map(Self::$name),)*
                }
            }

            /// Opens a file for a worker made by [`AnyDriver::for_worker`]; the value is the handle there.
            pub fn share(
                &mut self,
                file: Handle,
                path: &std::ffi::CStr,
                worker: &mut Self,
            ) -> samples::Outcome {
                match (self, worker) {
                    $((Self::$name(own), Self::$name(other)) => own.share(file, path, other),)*
                    // A worker has a driver of the same kind.
                    _ => samples::Outcome::error(libc::EINVAL),
                }
            }
        }
    };
}
pub(crate) use drivers;
