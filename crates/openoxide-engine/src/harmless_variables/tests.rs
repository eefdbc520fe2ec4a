use super::*;

/// Values as they are in the documentation of the tools.
#[test]
fn usual_values_are_passed() {
    for (name, value) in [
        ("CFLAGS", "-O2 -g -Wall -Wextra -Werror=format-security -fPIC -march=x86-64-v3 -DNDEBUG"),
        ("CPPFLAGS", "-I/opt/homebrew/include -D_FORTIFY_SOURCE=2"),
        ("LDFLAGS", "-L/opt/homebrew/lib -lssl -Wl,-z,relro -Wl,-z,now -fuse-ld=mold"),
        (
            "RUSTFLAGS",
            "-D warnings -C target-cpu=native -Clink-arg=-fuse-ld=lld --cfg tokio_unstable",
        ),
        ("GOFLAGS", "-mod=vendor -trimpath -tags=netgo,osusergo -p=4"),
        ("NODE_OPTIONS", "--max-old-space-size=4096 --no-warnings --enable-source-maps"),
        ("MAKEFLAGS", "-j8"),
        ("MAVEN_OPTS", "-Xmx2g -XX:+UseG1GC"),
        ("PYTEST_ADDOPTS", "-q --tb=short"),
        ("CC", "aarch64-linux-gnu-gcc-13"),
        ("CXX", "clang++"),
        ("CARGO_BUILD_JOBS", "2"),
        ("NODE_EXTRA_CA_CERTS", "/etc/passwd"),
    ] {
        assert!(is_harmless_variable(name, value), "{name}={value}");
    }
}

/// Each of these makes the tool run or load something, according to its manual.
#[test]
fn values_that_run_or_load_something_are_not_passed() {
    for (name, value) in [
        ("CFLAGS", "-O2 -fplugin=./x.so"),
        ("CFLAGS", "-B./bin"),
        ("CFLAGS", "-specs=x.specs"),
        ("CFLAGS", "-wrapper ./x"),
        ("CFLAGS", "@file"),
        ("CFLAGS", "-Xclang -load"),
        ("CFLAGS", "-Wl,-plugin,x.so"),
        ("CFLAGS", "-Wp,-MD,x"),
        ("CFLAGS", "-DTOKEN=abcdef"),
        ("CFLAGS", "-include x.h"),
        ("LDFLAGS", "-Xlinker -plugin"),
        ("LDFLAGS", "-fuse-ld=/tmp/x"),
        ("LDFLAGS", "-L$(x)"),
        ("RUSTFLAGS", "-C linker=./x"),
        ("RUSTFLAGS", "-Clinker=./x"),
        ("RUSTFLAGS", "-C link-arg=-fplugin=x"),
        ("RUSTFLAGS", "-Zcodegen-backend=x"),
        ("RUSTFLAGS", "-C"),
        ("GOFLAGS", "-toolexec=./x"),
        ("GOFLAGS", "-exec=./x"),
        ("GOFLAGS", "-overlay=x.json"),
        ("GOFLAGS", "-ldflags=-extld=x"),
        ("NODE_OPTIONS", "--require ./x.js"),
        ("NODE_OPTIONS", "--import=./x.js"),
        ("NODE_OPTIONS", "--max-old-space-size=1x"),
        ("MAKEFLAGS", "-j8 --eval=x"),
        ("MAKEFLAGS", "-f x"),
        ("MAKEFLAGS", "SHELL=./x"),
        ("JAVA_TOOL_OPTIONS", "-javaagent:x.jar"),
        ("JAVA_TOOL_OPTIONS", "-agentpath:x"),
        ("MAVEN_OPTS", "-Xmx2g -XX:OnError=x"),
        ("PYTEST_ADDOPTS", "-p x"),
        ("CC", "./gcc"),
        ("CC", "/tmp/gcc"),
        ("CC", "sh -c gcc"),
        ("CC", "ccache gcc"),
        ("CXX", "evil"),
        ("CARGO_BUILD_JOBS", "$(x)"),
        ("NODE_EXTRA_CA_CERTS", "ca.pem"),
        ("NODE_EXTRA_CA_CERTS", "/does/not/exist"),
        ("LD_PRELOAD", "/lib/x.so"),
        ("BASH_ENV", "x"),
        ("GITHUB_TOKEN", "x"),
        ("RUSTC_WRAPPER", "sccache"),
    ] {
        assert!(!is_harmless_variable(name, value), "{name}={value}");
    }
}
