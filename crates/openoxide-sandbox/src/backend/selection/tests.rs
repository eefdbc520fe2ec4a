use openoxide_protocol::{AbsPath, NetworkAccess, TempDirectories};
use proptest::prelude::*;

use super::*;
use crate::backend::{
    clause::{Enforcement, ProfileClause},
    host_features::{BubblewrapVersion, LandlockVersion, MissingFeature},
};

/// Returns the features of a machine that supports everything.
fn whole() -> HostFeatures {
    HostFeatures {
        is_root: false,
        namespaces: Ok(()),
        fresh_proc: Ok(()),
        seccomp: Ok(()),
        notification: Ok(()),
        landlock: Ok(LandlockVersion { abi: 7, errata: 7 }),
        overlay: Ok(()),
        bubblewrap: Ok(BubblewrapVersion(0, 8, 0)),
        ..HostFeatures::new_unsupported("Linux", "available only on macOS")
    }
}

fn lack<T>() -> Result<T, MissingFeature> {
    Err(MissingFeature::new("it is not there"))
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn workspace() -> SandboxRestrictions {
    SandboxRestrictions {
        writable: [path("/p")].into(),
        protected: [path("/p/.git")].into(),
        unreadable: [path("/h/.ssh")].into(),
        network: NetworkAccess::Off,
        temp: TempDirectories::Private,
    }
}

fn hosts() -> SandboxRestrictions {
    SandboxRestrictions {
        network: NetworkAccess::Hosts(["x.io:443".parse().unwrap()].into()),
        ..workspace()
    }
}

fn held(plan: &EnforcementPlan, wanted: ProfileClause) -> Enforcement {
    plan.clauses.iter().find(|(clause, _, _)| *clause == wanted).unwrap().1
}

/// (missing feature, profile, backend that enforces all of it, clauses that are enforced more
/// strictly)
///
/// Guards I31.
#[test]
fn the_first_backend_that_holds_everything_is_chosen() {
    use ProfileClause::{Network as Net, UnixSockets};
    let no_namespaces = HostFeatures { namespaces: lack(), fresh_proc: lack(), ..whole() };
    let no_proc = HostFeatures { fresh_proc: lack(), ..whole() };
    let occupied = HostFeatures { notification: lack(), ..whole() };
    let no_landlock = HostFeatures { landlock: lack(), ..whole() };
    type Row<'a> = (HostFeatures, SandboxRestrictions, SandboxBackend, &'a [ProfileClause]);
    let rows: [Row<'_>; 7] = [
        (whole(), workspace(), SandboxBackend::Namespaces, &[]),
        (whole(), hosts(), SandboxBackend::Namespaces, &[]),
        (occupied.clone(), workspace(), SandboxBackend::Namespaces, &[UnixSockets]),
        (occupied, hosts(), SandboxBackend::Namespaces, &[Net, UnixSockets]),
        (no_landlock, workspace(), SandboxBackend::Namespaces, &[]),
        (no_namespaces, hosts(), SandboxBackend::Bubblewrap, &[Net, UnixSockets]),
        (no_proc, workspace(), SandboxBackend::Bubblewrap, &[UnixSockets]),
    ];
    for (support, profile, backend, stricter) in rows {
        let plan = choose_backend(&profile, &support).unwrap();
        assert_eq!(plan.backend, backend);
        let found: Vec<_> = ProfileClause::ALL
            .into_iter()
            .filter(|it| held(&plan, *it) == Enforcement::Stricter)
            .collect();
        assert_eq!(found, stricter, "{support:?}");
    }
}

