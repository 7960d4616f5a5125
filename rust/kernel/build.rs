//! Sets a digest of the kernel's sources: data that one build has written in internal form must not be read by another.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files);
    files.sort();
    let mut digest = 0xcbf2_9ce4_8422_2325;
    for file in files {
        digest = fnv(digest, file.to_string_lossy().replace('\\', "/").as_bytes());
        digest = fnv(digest, &fs::read(&file).unwrap_or_default());
    }
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=BATCHLAB_SOURCES={digest:016x}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Continues the hash of Fowler, Noll and Vo (FNV-1a, 64 bits).
fn fnv(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
