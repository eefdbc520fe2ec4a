//! A source file with its mutants compiled in: each is a branch that is chosen while the program runs.
//!
//! `a == b` becomes `(if active(7) {a != b} else {a == b})`. Inside of `a` and `b` other mutants have their branches. A
//! function that returns a constant begins with `if active(8) { return 0; }`, and an arm that is deleted has the guard
//! `if !active(9)`.
//!
//! An expression is changed as the tree has it: where `b * c` in `a - b * c` becomes a sum, it is `a - (b + c)`, and not
//! `a - b + c` as it is when the text alone is changed.

use std::{cmp::Reverse, collections::BTreeSet, ops::Range};

use syn::{spanned::Spanned, visit::Visit};

use super::listing::ListedMutant;

/// A file that was rewritten.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// The bytes of `text` that belong to a mutant alone, with its number.
    pub(super) branches: Vec<(Range<usize>, usize)>,
    /// The bytes of `text` that a mutant encloses, with its number.
    pub(super) enclosed: Vec<(Range<usize>, usize)>,
    /// The mutants that have no place that a branch could be put at.
    pub(super) unplaced: Vec<usize>,
}

/// Compiles the mutants of one file into its text. Functions lose their `const`, except for the
/// named ones.
pub(super) fn rewrite(
    source: &str,
    mutants: &[(usize, &ListedMutant)],
    kept_const: &BTreeSet<String>,
) -> Result<Rewritten, String> {
    let file = syn::parse_file(source).map_err(|error| format!("cannot parse: {error}"))?;
    let mut places =
        Places { source, mutants, kept_const, edits: Vec::new(), placed: BTreeSet::new() };
    places.visit_file(&file);
    let Places { mut edits, placed, .. } = places;
    edits.sort_by_key(|edit| edit.order);
    let numbers = mutants.iter().map(|(number, _)| *number);
    let unplaced = numbers.filter(|number| !placed.contains(number)).collect();
    Ok(apply(source, &edits, unplaced))
}

/// Text that is inserted, or takes the place of some bytes.
#[derive(Debug)]
struct Edit {
    /// The position of the edit. At one position, closing edits come first, the inner before the
    /// outer. Opening edits follow, the outer before the inner.
    order: (usize, bool, Reverse<usize>, usize),
    replaces: usize,
    text: String,
    role: Role,
}

/// The relation of an edit to a mutant.
#[derive(Clone, Copy, Debug)]
enum Role {
    None,
    /// The branch of this mutant.
    Branch(usize),
    /// The branches of this mutant begin here.
    Opens(usize),
    /// The end of the branches of this mutant.
    Closes(usize),
}

fn apply(source: &str, edits: &[Edit], unplaced: Vec<usize>) -> Rewritten {
    let mut done =
        Rewritten { text: String::new(), branches: Vec::new(), enclosed: Vec::new(), unplaced };
    let mut from = 0;
    for edit in edits {
        let at = edit.order.0;
        done.text += source.get(from..at).unwrap_or_default();
        from = at + edit.replaces;
        let start = done.text.len();
        done.text += &edit.text;
        let end = done.text.len();
        match edit.role {
            Role::None => {}
            Role::Branch(number) => done.branches.push((start..end, number)),
            Role::Opens(number) => done.enclosed.push((start..end, number)),
            Role::Closes(number) => {
                let open = done.enclosed.iter_mut().rev().find(|(_, one)| *one == number);
                open.into_iter().for_each(|(range, _)| range.end = end);
            }
        }
    }
    done.text += source.get(from..).unwrap_or_default();
    done
}

/// Finds the places of mutants in the syntax tree.
struct Places<'a> {
    source: &'a str,
    mutants: &'a [(usize, &'a ListedMutant)],
    kept_const: &'a BTreeSet<String>,
    edits: Vec<Edit>,
    placed: BTreeSet<usize>,
}

/// The expression that chooses a mutant.
fn active(number: usize) -> String {
    format!("crate::mutation::active({number})")
}

impl<'a> Places<'a> {
    /// Returns the mutants of some kinds that replace what begins at a place.
    fn of(&self, genres: &[&str], start: usize) -> Vec<(usize, &'a ListedMutant)> {
        let mutants = self.mutants.iter().copied();
        let here = mutants.filter(|(_, mutant)| mutant.replaced.start == start);
        here.filter(|(_, mutant)| genres.contains(&mutant.genre.as_str())).collect()
    }

