//! Runs: the plan, trials, attempts, rows, dispatch and resume.
