//! The built-in functions: what can be called inside an expression.

macro_rules! functions {
    ($($id:ident $name:literal $form:literal ($least:literal $most:literal) $random:literal $text:literal;)*) => {
        /// A built-in function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Function {
            $(#[doc = $text] $id,)*
        }

        const ALL: &[Function] = &[$(Function::$id,)*];

        const SPECS: &[FunctionSpec] = &[$(
            FunctionSpec { name: $name, form: $form, least: $least, most: $most, random: $random, text: $text },
        )*];

        impl Function {
            /// The function with this name, in lower case.
            pub fn find(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Function::$id),)*
                    _ => None,
                }
            }
        }
    };
}

/// A built-in function: its form and documentation.
#[derive(Clone, Copy, Debug)]
pub struct FunctionSpec {
    /// As it is written.
    pub name: &'static str,
    /// A call with the names of its arguments.
    pub form: &'static str,
    /// Fewest arguments.
    pub least: usize,
    /// Most arguments.
    pub most: usize,
    /// Does it draw from the rank's random numbers?
    pub random: bool,
    /// What it gives, in Markdown.
    pub text: &'static str,
}

impl Function {
    /// All functions.
    pub fn all() -> impl Iterator<Item = Function> {
        ALL.iter().copied()
    }

    /// The function with this place in the table (`function as usize`).
    ///
    /// # Panics
    /// Where there is no such place.
    pub fn from_index(index: usize) -> Self {
        ALL[index]
    }

    /// Its form and documentation.
    pub fn spec(self) -> &'static FunctionSpec {
        &SPECS[self as usize]
    }
}

functions! {
    Mod "mod" "mod(a, b)" (2 2) false "The remainder of a / b with the sign of b: `mod(-1, 4)` is 3. `%` truncates toward zero instead.";
    Min "min" "min(a, b, …)" (1 200) false "The least of its arguments.";
    Max "max" "max(a, b, …)" (1 200) false "The greatest of its arguments.";
    Abs "abs" "abs(a)" (1 1) false "The magnitude.";
    Int "int" "int(a)" (1 1) false "Cut toward zero; a string counts as its leading number; a duration counts in nanoseconds.";
    Float "float" "float(a)" (1 1) false "As a float; a duration counts in seconds.";
    Len "len" "len(a)" (1 1) false "Bytes of a string, or items of a list.";
    Range "range" "range(a, b)" (2 2) false "The list of a, a+1, … b-1; at most a million items.";
    Uniform "uniform" "uniform(a, b)" (2 2) true "Evenly from a up to, not including, b. Integers give integers.";
    Zipf "zipf" "zipf(n, s)" (2 2) true "An integer from 0 to n-1; k has a weight of 1/(k+1)^s (rejection inversion, Hörmann and Derflinger 1996).";
    Normal "normal" "normal(m, s)" (2 2) true "Normal with mean m and standard deviation s (polar method, Marsaglia and Bray 1964).";
    Exp "exp" "exp(mean)" (1 1) true "Exponential with that mean: the gaps of a Poisson process.";
    Pareto "pareto" "pareto(a, m)" (2 2) true "Pareto with shape a and least value m: P(X > x) = (m/x)^a.";
    Gev "gev" "gev(location, scale, shape)" (3 3) true "Generalised extreme value; a shape above 0 is heavy (Jenkinson 1955).";
    Empirical "empirical" "empirical([…])" (1 1) true "One of the listed values, each equally likely.";
    Quantile "quantile" "quantile(q, \"label\")" (2 2) false "The q-quantile (0 to 1) of this rank's samples with that label or operation so far.";
    P50 "p50" "p50(\"label\")" (1 1) false "The median of this rank's samples with that label or operation so far.";
    P90 "p90" "p90(\"label\")" (1 1) false "Their 0.9 quantile.";
    P99 "p99" "p99(\"label\")" (1 1) false "Their 0.99 quantile.";
    P999 "p999" "p999(\"label\")" (1 1) false "Their 0.999 quantile.";
    Mean "mean" "mean(\"label\")" (1 1) false "Their mean.";
    Slowest "slowest" "slowest(\"label\")" (1 1) false "Their maximum.";
    Count "count" "count(\"label\")" (1 1) false "How many there are.";
}
