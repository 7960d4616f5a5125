//! Examples with known results, and tests that no input breaks the reader.

use super::{
    Invalid, Note, Outcome, Overrun, ProcessorField, Reason, SwfError, SwfFile, SwfOptions, SwfParser,
    SwfRecord,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::sample::{Index, select};
use std::io::{Cursor, Write};

const SOUND: &str = "1 0 5 100 4 99.5 2000 4 200 3000 1 7 8 9 1 2 -1 -1";

fn read_with(options: SwfOptions, bytes: &[u8]) -> (Vec<SwfRecord>, SwfParser, Result<(), SwfError>) {
    let mut records = Vec::new();
    let mut parser = SwfParser::new(options);
    let mut take = |record| records.push(record);
    let result = parser.feed(bytes, &mut take).and_then(|()| parser.finish(&mut take));
    (records, parser, result)
}

fn read(bytes: impl AsRef<[u8]>) -> (Vec<SwfRecord>, SwfParser) {
    let (records, parser, result) = read_with(SwfOptions::default(), bytes.as_ref());
    result.expect("only invalid=\"raise\" ends with an error");
    (records, parser)
}

fn reasons(parser: &SwfParser) -> Vec<(Reason, u64)> {
    parser.notes().kept().iter().map(|note| (note.reason, note.line)).collect()
}

/// A valid job with some fields (numbered from 1, as in the format) replaced.
fn job(changes: &[(usize, &str)]) -> String {
    let mut fields: Vec<&str> = SOUND.split(' ').collect();
    for &(field, text) in changes {
        fields[field - 1] = text;
    }
    fields.join(" ")
}

/// The notes on a valid job with one field replaced, and the job if it was kept.
fn outcome_of(changes: &[(usize, &str)]) -> (Vec<Reason>, Option<SwfRecord>) {
    let (records, parser) = read(job(changes));
    (parser.notes().kept().iter().map(|note| note.reason).collect(), records.first().copied())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn stream(bytes: Vec<u8>) -> SwfFile {
    SwfFile::new(Cursor::new(bytes), SwfOptions::default()).expect("memory can be read")
}

#[test]
fn a_sound_job_has_all_its_values() {
    let (records, parser) = read(format!("; Version: 2.2\n{SOUND}\n"));
    let expected = SwfRecord {
        line: 2,
        job_id: 1,
        preceding_job_id: -1,
        submit_time: 0.0,
        run_time: 100.0,
        requested_time: 200.0,
        time_limit: 200.0,
        tasks: 4,
        memory: 0,
        cancelled_after: None,
        fields: [1., 0., 5., 100., 4., 99.5, 2000., 4., 200., 3000., 1., 7., 8., 9., 1., 2., -1., -1.],
    };
    assert_eq!(records, [expected]);
    assert_eq!(parser.comments(), ["; Version: 2.2"]);
    assert_eq!((parser.lines(), parser.rows(), parser.kept()), (2, 1, 1));
    assert_eq!(reasons(&parser), []);
}

#[test]
fn line_ends_tabs_blank_lines_and_a_missing_last_end_change_nothing() {
    let plain = format!("; Note: x\n\n{SOUND}\n  {SOUND}");
    let dos = format!("\u{feff}; Note: x\r\n \t\r\n{}\r\n{SOUND}\t \r\n", SOUND.replace(' ', "\t"));
    let (of_plain, of_dos) = (read(plain), read(dos));
    assert_eq!(of_plain.0, of_dos.0);
    assert_eq!(of_plain.0.len(), 2);
    assert_eq!(of_plain.1.comments(), of_dos.1.comments());
}

#[test]
fn an_empty_log_has_no_jobs() {
    for bytes in ["", "\n", "; only a comment", "\u{feff}"] {
        let (records, parser) = read(bytes);
        assert_eq!((records.len(), parser.rows()), (0, 0), "{bytes:?}");
    }
}

#[test]
fn broken_rules_drop_a_job() {
    let cases: &[(&[(usize, &str)], Reason)] = &[
        (&[(1, "x")], Reason::JobNumber),
        (&[(1, "1.5")], Reason::JobNumber),
        (&[(1, "9223372036854775808")], Reason::JobNumber),
        (&[(2, "-1")], Reason::SubmitTime),
        (&[(2, "nan")], Reason::SubmitTime),
        (&[(2, "1e400")], Reason::SubmitTime),
        (&[(4, "-1")], Reason::RunTime),
        (&[(4, "inf")], Reason::RunTime),
        (&[(4, "12:30")], Reason::RunTime),
        (&[(8, "0")], Reason::Processors),
        (&[(8, "-1"), (5, "-1")], Reason::Processors),
        (&[(8, "4294967296")], Reason::Processors),
        (&[(9, "1e400")], Reason::RequestedTime),
    ];
    for (changes, reason) in cases {
        let (found, record) = outcome_of(changes);
        assert_eq!((found.as_slice(), record), ([*reason].as_slice(), None), "{changes:?}");
        assert_eq!(reason.outcome(), Outcome::Dropped);
    }
    let (_, parser) = read("1 2 3\n");
    assert_eq!(parser.notes().kept(), [Note { reason: Reason::TooFewFields, line: 1, job_id: Some(1) }]);
}

#[test]
fn what_can_be_mended_is_mended_and_noted() {
    let cases: &[(&[(usize, &str)], Reason)] = &[
        (&[(3, "soon")], Reason::Unreadable),
        (&[(12, "nan")], Reason::Unreadable),
        (&[(9, "two hours")], Reason::Unreadable),
        (&[(13, "1e300")], Reason::Unreadable),
        (&[(8, "3.5")], Reason::FractionalProcessors),
        (&[(11, "1.5")], Reason::FractionalInteger),
        (&[(8, "-1")], Reason::OtherProcessors),
        (&[(9, "-1")], Reason::RequestedTimeUnknown),
        (&[(9, "99.5")], Reason::RequestedTimeRaised),
    ];
    for (changes, reason) in cases {
        let (found, record) = outcome_of(changes);
        let record = record.expect("mended jobs are kept");
        assert!(found.contains(reason), "{changes:?}: {found:?}");
        assert_eq!((record.tasks, record.run_time), (4, 100.0), "{changes:?}");
        assert!(record.requested_time >= record.run_time, "{changes:?}");
        assert_eq!(reason.outcome(), Outcome::Mended);
    }
}

#[test]
fn missing_fields_are_unknown_and_extra_ones_ignored() {
    let (records, parser) = read(format!("1 0 -1 50 2\n{SOUND} 19 20\n"));
    assert_eq!((records[0].tasks, records[0].requested_time, records[0].fields[17]), (2, 50.0, -1.0));
    assert!(records[1].fields.starts_with(&read(SOUND).0[0].fields));
    let expected = [
        (Reason::MissingFields, 1),
        (Reason::OtherProcessors, 1),
        (Reason::RequestedTimeUnknown, 1),
        (Reason::ExtraFields, 2),
    ];
    assert_eq!(reasons(&parser), expected);
}

#[test]
fn overrun_says_which_time_gives_way() {
    let log = job(&[(9, "60")]);
    for (overrun, times) in
        [(Overrun::Extend, (100.0, 100.0)), (Overrun::Cut, (60.0, 60.0)), (Overrun::Keep, (100.0, 60.0))]
    {
        let (records, parser, _) = read_with(SwfOptions { overrun, ..SwfOptions::default() }, log.as_bytes());
        assert_eq!((records[0].run_time, records[0].requested_time), times);
        assert_eq!(parser.notes().kept().len(), 1);
    }
}

#[test]
fn processors_and_memory_come_from_the_fields_asked_for() {
    let log = job(&[(5, "3"), (7, "0.5"), (10, "-1")]);
    let options =
        SwfOptions { processors: ProcessorField::Allocated, use_memory: true, ..SwfOptions::default() };
    let (records, parser, _) = read_with(options, log.as_bytes());
    assert_eq!((records[0].tasks, records[0].memory), (3, 1));
    assert_eq!(reasons(&parser), [(Reason::UsedMemory, 1)]);
    let (records, parser, _) = read_with(options, job(&[(5, "-1"), (7, "-1"), (10, "-1")]).as_bytes());
    assert_eq!((records[0].tasks, records[0].memory), (4, 0));
    assert_eq!(reasons(&parser), [(Reason::OtherProcessors, 1), (Reason::MemoryUnknown, 1)]);
}

#[test]
fn jobs_out_of_order_and_repeated_numbers_stay_where_they_are() {
    let (records, parser) = read(format!("{}\n{SOUND}\n{SOUND}\n", job(&[(2, "10")])));
    let submitted: Vec<f64> = records.iter().map(|record| record.submit_time).collect();
    assert_eq!(submitted, [10.0, 0.0, 0.0]);
    assert_eq!(reasons(&parser), [(Reason::OutOfOrder, 2)]);
}

#[test]
fn raise_names_line_field_value_and_rule() {
    let options = SwfOptions { invalid: Invalid::Raise, ..SwfOptions::default() };
    for (line, message) in [
        (job(&[(8, "0")]), "2: requested processors = 0; must be >= 1"),
        (job(&[(2, "x\u{1b}")]), "2: submit_time = x\\u{1b}; must be a number of seconds from 0 to 2^53"),
        ("1 2".to_owned(), "2: 2 fields; a job's line has 18 numbers"),
    ] {
        let (records, _, result) = read_with(options, format!("{SOUND}\n{line}\n").as_bytes());
        assert_eq!(records.len(), 1);
        assert_eq!(result.expect_err("the second job is invalid").to_string(), message);
    }
}

#[test]
fn a_line_of_ten_megabytes_is_never_held() {
    for (filler, rows, reason) in
        [("7", 2, Reason::LineTooLong), (" ", 2, Reason::LineTooLong), (";", 1, Reason::LongComment)]
    {
        let log = format!("{}\n{SOUND}\n", filler.repeat(10_000_000));
        let (records, parser) = read(&log);
        assert_eq!((records.len(), parser.rows(), reasons(&parser)), (1, rows, vec![(reason, 1)]));
        let streamed: Vec<_> = stream(log.into_bytes()).collect();
        assert_eq!(streamed.len(), 1);
    }
}

#[test]
fn comments_that_are_not_utf8_are_read_as_latin1() {
    assert_eq!(read(b"; Acknowledge: \xc5ke\n").1.comments(), ["; Acknowledge: \u{c5}ke"]);
}

#[test]
fn stop_after_looks_no_further() {
    let mut parser = SwfParser::new(SwfOptions::default()).stop_after(1);
    let mut taken = 0;
    let log = format!("{SOUND}\nrubbish\n{SOUND}\n");
    parser.feed(log.as_bytes(), &mut |_| taken += 1).expect("nothing is raised");
    parser.finish(&mut |_| ()).expect("nothing is raised");
    assert_eq!((taken, parser.lines(), parser.is_done()), (1, 1, true));
}

#[test]
fn gzip_of_several_members_reads_as_one_log() {
    let mut bytes = packed(format!("{SOUND}\n1 1").as_bytes());
    bytes.extend([0; 100]);
    bytes.extend(packed(&SOUND.as_bytes()[3..]));
    assert_eq!(stream(bytes).map(|job| job.expect("sound").submit_time).collect::<Vec<_>>(), [0.0, 1.0]);
}

/// The beginning of a truncated member.
const GZIP_HEAD: [u8; 4] = [0x1f, 0x8b, 8, 0];

#[test]
fn gzip_cut_short_or_damaged_is_an_error_after_the_jobs_before() {
    let bytes = packed(format!("{SOUND}\n").repeat(50_000).as_bytes());
    for damaged in [bytes[..bytes.len() - 20].to_vec(), [&bytes[..], &GZIP_HEAD].concat()] {
        let mut file = stream(damaged);
        let jobs = file.by_ref().take_while(Result::is_ok).count();
        assert!(jobs > 10_000, "{jobs}");
        assert!(file.next().is_none());
    }
    let error = stream(vec![0x1f, 0x8b]).next().expect("an error").expect_err("no gzip header");
    assert!(error.to_string().starts_with("the gzip stream is cut short or damaged after line 0"), "{error}");
}

#[test]
fn bytes_behind_a_gzip_stream_are_ignored_and_noted() {
    let bytes = packed(format!("{SOUND}\n").repeat(50_000).as_bytes());
    for (behind, notes) in [(&b"\0\0\0"[..], 0), (b"\x1f", 1), (b"trailing \x1f\x8b", 1), (b"\0\0x", 1)] {
        let mut file = stream([&bytes[..], behind].concat());
        assert_eq!(file.by_ref().flatten().count(), 50_000);
        assert_eq!(file.parser().notes().count(Reason::TrailingBytes), notes, "{behind:?}");
    }
}

#[test]
fn a_streaming_reader_keeps_few_notes_and_all_counts() {
    let log = format!("{}\n; {}\n", "x\n".repeat(1000), "c".repeat(600_000)).repeat(3);
    let mut file = stream(log.into_bytes());
    assert!(file.next().is_none());
    let notes = file.parser().notes();
    assert_eq!((notes.count(Reason::TooFewFields), notes.total(Outcome::Dropped)), (3000, 3000));
    assert_eq!(notes.kept().len(), 12);
    assert_eq!((file.parser().comments().len(), notes.count(Reason::LongComment)), (1, 2));
}

#[test]
fn a_log_of_comments_and_rubbish_takes_bounded_memory() {
    let mut parser = SwfParser::new(SwfOptions::default());
    let lines = ";\nx\n".repeat(1 << 16);
    for _ in 0..20 {
        parser.feed(lines.as_bytes(), &mut |_| ()).expect("nothing is raised");
    }
    let (all, comments, notes) = (20 << 16, parser.comments().len() as u64, parser.notes());
    assert_eq!((notes.count(Reason::TooFewFields), notes.count(Reason::LongComment)), (all, all - comments));
    assert_eq!((notes.kept().len(), comments), (2 << 20, (1 << 24) / 65));
}

#[test]
fn a_missing_file_is_an_error() {
    let result = SwfFile::open(std::path::Path::new("no/such.swf"), SwfOptions::default());
    assert!(matches!(result, Err(SwfError::Io(_))));
}

fn options() -> impl Strategy<Value = SwfOptions> {
    (
        select(vec![Overrun::Extend, Overrun::Cut, Overrun::Keep]),
        select(vec![Invalid::Drop, Invalid::Raise]),
        select(vec![ProcessorField::Requested, ProcessorField::Allocated]),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(overrun, invalid, processors, use_memory, log_events)| SwfOptions {
            overrun,
            invalid,
            processors,
            use_memory,
            log_events,
        })
}

fn field() -> impl Strategy<Value = String> {
    let odd = select(vec![
        "-1",
        "-0",
        "0",
        "1e400",
        "-1e400",
        "nan",
        "inf",
        "-inf",
        "1e-320",
        ".",
        "-",
        "+",
        "x",
        "1.5",
        "4294967296",
        "9007199254740993",
        "99999999999999999999999999",
        "0.1e",
        "é",
        "\u{0}",
    ]);
    prop_oneof![
        6 => any::<u16>().prop_map(|value| value.to_string()),
        1 => any::<f64>().prop_map(|value| value.to_string()),
        2 => odd.prop_map(str::to_owned),
    ]
}

fn looks_real() -> impl Strategy<Value = Vec<u8>> {
    let separator = select(vec![" ", "  ", "\t", " \r", "\u{b}"]);
    let row = (vec(field(), 0..21), separator).prop_map(|(fields, separator)| fields.join(separator));
    let sound = (any::<u16>(), any::<u32>())
        .prop_map(|(number, time)| job(&[(1, &number.to_string()), (2, &time.to_string())]));
    let comment = "; ?[A-Za-z]{0,9}: ?.{0,20}";
    let line = prop_oneof![4 => row, 4 => sound, 1 => comment, 1 => Just(String::new())];
    (vec((line, select(vec!["\n", "\r\n", "\n\n", ""])), 0..12), vec((any::<Index>(), any::<u8>()), 0..4))
        .prop_map(|(lines, damage)| {
            let text: String = lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect();
            let mut bytes = text.into_bytes();
            for (place, byte) in damage {
                if !bytes.is_empty() {
                    let place = place.index(bytes.len());
                    bytes[place] = byte;
                }
            }
            bytes
        })
}

fn any_log() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![1 => vec(any::<u8>(), 0..400), 4 => looks_real()]
}

/// Checks the invariants of every job that a reader returns.
fn is_sound(record: &SwfRecord) -> bool {
    let finite = |value: f64| (0.0..=9_007_199_254_740_992.0).contains(&value);
    finite(record.submit_time)
        && finite(record.run_time)
        && finite(record.requested_time)
        && record.tasks >= 1
        && record.memory >= 0
        && record.fields.iter().all(|value| value.is_finite())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any input results in valid jobs and notes that account for every row, or in one error.
    #[test]
    fn any_bytes_are_accounted_for(bytes in any_log(), options in options()) {
        let (records, parser, result) = read_with(options, &bytes);
        prop_assert!(records.iter().all(is_sound));
        prop_assert_eq!(records.len() as u64, parser.kept());
        let dropped = parser.notes().total(Outcome::Dropped);
        prop_assert_eq!(parser.rows(), parser.kept() + dropped + u64::from(result.is_err()));
        prop_assert_eq!(result.is_err() || dropped > 0, parser.rows() > parser.kept());
    }

    /// The split into pieces, and gzip, do not change the result.
    #[test]
    fn pieces_and_gzip_change_nothing(bytes in any_log(), cuts in vec(any::<Index>(), 0..6)) {
        let (records, whole) = read(&bytes);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let mut parser = SwfParser::new(SwfOptions::default());
        let mut in_pieces = Vec::new();
        for pair in places.windows(2) {
            parser.feed(&bytes[pair[0]..pair[1]], &mut |record| in_pieces.push(record)).expect("nothing is raised");
        }
        parser.finish(&mut |record| in_pieces.push(record)).expect("nothing is raised");
        prop_assert_eq!(&in_pieces, &records);
        prop_assert_eq!(parser.notes().kept(), whole.notes().kept());
        prop_assert_eq!(parser.comments(), whole.comments());
        let unpacked: Result<Vec<SwfRecord>, SwfError> = stream(packed(&bytes)).collect();
        prop_assert_eq!(&unpacked.expect("sound gzip"), &records);
    }

    /// Any input after the gzip magic bytes results in jobs or in one error.
    #[test]
    fn any_gzip_bytes_end(bytes in looks_real(), place in any::<Index>(), byte in any::<u8>(), cut in any::<Index>()) {
        let mut damaged = packed(&bytes);
        let place = place.index(damaged.len());
        damaged[place] = byte;
        damaged.truncate(cut.index(damaged.len()) + 1);
        let mut file = stream(damaged);
        let errors = file.by_ref().filter(Result::is_err).count();
        prop_assert!(errors <= 1);
        prop_assert!(file.next().is_none());
    }
}

#[test]
fn pieces_of_any_size_put_the_same_parts_together() {
    let part = |status: &str, submit: &str| job(&[(2, submit), (11, status)]);
    let log = [job(&[]), part("2", "0"), part("3", "-1"), job(&[(1, "2")]), part("2", "5"), part("4", "-1")];
    let log = log.join("\n");
    let (whole, parser) = read(&log);
    assert_eq!(
        whole.iter().map(|record| (record.job_id, record.run_time)).collect::<Vec<_>>(),
        [(1, 100.0), (2, 100.0), (1, 200.0)]
    );
    assert_eq!((parser.parts(), parser.rows(), parser.kept()), (3, 3, 3));
    let mut records = Vec::new();
    let mut pieces = SwfParser::new(SwfOptions::default());
    for byte in log.as_bytes() {
        pieces.feed(&[*byte], &mut |record| records.push(record)).expect("nothing is refused");
    }
    pieces.finish(&mut |record| records.push(record)).expect("nothing is refused");
    assert_eq!(records, whole);
    let streamed: Vec<SwfRecord> = stream(log.into_bytes()).map(|record| record.expect("sound")).collect();
    assert_eq!(streamed, whole);
}

#[test]
fn a_job_in_parts_counts_as_one_for_the_most_jobs() {
    let log =
        [job(&[(11, "2")]), job(&[(11, "3"), (2, "-1")]), job(&[(1, "2")]), job(&[(1, "3")])].join("\n");
    let mut records = Vec::new();
    let mut parser = SwfParser::new(SwfOptions::default()).stop_after(2);
    parser.feed(log.as_bytes(), &mut |record| records.push(record)).expect("nothing is refused");
    parser.finish(&mut |record| records.push(record)).expect("nothing is refused");
    assert_eq!(records.iter().map(|record| record.job_id).collect::<Vec<_>>(), [1, 2]);
}
