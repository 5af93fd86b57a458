//! [`Flags`]: options of a pattern, such as ignoring case.

/// Python's `re` flags, those that affect matching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
    pub verbose: bool,
}

impl Flags {
    pub const IGNORE_CASE: Flags = Flags { ignore_case: true, ..Flags::NONE };
    pub const MULTI_LINE: Flags = Flags { multi_line: true, ..Flags::NONE };
    pub const NONE: Flags = Flags { ignore_case: false, multi_line: false, dot_all: false, verbose: false };

    /// Converts Python's number.
    pub fn from_bits(bits: i64) -> Flags {
        let has = |bit: i64| bits & bit != 0;
        Flags { ignore_case: has(2), multi_line: has(8), dot_all: has(16), verbose: has(64) }
    }

    /// Adds a flag by its Python name; returns false if the name is unknown.
    #[must_use]
    pub fn add(&mut self, name: &str) -> bool {
        match name.to_ascii_uppercase().as_str() {
            "I" | "IGNORECASE" => self.ignore_case = true,
            "M" | "MULTILINE" => self.multi_line = true,
            "S" | "DOTALL" => self.dot_all = true,
            "X" | "VERBOSE" => self.verbose = true,
            // Text is always Unicode here, without a locale.
            "U" | "UNICODE" | "L" | "LOCALE" | "A" | "ASCII" | "T" | "TEMPLATE" => {}
            _ => return false,
        }
        true
    }

    /// The letters for the engine's `(?…)`.
    pub(super) fn letters(self) -> String {
        let letters = [(self.ignore_case, 'i'), (self.multi_line, 'm'), (self.dot_all, 's'), (self.verbose, 'x')];
        letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_names_and_numbers() {
        let mut flags = Flags::NONE;
        assert!(flags.add("IGNORECASE") && flags.add("m"));
        assert_eq!(flags, Flags::from_bits(10));
        assert!(!flags.add("BOGUS"));
        assert_eq!(flags.letters(), "im");
    }
}
