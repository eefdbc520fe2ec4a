//! The compiled policy on disk, so that a hook need not compile ten thousand rules to judge one command.
//!
//! The file begins with a signature of what it was made of: this program's version, the home directory, and for each source
//! its path, device, inode, size and times. Any difference, and it is made anew. Then comes what is needed to decide, and
//! last the texts of the rules, which are only read of the rule that has spoken. It is a cache of what this user could
//! write anyway: it is only trusted when nobody else can write it.

use std::{
    fs::{self, File, Metadata},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use openoxide_permission::{PolicyStack, ReadDetails};

use crate::{
    file::open_regular,
    grants::GrantFile,
    locations::{Environment, Source},
    trust::Trust,
};

const LONGEST: u64 = 1 << 30;

/// The bytes that say how long the deciding part is.
const LENGTH: usize = 8;

/// The details of a policy, in the file that it was read from.
#[derive(Debug)]
struct InFile {
    file: File,
    start: usize,
}

impl ReadDetails for InFile {
    fn read(&self, at: usize, length: usize) -> Option<Vec<u8>> {
        let place = u64::try_from(self.start.checked_add(at)?).ok()?;
        let left = usize::try_from(self.file.metadata().ok()?.len().checked_sub(place)?).ok()?;
        let mut bytes = vec![0; length.min(left)];
        self.file.read_exact_at(&mut bytes, place).ok()?;
        (bytes.len() == length).then_some(bytes)
    }
}

/// A file that changed more recently could change again within the clock's step, unseen.
pub(crate) const SETTLED: Duration = Duration::from_secs(2);

/// What a compiled policy was made of, and where it is kept.
#[derive(Debug)]
pub(crate) struct Key {
    path: PathBuf,
    signature: Vec<u8>,
    settled: bool,
}

impl Key {
    /// Returns the key for these sources, if there is a place for a cache.
    pub(crate) fn of(sources: &[Source], environment: &Environment) -> Option<Self> {
        let directory = environment.cache.as_ref()?.join("openoxide");
        let mut signature = Vec::with_capacity(512);
        let mut name = Name::default();
        field(&mut signature, env!("CARGO_PKG_VERSION").as_bytes());
        field(
            &mut signature,
            environment.home.as_ref().map_or("", |home| home.as_str()).as_bytes(),
        );
        let mut settled = true;
        let trust = Trust::of(environment);
        for source in sources {
            let path = source.path.as_os_str().as_encoded_bytes();
            name.add(path);
            field(&mut signature, path);
            field(&mut signature, source.base.as_str().as_bytes());
            field(&mut signature, source.format.name.as_bytes());
            signature.extend([
                source.kind as u8,
                u8::from(source.may_loosen),
                u8::from(source.required) | u8::from(source.grants) << 1,
            ]);
            settled &= look(&source.path, &mut signature);
            let key = source.grants.then(|| GrantFile::of(environment, &source.base).key_path());
            if let Some(path) = key.flatten() {
                settled &= look(&path, &mut signature);
            }
            // What a person said of the project decides which of its rules count.
            if let (false, Some(path)) = (source.may_loosen, trust.path(&source.base)) {
                settled &= look(&path, &mut signature);
            }
        }
        let path = directory.join(format!("policy-{:016x}.bin", name.0));
        Some(Self { path, signature, settled })
    }

    /// Returns the policy, if it is there, undamaged, and made of just this.
    pub(crate) fn fetch(&self) -> Option<PolicyStack> {
        let (file, meta) = open_regular(&self.path, LONGEST).ok()?;
        let own = fs::metadata("/proc/self").ok()?.uid();
        if meta.mode() & 0o022 != 0 || meta.uid() != own {
            return None;
        }
        let mut start = vec![0; self.signature.len() + LENGTH];
        file.read_exact_at(&mut start, 0).ok()?;
        let (signature, length) = start.split_at_checked(self.signature.len())?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        if signature != self.signature || length as u64 > meta.len() {
            return None;
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, start.len() as u64).ok()?;
        let details = InFile { file, start: start.len() + length };
        PolicyStack::from_parts(bytes, Arc::new(details)).ok()
    }

    /// Keeps a policy. That it could not be kept costs time and nothing else.
    pub(crate) fn store(&self, policy: &PolicyStack) {
        if self.settled {
            drop(self.try_store(policy));
        }
    }

    fn try_store(&self, policy: &PolicyStack) -> std::io::Result<()> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        // A file of its own, mode 0600, that takes the place of the old one at once or not at all.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&self.signature)?;
        file.write_all(&(policy.as_bytes().len() as u64).to_le_bytes())?;
        file.write_all(policy.as_bytes())?;
        file.write_all(&policy.details())?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// Adds what tells one state of a file from another. Says whether it has stayed so for a while. What cannot be looked at is not
/// there, or cannot be read: then nothing is cached.
fn look(path: &Path, signature: &mut Vec<u8>) -> bool {
    match fs::metadata(path) {
        Ok(meta) => {
            stamp(signature, &meta);
            is_settled(&meta)
        }
        Err(error) => {
            signature.push(0);
            error.kind() == std::io::ErrorKind::NotFound
        }
    }
}

fn field(signature: &mut Vec<u8>, bytes: &[u8]) {
    signature.extend_from_slice(&bytes.len().to_le_bytes());
    signature.extend_from_slice(bytes);
}

fn stamp(signature: &mut Vec<u8>, meta: &Metadata) {
    signature.push(1);
    for number in
        [meta.dev(), meta.ino(), meta.size(), u64::from(meta.mode()), u64::from(meta.uid())]
    {
        signature.extend_from_slice(&number.to_le_bytes());
    }
    for number in [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()] {
        signature.extend_from_slice(&number.to_le_bytes());
    }
}

fn is_settled(meta: &Metadata) -> bool {
    let Ok(now) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) else { return false };
    let time = |seconds: i64, nanos: i64| {
        Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
    };
    let times = [time(meta.mtime(), meta.mtime_nsec()), time(meta.ctime(), meta.ctime_nsec())];
    times.iter().all(|time| time.is_some_and(|time| time + SETTLED < now))
}

/// A file's name out of its sources' paths (FNV-1a): sources that share one only take turns in it.
struct Name(u64);

impl Default for Name {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Name {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}
