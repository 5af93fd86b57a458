//! Tests the schedule on generated low data: the result doesn't depend on the mode or the timing.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;
use rocksalt_core::touches::{Thing, Touches};
use rocksalt_core::{Map, Value};

use super::*;
use crate::low::{Chunk, LowStep, Need};

/// A generated state.
#[derive(Clone, Debug)]
struct Made {
    needs: Vec<(u8, u8)>,
    prereq: Option<u8>,
    touches: Vec<(u8, bool)>,
    unknown: bool,
    joins: bool,
    failhard: bool,
    parallel: bool,
    listens: Option<u8>,
    seed: u64,
}

#[test]
fn salts_own_order_has_two_names() {
    assert_eq!(OrderMode::from_name("ordered"), Some(OrderMode::Ansible));
    for mode in OrderMode::ALL {
        assert_eq!(OrderMode::from_name(mode.name()), Some(mode));
    }
    assert_eq!(OrderMode::from_name("sideways"), None);
}

fn made() -> impl Strategy<Value = Made> {
    (
        prop::collection::vec((any::<u8>(), any::<u8>()), 0..3),
        prop::option::weighted(0.15, any::<u8>()),
        prop::collection::vec((0u8..8, any::<bool>()), 0..3),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.05),
        prop::bool::weighted(0.2),
        prop::option::weighted(0.2, any::<u8>()),
        any::<u64>(),
    )
        .prop_map(|(needs, prereq, touches, unknown, joins, failhard, parallel, listens, seed)| Made {
            needs,
            prereq,
            touches,
            unknown,
            joins,
            failhard,
            parallel,
            listens,
            seed,
        })
}

const PATHS: [&str; 8] = ["/a", "/a/b", "/a/b/c", "/a/x", "/d", "/d/e", "/f", "/ab"];

/// Creates low data as the compiler would, and what its states touch.
fn low_of(made: &[Made], parallel: bool) -> (Low, Vec<ChunkInfo>) {
    // The target of each prereq is a later state, so that there is no cycle.
    let targets: Vec<Option<usize>> = (0..made.len())
        .map(|index| {
            let later = made.len() - index - 1;
            made[index].prereq.filter(|_| later > 0).map(|number| index + 1 + usize::from(number) % later)
        })
        .collect();
    let mut prereqs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, target) in targets.iter().enumerate() {
        target.map(|target| prereqs.entry(target).or_default().push(index));
    }
    let mut low = Low::default();
    let mut infos = Vec::new();
    let mut real: Vec<usize> = Vec::new();
    let mut dry: BTreeMap<usize, usize> = BTreeMap::new();
    let own_needs = |chunk: usize, real: &[usize]| -> Vec<Need> {
        let limit = prereqs.get(&chunk).map_or(chunk, |by| by[0]);
        let needs = made[chunk].needs.iter().filter(|_| limit > 0);
        let mut needs: Vec<Need> = needs
            .map(|(on, kind)| Need {
                // All kinds except prereq, which is generated separately.
                requisite: Requisite::ALL
                    .into_iter()
                    .filter(|r| *r != Requisite::Prereq)
                    .nth(usize::from(*kind) % 9)
                    .expect("there are nine"),
                step: real[usize::from(*on) % limit],
            })
            .collect();
        let mut seen = BTreeSet::new();
        needs.retain(|need| seen.insert((need.requisite, need.step)));
        needs
    };
    for (index, one) in made.iter().enumerate() {
        let mut needs = own_needs(index, &real);
        if let Some(target) = targets[index] {
            let step = *dry.entry(target).or_insert_with(|| {
                low.steps.push(LowStep { chunk: target, dry_run: true, needs: own_needs(target, &real) });
                low.steps.len() - 1
            });
            needs.push(Need { requisite: Requisite::Prereq, step });
        }
        for other in prereqs.get(&index).into_iter().flatten() {
            needs.push(Need { requisite: Requisite::Require, step: real[*other] });
        }
        real.push(low.steps.len());
        low.steps.push(LowStep { chunk: index, dry_run: false, needs });
        low.chunks.push(chunk_of(index, one, made.len(), parallel));
        infos.push(work_of(one));
    }
    (low, infos)
}

fn chunk_of(index: usize, made: &Made, count: usize, parallel: bool) -> Chunk {
    let mut arguments = Map::new();
    if made.failhard {
        arguments.insert("failhard", true);
    }
    if parallel && made.parallel {
        arguments.insert("parallel", true);
    }
    if let Some(number) = made.listens {
        let to = Map::from_iter([(Value::from("test"), Value::from(format!("s{}", usize::from(number) % count)))]);
        arguments.insert("listen", vec![Value::Map(to)]);
    }
    Chunk {
        state: "test".into(),
        fun: "nop".into(),
        name: format!("s{index}"),
        name_value: None,
        id: format!("s{index}"),
        sls: "made".into(),
        saltenv: "base".into(),
        included_from: Vec::new().into(),
        order: Value::Int(10_000 + index as i64),
        arguments,
        prerequired: false,
        prerequiring: false,
        spot: Default::default(),
        spots: Vec::new(),
    }
}

