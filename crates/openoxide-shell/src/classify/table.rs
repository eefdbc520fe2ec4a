//! The programs that can be harmless. What an entry leaves out, it leaves out on purpose or for want of need.

use super::{
    Judge::{self, Anything, Special},
    conditions, find, git, jq, print, process,
    read::Shape,
    sed, tools,
};

const fn bare(short: &'static str, long: &'static [&'static str]) -> Judge {
    Judge::Shape(Shape::bare(short, long))
}

const fn files(short: &'static str, long: &'static [&'static str]) -> Judge {
    Judge::Shape(Shape::files(short, long))
}

const fn few(most: usize, short: &'static str, long: &'static [&'static str]) -> Judge {
    Judge::Shape(Shape::few_files(most, short, long))
}

const fn text(short: &'static str, long: &'static [&'static str]) -> Judge {
    Judge::Shape(Shape::text(short, long))
}

// `--check` is left out: it reads the files that its operand names.
const DIGEST: Judge = files("bt", &["binary text tag"]);

// Following links (`-R`) can read outside of what is named, so it is not known. `-d` and `-D` only choose.
const GREP: Judge = Judge::Shape(
    Shape::pattern(
        &["e", "f", "regexp", "file"],
        "abcEFGhHiILlnoPqrsTUvVwxyzZA:B:C:D:e:f<m:#",
        &["after-context: basic-regexp before-context: binary binary-files: byte-offset color? \
            colour? context: count exclude-dir: exclude-from< exclude: extended-regexp file< \
            files-with-matches files-without-match fixed-strings help ignore-case include: \
            initial-tab invert-match label: line-buffered line-number line-regexp max-count: \
            no-filename no-ignore-case no-messages null null-data only-matching perl-regexp quiet \
            recursive regexp: silent text version with-filename word-regexp"],
    )
    .here_with(&["r", "recursive"]),
);

// `--pre`, `--hostname-bin` and `--search-zip` run programs, `--follow` leaves what is named.
const RIPGREP: Judge = Judge::Shape(
    Shape::pattern(
        &["e", "f", "regexp", "file", "files", "type-list", "version", "V"],
        "abcFhHiIlnNopPqsSuUvVwx0A:B:C:d:e:E:f<g:j:m:M:r:t:T:.",
        &["after-context: before-context: binary byte-offset case-sensitive color: colors: column \
            context-separator: context: count count-matches crlf encoding: engine: \
            field-context-separator: field-match-separator: file< files files-with-matches \
            files-without-match fixed-strings glob-case-insensitive glob: heading help hidden iglob: \
            ignore-case ignore-file< include-zero invert-match json line-buffered line-number \
            line-regexp max-columns-preview max-columns: max-count: max-depth: max-filesize: mmap \
            multiline multiline-dotall no-column no-config no-filename no-heading no-hidden \
            no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global \
            no-ignore-parent no-ignore-vcs no-line-number no-messages no-mmap no-require-git null \
            null-data one-file-system only-matching passthru path-separator: pcre2 pretty quiet \
            regexp: replace: smart-case sort: sortr: stats text threads: trim type-add: type-list \
            type-not: type: unrestricted version vimgrep with-filename word-regexp"],
    )
    .here(),
);

// `--exec`, `--exec-batch` and `--list-details` run programs.
const FD: Judge = Judge::Shape(
    Shape::pattern(
        &[],
        "aFgHiILpqsu01c:d:e:E:j:S:t:V",
        &["absolute-path and: case-sensitive changed-before: changed-within: color: exact-depth: \
            exclude: extension: fixed-strings follow full-path glob help hidden ignore-case \
            max-depth: max-results: min-depth: no-hidden no-ignore no-ignore-parent no-ignore-vcs \
            one-file-system owner: print0 prune quiet regex size: threads: type: unrestricted \
            version"],
    )
    .lists()
    .here(),
);

const LS: Judge = Judge::Shape(
    Shape::files(
        "aAbBcCdfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
        &["all almost-all author block-size: classify? color? dereference dereference-command-line \
            dereference-command-line-symlink-to-dir directory escape file-type format: full-time \
            group-directories-first help hide-control-chars hide: human-readable hyperlink? \
            ignore-backups ignore: indicator-style: inode kibibytes literal no-group numeric-uid-gid \
            quote-name quoting-style: recursive reverse show-control-chars si size sort: tabsize: \
            time-style: time: version width: zero"],
    )
    .lists()
    .here(),
);

// `--files0-from` reads files whose names are not here.
const DU: Judge = Judge::Shape(
    Shape::files(
        "0aB:bcDd:hHklLmPsSt:xX<",
        &["all apparent-size block-size: bytes count-links dereference dereference-args \
            exclude-from< exclude: help human-readable inodes max-depth: no-dereference null \
            one-file-system separate-dirs si summarize threshold: time-style: time? total version"],
    )
    .lists()
    .here(),
);

// `-R` and `-H` with `-o` write; `--fromfile` reads names from a file.
// `-r` follows every link, and `--from-file` and `--to-file` make one file of many.
const DIFF: Judge = few(
    2,
    "abBcdeEiNnpPqstTuvwyZC:F:I:L:U:W:",
    &["brief color? context? ed expand-tabs help horizon-lines: ignore-all-space \
            ignore-blank-lines ignore-case ignore-matching-lines: ignore-space-change \
            ignore-tab-expansion ignore-trailing-space initial-tab label: left-column minimal \
            new-file normal palette: rcs report-identical-files show-c-function show-function-line: \
            side-by-side speed-large-files strip-trailing-cr suppress-blank-empty \
            suppress-common-lines tabsize: text unified? version width:"],
);

// `-o`, `-T` and `--compress-program` write or run, `--files0-from` reads what is not named.
const SORT: Judge = files(
    "bcCdfghiMmnrRsuVzk:S:t:",
    &["batch-size: buffer-size: check? debug dictionary-order field-separator: \
            general-numeric-sort help human-numeric-sort ignore-case ignore-leading-blanks \
            ignore-nonprinting key: merge month-sort numeric-sort parallel: random-sort \
            random-source< reverse sort: stable unique version version-sort zero-terminated"],
);

/// The programs, sorted by name.
pub(super) static PROGRAMS: &[(&str, Judge)] = &[
    (":", Anything),
    ("[", Special(conditions::bracket)),
    ("b2sum", files("btl:", &["binary text tag length:"])),
    ("base32", few(1, "diw:", &["decode ignore-garbage wrap: help version"])),
    ("base64", few(1, "diw:", &["decode ignore-garbage wrap: help version"])),
    ("basename", Anything),
    ("break", Special(print::number)),
    ("builtin", Special(tools::carried)),
    ("cal", text("13hjmnswyYA:B:", &["one three monday sunday julian year"])),
    (
        "cat",
        files(
            "AbeEnstTuv",
            &["show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help \
            version"],
        ),
    ),
    ("cd", Special(print::change_directory)),
    ("cksum", files("a:", &["algorithm: untagged help version"])),
    (
        "cmp",
        few(
            2,
            "blsi:n:",
            &["print-bytes ignore-initial: verbose bytes: quiet silent"],
        ),
    ),
    (
        "column",
        files(
            "aJtexLl:s:o:c:N:R:H:T:W:O:E:n:",
            &["json table separator: output-separator: table-columns: table-right: table-hide: \
            table-name: output-width: fillrows"],
        ),
    ),
    (
        "comm",
        few(
            2,
            "123z",
            &["check-order nocheck-order output-delimiter: total zero-terminated help version"],
        ),
    ),
    ("command", Special(tools::command)),
    ("continue", Special(print::number)),
    (
        "cut",
        files(
            "nszb:c:d:f:",
            &["bytes: characters: complement delimiter: fields: only-delimited output-delimiter: \
            zero-terminated help version"],
        ),
    ),
    ("date", Special(print::date)),
    (
        "df",
        Judge::Shape(
            Shape::files(
                "aB:hHiklmPTt:vx:",
                &["all block-size: exclude-type: help human-readable inodes local output? portability \
            print-type si total type: version"],
            )
            .lists(),
        ),
    ),
    ("diff", DIFF),
    ("dirname", Anything),
    ("docker", Special(tools::docker)),
    ("du", DU),
    ("echo", Anything),
    ("egrep", GREP),
    ("exit", Special(print::number)),
    ("expand", files("it:#", &["initial tabs: help version"])),
    ("expr", Anything),
    ("factor", Anything),
    ("false", Anything),
    ("fd", FD),
    ("fdfind", FD),
    ("fgrep", GREP),
    (
        "file",
        files(
            "bhikLnNr0e:F:P:",
            &["brief dereference exclude: extension help keep-going mime mime-encoding mime-type \
            no-buffer no-dereference no-pad parameter: print0 raw separator: version"],
        ),
    ),
    ("find", Special(find::judge)),
    (
        "fmt",
        files(
            "cstup:w:g:#",
            &["crown-margin prefix: split-only tagged-paragraph uniform-spacing width: goal: help \
            version"],
        ),
    ),
    ("fold", files("bsw:#", &["bytes spaces width: help version"])),
    (
        "free",
        bare(
            "bkmghltvwLs:c:",
            &["bytes kilo mega giga tera kibi mebi gibi tebi human lohi line total wide seconds: count: \
            si help version"],
        ),
    ),
    ("git", Special(git::judge)),
    ("grep", GREP),
    ("groups", Anything),
    ("hd", files("bcCdovxe:f<n:s:", &[])),
    (
        "head",
        files(
            "c:n:qvz#",
            &["bytes: lines: quiet silent verbose zero-terminated help version"],
        ),
    ),
    ("hexdump", files("bcCdovxe:f<n:s:", &["canonical length: skip: no-squeezing"])),
    ("hostname", bare("s", &["short version help"])),
    ("id", Anything),
    ("ionice", Special(tools::carried)),
    (
        "join",
        few(
            2,
            "iza:e:j:1:2:o:t:v:",
            &["ignore-case check-order nocheck-order header zero-terminated"],
        ),
    ),
    ("jq", Special(jq::judge)),
    ("logname", Anything),
    ("ls", LS),
    ("md5sum", DIGEST),
    ("nice", Special(tools::carried)),
    (
        "nl",
        files(
            "pb:d:f:h:i:l:n:s:v:w:",
            &["body-numbering: section-delimiter: footer-numbering: header-numbering: line-increment: \
            join-blank-lines: number-format: no-renumber number-separator: starting-line-number: \
            number-width:"],
        ),
    ),
    ("node", Special(tools::version)),
    ("nodejs", Special(tools::version)),
    ("npm", Special(tools::version)),
    ("nproc", Anything),
    ("numfmt", Anything),
    (
        "od",
        files(
            "abcdfilosxvA:j:N:S:t:w?",
            &["address-radix: endian: skip-bytes: read-bytes: strings? format: output-duplicates width? \
            traditional help version"],
        ),
    ),
    ("paste", files("szd:", &["delimiters: serial zero-terminated help version"])),
    (
        "pgrep",
        text(
            "aclvwnoxfid:P:g:s:u:U:G:t:r:",
            &["delimiter: list-name list-full inverse lightweight count exact full ignore-case newest \
            oldest parent: pgroup: group: session: terminal: euid: uid: runstates: help version"],
        ),
    ),
    ("printf", Special(print::printf)),
    ("ps", Special(process::judge)),
    ("pwd", Anything),
    ("python", Special(tools::version)),
    ("python3", Special(tools::version)),
    (
        "readlink",
        Judge::Shape(
            Shape::files(
                "efmnqsvz",
                &["canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose \
            zero help version"],
            )
            .lists(),
        ),
    ),
    (
        "realpath",
        Judge::Shape(
            Shape::files(
                "eEmLPqsz",
                &["canonicalize-existing canonicalize-missing logical physical quiet relative-to< \
            relative-base< strip no-symlinks zero help version"],
            )
            .lists(),
        ),
    ),
    ("return", Special(print::number)),
    ("rev", files("", &["help version"])),
    ("rg", RIPGREP),
    ("sed", Special(sed::judge)),
    ("seq", Anything),
    ("sha1sum", DIGEST),
    ("sha224sum", DIGEST),
    ("sha256sum", DIGEST),
    ("sha384sum", DIGEST),
    ("sha512sum", DIGEST),
    ("shasum", files("bta:", &["binary text algorithm:"])),
    ("sleep", Anything),
    ("sort", SORT),
    (
        "stat",
        Judge::Shape(
            Shape::files(
                "Lftc:",
                &["dereference file-system format: printf: terse cached: help version"],
            )
            .lists(),
        ),
    ),
    ("stdbuf", Special(tools::carried)),
    ("strings", Special(tools::strings)),
    ("sum", files("rs", &["sysv help version"])),
    ("tac", files("brs:", &["before regex separator: help version"])),
    (
        "tail",
        files(
            "c:fFn:qs:vz#",
            &["bytes: follow? lines: max-unchanged-stats: pid: quiet retry silent sleep-interval: \
            verbose zero-terminated help version"],
        ),
    ),
    ("test", Special(conditions::test)),
    ("time", Special(tools::time)),
    ("timeout", Special(tools::carried)),
    ("tput", Special(tools::tput)),
    ("tr", Anything),
    ("true", Anything),
    ("tsort", few(1, "", &["help version"])),
    ("tty", Anything),
    ("type", text("afptP", &[])),
    ("uname", Anything),
    ("unexpand", files("at:#", &["all first-only tabs: help version"])),
    (
        "uniq",
        few(
            1,
            "cdDiuzf:s:w:",
            &["all-repeated? check-chars: count group? ignore-case repeated skip-chars: skip-fields: \
            unique zero-terminated help version"],
        ),
    ),
    ("uptime", bare("psV", &["pretty since help version"])),
    (
        "wc",
        files(
            "cmlLw",
            &["bytes chars lines max-line-length words total: help version"],
        ),
    ),
    ("which", text("as", &["all"])),
    ("whoami", Anything),
    ("xxd", Special(tools::xxd)),
];