    fn insert(&mut self, at: usize, opens_to: usize, rank: usize, text: String, role: Role) {
        let order = (at, true, Reverse(opens_to), rank);
        self.edits.push(Edit { order, replaces: 0, text, role });
    }

    fn close(&mut self, range: &Range<usize>, rank: usize, text: &str, role: Role) {
        let order = (range.end, false, Reverse(range.start), rank);
        self.edits.push(Edit { order, replaces: 0, text: text.to_owned(), role });
    }

    /// Puts the branches of mutants around an expression.
    fn enclose(&mut self, range: &Range<usize>, mutants: &[(usize, &ListedMutant)]) {
        let mut opening = "(";
        for (number, mutant) in mutants {
            self.placed.insert(*number);
            self.insert(range.start, range.end, 10, opening.to_owned(), Role::Opens(*number));
            let branch =
                format!("if {} {{{}}} else ", active(*number), self.changed(range, mutant));
            self.insert(range.start, range.end, 10, branch, Role::Branch(*number));
            opening = "";
        }
        if let Some(((last, _), others)) = mutants.split_last() {
            self.insert(range.start, range.end, 10, "{".to_owned(), Role::None);
            self.close(range, 10, "})", Role::Closes(*last));
            others.iter().for_each(|(number, _)| self.close(range, 11, "", Role::Closes(*number)));
        }
    }

    /// Returns the text of an expression with a mutant in it.
    fn changed(&self, range: &Range<usize>, mutant: &ListedMutant) -> String {
        let before = self.source.get(range.start..mutant.replaced.start).unwrap_or_default();
        let after = self.source.get(mutant.replaced.end..range.end).unwrap_or_default();
        format!("{before}{}{after}", mutant.replacement)
    }

    /// Begins a function with the constants that its mutants return.
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if let Some(token) = &signature.constness
            && !self.kept_const.contains(&signature.ident.to_string())
        {
            let range = bytes(token);
            let order = (range.start, true, Reverse(range.end), 0);
            let (replaces, text) = (range.len(), String::new());
            self.edits.push(Edit { order, replaces, text, role: Role::None });
        }
        // Of a hidden type there is only one, which the function has already.
        let is_hidden = is_hidden(&signature.output);
        let Some(first) = block.stmts.first().filter(|_| !is_hidden) else { return };
        let start = bytes(first).start;
        for (number, mutant) in self.of(&["FnValue"], start) {
            let text = format!("if {} {{ return {}; }} ", active(number), mutant.replacement);
            self.choose(start, usize::MAX, text, number);
        }
    }

    /// Gives an arm that a mutant deletes a guard, and changes the guard that it has.
    fn arm(&mut self, arm: &syn::Arm) {
        let start = bytes(arm).start;
        let deleted = self.of(&["MatchArm"], start);
        let Some((_, guard)) = &arm.guard else {
            let end = bytes(&arm.pat).end;
            for (number, _) in deleted {
                self.choose(end, usize::MAX, format!(" if !{}", active(number)), number);
            }
            return;
        };
        let range = bytes(guard);
        for (number, _) in deleted {
            self.choose(range.start, range.end, format!("!{} && ", active(number)), number);
        }
        if holds_let(guard) {
            return;
        }
        let mut changed = self.of(&["MatchArmGuard"], range.start);
        // `active(1) || !active(2) && (guard)`
        changed.sort_by_key(|(_, mutant)| mutant.replacement != "true");
        self.insert(range.start, range.end, 0, "(".to_owned(), Role::None);
        for (number, mutant) in changed {
            let text = match mutant.replacement.as_str() {
                "true" => format!("{} || ", active(number)),
                _ => format!("!{} && ", active(number)),
            };
            self.choose(range.start, range.end, text, number);
        }
        self.insert(range.start, range.end, 0, "(".to_owned(), Role::None);
        self.close(&range, 20, "))", Role::None);
    }

    /// Inserts the branch of one mutant before what an expression becomes.
    fn choose(&mut self, at: usize, opens_to: usize, text: String, number: usize) {
        self.placed.insert(number);
        self.insert(at, opens_to, 0, text, Role::Branch(number));
    }
}

/// Returns the bytes of the file that a part of the syntax tree covers.
fn bytes(part: &impl Spanned) -> Range<usize> {
    part.span().byte_range()
}

