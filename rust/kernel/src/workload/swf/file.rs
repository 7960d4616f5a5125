//! A log in a file, plain or gzip, as a stream of jobs.

use super::error::SwfError;
use super::gzip::{self, Members};
use super::options::SwfOptions;
use super::parser::SwfParser;
use super::record::SwfRecord;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Chain, Cursor, ErrorKind, Read};
use std::path::Path;

const BLOCK: usize = 1 << 16;

type Whole = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

enum Source {
    Plain(Whole),
    Packed(Box<Members<Whole>>),
}

/// Reads bytes in blocks; decompresses them if they begin with the gzip magic bytes.
pub struct Blocks {
    source: Source,
    block: Box<[u8]>,
}

impl Blocks {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::new(File::open(path)?)
    }

    /// Reads from any source of bytes.
    pub fn new(mut source: impl Read + Send + 'static) -> io::Result<Self> {
        let mut head = Vec::with_capacity(gzip::MAGIC.len());
        source.by_ref().take(gzip::MAGIC.len() as u64).read_to_end(&mut head)?;
        let packed = head == gzip::MAGIC;
        let whole = Cursor::new(head).chain(Box::new(source) as Box<dyn Read + Send>);
        let source =
            if packed { Source::Packed(Box::new(Members::new(whole))) } else { Source::Plain(whole) };
        Ok(Self { source, block: vec![0; BLOCK].into_boxed_slice() })
    }

    /// Returns the next block, empty at the end. `parser` supplies the number of lines read, for errors.
    pub fn next_block(&mut self, parser: &mut SwfParser) -> Result<&[u8], SwfError> {
        let length = loop {
            let read = match &mut self.source {
                Source::Plain(plain) => plain.read(&mut self.block),
                Source::Packed(members) => members.read(&mut self.block),
            };
            match (read, &self.source) {
                (Ok(length), _) => break length,
                (Err(error), _) if error.kind() == ErrorKind::Interrupted => {}
                (Err(error), Source::Plain(_)) => return Err(SwfError::Io(error)),
                (Err(source), Source::Packed(_)) => {
                    return Err(SwfError::Gzip { lines: parser.lines(), source });
                }
            }
        };
        if let (0, Source::Packed(members)) = (length, &mut self.source)
            && members.take_trailing() > 0
        {
            parser.note_trailing_bytes();
        }
        Ok(&self.block[..length])
    }
}

/// Iterates over the jobs of a log in constant memory. Ends after the first error.
pub struct SwfFile {
    blocks: Blocks,
    parser: SwfParser,
    ready: VecDeque<Result<SwfRecord, SwfError>>,
    ended: bool,
}

impl SwfFile {
    /// Opens a log; recognises gzip by its content.
    pub fn open(path: &Path, options: SwfOptions) -> Result<Self, SwfError> {
        Self::from_blocks(Blocks::open(path), options)
    }

    /// Reads a log from any source of bytes.
    pub fn new(source: impl Read + Send + 'static, options: SwfOptions) -> Result<Self, SwfError> {
        Self::from_blocks(Blocks::new(source), options)
    }

    /// The parser, for its comments, counts and notes; complete after the iterator has ended.
    #[must_use]
    pub const fn parser(&self) -> &SwfParser {
        &self.parser
    }

    fn from_blocks(blocks: io::Result<Blocks>, options: SwfOptions) -> Result<Self, SwfError> {
        let blocks = blocks.map_err(SwfError::Io)?;
        Ok(Self { blocks, parser: SwfParser::streaming(options), ready: VecDeque::new(), ended: false })
    }

    fn read_block(&mut self) -> Result<(), SwfError> {
        let Self { blocks, parser, ready, ended } = self;
        let mut take = |record| ready.push_back(Ok(record));
        let block = blocks.next_block(parser)?;
        *ended = block.is_empty();
        if *ended { parser.finish(&mut take) } else { parser.feed(block, &mut take) }
    }
}

impl Iterator for SwfFile {
    type Item = Result<SwfRecord, SwfError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.ended {
            if let Err(error) = self.read_block() {
                self.ended = true;
                self.ready.push_back(Err(error));
            }
        }
        self.ready.pop_front()
    }
}
