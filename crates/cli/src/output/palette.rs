//! Salt's colours, as the escape codes it prints.

use super::Style;

pub struct Palette {
    pub cyan: &'static str,
    pub dark_gray: &'static str,
    pub green: &'static str,
    pub light_gray: &'static str,
    pub light_red: &'static str,
    pub light_yellow: &'static str,
    pub red: &'static str,
    pub white: &'static str,
    pub end: &'static str,
}

const COLOURS: Palette = Palette {
    cyan: "\x1b[0;36m",
    dark_gray: "\x1b[0;1;30m",
    green: "\x1b[0;32m",
    light_gray: "\x1b[0;37m",
    light_red: "\x1b[0;1;31m",
    light_yellow: "\x1b[0;1;33m",
    red: "\x1b[0;31m",
    white: "\x1b[0;1;37m",
    end: "\x1b[0;0m",
};

const NONE: Palette = Palette {
    cyan: "",
    dark_gray: "",
    green: "",
    light_gray: "",
    light_red: "",
    light_yellow: "",
    red: "",
    white: "",
    end: "",
};

impl Palette {
    pub fn of(style: &Style) -> &'static Palette {
        if style.colours { &COLOURS } else { &NONE }
    }
}
