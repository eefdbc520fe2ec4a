//! The account that this process runs as: its home directory according to `/etc/passwd`
//! (passwd(5)).

use std::{
    fs,
    io::ErrorKind,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use crate::file_access::read_regular_file;

const PASSWD: &str = "/etc/passwd";
const MAX_PASSWD_BYTES: u64 = 16 << 20;

/// Returns the home directory of this account. Returns `None` if the account is not in
/// `/etc/passwd` (LDAP, a numeric user id in a container).
pub(crate) fn home_directory() -> Option<PathBuf> {
    let user = fs::metadata("/proc/self").ok()?.uid();
    find_home_in_passwd(&read_regular_file(Path::new(PASSWD), MAX_PASSWD_BYTES).ok()?, user)
}

/// Returns whether a path can be a home directory. True if it exists but cannot be examined,
/// because reading from it reports the error.
pub(crate) fn may_be_home(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(meta) => meta.is_dir(),
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Returns the home directory of a user in the text of a passwd file. If several entries have the
/// user's number, the first one is used, as in getpwuid(3).
fn find_home_in_passwd(passwd: &[u8], user: u32) -> Option<PathBuf> {
    let entry = passwd.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':'));
    let home = entry.filter_map(|mut fields| {
        let number = std::str::from_utf8(fields.nth(2)?).ok()?.parse::<u32>().ok()?;
        Some((number, fields.nth(2)?))
    });
    let (_, home) = home.into_iter().find(|(number, _)| *number == user)?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(home))).filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_of_a_number_gives_the_home_directory() {
        let text = b"# a comment\nroot:x:0:0:root:/root:/bin/bash\ntoor:x:0:0::/toor:/bin/sh\n\
            +@netgroup\nbob:x:1000:1000:Bob,,,:/home/bob\nshort:x:7\nodd:x:8:8::relative:/bin/sh\n\
            empty:x:9:9:::/bin/sh\nbad:x:-1:0::/bad:/bin/sh";
        let home = |user| find_home_in_passwd(text, user);
        assert_eq!(home(0), Some("/root".into()));
        assert_eq!(home(1000), Some("/home/bob".into()), "without a shell");
        for nobody in [1, 7, 8, 9, u32::MAX] {
            assert_eq!(home(nobody), None, "{nobody}");
        }
    }

    #[test]
    fn a_home_is_a_directory_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        assert!(may_be_home(dir.path()));
        std::fs::write(dir.path().join("file"), "").unwrap();
        for no in ["none", "file", "file/x"] {
            assert!(!may_be_home(&dir.path().join(no)), "{no}");
        }
    }
}
