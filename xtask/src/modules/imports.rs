//! The paths that a source file names, from the root of its crate.

use std::collections::BTreeMap;

use syn::{
    Attribute, Ident, Item, ItemMod, ItemUse, UseTree,
    visit::{self, Visit},
};

/// The paths into its crate that a source file names.
pub(super) struct FileImports {
    /// All paths.
    pub(super) paths: Vec<Vec<String>>,
    /// The names that `use` declarations bring into the module, each with its path. Other modules can
    /// import them from here.
    pub(super) names: BTreeMap<String, Vec<String>>,
}

/// Returns the paths into the crate that `file` names, without the code of tests. `module` is the
/// path of the file's own module.
pub(super) fn read_imports(file: &syn::File, module: &[String]) -> FileImports {
    let imports = FileImports { paths: Vec::new(), names: BTreeMap::new() };
    let children = file.items.iter().filter_map(declared_child).collect();
    let mut reader = PathReader { module: module.to_vec(), children, imports };
    reader.visit_file(file);
    reader.imports
}

/// Returns the name of a child module that has a file of its own.
fn declared_child(item: &Item) -> Option<String> {
    match item {
        Item::Mod(child) if child.content.is_none() => Some(child.ident.to_string()),
        _ => None,
    }
}

/// Collects paths while it walks through a file.
struct PathReader {
    /// The module of the code that is being read.
    module: Vec<String>,
    /// The names of child modules, with which a path may begin.
    children: Vec<String>,
    /// The paths so far.
    imports: FileImports,
}

impl PathReader {
    /// Adds a path of the code if it leads into the crate.
    fn add(&mut self, segments: &[String]) {
        self.imports.paths.extend(self.resolve(segments));
    }

    /// Returns a path of the code from the root of the crate, if it leads into the crate.
    fn resolve(&self, segments: &[String]) -> Option<Vec<String>> {
        let (first, rest) = segments.split_first()?;
        let mut path = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => self.parent(),
            name if self.children.iter().any(|child| child == name) => {
                let mut path = self.module.clone();
                path.push(name.to_owned());
                path
            }
            _ => return None,
        };
        for segment in rest {
            match segment.as_str() {
                "super" => drop(path.pop()),
                "self" => {}
                name => path.push(name.to_owned()),
            }
        }
        Some(path)
    }

    fn parent(&self) -> Vec<String> {
        let mut parent = self.module.clone();
        parent.pop();
        parent
    }

    /// Adds each path of a tree of a `use` declaration.
    fn add_tree(&mut self, tree: &UseTree, above: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                above.push(path.ident.to_string());
                self.add_tree(&path.tree, above);
                above.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|inner| self.add_tree(inner, above));
            }
            UseTree::Name(name) => self.add_name(&name.ident, &name.ident, above),
            UseTree::Rename(name) => self.add_name(&name.ident, &name.rename, above),
            UseTree::Glob(_) => self.add(above),
        }
    }

    /// Adds the item `name` of the module `above`, which this module calls `rename`.
    fn add_name(&mut self, name: &Ident, rename: &Ident, above: &[String]) {
        let segments = [above, &[name.to_string()]].concat();
        if let Some(path) = self.resolve(&segments) {
            self.imports.names.insert(rename.to_string(), path.clone());
            self.imports.paths.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for PathReader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, inline: &'ast ItemMod) {
        self.module.push(inline.ident.to_string());
        visit::visit_item_mod(self, inline);
        self.module.pop();
    }

    fn visit_item_use(&mut self, declaration: &'ast ItemUse) {
        self.add_tree(&declaration.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1 {
            self.add(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether the attributes contain `#[cfg(test)]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}