fn work_of(made: &Made) -> ChunkInfo {
    if made.joins {
        return ChunkInfo { touches: Touches::nothing().writes(Thing::Packages), join: Some("pkg".into()) };
    }
    if made.unknown {
        return ChunkInfo { touches: Touches::everything(), join: None };
    }
    let add = |touches: Touches, (path, write): &(u8, bool)| {
        let thing = Thing::Path(PATHS[usize::from(*path)].into());
        if *write { touches.writes(thing) } else { touches.reads(thing) }
    };
    ChunkInfo { touches: made.touches.iter().fold(Touches::nothing(), add), join: None }
}

/// A machine in which every state hashes what it reads and writes the result.
type Machine = BTreeMap<&'static str, u64>;

/// Whether a path is touched, or is below a touched one.
fn covers(touches: &Touches, things: &[Thing], path: &str) -> bool {
    let below =
        |thing: &Thing| matches!(thing, Thing::Path(above) if path == above || path.starts_with(&format!("{above}/")));
    touches.is_everything() || things.iter().any(below)
}

/// A state also reads what it writes.
fn sees(machine: &Machine, touches: &Touches) -> u64 {
    let mut hasher = DefaultHasher::new();
    for seen in machine
        .iter()
        .filter(|(path, _)| covers(touches, &touches.reads, path) || covers(touches, &touches.writes, path))
    {
        seen.hash(&mut hasher);
    }
    hasher.finish()
}

fn writes(machine: &mut Machine, touches: &Touches, mark: u64) {
    for (_, old) in machine.iter_mut().filter(|(path, _)| covers(touches, &touches.writes, path)) {
        *old = old.wrapping_mul(31).wrapping_add(mark);
    }
}

/// The result of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Came {
    /// For each chunk and kind: its outcome, and the comment if it did not run.
    ends: BTreeMap<String, String>,
    machine: Machine,
    errors: Vec<ListenError>,
}

/// Runs a schedule. `timing` decides which step finishes when. With `sees_machine`, results depend on the machine.
fn run(made: &[Made], options: ScheduleOptions, parallel: bool, sees_machine: bool, mut timing: u64) -> Came {
    let (low, infos) = low_of(made, parallel);
    let mut schedule = Schedule::new(&low, &infos, options);
    let mut came = Came { machine: PATHS.iter().map(|path| (*path, 1)).collect(), ..Came::default() };
    let mut running: Vec<(StepGroup, u64)> = Vec::new();
    for _ in 0..100_000 {
        match schedule.next() {
            Next::Done => {
                assert!(running.is_empty(), "done while something runs");
                came.errors = schedule.listen_errors().to_vec();
                return came;
            }
            Next::Skip(SkippedStep { item, why }) => {
                let item = *schedule.item(item).expect("a known item");
                came.ends.insert(format!("s{} {:?}", item.chunk, item.kind), format!("{why:?}"));
            }
            Next::Run(run) => {
                check(&schedule, &infos, &running, &run, options);
                let touches = &infos[schedule.item(run.items[0]).expect("a known item").chunk].touches;
                let seen = if sees_machine { sees(&came.machine, touches) } else { 0 };
                running.push((run, seen));
            }
            Next::Wait => {
                assert!(!running.is_empty(), "waits for nothing");
                timing = timing.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (run, mut seen) = running.remove((timing >> 33) as usize % running.len());
                for item in run.items {
                    let ScheduleItem { chunk, kind, .. } = *schedule.item(item).expect("a known item");
                    let touches = &infos[chunk].touches;
                    let mut hasher = DefaultHasher::new();
                    (made[chunk].seed, seen, kind == ItemKind::Listener, &run.watch).hash(&mut hasher);
                    let random = hasher.finish();
                    let changed = random.is_multiple_of(3);
                    let dry = kind == ItemKind::DryRun || options.test;
                    let outcome = StepOutcome {
                        result: if random % 5 == 1 {
                            Some(false)
                        } else if dry && changed {
                            None
                        } else {
                            Some(true)
                        },
                        changed,
                        ran: true,
                        skip_requisites: random % 50 == 7,
                    };
                    if changed && !dry {
                        writes(&mut came.machine, touches, random);
                        if sees_machine {
                            // The next one of a merged group sees what this one did.
                            seen = sees(&came.machine, touches);
                        }
                    }
                    came.ends.insert(format!("s{chunk} {kind:?}"), format!("{outcome:?}"));
                    schedule.finish(item, outcome);
                }
            }
        }
    }
    panic!("the schedule does not end");
}

