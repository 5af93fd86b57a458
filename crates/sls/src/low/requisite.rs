//! [`Requisite`]: the kinds of dependencies between states.

/// The kinds of requisites, from the lightest to the heaviest for the sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requisite {
    Onfail,
    OnfailAny,
    OnfailAll,
    Require,
    RequireAny,
    Onchanges,
    OnchangesAny,
    Watch,
    WatchAny,
    Prereq,
}

impl Requisite {
    /// All kinds in the order in which Salt evaluates a state's requisites.
    pub const ALL: [Requisite; 10] = [
        Requisite::Require,
        Requisite::RequireAny,
        Requisite::Watch,
        Requisite::WatchAny,
        Requisite::Prereq,
        Requisite::Onfail,
        Requisite::OnfailAny,
        Requisite::OnfailAll,
        Requisite::Onchanges,
        Requisite::OnchangesAny,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Requisite::Onfail => "onfail",
            Requisite::OnfailAny => "onfail_any",
            Requisite::OnfailAll => "onfail_all",
            Requisite::Require => "require",
            Requisite::RequireAny => "require_any",
            Requisite::Onchanges => "onchanges",
            Requisite::OnchangesAny => "onchanges_any",
            Requisite::Watch => "watch",
            Requisite::WatchAny => "watch_any",
            Requisite::Prereq => "prereq",
        }
    }

    pub fn from_name(name: &str) -> Option<Requisite> {
        Requisite::ALL.into_iter().find(|requisite| requisite.name() == name)
    }
}

/// The arguments that reference states by a list of `module: id or name`.
pub const KEYWORDS: [&str; 13] = [
    "onfail",
    "onfail_any",
    "onfail_all",
    "require",
    "require_any",
    "onchanges",
    "onchanges_any",
    "watch",
    "watch_any",
    "prereq",
    "prerequired",
    "listen",
    "onfail_stop",
];

pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}
