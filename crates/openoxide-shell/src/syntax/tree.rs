//! The syntax tree of a script, before anything is known about its variables.

use std::borrow::Cow;

use openoxide_protocol::Span;

/// A whole script, as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct Tree<'a> {
    pub(crate) list: List<'a>,
    /// Bodies of here-documents, in the order of their operators.
    pub(crate) heredocs: Vec<Vec<Piece<'a>>>,
    /// Whether the script uses something that a POSIX shell reads differently.
    pub(crate) bashisms: bool,
    /// The position of a construct that was parsed, but is too unusual to be relied on.
    pub(crate) unusual: Option<usize>,
}

/// Commands one after the other.
pub(crate) type List<'a> = Vec<Item<'a>>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) first: Pipeline<'a>,
    pub(crate) rest: Vec<(Join, Pipeline<'a>)>,
    pub(crate) background: bool,
    /// Whether it begins a line.
    pub(crate) begins: bool,
}

/// The operator between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Default)]
pub(crate) struct Pipeline<'a> {
    pub(crate) commands: Vec<Command<'a>>,
    /// Whether a `!` precedes it.
    pub(crate) negated: bool,
}

/// One command.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Simple(Simple<'a>),
    Compound(Box<Compound<'a>>, Vec<Redirect<'a>>),
}

/// A program with its arguments, or assignments and redirections alone.
#[derive(Debug, Default)]
pub(crate) struct Simple<'a> {
    pub(crate) assignments: Vec<Assignment<'a>>,
    pub(crate) words: Vec<Word<'a>>,
    pub(crate) redirects: Vec<Redirect<'a>>,
    pub(crate) span: Span,
}

/// A command made of commands.
#[derive(Debug)]
pub(crate) enum Compound<'a> {
    Group(List<'a>),
    Subshell(List<'a>),
    If { arms: Vec<(List<'a>, List<'a>)>, otherwise: List<'a> },
    While { condition: List<'a>, body: List<'a>, until: bool },
    For { name: &'a str, words: Option<Vec<Word<'a>>>, body: List<'a>, select: bool },
    ForArithmetic { parts: Vec<Vec<Piece<'a>>>, body: List<'a> },
    Case { word: Word<'a>, arms: Vec<(Vec<Word<'a>>, List<'a>)> },
    Condition(Vec<Test<'a>>),
    Arithmetic(Vec<Piece<'a>>),
    Function { name: Cow<'a, str>, body: Box<Command<'a>> },
    Coprocess { name: &'a str, body: Box<Command<'a>> },
}

/// One test inside `[[ ]]`.
#[derive(Debug)]
pub(crate) enum Test<'a> {
    One(Word<'a>),
    Unary(&'a str, Word<'a>),
    Binary(Word<'a>, &'a str, Word<'a>),
}

/// `name=value` before a command or alone.
#[derive(Debug)]
pub(crate) struct Assignment<'a> {
    pub(crate) name: &'a str,
    pub(crate) subscript: Option<Vec<Piece<'a>>>,
    pub(crate) append: bool,
    pub(crate) value: Word<'a>,
    pub(crate) span: Span,
}

/// The target of a redirection.
#[derive(Debug)]
pub(crate) enum Target<'a> {
    /// `<`
    Read(Word<'a>),
    /// `>`, `>>`, `>|`, `&>`, `&>>`, `<>`
    Write(Word<'a>),
    /// `<&` and `>&`
    Duplicate {
        word: Word<'a>,
        /// Whether the redirection opens a file if the word is not a number, as `>&word` without a
        /// number does.
        may_open: bool,
    },
    /// `<<`: the index of its body.
    Heredoc(usize),
    /// `<<<`
    HereString(Word<'a>),
}

/// A redirection.
#[derive(Debug)]
pub(crate) struct Redirect<'a> {
    pub(crate) target: Target<'a>,
    /// Whether it redirects standard input.
    pub(crate) input: bool,
    /// The variable in `{name}>file`.
    pub(crate) variable: Option<&'a str>,
    pub(crate) span: Span,
}

/// One word, before expansion.
#[derive(Debug, Default)]
pub(crate) struct Word<'a> {
    pub(crate) pieces: Vec<Piece<'a>>,
    pub(crate) span: Span,
}

/// A part of a word.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    /// Unquoted text, in which tilde, braces and patterns are alive.
    Plain(&'a str),
    /// Literal text.
    Fixed(Cow<'a, str>),
    /// Double quotes around something that is expanded.
    Quoted(Vec<Self>),
    Parameter(Box<Parameter<'a>>),
    /// `$(…)`
    Command(List<'a>),
    /// `` `…` ``, with its backslashes taken away.
    Backquote(Cow<'a, str>, Span),
    /// `<(…)` and `>(…)`
    Process(List<'a>),
    /// `$((…))`
    Arithmetic(Vec<Self>),
    /// The elements of `name=(…)`.
    Array(Vec<Word<'a>>),
    /// Text that is not known, and runs nothing: `$"…"`.
    Translated(Vec<Self>),
}

/// `$name` and `${…}`.
#[derive(Debug)]
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) form: Form,
    pub(crate) subscript: Option<Subscript<'a>>,
    pub(crate) operand: Vec<Piece<'a>>,
    pub(crate) span: Span,
}

/// The form of a parameter expansion, such as `${…}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
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
    /// `${x:1:2}`: its operand is arithmetic.
    Substring,
    /// `${x@P}`: its value is expanded once more.
    Prompt,
    /// All other operators: none runs more than its operand.
    Other,
}

/// The subscript in brackets after a name.
#[derive(Debug)]
pub(crate) enum Subscript<'a> {
    /// `[@]` and `[*]`
    All,
    Text(Vec<Piece<'a>>),
}

impl<'a> Word<'a> {
    /// Returns the text, if the word is one piece of unquoted text.
    pub(crate) fn plain(&self) -> Option<&'a str> {
        match self.pieces.as_slice() {
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }
}
