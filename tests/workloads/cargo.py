# SPDX-License-Identifier: LGPL-2.1-or-later
"""cargo, offline: a crate that takes another from a local registry, which cargo unpacks into ~/.cargo/registry."""
import hashlib
import json
import tarfile

from driver import counts

PROGRAMS = ("cargo", "rustc")
IDENTITIES = ("user", "root")
ENVIRONMENT = {"CARGO_BUILD_JOBS": "2", "CARGO_INCREMENTAL": "0", "CARGO_TERM_COLOR": "never"}
STEPS = ("cargo build --offline", "cargo test --offline", "cargo run --offline --quiet", "cargo clean --offline -p app")
COUNTS = counts.cargo
VARIES = (r"target/.*/(invoked\.timestamp|dep-.*)", r"target/\.rustc_info\.json")


def prepare(t):
    t.source("rust-hex")
    sources = t.project.rename(t.project.parent / "hex")
    t.project.mkdir()
    registry = t.project / "registry"
    (registry / "index/3/h").mkdir(parents=True)
    crate = registry / "hex-0.4.3.crate"
    with tarfile.open(crate, "w:gz") as archive:
        for name in ("Cargo.toml", "src", "README.md"):
            archive.add(sources / name, f"hex-0.4.3/{name}")
    line = {"name": "hex", "vers": "0.4.3", "deps": [], "cksum": hashlib.sha256(crate.read_bytes()).hexdigest(), "features": {"alloc": [], "default": ["std"], "std": ["alloc"]}, "yanked": False}
    (registry / "index/3/h/hex").write_text(json.dumps(line) + "\n")
    t.sh(f"rm -r {sources}")
    t.write(".cargo/config.toml", '[source.crates-io]\nreplace-with = "here"\n[source.here]\nlocal-registry = "registry"\n')
    t.write("Cargo.toml", '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nhex = "0.4"\n')
    t.write("src/lib.rs", "/// ```\n/// assert_eq!(app::text(7), \"07\");\n/// ```\npub fn text(n: u64) -> String { hex::encode([n as u8]) }\n"
            "#[test]\nfn digits() { assert_eq!(text(255), \"ff\"); }\n"
            "#[test]\nfn files() { let p = std::env::temp_dir().join(\"airlock-cargo\"); std::fs::write(&p, \"x\").unwrap(); std::fs::remove_file(p).unwrap(); }\n")
    t.write("src/main.rs", "fn main() { println!(\"{}\", app::text(42)); }\n")
    t.write("tests/whole.rs", "#[test]\nfn runs() {\n    let out = std::process::Command::new(env!(\"CARGO_BIN_EXE_app\")).output().unwrap();\n"
            "    assert_eq!(out.stdout, b\"2a\\n\");\n}\n")
