//! Several jobs, forks, kills.
use super::*;

#[test]
fn jobs_share_the_file_system() {
    for rule in RULES {
        let mut execution = Execution::new(crossbar(|_| {}), rule);
        let writes = |pattern| rigid(vec![phase(1.0, vec![file(Direction::Write, 1e11, pattern)])]);
        execution.start(0.0, 1, &writes(Pattern::AllRanks), &[0, 1, 2], 0).expect("it starts");
        execution.start(0.0, 2, &writes(Pattern::RootOnly), &[3, 4], 0).expect("it starts");
        let seen = run(&mut execution);
        close(seen[0].0, 20.0 / 3.0 + 6e-6);
        close(seen[1].0, 40.0 / 3.0 + 6e-6);
        assert_eq!((seen[0].1, seen[1].1), (1, 2));
    }
}
