//! Lists the built-in functions, which can be called inside expressions.

macro_rules! functions {
    ($($id:ident $name:literal $form:literal ($least:literal $most:literal) $kind:ident $text:literal example $example:literal;)*) => {
        /// A built-in function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Function {
            $(#[doc = $text] $id,)*
        }

        const ALL: &[Function] = &[$(Function::$id,)*];

        const SPECS: &[FunctionSpec] = &[$(
            FunctionSpec { name: $name, form: $form, least: $least, most: $most, kind: FunctionKind::$kind, text: $text, example: $example },
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

/// Dependence of a function's value: on arguments, random numbers or samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Only its arguments.
    Pure,
    /// Also the rank's random numbers.
    Draws,
    /// Also the samples taken so far.
    Samples,
}

/// A built-in function: its form and documentation.
#[derive(Clone, Copy, Debug)]
pub struct FunctionSpec {
    /// Name in a program.
    pub name: &'static str,
    /// The form of a call, with the names of its arguments.
    pub form: &'static str,
    /// Fewest arguments.
    pub least: usize,
    /// Most arguments.
    pub most: usize,
    /// Dependence of its value.
    pub kind: FunctionKind,
    /// Its result, in Markdown.
    pub text: &'static str,
    /// A complete example program.
    pub example: &'static str,
}

impl Function {
    /// All functions that a program can name.
    pub fn all() -> impl Iterator<Item = Function> {
        ALL.iter().copied().filter(|function| *function != Function::Estimate)
    }

    /// The function with this index in the table (`function as usize`).
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn from_index(index: usize) -> Self {
        ALL[index]
    }

    /// Its form and documentation.
    pub fn spec(self) -> &'static FunctionSpec {
        &SPECS[self as usize]
    }
}

functions! {
    Mod "mod" "mod(a, b)" (2 2) Pure "The remainder of a / b with the sign of b: `mod(-1, 4)` is 3. `%` truncates toward zero instead." example "print(mod(-1, 4), -1 % 4);";
    Min "min" "min(a, b, …)" (1 200) Pure "The least of its arguments." example "print(min(3, 1, 2));";
    Max "max" "max(a, b, …)" (1 200) Pure "The greatest of its arguments." example "print(max(3, 1, 2));";
    Abs "abs" "abs(a)" (1 1) Pure "The magnitude." example "print(abs(-3));";
    Int "int" "int(a)" (1 1) Pure "Truncates toward zero; a string counts as its leading number, a duration in nanoseconds." example "print(int(\"4MiB\"), int(2.9), int(5us));";
    Float "float" "float(a)" (1 1) Pure "Converts to a float; a duration counts in seconds." example "print(float(1) / 2, float(5ms));";
    Len "len" "len(a)" (1 1) Pure "Bytes of a string, or items of a list." example "print(len(\"abc\"), len([1, 2]));";
    Digits "digits" "digits(a, width)" (2 2) Pure "The integer a as a string, with zeros in front where it has fewer characters than width (at most 64): `digits(7, 3)` is 007." example "$part = digits(7, 3); write(\"part-$part\", 4k); delete(\"part-$part\");";
    Range "range" "range(a, b)" (2 2) Pure "The list of a, a+1, … b-1; at most a million items." example "for $i in range(0, 3) print($i);";
    Split "split" "split(text, separator)" (1 2) Pure "The pieces of a string between separators (a comma unless given), without blanks around them; empty pieces are left out." example "for $dir in split(\"/tmp, /var/tmp\") print($dir);";
    Shuffled "shuffled" "shuffled(i, n, key)" (3 3) Pure "The i-th of the integers from 0 to n-1 in a random order that the integer `key` chooses: each comes once in n places, and the next n have another order. Nothing is kept in memory (a Feistel network, Black and Rogaway 2002)." example "$key = uniform(0, 1g); $sum = 0; for $i in 0..10 $sum = $sum + shuffled($i, 10, $key); assert $sum == 45;";
    Scattered "scattered" "scattered(i, n)" (2 2) Pure "The integer i scattered over 0 to n-1, as fio scatters the hot blocks of its distributions: neighbours are far apart, and the same i always has the same place. For n a power of two, each i below n has a place of its own (multiplicative hashing, Knuth 1973)." example "$hot = scattered(zipf(256, 1.2), 256); assert $hot >= 0 && $hot < 256;";
    Unused "unused" "unused(n, key)" (2 2) Draws "One of n blocks that `use` has not used yet: it is drawn, and where it is used, the next free one is taken. When all are used, none is. The integer `key` chooses a map, which a rank keeps: a bit a block (fio's random map)." example "$key = uniform(0, 1g); $k = unused(100, $key); assert use($k, 1, 100, $key) == 1;";
    Use "use" "use(k, count, n, key)" (4 4) Draws "Uses the blocks from k on in the map of n blocks, up to `count` of them, as far as they are free: the value says how many. So operations of several sizes use each block once." example "$key = uniform(0, 1g); $used = 0; while $used < 100 $used = $used + use(unused(100, $key), 3, 100, $key); assert $used == 100;";
    Uniform "uniform" "uniform(a, b)" (2 2) Draws "Uniform from a up to, but not including, b. Integers give integers." example "$x = uniform(0, 10); assert $x >= 0 && $x < 10;";
    Zipf "zipf" "zipf(n, s)" (2 2) Draws "An integer from 0 to n-1; k has a weight of 1/(k+1)^s (rejection inversion, Hörmann and Derflinger 1996)." example "$n = zipf(100, 1.1); assert $n >= 0 && $n < 100;";
    Normal "normal" "normal(m, s)" (2 2) Draws "Normal with mean m and standard deviation s (polar method, Marsaglia and Bray 1964)." example "print(normal(10.0, 2.0));";
    Exp "exp" "exp(mean)" (1 1) Draws "Exponential with that mean: the gaps of a Poisson process." example "think exp(10us);";
    Pareto "pareto" "pareto(a, m)" (2 2) Draws "Pareto with shape a and least value m: P(X > x) = (m/x)^a." example "think pareto(2.5, 1us);";
    Gev "gev" "gev(location, scale, shape)" (3 3) Draws "Generalised extreme value; a shape above 0 is heavy (Jenkinson 1955)." example "print(gev(10.0, 1.0, 0.1));";
    Empirical "empirical" "empirical([…])" (1 1) Draws "One of the listed values, each equally likely." example "write(\"a.dat\", empirical([4k, 64k])); delete(\"a.dat\");";
    Quantile "quantile" "quantile(q, \"label\"[, times])" (2 3) Samples "The q-quantile (0 to 1) of this rank's samples so far: of the `time` block with that label, with all that is in it, else of the operation with that name. Times: `\"response\"` (the default) counts from the intended start of an operation (`rate`, `at`), `\"service\"` from its actual start." example "repeat 10 getpid(); print(quantile(0.9, \"getpid\"));";
    P50 "p50" "p50(\"label\"[, times])" (1 2) Samples "The median of this rank's samples of that block or operation so far. Times: see `quantile`." example "repeat 10 getpid(); print(p50(\"getpid\"));";
    P90 "p90" "p90(\"label\"[, times])" (1 2) Samples "Their 0.9 quantile." example "repeat 10 getpid(); print(p90(\"getpid\"));";
    P99 "p99" "p99(\"label\"[, times])" (1 2) Samples "Their 0.99 quantile." example "repeat 10 getpid(); assert p99(\"getpid\") < 1s;";
    P999 "p999" "p999(\"label\"[, times])" (1 2) Samples "Their 0.999 quantile." example "repeat 10 getpid(); print(p999(\"getpid\"));";
    Mean "mean" "mean(\"label\"[, times])" (1 2) Samples "Their mean." example "repeat 10 getpid(); print(mean(\"getpid\"));";
    Slowest "slowest" "slowest(\"label\"[, times])" (1 2) Samples "Their maximum." example "repeat 10 getpid(); print(slowest(\"getpid\"));";
    Count "count" "count(\"label\")" (1 1) Samples "How many of them succeeded." example "repeat 10 getpid(); assert count(\"getpid\") > 0;";
    // What `assert p99 < 5ms` is compiled to: the quantity, what it is of, and a name.
    Estimate "estimate of" "" (2 3) Samples "A quantity of the run's answer; no program can spell it." example "";
}
