//! The route by which an access comes about.

/// The route by which a file or a host is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessRoute {
    /// The tool or the shell itself makes the access.
    #[default]
    Direct,
    /// A program that is listed separately makes the access. The rules for the program decide
    /// whether it may run.
    Program,
    /// A program that is listed separately makes the access, and only reads metadata, such as names
    /// and sizes.
    Metadata,
    /// A confined command has made the change in the data of a repository of the project: objects,
    /// references, logs, the index. Only rules decide about it.
    RepositoryData,
}
