//! The types and functions of a source file, with their names and first sentences.

use proc_macro2::Span;
use syn::{
    Attribute, Expr, Fields, ImplItem, Item, ItemMod, Lit, Meta, Signature, TraitItem, Visibility,
};

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A struct, an enumeration, a union, a trait or a type alias.
    Type,
    /// A function, an associated function or a method.
    Function,
    /// A module with a file or a body.
    Module,
    /// A named field of a struct or of a variant.
    Field,
    /// A variant of an enumeration.
    Variant,
    /// A constant or a static.
    Constant,
}

/// One named item of a crate.
#[derive(Debug)]
pub(super) struct NamedItem {
    /// The kind of the item.
    pub(super) kind: ItemKind,
    /// The last part of the path.
    pub(super) name: String,
    /// Modules and the type that the item belongs to, joined by `::`.
    pub(super) path: String,
    /// True if other crates may use it (`pub`, without a restriction).
    pub(super) is_public: bool,
    /// The first line of its documentation, or nothing.
    pub(super) summary: String,
    /// The line of its name, counted from one.
    pub(super) line: usize,
    /// The column of its name, counted from one.
    pub(super) column: usize,
}

/// Returns the items of a parsed file, tests excluded. `module` is the path of the file's module.
pub(super) fn collect_items(file: &syn::File, module: &str) -> Vec<NamedItem> {
    let mut items = Vec::new();
    collect(&file.items, module, &mut items);
    items
}

fn collect(source: &[Item], module: &str, items: &mut Vec<NamedItem>) {
    for item in source {
        match item {
            Item::Struct(it) => {
                items.push(type_item(&it.ident, &it.vis, &it.attrs, module));
                collect_fields(&it.fields, &join(module, &it.ident.to_string()), items);
            }
            Item::Enum(it) => {
                items.push(type_item(&it.ident, &it.vis, &it.attrs, module));
                let path = join(module, &it.ident.to_string());
                for variant in &it.variants {
                    let inherited = (&variant.ident, &it.vis, variant.attrs.as_slice());
                    let (ident, visibility, attributes) = inherited;
                    items.push(named(ItemKind::Variant, ident, visibility, attributes, &path));
                    collect_fields(&variant.fields, &join(&path, &ident.to_string()), items);
                }
            }
            Item::Const(it) => {
                items.push(named(ItemKind::Constant, &it.ident, &it.vis, &it.attrs, module));
            }
            Item::Static(it) => {
                items.push(named(ItemKind::Constant, &it.ident, &it.vis, &it.attrs, module));
            }
            Item::Union(it) => items.push(type_item(&it.ident, &it.vis, &it.attrs, module)),
            Item::Type(it) => items.push(type_item(&it.ident, &it.vis, &it.attrs, module)),
            Item::Trait(it) => {
                items.push(type_item(&it.ident, &it.vis, &it.attrs, module));
                let path = join(module, &it.ident.to_string());
                for method in &it.items {
                    if let TraitItem::Fn(method) = method {
                        items.push(function(&method.sig, &it.vis, &method.attrs, &path));
                    }
                }
            }
            Item::Fn(it) if !is_test(&it.attrs) => {
                items.push(function(&it.sig, &it.vis, &it.attrs, module));
            }
            Item::Impl(it) if it.trait_.is_none() && !is_test(&it.attrs) => {
                let path = join(module, &self_type(&it.self_ty));
                for method in &it.items {
                    if let ImplItem::Fn(method) = method {
                        items.push(function(&method.sig, &method.vis, &method.attrs, &path));
                    }
                }
            }
            Item::Mod(it) if !is_test(&it.attrs) => collect_module(it, module, items),
            _ => {}
        }
    }
}

fn collect_module(it: &ItemMod, module: &str, items: &mut Vec<NamedItem>) {
    items.push(named(ItemKind::Module, &it.ident, &it.vis, &it.attrs, module));
    if let Some((_, content)) = &it.content {
        collect(content, &join(module, &it.ident.to_string()), items);
    }
}

fn collect_fields(fields: &Fields, path: &str, items: &mut Vec<NamedItem>) {
    for field in fields {
        if let Some(ident) = &field.ident {
            items.push(named(ItemKind::Field, ident, &field.vis, &field.attrs, path));
        }
    }
}

fn type_item(
    ident: &syn::Ident,
    visibility: &Visibility,
    attributes: &[Attribute],
    module: &str,
) -> NamedItem {
    named(ItemKind::Type, ident, visibility, attributes, module)
}

fn function(
    signature: &Signature,
    visibility: &Visibility,
    attributes: &[Attribute],
    path: &str,
) -> NamedItem {
    named(ItemKind::Function, &signature.ident, visibility, attributes, path)
}

fn named(
    kind: ItemKind,
    ident: &syn::Ident,
    visibility: &Visibility,
    attributes: &[Attribute],
    path: &str,
) -> NamedItem {
    let start = Span::start(&ident.span());
    NamedItem {
        kind,
        name: ident.to_string(),
        path: path.to_owned(),
        is_public: matches!(visibility, Visibility::Public(_)),
        summary: summary(attributes),
        line: start.line,
        column: start.column + 1,
    }
}

/// Returns the first line of the documentation in `attributes`.
fn summary(attributes: &[Attribute]) -> String {
    let mut lines = attributes.iter().filter_map(doc_line);
    lines.next().map(|line| line.trim().to_owned()).unwrap_or_default()
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(literal) = &pair.value else { return None };
    let Lit::Str(text) = &literal.lit else { return None };
    pair.path.is_ident("doc").then(|| text.value())
}

/// Returns whether the attributes mark a test or code that only tests have.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let only_in_tests = || {
            let tokens = attribute.meta.require_list().map(|list| list.tokens.to_string());
            tokens.is_ok_and(|tokens| tokens == "test")
        };
        path.is_ident("test") || (path.is_ident("cfg") && only_in_tests())
    })
}

fn self_type(self_type: &syn::Type) -> String {
    let syn::Type::Path(path) = self_type else { return String::from("_") };
    path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}
