//! The rule `slurm`. An assertion in each pass compares its cached occupation with a recomputation.
use super::*;

use crate::decision::Preemption;
use crate::scheduler::SlurmSettings;
use crate::slurm::{Select, SlurmParameters};

fn settings(select: Select) -> SlurmSettings {
    let parameters = SlurmParameters {
        select,
        batch_sched_delay: 1,
        sched_interval: 10,
        sched_min_interval: 0,
        bf_interval: 2,
        bf_yield_interval: 500_000,
        bf_yield_sleep: 250_000,
        bf_continue: true,
        bf_resolution: 1.0,
        bf_window: 600.0,
        bf_max_job_array_resv: usize::MAX,
        kill_wait: 5.0,
        message_timeout: 5.0,
        requeue_delay: 3.0,
        bf_test_time: 0.25,
        main_phase: Some(0.25),
        limit_phase: Some(0.75),
        backfill_phase: Some(0.5),
        ..SlurmParameters::default()
    };
    SlurmSettings { parameters, core: Some(0), ..SlurmSettings::default() }
}

/// Return an external decision about a job or a node.
fn decision(kind: u32, which: u32, seconds: f64) -> Decision {
    match kind {
        0 => Decision::Kill(which),
        1 => Decision::Preempt { job: which, keep: Preemption::Requeue },
        2 => Decision::SetEstimate { job: which, seconds },
        3 => Decision::Drain(which % 4),
        _ => Decision::Resume(which % 4),
    }
}

/// Run to the end, and apply the decisions that are not refused.
fn run_disturbed(case: &Case, decisions: &[(f64, Decision)]) {
    let mut simulation = case.open();
    for (caller, (time, _)) in decisions.iter().enumerate() {
        let wake = Decision::Wake { time: *time, caller: caller as u32, purpose: TimerPurpose::Act };
        simulation.decide(wake).expect("a time to come");
    }
    let end = drive(&mut simulation, |simulation, point| {
        if let YieldPoint::Timer(caller) = point {
            // A refused decision changes nothing.
            let _ = simulation.decide(decisions[caller as usize].1.clone());
        }
    });
    assert_eq!(end, YieldPoint::End);
    assert!(simulation.state().running.is_empty());
}

proptest! {
    #[test]
    fn what_is_kept_is_what_holds_nodes(
        jobs in some_jobs(),
        shares in any::<bool>(),
        launch in 0..3_u32,
        completion in 0..6_u32,
        disturbances in vec((0..60_u32, 0..5_u32, 0..25_u32, 1..300_u32), 0..8),
    ) {
        let count = jobs.len() as u32;
        let each = Overhead {
            launch: f64::from(launch), completion: f64::from(completion), ..Overhead::default()
        };
        let overheads = Overheads { of_job: vec![each; jobs.len()], counted: false, billed: true };
        let select = if shares { Select::Cores } else { Select::Linear };
        let case = Case {
            wall_time: WallTime::Kill,
            overheads: Some(Box::new(overheads)),
            slurm: Some(settings(select)),
            ..Case::of(jobs, 4, 4).under("slurm", 1)
        };
        let of = |&(time, kind, which, seconds): &(u32, u32, u32, u32)| {
            (f64::from(time), decision(kind, which % count, f64::from(seconds)))
        };
        // All nodes are available again in the end, so that every job can start.
        let resumes = (0..4).map(|node| (70.0, Decision::Resume(node)));
        let decisions: Vec<(f64, Decision)> = disturbances.iter().map(of).chain(resumes).collect();
        run_disturbed(&case, &decisions);
    }
}