impl Hash for WatchAction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        format!("{self:?}").hash(state);
    }
}

/// Checks the invariants whenever something starts.
fn check(
    schedule: &Schedule<'_>,
    infos: &[ChunkInfo],
    running: &[(StepGroup, u64)],
    run: &StepGroup,
    options: ScheduleOptions,
) {
    let touches = |item: &usize| &infos[schedule.item(*item).expect("a known item").chunk].touches;
    let others: Vec<usize> = running.iter().flat_map(|(run, _)| run.items.clone()).collect();
    match options.mode {
        OrderMode::Ansible => assert!(!run.exclusive || running.iter().all(|(other, _)| !other.exclusive)),
        OrderMode::Justdoit => {
            assert!(others.len() < options.width);
            for other in &others {
                let apart = run.items.iter().all(|item| !touches(item).disturbs(touches(other)));
                assert!(apart, "{:?} and {other} disturb each other", run.items);
            }
        }
        OrderMode::Genius => {
            let parallel = |item: &usize| schedule.item(*item).expect("a known item").parallel;
            for other in others.iter().filter(|item| !parallel(item)) {
                let apart = run.items.iter().all(|item| !touches(item).conflicts(touches(other)) || parallel(item));
                assert!(apart, "{:?} runs beside {other}", run.items);
            }
        }
    }
    for item in &run.items {
        for wait in schedule.why(*item) {
            assert!(schedule.is_over(wait.on) || run.items.contains(&wait.on), "{item} did not wait: {wait:?}");
        }
    }
}

fn options(mode: OrderMode, width: usize, test: bool, failhard: bool) -> ScheduleOptions {
    ScheduleOptions { mode, width, test, failhard }
}

const CASES: u32 = if cfg!(debug_assertions) { 1000 } else { 20_000 };