#[test]
fn the_refusal_lists_what_each_backend_lacks() {
    let no_proc = HostFeatures { fresh_proc: lack(), bubblewrap: lack(), ..whole() };
    let refusal = choose_backend(&workspace(), &no_proc).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no backend on this machine can fully enforce this profile\n  namespaces: processes: it is not there\n  \
         bubblewrap: writes-outside: it is not there\n  landlock: writes-outside: modes, times and attributes of files \
         outside can be changed"
    );
    let root = HostFeatures { is_root: true, namespaces: lack(), ..whole() };
    let refusal = choose_backend(&workspace(), &root).unwrap_err();
    assert_eq!(refusal.plans[1].first_unenforced().unwrap().0, ProfileClause::Kernel);
    let no_filter = HostFeatures { seccomp: lack(), ..whole() };
    let gaps: Vec<_> = choose_backend(&workspace(), &no_filter)
        .unwrap_err()
        .plans
        .iter()
        .map(|plan| plan.first_unenforced().unwrap().0)
        .collect();
    assert_eq!(
        gaps,
        [ProfileClause::UnixSockets, ProfileClause::WritesOutside, ProfileClause::WritesOutside]
    );
}

/// Landlock by itself enforces no profile completely, not even the most restrictive one.
/// Guards I31.
#[test]
fn landlock_alone_is_never_enough() {
    let alone = HostFeatures { namespaces: lack(), bubblewrap: lack(), ..whole() };
    for profile in [
        SandboxRestrictions::default(),
        workspace(),
        SandboxRestrictions { network: NetworkAccess::On, ..SandboxRestrictions::default() },
    ] {
        assert!(choose_backend(&profile, &alone).is_err());
        let plan = EnforcementPlan::for_profile(SandboxBackend::Landlock, &profile, &whole());
        for clause in [
            ProfileClause::WritesOutside,
            ProfileClause::Processes,
            ProfileClause::ProcessTermination,
        ] {
            assert_eq!(held(&plan, clause), Enforcement::Unenforced);
        }
    }
}

#[test]
fn no_seatbelt_plan_is_fully_enforced() {
    let plan = EnforcementPlan::for_profile(SandboxBackend::Seatbelt, &workspace(), &whole());
    assert!(
        plan.clauses.iter().all(|(_, held, why)| *held == Enforcement::Unenforced && why.is_some())
    );
    let mac = HostFeatures {
        seatbelt: Ok(()),
        ..HostFeatures::new_unsupported("macos", "this is not Linux")
    };
    assert_eq!(
        EnforcementPlan::for_profile(SandboxBackend::Seatbelt, &workspace(), &mac)
            .first_unenforced()
            .unwrap()
            .0,
        ProfileClause::Processes
    );
}

fn able<T: Clone + std::fmt::Debug + 'static>(
    value: T,
) -> impl Strategy<Value = Result<T, MissingFeature>> {
    prop_oneof![Just(Ok(value)), Just(lack())]
}

proptest! {
    /// Removing a feature of a machine never improves the enforcement of a clause.
    /// Guards I31.
    #[test]
    fn a_missing_feature_never_improves_a_plan(
        missing in (able(()), able(()), able(()), able(()), able(LandlockVersion { abi: 7, errata: 7 }), able(BubblewrapVersion(0, 8, 0))),
        wants_hosts in any::<bool>(),
    ) {
        let (namespaces, fresh_proc, seccomp, notification, landlock, bubblewrap) = missing;
        let less = HostFeatures { namespaces, fresh_proc, seccomp, notification, landlock, bubblewrap, ..whole() };
        let profile = if wants_hosts { hosts() } else { workspace() };
        for backend in SandboxBackend::HERE {
            let (best, worse) = (EnforcementPlan::for_profile(*backend, &profile, &whole()), EnforcementPlan::for_profile(*backend, &profile, &less));
            prop_assert_eq!(best.clauses.len(), ProfileClause::ALL.len());
            for (best, worse) in best.clauses.iter().zip(&worse.clauses) {
                prop_assert!(best.1 <= worse.1);
                prop_assert!(worse.1 == Enforcement::Enforced || worse.2.is_some(), "{:?} without a reason", worse.0);
            }
        }
        if let Ok(plan) = choose_backend(&profile, &less) {
            prop_assert!(plan.is_fully_enforced());
        }
    }
}
