//! Reads a gzip stream of any number of members; counts, but does not decompress, bytes after the last member, like
//! gzip(1).

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::mem;

/// The first bytes of each member (RFC 1952, section 2.3.1).
pub const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes not yet decompressed; the first byte may have been read ahead.
type Rest<R> = Chain<Cursor<Vec<u8>>, BufReader<R>>;

/// Decompresses a stream member by member.
pub struct Members<R> {
    state: State<R>,
    trailing: u64,
}

enum State<R> {
    Member(GzDecoder<Rest<R>>),
    Behind(Rest<R>),
    Ended,
}

impl<R: Read> Members<R> {
    /// Reads from a source that begins with a member.
    pub fn new(source: R) -> Self {
        let rest = Cursor::new(Vec::new()).chain(BufReader::new(source));
        Self { state: State::Member(GzDecoder::new(rest)), trailing: 0 }
    }

    /// Number of bytes after the last member since the last call. Zeros, which fill tape blocks, do not count.
    pub fn take_trailing(&mut self) -> u64 {
        mem::take(&mut self.trailing)
    }

    /// Reads from the current member, then from the next; returns 0 at the end.
    pub fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                State::Member(member) => {
                    let length = member.read(block)?;
                    if length > 0 || block.is_empty() {
                        return Ok(length);
                    }
                    self.end_member()?;
                }
                State::Behind(rest) => {
                    let bytes = rest.fill_buf()?;
                    let length = bytes.len();
                    self.trailing += bytes.iter().map(|&byte| u64::from(byte != 0)).sum::<u64>();
                    rest.consume(length);
                    if length == 0 {
                        self.state = State::Ended;
                    }
                }
                State::Ended => return Ok(0),
            }
        }
    }

    /// Begins the next member, if there is one; skips zeros before it.
    fn end_member(&mut self) -> io::Result<()> {
        let State::Member(member) = mem::replace(&mut self.state, State::Ended) else { return Ok(()) };
        let mut rest = member.into_inner();
        let mut head = Vec::with_capacity(MAGIC.len());
        loop {
            head.clear();
            rest.by_ref().take(1).read_to_end(&mut head)?;
            if head != [0] {
                break;
            }
        }
        rest.by_ref().take(1).read_to_end(&mut head)?;
        let is_member = head == MAGIC;
        let rest = Cursor::new(head).chain(rest.into_inner().1);
        self.state = if is_member { State::Member(GzDecoder::new(rest)) } else { State::Behind(rest) };
        Ok(())
    }
}
