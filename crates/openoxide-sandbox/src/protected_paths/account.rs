//! The home directories of this user: the one in `HOME`, and the one of the account (passwd(5)).

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::PathBuf,
};

/// Returns both directories, or one if they are the same. If the account is not in `/etc/passwd`,
/// there is only that of `HOME`.
pub(crate) fn home_directories() -> Vec<PathBuf> {
    let mut homes: Vec<_> = env::home_dir().into_iter().chain(account_home()).collect();
    homes.dedup();
    homes
}

fn account_home() -> Option<PathBuf> {
    let user = fs::metadata("/proc/self").ok()?.uid();
    find_home(&fs::read("/etc/passwd").ok()?, user)
}

/// Returns the home directory in the first entry of a user.
fn find_home(passwd: &[u8], user: u32) -> Option<PathBuf> {
    let home = passwd.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':').skip(2);
        let number: u32 = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let home = fields.nth(2)?;
        (number == user).then_some(home)
    })?;
    Some(PathBuf::from(OsStr::from_bytes(home))).filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_of_a_user_names_the_home() {
        let text = b"# x\nroot:x:0:0:root:/root:/bin/sh\nann:x:7:7:A,,:/home/ann\nbob:x:7:7::/b:/c\nodd:x:8:8::rel:";
        let home = |user| find_home(text, user);
        assert_eq!((home(0), home(7)), (Some("/root".into()), Some("/home/ann".into())));
        assert_eq!((home(8), home(9)), (None, None));
    }
}