#[test]
fn a_mode_has_a_name_and_the_first_has_two() {
    for mode in OrderMode::ALL {
        assert_eq!(OrderMode::from_name(mode.name()), Some(mode));
    }
    assert_eq!(OrderMode::from_name("ordered"), Some(OrderMode::Ansible));
    assert_eq!(OrderMode::from_name("Ordered"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn genius_does_what_ansible_does(
        made in prop::collection::vec(made(), 1..14), width in 1usize..6, timing: u64, test: bool, failhard in prop::bool::weighted(0.1),
    ) {
        let ansible = run(&made, options(OrderMode::Ansible, width, test, failhard), false, true, timing);
        let genius = run(&made, options(OrderMode::Genius, width, test, failhard), false, true, timing);
        prop_assert_eq!(ansible, genius);
    }

    #[test]
    fn what_hangs_on_requisites_alone_is_the_same_in_all_modes(
        made in prop::collection::vec(made(), 1..14), width in 1usize..6, timing: u64, test: bool, failhard in prop::bool::weighted(0.1),
    ) {
        let ansible = run(&made, options(OrderMode::Ansible, width, test, failhard), true, false, timing);
        for mode in [OrderMode::Justdoit, OrderMode::Genius] {
            let other = run(&made, options(mode, width, test, failhard), true, false, timing);
            prop_assert_eq!(&ansible.ends, &other.ends);
            prop_assert_eq!(&ansible.errors, &other.errors);
        }
    }
}

fn plain() -> Made {
    Made {
        needs: Vec::new(),
        prereq: None,
        touches: Vec::new(),
        unknown: false,
        joins: false,
        failhard: false,
        parallel: false,
        listens: None,
        seed: 0,
    }
}

#[test]
fn forty_that_can_be_joined_are_one() {
    let mut made = vec![Made { joins: true, ..plain() }; 40];
    made.push(Made { touches: vec![(0, true)], ..plain() });
    let (low, infos) = low_of(&made, false);
    let mut schedule = Schedule::new(&low, &infos, options(OrderMode::Genius, 8, false, false));
    let Next::Run(run) = schedule.next() else { panic!("nothing to run") };
    assert_eq!(run.items, (0..40).collect::<Vec<_>>());
    assert_eq!(schedule.next(), Next::Wait, "what may need a package waits for all of them");
    for item in run.items {
        schedule.finish(item, StepOutcome { result: Some(true), changed: true, ran: true, skip_requisites: false });
    }
    assert!(matches!(schedule.next(), Next::Run(run) if run.items == [40]));
}

#[test]
fn one_that_requires_another_is_not_joined_with_it() {
    let first = Made { joins: true, ..plain() };
    let second = Made { needs: vec![(0, 0)], ..first.clone() };
    let (low, infos) = low_of(&[first, second], false);
    let mut schedule = Schedule::new(&low, &infos, options(OrderMode::Genius, 8, false, false));
    assert!(matches!(schedule.next(), Next::Run(run) if run.items == [0]));
}

#[test]
fn why_names_what_they_are_at_odds_about() {
    let directory = Made { touches: vec![(0, true)], ..plain() };
    let file = Made { touches: vec![(1, true)], needs: vec![(0, 0)], ..plain() };
    let other = Made { touches: vec![(4, true)], ..plain() };
    let (low, infos) = low_of(&[directory, file.clone(), other, Made { needs: Vec::new(), ..file }], false);
    let schedule = Schedule::new(&low, &infos, options(OrderMode::Genius, 8, false, false));
    let why = |item: usize| -> Vec<String> {
        schedule.why(item).iter().map(|wait| format!("{}: {}", wait.on, wait.why)).collect()
    };
    assert_eq!(why(1), ["0: require"]);
    assert!(why(2).is_empty());
    assert_eq!(why(3), ["0: both have to do with /a/b", "1: both have to do with /a/b"]);
}

#[test]
fn ten_thousand_steps_are_laid_out_quickly() {
    let mut made = vec![plain(); 10_000];
    for (index, one) in made.iter_mut().enumerate() {
        one.touches = vec![(4, index % 3 == 0), ((index % 4) as u8, true)];
        one.failhard = true;
    }
    for mode in OrderMode::ALL {
        let (low, infos) = low_of(&made, false);
        let mut schedule = Schedule::new(&low, &infos, options(mode, 16, false, true));
        let mut done = 0;
        while let Next::Run(run) = schedule.next() {
            for item in run.items {
                schedule.finish(
                    item,
                    StepOutcome { result: Some(true), changed: false, ran: true, skip_requisites: false },
                );
                done += 1;
            }
        }
        assert_eq!(done, 10_000, "{}", mode.name());
    }
}

/// Runs with the given outcomes by chunk (dry runs: `would`), and returns the events in order.
fn story(made: &[Made], options: ScheduleOptions, ends: &[Option<bool>], would: Option<bool>) -> Vec<String> {
    let (low, infos) = low_of(made, true);
    let mut schedule = Schedule::new(&low, &infos, options);
    let (mut story, mut running) = (Vec::new(), Vec::new());
    loop {
        let next = schedule.next();
        let item = |item: usize| *schedule.item(item).expect("a known item");
        match next {
            Next::Done => return story,
            Next::Skip(SkippedStep { item: number, why }) => {
                story.push(format!("{} {}", item(number).chunk, why.comment()))
            }
            Next::Run(run) => running.push(run.items[0]),
            Next::Wait => {
                let number = running.remove(0);
                let ScheduleItem { chunk, kind, .. } = item(number);
                let result = if kind == ItemKind::DryRun { would } else { ends[chunk] };
                story.push(format!("{chunk} {kind:?} {result:?}"));
                let changed = kind == ItemKind::Real || result.is_none();
                schedule.finish(number, StepOutcome { result, changed, ran: true, skip_requisites: false });
            }
        }
    }
}

#[test]
fn failhard_leaves_out_the_rest_but_not_the_listeners() {
    let made = [Made { listens: Some(1), ..plain() }, Made { failhard: true, ..plain() }, plain()];
    let ends = [Some(true), Some(false), Some(true)];
    for mode in OrderMode::ALL {
        let told = story(&made, options(mode, 4, false, false), &ends, None);
        assert_eq!(told, ["0 Real Some(true)", "1 Real Some(false)", "0 Listener Some(true)"], "{mode:?}");
        let told = story(&made, options(mode, 4, true, false), &ends, None);
        assert_eq!(told.len(), 4, "a dry run goes on to its end");
    }
    let told = story(&[plain(), plain()], options(OrderMode::Justdoit, 4, false, true), &[Some(false); 2], None);
    assert_eq!(told, ["0 Real Some(false)"], "failhard for all");
}

#[test]
fn a_prereq_goes_by_the_dry_run() {
    let made = [Made { prereq: Some(0), ..plain() }, plain()];
    for mode in OrderMode::ALL {
        let told = |would, first| story(&made, options(mode, 4, false, false), &[first, Some(true)], would);
        assert_eq!(
            told(None, Some(true)),
            ["1 DryRun None", "0 Real Some(true)", "1 Real Some(true)"],
            "it would change"
        );
        assert_eq!(
            told(Some(true), Some(true)),
            ["1 DryRun Some(true)", "0 No changes detected", "1 Real Some(true)"],
            "it would not"
        );
        assert_eq!(told(None, Some(false)), ["1 DryRun None", "0 Real Some(false)", "1 "], "its dry run stands");
        assert_eq!(
            told(Some(false), Some(true)),
            ["1 DryRun Some(false)", "0 One or more requisite failed: made.s1", "1 "],
            "it would fail"
        );
    }
}
