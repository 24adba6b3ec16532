//! A first screen that is printed in two parts: how it begins is known long before the rest.

use std::io;

use crate::output;
use crate::working::Working;

/// A first screen, of which the first lines may stand already.
#[derive(Default)]
pub struct Screen {
    begun: String,
    working: Option<Working>,
}

impl Screen {
    /// Prints how it begins, and says on a terminal that the rest is being worked at.
    pub fn begin(&mut self, first: &str) {
        // Where it cannot be written, the whole cannot either, and that says why.
        if output::print_screen(first).is_ok() {
            first.clone_into(&mut self.begun);
        }
        self.working = Some(Working::at("analysing the samples"));
    }

    /// Prints what is not printed yet: from the first line on that is another than was known.
    pub fn finish(&mut self, whole: &str) -> io::Result<()> {
        self.working = None;
        output::print_screen(left(&self.begun, whole))
    }
}

/// What follows the lines that both have in common.
fn left<'a>(begun: &str, whole: &'a str) -> &'a str {
    let (mut here, mut there) = (begun.split_inclusive('\n'), whole.split_inclusive('\n'));
    let alike = std::iter::from_fn(|| there.next().filter(|line| here.next() == Some(line)));
    &whole[alike.map(str::len).sum()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_printed_twice_and_none_is_left_out() {
        let whole = "title\nall well\n1 MiB/s\nnatural\n";
        assert_eq!(left("", whole), whole);
        assert_eq!(left("title\nall well\n", whole), "1 MiB/s\nnatural\n");
        assert_eq!(left(whole, whole), "");
        // The page could not be written: the line of the outcome became another one.
        let other = "title\nthe page could not be written\n1 MiB/s\nnatural\n";
        assert_eq!(left("title\nall well\n1 MiB/s\n", other), &other["title\n".len()..]);
    }
}
