//! The measures of all jobs, for their quantiles: in memory while they are few, then in a temporary file.
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::quantile::Selection;
use super::summary::Described;
use super::total::Total;

const LEVELS: [f64; 4] = [0.5, 0.95, 0.99, 1.0];
/// Maximum number of jobs of which one column at a time is read into memory: 2.1 MB. It takes less time than the digits
/// of a [`Selection`].
const MOST_OF_COLUMN: u64 = 1 << 18;

/// Rows of measures; NaN stands for a missing value.
#[derive(Debug)]
pub struct Values<const COLUMNS: usize> {
    directory: Option<PathBuf>,
    most: usize,
    kept: Vec<[f64; COLUMNS]>,
    file: Option<BufWriter<File>>,
}

impl<const COLUMNS: usize> Values<COLUMNS> {
    /// Creates an empty table with at most this number of rows in memory. A temporary file for more rows is in
    /// `directory`, if given.
    pub fn new(directory: Option<&Path>, most: usize) -> Self {
        let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
        Self { directory: directory.map(Path::to_owned), most, kept: Vec::new(), file: None }
    }

    /// Adds a row. O(1).
    pub fn push(&mut self, row: &[f64; COLUMNS]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return write_row(file, row);
        }
        self.kept.push(*row);
        if self.kept.len() == self.most { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &self.directory {
            Some(directory) => tempfile::tempfile_in(directory)?,
            None => tempfile::tempfile()?,
        };
        let mut file = BufWriter::new(file);
        for row in std::mem::take(&mut self.kept) {
            write_row(&mut file, &row)?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// Median, 95th and 99th percentile and maximum of each column with its count of numbers; None for an empty column.
    ///
    /// O(n); a file is read once for each column, or once for each digit of a [`Selection`].
    pub fn quantiles(&mut self, counts: &[u64; COLUMNS]) -> io::Result<[Option<[f64; 4]>; COLUMNS]> {
        let mut quantiles = [None; COLUMNS];
        if let Some(file) = &mut self.file {
            file.flush()?;
            let file = file.get_mut();
            if rows_of::<COLUMNS>(file)? <= MOST_OF_COLUMN {
                for (column, quantiles) in quantiles.iter_mut().enumerate() {
                    let mut numbers = Vec::with_capacity(counts[column] as usize);
                    each_row(file, |row: &[f64; COLUMNS]| {
                        numbers.extend(Some(row[column]).filter(|value| !value.is_nan()));
                    })?;
                    *quantiles = quantiles_of(&mut numbers, counts[column]);
                }
                return Ok(quantiles);
            }
            let found = found_in(file, counts)?;
            for (column, found) in found.iter().enumerate() {
                quantiles[column] = found.as_deref().map(|found| interpolate(found, counts[column]));
            }
            return Ok(quantiles);
        }
        for (column, quantiles) in quantiles.iter_mut().enumerate() {
            let mut numbers: Vec<f64> =
                self.kept.iter().map(|row| row[column]).filter(|value| !value.is_nan()).collect();
            *quantiles = quantiles_of(&mut numbers, counts[column]);
        }
        Ok(quantiles)
    }
}

/// Mean and quantiles of finite numbers. O(n).
#[must_use]
pub fn describe(mut numbers: Vec<f64>) -> Described {
    let count = numbers.len() as u64;
    let mut total = Total::default();
    for &number in &numbers {
        total.add(number);
    }
    let mean = (count > 0).then(|| total.value() / count as f64);
    Described { mean, quantiles: quantiles_of(&mut numbers, count) }
}

/// The quantiles of this many numbers; None if there are none. O(n).
fn quantiles_of(numbers: &mut [f64], count: u64) -> Option<[f64; 4]> {
    (!numbers.is_empty()).then(|| interpolate(&at_ranks(numbers, &ranks(count)), count))
}

fn write_row(file: &mut BufWriter<File>, row: &[f64]) -> io::Result<()> {
    row.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
}

/// The numbers at these ranks. O(n).
fn at_ranks(mut numbers: &mut [f64], ranks: &[u64]) -> Vec<f64> {
    let mut rising = ranks.to_vec();
    rising.sort_unstable();
    rising.dedup();
    let mut found: Vec<f64> = Vec::with_capacity(rising.len());
    // Numbers before `begin` are smaller than the remaining ones.
    let mut begin = 0;
    for &rank in &rising {
        let place = (rank - begin) as usize;
        let (_, &mut value, rest) = numbers.select_nth_unstable_by(place, f64::total_cmp);
        found.push(value);
        begin = rank + 1;
        numbers = rest;
    }
    ranks.iter().map(|rank| found[rising.partition_point(|known| known < rank)]).collect()
}

/// The numbers of each column at its ranks, in passes over a file.
fn found_in<const COLUMNS: usize>(
    file: &mut File,
    counts: &[u64; COLUMNS],
) -> io::Result<Vec<Option<Vec<f64>>>> {
    let wanted = |&count: &u64| (count > 0).then(|| Selection::new(&ranks(count)));
    let mut selections: Vec<Option<Selection>> = counts.iter().map(wanted).collect();
    for _ in 0..Selection::PASSES {
        pass::<COLUMNS>(file, &mut selections)?;
    }
    Ok(selections.iter().map(|selection| selection.as_ref().map(Selection::found)).collect())
}

fn rows_of<const COLUMNS: usize>(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.len() / (8 * COLUMNS as u64))
}

/// Calls `see` with each row of a file, from the first.
fn each_row<const COLUMNS: usize>(file: &mut File, mut see: impl FnMut(&[f64; COLUMNS])) -> io::Result<()> {
    let rows = rows_of::<COLUMNS>(file)?;
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut bytes = [[0; 8]; COLUMNS];
    let mut row = [0.0; COLUMNS];
    for _ in 0..rows {
        reader.read_exact(bytes.as_flattened_mut())?;
        for (value, bytes) in row.iter_mut().zip(&bytes) {
            *value = f64::from_le_bytes(*bytes);
        }
        see(&row);
    }
    Ok(())
}

fn pass<const COLUMNS: usize>(file: &mut File, selections: &mut [Option<Selection>]) -> io::Result<()> {
    each_row(file, |row: &[f64; COLUMNS]| {
        for (selection, &value) in selections.iter_mut().zip(row) {
            if let (Some(selection), false) = (selection, value.is_nan()) {
                selection.see(value);
            }
        }
    })?;
    for selection in selections.iter_mut().flatten() {
        selection.end_pass();
    }
    Ok(())
}

/// The ranks around each level, two per level.
fn ranks(count: u64) -> Vec<u64> {
    let last = count - 1;
    LEVELS
        .iter()
        .flat_map(|level| {
            let below = (level * last as f64).floor() as u64;
            [below.min(last), (below + 1).min(last)]
        })
        .collect()
}

/// Linear interpolation between order statistics (R's type 7).
fn interpolate(found: &[f64], count: u64) -> [f64; 4] {
    let mut quantiles = [0.0; 4];
    for (index, (quantile, level)) in quantiles.iter_mut().zip(LEVELS).enumerate() {
        let position = level * (count - 1) as f64;
        let (below, above) = (found[2 * index], found[2 * index + 1]);
        *quantile = below + (above - below) * (position - position.floor());
    }
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 5;

    #[test]
    fn few_numbers_share_ranks() {
        let mut numbers: Vec<f64> = (0..17).map(|number| f64::from(number * 5 % 17)).collect();
        let found = at_ranks(&mut numbers, &ranks(17));
        assert_eq!(found, [8.0, 9.0, 15.0, 16.0, 15.0, 16.0, 16.0, 16.0]);
    }

    #[test]
    fn quantiles_are_the_same_in_memory_and_in_a_file() {
        let number = |row: u64, column: u64| {
            let value = ((row * 7919 + column * 31) % 1009) as f64 / 7.0;
            if (row + column).is_multiple_of(13) { f64::NAN } else { value }
        };
        let rows: Vec<[f64; COLUMNS]> =
            (0..5000).map(|row| std::array::from_fn(|column| number(row, column as u64))).collect();
        let mut counts = [0; COLUMNS];
        let (mut kept, mut written) = (Values::new(None, 1 << 18), Values::new(None, 1 << 18));
        written.spill().expect("a temporary file");
        for row in &rows {
            for (count, value) in counts.iter_mut().zip(row) {
                *count += u64::from(!value.is_nan());
            }
            kept.push(row).expect("memory");
            written.push(row).expect("a temporary file");
        }
        let of_kept = kept.quantiles(&counts).expect("memory");
        assert_eq!(of_kept, written.quantiles(&counts).expect("a temporary file"));
        let file = written.file.as_mut().expect("a temporary file").get_mut();
        let by_digits = found_in(file, &counts).expect("a temporary file");
        for (column, found) in by_digits.iter().enumerate() {
            assert_eq!(of_kept[column], found.as_deref().map(|found| interpolate(found, counts[column])));
        }
        let greatest = rows.iter().map(|row| row[0]).fold(0.0, f64::max);
        assert_eq!(of_kept[0].map(|quantiles| quantiles[3]), Some(greatest));
    }
}
