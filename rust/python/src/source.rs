//! Files as sources of bytes. Reading a pipe without a writer blocks: files other than regular ones are read by a
//! thread, so that Ctrl-C can end the wait.
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::spawn;

use pyo3::prelude::*;

use crate::interrupt::INTERVAL;

/// Number of bytes read at once.
const BLOCK: usize = 1 << 16;
/// Maximum number of blocks waiting to be consumed.
const WAITING: usize = 4;

/// Opens a file. An exception raised by a signal handler while waiting for bytes is the inner error of the result of
/// `read`.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path.metadata()?.is_file() {
        return Ok(Box::new(File::open(path)?));
    }
    let (sender, receiver) = sync_channel(WAITING);
    let path = path.to_owned();
    spawn(move || read_all(&path, &sender));
    Ok(Box::new(Pipe { receiver, block: Vec::new(), taken: 0 }))
}

/// Sends everything that can be read, while the receiver exists.
fn read_all(path: &Path, sender: &SyncSender<Result<Vec<u8>>>) {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return drop(sender.send(Err(error))),
    };
    loop {
        let mut block = vec![0; BLOCK];
        let block = match file.read(&mut block) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            length => length.map(|length| {
                block.truncate(length);
                block
            }),
        };
        let is_last = block.as_ref().map_or(true, Vec::is_empty);
        if sender.send(block).is_err() || is_last {
            return;
        }
    }
}

/// A file that is read by a thread.
struct Pipe {
    receiver: Receiver<Result<Vec<u8>>>,
    block: Vec<u8>,
    taken: usize,
}

impl Pipe {
    /// Waits for the next block, and checks for signals meanwhile; returns an empty block at the end.
    fn wait(&mut self) -> Result<Vec<u8>> {
        loop {
            match self.receiver.recv_timeout(INTERVAL) {
                Ok(block) => return block,
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
                Err(RecvTimeoutError::Timeout) => {
                    Python::attach(|py| py.check_signals().map_err(Error::other))?;
                }
            }
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.taken == self.block.len() {
            self.block = self.wait()?;
            self.taken = 0;
        }
        let length = into.len().min(self.block.len() - self.taken);
        into[..length].copy_from_slice(&self.block[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}
