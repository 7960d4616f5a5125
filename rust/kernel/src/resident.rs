//! Resident memory of this process, on systems where a read of one open file returns it.

/// Resident memory of this process, bytes; None if the system has no `/proc`.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    statm::read()
}

#[cfg(target_os = "linux")]
mod statm {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;
    use std::sync::OnceLock;

    /// The key of the page size in the auxiliary vector.
    const PAGE_SIZE: u64 = 6;

    static SOURCE: OnceLock<Option<(File, u64)>> = OnceLock::new();

    pub(super) fn read() -> Option<u64> {
        let (file, page) =
            SOURCE.get_or_init(|| Some((File::open("/proc/self/statm").ok()?, page_size()?))).as_ref()?;
        let mut bytes = [0; 128];
        let length = file.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages * page)
    }

    fn page_size() -> Option<u64> {
        let vector = fs::read("/proc/self/auxv").ok()?;
        let words: Vec<u64> = vector
            .chunks_exact(size_of::<usize>())
            .map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            .collect();
        words.chunks_exact(2).find(|entry| entry[0] == PAGE_SIZE).map(|entry| entry[1])
    }
}

#[cfg(not(target_os = "linux"))]
mod statm {
    pub(super) fn read() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_used_is_counted() {
        let Some(before) = resident_bytes() else { return };
        let used = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes().expect("it was there before");
        assert!(after >= before + (48 << 20), "{before} then {after}");
        drop(used);
    }
}
