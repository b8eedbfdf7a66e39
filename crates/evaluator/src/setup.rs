//! Setup steps, run against the Machine port with readiness instead of sleeps.
