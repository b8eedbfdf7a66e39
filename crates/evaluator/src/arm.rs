//! What help a model gets: an arm's policy and what it lends to a trial.
