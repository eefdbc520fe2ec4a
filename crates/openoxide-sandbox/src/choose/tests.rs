use openoxide_protocol::{AbsPath, Network, Temp};
use proptest::prelude::*;

use super::*;
use crate::{Clause, Held, Lack, Landlock, Version};

/// A machine on which everything works.
fn whole() -> Support {
    Support {
        is_root: false,
        namespaces: Ok(()),
        fresh_proc: Ok(()),
        seccomp: Ok(()),
        notification: Ok(()),
        landlock: Ok(Landlock { abi: 7, errata: 7 }),
        overlay: Ok(()),
        bubblewrap: Ok(Version(0, 8, 0)),
        ..Support::none("Linux", "it belongs to macOS")
    }
}

fn lack<T>() -> Result<T, Lack> {
    Err(Lack::new("it is not there"))
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn workspace() -> Confined {
    Confined {
        writable: [path("/p")].into(),
        protected: [path("/p/.git")].into(),
        unreadable: [path("/h/.ssh")].into(),
        network: Network::Off,
        temp: Temp::Private,
    }
}

fn hosts() -> Confined {
    Confined { network: Network::Hosts(["x.io:443".parse().unwrap()].into()), ..workspace() }
}

fn held(plan: &Plan, wanted: Clause) -> Held {
    plan.clauses.iter().find(|(clause, _, _)| *clause == wanted).unwrap().1
}

/// (what is missing, the profile, the backend that enforces all of it, clauses that are held more strictly)
/// Guards I31.
#[test]
fn the_first_backend_that_holds_everything_is_chosen() {
    use Clause::{Network as Net, UnixSockets};
    let no_namespaces = Support { namespaces: lack(), fresh_proc: lack(), ..whole() };
    let no_proc = Support { fresh_proc: lack(), ..whole() };
    let occupied = Support { notification: lack(), ..whole() };
    let no_landlock = Support { landlock: lack(), ..whole() };
    type Row<'a> = (Support, Confined, Backend, &'a [Clause]);
    let rows: [Row<'_>; 7] = [
        (whole(), workspace(), Backend::Namespaces, &[]),
        (whole(), hosts(), Backend::Namespaces, &[]),
        (occupied.clone(), workspace(), Backend::Namespaces, &[UnixSockets]),
        (occupied, hosts(), Backend::Namespaces, &[Net, UnixSockets]),
        (no_landlock, workspace(), Backend::Namespaces, &[]),
        (no_namespaces, hosts(), Backend::Bubblewrap, &[Net, UnixSockets]),
        (no_proc, workspace(), Backend::Bubblewrap, &[UnixSockets]),
    ];
    for (support, profile, backend, stricter) in rows {
        let plan = choose(&profile, &support).unwrap();
        assert_eq!(plan.backend, backend);
        let found: Vec<_> =
            Clause::ALL.into_iter().filter(|it| held(&plan, *it) == Held::Stricter).collect();
        assert_eq!(found, stricter, "{support:?}");
    }
}

#[test]
fn where_nothing_holds_everything_the_refusal_says_what_each_lacks() {
    let no_proc = Support { fresh_proc: lack(), bubblewrap: lack(), ..whole() };
    let refusal = choose(&workspace(), &no_proc).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "nothing on this machine holds this profile\n  namespaces: processes: it is not there\n  \
         bubblewrap: writes-outside: it is not there\n  landlock: writes-outside: modes, times and attributes of files \
         outside can be changed"
    );
    let root = Support { is_root: true, namespaces: lack(), ..whole() };
    let refusal = choose(&workspace(), &root).unwrap_err();
    assert_eq!(refusal.plans[1].gap().unwrap().0, Clause::Kernel);
    let no_filter = Support { seccomp: lack(), ..whole() };
    let gaps: Vec<_> = choose(&workspace(), &no_filter)
        .unwrap_err()
        .plans
        .iter()
        .map(|plan| plan.gap().unwrap().0)
        .collect();
    assert_eq!(gaps, [Clause::UnixSockets, Clause::WritesOutside, Clause::WritesOutside]);
}

/// Landlock alone holds no profile, not even the narrowest.
/// Guards I31.
#[test]
fn landlock_alone_is_never_enough() {
    let alone = Support { namespaces: lack(), bubblewrap: lack(), ..whole() };
    for profile in
        [Confined::default(), workspace(), Confined { network: Network::On, ..Confined::default() }]
    {
        assert!(choose(&profile, &alone).is_err());
        let plan = Plan::of(Backend::Landlock, &profile, &whole());
        for clause in [Clause::WritesOutside, Clause::Processes, Clause::Ends] {
            assert_eq!(held(&plan, clause), Held::Unenforced);
        }
    }
}

#[test]
fn no_machine_of_ours_has_seatbelt_and_its_plan_says_so() {
    let plan = Plan::of(Backend::Seatbelt, &workspace(), &whole());
    assert!(plan.clauses.iter().all(|(_, held, why)| *held == Held::Unenforced && why.is_some()));
    let mac = Support { seatbelt: Ok(()), ..Support::none("macos", "this is not Linux") };
    assert_eq!(Plan::of(Backend::Seatbelt, &workspace(), &mac).gap().unwrap().0, Clause::Processes);
}

fn able<T: Clone + std::fmt::Debug + 'static>(value: T) -> impl Strategy<Value = Result<T, Lack>> {
    prop_oneof![Just(Ok(value)), Just(lack())]
}

proptest! {
    /// A machine that can do less never holds more: taking something away makes no clause better held.
    /// Guards I31.
    #[test]
    fn what_is_missing_never_makes_a_plan_better(
        missing in (able(()), able(()), able(()), able(()), able(Landlock { abi: 7, errata: 7 }), able(Version(0, 8, 0))),
        wants_hosts in any::<bool>(),
    ) {
        let (namespaces, fresh_proc, seccomp, notification, landlock, bubblewrap) = missing;
        let less = Support { namespaces, fresh_proc, seccomp, notification, landlock, bubblewrap, ..whole() };
        let profile = if wants_hosts { hosts() } else { workspace() };
        for backend in Backend::HERE {
            let (best, worse) = (Plan::of(*backend, &profile, &whole()), Plan::of(*backend, &profile, &less));
            prop_assert_eq!(best.clauses.len(), Clause::ALL.len());
            for (best, worse) in best.clauses.iter().zip(&worse.clauses) {
                prop_assert!(best.1 <= worse.1);
                prop_assert!(worse.1 == Held::Enforced || worse.2.is_some(), "{:?} without a reason", worse.0);
            }
        }
        if let Ok(plan) = choose(&profile, &less) {
            prop_assert!(plan.holds());
        }
    }
}
