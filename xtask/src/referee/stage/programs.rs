//! The programs on the scripts' search path.

use std::path::Path;

/// Real programs in the namespace: those that run other programs, and those that only do what their
/// words mean.
const REAL: &str = "awk b2sum base32 base64 basename bash cat chmod chrt cksum cmp column comm cp csplit cut dash date \
    dd diff dir dirname du echo env expand expr factor false file find flock fmt fold getopt grep gzip \
    head hexdump id install ionice join jq link ln logname ls m4 mawk md5sum mkdir mkfifo mktemp mv nice nl nohup \
    nproc numfmt od paste pathchk pr printenv printf prlimit ptx pwd rbash readlink realpath rev rmdir run-parts \
    script sed seq setarch setpriv setsid sh sha1sum sha256sum shred shuf sort split stat stdbuf strings sum tac \
    tail tar taskset tee test time timeout touch tr true truncate tsort tty uname unexpand uniq unlink vdir watch wc \
    which whoami xargs xxd yes [";

/// Names for the stub: what people run, and what must not run here.
const STUBS: &str = "git npm npx rm curl wget python3 python node cargo make sudo doas ssh docker kubectl pip yarn go \
    rustc vim less more man sleep apt-get perl ruby tree rg fd a b x y z q foo bar build test.sh su busybox choom \
    parallel unshare zsh ksh gcc chown";

/// Returns the real programs that this machine has.
pub(super) fn real() -> impl Iterator<Item = &'static str> {
    REAL.split_whitespace().filter(|name| is_here(name))
}

/// Returns the names for the stub.
pub(super) fn stubs() -> impl Iterator<Item = String> {
    let named = STUBS.split_whitespace().map(str::to_owned);
    let absent = REAL.split_whitespace().filter(|name| !is_here(name)).map(str::to_owned);
    named.chain(absent).chain((1..100).map(|number| format!("evil{number}")))
}

fn is_here(name: &str) -> bool {
    Path::new("/usr/bin").join(name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_both_real_and_a_stub() {
        let mut names: Vec<String> = real().map(str::to_owned).chain(stubs()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
