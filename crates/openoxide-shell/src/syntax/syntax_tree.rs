//! The syntax tree of a script, before anything is known about its variables.

use std::borrow::Cow;

use openoxide_protocol::Span;

/// A whole script, as far as it could be parsed.
#[derive(Debug, Default)]
pub(crate) struct SyntaxTree<'a> {
    pub(crate) list: CommandList<'a>,
    /// Bodies of here-documents, in the order of their operators.
    pub(crate) heredocs: Vec<Vec<WordPiece<'a>>>,
    /// Whether the script uses something that a POSIX shell reads differently.
    pub(crate) uses_bashisms: bool,
    /// The position of a construct that was parsed but is too unusual to rely on.
    pub(crate) unusual_offset: Option<usize>,
}

/// A sequence of commands.
pub(crate) type CommandList<'a> = Vec<ListItem<'a>>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(crate) struct ListItem<'a> {
    pub(crate) first: Pipeline<'a>,
    pub(crate) rest: Vec<(ListOperator, Pipeline<'a>)>,
    pub(crate) is_background: bool,
    /// Whether it begins a line.
    pub(crate) starts_line: bool,
}

/// The operator between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListOperator {
    And,
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Default)]
pub(crate) struct Pipeline<'a> {
    pub(crate) commands: Vec<ShellCommand<'a>>,
    /// Whether a `!` precedes it.
    pub(crate) is_negated: bool,
}

/// One command.
#[derive(Debug)]
pub(crate) enum ShellCommand<'a> {
    Simple(SimpleCommand<'a>),
    Compound(Box<CompoundCommand<'a>>, Vec<ShellRedirection<'a>>),
}

/// A program with its arguments, or only assignments and redirections.
#[derive(Debug, Default)]
pub(crate) struct SimpleCommand<'a> {
    pub(crate) assignments: Vec<Assignment<'a>>,
    pub(crate) words: Vec<ShellWord<'a>>,
    pub(crate) redirects: Vec<ShellRedirection<'a>>,
    pub(crate) span: Span,
}

/// A command that contains other commands.
#[derive(Debug)]
pub(crate) enum CompoundCommand<'a> {
    Group(CommandList<'a>),
    Subshell(CommandList<'a>),
    If { arms: Vec<(CommandList<'a>, CommandList<'a>)>, else_body: CommandList<'a> },
    While { condition: CommandList<'a>, body: CommandList<'a>, until: bool },
    For { name: &'a str, words: Option<Vec<ShellWord<'a>>>, body: CommandList<'a>, select: bool },
    ForArithmetic { parts: Vec<Vec<WordPiece<'a>>>, body: CommandList<'a> },
    Case { word: ShellWord<'a>, arms: Vec<(Vec<ShellWord<'a>>, CommandList<'a>)> },
    Condition(Vec<ConditionTest<'a>>),
    Arithmetic(Vec<WordPiece<'a>>),
    Function { name: Cow<'a, str>, body: Box<ShellCommand<'a>> },
    Coprocess { name: &'a str, body: Box<ShellCommand<'a>> },
}

/// One test inside `[[ ]]`.
#[derive(Debug)]
pub(crate) enum ConditionTest<'a> {
    One(ShellWord<'a>),
    Unary(&'a str, ShellWord<'a>),
    Binary(ShellWord<'a>, &'a str, ShellWord<'a>),
}

/// `name=value` before a command or by itself.
#[derive(Debug)]
pub(crate) struct Assignment<'a> {
    pub(crate) name: &'a str,
    pub(crate) subscript: Option<Vec<WordPiece<'a>>>,
    pub(crate) append: bool,
    pub(crate) value: ShellWord<'a>,
    pub(crate) span: Span,
}

/// The target of a redirection.
#[derive(Debug)]
pub(crate) enum RedirectionTarget<'a> {
    /// `<`
    Read(ShellWord<'a>),
    /// `>`, `>>`, `>|`, `&>`, `&>>`, `<>`
    Write(ShellWord<'a>),
    /// `<&` and `>&`
    Duplicate {
        word: ShellWord<'a>,
        /// Whether the redirection opens a file if the word is not a number, as `>&word` without a
        /// number does.
        may_open: bool,
    },
    /// `<<`, with the index of its body.
    Heredoc(usize),
    /// `<<<`
    HereString(ShellWord<'a>),
}

/// A redirection.
#[derive(Debug)]
pub(crate) struct ShellRedirection<'a> {
    pub(crate) target: RedirectionTarget<'a>,
    /// Whether it redirects standard input.
    pub(crate) feeds_stdin: bool,
    /// The variable in `{name}>file`.
    pub(crate) variable: Option<&'a str>,
    pub(crate) span: Span,
}

/// One word, before expansion.
#[derive(Debug, Default)]
pub(crate) struct ShellWord<'a> {
    pub(crate) pieces: Vec<WordPiece<'a>>,
    pub(crate) span: Span,
}

/// A part of a word.
#[derive(Debug)]
pub(crate) enum WordPiece<'a> {
    /// Unquoted text, in which tildes, braces and patterns are expanded.
    Unquoted(&'a str),
    /// Literal text.
    Literal(Cow<'a, str>),
    /// Double quotes around something that is expanded.
    Quoted(Vec<Self>),
    Parameter(Box<ParameterExpansion<'a>>),
    /// `$(…)`
    Command(CommandList<'a>),
    /// `` `…` ``, with its backslashes removed.
    Backquote(Cow<'a, str>, Span),
    /// `<(…)` and `>(…)`
    Process(CommandList<'a>),
    /// `$((…))`
    Arithmetic(Vec<Self>),
    /// The elements of `name=(…)`.
    Array(Vec<ShellWord<'a>>),
    /// Unknown text that runs nothing: `$"…"`.
    Translated(Vec<Self>),
}

/// `$name` and `${…}`.
#[derive(Debug)]
pub(crate) struct ParameterExpansion<'a> {
    pub(crate) name: &'a str,
    pub(crate) form: ExpansionForm,
    pub(crate) subscript: Option<ArraySubscript<'a>>,
    pub(crate) operand: Vec<WordPiece<'a>>,
    pub(crate) span: Span,
}

/// The form of a parameter expansion, such as `${…}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpansionForm {
    /// `$x`, `${x}`
    Value,
    /// `${#x}`
    Length,
    /// `${!x}`
    Indirect,
    /// `${!x*}`, `${!x[@]}`
    Names,
    /// `${x:=word}`
    Assign,
    /// `${x:1:2}`, whose operand is arithmetic.
    Substring,
    /// `${x@P}`, whose value is expanded once more.
    Prompt,
    /// `${x@Q}`, `${x@a}`: the attributes of the variable, or its value in another form.
    Transformation,
    /// All other operators. They run nothing except what their operand runs.
    Other,
}

/// The subscript in brackets after a name.
#[derive(Debug)]
pub(crate) enum ArraySubscript<'a> {
    /// `[@]` and `[*]`
    All,
    Text(Vec<WordPiece<'a>>),
}

impl<'a> ShellWord<'a> {
    /// Returns the text, if the word is one piece of unquoted text.
    pub(crate) fn as_plain_text(&self) -> Option<&'a str> {
        match self.pieces.as_slice() {
            [WordPiece::Unquoted(text)] => Some(text),
            _ => None,
        }
    }
}