/// Returns whether a function returns `impl …`.
fn is_hidden(output: &syn::ReturnType) -> bool {
    #[derive(Default)]
    struct Hidden(bool);
    impl Visit<'_> for Hidden {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut hidden = Hidden::default();
    hidden.visit_return_type(output);
    hidden.0
}

/// Returns whether a condition binds names: it cannot be put into parentheses.
fn holds_let(condition: &syn::Expr) -> bool {
    match condition {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => holds_let(&binary.left) || holds_let(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Places<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let range = bytes(expression);
        for arm in &expression.arms {
            for (number, _) in self.of(&["MatchArm"], bytes(arm).start) {
                self.insert(range.start, range.end, 5, String::new(), Role::Opens(number));
                self.close(&range, 15, "", Role::Closes(number));
            }
        }
        syn::visit::visit_expr_match(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.arm(arm);
        syn::visit::visit_arm(self, arm);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let mutants = self.of(&["BinaryOperator"], bytes(&binary.op).start);
        if !holds_let(&binary.left) && !holds_let(&binary.right) {
            self.enclose(&bytes(binary), &mutants);
        }
        syn::visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let mutants = self.of(&["UnaryOperator"], bytes(&unary.op).start);
        self.enclose(&bytes(unary), &mutants);
        syn::visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        let fields = expression.fields.iter();
        let starts = fields.map(|field| bytes(field).start).collect::<Vec<_>>();
        let mutants = starts.iter().flat_map(|start| self.of(&["StructField"], *start));
        let mutants = mutants.collect::<Vec<_>>();
        self.enclose(&bytes(expression), &mutants);
        syn::visit::visit_expr_struct(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::outcome::Mutant;

    /// Returns the mutant that replaces the first `found` in `source`.
    fn mutant(source: &str, genre: &str, found: &str, replacement: &str) -> ListedMutant {
        let start = source.find(found).unwrap();
        let text = String::new;
        ListedMutant {
            mutant: Mutant { file: text(), change: text(), code: text() },
            name: text(),
            genre: genre.to_owned(),
            replaced: start..start + found.len(),
            replacement: replacement.to_owned(),
        }
    }

    fn rewritten(source: &str, mutants: &[(&str, &str, &str)]) -> Rewritten {
        let mutants = mutants.iter().map(|(genre, found, by)| mutant(source, genre, found, by));
        let mutants: Vec<_> = mutants.collect();
        let numbered: Vec<_> = mutants.iter().enumerate().collect();
        let mut done = rewrite(source, &numbered, &BTreeSet::new()).unwrap();
        done.text = done.text.replace("crate::mutation::active", "on");
        done
    }

    #[test]
    fn an_expression_becomes_a_choice_and_so_do_its_parts() {
        let source = "const fn f() -> bool { a == b && !c }";
        let done = rewritten(
            source,
            &[
                ("FnValue", "a == b && !c", "true"),
                ("BinaryOperator", "&&", "||"),
                ("BinaryOperator", "==", "!="),
                ("UnaryOperator", "!", ""),
            ],
        );
        let expected = " fn f() -> bool { if on(0) { return true; } \
            (if on(1) {a == b || !c} else {(if on(2) {a != b} else {a == b}) && \
            (if on(3) {c} else {!c})}) }";
        assert_eq!(done.text, expected);
        assert_eq!((done.unplaced, done.branches.len(), done.enclosed.len()), (vec![], 4, 3));
    }

    #[test]
    fn arms_are_chosen_by_guards() {
        let source = "fn f() { match a { 1 => b, 2 if cc => d, _ => e } }";
        let done = rewritten(
            source,
            &[
                ("MatchArm", "1 => b,", ""),
                ("MatchArm", "2 if cc => d,", ""),
                ("MatchArmGuard", "cc", "false"),
                ("MatchArmGuard", "cc", "true"),
            ],
        );
        let expected = "fn f() { match a { 1 if !on(0) => b, \
            2 if !on(1) && (on(3) || !on(2) && (cc)) => d, _ => e } }";
        assert_eq!(done.text, expected);
    }

    #[test]
    fn a_condition_that_binds_names_and_a_hidden_type_have_no_place() {
        let source = "fn f() -> impl Copy { if let Some(a) = b && c { 1 } else { 2 } }";
        let body = "if let Some(a) = b && c { 1 } else { 2 }";
        let done = rewritten(source, &[("BinaryOperator", "&&", "||"), ("FnValue", body, "()")]);
        assert_eq!((done.text.as_str(), done.unplaced), (source, vec![0, 1]));
    }
}
