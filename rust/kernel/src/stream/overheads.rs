//! Overheads that are sampled while a log is simulated: block by block, in the order of the log.
use std::io;

use crate::scenario::{Overhead, Scenario, WallTime};
use crate::workload::Job;

/// The phases of a job with overheads: launch, execution, completion, suspension and resumption.
pub const PHASES: usize = 5;

/// The source of overheads for these phases, seconds >= 0, in blocks of jobs.
pub type OverheadSource = Box<dyn Iterator<Item = io::Result<[Vec<f64>; PHASES]>> + Send>;

/// The overheads of a streamed run.
pub struct DrawnOverheads {
    source: OverheadSource,
    block: [Vec<f64>; PHASES],
    next: usize,
    /// Additional seconds per task.
    per_task: [f64; PHASES],
}

impl DrawnOverheads {
    /// Creates overheads from a source, with additional seconds per task.
    #[must_use]
    pub fn new(source: OverheadSource, per_task: [f64; PHASES]) -> Self {
        Self { source, block: Default::default(), next: 0, per_task }
    }

    /// The overheads of the next job of the log, seconds by phase.
    fn draw(&mut self, tasks: u32) -> io::Result<[f64; PHASES]> {
        if self.next == self.block[0].len() {
            let ended =
                || io::Error::new(io::ErrorKind::UnexpectedEof, "there are fewer overheads than jobs");
            self.block = self.source.next().transpose()?.ok_or_else(ended)?;
            self.next = 0;
        }
        let mut drawn = [0.0; PHASES];
        for ((seconds, block), per_task) in drawn.iter_mut().zip(&self.block).zip(self.per_task) {
            *seconds = block.get(self.next).copied().unwrap_or_default() + per_task * f64::from(tasks);
        }
        self.next += 1;
        Ok(drawn)
    }

    /// Applies the overheads of the next job of the log: extends its run, and returns the overheads for its slot.
    /// If overheads count towards the time limit, and jobs are killed at it, launch and completion are cut to it.
    pub fn give(&mut self, scenario: &Scenario, job: &mut Job) -> io::Result<Overhead> {
        let [mut launch, execution, mut completion, suspend, resume] = self.draw(job.tasks)?;
        job.run_time += execution;
        let are_counted = scenario.overheads.as_ref().is_some_and(|overheads| overheads.counted);
        if are_counted && scenario.wall_time == WallTime::Kill {
            launch = launch.min(job.time_limit);
            completion = completion.min(job.time_limit - launch);
        }
        Ok(Overhead { launch, completion, suspend, resume })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_each_other_and_must_suffice() {
        let [none, one] = [vec![0.0; 2], vec![0.0]];
        let blocks = [
            [vec![1.0, 2.0], none.clone(), vec![5.0; 2], none.clone(), none],
            [vec![3.0], vec![4.0], vec![6.0], one, vec![7.0]],
        ];
        let mut drawn = DrawnOverheads::new(Box::new(blocks.into_iter().map(Ok)), [0.5, 0.0, 0.0, 0.0, 0.0]);
        let found: Vec<_> = (0..3).filter_map(|_| drawn.draw(2).ok()).collect();
        assert_eq!(found, [[2.0, 0.0, 5.0, 0.0, 0.0], [3.0, 0.0, 5.0, 0.0, 0.0], [4.0, 4.0, 6.0, 0.0, 7.0]]);
        assert!(drawn.draw(2).is_err());
    }
}
