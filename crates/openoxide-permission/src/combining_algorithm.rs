//! The combining algorithms: how several matches become one effect.

use openoxide_protocol::Effect;

/// The rule by which the matches of one layer become one effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CombiningAlgorithm {
    /// Deny takes precedence over ask, and ask over allow. The order of the rules does not matter.
    #[default]
    Strictest,
    /// Deny takes precedence over allow, and allow over ask. The order of the rules does not
    /// matter.
    DenyAllowAsk,
    /// The last matching rule decides, as in OpenCode.
    LastMatch,
}

/// The number of bits of a rank that contain the order.
const ORDER_BITS: u32 = 24;
const ORDERS: u32 = (1 << ORDER_BITS) - 1;

impl CombiningAlgorithm {
    /// All algorithms.
    pub const ALL: [Self; 3] = [Self::Strictest, Self::DenyAllowAsk, Self::LastMatch];

    /// Returns the name that policies use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strictest => "strictest",
            Self::DenyAllowAsk => "deny-allow-ask",
            Self::LastMatch => "last-match",
        }
    }

    /// Parses the name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|combining| combining.as_str() == word)
    }

    pub(crate) fn from_code(code: u32) -> Self {
        Self::ALL.into_iter().find(|combining| *combining as u32 == code).unwrap_or_default()
    }

    /// Returns the rank of a rule, which is never 0. Among the rules that match, the one with the
    /// highest rank decides. Among rules with the same effect, a literal rule comes first, and then
    /// the earliest one, so the result is deterministic.
    pub(crate) const fn rank(self, effect: Effect, human: bool, exact: bool, order: u32) -> u32 {
        let earlier_first = (exact as u32) << ORDER_BITS | (ORDERS - order);
        let class = match (self, effect) {
            (Self::LastMatch, _) => return order + 1,
            (_, Effect::Deny) => 4,
            (_, Effect::Ask) if human => 3,
            (Self::Strictest, Effect::Ask) | (Self::DenyAllowAsk, Effect::Allow) => 2,
            (Self::Strictest, Effect::Allow) | (Self::DenyAllowAsk, Effect::Ask) => 1,
        };
        class << (ORDER_BITS + 1) | earlier_first
    }

    /// Returns the order that a rank contains.
    pub(crate) const fn order_from_rank(self, rank: u32) -> u32 {
        match self {
            Self::LastMatch => rank - 1,
            Self::Strictest | Self::DenyAllowAsk => ORDERS - (rank & ORDERS),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn effect() -> impl Strategy<Value = Effect> {
        prop_oneof![Just(Effect::Allow), Just(Effect::Ask), Just(Effect::Deny)]
    }

    /// Returns the effect of the rule that decides if all of these match.
    fn decides(combining: CombiningAlgorithm, effects: &[Effect]) -> Option<Effect> {
        let ranked = effects
            .iter()
            .zip(0..)
            .map(|(effect, order)| combining.rank(*effect, false, false, order));
        let order = combining.order_from_rank(ranked.max()?);
        effects.get(order as usize).copied()
    }

    #[test]
    fn each_algorithm_combines_effects_as_its_name_indicates() {
        use Effect::{Allow, Ask, Deny};
        let rows = [
            (CombiningAlgorithm::Strictest, vec![], None),
            (CombiningAlgorithm::Strictest, vec![Allow, Ask], Some(Ask)),
            (CombiningAlgorithm::Strictest, vec![Deny, Allow], Some(Deny)),
            (CombiningAlgorithm::DenyAllowAsk, vec![Ask, Allow], Some(Allow)),
            (CombiningAlgorithm::DenyAllowAsk, vec![Ask, Allow, Deny], Some(Deny)),
            (CombiningAlgorithm::LastMatch, vec![Deny, Ask, Allow], Some(Allow)),
            (CombiningAlgorithm::LastMatch, vec![Allow, Deny], Some(Deny)),
        ];
        for (combining, effects, expected) in rows {
            assert_eq!(decides(combining, &effects), expected, "{combining:?} {effects:?}");
        }
    }

    proptest! {
        /// Guards I02.
        #[test]
        fn one_more_rule_never_relaxes(effects in prop::collection::vec(effect(), 1..8), extra in effect()) {
            let before = decides(CombiningAlgorithm::Strictest, &effects);
            let after = decides(CombiningAlgorithm::Strictest, &[effects, vec![extra]].concat());
            prop_assert!(before <= after);
        }

        #[test]
        fn the_order_comes_back(effect in effect(), order in 0..ORDERS) {
            for combining in CombiningAlgorithm::ALL {
                for exact in [false, true] {
                    let rank = combining.rank(effect, false, exact, order);
                    prop_assert!(rank > 0);
                    prop_assert_eq!(combining.order_from_rank(rank), order);
                }
            }
        }
    }

    #[test]
    fn each_algorithm_is_known_by_its_word() {
        let words = CombiningAlgorithm::ALL.map(CombiningAlgorithm::as_str);
        assert_eq!(words, ["strictest", "deny-allow-ask", "last-match"]);
        for combining in CombiningAlgorithm::ALL {
            assert_eq!(CombiningAlgorithm::parse(combining.as_str()), Some(combining));
            assert_eq!(CombiningAlgorithm::from_code(combining as u32), combining);
        }
        assert_eq!(CombiningAlgorithm::parse("first-match"), None);
        assert_eq!(CombiningAlgorithm::from_code(7), CombiningAlgorithm::Strictest);
    }

    #[test]
    fn among_rules_of_one_class_the_exact_one_and_then_the_earliest_decides() {
        use Effect::{Allow, Ask, Deny};
        // Each row: two rules, of which the first takes precedence. The last number is the order.
        let rows = [
            ((Deny, false, false, 9), (Ask, true, true, 0)),
            ((Ask, true, false, 9), (Ask, false, true, 0)),
            ((Ask, false, true, 9), (Ask, false, false, 0)),
            ((Ask, false, false, 0), (Ask, false, false, 1)),
            ((Allow, false, true, ORDERS), (Allow, false, false, 0)),
            ((Allow, false, true, 0), (Allow, false, true, 1)),
        ];
        for ((effect, human, exact, order), (other, person, same, later)) in rows {
            for combining in [CombiningAlgorithm::Strictest, CombiningAlgorithm::DenyAllowAsk] {
                let wins = combining.rank(effect, human, exact, order);
                let loses = combining.rank(other, person, same, later);
                assert!(wins > loses, "{combining:?} {effect:?} {other:?}");
            }
        }
    }
}
